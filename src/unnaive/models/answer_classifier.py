"""A classifier that is its answer."""

from __future__ import annotations

from typing import Any, Self

from unnaive.answer import Answer
from unnaive.counts import Wanted
from unnaive.encode import GRID_LIMIT
from unnaive.models.base import TableClassifier
from unnaive.table import Schema


class AnswerClassifier(TableClassifier):
    """A classifier that predicts by a given answer and cannot be fitted.

    `save`, `to_sql` and `report` turn a fitted scikit-learn ensemble of classifiers of this library
    into one of these.

    Parameters
    ----------
    n_jobs : int or None, default=None
        Threads of the predictions.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    answer_ : Answer
    schema_ : Schema
        Names and kinds of the columns.
    n_features_in_ : int
    feature_names_in_ : array of str
        Only when the table's columns have names.
    """

    categorical_features: Any = "from_dtype"
    grid_limit = GRID_LIMIT

    def __init__(self, n_jobs: int | None = None) -> None:
        self.n_jobs = n_jobs

    @classmethod
    def of(cls, answer: Answer, n_jobs: int | None = None) -> Self:
        """Return the classifier of an answer."""
        model = cls(n_jobs)
        model._set_answer(answer)
        return model

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:  # noqa: ARG002
        """Raise an error: the answer is given.

        Parameters
        ----------
        X, y, sample_weight : object

        Returns
        -------
        self : object
            Fitted estimator.
        """
        raise TypeError(
            "an AnswerClassifier predicts as the model did that it was made of; fit that again."
        )

    def _wanted(self, schema: Schema) -> Wanted:  # noqa: ARG002
        return Wanted(frozenset())

    def _check_parameters(self) -> None:
        pass
