"""The choice among the family as a classifier."""

# mypy: disable-error-code="untyped-decorator"

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if

from unnaive.choose.compare import compare
from unnaive.choose.comparison import Comparison
from unnaive.counts import Wanted
from unnaive.estimator import TableEstimator, reports_progress
from unnaive.table import Schema


def _best_has(name: str) -> Any:
    """Whether the chosen estimator can do something; before the choice, whether the family can."""

    def check(self: AutoClassifier) -> bool:
        if hasattr(self, "best_estimator_"):
            getattr(self.best_estimator_, name)
        return True

    return available_if(check)


class AutoClassifier(ClassifierMixin, TableEstimator):  # type: ignore[misc]
    """The classifier that cross-validation finds best on a table, fitted on all its rows.

    Fitting is :func:`unnaive.compare` followed by fitting the winner; answers are the winner's.

    Parameters
    ----------
    models : list of str or None, default=None
        Which of the family to try; None is all. Names are those of :func:`unnaive.compare`.
    estimators : dict, list, classifier or None, default=None
        Other classifiers to try.
    criterion : {"log_loss", "accuracy", "brier", "calibration_error"}, default="log_loss"
        What the best is chosen by. Among equals, the cheaper wins.
    cv : int, splitter or iterable, default=5
        A number of folds, dealt so that each has its share of every class; or a scikit-learn
        splitter, or ready (train, test) positions.
    time_budget : float or None, default=None
        Seconds for trying; the cheapest models come first. The choice then depends on how fast
        the machine is.
    categorical_features : "from_dtype" or array-like, default="from_dtype"
        For the family: which columns are categories, as in `NaiveBayesClassifier`.
    random_state : int, RandomState instance or None, default=None
        Seed of the folds, and of all models where they have none.
    n_jobs : int or None, default=None
        Threads of each model; the choice never depends on it.

    Attributes
    ----------
    best_estimator_ : classifier
        Fitted on all rows.
    best_name_ : str
    comparison_ : Comparison
        All that were tried.
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
    'kernel'
    >>> model.score(X, y) > 0.94
    True
    """

    best_estimator_: Any
    best_name_: str
    comparison_: Comparison
    classes_: NDArray[Any]

    def __init__(
        self,
        *,
        models: Any = None,
        estimators: Any = None,
        criterion: str = "log_loss",
        cv: Any = 5,
        time_budget: float | None = None,
        categorical_features: Any = "from_dtype",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.models = models
        self.estimators = estimators
        self.criterion = criterion
        self.cv = cv
        self.time_budget = time_budget
        self.categorical_features = categorical_features
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _wanted(self, schema: Schema) -> Wanted:
        raise NotImplementedError("the estimators that are tried read the table themselves.")

    @reports_progress
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Try all, then fit the best.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,) or None, default=None
            How often each row counts, in learning and in judging. Estimators that take no weights
            are shown as failed.

        Returns
        -------
        self
        """
        found = compare(
            X,
            y,
            models=self.models,
            estimators=self.estimators,
            criterion=self.criterion,
            cv=self.cv,
            time_budget=self.time_budget,
            categorical_features=self.categorical_features,
            sample_weight=sample_weight,
            random_state=self.random_state,
            n_jobs=self.n_jobs,
        )
        self.comparison_ = found
        self.best_name_, self.best_estimator_ = found.best_name_, found.best_
        self.classes_: NDArray[Any] = np.asarray(found.best_.classes_)
        self._remember(found.schema)
        return self

    def _checked(self, X: Any) -> Any:
        self._open(X)
        return X

    def predict(self, X: Any) -> Any:
        """The best estimator's class of each row.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,)
        """
        X = self._checked(X)
        return self.best_estimator_.predict(X)

    @_best_has("predict_proba")
    def predict_proba(self, X: Any) -> Any:
        """Probability of each class for each row.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_classes)
        """
        X = self._checked(X)
        return self.best_estimator_.predict_proba(X)

    @_best_has("predict_log_proba")
    def predict_log_proba(self, X: Any) -> Any:
        """Log probability of each class for each row.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_classes)
        """
        X = self._checked(X)
        return self.best_estimator_.predict_log_proba(X)

    @_best_has("evidence")
    def evidence(self, X: Any) -> Any:
        """Why, in the form of the best estimator, where it has evidence.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        Evidence or Votes
        """
        X = self._checked(X)
        return self.best_estimator_.evidence(X)
