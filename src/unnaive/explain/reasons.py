"""Reason codes: the few values of each row that speak most for a class, for many rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple, TypeAlias

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

Texts: TypeAlias = tuple[NDArray[np.int32], list[str]]  # which text each row has, and the texts


class _Rows(NamedTuple):
    """The rows with one bar, by stretch of ROWS rows and place; ``ends`` of these."""

    rows: NDArray[np.intp]
    ends: NDArray[np.intp]


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
        return f"Reasons of {counted(len(self), 'row')}, at most {self.bars.shape[1]} each"


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
    starts = range(0, n_rows, ROWS)
    counts = np.empty((len(starts), len(features), top), np.intp)
    tables = cache(lambda k, j: _weight_term(reading.part(k), j))

    def look(start: int) -> None:
        rows = slice(start, start + ROWS)
        strength = _strengths(reading, kept.slice(start, rows.stop), chosen[rows], tables)
        kernels.strongest(strength, bars[rows], evidence[rows], counts[start // ROWS])

    list(in_threads(look, starts, n_jobs))
    groups = _rows_by_bar(bars, counts, n_jobs)
    values, words = _texts(reading, kept, groups, chosen, n_jobs)
    return Reasons(features, reading.classes[chosen], bars, evidence, values, words)


def _rows_by_bar(
    bars: NDArray[np.int32], counts: NDArray[np.intp], n_jobs: int | None
) -> list[_Rows]:
    """The rows with each bar; ``counts`` tells how many each stretch of ROWS rows has by place."""
    n_stretches, n_bars, top = counts.shape
    ends = np.cumsum(counts.transpose(1, 0, 2)).reshape(n_bars, n_stretches, top)
    free = np.subtract(ends.transpose(1, 0, 2), counts, order="C")
    rows = np.empty(counts.sum(), np.intp)

    def group(start: int) -> None:
        kernels.group_by_bar(bars[start : start + ROWS], start, free[start // ROWS], rows)

    list(in_threads(group, range(0, len(bars), ROWS), n_jobs))
    each = counts.sum(axis=(0, 2))
    starts = np.cumsum(each) - each
    return [_Rows(rows[a : a + n], end - a) for a, n, end in zip(starts, each, ends, strict=True)]


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
    alone = len(active) == 1
    for one in active:
        part = reading.part(one.part)
        rows = block if alone else block.take(one.rows)
        labels = _labels_of(part, rows, chosen if alone else chosen[one.rows], owner)
        share = one.share / total[one.rows]
        if isinstance(part.scorer, RowEvidence):
            bars = weigh(part.scorer.evidence(rows)[:, :n_bars], part.scorer.log_prior)
            each = np.take_along_axis(bars, labels[:, None, None], axis=2)[:, :, 0].T
            out[:, one.rows] += share * each
            continue
        for j in range(n_bars):
            bar = out[j] if alone else np.zeros(rows.n_rows)
            _fill(bar, part, rows, j, labels, tables(one.part, j))
            if not alone:
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


def _fill(
    out: NDArray[np.float64],
    part: Part,
    block: KeptBlock,
    j: int,
    labels: NDArray[np.intp],
    weights: TableTerm | NDArray[np.float64] | None,
) -> None:
    """Write the evidence of one bar for each row's label into zeros."""
    scorer = part.scorer
    if isinstance(weights, np.ndarray):
        pair = scorer.pairs[j - len(scorer.terms)]
        first, second = (column_slots(block, i, coder) for i, coder in pair.columns)
        slots = first.astype(np.intp) * pair.logs.shape[1] + second
        weights.ravel().take(slots * weights.shape[1] + labels, out=out)
    elif weights is not None:
        kernels.pick_table(*weights.look_up(block, j), labels, out)
    elif (term := scorer.terms[j]) is not None:  # densities
        each = np.zeros((block.n_rows, len(scorer.log_prior)))
        term.adder(block, j)(slice(0, block.n_rows), each)
        out[:] = np.take_along_axis(weigh(each, scorer.log_prior), labels[:, None], axis=1)[:, 0]


# Words -------------------------------------------------------------------------------------------


