"""What every classifier of the library shares: reading rows and answering for them."""

from __future__ import annotations

from abc import abstractmethod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from unnaive.bayes import Evidence
from unnaive.bayes.scoring import log_probabilities, probabilities
from unnaive.encode import Labels
from unnaive.encode.labels import read_target, same_labels
from unnaive.estimator import TableEstimator
from unnaive.table import Block, Schema, open_table, scan_of
from unnaive.table.reading import read_weight
from unnaive.table.writing import write_parquet


class ScoredClassifier(ClassifierMixin):  # type: ignore[misc]
    """A classifier whose answers are counted where the rows are, whatever its labels are."""

    classes_: NDArray[Any]
    schema_: Schema

    @abstractmethod
    def _predict(self, block: Block) -> NDArray[Any]:
        """The most probable class of each row."""

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Share of the rows whose class is found.

        Parameters
        ----------
        X : table, path or `scan`
        y : array-like of shape (n_samples,), or the name of a column where X is not in memory
        sample_weight : array-like or None, default=None
            Weights of the rows, or the name of a column.

        Returns
        -------
        float
        """
        check_is_fitted(self)
        scan = scan_of(X, y, sample_weight)
        if scan is None and self.classes_.dtype != object:
            return float(super().score(X, y, sample_weight))
        if scan is None:  # labels that scikit-learn's measures do not know, such as dates
            found, target = self.predict(X), read_target(y)
            check_consistent_length(found, target)
            right = same_labels(found, target)
            return float(np.average(right, weights=read_weight(sample_weight, len(right))))
        if scan.target is None:
            raise ValueError("y is None: name the column with the labels, as in score(data, 'y').")

        def count(block: Block) -> tuple[float, float]:
            assert block.target is not None
            right = same_labels(self._predict(block), block.target)
            weight = np.ones(block.n_rows) if block.weight is None else block.weight
            return float(weight @ right), float(weight.sum())

        hit, whole = open_table(self, scan, fitted=self.schema_).reduce(
            count, lambda a, b: (a[0] + b[0], a[1] + b[1])
        )
        return hit / whole


class TableClassifier(ScoredClassifier, TableEstimator):
    """A classifier of tables. Subclasses say how probable the classes of a block of rows are.

    They set ``classes_`` when fitted, and have the parameter ``n_jobs``.
    """

    classes_: NDArray[Any]
    n_jobs: int | None

    def _check_learned(self) -> None:
        super()._check_learned()
        Labels(self.classes_).check()

    @abstractmethod
    def _probabilities(self, block: Block) -> NDArray[np.float64]:
        """Probability of each class for each row."""

    def _log_probabilities(self, block: Block) -> NDArray[np.float64]:
        with np.errstate(divide="ignore"):  # log 0 is minus infinity
            return np.log(self._probabilities(block))

    def predict_log_proba(self, X: Any) -> Any:
        """Log probability of each class for each row.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_classes)
        """
        return self._open(X).map(self._sent._log_probabilities, self._names("log_probability"))

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
        return self._open(X).map(self._sent._probabilities, self._names("probability"))

    def predict(self, X: Any) -> Any:
        """The most probable class of each row.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,)
        """
        return self._open(X).map(self._sent._predict, ["prediction"])

    def _predict(self, block: Block) -> NDArray[Any]:
        found: NDArray[Any] = self.classes_[self._probabilities(block).argmax(axis=1)]
        return found

    def _names(self, word: str) -> list[str]:
        """Names of columns with an answer for each class, where the answer is a table."""
        return [f"{word}_{label}" for label in self.classes_]

    def predict_to(self, X: Any, path: Any) -> Path:
        """Write the answers for rows of any number to a Parquet file, block by block.

        The file appears under its name only when it is whole.

        Parameters
        ----------
        X : path, glob, folder, `scan` or table
            The rows to answer for.
        path : path
            The file to write; one that is there is replaced.

        Returns
        -------
        Path
            The file: a row for each row of X, in their order, with its number (``row``), the most
            probable class (``prediction``) and a column ``probability_<class>`` for each class.
        """

        def answer(block: Block) -> dict[str, NDArray[Any]]:
            each = self._probabilities(block)
            names = self._names("probability")
            return {
                "row": block.row_ids,
                "prediction": self.classes_[each.argmax(axis=1)],
                **{name: np.ascontiguousarray(p) for name, p in zip(names, each.T, strict=True)},
            }

        return write_parquet(self._open(X).each(answer), path)


class EvidenceClassifier(TableClassifier):
    """A classifier whose log probabilities are sums of evidence, one bar per attribute."""

    @abstractmethod
    def _joint(self, block: Block) -> NDArray[np.float64]:
        """Joint log probability of each row and class."""

    @abstractmethod
    def _evidence(self, block: Block) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Baseline (rows x classes) and bars (rows x attributes x classes) of each row."""

    def _bar_names(self, schema: Schema) -> list[Any]:
        """What each bar is the evidence of."""
        return schema.names

    def _probabilities(self, block: Block) -> NDArray[np.float64]:
        return probabilities(self._joint(block), self.n_jobs)

    def _log_probabilities(self, block: Block) -> NDArray[np.float64]:
        return log_probabilities(self._joint(block))

    def predict_joint_log_proba(self, X: Any) -> Any:
        """Log P(class, row) for each row and class: what the evidence adds up to.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_classes)
        """
        return self._open(X).map(self._sent._joint, self._names("joint_log_probability"))

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
            return Evidence(baseline, bars, self._bar_names(block.schema), self.classes_)

        found: Evidence = self._open(X).map(explain)
        return found
