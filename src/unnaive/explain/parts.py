"""A model as naive Bayes parts and a way to join them: the one thing facts are made from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from unnaive.bayes import Scorer
from unnaive.bayes.scoring import probabilities
from unnaive.counts import CountTable
from unnaive.models.decompose.folding import fold_probabilities
from unnaive.table import Block, Schema
from unnaive.table.kept import KeptBlock

Role = Literal["model", "node", "round", "bag", "gate", "expert", "summary"]
# How the parts that speak for a row are joined: probabilities by share, one vote each by share, or
# votes that are log odds.
Join = Literal["mean", "vote", "log_vote"]


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
    join : {"mean", "vote", "log_vote"}
        Probabilities by share, one vote each by share, or votes that are log odds.
    owner : array or None
        Class number of each label, where labels are (class, cluster) pairs.
    fold : {"sum", "max"}
        How pairs are folded to classes.
    """

    join: Join
    owner: NDArray[np.intp] | None = None
    fold: str = "sum"

    def folded(self, labels: NDArray[np.float64]) -> NDArray[np.float64]:
        """Probabilities of labels to those of classes, rows x any."""
        return labels if self.owner is None else fold_probabilities(labels, self.owner, self.fold)

    def alone(self, joint: NDArray[np.float64]) -> NDArray[np.float64]:
        """Probabilities of the classes if one part alone spoke, or its vote."""
        return self.folded(self._said(joint)[None])[0]

    def joined(
        self, shares: Sequence[float], joints: Sequence[NDArray[np.float64]]
    ) -> NDArray[np.float64]:
        """Probabilities of the classes, from what the parts that speak for a row say."""
        out = np.zeros((1, len(joints[0])))
        for share, joint in zip(shares, joints, strict=True):
            out[0] += share * self._said(joint)
        return self.folded(probabilities(out) if self.join == "log_vote" else out)[0]

    def _said(self, joint: NDArray[np.float64]) -> NDArray[np.float64]:
        if self.join == "mean":
            return probabilities(joint[None].copy())[0]
        out = np.zeros(len(joint))
        out[joint.argmax()] = 1.0
        return out


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """A model as naive Bayes parts.

    Attributes
    ----------
    model : fitted estimator
    reader : fitted estimator
        Who reads rows: the model, or the estimator that a decomposition is around.
    classes : array
        What the model answers with.
    labels : array
        What its parts tell apart; (class, cluster) pairs of a decomposition, else the classes.
    names : tuple of str
        The parts' names. ``part(k)`` is part number k.
    join : {"mean", "vote", "log_vote"}
        How the parts that speak for a row are joined; see `Joining`.
    main : int
        The part to show where no other is asked for.
    speakers : callable
        From a block to the parts that speak for its rows. Gates speak too, but not for classes.
    owner : array or None
        Class number of each pair, where labels are pairs.
    fold : {"sum", "max"}
        How pairs are folded to classes.
    """

    model: Any
    reader: Any
    classes: NDArray[Any]
    labels: NDArray[Any]
    names: tuple[str, ...]
    part: Callable[[int], Part]
    join: Join
    main: int
    speakers: Callable[[KeptBlock], list[Speaker]]
    owner: NDArray[np.intp] | None = None
    fold: str = "sum"

    @property
    def schema(self) -> Schema:
        schema: Schema = self.reader.schema_
        return schema

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
        found: Block = self.reader._open(X).map(lambda block: block)
        return found

    def answer(self, block: Block) -> NDArray[np.float64]:
        """Probabilities of the classes for the rows of a block."""
        known: NDArray[np.float64] = self.reader._probabilities(block)
        return self.joining.folded(known)

    @property
    def joining(self) -> Joining:
        """How the parts that speak for a row are joined."""
        return Joining(self.join, self.owner, self.fold)


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:5])
    return shown + (f" and {len(names) - 5} more" if len(names) > 5 else "")
