"""Notes on the rows: what a reader should know before trusting the figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.common.wording import counted
from unnaive.encode import Bins, Categories
from unnaive.encode.coding import column_slots
from unnaive.table import Block, Column

THIN_CLASS = 30  # rows of a class below which its figures are uncertain
THIN_VALUE = 5  # rows of a category below which it is rare
MANY = 20  # categories from which on rare ones are worth a remark
FEWEST = 20  # rows before anything looks like an identifier
DISTINCT = 0.9  # distinct values per row that make a column an identifier
REPEATED = 12  # columns with a note each; further ones of a kind are counted


@dataclass(frozen=True, slots=True)
class Note:
    """One remark: about a column, a class or the table."""

    about: str
    text: str


@dataclass(frozen=True, slots=True, eq=False)
class ColumnFacts:
    """Facts about the rows passed in one column."""

    name: str
    missing: int
    unseen: int
    distinct: int
    thin: int
    steps: bool  # whole numbers, each once, without a gap

    @classmethod
    def of(cls, block: Block, j: int, name: str, coder: Bins | Categories | None) -> ColumnFacts:
        column = block.schema[j]
        if column.kind == "numeric":
            values = block.numeric(j)
            present = values[~np.isnan(values)]
            distinct = np.unique(present)
            n = len(distinct)
            steps = (
                column.family == "number"
                and n == len(present) >= FEWEST
                and bool(distinct[-1] - distinct[0] == n - 1)
            )
            return cls(name, len(values) - len(present), 0, n, 0, steps)
        counts = np.bincount(block.categorical(j).slots)
        missing, rows = int(counts[0]), counts[1:][counts[1:] > 0]
        unseen = 0
        if isinstance(coder, Categories):
            unseen = int((column_slots(block, j, coder) == coder.size + 1).sum())
        thin = int((rows < THIN_VALUE).sum())
        return cls(name, missing, unseen, len(rows), thin, False)


def notes_on(
    columns: Sequence[ColumnFacts],
    schema: Sequence[Column],
    n_rows: int,
    class_names: Sequence[str],
    class_rows: NDArray[Any] | None,
) -> list[Note]:
    """Remarks, the most serious first: classes, then columns by kind of problem."""
    notes = [] if class_rows is None else _on_classes(class_names, class_rows)
    kinds: list[list[Note]] = [[], [], [], [], []]
    for facts, column in zip(columns, schema, strict=True):
        for rank, text in _remarks(facts, column, n_rows):
            kinds[rank].append(Note(facts.name, text))
    for kind in kinds:
        notes += kind[:REPEATED]
        if len(kind) > REPEATED:
            names = ", ".join(note.about for note in kind[REPEATED : 2 * REPEATED])
            dots = " and others" if len(kind) > 2 * REPEATED else ""
            text = f"The same holds for {names}{dots}."
            notes.append(Note(f"{len(kind) - REPEATED} more columns", text))
    return notes


def _on_classes(names: Sequence[str], rows: NDArray[Any]) -> list[Note]:
    notes = []
    for name, n in zip(names, rows.tolist(), strict=True):
        if n == 0:
            notes.append(Note(name, "No row of this class was passed, so it is not measured here."))
        elif n < THIN_CLASS:
            few = counted(n, "row")
            notes.append(Note(name, f"Only {few} of this class: its figures are uncertain."))
    if len(notes) > REPEATED:
        thin = len(notes) - REPEATED
        notes = [*notes[:REPEATED], Note(f"{thin} more classes", "have few rows or none.")]
    return notes


def _remarks(facts: ColumnFacts, column: Column, n_rows: int) -> list[tuple[int, str]]:
    """Remarks on a column, with the rank of their kind."""
    there = n_rows - facts.missing
    if there == 0:
        training = "" if column.kind == "empty" else " The training rows had values here."
        return [(0, f"No value at all in these rows.{training}")]
    remarks: list[tuple[int, str]] = []
    if facts.distinct == 1:
        remarks.append((0, "One value in all rows: it carries no information."))
    identifier = facts.distinct >= DISTINCT * there and there >= FEWEST
    if column.kind == "categorical" and identifier:
        text = (
            f"{facts.distinct:,} different values in {there:,} rows: it looks like an identifier."
        )
        remarks.append((1, f"{text} Leave it out, unless its values have a meaning."))
    elif facts.steps:
        remarks.append(
            (1, "Whole numbers without gaps or repetition, like row numbers. Leave it out.")
        )
    if facts.unseen:
        share, have = _percent(facts.unseen / n_rows), "has" if facts.unseen == 1 else "have"
        text = f"{counted(facts.unseen, 'row')} ({share}) {have} a value that training never had"
        remarks.append((2, f"{text}; they count as no evidence."))
    if facts.missing:
        remarks.append(
            (3, f"Missing in {counted(facts.missing, 'row')} ({_percent(facts.missing / n_rows)}).")
        )
    if facts.distinct >= MANY and facts.thin > facts.distinct / 2 and not identifier:
        text = f"{facts.thin:,} of its {facts.distinct:,} values have fewer than {THIN_VALUE} rows"
        remarks.append((4, f"{text}; max_categories= would group the rarest."))
    return remarks


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %" if share >= 0.001 else "below 0.1 %"
