"""Hierarchical mixtures of naive Bayes classifiers (Wiering, 2003)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if

from unnaive.answer import Answer, GatedMixture
from unnaive.answer.mixture import Shape, check_layers
from unnaive.bayes import Smoothing
from unnaive.bayes.build import build_scorer
from unnaive.common.checks import HEAVIEST, check_number, check_values, check_word, expect
from unnaive.counts import CountTable
from unnaive.discretize import CoarseCoder
from unnaive.encode import GRID_LIMIT, Labels
from unnaive.encode.coding import check_coders
from unnaive.encode.draws import branch_seed
from unnaive.encode.labels import label_groups, read_target
from unnaive.estimator import Progress, reports_progress
from unnaive.models._calibration import check_calibration
from unnaive.models.base import count_labelled
from unnaive.models.ensemble.base import EnsembleClassifier, Start
from unnaive.models.mixture.grow import Growth, draw_training_folds, grow_layers, held_out_accuracy
from unnaive.models.mixture.kernels import BERNOULLI
from unnaive.models.mixture.left_out import calibrate_mixture
from unnaive.models.mixture.training import (
    Counters,
    TrainingOptions,
    TrainingRows,
    first_table,
    train,
    training_rows,
    unit_log_prior,
)

LEAST_GAMMA = 1e-6


def _has_layers(model: HierarchicalMixtureClassifier) -> bool:
    if isinstance(model.layers, str):
        raise AttributeError(
            "layers='grow' judges architectures on all rows: call fit, or give the layers."
        )
    return True


UNTRIED = float("-inf")  # accuracy of architectures that come after a callback has asked to stop


class HierarchicalMixtureClassifier(EnsembleClassifier):
    """A hierarchy of naive Bayes gates that share rows out among naive Bayes experts.

    A gate is a naive Bayes whose classes are its children; its probabilities say how much each
    child is to be trusted with a row. Unlike naive Bayes, and unlike boosting or bagging it,
    mixtures can learn what no column tells alone, such as exclusive or.

    Training is Wiering's online generalized EM: experts learn a row as much as they are likely to
    have produced its class, and gates in favour of the child that is most likely to have.

    Parameters
    ----------
    layers : sequence of int or "grow", default=(12,)
        Children of every gate, by layer: ``(4,)`` (the paper's) is one gate over four experts,
        ``(2, 2)`` a root over two gates. ``"grow"`` grows while cross-validated accuracy improves.
    n_sweeps : int, default=5
        How often all rows are visited.
    sigma : float, default=0.1
        An expert that gives the true class the probability p is taken to be as likely as
        exp(-sigma (1 - p)): small values make experts part slowly.
    likelihood : {"gaussian", "bernoulli"}, default="gaussian"
        The paper's, as ``sigma`` says; or p itself, which it names too: experts part at once.
    gamma : float, default=0.5
        Pseudo-count of every counter, at least 1e-6; 0.1 in the paper.
    noise : float, default=0.01
        Counters start with a random number from 0 to this, so that experts come to differ.
    training : {"online", "batch"}, default="online"
        Learn after every row, as the paper does; or from all rows of a sweep together, which does
        not depend on their order or grouping: rows on a cluster may then stay there.
    shuffle : bool, default=True
        Whether online sweeps visit the rows in random orders, or as they come.
    numeric : <rules> or dict, default="best"
        How numeric columns are cut (``"sigma"`` in the paper); see `NaiveBayesClassifier`.
    n_bins, bandwidth, class_weight, categorical_features, max_categories, grid_limit :
        As in `NaiveBayesClassifier`. Missing and unseen values are skipped.
    calibration : {"slope", "none"}, default="slope"
        Whether `fit` calibrates the probabilities, as `BaggedNaiveBayesClassifier` does, by rows
        that are judged as if they had not been counted. ``"none"`` is the paper's.
    cv : int, splitter or iterable, default=5
        Folds that judge architectures: how many, a splitter, or ready (train, test) positions.
    max_experts : int, default=16
        Largest architecture that ``layers="grow"`` tries.
    random_state : int, RandomState instance or None, default=None
        Seed of the noise, the order of the rows and the folds.
    n_jobs : int or None, default=None
        Threads, for reading, growing, batch training and answering; the model never depends on it.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    answer_ : Answer
        How the model answers, as plain data; see the guide on answers.
    layers_ : tuple of int
        The architecture.
    growth_ : list
        For ``layers="grow"``: each architecture tried and its cross-validated accuracy.
    table_ : CountTable
        Counters of all gates and experts, without pseudo-counts.
    mixture_ : Mixture
        Gates and experts, ready to answer.
    coders_ : tuple
        How each column is numbered, as in `NaiveBayesClassifier`.
    n_sweeps_ : int
        Sweeps made so far.
    seed_ : int
        What random choices depend on, also in :meth:`partial_fit`.
    factor_ : array of shape (n_classes,)
        What the weights of each class's rows are multiplied by.
    schema_ : Schema
        Names and kinds of the columns.
    n_features_in_ : int
    feature_names_in_ : array of str
        Only when the table's columns have names.

    References
    ----------
    M. Wiering. Hierarchical Mixtures of Naive Bayesian Classifiers. UU-CS-2003-003.

    Examples
    --------
    >>> import pandas as pd
    >>> from unnaive import HierarchicalMixtureClassifier
    >>> X = pd.DataFrame({"a": list("0011") * 10, "b": list("0101") * 10})
    >>> y = X["a"] != X["b"]
    >>> model = HierarchicalMixtureClassifier(n_sweeps=50, random_state=0).fit(X, y)
    >>> model.score(X, y)
    1.0
    """

    _adds_up = False
    coders_: tuple[CoarseCoder, ...]
    factor_: NDArray[np.float64]
    layers_: tuple[int, ...]
    growth_: Growth
    n_sweeps_: int
    seed_: int

    def __init__(
        self,
        *,
        layers: Sequence[int] | str = (12,),
        n_sweeps: int = 5,
        sigma: float = 0.1,
        likelihood: str = "gaussian",
        gamma: float = 0.5,
        noise: float = 0.01,
        training: str = "online",
        shuffle: bool = True,
        numeric: str | Mapping[Any, str] = "best",
        n_bins: int = 10,
        bandwidth: str | float = "conditional",
        class_weight: Any = None,
        categorical_features: Any = "from_dtype",
        max_categories: int | None = None,
        grid_limit: int = GRID_LIMIT,
        calibration: str = "slope",
        cv: Any = 5,
        max_experts: int = 16,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.layers = layers
        self.n_sweeps = n_sweeps
        self.sigma = sigma
        self.likelihood = likelihood
        self.gamma = gamma
        self.noise = noise
        self.training = training
        self.shuffle = shuffle
        self.numeric = numeric
        self.n_bins = n_bins
        self.bandwidth = bandwidth
        self.class_weight = class_weight
        self.categorical_features = categorical_features
        self.max_categories = max_categories
        self.grid_limit = grid_limit
        self.calibration = calibration
        self.cv = cv
        self.max_experts = max_experts
        self.random_state = random_state
        self.n_jobs = n_jobs

    # Learning -------------------------------------------------------------------------------

    @reports_progress
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Sweep over the rows.

        Parameters
        ----------
        X : table of shape (n_samples, n_features), path or `scan`
        y : array-like of shape (n_samples,), or the name of a column where X is not in memory
        sample_weight : array-like of shape (n_samples,) or None, default=None
            How much a row moves the counters.

        Returns
        -------
        self
        """
        self._check_parameters()
        start = self._begin(X, y, sample_weight)
        with (rows := self._rows(start)).records:
            return self._learn(start, rows)

    def _learn(self, start: Start, rows: TrainingRows) -> Self:
        """All sweeps, by the layers that are given or grow."""
        (layers, growth), options, n = self._grow(start, rows), self._options(), self.n_sweeps
        shape = Shape.of(layers, start.n_classes)
        progress = Progress(
            "training", n, "sweeps", n_rows=rows.n_rows, step="sweep", steps=n, hook=self._hook
        )
        given = (rows, shape, start.coarse.coders, options, n, start.seed)
        (counters,) = train(*given, n_jobs=self.n_jobs, progress=progress)
        progress.finish()
        self.growth_, self.n_sweeps_ = growth, counters.n_sweeps
        self._store_first_pass(start)
        self._finalize(shape, counters)
        if self.calibration == "slope":
            judged = (counters, rows, options, start.summary.counts.totals, self.n_jobs)
            self.answer_ = calibrate_mixture(self.answer_, *judged)
        return self

    @available_if(_has_layers)  # type: ignore[untyped-decorator]
    @reports_progress
    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """One sweep over more rows.

        The first call fixes the classes, the intervals and the categories: values that only later
        calls bring are skipped.

        Parameters
        ----------
        X, y :
            As in :meth:`fit`.
        classes : array-like or None, default=None
            All labels that will ever come; without it, those of the first call.
        sample_weight :
            As in :meth:`fit`.

        Returns
        -------
        self
        """
        self._check_parameters()
        layers = check_layers(self.layers)
        if self.class_weight == "balanced":
            raise ValueError("class_weight='balanced' needs all rows: call fit, or give a dict.")
        if not hasattr(self, "table_"):
            announced = None if classes is None else label_groups(read_target(classes))[0]
            start = self._begin(X, y, sample_weight, announced)
            rows = self._rows(start)
            self._store_first_pass(start)
            self.growth_, self.n_sweeps_ = [], 0
            shape = Shape.of(layers, start.n_classes)
            table = first_table(shape, self.coders_, self.noise, start.seed)
        else:
            shape, table = self.mixture_.shape, self.table_
            if layers != shape.layers:
                raise ValueError(
                    f"layers is now {layers}, but the model was begun with {shape.layers}; set it "
                    "back, or fit again."
                )
            rows = self._more_rows(X, y, sample_weight)
        counters = Counters.of_table(shape, self.coders_, table)
        seed = branch_seed(self.seed_, self.n_sweeps_)
        with rows.records:
            (counters,) = rows.sweep([counters], self._options(), seed, n_jobs=self.n_jobs)
        self.n_sweeps_ += 1
        return self._finalize(shape, counters)

    def _n_tasks(self) -> int | None:
        return 2 if isinstance(self.layers, str) else 1

    def _check_parameters(self) -> None:
        for name in ("n_sweeps", "max_experts"):
            check_number(self, name, 1, whole=True)
        check_number(self, "sigma", 0, 100)
        check_number(self, "gamma", LEAST_GAMMA)
        check_number(self, "noise", 0)
        check_word(self, "likelihood", "gaussian", "bernoulli")
        check_word(self, "training", "online", "batch")
        check_calibration(self)
        self._check_options()

    def _check_learned(self) -> None:
        super()._check_learned()
        expect(isinstance(self.answer_.core, GatedMixture), "the answer is no mixture.")
        shape, n = self.mixture_.shape, len(self.classes_)
        expect(shape.layers == self.layers_, "layers_ do not match answer_.")
        check_coders(self.coders_, self.schema_)
        self.table_.check_coders(self.coders_, shape.n_units)
        check_values("factor_", self.factor_, (n,), 0.0, HEAVIEST)
        for name in ("seed_", "n_sweeps_"):
            expect(0 <= getattr(self, name) < 2**31, f"{name} is {getattr(self, name)}.")

    def _rows(self, start: Start) -> TrainingRows:
        coarse, summary = start.coarse, start.summary
        given = (coarse.coders, summary.labels, coarse.factor, summary.n_rows)
        options = self._options()
        by_place = options.why_together(self.cv if isinstance(self.layers, str) else 0) is not None
        return training_rows(start.source, *given, options, by_place)

    def _more_rows(self, X: Any, y: Any, sample_weight: Any) -> TrainingRows:
        """Rows of a later call, by what the first one fixed."""
        labels = Labels(self.classes_)
        source = self._rows_to_learn(X, y, sample_weight, self.schema_)
        n_rows = count_labelled(source, labels)
        return training_rows(source, self.coders_, labels, self.factor_, n_rows, self._options())

    def _store_first_pass(self, start: Start) -> None:
        """What later calls need of the first pass."""
        self.coders_, self.factor_ = start.coarse.coders, start.coarse.factor
        self.seed_, self.classes_ = start.seed, start.summary.labels.classes
        self._remember(start.summary.schema)

    def _options(self) -> TrainingOptions:
        sigma = BERNOULLI if self.likelihood == "bernoulli" else float(self.sigma)
        batch = self.training == "batch"
        return TrainingOptions(sigma, float(self.gamma), float(self.noise), batch, self.shuffle)

    def _grow(self, start: Start, rows: TrainingRows) -> tuple[tuple[int, ...], Growth]:
        """The architecture: as given, or the best of those judged on folds drawn once."""
        if self.layers != "grow":
            return check_layers(self.layers), []
        folds = draw_training_folds(self.cv, start.seed, rows)
        progress = Progress(
            "choosing layers", unit="architectures", step="architecture", steps=None,
            n_rows=rows.n_rows * self.n_sweeps * folds.n_folds, hook=self._hook,
        )  # fmt: skip

        def judge(layers: tuple[int, ...]) -> float:
            if progress.stopped:
                return UNTRIED
            accuracy = held_out_accuracy(
                rows, layers, start.coarse.coders, self._options(), self.n_sweeps, start.seed,
                folds, start.n_classes, self.n_jobs,
            )  # fmt: skip
            progress.add(1)
            return accuracy

        best, tried = grow_layers(judge, self.max_experts)
        progress.finish()
        return best, [pair for pair in tried if pair[1] != UNTRIED]

    def _finalize(self, shape: Shape, counters: Counters) -> Self:
        """Counters to a mixture that answers."""
        table, self.layers_ = counters.table(), shape.layers
        given = (unit_log_prior(shape, table.totals, self.gamma), Smoothing(self.gamma, "skip"))
        scorer = build_scorer(self.schema_, self.coders_, table, *given)
        self._set_answer(Answer(self.schema_, self.classes_, GatedMixture(shape, scorer, table)))
        return self

    @property
    def mixture_(self) -> GatedMixture:
        """Gates and experts, and how rows are shared among them."""
        mixture = self.answer_.core
        assert isinstance(mixture, GatedMixture)
        return mixture

    @property
    def table_(self) -> CountTable:
        """Counters of all gates and experts, without pseudo-counts."""
        return self.mixture_.counts

    # Answering ------------------------------------------------------------------------------

    def responsibilities(self, X: Any) -> Any:
        """Which expert answers for a row: how much each is trusted with it.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_experts)
            Shares that sum to one; experts in the order of the leaves.
        """
        mixture, n_jobs = self.mixture_, self.n_jobs
        return self._open(X).map(lambda block: np.exp(mixture.responsibilities(block, n_jobs)[0]))
