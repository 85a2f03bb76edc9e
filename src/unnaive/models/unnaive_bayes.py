"""Naive Bayes that is not naive: evidence of columns and of pairs of columns, learned together."""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from unnaive.bayes import Scorer
from unnaive.bayes.estimate import check_class_weight, class_factor, log_prior
from unnaive.bayes.scoring import PairTerm, TableTerm, Term, log_probabilities
from unnaive.common.checks import check_number, check_word, expect
from unnaive.counts import CountTable, Summary, Wanted
from unnaive.counts.summary import row_factor
from unnaive.encode import GRID_LIMIT, Bins
from unnaive.estimator import Progress
from unnaive.estimator.progress import told
from unnaive.models._base import EvidenceClassifier
from unnaive.models._seeding import draw_seed
from unnaive.models.boost.coding import MOST_PAIR_SLOTS, Numbering, code_rows, number_columns
from unnaive.models.boost.kernels import FINE
from unnaive.models.boost.learn import Learned, Wish, learn
from unnaive.models.boost.rounds import Booster, Stopping
from unnaive.models.boost.state import Rule
from unnaive.table import Block, Schema, Source
from unnaive.table.schema import column_position

PAIRS_PER_COLUMN = 3.0
LEAST_FOLDS = 8  # a bag holds out at most one row in so many
RIDGE = 1.0
LEAST_ROWS = 4.0


