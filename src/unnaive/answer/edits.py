"""Corrections by experts: recorded changes of evidence, on top of what was learned."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.isotonic import isotonic_regression

from unnaive.bayes import Scorer
from unnaive.bayes.evidence import weigh
from unnaive.bayes.scoring import TableTerm
from unnaive.common.checks import expect
from unnaive.common.wording import printable
from unnaive.counts import CountTable
from unnaive.encode import Bins
from unnaive.table import Column, Schema
from unnaive.table.codes import as_objects, is_missing
from unnaive.table.columns import read_numeric

LONGEST = 1000  # letters of a name or reason
STRONGEST = 1e6  # nats
Value: TypeAlias = bool | int | float | str | None
Kind: TypeAlias = Literal["evidence", "flat", "increasing", "decreasing"]


@dataclass(frozen=True, slots=True)
class Edit:
    """One correction of what a model has learned, and who made it.

    Attributes
    ----------
    kind : {"evidence", "flat", "increasing", "decreasing"}
        Whether the evidence of one value was set, or that of a column made flat, or made to rise
        or fall with its values.
    column : str or int
        The column's name, or its position where columns have no names.
    by, reason : str
        Who made the correction, and why.
    at : str
        When, as ISO 8601 in UTC.
    value : bool, int, float, str or None
        The value whose evidence was set: a category, or a number of the interval; None is missing.
    label : object
        The class that the evidence is for.
    evidence : float
        What the value does to the log odds of that class, in nats.
    """

    kind: Kind
    column: str | int
    by: str
    reason: str
    at: str
    value: Value = None
    label: Any = None
    evidence: float = 0.0

    def check(self) -> None:
        """Refuse what is no correction."""
        for name in ("by", "reason"):
            text = getattr(self, name)
            expect(len(text) <= LONGEST, f"{name} has {len(text)} letters, more than {LONGEST}.")
        expect(bool(self.by.strip()), "by does not say who made the correction.")
        expect(len(self.at) <= LONGEST, "the time of a correction is none.")
        datetime.datetime.fromisoformat(self.at)
        number = math.isfinite(self.evidence) and abs(self.evidence) <= STRONGEST
        expect(number, f"evidence must be a number up to {STRONGEST:g}; got {self.evidence}.")

    def __str__(self) -> str:
        """The correction in a sentence, on one line."""
        if self.kind == "evidence":
            value = "missing" if self.value is None else repr(self.value)
            what = f"evidence of {self.column} = {value} set to {self.evidence:+g} for {self.label}"
        elif self.kind == "flat":
            what = f"evidence of {self.column} made flat"
        else:
            what = f"evidence of {self.column} made {self.kind} for {self.label}"
        reason = f": {self.reason}" if self.reason else ""
        return printable(f"{what} by {self.by} on {self.at[:10]}{reason}")


@dataclass(frozen=True, slots=True, eq=False)
class EditLayer:
    """The corrections of a table of evidence, in their order, and what was there before them."""

    edits: tuple[Edit, ...]
    scorer: Scorer
    errors: tuple[NDArray[np.float32], ...] = ()


T = TypeVar("T", bound=Any)  # an `EvidenceTable`, which holds a layer


def edit_table(node: T, schema: Schema, classes: NDArray[Any], edits: Sequence[Edit]) -> T:
    """A table of evidence with these corrections and no others."""
    if node.layer is not None:
        node = replace(node, scorer=node.layer.scorer, errors=node.layer.errors, layer=None)
    if not edits:
        return node
    layer = EditLayer(tuple(edits), node.scorer, node.errors)
    scorer, errors = node.scorer, list(node.errors)
    for edit in edits:
        j = position(schema, edit.column)
        if j is None or not isinstance(scorer.terms[j], TableTerm):
            continue  # the column has no evidence now; it may have some after an update
        scorer, changed = _apply(edit, scorer, j, schema[j], classes.tolist(), node.counts)
        if errors and errors[j].size:  # an expert's word has no standard error
            errors[j] = np.where(changed[:, None], np.float32(0), errors[j])
    return replace(node, scorer=scorer, errors=tuple(errors), layer=layer)


def join_edits(lists: Iterable[Sequence[Edit]]) -> list[Edit]:
    """The corrections of several models, each once, in the order in which they were made."""
    every = list(dict.fromkeys(edit for edits in lists for edit in edits))
    return sorted(every, key=lambda edit: datetime.datetime.fromisoformat(edit.at))


def position(schema: Schema, column: Any) -> int | None:
    """Where a column stands, by its name, or by its number where columns have no names."""
    names = list(schema.names)
    return names.index(column) if column in names else None


def slot_of(term: TableTerm, column: Column, value: Value) -> int | None:
    """The slot of a value; None of a category that has none of its own, or of no level."""
    if value is None or is_missing(value):
        return 0
    if not isinstance(term.coder, Bins):
        return term.coder.index.get(value)
    if column.family == "level":
        number = float(read_numeric(as_objects([value]), column)[0])
        if math.isnan(number):
            return None
    elif column.family == "time":
        number = float(np.datetime64(str(value), "us").astype(np.int64))
    else:
        number = float(value)
    return int(term.coder.codes(np.array([number]), column)[0])


def _apply(
    edit: Edit,
    scorer: Scorer,
    j: int,
    column: Column,
    classes: list[Any],
    counts: CountTable | None,
) -> tuple[Scorer, NDArray[np.bool_]]:
    """The evidence with one more correction, and the slots of its column that it changed."""
    term = scorer.terms[j]
    assert isinstance(term, TableTerm)
    if edit.kind == "flat":
        pairs = tuple(
            replace(p, logs=_flat(p.logs)) if j in (p.first, p.second) else p for p in scorer.pairs
        )
        scorer = replace(scorer, pairs=pairs)
        logs = _flat(term.logs)
        return _with_logs(scorer, j, term, logs), np.ones(len(logs), dtype=np.bool_)
    logs, changed = term.logs.copy(), np.zeros(len(term.logs), dtype=np.bool_)
    label = classes.index(edit.label) if edit.label in classes else None
    if label is None:
        return scorer, changed
    weights = weigh(logs, scorer.log_prior)[:, label]
    if edit.kind == "evidence":
        slot = slot_of(term, column, edit.value)
        if slot is not None:
            logs[slot, label] += edit.evidence - weights[slot]
            changed[slot] = True
    else:
        values = slice(1, len(logs) - 1)
        rows = np.ones(len(logs)) if counts is None else counts.attribute(j).sum(axis=0)
        rising = edit.kind == "increasing"
        smooth = isotonic_regression(
            weights[values], sample_weight=np.maximum(rows[values], 1e-6), increasing=rising
        )
        logs[values, label] += smooth - weights[values]
        changed[values] = smooth != weights[values]
    return _with_logs(scorer, j, term, logs), changed


def _flat(logs: NDArray[np.float64]) -> NDArray[np.float64]:
    """The same for all classes, so that it speaks for none."""
    return np.broadcast_to(logs.mean(axis=-1, keepdims=True), logs.shape).copy()


def _with_logs(scorer: Scorer, j: int, term: TableTerm, logs: NDArray[np.float64]) -> Scorer:
    terms = (*scorer.terms[:j], TableTerm(term.coder, logs), *scorer.terms[j + 1 :])
    return replace(scorer, terms=terms)
