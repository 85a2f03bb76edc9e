"""A model as naive Bayes parts and a way to join them: what explanations are made from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from unnaive.answer import Answer, BayesTree, ClassTree, Folded
from unnaive.answer.nodes import Cast, cast_votes
from unnaive.answer.predict import fold_probabilities
from unnaive.bayes import Scorer
from unnaive.bayes.scoring import probabilities
from unnaive.counts import CountTable
from unnaive.table import Block, Schema
from unnaive.table.kept import KeptBlock

Role = Literal["model", "node", "round", "bag", "gate", "expert", "summary"]


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """One naive Bayes inside a model.

    Attributes
    ----------
    name : str
    role : str
        "model", "node" of a tree, "round", "bag", "gate" or "expert"; "summary" is the mean
        evidence of parts that vote, which only approximates their answer.
    labels : array
        What it tells apart: classes, (class, cluster) pairs, or the children of a gate.
    scorer : Scorer
        Prior and evidence.
    counts : CountTable or None
        Weight of the training rows by label, in the slots of the scorer's coders.
    weight : float
        Weight of the training rows that it speaks for; NaN where the model does not know.
    direct : bool
        Whether its estimates are those of the counts; rounds and bags weigh rows in their own way.
    votes : float
        By how much the evidence is multiplied in the model (rounds of boosting add up).
    """

    name: str
    role: Role
    labels: NDArray[Any]
    scorer: Scorer
    counts: CountTable | None
    weight: float
    direct: bool = True
    votes: float = 1.0

    def __repr__(self) -> str:
        return f"Part {self.name!r}: {len(self.labels)} labels, {len(self.scorer.terms)} attributes"


@dataclass(frozen=True, slots=True, eq=False)
class Speaker:
    """A part that speaks for some rows, and by which share of each."""

    part: int
    rows: NDArray[np.intp]
    share: NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Joining:
    """How what parts say about a row becomes an answer.

    Attributes
    ----------
    cast : {"probabilities", "winner"}
        What a part says: its probabilities, or 1 for its most probable label.
    softmax : bool
        Whether the sum by share is on the log scale, so that its softmax is the answer.
    folds : tuple of Folded
        How (class, cluster) pairs become classes, from the outside in; empty where labels are
        classes.
    """

    cast: Cast = "probabilities"
    softmax: bool = False
    folds: tuple[Folded, ...] = ()

    @property
    def owner(self) -> NDArray[np.intp] | None:
        """Class number of each label; None where labels are the classes."""
        owner = None
        for fold in self.folds:
            owner = fold.owner if owner is None else owner[fold.owner]
        return owner

    def folded(self, labels: NDArray[np.float64]) -> NDArray[np.float64]:
        """Probabilities of labels to those of classes, rows x any."""
        for fold in reversed(self.folds):
            labels = fold_probabilities(fold, labels)
        return labels

    def alone(self, joint: NDArray[np.float64]) -> NDArray[np.float64]:
        """Probabilities of the classes if one part alone spoke, or its vote."""
        return self.folded(self._cast(joint)[None])[0]

    def joined(
        self, shares: Sequence[float], joints: Sequence[NDArray[np.float64]]
    ) -> NDArray[np.float64]:
        """Probabilities of the classes, from what the parts that speak for a row say."""
        out = np.zeros((1, len(joints[0])))
        for share, joint in zip(shares, joints, strict=True):
            out[0] += share * self._cast(joint)
        return self.folded(probabilities(out) if self.softmax else out)[0]

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
        The part to show where no other is asked for.
    speakers : callable
        From a block to the parts that speak for its rows. Gates speak too, but not for classes.
    joining : Joining
        How the parts that speak for a row are joined.
    """

    names: tuple[str, ...]
    part: Callable[[int], Part]
    main: int
    speakers: Callable[[KeptBlock], list[Speaker]]
    joining: Joining = Joining()


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
    """

    model: Any
    answer: Answer
    parts: Parts

    @property
    def schema(self) -> Schema:
        return self.answer.schema

    @property
    def classes(self) -> NDArray[Any]:
        """What the model answers with."""
        return self.answer.classes

    @property
    def labels(self) -> NDArray[Any]:
        """What its parts tell apart: (class, cluster) pairs of a decomposition, or classes."""
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

    def speakers(self, block: KeptBlock) -> list[Speaker]:
        """The parts that speak for the rows of a block."""
        return self.parts.speakers(block)

    def find(self, part: int | str | None) -> Part:
        """A part by its number or name; the main one for None."""
        if part is None:
            return self.part(self.main)
        if isinstance(part, str):
            if part not in self.names:
                raise ValueError(
                    f"part {part!r} is not in this {type(self.model).__name__}; it has "
                    f"{_some(self.names)}."
                )
            return self.part(self.names.index(part))
        if not 0 <= part < len(self.names):
            raise ValueError(
                f"part must be a number from 0 to {len(self.names) - 1}, or a name such as "
                f"{self.names[0]!r}; got {part!r}."
            )
        return self.part(int(part))

    def block(self, X: Any) -> Block:
        """The rows of a table, read as the model reads them."""
        block: Block = self.model._open(X).map(lambda block: block)
        return block

    @property
    def joining(self) -> Joining:
        """How the parts that speak for a row are joined."""
        folds = [node for node in self.answer.nodes() if isinstance(node, Folded)]
        return replace(self.parts.joining, folds=tuple(folds))


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:5])
    return shown + (f" and {len(names) - 5} more" if len(names) > 5 else "")
