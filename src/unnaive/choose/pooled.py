"""Several classifiers as one: their log probabilities, weighted and added."""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state

from unnaive.answer import Answer, Ensemble, Foreign
from unnaive.answer.nodes import MemberOutput
from unnaive.bayes.quality import NAN
from unnaive.choose.family import make_model, name_estimators
from unnaive.choose.pooling import (
    Weights,
    equal_weights,
    pooled_loss,
    take_member_logs,
    weigh_logs,
    weigh_shares,
)
from unnaive.choose.reading import LabelledRows, Split, make_splits
from unnaive.choose.scanned import read_labelled
from unnaive.common.checks import check_values, check_word, expect
from unnaive.counts import Wanted
from unnaive.encode import GRID_LIMIT
from unnaive.encode.draws import check_folds
from unnaive.estimator import Progress, reports_progress
from unnaive.estimator.about import About, target_name
from unnaive.models import RandomForestClassifier, UnnaiveBayesClassifier
from unnaive.models._seeding import seeded
from unnaive.models.base import TableClassifier, leaves_answer
from unnaive.table import Schema, scan_of
from unnaive.table.schema import join_schemas

# What an ensemble combines, and how, by the parameter `combine`.
COMBINE: dict[str, tuple[MemberOutput, Literal["mean", "softmax"]]] = {
    "geometric": ("log_probability", "softmax"),
    "arithmetic": ("probability", "mean"),
}


class PooledClassifier(TableClassifier):
    """Several classifiers, each fitted on all rows, whose log probabilities are added by weight.

    Weights are those of least log loss on rows that a member has not learned from: out of bag where
    it draws or holds out rows, else held out by folds. They need not sum to 1: where members are
    together too sure of themselves, they sum to less. A weight of 0 leaves a member out. Rows need
    not be in memory: the pool is the same.

    Parameters
    ----------
    estimators : list, dict or None, default=None
        Classifiers of this library, or short names as in :func:`unnaive.compare`: by name, as
        (name, classifier) pairs, or named after their class. None is an `UnnaiveBayesClassifier`
        and a `RandomForestClassifier`.
    weights : "fit", "equal" or array-like, default="fit"
        How much each member counts: learned, all the same, or numbers that are 0 or more.
    combine : {"geometric", "arithmetic"}, default="geometric"
        Whether log probabilities are added, or probabilities averaged.
    cv : int, splitter or iterable, default=3
        Folds that hold rows out, where ``weights="fit"``: a number of folds, dealt so that each
        has its share of every class; or a scikit-learn splitter, or ready (train, test) positions.
    categorical_features : "from_dtype" or array-like, default="from_dtype"
        Which columns are categories, for all members; as in `NaiveBayesClassifier`.
    random_state : int, RandomState instance or None, default=None
        Seed of the folds, and of the members where they have none.
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
        combine: Literal["geometric", "arithmetic"] = "geometric",
        cv: Any = 3,
        categorical_features: Any = "from_dtype",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimators = estimators
        self.weights = weights
        self.combine = combine
        self.cv = cv
        self.categorical_features = categorical_features
        self.random_state = random_state
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
        rows = read_labelled(X, y, sample_weight, self.categorical_features, self.n_jobs)
        self._about = About(target_name(y, scan_of(X, y, sample_weight)))
        rng = check_random_state(self.random_state)
        seed = int(rng.randint(2**31 - 1))
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
        return self._adopt(list(fitted), fitted, weights, loss, rows)

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
        room = rows.storage

        def known(part: slice) -> NDArray[np.bool_]:
            return ~np.any([np.isnan(logs[part, 0]) for logs in held_out], axis=0)

        judged = room.where(known, len(rows))
        if not len(judged):
            warnings.warn(
                "every row is drawn by all bags of a member, so that weights cannot be fitted and "
                "are equal; raise n_estimators.",
                UserWarning,
                stacklevel=4,
            )
            return equal_weights(len(held_out), len(rows.labels)), float("nan")
        groups, weight = room.take(rows.groups, judged), rows.units(judged)
        logs = [room.take(each, judged) for each in held_out]
        if self.combine == "geometric":
            weights = weigh_logs(logs, groups, weight)
        else:
            weights = weigh_shares(logs, groups, weight, room)
        return weights, pooled_loss(weights, self.combine, logs, groups, weight)

    def _adopt(
        self,
        names: Sequence[str],
        fitted: Mapping[str, Any],
        weights: Weights,
        loss: float,
        rows: LabelledRows,
    ) -> Self:
        """Pool the answers of the members that count; one is kept where none does.

        Those of weight 0 need not have been fitted.
        """
        for name, member in fitted.items():
            if isinstance(member.answer_.core, Foreign):
                raise TypeError(
                    f"estimators has {name!r}, which is built around a classifier of another "
                    "library; a pool is made of classifiers of this one."
                )
            if member.answer_.schema.kinds != rows.schema.kinds:
                raise ValueError(
                    f"estimators has {name!r}, which reads columns as other kinds than the pool "
                    "does; say which are categories with categorical_features of the pool."
                )
        self.names_, self.weights_, self.held_out_loss_ = list(names), weights.members, loss
        kept = np.flatnonzero(weights.members)
        kept = kept if len(kept) else np.array([0])
        kept_names = tuple(self.names_[k] for k in kept)
        members = tuple(fitted[name].answer_.root for name in kept_names)
        how = (weights.members[kept], weights.intercept, *COMBINE[self.combine])
        root = Ensemble(members, kept_names, *how)
        schemas = [member.answer_.schema for member in fitted.values()]
        self._set_answer(Answer(join_schemas(schemas), rows.labels.classes, root))
        return self

    def _wanted(self, schema: Schema) -> Wanted:  # noqa: ARG002
        return Wanted(frozenset())  # the members read the table themselves

    def _n_tasks(self) -> int | None:
        return 1

    def _check_parameters(self) -> None:
        check_word(self, "combine", "geometric", "arithmetic")
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
    """A member fitted on all rows, and what it would add for those that it did not learn from.

    NaN for rows that all of its bags have drawn; empty where there are no folds.
    """
    if not splits:
        return rows.fit(estimator, rows.places), np.empty(0)
    params = estimator.get_params(deep=False)
    if "oob_score" in params and (params.get("bootstrap") or params.get("early_stopping")):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*raise n_estimators", category=UserWarning)
            model = rows.fit(clone(estimator).set_params(oob_score=True), rows.places)
        logs = rows.storage.copy(model.oob_decision_function_)
        del model.oob_decision_function_
        take_member_logs(model.answer_.root, logs)
        return model, logs
    model = rows.fit(estimator, rows.places)
    logs = rows.storage.empty((len(rows), len(rows.labels)), np.float64)
    logs[...] = NAN
    for train, test in splits:
        member = rows.fit(estimator, train)
        p = rows.predict_proba(member, test)
        take_member_logs(member.answer_.root, p)
        logs[test] = p
    return model, logs
