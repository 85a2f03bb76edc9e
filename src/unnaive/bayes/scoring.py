"""The one scorer: codes or values to joint log probabilities, attribute by attribute."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from unnaive.bayes import kernels
from unnaive.bayes.calibration import Calibration
from unnaive.bayes.estimate import log_likelihood, missing_evidence
from unnaive.common.checks import FINITE, check_values, expect
from unnaive.common.kernels import read_only
from unnaive.common.threads import in_threads
from unnaive.counts import CountTable
from unnaive.density import Densities, Normal
from unnaive.discretize import CoarseCoder, ColumnDensity
from unnaive.encode import Bins, Categories
from unnaive.encode.coders import check_coders, column_slots
from unnaive.encode.grid import infinite_error
from unnaive.table import Block, Column, Schema

# The least probability that is told from 0 where logarithms are needed: members of an answer may
# agree that a class is impossible.
LEAST_SHARE = 2.0**-52
LEAST_LOG = math.log(LEAST_SHARE)
ROWS = 1 << 15  # rows scored at a time: their scores stay in cache while attributes are added

Adder: TypeAlias = Callable[[slice, NDArray[np.float64]], None]


@dataclass(frozen=True, slots=True, eq=False)
class TableTerm:
    """Evidence by slot: ``logs`` is slots (missing, values, unseen) x classes."""

    coder: Bins | Categories
    logs: NDArray[np.float64]

    def check(self) -> None:
        """Refuse evidence that is not one row for each slot."""
        expect(self.logs.ndim == 2, "logs are not slots x classes.")
        check_values("logs", self.logs, (self.coder.size + 2, self.n_classes))

    @property
    def n_classes(self) -> int:
        return self.logs.shape[1]

    def select(self, classes: NDArray[np.intp]) -> TableTerm:
        """The evidence for some of the classes."""
        return TableTerm(self.coder, self.logs[:, classes])

    def scaled(self, factor: float) -> TableTerm:
        """The same evidence times a factor."""
        return TableTerm(self.coder, scale_logs(self.logs, factor))

    def look_up(self, block: Block, j: int) -> tuple[NDArray[Any], int, int, NDArray[np.float64]]:
        """The rows' codes, how they become slots, (code + wrap) & mask, and what these say."""
        if isinstance(self.coder, Bins):
            codes, logs, wrap = self.coder.codes(block.numeric(j), block.schema[j]), self.logs, 0
        else:
            raw = block.categorical(j)
            # Move the small table to the block's own codes, not the rows to ours.
            codes, logs, wrap = raw.codes, self.logs[self.coder.slots(raw.values)], 1
        return read_only(codes), wrap, np.iinfo(codes.dtype).max, logs

    def adder(self, block: Block, j: int) -> Adder:
        """How to add this attribute's evidence to a stretch of rows."""
        codes, wrap, mask, logs = self.look_up(block, j)

        def add(rows: slice, joint: NDArray[np.float64]) -> None:
            kernels.add_table(codes[rows], wrap, mask, logs, joint)

        return add


@dataclass(frozen=True, slots=True, eq=False)
class GaussianTerm:
    """Evidence by normal densities, one per class, and the evidence of a missing value."""

    mean: NDArray[np.float64]
    variance: NDArray[np.float64]
    log_weight: NDArray[np.float64]
    missing: NDArray[np.float64]

    def check(self) -> None:
        """Refuse what are no normal densities."""
        shape = (self.n_classes,)
        check_values("mean", self.mean, shape, -FINITE, FINITE)
        check_values("variance", self.variance, shape, 5e-324, FINITE / 16)  # times 2 pi a float
        check_values("log_weight", self.log_weight, shape)
        check_values("missing", self.missing, shape)

    @property
    def n_classes(self) -> int:
        return len(self.mean)

    def select(self, classes: NDArray[np.intp]) -> GaussianTerm:
        """The evidence for some of the classes."""
        return GaussianTerm(
            self.mean[classes], self.variance[classes], self.log_weight[classes],
            self.missing[classes],
        )  # fmt: skip

    @property
    def peak(self) -> NDArray[np.float64]:
        """The evidence of the mean."""
        return self.log_weight - 0.5 * np.log(2.0 * np.pi * self.variance)

    def scaled(self, factor: float) -> GaussianTerm:
        """The same evidence times a factor: that of wider or narrower normal densities."""
        variance = self.variance / factor
        log_weight = scale_logs(self.peak, factor) + 0.5 * np.log(2.0 * np.pi * variance)
        return GaussianTerm(self.mean, variance, log_weight, scale_logs(self.missing, factor))

    def adder(self, block: Block, j: int) -> Adder:
        values, peak = block.numeric(j), self.peak
        deviation = np.sqrt(self.variance)

        def add(rows: slice, joint: NDArray[np.float64]) -> None:
            stretch = values[rows]
            bad = kernels.add_gaussian(stretch, peak, self.mean, deviation, self.missing, joint)
            if bad >= 0:
                raise infinite_error(block.schema[j], stretch[bad])

        return add


