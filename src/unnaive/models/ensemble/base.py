"""What boosted, bagged and mixed naive Bayes share: parameters, first pass, answering together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from unnaive.bayes import Scorer, Smoothing
from unnaive.bayes.build import build_scorer
from unnaive.bayes.estimate import check_class_weight, class_factor, log_prior
from unnaive.common.checks import check_number, check_word
from unnaive.counts import CountTable, Summary
from unnaive.counts.encoded_rows import CodedRows, check_same_counts, count_rows, row_coder
from unnaive.discretize import Coarse, RuledEstimator
from unnaive.encode import Labels
from unnaive.models._seeding import draw_seed
from unnaive.models.base import TableClassifier
from unnaive.table import Block, Source
from unnaive.table.records import Records, keep_records

R = TypeVar("R")
T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class Start:
    """What the first pass leaves to models that visit the rows again."""

    source: Source
    summary: Summary
    coarse: Coarse
    seed: int
    n_jobs: int | None

    @property
    def n_classes(self) -> int:
        return len(self.summary.labels)

    def records(
        self, part: Callable[[CodedRows], tuple[R, T]], add: Callable[[T, T], T]
    ) -> tuple[Records[R], T]:
        """Records of all blocks, where they are, and a sum; ``part`` makes a record of the rows of
        a block, which are coded by the coarse coders, and their share of the sum.
        """
        summary, coarse = self.summary, self.coarse
        code = row_coder(coarse.coders, coarse.counts, summary.labels, coarse.factor, self.n_jobs)
        if not self.source.may_change:
            return keep_records(self.source, lambda block: part(code(block)), add)
        coders, n_classes = coarse.coders, self.n_classes

        def count(block: Block) -> tuple[R, tuple[T, CountTable]]:
            rows = code(block)
            record, share = part(rows)
            return record, (share, count_rows(rows, coders, n_classes))

        def add_both(a: tuple[T, CountTable], b: tuple[T, CountTable]) -> tuple[T, CountTable]:
            return add(a[0], b[0]), a[1] + b[1]

        records, (share, counts) = keep_records(self.source, count, add_both)
        try:
            check_same_counts(summary.schema.names, coarse.counts, counts)
        except BaseException:
            records.release()
            raise
        return records, share

    def scorer(self, counts: CountTable, smoothing: Smoothing, prior_alpha: float) -> Scorer:
        """Naive Bayes on counts in the coarse slots."""
        prior = log_prior(counts.totals, prior_alpha, None)
        return build_scorer(self.summary.schema, self.coarse.coders, counts, prior, smoothing)


class EnsembleClassifier(TableClassifier, RuledEstimator):
    """A classifier of many naive Bayes models over the same intervals, which are cut once."""

    class_weight: Any
    random_state: Any
    _n_passes = 2

    def _n_tasks(self) -> int | None:
        return 1

    def _check_counting(self) -> None:
        """Parameters of the models themselves."""
        for name in ("alpha", "prior_alpha"):
            check_number(self, name, 0)
        check_word(self, "missing", "skip", "value")
        self._check_options()

    def _begin(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        announced: Labels | None = None,
    ) -> Start:
        """The first pass, cuts, and the seed of all draws."""
        source, summary = self._read(X, y, sample_weight)
        if announced is not None:
            summary = summary.announce(announced)
        classes = summary.labels.classes
        check_class_weight(self.class_weight, classes)
        factor = class_factor(self.class_weight, classes, summary.counts.totals)
        coarse = self._coarsen(summary, factor)
        return Start(source, summary, coarse, draw_seed(self.random_state), self.n_jobs)
