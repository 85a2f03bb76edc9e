"""Several classifiers as one: their log probabilities, weighted and added."""

from __future__ import annotations

import numbers
import operator
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.utils import check_random_state

from unnaive.answer import Answer, Ensemble, ExternalEstimator
from unnaive.answer.nodes import Node
from unnaive.bayes.metrics import NAN, Measures, MeasureSums
from unnaive.bayes.scoring import LEAST_LOG, log_probabilities
from unnaive.choose.candidates import make_model, name_estimators
from unnaive.choose.comparison import Result
from unnaive.choose.rows import MAX_ROWS, LabelledRows, Split, make_splits, read_rows
from unnaive.common.checks import check_number, check_values, check_word, expect
from unnaive.counts import Wanted
from unnaive.encode import GRID_LIMIT
from unnaive.encode.hashing import check_folds
from unnaive.estimator import Progress, reports_progress
from unnaive.estimator.base import About, target_name
from unnaive.models import RandomForestClassifier, UnnaiveBayesClassifier
from unnaive.models.base import TableClassifier, leaves_answer, seeded
from unnaive.table import Schema, scan_of
from unnaive.table.schema import join_schemas

LEAST_SUM = -300.0  # of log probabilities without a floor, in fitting weights
DOUBT = 5.0  # rows: how strongly weights are held at equal ones, and intercepts at 0
GRAIN = 2.0**-20  # weights and intercepts are rounded to multiples of it
STEPS = 500  # most of either search
CLOSE = 1e-9  # mean log loss that one more step must gain
POOL = "pool"  # what it is called among the results of a comparison


class Weights(NamedTuple):
    """Weights of the members, and what is added to the log probabilities of the classes."""

    members: NDArray[np.float64]
    intercept: NDArray[np.float64]


def equal_weights(n: int, n_classes: int) -> Weights:
    """Return the weights of n members that count alike."""
    return Weights(np.full(n, 1.0 / n), np.zeros(n_classes))


def take_member_logs(node: Node, p: NDArray[np.float64]) -> None:
    """Replace probabilities of rows by what a pool adds up for them."""
    least = np.exp(LEAST_SUM if node.has_bounded_scores else LEAST_LOG)
    np.log(np.maximum(p, least), out=p)


def weigh_logs(
    logs: Sequence[NDArray[np.float64]], groups: NDArray[Any], weight: NDArray[np.float64]
) -> Weights:
    """Return weights, 0 or more, and intercepts of least log loss of the sum of log probabilities.

    The loss is convex. Weights are held at equal ones that sum to 1 as if by ``DOUBT`` rows.

    Parameters
    ----------
    logs : arrays of shape (rows, classes)
        One for each member.
    groups : array of shape (rows,)
        The class of each row.
    weight : array of shape (rows,)
        In units of rows.
    """
    n, n_rows, n_classes = len(logs), *logs[0].shape
    equal, zero = equal_weights(n, n_classes)
    total, rows = weight.sum(), np.arange(n_rows)

    def loss(given: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        members, intercept = given[:n], given[n:]
        value = DOUBT * float(((members - equal) ** 2).sum() + (intercept**2).sum())
        slope, back = 2.0 * DOUBT * (members - equal), 2.0 * DOUBT * intercept
        error = pooled_logs(Weights(members, intercept), logs)
        value -= float((weight * error[rows, groups]).sum())
        np.exp(error, out=error)  # probability less truth
        error[rows, groups] -= 1.0
        error *= weight[:, None]
        slope += np.array([(error * log).sum() for log in logs])
        back += error.sum(axis=0)
        return value / total, np.concatenate((slope, back)) / total

    free = n_classes > 1  # one class is certain
    bounds = [(0.0, None)] * n + [(None if free else 0.0, None if free else 0.0)] * n_classes
    start = np.concatenate((equal, zero))
    options = {"maxiter": STEPS, "ftol": CLOSE}
    best = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options).x
    rounded = np.rint(best / GRAIN) * GRAIN
    return Weights(rounded[:n], rounded[n:])