def _texts(
    reading: Reading,
    block: KeptBlock,
    groups: list[_Rows],
    chosen: NDArray[np.intp],
    n_jobs: int | None,
) -> tuple[Repeated, Repeated]:
    """Values and reasons of the rows with each bar as text; each distinct one is written once."""
    classes = label_names(reading.classes)
    bars = [j for j, group in enumerate(groups) if len(group.rows)]
    known: tuple[dict[str, int], dict[str, int]] = {}, {}

    def number(j: int) -> tuple[Texts, Texts, NDArray[np.bool_], NDArray[np.bool_]]:
        texts, phrases = _bar_texts(reading, block, j, groups[j].rows)
        used = np.zeros(len(texts[1]), bool), np.zeros((len(phrases[1]), len(classes)), bool)
        kernels.mark_texts(groups[j].rows, chosen, texts[0], phrases[0], *used)
        return texts, phrases, *used

    numbered = []
    for j, each in zip(bars, in_threads(number, bars, n_jobs), strict=True):
        (value, texts), (phrase, phrases), used, spoken = each
        names = [texts[k] for k in np.flatnonzero(used).tolist()]
        speaks = [f"{phrases[k]}: for {classes[c]}" for k, c in np.argwhere(spoken).tolist()]
        codes = np.empty(used.shape, np.int32), np.empty(spoken.shape, np.int32)
        codes[0][used], codes[1][spoken] = _codes(known[0], names), _codes(known[1], speaks)
        numbered.append((groups[j], value, phrase, *codes))
    both = np.empty((2, block.n_rows, groups[0].ends.shape[1]), np.int32)

    def write(stretch: int) -> None:  # its rows stay in cache for all bars
        both[:, stretch * ROWS : (stretch + 1) * ROWS] = -1
        for (rows, ends), *each in numbered:
            first = ends[stretch - 1, -1] if stretch else 0
            kernels.write_texts(rows, first, ends[stretch], chosen, *each, *both)

    list(in_threads(write, range(len(groups[0].ends)), n_jobs))
    return Repeated(both[0].ravel(), tuple(known[0])), Repeated(both[1].ravel(), tuple(known[1]))


def _codes(known: dict[str, int], texts: Iterable[str]) -> list[int]:
    """The code of each text; new ones are added to those that are known."""
    return [known.setdefault(text, len(known)) for text in texts]


def _join_texts(parts: Sequence[Repeated]) -> Repeated:
    """Texts one after the other, each distinct one written once."""
    known: dict[str, int] = {}
    codes = [np.array([*_codes(known, part.texts), -1], np.int32)[part.codes] for part in parts]
    return Repeated(np.concatenate(codes), tuple(known))


def _bar_texts(
    reading: Reading, block: KeptBlock, j: int, rows: NDArray[np.intp]
) -> tuple[Texts, Texts]:
    """What a bar holds in some rows: its values, and these in words."""
    schema, part = reading.schema, reading.part(reading.main)
    if j < len(schema):
        texts = _value_texts(block, j, rows)
        term = None if part.role == "pool" else part.scorer.terms[j]  # whose values are no one list
        coder = term.coder if isinstance(term, TableTerm) else None
        return texts, _phrases(block, schema, j, rows, coder, texts)
    bar = reading.answer.extra_bars[j - len(schema)]
    if isinstance(bar, str):  # a member of a pool
        return ((np.zeros(len(rows), np.int32), [bar]),) * 2
    coders = {(pair.first, pair.second): pair.columns for pair in reading.answer.pairs}
    columns = coders.get(bar, ((bar[0], None), (bar[1], None)))
    each = [(i, coder, _value_texts(block, i, rows)) for i, coder in columns]
    clauses = [_phrases(block, schema, i, rows, coder, text) for i, coder, text in each]
    return _both([text for _, _, text in each], ", "), _both(clauses, " and ")


def _value_texts(block: KeptBlock, j: int, rows: NDArray[np.intp]) -> Texts:
    """The rows' values of a column, as they are."""
    column = block.schema[j]
    if column.kind == "numeric":
        distinct, number = _distinct(block.numeric(j)[rows])
        return number, ["missing", *value_names(distinct, column, DIGITS)]
    if column.kind == "empty":
        return np.zeros(len(rows), np.int32), ["missing"]
    raw = block.take(rows).categorical(j)
    return raw.slots.astype(np.int32), ["missing", *map(str, raw.values)]


def value_names(values: NDArray[np.float64], column: Column, digits: int) -> list[str]:
    """Numbers, levels, dates and times as text, each by itself: other rows do not change it."""
    if column.family == "number":
        return [f"{value:.{digits}g}" for value in values.tolist()]
    return [cut_names(values[k : k + 1], column)[0] for k in range(len(values))]


def _distinct(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Distinct numbers, and the slot of each value: 0 missing, then these."""
    numbered = number_values(values)
    if numbered is not None and numbered[0].shift == 0:
        return numbered[0].low, numbered[1].astype(np.int32)
    distinct = np.unique(values[~np.isnan(values)])
    slots = np.where(np.isnan(values), 0, np.searchsorted(distinct, values) + 1)
    return distinct, slots.astype(np.int32)


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
        slots = column_slots(block.take(rows), j, coder).astype(np.int32)
        texts = list(slot_words(coder, schema[j]))
        texts[0] = "is missing"
        return slots, [f"{name} {text}" for text in texts]
    return values[0], [f"{name} is {text}" for text in values[1]]


def _both(each: Sequence[Texts], joint: str) -> Texts:
    """The texts of two columns together, for the combinations that occur."""
    first, second = each
    codes = first[0].astype(np.intp) * len(second[1]) + second[0]
    distinct, number = np.unique(codes, return_inverse=True)
    a, b = np.divmod(distinct, len(second[1]))
    return number.astype(np.int32), [
        f"{first[1][i]}{joint}{second[1][k]}" for i, k in zip(a.tolist(), b.tolist(), strict=True)
    ]
