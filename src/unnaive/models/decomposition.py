"""Class decomposition: every class as several clusters, each a class of its own in training."""

# mypy: disable-error-code="untyped-decorator"

from __future__ import annotations

import numbers
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.utils import Bunch, check_random_state, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import has_fit_parameter

from unnaive.answer import Answer, Decision, Ensemble, GroupedClasses
from unnaive.answer.nodes import Node
from unnaive.bayes.calibration import Calibration, HeldOut, fit_calibration
from unnaive.bayes.scoring import LEAST_SHARE
from unnaive.common.advice import silence
from unnaive.common.checks import FINITE, check_number, check_values, check_word, expect
from unnaive.common.sklearn_private import check_method_params, routing_enabled, safe_indexing
from unnaive.counts import Wanted
from unnaive.encode import GRID_LIMIT
from unnaive.encode.hashing import assign_folds
from unnaive.encode.labels import groups_of
from unnaive.encode.sampling import sample_rows
from unnaive.estimator import Progress, reports_progress
from unnaive.models.base import FirstPass, TableClassifier, check_calibration, seeded
from unnaive.models.held_out import calibration_rows, inner_folds
from unnaive.models.latent_class import LatentClassClusterer
from unnaive.models.naive_bayes import NaiveBayesClassifier
from unnaive.table import Block, Schema, scan_of
from unnaive.table.source import weight_of_each

MAX_ROWS = 5_000_000  # rows of a scan that are brought to memory; of more, a random sample
SMALL_VARIANCE = 0.03  # var_smoothing of the default estimator: clusters are narrower than classes
NUMBER_NAMES = ("n_clusters", "n_components")
Subfit: TypeAlias = Callable[[Any, str], AbstractContextManager[None]]  # a fit, and its name


