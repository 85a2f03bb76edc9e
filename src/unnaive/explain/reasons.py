"""Reason codes: the few values of each row that speak most for a class, for many rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from unnaive.answer import ClassTree
from unnaive.bayes import TableTerm
from unnaive.bayes.evidence import weigh
from unnaive.common.facts import Columns, Facts, Repeated
from unnaive.common.threads import in_threads
from unnaive.common.wording import counted
from unnaive.discretize.discretizer import cut_names
from unnaive.discretize.words import slot_words
from unnaive.encode import Bins, Categories
from unnaive.encode.coding import column_slots
from unnaive.encode.grid import number_values
from unnaive.explain import kernels
from unnaive.explain.pairs import pair_name
from unnaive.explain.parts import Part, Reading, label_names
from unnaive.explain.readings import RowEvidence
from unnaive.table import Block, Column, Schema
from unnaive.table.answers import Lines
from unnaive.table.kept import KeptBlock

ROWS = 30_000  # rows looked at together; no power of two, or their bars would share cache lines
DIGITS = 12  # of numbers in tables

# Number of the text of each row, and the texts.
Texts: TypeAlias = tuple[NDArray[np.intp], list[str]]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Reasons(Facts):
    """The values of each row with most evidence for a class, the strongest first.

    Attributes
    ----------
    features : tuple of str
        The attributes, then the pairs of attributes that the model knows.
    labels : array of shape (rows,)
        The class that each row's reasons speak for.
    bars : array of shape (rows, top)
        Number of the attribute in ``features``; -1 where a row has no more reasons.
    evidence : array of shape (rows, top)
        Weight of evidence for the class against all others; in a tree of classes, what the tests
        on the attribute add to its probability.
    values, words : arrays of str of shape (rows, top)
        The row's value, and the reason in words; "" where there is none.
    """

    features: tuple[str, ...]
    labels: NDArray[Any]
    bars: NDArray[np.int32]
    evidence: NDArray[np.float64]
    value_texts: Repeated
    word_texts: Repeated

    def __len__(self) -> int:
        return len(self.bars)

    @property
    def values(self) -> NDArray[np.object_]:
        return self.value_texts.written().reshape(self.bars.shape)

    @property
    def words(self) -> NDArray[np.object_]:
        return self.word_texts.written().reshape(self.bars.shape)

    def joined(self, others: Sequence[Reasons]) -> Reasons:
        """These reasons, then those of other rows by the same model."""
        every = [self, *others]
        return Reasons(
            self.features,
            np.concatenate([each.labels for each in every]),
            np.concatenate([each.bars for each in every]),
            np.concatenate([each.evidence for each in every]),
            _join_texts([each.value_texts for each in every]),
            _join_texts([each.word_texts for each in every]),
        )

    def lines(self) -> Lines:
        """A line for each row: ``reason_for``, and of each reason ``reason_1`` (in words),
        ``reason_1_column``, ``reason_1_value`` and ``reason_1_evidence``.
        """
        columns: dict[str, NDArray[Any]] = {"reason_for": self.labels}
        names = np.array([*self.features, ""], dtype=object)[self.bars]
        parts = {"": self.words, "_column": names, "_value": self.values}
        for k in range(self.bars.shape[1]):
            for part, each in {**parts, "_evidence": self.evidence}.items():
                columns[f"reason_{k + 1}{part}"] = each[:, k].copy()
        return Lines(columns)

    def _columns(self) -> Columns:
        bars = self.bars.ravel()
        at = np.flatnonzero(bars >= 0)
        rows, ranks = np.divmod(at, max(self.bars.shape[1], 1))
        values, words = self.value_texts, self.word_texts
        return {
            "row": rows,
            "rank": ranks + 1,
            "column": Repeated(bars[at], self.features),
            "value": Repeated(values.codes[at], values.texts),
            "evidence": self.evidence.ravel()[at],
            "words": Repeated(words.codes[at], words.texts),
        }

    def _title(self) -> str:
        top = self.bars.shape[1]
        return f"Reasons of {counted(len(self), 'row')}, at most {top} each"


def check_top(top: Any) -> None:
    """Refuse a number of reasons that is none."""
    if not (isinstance(top, (int, np.integer)) and top >= 1):
        raise ValueError(f"top must be a whole number, 1 or more; got {top!r}.")


def reasons_of(
    reading: Reading, block: Block, top: int, label: int | None, n_jobs: int | None = None
) -> Reasons:
    """The strongest reasons of each row, for a class or for the predicted one."""
    kept, n_rows = KeptBlock(block), block.n_rows
    if label is None:
        answers = reading.answer.probabilities(kept, n_jobs)
        two = answers.shape[1] == 2  # argmax over short rows is slow
        chosen = (answers[:, 1] > answers[:, 0]).astype(np.intp) if two else answers.argmax(axis=1)
    else:
        chosen = np.full(n_rows, label)
    features = bar_names(reading)
    top = min(int(top), len(features))
    bars, evidence = np.empty((n_rows, top), np.int32), np.empty((n_rows, top))
    tables = cache(lambda k, j: _weight_term(reading.part(k), j))

    def look(start: int) -> None:
        rows = slice(start, start + ROWS)
        part = kept.slice(start, start + ROWS)
        strength = _strengths(reading, part, chosen[rows], tables)
        kernels.strongest(strength, bars[rows], evidence[rows])

    list(in_threads(look, range(0, n_rows, ROWS), n_jobs))
    values, words = _texts(reading, kept, bars, chosen)
    return Reasons(features, reading.classes[chosen], bars, evidence, values, words)


def bar_names(reading: Reading) -> tuple[str, ...]:
    """The attributes, then what has evidence beside them: pairs of them, members of a pool."""
    schema = reading.schema
    names = [schema.label(j) for j in range(len(schema))]
    more = [
        bar if isinstance(bar, str) else pair_name(names[bar[0]], names[bar[1]])
        for bar in reading.answer.extra_bars
    ]
    return (*names, *more)


# Evidence ----------------------------------------------------------------------------------------


def _strengths(
    reading: Reading, block: KeptBlock, chosen: NDArray[np.intp], tables: Any
) -> NDArray[np.float64]:
    """Evidence of every bar for each row's class: bars x rows."""
    core, owner = reading.answer.core, reading.combiner.owner
    if isinstance(core, ClassTree):
        change = core.contributions(block)
        if owner is not None:
            first = np.flatnonzero(np.diff(owner, prepend=-1))
            change = np.add.reduceat(change, first, axis=2)
        return np.take_along_axis(change, chosen[:, None, None], axis=2)[:, :, 0].T
    active = [a for a in reading.active_parts(block) if reading.part(a.part).role != "gate"]
    total = np.zeros(block.n_rows)
    for one in active:
        total[one.rows] += one.share  # one, but for votes that are log odds
    n_bars = len(block.schema) + len(reading.answer.extra_bars)
    out = np.zeros((n_bars, block.n_rows))
    for one in active:
        part = reading.part(one.part)
        alone = len(active) == 1
        rows = block if alone else block.take(one.rows)
        labels = _labels_of(part, rows, chosen if alone else chosen[one.rows], owner)
        share = one.share / total[one.rows]
        if isinstance(part.scorer, RowEvidence):
            bars = weigh(part.scorer.evidence(rows)[:, :n_bars], part.scorer.log_prior)
            each = np.take_along_axis(bars, labels[:, None, None], axis=2)[:, :, 0].T
            out[:, one.rows] += share * each
            continue
        for j in range(n_bars):
            bar = _bar(part, rows, j, labels, tables(one.part, j))
            if bar is not None and alone:
                out[j] = bar
            elif bar is not None:
                out[j, one.rows] += share * bar
    return out


