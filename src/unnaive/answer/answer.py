"""How a fitted model predicts: its columns, its classes and one expression of nodes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from unnaive.answer.decision import Decision, make_decision
from unnaive.answer.evidence import Evidence
from unnaive.answer.nodes import (
    Edit,
    Ensemble,
    EvidenceTable,
    ExternalEstimator,
    GroupedClasses,
    Node,
)
from unnaive.answer.trees import ClassTree, NaiveBayesTree
from unnaive.bayes.scoring import PairTerm
from unnaive.common.checks import expect
from unnaive.encode import Labels
from unnaive.table import Block, Schema
from unnaive.table.columns import as_objects

T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """How a fitted model predicts, as plain data.

    Everything that is done with a model after `fit` reads this and nothing else: predictions,
    evidence, explanations, the report, SQL and model files.

    Attributes
    ----------
    schema : Schema
        The columns that rows are read by.
    classes : array of shape (n_classes,)
    root : node
        The expression: `EvidenceTable`, `GatedMixture`, a tree, a `Forest`, an `Ensemble` or
        `ExternalEstimator`, inside of any number of `GroupedClasses` and one-member `Ensemble`.
    decision : Decision or None
        How a class is chosen by the probabilities of a row; None is the most probable one.

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
    decision: Decision | None = None

    def check(self) -> None:
        """Check that the expression is for these classes and columns."""
        Labels(self.classes).check()
        n, n_classes = self.root.n_outputs, len(self.classes)
        expect(n == n_classes, f"the answer predicts {n} of {n_classes} classes.")
        self.root.check_columns(self.schema)
        if self.decision is not None:
            n = len(self.decision.costs)
            expect(n == n_classes, f"the decision is about {n} of {n_classes} classes.")

    @classmethod
    def of(cls, model: Any, schema: Any) -> Answer:
        """Return the answer of a fitted classifier; an `ExternalEstimator` of another library's."""
        answer = getattr(model, "answer_", None)
        return (
            answer
            if isinstance(answer, cls)
            else cls(schema, model.classes_, ExternalEstimator(model))
        )

    def __repr__(self) -> str:
        name = type(self.root).__name__
        article = "an" if name[0] in "AEIOU" else "a"
        return (
            f"Answer of {article} {name}: {len(self.classes)} classes, {len(self.schema)} columns"
        )

    def decided(self, decide: Any, positive: Any = None) -> Answer:
        """Return the same answer with another decision; `make_decision` says what may be given."""
        prior = self.root.class_prior()
        return replace(self, decision=make_decision(decide, self.classes, prior, positive))

    @property
    def edits(self) -> tuple[Edit, ...]:
        """The edits by experts that are in the evidence, in their order."""
        return self.root.edits if isinstance(self.root, EvidenceTable) else ()

    def walk(self) -> Iterator[Node]:
        """Iterate over nested nodes, outermost first, to the one that reads columns or members."""
        node: Node | None = self.root
        while node is not None:
            yield node
            node = inner_node(node)

    def find(self, kind: type[T]) -> T | None:
        """Return the outermost node of a kind, if there is one."""
        return next((node for node in self.walk() if isinstance(node, kind)), None)

    @property
    def pairs(self) -> tuple[PairTerm, ...]:
        """The pairs of columns that have evidence of their own."""
        core = self.core
        return core.scorer.pairs if isinstance(core, EvidenceTable) else ()

    @property
    def tree(self) -> NaiveBayesTree | ClassTree | None:
        """The tree in it, if there is one."""
        return self.find(NaiveBayesTree) or self.find(ClassTree)

    @property
    def core(self) -> Node:
        """The innermost node, which reads the columns or joins several members."""
        return list(self.walk())[-1]

    @property
    def labels(self) -> NDArray[Any]:
        """What the core predicts: the classes, or (class, cluster) pairs."""
        labels = self.classes
        for node in self.walk():
            if isinstance(node, GroupedClasses):
                labels = as_objects(node.pairs(labels))
        return labels

    def joint(self, block: Block, n_jobs: int | None = None) -> NDArray[np.float64]:
        """Return the log probability of each row and class, up to a constant of the row."""
        return self.root.scores(block, n_jobs)

    def probabilities(self, block: Block, n_jobs: int | None = None) -> NDArray[np.float64]:
        """Return the probability of each class for each row."""
        return self.root.predict_proba(block, n_jobs)

    def log_probabilities(self, block: Block, n_jobs: int | None = None) -> NDArray[np.float64]:
        """Return the log probability of each class for each row."""
        return self.root.predict_log_proba(block, n_jobs)

    def predict(self, block: Block, n_jobs: int | None = None) -> NDArray[Any]:
        """Return the class that each row is given: the most probable one, or by the decision."""
        if self.decision is None:
            labels: NDArray[Any] = self.classes[self.root.predict_index(block, n_jobs)]
            return labels
        decided: NDArray[Any] = self.classes[self.choose(self.probabilities(block, n_jobs))]
        return decided

    def choose(self, p: NDArray[np.float64]) -> NDArray[np.intp]:
        """Return the number of the class that each row of probabilities is given."""
        return p.argmax(axis=1) if self.decision is None else self.decision.choose(p)

    def feature_importances(self) -> NDArray[np.float64]:
        """Return the importances of the columns, which sum to one; all zero without evidence."""
        sizes = self.root.feature_importances(self.schema)
        total = sizes.sum()
        return sizes / total if total > 0 else sizes

    def evidence(self, block: Block, n_jobs: int | None = None) -> Evidence:
        """Return the evidence for the prediction of each row."""
        return self.root.evidence(block, self.classes, n_jobs)


def inner_node(node: Node) -> Node | None:
    """Return the node whose classes or probabilities a node changes; None for other nodes."""
    if isinstance(node, GroupedClasses):
        return node.inner
    if isinstance(node, Ensemble) and len(node.members) == 1 and node.stack is None:
        return node.members[0]
    return None
