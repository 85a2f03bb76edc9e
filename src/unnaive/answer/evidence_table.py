"""One table of evidence: a prior, and one bar per column."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from unnaive.answer.edits import Edit, EditLayer
from unnaive.bayes import Scorer
from unnaive.bayes.scoring import TableTerm
from unnaive.common.checks import FINITE, check_factors, check_positive, check_values, expect
from unnaive.counts import CountTable
from unnaive.counts.table import EXTRA_SLOTS
from unnaive.table import Schema

LARGEST = float(np.finfo(np.float32).max)


@dataclass(frozen=True, slots=True, eq=False)
class EvidenceTable:
    """One table of evidence: a prior, and one bar per column.

    Attributes
    ----------
    scorer : Scorer
    counts : CountTable or None
        Weight of the training rows by class, in the slots of the scorer's coders.
    rounds : float or None
        Of boosting rounds that were added up, the sum of their votes.
    slope : float
        Factor of calibration that is in the evidence; 1 without it.
    discriminative : bool
        Whether the evidence was trained to predict the classes, by gradient boosting, instead of
        being estimated from the counts.
    errors : tuple of arrays of shape (slots, classes)
        Standard error of the weight of evidence of every slot, for each column; empty where they
        are not known otherwise than by the counts.
    columns : array of shape (columns,) or None
        Factors of calibration of the columns, where each has its own; the slope is then that of
        the prior alone.
    layer : EditLayer or None
        Corrections by experts, which are in the evidence, and what it was before them.
    """

    ADDS_UP: ClassVar = True

    scorer: Scorer
    counts: CountTable | None = None
    rounds: float | None = None
    slope: float = 1.0
    discriminative: bool = False
    errors: tuple[NDArray[np.float32], ...] = ()
    columns: NDArray[np.float64] | None = None
    layer: EditLayer | None = None

    def check(self) -> None:
        """Check that the counts and errors match the evidence."""
        check_counts(self.counts, self.scorer, self.n_outputs)
        expect(len(self.errors) in (0, len(self.scorer.terms)), "columns and errors differ.")
        for error, term in zip(self.errors, self.scorer.terms, strict=False):
            slots = len(term.logs) if isinstance(term, TableTerm) and error.size else 0
            check_values("errors", error, (slots, self.n_outputs), 0.0, LARGEST)
        if self.rounds is not None:
            expect(abs(self.rounds) <= FINITE, f"rounds is {self.rounds}, not a finite number.")
        check_positive("slope", self.slope)
        check_factors("columns", self.columns, len(self.scorer.terms))

    @property
    def n_outputs(self) -> int:
        return len(self.scorer.log_prior)

    @property
    def boosted(self) -> bool:
        """Whether boosting made the evidence, so that it does not follow from the counts."""
        return self.discriminative or self.rounds is not None

    @property
    def is_calibrated(self) -> bool:
        return self.slope != 1.0 or self.columns is not None

    def check_columns(self, schema: Schema) -> None:
        """Check that the columns are those of a schema."""
        self.scorer.check_columns(schema, self.n_outputs)
        if self.layer is not None:
            before = replace(self, scorer=self.layer.scorer, errors=self.layer.errors, layer=None)
            before.check()
            before.check_columns(schema)

    @property
    def edits(self) -> tuple[Edit, ...]:
        """The corrections by experts, in their order."""
        return () if self.layer is None else self.layer.edits


def check_counts(counts: CountTable | None, scorer: Scorer, n_groups: int) -> None:
    """Check that counts match the evidence."""
    if counts is not None:
        n, n_columns = counts.n_attributes, len(scorer.terms)
        expect(n == n_columns, f"counts have {n} columns, but the evidence has {n_columns}.")
        expect(counts.n_groups == n_groups, f"counts have {counts.n_groups} of {n_groups} classes.")
        for term, slots in zip(scorer.terms, np.diff(counts.offsets), strict=True):
            if isinstance(term, TableTerm) and slots > EXTRA_SLOTS:
                same = len(term.logs) == slots
                expect(same, "counts of a column have other values than its evidence.")