def _labels_of(
    part: Part, block: KeptBlock, chosen: NDArray[np.intp], owner: NDArray[np.intp] | None
) -> NDArray[np.intp]:
    """The label that stands for each row's class: of its clusters, the most probable one."""
    if owner is None:
        return chosen
    joint = part.scorer.joint(block)
    return np.where(owner == chosen[:, None], joint, -np.inf).argmax(axis=1)


def _weight_term(part: Part, j: int) -> TableTerm | NDArray[np.float64] | None:
    """Weight of evidence by slot, where a bar has slots; of a pair, pairs of slots x labels."""
    scorer = part.scorer
    if j >= len(scorer.terms):
        logs = scorer.pairs[j - len(scorer.terms)].logs
        return weigh(logs.reshape(-1, logs.shape[2]), scorer.log_prior)
    term = scorer.terms[j]
    if not isinstance(term, TableTerm):
        return None
    return TableTerm(term.coder, weigh(term.logs, scorer.log_prior))


def _bar(
    part: Part,
    block: KeptBlock,
    j: int,
    labels: NDArray[np.intp],
    weights: TableTerm | NDArray[np.float64] | None,
) -> NDArray[np.float64] | None:
    """Evidence of one bar for each row's label."""
    scorer = part.scorer
    if isinstance(weights, np.ndarray):
        pair = scorer.pairs[j - len(scorer.terms)]
        first, second = (column_slots(block, i, coder) for i, coder in pair.columns)
        slots = first.astype(np.intp) * pair.logs.shape[1] + second
        return weights.ravel().take(slots * weights.shape[1] + labels)
    if weights is not None:
        out = np.empty(block.n_rows)
        kernels.pick_table(*weights.look_up(block, j), labels, out)
        return out
    term = scorer.terms[j]
    if term is None:
        return None
    each = np.zeros((block.n_rows, len(scorer.log_prior)))  # densities
    term.adder(block, j)(slice(0, block.n_rows), each)
    return np.take_along_axis(weigh(each, scorer.log_prior), labels[:, None], axis=1)[:, 0]


# Words -------------------------------------------------------------------------------------------


