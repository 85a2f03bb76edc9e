"""Class decomposition: every class as several clusters, each a class of its own while learning."""

# mypy: disable-error-code="untyped-decorator"

from __future__ import annotations

import numbers
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.utils import Bunch, check_random_state, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.validation import check_is_fitted

from unnaive.answer import Answer, Decision, Ensemble, Folded
from unnaive.answer.nodes import Node
from unnaive.bayes.calibration import Calibration
from unnaive.common.advice import silence
from unnaive.common.checks import FINITE, check_number, check_values, check_word, expect
from unnaive.common.sklearn_private import check_method_params
from unnaive.counts import Summary, Wanted
from unnaive.encode import GRID_LIMIT
from unnaive.encode.draws import assign_folds
from unnaive.estimator import Progress, reports_progress
from unnaive.models._calibration import check_calibration
from unnaive.models._seeding import seeded
from unnaive.models.base import TableClassifier
from unnaive.models.decompose.choose import Judge, choose_clusters
from unnaive.models.decompose.left_out import PairRows, calibrate_pairs
from unnaive.models.decompose.relabel import ClassRows, Clustering, RowLabels
from unnaive.models.decompose.relabel import join as join_pairs
from unnaive.models.decompose.routing import refuse_foreign, route
from unnaive.models.latent_class import LatentClassClusterer
from unnaive.models.naive_bayes import NaiveBayesClassifier
from unnaive.table import Schema, Source, scan_of
from unnaive.table.picking import Picked, take_rows
from unnaive.table.reading import weight_of_each
from unnaive.table.scan import is_scanned
from unnaive.table.storage import join

SMALL_VARIANCE = 0.03  # var_smoothing of the default estimator: clusters are narrower than classes


