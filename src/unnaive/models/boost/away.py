"""Many coded rows that stay on workers; here are only the stripes that rounds look at.

A round looks at samples of few rows, all but one of which the last round has seen. The codes of one
are smaller than the sums of gradients for all pairs and bags, and one message instead of many. So
it is samples that travel, those of many rounds at a time, and what is asked of all rows (weights of
cells, base rates) is summed where they are.

A row's place in the random order follows from its values and the seed, so that every worker knows
it for its rows: stripes are cut from this order, as those of memory are, whoever has the rows.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from unnaive.bayes.calibrate import Visit
from unnaive.encode import Labels
from unnaive.encode.coding import coder_sizes
from unnaive.encode.draws import row_bits
from unnaive.models.boost import coding, kernels
from unnaive.models.boost.coding import (
    Numbering,
    code_block,
    row_keys,
    score_rows,
    slots_of_pairs,
    stripe_folds,
)
from unnaive.models.boost.state import Rows, Terms
from unnaive.table import Block, Source
from unnaive.table.records import Records
from unnaive.table.storage import Storage, refuse_change, stretches

ROOM = 1 << 26  # bytes of stripes that are held here, unless a few rounds need more
MOST_BINS = 16  # bits that number them: 65,536 bins
BIN_ROWS = 64  # rows of a bin, at least, where all are different
SAMPLING = "fetching samples"


@dataclass(frozen=True, slots=True, eq=False)
class SortedRows:
    """Coded rows of one block in their random order.

    Attributes
    ----------
    slots : array of shape (columns, rows)
        Of 8 bits where these can name all slots.
    groups, weight : arrays of shape (rows,)
        Class numbers; weights, empty where all are 1.
    bins : array of shape (rows,)
        Bin of each row, ascending: the first bits of its place in the random order.
    """

    slots: NDArray[Any]
    groups: NDArray[np.uint16]
    weight: NDArray[np.float64]
    bins: NDArray[np.uint16]

    @property
    def n_rows(self) -> int:
        return len(self.groups)

    def rows(self, part: slice, places: list[NDArray[np.uint8]]) -> Rows:
        """Some rows as kernels take them; no bag holds them out."""
        slots = self.slots[:, part].astype(np.uint16, order="C")
        weight = self.weight[part] if len(self.weight) else self.weight
        return Rows(slots, slots_of_pairs(slots, places), self.groups[part], weight, _NO_FOLDS)


_NO_FOLDS = np.empty(0, np.uint8)


class Sample(NamedTuple):
    """Different rows of some bins, and how often each occurs."""

    slots: NDArray[Any]
    groups: NDArray[np.uint16]
    weight: NDArray[np.float64]
    times: NDArray[np.int64]


class Tally(NamedTuple):
    """Rows of each bin, and the largest weight of a row."""

    counts: NDArray[np.int64]
    heaviest: float

    def __add__(self, other: Tally) -> Tally:  # type: ignore[override]
        return Tally(self.counts + other.counts, max(self.heaviest, other.heaviest))


def keep_stripes(
    source: Source,
    numbering: Numbering,
    labels: Labels,
    factor: NDArray[np.float64],
    n_rows: int,
    n_folds: int,
    seed: int,
) -> AwayStripes | None:
    """The rows that `code_rows` would bring here, where they are; None where they are to come.

    Few rows come, and so do all where no folds are held out, for then every round looks at all.
    """
    if not n_folds or n_rows < coding.MANY_ROWS:
        return None
    n_bits = min(max((n_rows // BIN_ROWS).bit_length(), 1), MOST_BINS)
    code = partial(_code, numbering, labels, factor, seed, n_bits)
    away = source.keep_away(code, operator.add)
    if away is None:
        return None
    stripes = AwayStripes(*away, numbering, n_folds, seed)
    try:
        refuse_change(n_rows, int(stripes.ranks[-1]))
    except BaseException:
        stripes.records.release()
        raise
    return stripes


def _code(
    numbering: Numbering,
    labels: Labels,
    factor: NDArray[np.float64],
    seed: int,
    n_bits: int,
    block: Block,
) -> tuple[SortedRows, Tally]:
    """The rows of a block in their random order, and how many are in each bin."""
    coded = code_block(numbering, labels, factor, block)
    weight = np.empty(0) if coded.weight is None else coded.weight
    order, bits = _random_order(seed, coded.slots, coded.groups, weight)
    bins = _bins(bits, n_bits)
    narrow = np.uint8 if max(coder_sizes(numbering.coders)) + 2 <= 256 else np.uint16
    rows = SortedRows(
        np.take(coded.slots.astype(narrow), order, axis=1),
        coded.groups[order],
        weight[order] if len(weight) else weight,
        bins.astype(np.uint16),
    )
    counts = np.bincount(bins, minlength=1 << n_bits)
    return rows, Tally(counts, float(weight.max(initial=1.0)))


def _random_order(
    seed: int, slots: NDArray[Any], groups: NDArray[np.uint16], weight: NDArray[np.float64]
) -> tuple[NDArray[np.intp], NDArray[np.uint64]]:
    """Rows by their random places, those of equal values class by class; and these places."""
    bits = row_bits(seed, row_keys(slots, weight))
    order = np.lexsort((groups, bits))
    return order, bits[order]


def _bins(bits: NDArray[np.uint64], n_bits: int) -> NDArray[np.intp]:
    return (bits >> np.uint64(64 - n_bits)).astype(np.intp)


def _take(ranges: NDArray[np.intp], record: SortedRows, _state: Any) -> list[Sample]:
    """The rows of a record that are in ranges of bins (first and last), equal ones once."""
    starts = np.searchsorted(record.bins, ranges[:, 0], "left")
    stops = np.searchsorted(record.bins, ranges[:, 1], "right")
    rows = np.concatenate([np.arange(a, b) for a, b in zip(starts, stops, strict=True)])
    weight = record.weight[rows] if len(record.weight) else record.weight
    slots, groups = np.take(record.slots, rows, axis=1), record.groups[rows]
    new = np.ones(len(rows), bool)
    new[1:] = groups[1:] != groups[:-1]
    for values in (*slots, *([weight] if len(weight) else [])):
        new[1:] |= values[1:] != values[:-1]
    first = np.flatnonzero(new)
    times = np.diff(first, append=len(rows))
    weight = weight[first] if len(weight) else weight
    return [Sample(np.take(slots, first, axis=1), groups[first], weight, times)]


def _join(samples: list[Sample]) -> Sample:
    return Sample(*(np.concatenate(parts, axis=-1) for parts in zip(*samples, strict=True)))


def _weigh(
    terms: Terms, places: list[NDArray[np.uint8]], record: SortedRows, _state: Any
) -> NDArray[np.float64]:
    """Weight of a record's rows in every cell of every term."""
    total, part = np.zeros(terms.start[-1]), np.empty(terms.start[-1])
    for stretch in stretches(record.n_rows):
        kernels.weigh_terms(record.rows(stretch, places), terms, kernels.NOBODY, part)
        total += part
    return total