class ClassDecompositionClassifier(MetaEstimatorMixin, TableClassifier):  # type: ignore[misc]
    """A classifier that learns each class as several clusters.

    The rows of every class are clustered, every (class, cluster) pair becomes a class of its own,
    the estimator is trained on the pairs, and pairs are mapped back to classes. This helps where
    the rows of a class form several groups, which naive Bayes alone would average.

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
        Whether `fit` calibrates the probabilities around an estimator of this library: the log
        probabilities of the classes are multiplied by one factor, and every class gets an
        intercept, so that held-out rows are most probable. The estimator is fitted again for each
        inner fold. ``"none"`` is the paper's.
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
        The factor and the intercepts; only where `fit` has calibrated.
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
        """Cluster every class, then fit the estimator on the pairs.

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
        self : object
            Fitted estimator.
        """
        self._check_parameters()
        fitted = self._unfitted(progress=True)
        rng = check_random_state(self.random_state)
        seed, scan = int(rng.randint(2**31 - 1)), scan_of(X, y, sample_weight)
        if scan is not None:
            sample = sample_rows(fitted._rows_to_learn(scan, None, None), MAX_ROWS, seed)
            X, y, sample_weight = sample.X, sample.y, sample.sample_weight
        about = fitted._about  # with the name of the target
        source, summary = fitted._read(X, y, sample_weight)
        if scan is not None:
            fitted._about = about
        first = fitted._first_pass(source, summary, seed)
        rows = fitted._class_rows(X, sample_weight, first, params, rng)
        if scan is not None:
            rows = replace(rows, row_ids=sample.row_ids)
        fitted._fit_pairs(rows, first)
        self._take_fitted(fitted)
        return self

    def _class_rows(
        self,
        X: Any,
        sample_weight: Any,
        first: FirstPass,
        params: Any,
        rng: np.random.RandomState,
    ) -> ClassRows:
        """Return the rows of positive weight, with what is fitted on them."""
        estimator, clusterer = seeded(self._estimator(), rng), seeded(self._clusterer(), rng)
        labels = first.summary.labels

        def read(block: Block) -> tuple[NDArray[Any], NDArray[np.float64], NDArray[np.int64]]:
            assert block.target is not None
            weight = np.ones(block.n_rows) if block.weight is None else block.weight
            return groups_of(labels, block.target), weight, block.row_ids

        parts = first.source.each(read, "reading classes")
        y, weight, row_ids = map(np.concatenate, zip(*parts, strict=True))
        if not hasattr(X, "__getitem__"):  # something that only NumPy knows how to read
            X = np.asarray(X)
        if sample_weight is not None:
            sample_weight = weight_of_each(sample_weight, first.summary.n_rows)
        routed = route(self, estimator, clusterer, sample_weight, params)
        if sample_weight is not None:  # rows of weight zero are the same as absent rows
            routed = Bunch(**{k: check_method_params(X, v, row_ids) for k, v in routed.items()})
            X = safe_indexing(X, row_ids)
        return ClassRows(
            X, y, weight, row_ids, row_ids, labels.classes, estimator, clusterer, routed.estimator,
            routed.clusterer, self.min_rows, self.n_jobs,
        )  # fmt: skip

    def _fit_pairs(self, rows: ClassRows, first: FirstPass) -> None:
        """Fit clusterers and estimator on all rows."""
        self._remember(first.summary.schema)
        every = np.arange(len(rows.y))
        clusterings = rows.cluster_each(
            every, dict.fromkeys(range(len(rows.classes))), self._subfit
        )
        if self.select == "accuracy":
            self._improve_accuracy(rows, clusterings, first)
        pairs, self.owner_ = rows.number_pairs(every, clusterings)
        with self._subfit(rows.estimator, "learning pairs"), silence():
            self.estimator_ = rows.estimator.fit(rows.X, pairs, **rows.estimator_params)
        n_clusters = np.array([clustering.n_clusters for clustering in clusterings])
        self.classes_, self.fold_ = rows.classes, self.fold
        weight = np.bincount(pairs, rows.weight, len(self.owner_))
        self.cluster_weight_ = weight.astype(np.float64)
        self.noise_ = np.zeros(len(self.owner_), np.bool_)
        self.noise_[np.cumsum(n_clusters) - 1] = [clustering.noise for clustering in clusterings]
        self.clusterers_ = [clustering.clusterer for clustering in clusterings]
        if self.calibration == "slope" and isinstance(self.estimator_, TableClassifier):
            self.calibration_ = fit_calibration(self._held_out_pairs(rows, pairs, first))

    def _improve_accuracy(
        self, rows: ClassRows, clusterings: list[Clustering], first: FirstPass
    ) -> None:
        """Replace clusterings where others classify held-out rows more accurately."""
        target = None if isinstance(self.cv, numbers.Integral) else rows.classes[rows.y]
        folds, _ = assign_folds(self.cv, first.seed, rows.row_ids, target)
        proposed = [clustering.n_clusters for clustering in clusterings]
        scorer = DecompositionScorer(rows, folds, self._apply)
        sizes = np.bincount(rows.y, rows.weight, len(proposed))
        choosing = Progress("choosing numbers of clusters", steps=0, hook=self._hook)
        chosen = search_n_clusters(
            scorer.accuracy, proposed, np.argsort(-sizes, kind="stable").tolist(),
            self.max_clusters if number_parameter(rows.clusterer) is not None else None,
        )  # fmt: skip
        changed = {c: n for c, n in enumerate(chosen) if n != proposed[c]}
        again = rows.cluster_each(np.arange(len(rows.y)), changed)
        for c, clustering in zip(changed, again, strict=True):
            clusterings[c] = clustering
        choosing.finish()

    def _held_out_pairs(
        self, rows: ClassRows, pairs: NDArray[np.intp], first: FirstPass
    ) -> HeldOut:
        """Score calibration rows by estimators of the other inner folds, with the same clusters."""
        sample = calibration_rows(first)
        places = np.searchsorted(rows.places, sample.block.row_ids)
        folds = inner_folds(first.seed, sample.y, rows.row_ids[places], first.summary.n_rows)
        scores, judged = [np.empty((0, len(rows.classes)))], [np.empty(0, np.intp)]
        for train, test in folds:
            model, owner = rows.fit_estimator(places[train], pairs[places[train]], self.owner_)
            proba = self._apply(model, owner, safe_indexing(rows.X, places[test]), "predict_proba")
            out = np.zeros((len(test), len(rows.classes)))
            out[:, np.unique(owner)] = proba
            scores.append(np.log(np.maximum(out, LEAST_SHARE)))
            judged.append(test)
        part = sample.take(np.concatenate(judged))
        return HeldOut(np.concatenate(scores), part.y, part.sample_weight)

    def _apply(self, model: Any, owner: NDArray[np.intp], X: Any, method: str) -> NDArray[Any]:
        """Apply a method of an answer node to rows, around an estimator of pairs."""
        inner = Answer.of(model, self.schema_)
        _, present = np.unique(owner, return_inverse=True)
        node = GroupedClasses(present, self.fold, inner.root)
        apply = partial(getattr(node, method), n_jobs=self.n_jobs)
        source = self._unfitted()._open_as(X, inner.schema)  # without callbacks
        return np.concatenate(list(source.each(apply)))

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
            if isinstance(node, GroupedClasses | Ensemble):
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
        """Return the metadata that the estimator and the clusterer request.

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

    # Answering ------------------------------------------------------------------------------

    @property
    def answer_(self) -> Answer:  # type: ignore[override]
        """The estimator's answer about pairs, folded to classes."""
        inner = Answer.of(self.estimator_, self.schema_)
        root: Node = GroupedClasses(self.owner_, self.fold_, inner.root, self.cluster_weight_)
        if hasattr(self, "calibration_"):
            root = root.calibrated(self.calibration_)
        return Answer(inner.schema, self.classes_, root, self.decision_)

    def _set_decision(self, decision: Decision | None) -> None:
        self.decision_ = decision

    @property
    def n_clusters_(self) -> NDArray[np.intp]:
        """Number of clusters of each class."""
        return np.bincount(self.owner_)

    @property
    def pairs_(self) -> list[tuple[Any, int]]:
        """Return the class and cluster of each pair."""
        folded = self.answer_.find(GroupedClasses)
        assert folded is not None
        return folded.pairs(self.classes_)

    def _supports(self, name: str) -> bool:
        getattr(self.estimator_ if hasattr(self, "estimator_") else self._estimator(), name)
        return super()._supports(name)


