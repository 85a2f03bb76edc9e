"""Boosted naive Bayes (Elkan, 1997; Wiering, 2003): rounds over reweighted counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache, partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from unnaive.answer import Answer, EvidenceTable, Vote
from unnaive.answer.calibrated import calibrated
from unnaive.answer.nodes import Node
from unnaive.bayes import Scorer, Smoothing
from unnaive.bayes.calibrate_values import shift_scorer
from unnaive.bayes.estimate import log_prior
from unnaive.bayes.left_out import scorer_without_one
from unnaive.bayes.scoring import stack_scorers
from unnaive.common.checks import FINITE, check_number, check_values, check_word, expect
from unnaive.counts import CountTable
from unnaive.encode import GRID_LIMIT
from unnaive.estimator import Progress, reports_progress
from unnaive.estimator.registry import register
from unnaive.models._base import ScorerAttributes
from unnaive.models._calibration import check_calibration
from unnaive.models._row_draw import RowDraw
from unnaive.models.ensemble.base import EnsembleClassifier, Start
from unnaive.models.ensemble.left_out import judge_rounds, match_evidence, match_votes
from unnaive.models.ensemble.left_out_columns import judge_columns, places_to_watch
from unnaive.models.ensemble.rounds import Boosted, Booster, Made, Rules, add_rounds, round_share
from unnaive.models.ensemble.split import Split, split_rows

# From the second round on a class may have hardly any weight left, and must not vanish.
LEAST_PRIOR = 0.5
ALGORITHMS = ("real", "probability", "m1", "samme")


@register("boosted", "Rounds of naive Bayes, each on the rows the last misjudged.", cost=30)
class BoostedNaiveBayesClassifier(ScorerAttributes, EnsembleClassifier):
    """AdaBoost over naive Bayes: rows that are misjudged weigh more in the next round.

    Rows are coded once; each round is one pass that counts them with their weights and one that
    scores them. With ``algorithm="real"`` a round adds its log-odds, so that all rounds together
    are again one table of evidence: as fast to predict with, and as readable, as naive Bayes.

    Parameters
    ----------
    n_estimators : int, default=10
        Most rounds to take.
    algorithm : {"real", "probability", "m1", "samme"}, default="real"
        ``"real"``: rounds begin with the classes' shares, and each adds its log probabilities (Real
        AdaBoost; SAMME.R for more than two classes). ``"probability"``: a row loses 1 - P(its
        class) in a round, and the answer is the mean of the rounds' probabilities, by weights
        log((1 - loss) / loss) of their mean losses (AdaBoost with hypotheses between 0 and 1);
        most accurate of those that vote. ``"m1"``: a round votes for one class with
        log((1 - error) / error), as the papers do. ``"samme"``: that vote plus log(K - 1), so that
        any round better than chance among K classes counts.
    learning_rate : float or None, default=None
        Factor of every round's vote. None is 0.1 for ``"real"``, where naive Bayes is surer of
        itself than it should be, and 1 for the others, as in the papers.
    calibration : {"values", "columns", "slope", "none"} or None, default=None
        Whether all evidence, or all votes, are multiplied by one factor (``"slope"``), and every
        class has an intercept, such that the classes of rows are most probable, each judged as if
        it had not been counted in any round; ``"columns"`` (for ``algorithm="real"``) has a factor
        for each column, and ``"values"`` then adds to the evidence of every value of a column as
        much as rows ask for against a pull to none. With ``algorithm="real"`` the rounds
        themselves then weigh rows as if they had not been counted, and take their counts for those
        of as many equal rows as say as much. Large tables are calibrated by rows drawn by their
        places. None is ``"values"`` for ``"real"``, ``"slope"`` for others; ``"none"`` the papers'.
    early_stopping : bool, default=False
        Hold rows out and stop when their log loss no longer falls; the best number of rounds is
        kept.
    validation_fraction : float, default=0.1
        Share of rows held out for early stopping.
    n_iter_no_change : int, default=5
        Rounds without gain before early stopping.
    numeric : <rules> or dict, default="best"
        How numeric columns are cut, once, before the rounds; see `NaiveBayesClassifier`.
    n_bins, bandwidth, alpha, prior_alpha, missing, class_weight, categorical_features, \
