"""The columns and some rows of the table, as the page reads them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.encode import Bins, Categories
from unnaive.encode.coding import column_slots
from unnaive.explain.report.arrays import pack
from unnaive.explain.report.payload import Coders
from unnaive.table import Block

MOST_ROWS = 200
MOST_CELLS = 40_000
EXTREME_ROWS = 20  # rows with the worst predictions, and as many with the least certain ones


@dataclass(frozen=True, slots=True, eq=False)
class PageRows:
    """Rows as the page's scorer reads them: numbers, NaN for missing, and slots."""

    values: list[NDArray[Any]]

    @classmethod
    def of(cls, block: Block, coders: Coders) -> PageRows:
        return cls(
            [
                block.numeric(j) if column.kind == "numeric" else column_slots(block, j, coder)
                for j, (column, coder) in enumerate(zip(block.schema, coders, strict=True))
            ]
        )

    def columns(self, block: Block, names: Sequence[str], coders: Coders) -> list[dict[str, Any]]:
        """Each column for the controls of the page."""
        return [
            {
                "name": name,
                "kind": column.kind,
                "family": column.family,
                **_coder(coder),
                **(_range(values, coder) if column.kind == "numeric" else {}),
                **({"levels": [*map(str, column.order or ())]} if column.family == "level" else {}),
            }
            for name, column, coder, values in zip(
                names, block.schema, coders, self.values, strict=True
            )
        ]

    def typical(self, block: Block) -> list[float | int | None]:
        """The row of medians and most frequent values."""
        row: list[float | int | None] = []
        for column, values in zip(block.schema, self.values, strict=True):
            if column.kind != "numeric":
                counts = np.bincount(values)
                counts[0] = 0  # missing only where there is nothing else
                row.append(int(counts.argmax()))
                continue
            there = np.sort(values[~np.isnan(values)])
            row.append(float(there[len(there) // 2]) if len(there) else None)
        return row

    def some(
        self, probabilities: NDArray[np.float64] | None, truth: NDArray[np.intp] | None
    ) -> dict[str, Any]:
        """Some rows: spread over the table, with the worst and the least certain predictions."""
        at = self._choice(probabilities, truth)
        wrong = None
        if truth is not None and probabilities is not None:
            wrong = (probabilities[at].argmax(axis=1) != truth[at]).tolist()
        return {
            "at": at.tolist(),
            "values": [pack(values[at]) for values in self.values],
            "truth": None if truth is None else truth[at].tolist(),
            "wrong": wrong,
        }

    def _choice(
        self, probabilities: NDArray[np.float64] | None, truth: NDArray[np.intp] | None
    ) -> NDArray[np.intp]:
        n_rows = len(self.values[0])
        most = max(1, min(MOST_ROWS, n_rows, MOST_CELLS // len(self.values)))
        if probabilities is None:
            return np.unique(np.linspace(0, n_rows - 1, most).astype(np.intp))
        extra = min(EXTREME_ROWS, most // 4)
        doubt = np.argsort(probabilities.max(axis=1), kind="stable")[:extra]
        chosen = [doubt]
        if truth is not None:
            chosen.append(
                np.argsort(_true_class_probability(probabilities, truth), kind="stable")[:extra]
            )
        spread = np.linspace(0, n_rows - 1, max(1, most - extra * len(chosen))).astype(np.intp)
        return np.unique(np.concatenate((spread, *chosen)))


def _true_class_probability(
    probabilities: NDArray[np.float64], truth: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Probability of each row's true class; 0 for one that the model does not know."""
    column = np.minimum(truth, probabilities.shape[1] - 1)
    return probabilities[np.arange(len(truth)), column] * (truth == column)


def _coder(coder: Bins | Categories | None) -> dict[str, Any]:
    """Cuts of a numeric column, or the names of a categorical one's slots."""
    if isinstance(coder, Bins):
        return {"cuts": pack(coder.cuts)}
    if isinstance(coder, Categories):
        return {"names": [coder.name(slot + 1) for slot in range(coder.size)]}
    return {}


def _range(values: NDArray[np.float64], coder: Bins | Categories | None) -> dict[str, Any]:
    """The range of a slider: over the rows passed and all cuts."""
    there = values[~np.isnan(values)]
    ends = there if len(there) else np.zeros(1)
    low, high = float(ends.min()), float(ends.max())
    if isinstance(coder, Bins) and len(coder.cuts):
        low, high = min(low, float(coder.cuts[0])), max(high, float(coder.cuts[-1]))
    whole = bool(len(there)) and bool((there == np.rint(there)).all())
    if whole:
        low, high = float(np.floor(low)), float(np.ceil(high))
    return {"low": low, "high": high, "whole": whole}
