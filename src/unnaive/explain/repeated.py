"""Evidence that naive Bayes counts twice: columns that repeat each other, told by pair counts."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.bayes import TableTerm
from unnaive.counts.information import information_of
from unnaive.encode.coding import column_slots
from unnaive.explain.parts import Reading
from unnaive.table.kept import KeptBlock

ROWS = 50_000  # that pairs are counted on; of more, some spread over them
COLUMNS = 20  # the most important ones, which are compared
REPEATED = 0.75  # share of a column's information that another one has too
LEAST = 0.005  # nats of information about the class below which nothing is worth a remark
LARGEST_TABLE = 1 << 22  # cells of the counts of a pair


def repeated_evidence(
    reading: Reading, block: KeptBlock, groups: NDArray[np.intp], evidence: NDArray[np.float64]
) -> tuple[str, ...]:
    """For each column, which other one says the same: "counted twice with ...", or "".

    Only of models that add the evidence of columns as if they were independent given the class.
    What two columns say about the class in common is I(A; C) + I(B; C) - I(A, B; C), by counts of
    the rows passed.
    """
    notes = [""] * len(reading.schema)
    part = reading.part(reading.main)
    if part.role != "model" or not part.direct or block.n_rows == 0:
        return tuple(notes)
    if block.n_rows > ROWS:
        at = np.linspace(0, block.n_rows - 1, ROWS).astype(np.intp)
        block, groups = block.take(at), groups[at]
    slots: dict[int, NDArray[Any]] = {}
    for j in np.argsort(-evidence, kind="stable")[:COLUMNS].tolist():
        term = part.scorer.terms[j]
        if isinstance(term, TableTerm) and evidence[j] > 0:
            slots[j] = column_slots(block, j, term.coder).astype(np.intp)
    alone = {j: information(codes, groups) for j, codes in slots.items()}
    best = dict.fromkeys(alone, 0.0)
    for a, b in combinations((j for j in alone if alone[j] >= LEAST), 2):
        width = int(slots[b].max()) + 1
        if (int(slots[a].max()) + 1) * width * (int(groups.max()) + 1) > LARGEST_TABLE:
            continue
        common = alone[a] + alone[b] - information(slots[a] * width + slots[b], groups)
        for j, other in ((a, b), (b, a)):
            if common > max(best[j], REPEATED * alone[j]):
                best[j] = common
                notes[j] = f"counted twice with {reading.schema.label(other)}"
    return tuple(notes)


def information(codes: NDArray[np.intp], groups: NDArray[np.intp]) -> float:
    """Mutual information of two codes in nats."""
    width = int(groups.max()) + 1
    joint = np.bincount(codes * width + groups, minlength=(int(codes.max()) + 1) * width)
    return information_of(joint.reshape(-1, width))