@dataclass(frozen=True, slots=True, eq=False)
class KernelTerm:
    """Evidence by kernel densities, one per class, and the evidence of a missing value."""

    densities: Densities
    log_weight: NDArray[np.float64]
    missing: NDArray[np.float64]

    def check(self) -> None:
        """Refuse evidence that is not one for each class."""
        check_values("log_weight", self.log_weight, (self.n_classes,))
        check_values("missing", self.missing, (self.n_classes,))

    @property
    def n_classes(self) -> int:
        return len(self.densities.widths)

    def select(self, classes: NDArray[np.intp]) -> KernelTerm:
        """The evidence for some of the classes."""
        every = self.densities
        densities = replace(
            every, widths=every.widths[classes], start=every.start[classes],
            per_step=every.per_step[classes], first=every.first[classes], last=every.last[classes],
        )  # fmt: skip
        return KernelTerm(densities, self.log_weight[classes], self.missing[classes])

    def scaled(self, factor: float) -> KernelTerm:
        """The same evidence times a factor."""
        densities = replace(self.densities, logs=factor * self.densities.logs)
        logs = (scale_logs(self.log_weight, factor), scale_logs(self.missing, factor))
        return KernelTerm(densities, *logs)

    def adder(self, block: Block, j: int) -> Adder:
        values, densities = block.numeric(j), self.densities

        def add(rows: slice, joint: NDArray[np.float64]) -> None:
            stretch = values[rows]
            bad = kernels.add_densities(
                stretch,
                densities.scale.low,
                densities.scale.half_range,
                densities.start,
                densities.per_step,
                densities.first,
                densities.last,
                densities.logs,
                self.log_weight,
                self.missing,
                joint,
            )
            if bad >= 0:
                raise infinite_error(block.schema[j], stretch[bad])

        return add


@dataclass(frozen=True, slots=True, eq=False)
class PairTerm:
    """Evidence by the slots of two columns: ``logs`` is slots x slots x classes.

    ``first`` and ``second`` are their positions; the coders may be coarser than those of the
    columns' other evidence.
    """

    first: int
    second: int
    coders: tuple[Bins | Categories, Bins | Categories]
    logs: NDArray[np.float64]

    def check(self) -> None:
        """Refuse evidence that is not one for each two slots."""
        expect(0 <= self.first < self.second, "a pair is not two columns in their order.")
        expect(len(self.coders) == 2, "a pair does not have two coders.")
        expect(self.logs.ndim == 3, "logs are not slots x slots x classes.")
        shape = (*(coder.size + 2 for coder in self.coders), self.n_classes)
        check_values("logs", self.logs, shape)

    @property
    def n_classes(self) -> int:
        return self.logs.shape[2]

    @property
    def columns(self) -> tuple[tuple[int, Bins | Categories], ...]:
        """Both positions, with their coders."""
        return (self.first, self.coders[0]), (self.second, self.coders[1])

    def adder(self, first: NDArray[Any], second: NDArray[Any]) -> Adder:
        """How to add this pair's evidence to a stretch of rows, given their slots."""

        def add(rows: slice, joint: NDArray[np.float64]) -> None:
            kernels.add_pair(first[rows], second[rows], self.logs, joint)

        return add


Term: TypeAlias = TableTerm | GaussianTerm | KernelTerm | None