def _score(
    terms: Terms,
    tables: NDArray[np.float64],
    prior: NDArray[np.float64],
    places: list[NDArray[np.uint8]],
    record: SortedRows,
    _state: Any,
) -> tuple[NDArray[np.float64], int]:
    """Scores of a record's rows as its state."""
    scores = np.empty((record.n_rows, len(prior)))
    for part in stretches(record.n_rows):
        score_rows(record.rows(part, places), terms, tables, prior, scores[part])
    return scores, 0


def _visit(
    fn: Callable[..., NDArray[Any]], n_classes: int, record: SortedRows, state: NDArray[np.float64]
) -> NDArray[Any]:
    """What a calibration asks of a record's rows, by their scores."""
    scores = np.zeros((record.n_rows, n_classes))
    scores[:, n_classes - state.shape[1] :] = state
    weight = record.weight if len(record.weight) else np.ones(record.n_rows)
    return fn(scores, record.groups, weight)


class AwayStripes:
    """Stripes of rows on workers; those that were brought are here.

    Attributes
    ----------
    edges : array
        Where each stripe begins in the random order of all rows.
    ranks : array of shape (bins + 1,)
        Where each bin begins in it.
    here : dict
        Stripes by their numbers.
    """

    def __init__(
        self,
        records: Records[SortedRows],
        tally: Tally,
        numbering: Numbering,
        n_folds: int,
        seed: int,
    ) -> None:
        self.records, self.places, self.storage = records, numbering.places, Storage()
        self.n_folds, self.seed, self.heaviest = n_folds, seed, tally.heaviest
        self.ranks = np.concatenate(([0], np.cumsum(tally.counts)))
        self.n_bits = len(tally.counts).bit_length() - 1
        self.edges = coding.stripe_edges(int(self.ranks[-1]), n_folds)
        self.longest = int(np.diff(self.edges).max())
        self.here: dict[int, Rows] = {}

    def __len__(self) -> int:
        return len(self.edges) - 1

    def __getitem__(self, k: int) -> Rows:
        return self.here[k]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.here.clear()
        self.records.release()

    def bring(self, now: Iterable[int], later: Iterable[int]) -> None:
        """Have some stripes here; if any is fetched, so are later ones while there is room."""
        wanted = dict.fromkeys(now)
        if wanted.keys() <= self.here.keys():
            return
        room = ROOM // (self.longest * (3 * len(self.places) + 11))
        for k in later:
            if len(wanted) >= room:
                break
            wanted[k] = None
        self.here = {k: rows for k, rows in self.here.items() if k in wanted}
        self.here |= self._fetch(sorted(wanted.keys() - self.here.keys()))

    def _fetch(self, numbers: list[int]) -> dict[int, Rows]:
        """Stripes in ascending order, in one pass: all bins that hold their rows, cut by rank."""
        firsts, lasts = self.edges[numbers], self.edges[np.add(numbers, 1)] - 1
        ranges = np.searchsorted(self.ranks, np.stack((firsts, lasts), axis=1), "right") - 1
        merged = [ranges[0]]
        for one in ranges[1:]:  # neighbours share bins, which come once
            if one[0] <= merged[-1][1]:
                merged[-1] = np.array([merged[-1][0], one[1]])
            else:
                merged.append(one)
        take = partial(_take, np.array(merged))
        sample = _join(self.records.reduce(take, operator.add, SAMPLING))
        order, bits = _random_order(self.seed, sample.slots, sample.groups, sample.weight)
        times, bins = sample.times[order], _bins(bits, self.n_bits)
        before = np.cumsum(times) - times
        rank = self.ranks[bins] + before - before[np.searchsorted(bins, bins)]
        return {k: self._cut(k, sample, order, rank, times) for k in numbers}

    def _cut(
        self,
        k: int,
        sample: Sample,
        order: NDArray[np.intp],
        rank: NDArray[np.intp],
        times: NDArray[np.int64],
    ) -> Rows:
        """Stripe k of a sample, whose rows in this order have these ranks and repetitions."""
        first, last = self.edges[k], self.edges[k + 1]
        a, b = np.searchsorted(rank, [first, last])
        some = slice(max(a - 1, 0), b)
        begin, end = np.maximum(rank[some], first), np.minimum(rank[some] + times[some], last)
        rows = np.repeat(order[some], np.maximum(end - begin, 0))
        slots = np.take(sample.slots, rows, axis=1).astype(np.uint16)
        return Rows(
            slots,
            slots_of_pairs(slots, self.places),
            sample.groups[rows],
            sample.weight[rows] if len(sample.weight) else sample.weight,
            stripe_folds(k, len(rows), self.n_folds),
        )

    def weigh(self, terms: Terms) -> NDArray[np.float64]:
        """Weight of all rows in every cell."""
        return self.records.reduce(partial(_weigh, terms, self.places), operator.add, "weighing")

    def judge(
        self, terms: Terms, tables: NDArray[np.float64], prior: NDArray[np.float64], n_classes: int
    ) -> Visit:
        """All rows with their scores by tables of evidence, as a calibration visits them."""
        score = partial(_score, terms, tables, prior, self.places)
        self.records.advance(score, operator.add, "scoring")
        return lambda fn: self.records.reduce(
            partial(_visit, fn, n_classes), operator.add, "setting base rates"
        )