class UnnaiveBayesClassifier(EvidenceClassifier):
    scorer_: Scorer
    counts_: CountTable
    pairs_: list[tuple[int, int]]
    validation_loss_: NDArray[np.float64]
    _n_passes = 2

    def __init__(
        self,
        *,
        interactions: Any = "auto",
        n_bags: int = 8,
        learning_rate: float = 0.1,
        max_rounds: int = 1000,
        early_stopping: bool = True,
        n_iter_no_change: int = 30,
        tol: float = 1e-5,
        max_bins: int = 128,
        max_interaction_bins: int | None = None,
        monotonic_cst: Any = None,
        missing: str = "value",
        class_weight: Any = None,
        categorical_features: Any = "from_dtype",
        max_categories: int | None = None,
        grid_limit: int = GRID_LIMIT,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.interactions = interactions
        self.n_bags = n_bags
        self.learning_rate = learning_rate
        self.max_rounds = max_rounds
        self.early_stopping = early_stopping
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.max_bins = max_bins
        self.max_interaction_bins = max_interaction_bins
        self.monotonic_cst = monotonic_cst
        self.missing = missing
        self.class_weight = class_weight
        self.categorical_features = categorical_features
        self.max_categories = max_categories
        self.grid_limit = grid_limit
        self.random_state = random_state
        self.n_jobs = n_jobs

    # Learning -------------------------------------------------------------------------------

    @told
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn the evidence.

        Parameters
        ----------
        X : table of shape (n_samples, n_features), path or `scan`
        y : array-like of shape (n_samples,), or the name of a column where X is not in memory
        sample_weight : array-like of shape (n_samples,) or None, default=None

        Returns
        -------
        self
        """
        self._check_parameters()
        source, summary = self._read(X, y, sample_weight)
        check_class_weight(self.class_weight, summary.labels.classes)
        numbering = number_columns(
            summary, self.max_bins, self._pair_bins(summary.n_rows), self.max_categories
        )
        wish, directions = self._wish(summary.schema, numbering), self._directions(summary)
        self._check_pairs(summary.schema, wish, directions)
        learned = self._learn(source, summary, numbering, wish, directions)
        self.scorer_ = _scorer(learned, numbering, summary.schema)
        self.pairs_ = list(learned.pairs)
        self.validation_loss_ = np.array([*learned.losses[0], *learned.losses[1]])
        self.counts_ = numbering.counts
        self.classes_ = summary.labels.classes
        self._remember(summary.schema)
        return self

    def _learn(
        self,
        source: Source,
        summary: Summary,
        numbering: Numbering,
        wish: Wish,
        directions: NDArray[np.int8],
    ) -> Learned:
        classes, totals = summary.labels.classes, summary.counts.totals
        factor = row_factor(summary, class_factor(self.class_weight, classes, totals))
        n_folds = max(self.n_bags, LEAST_FOLDS) if self.early_stopping else 0
        seed = draw_seed(self.random_state)
        rows = code_rows(
            source, numbering, summary.labels, factor, summary.n_rows, n_folds, seed
        )
        prior = log_prior(totals * factor, 0.0, None)
        if len(classes) < 3:  # the log odds of the second class; one class has no rival
            prior = prior[-1:] - prior[:1]
        heaviest = float(rows.weight.max(initial=1.0))
        rule = Rule(
            float(self.learning_rate),
            RIDGE,
            LEAST_ROWS,
            max(1, int(0.5 / self.learning_rate)),
            0 if self.missing == "value" else 1,
            max(1.0 / FINE, 2.0 ** (np.ceil(np.log2(heaviest)) - 30)),
        )
        stopping = Stopping(
            self.early_stopping, self.max_rounds, self.n_iter_no_change, self.tol
        )
        progress = Progress(
            self, "rounds", None, task="boosting", unit="rounds", steps=None, n_rows=summary.n_rows
        )
        booster = Booster(
            rows, prior, rule, stopping, self.n_bags, self.n_jobs, source.storage, progress
        )
        learned = learn(booster, numbering, wish, directions)
        progress.end()
        return learned

    def _n_tasks(self) -> int | None:
        return 1

    def _wanted(self, schema: Schema) -> Wanted:
        return Wanted(schema.numeric)

    def _pair_bins(self, n_rows: int) -> int:
        """Intervals of a number in pairs: two times the cube root of the rows, 8 to 32."""
        if self.max_interaction_bins is not None:
            return self.max_interaction_bins
        return int(np.clip(2.0 * np.cbrt(n_rows), 8, 32))

    def _wish(self, schema: Schema, numbering: Numbering) -> Wish:
        """What ``interactions`` asks for."""
        given, n = self.interactions, len(schema)
        if isinstance(given, str):
            if given != "auto":
                raise ValueError(
                    "interactions must be 'auto', a number of pairs, a multiple of the columns or "
                    f"a list of pairs; got {given!r}."
                )
            return Wish(int(np.ceil(PAIRS_PER_COLUMN * n)), True)
        if isinstance(given, numbers.Integral) and not isinstance(given, bool):
            check_number(self, "interactions", 0, whole=True)
            return Wish(int(given), False)
        if isinstance(given, numbers.Real) and not isinstance(given, bool):
            check_number(self, "interactions", 0)
            return Wish(int(np.ceil(float(given) * n)), False)
        known = set(numbering.varying)
        pairs = dict.fromkeys(_pair(schema, pair) for pair in given)
        return Wish(0, False, tuple(p for p in pairs if known.issuperset(p)))

    def _directions(self, summary: Summary) -> NDArray[np.int8]:
        """Where evidence may only rise (1) or fall (-1), for each column."""
        schema, given = summary.schema, self.monotonic_cst
        out = np.zeros(len(schema), np.int8)
        if given is None:
            return out
        if not isinstance(given, Mapping):
            given = dict(enumerate(given))
            if len(given) != len(schema):
                raise ValueError(
                    f"monotonic_cst has {len(given)} entries, but the table has {len(schema)} "
                    "columns: give one for each, or a dict by column."
                )
        for name, direction in given.items():
            j = column_position("monotonic_cst", schema, name)
            if direction not in (-1, 0, 1):
                raise ValueError(
                    f"monotonic_cst of {schema[j]} must be 1 (rising), -1 (falling) or 0; "
                    f"got {direction!r}."
                )
            if direction and schema[j].kind == "categorical":
                raise ValueError(
                    f"monotonic_cst constrains {schema[j]}, which holds categories: they have no "
                    "order to rise or fall in."
                )
            out[j] = direction
        if out.any() and len(summary.labels) > 2:
            raise ValueError(
                f"monotonic_cst needs two classes, one of which becomes more probable; y has "
                f"{len(summary.labels)}."
            )
        return out

    def _check_pairs(self, schema: Schema, wish: Wish, directions: NDArray[np.int8]) -> None:
        for pair in wish.listed or ():
            for j in pair:
                if directions[j]:
                    raise ValueError(
                        f"interactions lists a pair with {schema[j]}, which monotonic_cst "
                        "constrains: constrained columns stand alone. Leave out one of the two."
                    )

    def _check_parameters(self) -> None:
        check_number(self, "n_bags", 1, 255, whole=True)
        check_number(self, "learning_rate", 1e-6, 1)
        check_number(self, "max_rounds", 1, whole=True)
        check_number(self, "n_iter_no_change", 1, whole=True)
        check_number(self, "tol", 0)
        check_number(self, "max_bins", 2, GRID_LIMIT, whole=True)
        if self.max_interaction_bins is not None:
            check_number(self, "max_interaction_bins", 2, MOST_PAIR_SLOTS, whole=True)
        check_word(self, "missing", "skip", "value")

    def _check_learned(self) -> None:
        super()._check_learned()
        n = len(self.classes_)
        self.scorer_.check_columns(self.schema_, n)
        coders = [t.coder if isinstance(t, TableTerm) else None for t in self.scorer_.terms]
        expect(self.counts_.n_groups == n, "counts are not those of the classes.")
        expect(self.counts_.n_attributes == len(coders), "counts are not those of the columns.")

    # Answering ------------------------------------------------------------------------------

    def _joint(self, block: Block) -> NDArray[np.float64]:
        return self.scorer_.joint(block, self.n_jobs)

    def _evidence(self, block: Block) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        baseline = np.tile(self.scorer_.log_prior, (block.n_rows, 1))
        return baseline, self.scorer_.evidence(block, self.n_jobs)

    def _bar_names(self, schema: Schema) -> list[Any]:
        names = schema.names
        return [*names, *((names[p.first], names[p.second]) for p in self.scorer_.pairs)]


def _pair(schema: Schema, pair: Any) -> tuple[int, int]:
    """The positions of two columns, in ascending order."""
    if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
        raise ValueError(
            f"interactions holds {pair!r}; expected pairs of columns, as in [('age', 'city')]."
        )
    a, b = sorted(column_position("interactions", schema, name) for name in pair)
    if a == b:
        raise ValueError(f"interactions pairs {schema[a]} with itself.")
    return a, b


def _scorer(learned: Learned, numbering: Numbering, schema: Schema) -> Scorer:
    """Evidence as log probabilities of classes, but for constants: it sums to 0 over them."""
    n_classes = numbering.counts.n_groups

    def logs(table: NDArray[np.float64]) -> NDArray[np.float64]:
        if n_classes == 2:
            return np.concatenate((-0.5 * table, 0.5 * table), axis=-1)
        return table - table.mean(axis=-1, keepdims=True)

    def term(j: int) -> Term:
        coder = numbering.coders[j]
        if j in learned.columns:
            assert coder is not None
            return TableTerm(coder, logs(learned.columns[j]))
        if coder is None and schema[j].kind != "numeric":
            return None
        coder = Bins(np.empty(0)) if coder is None else coder
        return TableTerm(coder, np.zeros((coder.size + 2, n_classes)))

    pairs = tuple(
        PairTerm(a, b, (numbering.pair_coders[a], numbering.pair_coders[b]), logs(table))
        for (a, b), table in learned.pairs.items()
    )
    prior = log_probabilities(logs(learned.intercept)[None])[0]
    return Scorer(prior, tuple(term(j) for j in range(len(schema))), pairs)