@dataclass(frozen=True, slots=True, eq=False)
class Scorer:
    """Prior and evidence of every attribute; None where an attribute has nothing to say.

    Pairs of attributes may have evidence beside theirs.
    """

    log_prior: NDArray[np.float64]
    terms: tuple[Term, ...]
    pairs: tuple[PairTerm, ...] = ()

    def check(self) -> None:
        """Refuse evidence of other classes than the prior's."""
        check_values("log_prior", self.log_prior, (self.log_prior.size,))
        for j, term in enumerate(self.terms):
            same = term is None or term.n_classes == len(self.log_prior)
            expect(same, f"the evidence of column {j} is for other classes than the prior.")
        for pair in self.pairs:
            same = pair.n_classes == len(self.log_prior)
            expect(same, "the evidence of a pair is for other classes than the prior.")

    def check_columns(self, schema: Schema, n_classes: int) -> None:
        """Refuse evidence of other columns than a table's, or for another number of classes."""
        expect(len(self.log_prior) == n_classes, f"evidence is not for {n_classes} classes.")
        tables = [term.coder if isinstance(term, TableTerm) else None for term in self.terms]
        check_coders(tables, schema)
        for column, term in zip(schema, self.terms, strict=True):
            dense = isinstance(term, (GaussianTerm, KernelTerm))
            expect(column.kind == "numeric" or not dense, f"{column} has a density.")
        for pair in self.pairs:
            expect(pair.second < len(schema), "a pair names a column that does not exist.")
            pair_coders: list[Any] = [None] * len(schema)
            pair_coders[pair.first], pair_coders[pair.second] = pair.coders
            check_coders(pair_coders, schema)

    def joint(self, block: Block, n_jobs: int | None = None) -> NDArray[np.float64]:
        """Log P(class, row): prior plus evidence, added in the order of the attributes, then of the
        pairs.
        """
        out = np.empty((block.n_rows, len(self.log_prior)))
        adders = [add for _, add in self._adders(block, n_jobs)]

        def score(start: int) -> None:
            rows = slice(start, min(start + ROWS, block.n_rows))
            part = out[rows]
            part[:] = self.log_prior
            for add in adders:
                add(rows, part)

        list(in_threads(score, range(0, block.n_rows, ROWS), n_jobs))
        return out

    def evidence(self, block: Block, n_jobs: int | None = None) -> NDArray[np.float64]:
        """Each attribute's part of the joint log probability: rows x attributes x classes.

        Parts of pairs come after those of the attributes.
        """
        n_bars = len(self.terms) + len(self.pairs)
        out = np.zeros((block.n_rows, n_bars, len(self.log_prior)))
        for j, add in self._adders(block, n_jobs):
            add(slice(0, block.n_rows), out[:, j])
        return out

    @property
    def speaks(self) -> bool:
        """Whether any attribute has something to say."""
        return any(term is not None for term in self.terms)

    def select(self, classes: NDArray[np.intp]) -> Scorer:
        """The scorer of some of its classes."""
        terms = tuple(None if term is None else term.select(classes) for term in self.terms)
        pairs = tuple(replace(pair, logs=pair.logs[:, :, classes]) for pair in self.pairs)
        return Scorer(self.log_prior[classes], terms, pairs)

    def calibrated(self, calibration: Calibration) -> Scorer:
        """Return the scorer with calibrated evidence, the prior times the slope too."""
        slope, columns, values = calibration.slope, calibration.columns, calibration.values
        prior = scale_logs(self.log_prior, slope) + calibration.intercept
        prior = np.maximum(prior, kernels.ABSENT)
        factors = [slope] * len(self.terms) if columns is None else columns.tolist()
        terms = [
            None if term is None else term.scaled(factor)
            for term, factor in zip(self.terms, factors, strict=True)
        ]
        for j, term in enumerate(terms):
            if values is not None and isinstance(term, TableTerm):
                terms[j] = replace(term, logs=term.logs + values[j])
        pairs = tuple(replace(p, logs=scale_logs(p.logs, slope)) for p in self.pairs)
        return Scorer(prior, tuple(terms), pairs)

    def _adders(self, block: Block, n_jobs: int | None) -> list[tuple[int, Adder]]:
        speaking = [j for j, term in enumerate(self.terms) if term is not None]

        def prepare(j: int) -> tuple[int, Adder]:
            term = self.terms[j]
            assert term is not None
            return j, term.adder(block, j)

        adders = list(in_threads(prepare, speaking, n_jobs))
        return adders + self._pair_adders(block, n_jobs) if self.pairs else adders

    def _pair_adders(self, block: Block, n_jobs: int | None) -> list[tuple[int, Adder]]:
        """Each column is coded once for all its pairs, which mostly share a coder."""
        coders = {(j, id(coder)): coder for pair in self.pairs for j, coder in pair.columns}
        tasks = list(coders)
        numbered = in_threads(lambda k: column_slots(block, k[0], coders[k]), tasks, n_jobs)
        slots = dict(zip(tasks, numbered, strict=True))
        n = len(self.terms)
        return [
            (n + k, pair.adder(*(slots[j, id(coder)] for j, coder in pair.columns)))
            for k, pair in enumerate(self.pairs)
        ]


