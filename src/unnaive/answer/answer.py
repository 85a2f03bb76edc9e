"""What a fitted model says about rows: its columns, its classes and one expression of nodes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from unnaive.answer import predict
from unnaive.answer.class_tree import ClassTree
from unnaive.answer.evidence import Evidence, evidence
from unnaive.answer.nodes import Folded, Foreign, Node
from unnaive.answer.tree import BayesTree
from unnaive.common.checks import expect
from unnaive.encode import Labels
from unnaive.table import Block, Schema
from unnaive.table.columns import as_objects

T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """How a fitted model answers, as plain data.

    Everything that is done with a model after `fit` reads this and nothing else: predicting,
    evidence, explanations, the report, SQL and model files.

    Attributes
    ----------
    schema : Schema
        The columns that rows are read by.
    classes : array of shape (n_classes,)
    root : node
        The expression: `EvidenceTable`, `Vote`, `GatedMixture`, `Folded`, a tree, or `Foreign`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from unnaive import NaiveBayesClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> NaiveBayesClassifier().fit(X, y).answer_
    Answer of an EvidenceTable: 3 classes, 4 columns
    """

    schema: Schema
    classes: NDArray[Any]
    root: Node

    def check(self) -> None:
        """Refuse an expression for other classes or columns."""
        Labels(self.classes).check()
        same = self.root.n_outputs == len(self.classes)
        expect(same, f"the answer is for {self.root.n_outputs} of {len(self.classes)} classes.")
        self.root.check_columns(self.schema)

    @classmethod
    def of(cls, model: Any, schema: Any) -> Answer:
        """That of a fitted classifier; one of another library answers for itself."""
        answer = getattr(model, "answer_", None)
        return answer if isinstance(answer, cls) else cls(schema, model.classes_, Foreign(model))

    def __repr__(self) -> str:
        name = type(self.root).__name__
        article = "an" if name[0] in "AEIOU" else "a"
        return (
            f"Answer of {article} {name}: {len(self.classes)} classes, {len(self.schema)} columns"
        )

    def nodes(self) -> Iterator[Node]:
        """The expression from the outside in."""
        node = self.root
        yield node
        while isinstance(node, Folded):
            node = node.inner
            yield node

    def find(self, kind: type[T]) -> T | None:
        """The outermost node of a kind, if there is one."""
        return next((node for node in self.nodes() if isinstance(node, kind)), None)

    @property
    def tree(self) -> BayesTree | ClassTree | None:
        """The tree in it, if there is one."""
        return self.find(BayesTree) or self.find(ClassTree)

    @property
    def core(self) -> Node:
        """The innermost node, which reads the columns."""
        return list(self.nodes())[-1]

    @property
    def labels(self) -> NDArray[Any]:
        """What the core tells apart: the classes, or (class, cluster) pairs."""
        labels = self.classes
        for node in self.nodes():
            if isinstance(node, Folded):
                labels = as_objects(node.pairs(labels))
        return labels

    def joint(self, block: Block, n_jobs: int | None = None) -> NDArray[np.float64]:
        """Log probability of each row and class, but for a constant of the row."""
        return predict.joint(self.root, block, n_jobs)

    def probabilities(self, block: Block, n_jobs: int | None = None) -> NDArray[np.float64]:
        """Probability of each class for each row."""
        return predict.probabilities(self.root, block, n_jobs)

    def log_probabilities(self, block: Block, n_jobs: int | None = None) -> NDArray[np.float64]:
        """Log probability of each class for each row."""
        return predict.log_probabilities(self.root, block, n_jobs)

    def predict(self, block: Block, n_jobs: int | None = None) -> NDArray[Any]:
        """The most probable class of each row."""
        labels: NDArray[Any] = self.classes[predict.winners(self.root, block, n_jobs)]
        return labels

    def evidence(self, block: Block, n_jobs: int | None = None) -> Evidence:
        """Why each row is answered as it is."""
        return evidence(self.root, block, self.classes, n_jobs)
