"""What every classifier of the library shares: reading rows and answering for them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from unnaive.answer import Answer, Evidence
from unnaive.bayes import Scorer
from unnaive.counts import CountTable
from unnaive.counts.summary import refuse_new
from unnaive.encode import Labels
from unnaive.encode.labels import label_groups, read_target, same_labels
from unnaive.estimator import TableEstimator
from unnaive.table import Block, Source, open_table, scan_of
from unnaive.table.reading import read_weight
from unnaive.table.writing import write_parquet


def _if_supported(name: str) -> Callable[[Any], Any]:
    """A method that a classifier may lack, such as those around estimators that lack it."""
    decorate: Callable[[Any], Any] = available_if(lambda model: model._supports(name))
    return decorate


def count_labelled(source: Source, labels: Labels) -> int:
    """How many rows a source has; labels that a fitted model does not know are refused."""

    def look(block: Block) -> int:
        assert block.target is not None
        refuse_new(labels, label_groups(block.target)[0])
        return block.n_rows

    return source.reduce(look, int.__add__, "looking at classes")


class ScorerAttributes:
    """The evidence behind an answer that has one scorer."""

    answer_: Answer

    @property
    def scorer_(self) -> Scorer:
        """The evidence of every value."""
        core: Any = self.answer_.core
        scorer: Scorer = core.scorer
        return scorer

    @property
    def counts_(self) -> CountTable:
        """Weight of the training rows by class, in the slots of the coders."""
        core: Any = self.answer_.core
        counts: CountTable = core.counts
        return counts


class TableClassifier(ClassifierMixin, TableEstimator):  # type: ignore[misc]
    """A classifier of tables. Subclasses learn an answer; everything else follows from it.

    They set ``answer_`` and ``classes_`` when fitted, and have the parameter ``n_jobs``.
    """

    answer_: Answer
    classes_: NDArray[Any]
    n_jobs: int | None
    _adds_up: bool = True  # whether evidence will be one bar per column, as far as known before fit

    def _check_learned(self) -> None:
        super()._check_learned()
        same = self.answer_.classes.tolist() == self.classes_.tolist()
        if not same or self.answer_.schema.names != self.schema_.names:
            raise ValueError("answer_ is for other classes or columns than the model.")

    def _supports(self, name: str) -> bool:
        """Whether there is a method; raises AttributeError, with the reason, if there is none."""
        fitted = hasattr(self, "answer_")
        adds_up = self.answer_.root.ADDS_UP if fitted else self._adds_up
        if name == "predict_joint_log_proba" and not adds_up:
            raise AttributeError(
                f"the evidence of this {type(self).__name__} does not add up column by column, so "
                "there are no joint log probabilities; evidence() shows its parts."
            )
        return True

    def _learn_answer(self, answer: Answer) -> None:
        """Keep what was learned."""
        self.answer_, self.classes_ = answer, answer.classes
        self._remember(answer.schema)

    def _open(self, X: Any) -> Source:
        check_is_fitted(self)
        return self._open_as(X, self.answer_.schema)

    def _ask(self, X: Any, question: str, word: str | None = None) -> Any:
        """What the answer says about the rows of X; only the answer is sent to workers.

        ``question`` is a method of `Answer`; ``word`` names columns with an entry for each class,
        where the result is a table.
        """
        source = self._open(X)
        ask = partial(getattr(self.answer_, question), n_jobs=self.n_jobs)
        return source.map(ask, None if word is None else self._names(word))

    @_if_supported("predict_log_proba")
    def predict_log_proba(self, X: Any) -> Any:
        """Log probability of each class for each row.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_classes)
        """
        return self._ask(X, "log_probabilities", "log_probability")

    @_if_supported("predict_proba")
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
        return self._ask(X, "probabilities", "probability")

    @_if_supported("predict_joint_log_proba")
    def predict_joint_log_proba(self, X: Any) -> Any:
        """Log P(class, row), but for a constant of the row: what the evidence adds up to.

        Only where evidence is one bar per column.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_classes)
        """
        return self._ask(X, "joint", "joint_log_probability")

    def predict(self, X: Any) -> Any:
        """The most probable class of each row.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,)
        """
        return self._ask(X, "predict", "prediction")

    @_if_supported("evidence")
    def evidence(self, X: Any) -> Evidence:
        """Why: a baseline and bars that add up, for each row.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)

        Returns
        -------
        Evidence
            One bar per column, which add up to `predict_joint_log_proba`; of a tree those of the
            naive Bayes where the row stops. Models that vote have a bar for each member, and the
            bars by column in ``parts``.
        """
        why: Evidence = self._ask(X, "evidence")
        return why

    def _names(self, word: str) -> list[str]:
        """Names of the columns of an answer that is a table: one for each class."""
        return [word] if word == "prediction" else [f"{word}_{label}" for label in self.classes_]

    @_if_supported("predict_proba")
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
        source = self._open(X)
        answer, names = self.answer_, self._names("probability")

        def columns(block: Block) -> dict[str, NDArray[Any]]:
            each = answer.probabilities(block, self.n_jobs)
            return {
                "row": block.row_ids,
                "prediction": answer.classes[each.argmax(axis=1)],
                **{name: np.ascontiguousarray(p) for name, p in zip(names, each.T, strict=True)},
            }

        return write_parquet(source.each(columns), path)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Accuracy: the share of the rows whose class is predicted.

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
            predicted, target = self.predict(X), read_target(y)
            check_consistent_length(predicted, target)
            right = same_labels(predicted, target)
            return float(np.average(right, weights=read_weight(sample_weight, len(right))))
        if scan.target is None:
            raise ValueError("y is None: name the column with the labels, as in score(data, 'y').")
        answer, n_jobs = self.answer_, self.n_jobs

        def count(block: Block) -> tuple[float, float]:
            assert block.target is not None
            right = same_labels(answer.predict(block, n_jobs), block.target)
            weight = np.ones(block.n_rows) if block.weight is None else block.weight
            return float(weight @ right), float(weight.sum())

        hit, whole = open_table(self, scan, fitted=answer.schema).reduce(
            count, lambda a, b: (a[0] + b[0], a[1] + b[1])
        )
        return hit / whole