def scale_logs(
    logs: NDArray[np.float64], factor: float | NDArray[np.float64]
) -> NDArray[np.float64]:
    """Logs times a factor; what stands for log 0 stays that."""
    return np.where(logs > kernels.IMPOSSIBLE / 2, factor * logs, logs)


def stack_scorers(scorers: Sequence[Scorer]) -> Scorer:
    """One scorer for several models of the same columns: its classes are theirs, end to end."""
    return _combine(scorers, np.hstack)


def add_scorers(scorers: Sequence[Scorer], votes: Sequence[float]) -> Scorer:
    """One scorer whose evidence is the sum of the models' evidence, each times its vote."""
    return _combine(scorers, lambda logs: sum(v * log for v, log in zip(votes, logs, strict=True)))


def _combine(scorers: Sequence[Scorer], join: Callable[[list[Any]], Any]) -> Scorer:
    """Tables of the same columns joined; densities and pairs have no slots in common."""
    tables = (TableTerm, type(None))
    if any(s.pairs or not all(isinstance(t, tables) for t in s.terms) for s in scorers):
        raise TypeError("only evidence by the slots of single columns can be joined.")
    terms: list[Term] = []
    for each in zip(*(scorer.terms for scorer in scorers), strict=True):
        first, logs = each[0], [term.logs for term in each if isinstance(term, TableTerm)]
        terms.append(TableTerm(first.coder, join(logs)) if isinstance(first, TableTerm) else None)
    return Scorer(join([scorer.log_prior for scorer in scorers]), tuple(terms))


def probabilities(joint: NDArray[np.float64], n_jobs: int | None = None) -> NDArray[np.float64]:
    """Joint log probabilities to probabilities of the classes, in place."""
    starts = range(0, len(joint), ROWS)
    list(in_threads(lambda s: kernels.normalize(joint[s : s + ROWS]), starts, n_jobs))
    return joint


def log_probabilities(joint: NDArray[np.float64]) -> NDArray[np.float64]:
    """Joint log probabilities to log probabilities of the classes.

    Minus infinity for a class that an impossible value rules out, as its probability is 0.
    """
    shifted = joint - joint.max(axis=1, keepdims=True)
    logs = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    logs[shifted < kernels.IMPOSSIBLE / 2] = -np.inf
    return logs


@dataclass(frozen=True, slots=True)
class Smoothing:
    """How counts become probabilities; see `NaiveBayesClassifier`."""

    alpha: float
    missing: str


def build_scorer(
    schema: Schema,
    coders: Sequence[CoarseCoder],
    table: CountTable,
    prior: NDArray[np.float64],
    smoothing: Smoothing,
    densities: Mapping[int, ColumnDensity] | None = None,
) -> Scorer:
    """Terms from counts, by whatever groups the table has, or from the densities of columns."""

    def term(j: int, coder: CoarseCoder) -> Term:
        counts = table.attribute(j)
        if densities is not None and j in densities:
            return _density_term(densities[j], counts[:, 0], smoothing)
        return _table_term(schema[j], coder, counts, smoothing)

    return Scorer(prior, tuple(term(j, coder) for j, coder in enumerate(coders)))


def _table_term(
    column: Column, coder: CoarseCoder, counts: NDArray[np.float64], smoothing: Smoothing
) -> Term:
    if coder is not None:
        return TableTerm(coder, log_likelihood(counts, smoothing.alpha, smoothing.missing))
    if column.kind == "numeric":
        # No evidence, but numbers are still checked when they come.
        return TableTerm(Bins(np.empty(0)), np.zeros((3, len(counts))))
    return None


def _density_term(column: ColumnDensity, absent: NDArray[np.float64], smoothing: Smoothing) -> Term:
    present, missing = missing_evidence(column.weight, absent, smoothing.alpha, smoothing.missing)
    if column.density is None:  # a number that is always the same: only its absence can tell
        logs = np.stack((missing, present, np.zeros_like(present)))
        return TableTerm(Bins(np.empty(0)), logs)
    if isinstance(column.density, Normal):
        return GaussianTerm(*column.density, present, missing)
    return KernelTerm(column.density, present, missing)