# Clusters of classes ----------------------------------------------------------------------------


class Clustering(NamedTuple):
    """Clusters of the rows of one class.

    Attributes
    ----------
    clusters : array
        Cluster of each row, from 0 on; rows that the clusterer calls noise have the last number.
    n_clusters : int
    noise : bool
        Whether the last cluster is noise.
    clusterer : estimator or None
        The fitted clusterer; None where the class stayed whole.
    """

    clusters: NDArray[np.intp]
    n_clusters: int
    noise: bool = False
    clusterer: Any = None


@dataclass(frozen=True, slots=True, eq=False)
class ClassRows:
    """Rows of positive weight, and what is fitted on all or some of them.

    Attributes
    ----------
    X : table
    y, weight, places, row_ids : arrays of shape (rows,)
        Class numbers, weights, positions in the table in memory, and numbers where it comes from.
    classes : array
    estimator, clusterer : estimator
    estimator_params, clusterer_params : dict
        For their ``fit``.
    min_rows : int
        Classes with fewer rows stay whole.
    n_jobs : int or None
    """

    X: Any
    y: NDArray[Any]
    weight: NDArray[np.float64]
    places: NDArray[np.int64]
    row_ids: NDArray[np.int64]
    classes: NDArray[Any]
    estimator: Any
    clusterer: Any
    estimator_params: Any
    clusterer_params: Any
    min_rows: int
    n_jobs: int | None

    def parallel(self, tasks: Any) -> list[Any]:
        """Run delayed tasks in threads."""
        return list(Parallel(n_jobs=self.n_jobs, prefer="threads")(tasks))

    def cluster_each(
        self,
        rows: NDArray[np.intp],
        numbers: Mapping[int, int | None],
        subfit: Subfit | None = None,
    ) -> list[Clustering]:
        """Cluster the rows of some classes; None: as many clusters as the clusterer finds."""
        y = self.y[rows]
        return self.parallel(
            delayed(self.cluster)(c, rows[y == c], number, subfit) for c, number in numbers.items()
        )

    def cluster(
        self, c: int, rows: NDArray[np.intp], number: int | None, subfit: Subfit | None = None
    ) -> Clustering:
        """Cluster rows of one class; ``subfit`` makes it a task that callbacks hear of."""
        n = len(rows)
        if number == 1 or n < self.min_rows:
            return Clustering(np.zeros(n, np.intp), 1)
        label, clusterer = self.classes[c : c + 1].tolist()[0], clone(self.clusterer)
        name = number_parameter(clusterer)
        if name is not None:
            number = clusterer.get_params()[name] if number is None else number
            if isinstance(number, (int, np.integer)):
                clusterer.set_params(**{name: min(int(number), n)})
        params = check_method_params(self.X, self.clusterer_params, indices=rows)
        X = safe_indexing(self.X, rows)
        try:
            with nullcontext() if subfit is None else subfit(clusterer, f"clusters of {label!r}"):
                if not hasattr(clusterer, "predict"):  # alone, or at the end of a pipeline
                    found = clusterer.fit_predict(X, **params)
                else:
                    clusterer.fit(X, **params)
                    found = getattr(clusterer, "labels_", None)
                    found = clusterer.predict(X) if found is None else found
        except ValueError as error:
            raise ValueError(
                f"{type(clusterer).__name__} could not cluster the {n} rows of the class "
                f"{label!r}: {str(error).rstrip('.')}. Other libraries' clusterers may need "
                "numbers without gaps: put a preprocessing step before it in a pipeline. If the "
                "class is too small, pass a larger min_rows=."
            ) from error
        names, clusters = np.unique(np.asarray(found), return_inverse=True)
        noise = bool(names[0] == -1)
        if noise:  # rows that belong nowhere are a cluster of their own, the last
            clusters = (clusters - 1) % len(names)
        return Clustering(clusters, len(names), noise, clusterer)

    def number_pairs(
        self, rows: NDArray[np.intp], clusterings: Sequence[Clustering]
    ) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the (class, cluster) pair of each row, and the class of each pair.

        Pairs are numbered class by class; classes without rows have none.
        """
        y, pairs = self.y[rows], np.empty(len(rows), np.intp)
        owner: list[int] = []
        for c, clustering in enumerate(clusterings):
            if len(clustering.clusters):
                pairs[y == c] = len(owner) + clustering.clusters
                owner += [c] * clustering.n_clusters
        return pairs, np.array(owner, dtype=np.intp)

    def fit_estimator(
        self, rows: NDArray[np.intp], pairs: NDArray[np.intp], owner: NDArray[np.intp]
    ) -> tuple[Any, NDArray[np.intp]]:
        """Fit a copy of the estimator on some rows; also return the class of each of its pairs."""
        present, pairs = np.unique(pairs, return_inverse=True)
        params = check_method_params(self.X, self.estimator_params, indices=rows)
        with silence():
            return clone(self.estimator).fit(safe_indexing(self.X, rows), pairs, **params), owner[
                present
            ]


@dataclass(eq=False)
class DecompositionScorer:
    """Cross-validated accuracy of decompositions; clusters are found in training rows only.

    ``apply`` is a method of the classifier that applies an estimator of pairs.
    """

    rows: ClassRows
    folds: NDArray[np.int64]
    apply: Callable[..., NDArray[Any]]
    _accuracy: dict[tuple[int, ...], float] = field(default_factory=dict)
    _clusterings: dict[tuple[int, int, int], Clustering] = field(default_factory=dict)

    def accuracy(self, n_clusters: Sequence[int]) -> float:
        """Return the weight of rows classified rightly while held out."""
        key = tuple(n_clusters)
        if key not in self._accuracy:
            folds = np.unique(self.folds)
            each = self.rows.parallel(delayed(self._right)(k, key) for k in folds.tolist())
            self._accuracy[key] = float(np.sum(each))
        return self._accuracy[key]

    def _right(self, k: int, n_clusters: tuple[int, ...]) -> float:
        rows, test = self.rows, np.flatnonzero(self.folds == k)
        train = np.flatnonzero(self.folds != k)
        if not len(train):
            return 0.0
        y = rows.y[train]
        for c, number in enumerate(n_clusters):
            if (k, c, number) not in self._clusterings:
                found = rows.cluster(c, train[y == c], number)
                self._clusterings[k, c, number] = found._replace(clusterer=None)
        clusterings = [self._clusterings[k, c, number] for c, number in enumerate(n_clusters)]
        model, owner = rows.fit_estimator(train, *rows.number_pairs(train, clusterings))
        predicted = self.apply(model, owner, safe_indexing(rows.X, test), "predict_index")
        right = np.unique(owner)[predicted] == rows.y[test]
        return float(rows.weight[test] @ right)


def search_n_clusters(
    accuracy: Callable[[Sequence[int]], float],
    proposed: Sequence[int],
    order: Sequence[int],
    max_clusters: int | None,
) -> list[int]:
    """Search numbers of clusters that gain held-out accuracy, from the clusterer's proposal.

    The proposal as a whole must beat no decomposition. Then every class in order is made whole
    again if that costs nothing, and otherwise gets one cluster more while that gains; without
    ``max_clusters`` the clusterer cannot be told a number, and only its proposal is tried.
    """
    proposal = list(proposed)
    best = [1] * len(proposal)
    if accuracy(proposal) > accuracy(best):
        best = proposal
    for c in order:
        if proposal[c] == 1 and max_clusters is None:
            continue
        merged = [*best[:c], 1, *best[c + 1 :]]
        if best[c] > 1 and accuracy(merged) >= accuracy(best):
            best = merged
        while True:
            step = proposal[c] if max_clusters is None else best[c] + 1
            more = [*best[:c], step, *best[c + 1 :]]
            if step == best[c] or step > (max_clusters or step):
                break
            if not accuracy(more) > accuracy(best):
                break
            best = more
    return best


def number_parameter(clusterer: Any) -> str | None:
    """Return the parameter for the number of clusters, also inside a pipeline; None without one.

    Its own comes first; then the last step's, which clusters: steps before it, such as a PCA, may
    have a number of components too.
    """
    names = [n for n in clusterer.get_params(deep=True) if n.split("__")[-1] in NUMBER_NAMES]
    outer = [name for name in names if "__" not in name]
    return str((outer or names[-1:])[0]) if names else None


# Metadata ---------------------------------------------------------------------------------------


def route(owner: Any, estimator: Any, clusterer: Any, weight: Any, params: Any) -> Bunch:
    """Return what goes to the ``fit`` of the estimator and of the clusterer."""
    if routing_enabled():
        if weight is not None:
            params = {**params, "sample_weight": weight}
        routed = process_routing(owner, "fit", **params)
        return Bunch(estimator=routed.estimator.fit, clusterer=routed.clusterer.fit)
    if params:
        raise TypeError(
            f"fit got {sorted(params)}, which reach the estimator and the clusterer only "
            "with metadata routing: sklearn.set_config(enable_metadata_routing=True)."
        )
    if weight is None:
        return Bunch(estimator={}, clusterer={})
    if not has_fit_parameter(estimator, "sample_weight"):
        raise TypeError(
            f"estimator {type(estimator).__name__} takes no sample_weight; leave the weights "
            "out, or use an estimator that does."
        )
    given = {"sample_weight": np.asarray(weight)}
    takes = has_fit_parameter(clusterer, "sample_weight")
    return Bunch(estimator=given, clusterer=given if takes else {})