def pooled_logs(weights: Weights, logs: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return log probabilities of rows by a pool, given what its members add."""
    total = np.tile(weights.intercept, (len(logs[0]), 1))
    for weight, log in zip(weights.members, logs, strict=True):
        total += weight * log
    return log_probabilities(total)


def pooled_loss(
    weights: Weights,
    logs: Sequence[NDArray[np.float64]],
    groups: NDArray[Any],
    weight: NDArray[np.float64],
) -> float:
    """Return the mean log loss of a pool on rows, given what its members add."""
    sure = pooled_logs(weights, logs)[np.arange(len(groups)), groups]
    return -float((weight * sure).sum()) / float(weight.sum())


class PooledClassifier(TableClassifier):
    """Several classifiers, each fitted on all rows, whose log probabilities are added by weight.

    Weights are those of least log loss on rows that a member has not learned from: out of bag where
    it draws or holds out rows, else held out by folds. They need not sum to 1: where members are
    together too sure of themselves, they sum to less. A weight of 0 leaves a member out.

    Parameters
    ----------
    estimators : list, dict or None, default=None
        Classifiers of this library, or short names as in :func:`unnaive.compare`: by name, as
        (name, classifier) pairs, or named after their class. None is an `UnnaiveBayesClassifier`
        and a `RandomForestClassifier`.
    weights : "fit", "equal" or array-like, default="fit"
        How much each member counts: learned, all the same, or numbers that are 0 or more.
    cv : int, splitter or iterable, default=3
        Folds that hold rows out, where ``weights="fit"``: a number of folds, dealt so that each
        has its share of every class; or a scikit-learn splitter, or ready (train, test) positions.
    categorical_features : "from_dtype" or array-like, default="from_dtype"
        Which columns are categories, for all members; as in `NaiveBayesClassifier`.
    random_state : int, RandomState instance or None, default=None
        Seed of the folds, and of the members where they have none.
    max_rows : int, default=1_000_000
        Of more rows that are not in memory, a random sample of about that size is held out to fit
        the weights. Members are fitted on all rows.
    n_jobs : int or None, default=None
        Threads of the answers; members have their own.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    answer_ : Answer
        An `Ensemble` of the members' answers, as plain data; see the guide on answers.
    names_ : list of str
        What the members are called.
    weights_ : array of shape (n_members,)
        The weight of each; 0 for those that were left out.
    held_out_loss_ : float
        Log loss of the pool on the rows that weights were fitted on; NaN where they were not.
    schema_ : Schema
        Names and kinds of the columns.
    n_features_in_ : int
    feature_names_in_ : array of str
        Only when the table's columns have names.

    See Also
    --------
    AutoClassifier : The best single model.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from unnaive import NaiveBayesClassifier, PooledClassifier, RandomForestClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> members = [("kernel", NaiveBayesClassifier(numeric="kernel")),
    ...            ("forest", RandomForestClassifier(n_estimators=50))]
    >>> pool = PooledClassifier(members, random_state=0).fit(X, y)
    >>> pool.names_
    ['kernel', 'forest']
    >>> pool.score(X, y) > 0.97
    True
    """

    grid_limit = GRID_LIMIT
    _refuses_identifiers = False
    _adds_up = False
    _n_passes = None
    names_: list[str]
    weights_: NDArray[np.float64]
    held_out_loss_: float

    def __init__(
        self,
        estimators: Any = None,
        *,
        weights: Any = "fit",
        cv: Any = 3,
        categorical_features: Any = "from_dtype",
        random_state: Any = None,
        max_rows: int = MAX_ROWS,
        n_jobs: int | None = None,
    ) -> None:
        self.estimators = estimators
        self.weights = weights
        self.cv = cv
        self.categorical_features = categorical_features
        self.random_state = random_state
        self.max_rows = max_rows
        self.n_jobs = n_jobs

    @reports_progress
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit all members on all rows, and their weights on rows that were held out.

        Parameters
        ----------
        X : table of shape (n_samples, n_features), path or `scan`
        y : array-like of shape (n_samples,), or the name of a column where X is not in memory
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights of rows, or the name of a column where X is not in memory.

        Returns
        -------
        self
        """
        self._check_parameters()
        rng = check_random_state(self.random_state)
        seed = int(rng.randint(2**31 - 1))
        columns, most = self.categorical_features, self.max_rows
        rows = read_rows(X, y, sample_weight, columns, most, seed)
        self._about = About(target_name(y, scan_of(X, y, sample_weight)))
        members = {
            name: seeded(member._declare_categories(self.categorical_features), rng)
            for name, member in self._members().items()
        }
        splits: Sequence[Split] = []
        fitting = isinstance(self.weights, str) and self.weights == "fit"
        if fitting:
            splits = make_splits(self.cv, 1, None, rows, seed)
        fitted, held_out = {}, []
        progress = Progress(
            "fitting members", len(members), "models", step="model", steps=len(members),
            n_rows=len(rows), hook=self._hook,
        )  # fmt: skip
        for name, member in members.items():
            fitted[name], logs = _fit_member(member, rows, splits)
            held_out.append(logs)
            progress.add(1)
        progress.finish()
        weights = self._given_weights(len(members), len(rows.labels))
        loss = float("nan")
        if fitting:
            weights, loss = self._fit_weights(held_out, rows)
        return self._adopt(list(fitted), fitted, weights, loss)

    def _members(self) -> dict[str, Any]:
        """The classifiers by name."""
        given = self.estimators
        if given is None:
            return {"unnaive": UnnaiveBayesClassifier(), "forest": RandomForestClassifier()}
        if isinstance(given, Sequence) and not isinstance(given, str):
            given = [(m, make_model(m)) if isinstance(m, str) else m for m in given]
        members = {name: clone(member) for name, member in name_estimators(given).items()}
        for name, member in members.items():
            if not leaves_answer(member):
                raise TypeError(
                    f"estimators has {name!r}, a {type(member).__name__}: a pool is made of "
                    "classifiers of this library, so that it can be explained, saved and exported. "
                    "scikit-learn's StackingClassifier takes others."
                )
        if not members:
            raise ValueError("estimators is empty: a pool needs at least one member.")
        return members

    def _given_weights(self, n: int, n_classes: int) -> Weights:
        """Equal weights, or those that were given."""
        if isinstance(self.weights, str):
            return equal_weights(n, n_classes)
        weights = np.asarray(self.weights, dtype=np.float64)
        if weights.shape != (n,):
            raise ValueError(
                f"weights must be one number for each of {n} members; got {weights.shape}."
            )
        if not (np.isfinite(weights).all() and (weights >= 0).all() and weights.any()):
            raise ValueError(f"weights must be 0 or more, and not all 0; got {weights.tolist()}.")
        return Weights(weights, np.zeros(n_classes))

    def _fit_weights(
        self, held_out: Sequence[NDArray[np.float64]], rows: LabelledRows
    ) -> tuple[Weights, float]:
        """Weights and the log loss that they have; rows in every bag of a member do not count."""
        known = ~np.any([np.isnan(logs[:, 0]) for logs in held_out], axis=0)
        judged = np.flatnonzero(known)
        if not len(judged):
            warnings.warn(
                "every row is drawn by all bags of a member, so that weights cannot be fitted and "
                "are equal; raise n_estimators.",
                UserWarning,
                stacklevel=4,
            )
            return equal_weights(len(held_out), len(rows.labels)), float("nan")
        groups, weight = rows.groups[judged], rows.row_weights(judged)
        logs = [each[judged] for each in held_out]
        weights = weigh_logs(logs, groups, weight)
        return weights, pooled_loss(weights, logs, groups, weight)

    def _adopt(
        self,
        names: Sequence[str],
        fitted: Mapping[str, Any],
        weights: Weights,
        loss: float,
    ) -> Self:
        """Pool the answers of the members that count; one is kept where none does.

        Those of weight 0 need not have been fitted.
        """
        first = next(iter(fitted.values()))
        for name, member in fitted.items():
            if isinstance(member.answer_.core, ExternalEstimator):
                raise TypeError(
                    f"estimators has {name!r}, which is built around a classifier of another "
                    "library; a pool is made of classifiers of this one."
                )
            if member.answer_.schema.kinds != first.answer_.schema.kinds:
                raise ValueError(
                    f"estimators has {name!r}, which reads columns as other kinds than other "
                    "members; say which are categories with categorical_features of the pool."
                )
        self.names_, self.weights_, self.held_out_loss_ = list(names), weights.members, loss
        kept = np.flatnonzero(weights.members)
        kept = kept if len(kept) else np.array([0])
        kept_names = tuple(self.names_[k] for k in kept)
        members = tuple(fitted[name].answer_.root for name in kept_names)
        root = Ensemble(
            members,
            kept_names,
            weights.members[kept],
            weights.intercept,
            "log_probability",
            "softmax",
        )
        schemas = [member.answer_.schema for member in fitted.values()]
        self._set_answer(Answer(join_schemas(schemas), np.asarray(first.classes_), root))
        return self

    def _wanted(self, schema: Schema) -> Wanted:  # noqa: ARG002
        return Wanted(frozenset())  # the members read the table themselves

    def _n_tasks(self) -> int | None:
        return 1

    def _check_parameters(self) -> None:
        check_number(self, "max_rows", 2, whole=True)
        if isinstance(self.weights, str):
            check_word(self, "weights", "fit", "equal")
        if isinstance(self.cv, numbers.Integral):
            check_folds(self.cv)

    def _check_learned(self) -> None:
        super()._check_learned()
        root = self.answer_.root
        expect(isinstance(root, Ensemble), "the answer is no pool.")
        n = len(self.names_)
        check_values("weights_", self.weights_, (n,), 0.0)
        expect(set(getattr(root, "names", ())) <= set(self.names_), "the pool has other members.")


def _fit_member(
    estimator: Any, rows: LabelledRows, splits: Sequence[Split]
) -> tuple[Any, NDArray[np.float64]]:
    """Return a member fitted on all rows, and what it adds to the pool for held-out rows.

    NaN for rows that all of its bags have drawn; empty where there are no folds.
    """
    if not splits:
        return rows.fit_all(estimator), np.empty(0)
    params = estimator.get_params(deep=False)
    if "oob_score" in params and (params.get("bootstrap") or params.get("early_stopping")):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*raise n_estimators", category=UserWarning)
            model = rows.fit(clone(estimator).set_params(oob_score=True), np.arange(len(rows)))
        logs = model.oob_decision_function_.copy()
        del model.oob_decision_function_
        take_member_logs(model.answer_.root, logs)
        return model if rows.scan is None else rows.fit_all(estimator), logs
    logs = np.full((len(rows), len(rows.labels)), NAN)
    for train, test in splits:
        member = rows.fit(estimator, train)
        p = rows.predict_proba(member, test)
        take_member_logs(member.answer_.root, p)
        logs[test] = p
    return rows.fit_all(estimator), logs


def judge_pool(
    results: Sequence[Result],
    rows: LabelledRows,
    splits: Sequence[Split],
    readable: bool = False,
) -> Result | None:
    """The pool of compared models, judged on the folds that they were judged on.

    Weights are fitted on the rows that other folds have held out, so that no fold is judged by
    weights that know it. None where there are no two models of this library to pool; ``readable``
    keeps to those whose evidence adds up over columns and pairs.
    """
    chosen = [r for r in results if r.held_out is not None and _poolable(r.estimator, readable)]
    if len(chosen) < 2 or POOL in {r.name for r in results}:
        return None
    judged: list[tuple[MeasureSums, Measures]] = []
    for _, test in splits:
        weights = _weigh(chosen, rows, _judged(chosen, test))
        judged.append(rows.quality(np.exp(pooled_logs(weights, _logs(chosen, test))), test))
    estimator = PooledClassifier([(r.name, r.estimator) for r in chosen])
    seconds = sum(r.fit_seconds for r in chosen)
    return Result(
        POOL,
        estimator,
        over_folds(judged),
        tuple(fold for _, fold in judged),
        pooled=True,
        fit_seconds=seconds,
        predict_seconds=sum(r.predict_seconds for r in chosen),
    )


def fit_pool(pool: Result, results: Sequence[Result], rows: LabelledRows) -> PooledClassifier:
    """The pool of compared models, fitted on all rows, with weights by all that was held out."""
    by_name = {r.name: r for r in results}
    chosen = [by_name[name] for name, _ in pool.estimator.estimators]
    judged = _judged(chosen)
    weights = _weigh(chosen, rows, judged)
    logs, weight = _logs(chosen, judged), rows.row_weights(judged)
    loss = pooled_loss(weights, logs, rows.groups[judged], weight)
    model: PooledClassifier = clone(pool.estimator)
    return _fit_members(model, [r.name for r in chosen], weights, loss, rows)


def _fit_members(
    model: PooledClassifier, names: Sequence[str], weights: Weights, loss: float, rows: LabelledRows
) -> PooledClassifier:
    """Return a pool of those members that have a weight, each fitted on all rows."""
    fitted = {
        name: rows.fit_all(estimator)
        for (name, estimator), share in zip(model.estimators, weights.members, strict=True)
        if share or not weights.members.any()
    }
    return model._adopt(names, fitted, weights, loss)


def _judged(chosen: Sequence[Result], without: NDArray[np.intp] | None = None) -> NDArray[np.intp]:
    """Return the rows that all models were judged by, but for those of one fold."""
    known = ~np.any([np.isnan(log[:, 0]) for log in _logs(chosen)], axis=0)
    if without is not None:
        known[without] = False
    return np.flatnonzero(known)


def _logs(chosen: Sequence[Result], rows: Any = slice(None)) -> list[NDArray[np.float64]]:
    """Return what each model would add to a pool, for some rows."""
    return [r.held_out[rows] for r in chosen if r.held_out is not None]


def _weigh(chosen: Sequence[Result], rows: LabelledRows, judged: NDArray[np.intp]) -> Weights:
    """Return weights by held-out rows; equal ones where there are none."""
    if not len(judged):
        return equal_weights(len(chosen), len(rows.labels))
    return weigh_logs(_logs(chosen, judged), rows.groups[judged], rows.row_weights(judged))


def _poolable(estimator: Any, readable: bool) -> bool:
    if not leaves_answer(estimator):
        return False
    if readable:
        return bool(estimator._adds_up and estimator._one_baseline)
    inner = getattr(estimator, "estimator", None)
    return inner is None or leaves_answer(inner)


def over_folds(judged: Sequence[tuple[MeasureSums, Measures]]) -> Measures:
    """Return measures of all rows together, or means over folds of those that are no sums."""
    sums, folds = zip(*judged, strict=True)
    quality = reduce(operator.add, sums).measures
    if np.isnan([fold.log_loss for fold in folds]).all():  # no probabilities
        return Measures(quality.accuracy, NAN, NAN, NAN, quality.f1)
    areas = {}
    for name in ("roc_auc", "average_precision", "kolmogorov_smirnov"):
        figures = np.array([getattr(fold, name) for fold in folds])
        there = figures[~np.isnan(figures)]
        areas[name] = float(there.mean()) if len(there) else NAN
    return replace(quality, **areas)
