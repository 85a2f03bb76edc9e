"""A model as naive Bayes parts and a way to combine them: what explanations are made from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from unnaive.answer import Answer, BayesTree, Calibrated, ClassTree, Folded
from unnaive.answer.nodes import Cast, cast_votes
from unnaive.answer.predict import outer_probabilities
from unnaive.bayes import Scorer
from unnaive.bayes.scoring import probabilities
from unnaive.common.wording import listed
from unnaive.counts import CountTable
from unnaive.table import Block, Schema, Source
from unnaive.table.kept import KeptBlock

Role = Literal["model", "node", "round", "bag", "gate", "expert", "forest", "pool", "summary"]


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """One naive Bayes inside a model.

    Attributes
    ----------
    name : str
    role : str
        "model", "node" of a tree, "forest", "pool", "round", "bag", "gate" or "expert"; "summary"
        is the mean evidence of parts that vote, which only approximates their answer.
    labels : array
        What it predicts: classes, (class, cluster) pairs, or the children of a gate.
    scorer : Scorer
        Prior and evidence.
    counts : CountTable or None
        Weight of the training rows by label, in the slots of the scorer's coders.
    weight : float
        Weight of its training rows; NaN where the model keeps none.
    direct : bool
        Whether its estimates follow from ``counts``; rounds and bags weight the rows differently,
        and calibration scales the evidence.
    votes : float
        Factor of the evidence in the model: the sum of the votes of boosting rounds, times the
        slope of calibration.
    columns : array of shape (attributes,) or None
        Factors of calibration of the attributes, where each has its own.
    errors : tuple of arrays
        Standard errors of the evidence by column, where the model knows them.
    """

    name: str
    role: Role
    labels: NDArray[Any]
    scorer: Scorer
    counts: CountTable | None
    weight: float
    direct: bool = True
    votes: float = 1.0
    columns: NDArray[np.float64] | None = None
    errors: tuple[NDArray[np.float32], ...] = ()

    def factor(self, j: int) -> float:
        """Factor of the evidence of an attribute."""
        return self.votes if self.columns is None else self.votes * float(self.columns[j])

    @property
    def by_value(self) -> bool:
        """Whether its evidence is that of values, the same in all rows that have them."""
        return self.counts is not None or any(term is not None for term in self.scorer.terms)

    def __repr__(self) -> str:
        return f"Part {self.name!r}: {len(self.labels)} labels, {len(self.scorer.terms)} attributes"


@dataclass(frozen=True, slots=True, eq=False)
class ActivePart:
    """A part that answers for some rows, and its share in the answer for each."""

    part: int
    rows: NDArray[np.intp]
    share: NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Combiner:
    """How the answers of parts become the answer for a row.

    Attributes
    ----------
    cast : {"probabilities", "winner"}
        What a part contributes: its probabilities, or 1 for its most probable label.
    softmax : bool
        Whether the weighted sum is on the log scale, so that its softmax is the answer.
    steps : tuple of Folded or Calibrated
        How (class, cluster) pairs become classes, and where probabilities are calibrated, from the
        outside in; often empty.
    """

    cast: Cast = "probabilities"
    softmax: bool = False
    steps: tuple[Folded | Calibrated, ...] = ()

    @property
    def owner(self) -> NDArray[np.intp] | None:
        """Class number of each label; None where labels are the classes."""
        owner = None
        for step in self.steps:
            if isinstance(step, Folded):
                owner = step.owner if owner is None else owner[step.owner]
        return owner

    @property
    def is_calibrated(self) -> bool:
        """Whether probabilities are calibrated after parts were combined."""
        return any(isinstance(step, Calibrated) for step in self.steps)

    def fold(self, labels: NDArray[np.float64]) -> NDArray[np.float64]:
        """Probabilities of labels (rows x labels) to those of classes, calibrated."""
        for step in reversed(self.steps):
            labels = outer_probabilities(step, labels)
        return labels

    def part_answer(self, joint: NDArray[np.float64]) -> NDArray[np.float64]:
        """Probabilities of the classes by one part alone, not calibrated, or its vote."""
        plain = replace(self, steps=tuple(s for s in self.steps if isinstance(s, Folded)))
        return plain.fold(self._cast(joint)[None])[0]

    def combine(
        self, shares: Sequence[float], joints: Sequence[NDArray[np.float64]]
    ) -> NDArray[np.float64]:
        """Probabilities of the classes, from the joint log probabilities of a row's parts."""
        out = np.zeros((1, len(joints[0])))
        for share, joint in zip(shares, joints, strict=True):
            out[0] += share * self._cast(joint)
        return self.fold(probabilities(out) if self.softmax else out)[0]

    def _cast(self, joint: NDArray[np.float64]) -> NDArray[np.float64]:
        return cast_votes(self.cast, joint[None].copy())[0]


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """The naive Bayes parts of a node.

    Attributes
    ----------
    names : tuple of str
        The parts' names. ``part(k)`` is part number k.
    part : callable
    main : int
        The part to show by default.
    active_parts : callable
        From a block to the parts that answer for its rows; gates are among them.
    combiner : Combiner
        How the parts of a row are combined.
    """

    names: tuple[str, ...]
    part: Callable[[int], Part]
    main: int
    active_parts: Callable[[KeptBlock], list[ActivePart]]
    combiner: Combiner = Combiner()


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """A fitted model as naive Bayes parts.

    Attributes
    ----------
    model : fitted estimator
    answer : Answer
        How it answers.
    parts : Parts
        Of the innermost node.
    prepare : callable or None
        What a `Pipeline` does to a table before the model sees it.
    """

    model: Any
    answer: Answer
    parts: Parts
    prepare: Callable[[Any], Any] | None = None

    @property
    def schema(self) -> Schema:
        return self.answer.schema

    @property
    def classes(self) -> NDArray[Any]:
        """The classes of the model."""
        return self.answer.classes

    @property
    def labels(self) -> NDArray[Any]:
        """What its parts predict: (class, cluster) pairs of a decomposition, or classes."""
        return self.answer.labels

    @property
    def names(self) -> tuple[str, ...]:
        return self.parts.names

    @property
    def main(self) -> int:
        return self.parts.main

    @property
    def tree(self) -> BayesTree | ClassTree | None:
        """The tree that leads rows to their part, if there is one."""
        return self.answer.tree

    def part(self, k: int) -> Part:
        """Part number k."""
        return self.parts.part(k)

    def active_parts(self, block: KeptBlock) -> list[ActivePart]:
        """The parts that answer for the rows of a block."""
        return self.parts.active_parts(block)

    def find(self, part: int | str | None) -> Part:
        """A part by its number or name; the main one for None."""
        if part is None:
            return self.part(self.main)
        if isinstance(part, str):
            if part not in self.names:
                raise ValueError(
                    f"part {part!r} is not in this {type(self.model).__name__}; it has "
                    f"{listed(self.names, 5)}."
                )
            return self.part(self.names.index(part))
        if not 0 <= part < len(self.names):
            raise ValueError(
                f"part must be a number from 0 to {len(self.names) - 1}, or a name such as "
                f"{self.names[0]!r}; got {part!r}."
            )
        return self.part(int(part))

    def source(self, X: Any) -> Source:
        """A table, read as the model reads it."""
        source: Source = self.model._open(X if self.prepare is None else self.prepare(X))
        return source

    def block(self, X: Any) -> Block:
        """The rows of a table, read as the model reads them."""
        block: Block = self.source(X).map(lambda block: block)
        return block

    @property
    def combiner(self) -> Combiner:
        """How the parts of a row are combined."""
        steps = [node for node in self.answer.nodes() if isinstance(node, Folded | Calibrated)]
        return replace(self.parts.combiner, steps=tuple(steps))


def label_names(labels: NDArray[Any]) -> tuple[str, ...]:
    """Labels as text; a (class, cluster) pair by its class and number."""
    return tuple(_name(label) for label in labels.tolist())


def _name(label: Any) -> str:
    return f"{_name(label[0])}, cluster {label[1]}" if isinstance(label, tuple) else str(label)


def find_label(labels: NDArray[Any], label: Any, parameter: str) -> int:
    """Number of a label, given as it is or as text."""
    names = label_names(labels)
    for k, candidate in enumerate(labels.tolist()):
        if candidate is label or candidate == label:
            return k
    if label in names:
        return names.index(label)
    raise ValueError(f"{parameter}={label!r} is not one of the classes: {', '.join(names[:10])}.")