max_categories, grid_limit :
        As in `NaiveBayesClassifier`.
    random_state : int, RandomState instance or None, default=None
        Seed of fresh weights, which ``"m1"`` and ``"samme"`` take when a round is no better than
        chance, and of the rows held out.
    n_jobs : int or None, default=None
        Threads; the model never depends on it.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    answer_ : Answer
        How the model answers, as plain data; see the guide on answers.
    algorithm_ : str
        How the rounds voted.
    scorer_ : Scorer
        The evidence of all rounds, added up (``"real"``) or side by side.
    counts_ : CountTable
        Weight of the rows by class, in the slots of the coders: what stands behind the evidence.
    estimator_weights_ : array of shape (n_rounds,)
        Votes of the rounds.
    estimator_errors_ : array of shape (n_rounds,)
        Weighted errors of the rounds; with ``"probability"`` their mean losses.
    validation_loss_ : array
        Log loss of the rows held out, after each round kept; empty without early stopping.
    n_restarts_ : int
        How often fresh weights were taken.
    schema_ : Schema
        Names and kinds of the columns.
    n_features_in_ : int
    feature_names_in_ : array of str
        Only when the table's columns have names.

    Notes
    -----
    With T rounds, e rows, f columns and v values each, time is O(T e f) and memory O(T f v) beside
    the coded rows (about half a byte for each small column) and three numbers per row. A round
    without error is the last; with ``"m1"`` and ``"samme"`` it decides alone. With ``"real"``,
    rounds that end early are together as sure as plain naive Bayes, or as all rounds would be if
    that is less.

    References
    ----------
    C. Elkan. Naive Bayesian Learning. Adapted from UCSD technical report CS97-557, 1997.
    M. Wiering. Hierarchical Mixtures of Naive Bayesian Classifiers. UU-CS-2003-003.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from unnaive import BoostedNaiveBayesClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = BoostedNaiveBayesClassifier().fit(X, y)
    >>> model.score(X, y) > 0.95
    True
    """

    algorithm_: str
    estimator_weights_: NDArray[np.float64]
    estimator_errors_: NDArray[np.float64]
    validation_loss_: NDArray[np.float64]
    n_restarts_: int

    def __init__(
        self,
        *,
        n_estimators: int = 10,
        algorithm: str = "real",
        learning_rate: float | None = None,
        calibration: str | None = None,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        numeric: str | Mapping[Any, str] = "best",
        n_bins: int = 10,
        bandwidth: str | float = "conditional",
        alpha: float = 0.5,
        prior_alpha: float = 0.0,
        missing: str = "skip",
        class_weight: Any = None,
        categorical_features: Any = "from_dtype",
        max_categories: int | None = None,
        grid_limit: int = GRID_LIMIT,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.algorithm = algorithm
        self.learning_rate = learning_rate
        self.calibration = calibration
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.numeric = numeric
        self.n_bins = n_bins
        self.bandwidth = bandwidth
        self.alpha = alpha
        self.prior_alpha = prior_alpha
        self.missing = missing
        self.class_weight = class_weight
        self.categorical_features = categorical_features
        self.max_categories = max_categories
        self.grid_limit = grid_limit
        self.random_state = random_state
        self.n_jobs = n_jobs

    # Learning -------------------------------------------------------------------------------

    @reports_progress
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Take the rounds.

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
        start = self._begin(X, y, sample_weight)
        rules = Rules(
            self.algorithm,
            self.n_estimators,
            self._rate(),
            self.n_iter_no_change,
            start.seed,
        )
        split = split_rows(start, self.validation_fraction if self.early_stopping else 0.0)
        with split.records:
            return self._take_rounds(start, rules, split)

    def _take_rounds(self, start: Start, rules: Rules, split: Split) -> Self:
        smoothing = Smoothing(self.alpha, self.missing)
        least = max(self.prior_alpha, LEAST_PRIOR)

        def build(counts: CountTable) -> Scorer:
            return start.scorer(counts, smoothing, least)

        n = self.n_estimators
        progress = Progress(
            "boosting", n, "rounds", n_rows=start.summary.n_rows, step="round", steps=n,
            hook=self._hook,
        )  # fmt: skip
        way, real, watch = self._calibration(), self.algorithm == "real", None
        leave_out = cache(partial(_leave_out, start, smoothing))
        if way in ("columns", "values"):
            watch = partial(places_to_watch, self._draw(start, split))
        booster = Booster(
            split, start.coarse.coders, start.n_classes, build, rules, self.n_jobs, progress,
            leave_out if real and way != "none" else None, watch,
        )  # fmt: skip
        prior = self._log_prior(start)
        if real:
            booster.start_from(prior)
        boosted = booster.run(self._first(booster, start, smoothing))
        progress.finish()
        root = self._root(boosted, start, prior)
        if way != "none":
            without = [leave_out(made) for made in boosted.made]
            root = self._calibrate(root, booster, without, start, self._draw(start, split))
        answer = Answer(start.summary.schema, start.summary.labels.classes, root)
        self.estimator_weights_ = np.array(boosted.votes)
        self.estimator_errors_ = np.array(boosted.errors)
        self.validation_loss_ = np.array(boosted.losses)
        self.n_restarts_ = boosted.restarts
        self.algorithm_ = self.algorithm
        self._learn_answer(answer)
        return self

    def _first(self, booster: Booster, start: Start, smoothing: Smoothing) -> Made:
        """Naive Bayes of the first round.

        Weights that are the same for all rows of a class do not change what values say: it is that
        of the rows as they are. Where the classes' shares are known, it adds none of its own.
        """
        if booster.holds_out:
            return booster.count_round()
        counts = start.coarse.counts
        scorer = start.scorer(counts, smoothing, self.prior_alpha)
        if self.algorithm == "real":
            scorer = replace(scorer, log_prior=np.zeros(start.n_classes))
        return Made(scorer, counts)

    def _root(self, boosted: Boosted, start: Start, prior: NDArray[np.float64]) -> Node:
        """Rounds that add up are one table of evidence; others vote."""
        counts, votes = start.coarse.counts, np.array(boosted.votes)
        if self.algorithm == "real":
            scorer = add_rounds(boosted.scorers, boosted.votes, prior)
            return EvidenceTable(scorer, counts, float(votes.sum()))
        if self.algorithm == "probability":
            stacked = stack_scorers(boosted.scorers)
            return Vote(votes, "probabilities", "mean", "round", stacked, counts)
        weights = votes / round_share(self.algorithm, start.n_classes)
        return Vote(weights, "winner", "softmax", "round", stack_scorers(boosted.scorers), counts)

    def _draw(self, start: Start, split: Split) -> RowDraw | None:
        """Which rows calibrate: few of votes, more of means, which naive Bayes is less like."""
        way, n_classes, counts = self._calibration(), start.n_classes, start.coarse.counts
        each = 1 + counts.n_attributes if way != "slope" else 4 * (self.algorithm == "probability")
        n_values = counts.counts.shape[1] if way == "values" else 0
        given = (split.n_learning, each * n_classes, start.summary.counts.totals, counts.totals)
        return RowDraw.of(*given, n_values * (n_classes - 1))

    def _calibrate(
        self,
        root: Node,
        booster: Booster,
        without: list[Scorer],
        start: Start,
        draw: RowDraw | None,
    ) -> Node:
        """The answer with calibrated probabilities, learned from rows left out of every round.

        ``without`` is the evidence of each round for rows that were not counted. Where some rows
        calibrate, more of them say how probable classes are on the whole.
        """
        boosted, smoothing = booster.boosted, Smoothing(self.alpha, self.missing)
        judged_rounds = list(zip(boosted.scorers, without, boosted.votes, strict=True))
        given, totals = (self.algorithm, self.n_jobs), start.summary.counts.totals
        if not isinstance(root, EvidenceTable):
            found = judge_rounds(booster.records, judged_rounds, *given, draw)
            votes = list(zip(boosted.scorers, boosted.votes, strict=True))
            draws = (draw, self._draw_more(start))
            found = match_votes(found, booster.records, votes, *given, draws, totals)
            return calibrated(root, found)
        scorers = (root.scorer, add_rounds(without, boosted.votes, self._log_prior(start)))
        if booster.watch is None:
            node = calibrated(root, judge_rounds(booster.records, [(*scorers, 1.0)], *given))
        else:
            judged = judge_columns(booster.records, boosted, scorers, smoothing, self.n_jobs)
            calibration = judged.fit(few=self._calibration() == "values")
            node = calibrated(root, calibration)
            if self._calibration() == "values":
                assert isinstance(node, EvidenceTable)
                shifts = judged.fit_values(node.scorer, calibration, self.missing)
                node = replace(node, scorer=shift_scorer(node.scorer, shifts))
        assert isinstance(node, EvidenceTable)
        draws = (draw, self._draw_more(start))
        found = match_evidence(booster.records, node.scorer, draws, totals, self.n_jobs)
        return calibrated(node, found)

    def _draw_more(self, start: Start) -> RowDraw | None:  # to say how probable classes are
        n_rows, rows = start.summary.n_rows, start.summary.counts.totals
        return RowDraw.of(n_rows, start.n_classes, rows, start.coarse.counts.totals)

    def _log_prior(self, start: Start) -> NDArray[np.float64]:
        return log_prior(start.coarse.counts.totals, self.prior_alpha, None)

    def _calibration(self) -> str:
        if self.calibration is None:
            return "values" if self.algorithm == "real" else "slope"
        return self.calibration

    def _check_parameters(self) -> None:
        self._check_counting()
        if self.calibration is not None:
            check_calibration(self, "columns", "values")
        check_number(self, "n_estimators", 1, whole=True)
        check_word(self, "algorithm", *ALGORITHMS)
        if self.calibration in ("columns", "values") and self.algorithm != "real":
            raise ValueError(
                f"calibration={self.calibration!r} needs algorithm='real': with "
                f"{self.algorithm!r} rounds vote, and columns have no evidence of their own; take "
                "calibration='slope'."
            )
        if self.learning_rate is not None:
            check_number(self, "learning_rate", 1e-9)
        check_number(self, "validation_fraction", 0, 1)
        if self.early_stopping and self.validation_fraction in (0, 1):
            raise ValueError(
                "early_stopping=True needs a validation_fraction between 0 and 1, so that some "
                f"rows are watched and some learned from; got {self.validation_fraction!r}."
            )
        check_number(self, "n_iter_no_change", 1, whole=True)

    def _check_learned(self) -> None:
        super()._check_learned()
        expect(self.algorithm_ in ALGORITHMS, f"rounds voted by {self.algorithm_!r}.")
        rounds = self.estimator_weights_.size
        expect(rounds, "there are no rounds.")
        adds_up = self.answer_.root.is_additive
        expect(adds_up == (self.algorithm_ == "real"), "rounds were joined in another way.")
        check_values("estimator_weights_", self.estimator_weights_, (rounds,))
        check_values("estimator_errors_", self.estimator_errors_, (rounds,), nan=True)
        loss = self.validation_loss_
        check_values("validation_loss_", loss, (loss.size,), -FINITE, FINITE, nan=True)

    @property
    def _adds_up(self) -> bool:  # type: ignore[override]
        return self.algorithm == "real"

    def _rate(self) -> float:
        if self.learning_rate is None:
            return 0.1 if self.algorithm == "real" else 1.0
        return float(self.learning_rate)


def _leave_out(start: Start, smoothing: Smoothing, made: Made) -> Scorer:
    """The evidence of a round for a row of each class that was not counted."""
    return scorer_without_one(made.scorer, made.counts, start.coarse.counts, smoothing)