class ClassDecompositionClassifier(MetaEstimatorMixin, TableClassifier):  # type: ignore[misc]
    """A classifier that learns each class as several clusters.

    The rows of every class are clustered, every (class, cluster) pair becomes a class of its own,
    the estimator is trained on the pairs, and pairs are folded back to classes. A class that lies
    in several places, which naive Bayes would blur into one, is thus told apart place by place.

    Parameters
    ----------
    estimator : classifier or None, default=None
        Trained on pairs. None is ``NaiveBayesClassifier(numeric="gaussian", var_smoothing=0.03)``.
    clusterer : clusterer or None, default=None
        Finds the clusters of each class: any with ``fit_predict``, or ``fit`` and ``predict``.
        Rows that it labels -1 (noise) are a cluster of their own. None is
        ``LatentClassClusterer(n_init=1)``.
    select : {"likelihood", "accuracy"}, default="likelihood"
        Take the clusters as the clusterer finds them, which for `LatentClassClusterer` means by
        held-out likelihood; or decompose a class only while cross-validated accuracy gains.
    fold : {"sum", "max"}, default="sum"
        Probability of a class: the sum over its clusters, or its best cluster's, made to sum to 1.
    cv : int, splitter or iterable, default=5
        Folds that judge accuracy, with ``select="accuracy"``.
    max_clusters : int, default=32
        Most clusters of a class that ``select="accuracy"`` tries.
    min_rows : int, default=10
        Classes with fewer rows stay whole.
    calibration : {"slope", "none"}, default="slope"
        Whether the log probabilities of the classes are multiplied by one factor, and every class
        has an intercept, such that the classes of rows are most probable, each judged as if it had
        not been counted. Around other classifiers of this library than `NaiveBayesClassifier`, each
        is judged by a second estimator, of the half of the rows that it is not in, with the same
        clusters. Those of other libraries say themselves how sure they are. ``"none"`` is the
        paper's.
    random_state : int, RandomState instance or None, default=None
        Seed of the folds, and of the estimator and the clusterer where they have none.
    n_jobs : int or None, default=None
        Threads over classes and folds; the result never depends on it.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    answer_ : Answer
        How the model answers, as plain data; see the guide on answers.
    estimator_ : classifier
        Fitted on pairs, numbered from 0.
    pairs_ : list of (class, int)
        The class and cluster of each pair.
    decision_ : Decision or None
        What `with_decision` has set.
    fold_ : str
        How pairs are folded to classes.
    owner_ : array of shape (n_pairs,)
        Number of each pair's class.
    n_clusters_ : array of shape (n_classes,)
        Number of clusters of each class.
    cluster_weight_ : array of shape (n_pairs,)
        Weight of the training rows of each pair.
    noise_ : array of shape (n_pairs,)
        Whether the clusterer calls the rows of a pair noise.
    calibration_ : Calibration
        The factor and the intercepts; only where there are any.
    clusterers_ : list
        The fitted clusterer of each class; None for a class that stayed whole.
    schema_ : Schema
        Names and kinds of the columns.
    n_features_in_ : int
    feature_names_in_ : array of str
        Only when the table's columns have names.

    See Also
    --------
    LatentClassClusterer : The default clusterer.

    References
    ----------
    R. Vilalta and I. Rish. A Decomposition of Classes via Clustering to Explain and Improve Naive
    Bayes. ECML 2003.

    Examples
    --------
    >>> import numpy as np
    >>> from unnaive import ClassDecompositionClassifier, NaiveBayesClassifier
    >>> rng = np.random.default_rng(0)
    >>> corner = rng.integers(0, 2, (400, 2))
    >>> X, y = corner + rng.normal(0, 0.1, (400, 2)), corner[:, 0] ^ corner[:, 1]
    >>> NaiveBayesClassifier(numeric="gaussian").fit(X, y).score(X, y) < 0.7
    True
    >>> model = ClassDecompositionClassifier(random_state=0).fit(X, y)
    >>> model.score(X, y)
    1.0
    """

    categorical_features = "from_dtype"  # estimators have their own
    grid_limit = GRID_LIMIT
    _refuses_identifiers = False
    _adds_up = False
    _n_passes = None
    estimator_: BaseEstimator
    fold_: Literal["sum", "max"]
    owner_: NDArray[np.intp]
    cluster_weight_: NDArray[np.float64]
    noise_: NDArray[np.bool_]
    clusterers_: list[BaseEstimator | None]
    calibration_: Calibration
    decision_: Decision | None = None
    _optional_attributes = TableClassifier._optional_attributes | {"calibration_", "decision_"}

    def __init__(
        self,
        estimator: Any = None,
        clusterer: Any = None,
        *,
        select: str = "likelihood",
        fold: Literal["sum", "max"] = "sum",
        cv: Any = 5,
        max_clusters: int = 32,
        min_rows: int = 10,
        calibration: str = "slope",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.clusterer = clusterer
        self.select = select
        self.fold = fold
        self.cv = cv
        self.max_clusters = max_clusters
        self.min_rows = min_rows
        self.calibration = calibration
        self.random_state = random_state
        self.n_jobs = n_jobs

    # Learning -------------------------------------------------------------------------------

    @reports_progress
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **params: Any) -> Self:
        """Cluster every class, then learn the pairs.

        Parameters
        ----------
        X : table of shape (n_samples, n_features), path or `scan`
        y : array-like of shape (n_samples,), or the name of a column where X is not in memory
        sample_weight : array-like of shape (n_samples,) or None, default=None
            How often each row counts: for the estimator, and for the clusterer if it takes weights.
        **params : dict
            Metadata for the estimator and the clusterer, if metadata routing is enabled.

        Returns
        -------
        self
        """
        self._check_parameters()
        scan = scan_of(X, y, sample_weight)
        given = (X, y, sample_weight) if scan is None else (scan, None, None)
        source, summary = self._read(*given)
        classes = summary.labels.classes
        rng = check_random_state(self.random_state)
        seed = int(rng.randint(2**31 - 1))
        estimator, clusterer = seeded(self._estimator(), rng), seeded(self._clusterer(), rng)
        n, labels, room = summary.n_rows, summary.labels, source.storage
        row_labels = join(source, lambda b: RowLabels.of(b, labels), n, "reading classes")
        if scan is not None:
            refuse_foreign(clusterer, estimator)
            if scan.picked is None:
                picked = Picked(row_labels.row_ids, source.storage)
            else:  # in an ensemble: numbers are places in its own list
                picked = scan.picked.take(row_labels.row_ids)
            X = replace(scan, picked=picked)
            routed = Bunch(estimator={}, clusterer={})
        else:
            if not hasattr(X, "__getitem__"):  # something that only NumPy knows how to read
                X = np.asarray(X)
            if sample_weight is not None:
                sample_weight = weight_of_each(sample_weight, summary.n_rows)
            routed = route(self, estimator, clusterer, sample_weight, params)
            if sample_weight is not None:  # rows of weight zero are the same as absent rows
                routed = Bunch(
                    **{k: check_method_params(X, v, row_labels.row_ids) for k, v in routed.items()}
                )
                X = take_rows(X, row_labels.row_ids)
        rows = ClassRows(
            clusterer, X, row_labels.groups, classes, self.min_rows, routed.clusterer, room
        )
        every = dict.fromkeys(range(len(classes)))
        clusterings = rows.cluster_each(every, self.n_jobs, self._subfit)
        if self.select == "accuracy":
            judge = self._judge(rows, estimator, routed.estimator, row_labels, seed)
            choosing = Progress("choosing numbers of clusters", steps=0, hook=self._hook)
            choose_clusters(judge, clusterings, self.max_clusters)
            choosing.finish()
        parts = [(c, rows.rows_of(c), clusters) for c, clusters in enumerate(clusterings)]
        pairs, _ = join_pairs(parts, n, room)
        with self._subfit(estimator, "learning pairs"), silence():
            self.estimator_ = estimator.fit(X, pairs, **routed.estimator)
        self._set_pairs(summary, pairs, row_labels.weight, clusterings)
        self._calibrate(PairRows(X, pairs, routed.estimator, row_labels.row_ids, room))
        return self

    def _calibrate(self, rows: PairRows) -> None:
        """Learn how sure to be of classes."""
        self.__dict__.pop("calibration_", None)  # of an earlier fit
        if self.calibration == "slope" and isinstance(self.estimator_, TableClassifier):
            folded = self.answer_.find(Folded)
            assert folded is not None
            calibration = calibrate_pairs(folded, self.estimator_, rows, self.n_jobs)
            if calibration is not None:
                self.calibration_ = calibration

    def _judge(
        self, rows: ClassRows, estimator: Any, params: Any, row_labels: RowLabels, seed: int
    ) -> Judge:
        weight, room = row_labels.weight, rows.storage
        if weight is None:
            weight = room.empty(len(row_labels.groups), np.float64)
            weight[:] = 1.0
        drawn = isinstance(self.cv, numbers.Integral)  # splitters ask for the labels of all rows
        target = None if drawn else rows.labels[row_labels.groups]
        folds, _ = assign_folds(self.cv, seed, row_labels.row_ids, target, room)
        return Judge(rows, estimator, params, weight, folds, self.fold, self.n_jobs)

    def _n_tasks(self) -> int | None:
        return None

    def _estimator(self) -> Any:
        if self.estimator is not None:
            return self.estimator
        return NaiveBayesClassifier(numeric="gaussian", var_smoothing=SMALL_VARIANCE)

    def _clusterer(self) -> Any:
        return LatentClassClusterer(n_init=1) if self.clusterer is None else self.clusterer

    def _declare_categories(self, categorical_features: Any) -> Self:
        parts = {"estimator": self._estimator(), "clusterer": self._clusterer()}
        return self.set_params(
            **{k: part._declare_categories(categorical_features) for k, part in parts.items()}
        )

    def _check_parameters(self) -> None:
        check_word(self, "select", "likelihood", "accuracy")
        check_word(self, "fold", "sum", "max")
        check_calibration(self)
        for name in ("estimator", "clusterer"):
            given = getattr(self, name)
            if given is not None and not (hasattr(given, "fit") and hasattr(given, "get_params")):
                raise TypeError(f"{name} must be an estimator or None; got {given!r}.")
        check_number(self, "min_rows", 1, whole=True)
        check_number(self, "max_clusters", 1, whole=True)

    def _check_learned(self) -> None:
        n, pairs = len(self.classes_), self.owner_
        trained = getattr(self.estimator_, "classes_", np.empty(0))
        expect(np.array_equal(trained, np.arange(len(pairs))), "the estimator has other pairs.")
        answer = self.answer_  # put together of what a file holds, which is checked piece by piece
        for node in answer.walk():
            if isinstance(node, Folded | Ensemble):
                node.check()
        answer.check()
        expect(self.fold_ in ("sum", "max"), f"fold_ is {self.fold_!r}.")
        super()._check_learned()
        expect(len(self.clusterers_) == n, "clusterers_ do not match classes_.")
        check_values("cluster_weight_", self.cluster_weight_, pairs.shape, 0.0, FINITE)
        check_values("noise_", self.noise_, pairs.shape, 0, 1)

    def _wanted(self, schema: Schema) -> Wanted:  # noqa: ARG002
        return Wanted(frozenset())

    def get_metadata_routing(self) -> MetadataRouter:
        """Which metadata the estimator and the clusterer want.

        Returns
        -------
        MetadataRouter
        """
        mapping = MethodMapping().add(caller="fit", callee="fit")
        return (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(estimator=self._estimator(), method_mapping=mapping)
            .add(clusterer=self._clusterer(), method_mapping=mapping)
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        parts = [get_tags(self._estimator()), get_tags(self._clusterer())]
        tags.input_tags.allow_nan = all(part.input_tags.allow_nan for part in parts)
        return tags

    def _set_pairs(
        self,
        summary: Summary,
        pairs: NDArray[np.intp],
        weight: NDArray[np.float64] | None,
        clusterings: list[Clustering],
    ) -> None:
        """Store what is learned beside the estimator."""
        n_clusters = [clusters.n_clusters for clusters in clusterings]
        self.classes_, self.fold_ = summary.labels.classes, self.fold
        self.owner_ = np.repeat(np.arange(len(clusterings)), n_clusters)
        self.cluster_weight_ = np.bincount(pairs, weight, len(self.owner_)).astype(np.float64)
        self.noise_ = np.zeros(len(self.owner_), np.bool_)
        self.noise_[np.cumsum(n_clusters) - 1] = [clusters.noise for clusters in clusterings]
        self.decision_ = None
        self.clusterers_ = [clusters.clusterer for clusters in clusterings]
        self._remember(summary.schema)

    # Answering ------------------------------------------------------------------------------

    @property
    def answer_(self) -> Answer:  # type: ignore[override]
        """The estimator's answer about pairs, folded to classes."""
        inner = Answer.of(self.estimator_, self.schema_)
        root: Node = Folded(self.owner_, self.fold_, inner.root, self.cluster_weight_)
        calibration: Calibration | None = getattr(self, "calibration_", None)
        if calibration is not None:
            root = root.calibrated(calibration)
        return Answer(inner.schema, self.classes_, root, self.decision_)

    def _set_decision(self, decision: Decision | None) -> None:
        self.decision_ = decision

    @property
    def n_clusters_(self) -> NDArray[np.intp]:
        """Number of clusters of each class."""
        return np.bincount(self.owner_)

    @property
    def pairs_(self) -> list[tuple[Any, int]]:
        """Class and cluster of each pair."""
        folded = self.answer_.find(Folded)
        assert folded is not None
        return folded.pairs(self.classes_)

    def _supports(self, name: str) -> bool:
        getattr(self.estimator_ if hasattr(self, "estimator_") else self._estimator(), name)
        return super()._supports(name)

    def _open(self, X: Any) -> Source:
        check_is_fitted(self)
        if is_scanned(X):
            refuse_foreign(self.estimator_)
        return super()._open(X)
