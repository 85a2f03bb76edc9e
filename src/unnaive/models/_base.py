"""What every classifier of the library shares: reading rows and answering for them."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from unnaive.bayes import Evidence, log_probabilities, probabilities
from unnaive.table import Block, Schema, Source, open_table


class RowClassifier(ClassifierMixin):  # type: ignore[misc]
    """A classifier of tables. Subclasses say how probable the classes are for a block of rows.

    They set ``schema_`` and ``classes_`` when fitted, and have the parameter ``n_jobs``.
    """

    schema_: Schema
    classes_: NDArray[Any]
    n_jobs: int | None

    @abstractmethod
    def _probabilities(self, block: Block) -> NDArray[np.float64]:
        """Probability of each class for each row."""

    @abstractmethod
    def _log_probabilities(self, block: Block) -> NDArray[np.float64]:
        """Log probability of each class for each row."""

    def _open(self, X: Any) -> Source:
        check_is_fitted(self)
        return open_table(self, X, fitted=self.schema_)

    def predict_log_proba(self, X: Any) -> Any:
        """Log probability of each class for each row.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_classes)
        """
        return self._open(X).map(self._log_probabilities)

    def predict_proba(self, X: Any) -> Any:
        """Probability of each class for each row.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Columns are found by name where the model knows names. Missing values are welcome;
            values never seen in training carry no evidence.

        Returns
        -------
        array of shape (n_samples, n_classes)
            Columns in the order of ``classes_``.
        """
        return self._open(X).map(self._probabilities)

    def predict(self, X: Any) -> Any:
        """The most probable class of each row.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,)
        """
        return self._open(X).map(
            lambda block: self.classes_[self._probabilities(block).argmax(axis=1)]
        )


class TableClassifier(RowClassifier):
    """A classifier whose evidence adds up. Subclasses say how a block of rows scores."""

    @abstractmethod
    def _joint(self, block: Block) -> NDArray[np.float64]:
        """Joint log probability of each row and class."""

    @abstractmethod
    def _evidence(self, block: Block) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Baseline (rows x classes) and bars (rows x attributes x classes) of each row."""

    def predict_joint_log_proba(self, X: Any) -> Any:
        """Log P(class, row) for each row and class: what the evidence adds up to.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_classes)
        """
        return self._open(X).map(self._joint)

    def evidence(self, X: Any) -> Evidence:
        """Why: one bar per row, attribute and class, adding up to the joint log probability.

        In a tree these are the bars of the naive Bayes where the row stops.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        Evidence
            ``bars`` of shape (rows, attributes, classes), and the ``baseline`` before them.
        """

        def explain(block: Block) -> Evidence:
            baseline, bars = self._evidence(block)
            return Evidence(baseline, bars, block.schema.names, self.classes_)

        found: Evidence = self._open(X).map(explain)
        return found

    def _probabilities(self, block: Block) -> NDArray[np.float64]:
        return probabilities(self._joint(block), self.n_jobs)

    def _log_probabilities(self, block: Block) -> NDArray[np.float64]:
        return log_probabilities(self._joint(block))
