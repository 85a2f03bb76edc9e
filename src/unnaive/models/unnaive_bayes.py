"""Naive Bayes that is not naive: evidence of columns and of pairs of columns, learned together."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.answer import EvidenceTable
from unnaive.answer.nodes import Node
from unnaive.bayes.estimate import log_prior
from unnaive.common.checks import FINITE, check_number, check_values, check_word, expect
from unnaive.counts import Wanted
from unnaive.counts.summary import row_factor
from unnaive.encode import GRID_LIMIT
from unnaive.estimator import Progress
from unnaive.models._additive import (
    Booster,
    Interactions,
    Learned,
    Stopping,
    Stripes,
    code_rows,
    held_out_shares,
    learn,
    make_terms,
    step_rule,
)
from unnaive.models.base import FirstPass, ScorerAttributes, TableClassifier
from unnaive.models.coded import MOST_PAIR_SLOTS, Numbering, number_columns
from unnaive.models.held_out import OUT_OF_BAG, OutOfBagMixin
from unnaive.table import Schema
from unnaive.table.schema import column_position

LEAST_FOLDS = 8  # a bag holds out at most one row in so many


class UnnaiveBayesClassifier(OutOfBagMixin, ScorerAttributes, TableClassifier):
    """Naive Bayes that is not naive: evidence of columns and pairs of columns, learned together.

    The log odds of a class are its prior, plus the evidence of every column's value, plus that of
    every chosen pair of columns' values. As in naive Bayes the evidence is a table to look values
    up in, so that an answer is a sum of bars; but all tables are learned together, so that columns
    that say the same are not believed twice, and pairs say what their columns alone cannot.

    Numbers are cut into many intervals of about equal frequency. Rounds of boosting then take a
    small step in every table towards the classes of the rows. Several bags do so side by side, each
    without the rows that it holds out, and stop where these rows together are judged best. Single
    columns are boosted twice, from no evidence and from a share of naive Bayes' own, and pairs on
    the mean of both. The evidence of the bags is averaged.

    Parameters
    ----------
    interactions : "auto", int, float or list of pairs, default="auto"
        Which pairs of columns have evidence of their own. ``"auto"`` tries the pairs that gain most
        on what single columns leave, in each bag three times as many as there are columns, and
        keeps those that held-out rows gain by. A whole number is so many pairs, the strongest; a
        fraction such as 0.5 or 2.0 is a multiple of the number of columns; a list names pairs, as
        in ``[("age", "city")]``. 0 is none. In tables of more than 128 columns, pairs are looked
        for among the 128 columns that tell most about the class by themselves.
    n_bags : int, default=8
        Models that are averaged. Each holds out the rows that no other does, one in
        ``max(n_bags, 8)``.
    learning_rate : float, default=0.1
        Share of a Newton step that a round takes in each table.
    max_rounds : int, default=1000
        Most rounds, of single columns and again with pairs.
    early_stopping : bool, default=True
        Hold rows out, and stop when their log loss no longer falls. Without it one model learns
        from all rows for ``max_rounds`` rounds, and ``"auto"`` keeps all pairs that it tries.
    n_iter_no_change : int, default=30
        Rounds without gain before early stopping.
    tol : float, default=1e-3
        Share by which the log loss must fall to count as a gain: of the loss that is left, or of a
        tenth of what the base rates alone lose, whichever is more.
    max_bins : int, default=128
        Most intervals of a numeric column.
    max_interaction_bins : int or None, default=None
        Most intervals of a numeric column, and most categories, in pairs. None is twice the cube
        root of the number of rows, from 8 to 32.
    monotonic_cst : array-like of shape (n_features,), dict or None, default=None
        1 where the second class may only become more probable as a number rises, -1 where it may
        only become less so, 0 where there is no constraint; a dict is by column. Only for two
        classes. Constrained columns take part in no pair.
    missing : {"value", "skip"}, default="value"
        Whether a missing value is a value like any other, or no evidence.
    oob_score : bool, default=False
        Keep what each row is judged by the bag that held it out.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes' rows.
    categorical_features, max_categories, grid_limit :
        As in `NaiveBayesClassifier`.
    max_rows : int, default=5_000_000
        Largest number of rows that boosting reads: of a larger table, a random sample of about this
        size. Priors, intervals and counts always come from all rows. The sample is held as coded
        rows in this process, also when the table is on a cluster.
    random_state : int, RandomState instance or None, default=None
        Seed of the rows that are sampled and that bags hold out.
    n_jobs : int or None, default=None
        Threads; the model never depends on it.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    answer_ : Answer
        How the model answers, as plain data; see the guide on answers.
    scorer_ : Scorer
        The evidence: ``terms`` of the columns and ``pairs``. Over the classes it sums to 0.
    pairs_ : list of tuples
        Positions of the columns of each pair, those that held-out rows gain most by first.
    counts_ : CountTable
        Weight of the rows by class, in the slots of the columns' coders.
    validation_loss_ : array
        Log loss of the held-out rows every few rounds, from none on: of single columns, then with
        pairs. Empty without early stopping.
    oob_decision_function_ : array of shape (n_samples, n_classes)
        Probabilities of the training rows by the bag that held each one out, in their order; NaN
        for rows that no bag held out. Only with ``oob_score``.
    oob_score_ : float
        Accuracy of these. Only with ``oob_score``.
    schema_ : Schema
        Names and kinds of the columns.
    n_features_in_ : int
    feature_names_in_ : array of str
        Only when the table's columns have names.

    Notes
    -----
    The evidence of pairs is pure: its mean over the training rows vanishes for each value of either
    column, since what a value says alone stands in its own column's table. Unseen values have no
    evidence, which is that of an average row; so have missing ones with ``missing="skip"``.

    Gradients are whole multiples of a power of two, so that their sums do not depend on the order
    of summation. Rows are held out and sampled by a hash of the seed and the row number: the model
    is the same for any ``n_jobs`` and any partition of the data, but depends on the order of the
    rows. From 40,000 rows on, a round reads a sample of about 32,768 of them, another one each
    time, and boosting starts from no evidence only.

    See Also
    --------
    NaiveBayesClassifier : The same sum of bars, from counts alone.
    BoostedNaiveBayesClassifier : Evidence of single columns from reweighted counts.

    References
    ----------
    C. Elkan. Naive Bayesian Learning. Adapted from UCSD technical report CS97-557, 1997.
    Y. Lou, R. Caruana, J. Gehrke, G. Hooker. Accurate intelligible models with pairwise
    interactions. KDD 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from unnaive import UnnaiveBayesClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((500, 3))
    >>> y = (X[:, 0] > 0.5) ^ (X[:, 1] > 0.5)
    >>> model = UnnaiveBayesClassifier(random_state=0).fit(X, y)
    >>> model.pairs_[0]
    (0, 1)
    >>> model.score(X, y) > 0.95
    True
    """

    _optional_attributes = TableClassifier._optional_attributes | OUT_OF_BAG
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
        tol: float = 1e-3,
        max_bins: int = 128,
        max_interaction_bins: int | None = None,
        monotonic_cst: Any = None,
        missing: str = "value",
        oob_score: bool = False,
        class_weight: Any = None,
        categorical_features: Any = "from_dtype",
        max_categories: int | None = None,
        grid_limit: int = GRID_LIMIT,
        max_rows: int = 5_000_000,
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
        self.oob_score = oob_score
        self.class_weight = class_weight
        self.categorical_features = categorical_features
        self.max_categories = max_categories
        self.grid_limit = grid_limit
        self.max_rows = max_rows
        self.random_state = random_state
        self.n_jobs = n_jobs

    # Learning -------------------------------------------------------------------------------

    def _fit_node(self, first: FirstPass) -> Node:
        summary = first.summary
        factor = row_factor(summary, first.class_factor)
        pair_bins = self._pair_bins(float((summary.counts.totals * factor).sum()))
        numbering = number_columns(summary, factor, self.max_bins, pair_bins, self.max_categories)
        learned = self._learn(first, numbering)
        scorer = learned.scorer(numbering, summary.schema)
        self.pairs_ = list(learned.evidence.pairs)
        self.validation_loss_ = np.array([*learned.losses[0], *learned.losses[1]])
        # All rounds are added up in one table, each with its full vote.
        errors = learned.standard_errors(summary.schema, len(summary.labels))
        return EvidenceTable(scorer, numbering.counts, discriminative=True, errors=errors)

    def _learn(self, first: FirstPass, numbering: Numbering) -> Learned:
        source, summary, class_factor, seed, _ = first
        classes = summary.labels.classes
        directions = read_directions(self.monotonic_cst, summary.schema, len(classes))
        interactions = read_interactions(
            self.interactions, summary.schema, numbering.varying, directions
        )
        n_folds = max(self.n_bags, LEAST_FOLDS) if self.early_stopping else 0
        if self.oob_score and summary.n_rows > self.max_rows:
            raise ValueError(
                f"oob_score=True needs max_rows of at least the number of rows: there are "
                f"{summary.n_rows:,}, and max_rows is {self.max_rows:,}."
            )
        stripes = code_rows(
            source,
            numbering,
            summary,
            class_factor,
            n_folds,
            seed,
            self.max_rows,
        )
        prior = log_prior(numbering.counts.totals, 0.0, None)
        if len(classes) < 3:  # the log odds of the second class; one class has no rival
            prior = prior[-1:] - prior[:1]
        progress = Progress(
            "boosting", None, "rounds", step="round", steps=None, n_rows=summary.n_rows,
            hook=self._hook,
        )  # fmt: skip
        stopping = Stopping(self.early_stopping, self.max_rounds, self.n_iter_no_change, self.tol)
        alone = make_terms(numbering, numbering.varying, [], directions)
        rule = step_rule(stripes.heaviest, self.learning_rate, self.missing)
        booster = Booster(
            stripes,
            prior,
            rule,
            stopping,
            self.n_bags,
            self.n_jobs,
            progress,
            alone,
        )
        learned = learn(booster, numbering, interactions, directions, n_folds)
        progress.finish()
        if self.oob_score:
            self._judge(held_out_shares(booster, stripes, len(classes)), stripes)
        return learned

    def _judge(self, shares: NDArray[np.float64], stripes: Stripes) -> None:
        """Store the probabilities of rows by the bag that holds each out."""
        groups = np.concatenate([rows.groups for rows in stripes.rows])
        weight = np.concatenate([rows.weight for rows in stripes.rows])
        weight = weight if len(weight) else np.ones(len(groups))
        if len(stripes.order):  # back to the order of the table
            groups[stripes.order], weight[stripes.order] = groups.copy(), weight.copy()
        self._set_oob(shares, groups, weight)

    def _n_tasks(self) -> int | None:
        return 1

    def _wanted(self, schema: Schema) -> Wanted:
        return Wanted(schema.numeric)

    def _pair_bins(self, n_rows: float) -> int:
        """Intervals of a number in pairs: two times the cube root of the rows, 8 to 32."""
        if self.max_interaction_bins is not None:
            return self.max_interaction_bins
        return int(np.clip(2.0 * np.cbrt(n_rows), 8, 32))

    def _check_parameters(self) -> None:
        check_number(self, "n_bags", 1, 255, whole=True)
        check_number(self, "learning_rate", 1e-6, 1)
        check_number(self, "max_rounds", 1, whole=True)
        check_number(self, "n_iter_no_change", 1, whole=True)
        check_number(self, "tol", 0)
        check_number(self, "max_bins", 2, GRID_LIMIT, whole=True)
        check_number(self, "max_rows", 1, whole=True)
        if self.max_interaction_bins is not None:
            check_number(self, "max_interaction_bins", 2, MOST_PAIR_SLOTS, whole=True)
        check_word(self, "missing", "skip", "value")
        if self.oob_score and not self.early_stopping:
            raise ValueError(
                "oob_score=True needs early_stopping=True: without it, no bag holds rows out."
            )

    def _check_learned(self) -> None:
        super()._check_learned()
        pairs = [(pair.first, pair.second) for pair in self.scorer_.pairs]
        expect(self.pairs_ == pairs, "pairs_ do not match the evidence of answer_.")
        loss = self.validation_loss_
        check_values("validation_loss_", loss, (loss.size,), -FINITE, FINITE)
        self._check_oob()


PAIRS_PER_COLUMN = 3.0


def read_interactions(
    value: Any, schema: Schema, varying: Sequence[int], directions: NDArray[np.int8]
) -> Interactions:
    """What the parameter ``interactions`` asks for, of the columns that vary."""
    if isinstance(value, str) and value == "auto":
        return Interactions(math.ceil(PAIRS_PER_COLUMN * len(schema)), held_out=True)
    is_number = isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_))
    if is_number and 0 <= float(value) < math.inf:
        each = 1 if isinstance(value, numbers.Integral) else len(schema)
        return Interactions(math.ceil(float(value) * each))
    if isinstance(value, (str, numbers.Number)) or not hasattr(value, "__iter__"):
        raise ValueError(
            "interactions must be 'auto', a number of pairs, a multiple of the number of columns, "
            f"or a list of pairs; got {value!r}."
        )
    listed = dict.fromkeys(_read_pair(pair, schema, directions) for pair in value)
    return Interactions(0, listed=tuple(pair for pair in listed if set(pair) <= set(varying)))


def _read_pair(pair: Any, schema: Schema, directions: NDArray[np.int8]) -> tuple[int, int]:
    """The positions of two columns, in ascending order."""
    if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
        raise ValueError(
            f"interactions holds {pair!r}; expected pairs of columns, as in [('age', 'city')]."
        )
    a, b = sorted(column_position("interactions", schema, name) for name in pair)
    if a == b:
        raise ValueError(f"interactions pairs {schema[a]} with itself; name two columns.")
    for j in (a, b):
        if directions[j]:
            raise ValueError(
                f"interactions pairs {schema[j]}, which monotonic_cst constrains; constrained "
                "columns take part in no pair. Leave out the pair or the constraint."
            )
    return a, b


def read_directions(value: Any, schema: Schema, n_classes: int) -> NDArray[np.int8]:
    """What the parameter ``monotonic_cst`` says of each column."""
    out = np.zeros(len(schema), np.int8)
    if value is None:
        return out
    if not isinstance(value, Mapping):
        value = dict(enumerate(value))
        if len(value) != len(schema):
            raise ValueError(
                f"monotonic_cst has {len(value)} entries, but the table has {len(schema)} columns; "
                "give one for each, or a dict by column."
            )
        positions = list(value)
    else:
        positions = [column_position("monotonic_cst", schema, name) for name in value]
    for j, direction in zip(positions, value.values(), strict=True):
        if direction not in (-1, 0, 1):
            raise ValueError(
                f"monotonic_cst of {schema[j]} must be 1 (rising), -1 (falling) or 0; "
                f"got {direction!r}."
            )
        if direction and schema[j].kind == "categorical":
            raise ValueError(
                f"monotonic_cst constrains {schema[j]}, which holds categories; only numbers rise "
                "and fall."
            )
        out[j] = direction
    if out.any() and n_classes > 2:
        raise ValueError(
            f"monotonic_cst is for two classes, of which the second becomes more or less probable; "
            f"y has {n_classes}."
        )
    return out