def _texts(
    reading: Reading, block: KeptBlock, bars: NDArray[np.int32], chosen: NDArray[np.intp]
) -> tuple[Repeated, Repeated]:
    """Values and reasons as text; each distinct one is written once."""
    values, words = _Writer(bars.size), _Writer(bars.size)
    names, classes = bar_names(reading), label_names(reading.classes)
    schema, extra = reading.schema, reading.answer.extra_bars
    coders = {(pair.first, pair.second): pair.columns for pair in reading.answer.pairs}
    part = reading.part(reading.main)
    places, rows_of, ends = kernels.group_by_bar(bars, len(names))
    for j, (start, stop) in enumerate(pairwise(ends.tolist())):
        if start == stop:
            continue
        at, rows = places[start:stop], rows_of[start:stop]
        if j < len(schema):
            texts = _value_texts(block, j, rows)
            term = part.scorer.terms[j]
            coder = term.coder if isinstance(term, TableTerm) else None
            if part.role == "pool":  # no list of values is that of all members
                coder = None
            phrases = _phrases(block, schema, j, rows, coder, texts)
        elif isinstance(bar := extra[j - len(schema)], str):  # a member of a pool
            texts = phrases = np.zeros(len(rows), np.intp), [bar]
        else:
            columns = coders.get(bar, ((bar[0], None), (bar[1], None)))
            each = [(i, coder, _value_texts(block, i, rows)) for i, coder in columns]
            texts = _both([text for _, _, text in each], ", ")
            clauses = [_phrases(block, schema, i, rows, coder, text) for i, coder, text in each]
            phrases = _both(clauses, " and ")
        values.write(at, *texts)
        number, ways = phrases
        speaks = [f"{way}: for {name}" for way in ways for name in classes]
        words.write(at, number * len(classes) + chosen[rows], speaks)
    return values.written(), words.written()


class _Writer:
    """Texts of reasons, written attribute by attribute."""

    def __init__(self, n: int) -> None:
        self.codes = np.full(n, -1, dtype=np.int32)
        self.texts: dict[str, int] = {}

    def write(self, at: NDArray[np.intp], number: NDArray[np.intp], texts: list[str]) -> None:
        used = np.zeros(len(texts), dtype=bool)
        used[number] = True
        place = np.empty(len(texts), dtype=np.int32)
        for k in np.flatnonzero(used).tolist():
            place[k] = self.texts.setdefault(texts[k], len(self.texts))
        self.codes[at] = place[number]

    def written(self) -> Repeated:
        return Repeated(self.codes, tuple(self.texts))


def _join_texts(parts: Sequence[Repeated]) -> Repeated:
    """Texts one after the other, each distinct one written once."""
    out, first = _Writer(sum(map(len, parts))), 0
    for part in parts:
        at = np.flatnonzero(part.codes >= 0)
        out.write(first + at, part.codes[at], list(part.texts))
        first += len(part)
    return out.written()


def _value_texts(block: KeptBlock, j: int, rows: NDArray[np.intp]) -> Texts:
    """The rows' values of a column, as they are."""
    column = block.schema[j]
    if column.kind == "numeric":
        distinct, number = _distinct(block.numeric(j)[rows])
        return number, ["missing", *value_names(distinct, column, DIGITS)]
    if column.kind == "empty":
        return np.zeros(len(rows), np.intp), ["missing"]
    raw = block.take(rows).categorical(j)
    return raw.slots.astype(np.intp), ["missing", *map(str, raw.values)]


def value_names(values: NDArray[np.float64], column: Column, digits: int) -> list[str]:
    """Numbers, levels, dates and times as text, each by itself: other rows do not change it."""
    if column.family == "number":
        return [f"{value:.{digits}g}" for value in values.tolist()]
    return [cut_names(values[k : k + 1], column)[0] for k in range(len(values))]


def _distinct(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Distinct numbers, and the slot of each value: 0 missing, then these."""
    numbered = number_values(values)
    if numbered is not None and numbered[0].shift == 0:
        return numbered[0].low, numbered[1].astype(np.intp)
    distinct = np.unique(values[~np.isnan(values)])
    return distinct, np.where(np.isnan(values), 0, np.searchsorted(distinct, values) + 1)


def _phrases(
    block: KeptBlock,
    schema: Schema,
    j: int,
    rows: NDArray[np.intp],
    coder: Bins | Categories | None,
    values: Texts,
) -> Texts:
    """A column and what it holds, in words: its interval, or its value."""
    name = schema.label(j)
    if isinstance(coder, Bins) and coder.size > 1:
        slots = column_slots(block.take(rows), j, coder).astype(np.intp)
        texts = list(slot_words(coder, schema[j]))
        texts[0] = "is missing"
        return slots, [f"{name} {text}" for text in texts]
    return values[0], [f"{name} is {text}" for text in values[1]]


def _both(each: Sequence[Texts], joint: str) -> Texts:
    """The texts of two columns together, for the combinations that occur."""
    first, second = each
    codes = first[0] * len(second[1]) + second[0]
    distinct, number = np.unique(codes, return_inverse=True)
    a, b = np.divmod(distinct, len(second[1]))
    return number, [
        f"{first[1][i]}{joint}{second[1][k]}" for i, k in zip(a.tolist(), b.tolist(), strict=True)
    ]
