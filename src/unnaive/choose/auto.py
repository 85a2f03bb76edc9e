"""The best model by cross-validation, or the pool of all of them, as a classifier."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from unnaive.answer import Answer, Decision
from unnaive.choose.compare import compare
from unnaive.choose.comparison import MEASURES, Comparison
from unnaive.choose.rows import MAX_ROWS
from unnaive.common.wording import counted, listed, printable
from unnaive.counts import Wanted
from unnaive.estimator import reports_progress
from unnaive.estimator.base import About, target_name
from unnaive.models.base import TableClassifier
from unnaive.table import Schema, scan_of


class AutoClassifier(TableClassifier):
    """The best classifier for a table by cross-validation, fitted on all its rows.

    One of them is the pool of the others, if ``pool``. Fitting is :func:`unnaive.compare` followed
    by fitting the best; predictions are the best's.

    Parameters
    ----------
    models : list of str or None, default=None
        Which models to try; None is all. Names are those of :func:`unnaive.compare`.
    estimators : dict, list, classifier or None, default=None
        Other classifiers to try.
    criterion : str, default="log_loss"
        What the best is chosen by: any measure of :func:`unnaive.compare`, such as "roc_auc". Among
        equals, the cheaper wins.
    cv : int, splitter or iterable, default=5
        A number of folds, dealt so that each has its share of every class; or a scikit-learn
        splitter, or ready (train, test) positions.
    time_budget : float or None, default=None
        Seconds for the comparison; the cheapest models come first. The choice then depends on the
        speed of the machine.
    pool : bool, default=True
        Whether the pool of this library's models competes with each of them; see
        `PooledClassifier`.
    readable : bool, default=False
        Whether only models are tried whose evidence adds up over columns, and their pool.
    categorical_features : "from_dtype" or array-like, default="from_dtype"
        Which columns are categories, for this library's models; as in `NaiveBayesClassifier`.
    random_state : int, RandomState instance or None, default=None
        Seed of the folds, and of all models where they have none.
    max_rows : int, default=1_000_000
        Of more rows that are not in memory, a random sample of about that size is compared. The
        best model is fitted on all rows.
    n_jobs : int or None, default=None
        Threads of each model; the choice never depends on it.

    Attributes
    ----------
    best_estimator_ : classifier
        Fitted on all rows.
    best_name_ : str
        "pool" where all models together are better than each.
    comparison_ : Comparison
        All models that were tried.
    decision_ : Decision or None
        What `with_decision` has set.
    reason_ : str
        What was chosen and why, in a sentence or two; also in ``repr``, the report and files.
    answer_ : Answer
        That of the best estimator, as plain data.
    classes_ : array of shape (n_classes,)
    schema_ : Schema
        Names and kinds of the columns.
    n_features_in_ : int
    feature_names_in_ : array of str
        Only when the table's columns have names.

    See Also
    --------
    unnaive.compare : The same as a table.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from unnaive import AutoClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = AutoClassifier(models=["nb", "kernel", "c45"], random_state=0).fit(X, y)
    >>> model.best_name_
    'pool'
    >>> model.score(X, y) > 0.94
    True
    """

    _n_passes = None
    best_estimator_: BaseEstimator
    best_name_: str
    decision_: Decision | None = None
    reason_: str
    _optional_attributes = TableClassifier._optional_attributes | {"decision_", "reason_"}

    def __init__(
        self,
        *,
        models: Any = None,
        estimators: Any = None,
        criterion: str = "log_loss",
        cv: Any = 5,
        time_budget: float | None = None,
        pool: bool = True,
        readable: bool = False,
        categorical_features: Any = "from_dtype",
        random_state: Any = None,
        max_rows: int = MAX_ROWS,
        n_jobs: int | None = None,
    ) -> None:
        self.models = models
        self.estimators = estimators
        self.criterion = criterion
        self.cv = cv
        self.time_budget = time_budget
        self.pool = pool
        self.readable = readable
        self.categorical_features = categorical_features
        self.random_state = random_state
        self.max_rows = max_rows
        self.n_jobs = n_jobs

    def _wanted(self, schema: Schema) -> Wanted:  # noqa: ARG002
        return Wanted(frozenset())  # the estimators that are compared read the table themselves

    @reports_progress
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Compare all, then fit the best on all rows.

        Parameters
        ----------
        X : table of shape (n_samples, n_features), path or `scan`
        y : array-like of shape (n_samples,), or the name of a column where X is not in memory
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights of rows, in fitting and in the measures, or the name of a column where X is not
            in memory. Estimators without ``sample_weight`` are shown as failed.

        Returns
        -------
        self
        """
        comparison = compare(
            X,
            y,
            models=self.models,
            estimators=self.estimators,
            criterion=self.criterion,
            cv=self.cv,
            time_budget=self.time_budget,
            pool=bool(self.pool),
            readable=bool(self.readable),
            categorical_features=self.categorical_features,
            sample_weight=sample_weight,
            random_state=self.random_state,
            max_rows=self.max_rows,
            n_jobs=self.n_jobs,
        )
        self._about = About(target_name(y, scan_of(X, y, sample_weight)))
        return self._adopt(comparison, comparison.best_)

    def _adopt(self, comparison: Comparison, best: Any) -> Self:
        """Take the best of a comparison, fitted on all rows."""
        self._comparison = comparison
        self.best_name_, self.best_estimator_ = comparison.best_name_, best
        self.reason_ = _reason(comparison, best, bool(self.readable))
        self.classes_, self.decision_ = np.asarray(best.classes_), None
        # A fitted one also knows which numbers are whole and how values are ordered.
        self._remember(getattr(best, "schema_", comparison.schema))
        return self

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        """The parameters and, once it is fitted, what was chosen and why, as a comment."""
        text: str = super().__repr__(N_CHAR_MAX)
        return f"{text}\n# chosen: {printable(self.reason_)}" if hasattr(self, "reason_") else text

    @property
    def comparison_(self) -> Comparison:
        """All models that were tried."""
        if not hasattr(self, "_comparison"):
            raise AttributeError(
                "there is no comparison_: model files keep the chosen model and the reason_, not "
                "what it was compared with."
            )
        return self._comparison

    @property
    def answer_(self) -> Answer:  # type: ignore[override]
        """That of the best estimator."""
        return replace(Answer.of(self.best_estimator_, self.schema_), decision=self.decision_)

    def _set_decision(self, decision: Decision | None) -> None:
        self.decision_ = decision

    def _supports(self, name: str) -> bool:
        if hasattr(self, "best_estimator_"):
            getattr(self.best_estimator_, name)
        return True


def _reason(comparison: Comparison, best: Any, readable: bool) -> str:
    """What was chosen and why."""
    measure = MEASURES[comparison.criterion]
    first, *others = [r for r in comparison.results if r.quality is not None]
    figures = [f"{getattr(r.quality, comparison.criterion):.4f}" for r in (first, *others[:1])]
    words = (
        f"{first.name} has the best {measure} by {comparison.n_folds}-fold cross-validation of "
        f"{counted(comparison.n_rows, 'row')}, {figures[0]}"
    )
    if first.pooled:
        weights = [f"{n} {w:.2f}" for n, w in zip(best.names_, best.weights_, strict=True) if w]
        words += f" (weights: {', '.join(weights)})"
    words += f"; {others[0].name} has {figures[1]}." if others else "."
    if readable:
        words += " Only models whose evidence adds up over columns were compared."
    late = [r.name for r in comparison.results if r.left_out]
    if late:
        words += f" The time budget left out {listed(late)}."
    return words
