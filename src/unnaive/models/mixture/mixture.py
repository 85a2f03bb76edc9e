"""A trained mixture: rows through all units at once, then folded to classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from unnaive.bayes import Scorer
from unnaive.common.checks import expect
from unnaive.common.threads import in_threads
from unnaive.models.mixture import kernels
from unnaive.models.mixture.shape import Shape
from unnaive.table import Block

ROWS = 1 << 14  # rows folded at a time


@dataclass(frozen=True, slots=True, eq=False)
class Folded:
    """Log trust in each expert (rows x experts) and log probability of each class."""

    trust: NDArray[np.float64]
    classes: NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Mixture:
    """Gates and experts as one scorer over all their units."""

    shape: Shape
    scorer: Scorer

    def check(self) -> None:
        """Refuse evidence that is not that of the units."""
        expect(len(self.scorer.log_prior) == self.shape.n_units, "evidence is for other units.")

    def fold(self, block: Block, n_jobs: int | None = None) -> Folded:
        """The answer of all experts together, a stretch of rows at a time."""

        def answer(start: int) -> Folded:
            return self.fold_joint(self.scorer.joint(block.slice(start, start + ROWS)))

        parts = list(in_threads(answer, range(0, block.n_rows, ROWS), n_jobs))
        return Folded(
            np.concatenate([part.trust for part in parts]),
            np.concatenate([part.classes for part in parts]),
        )

    def fold_joint(self, joint: NDArray[np.float64]) -> Folded:
        """From the scores of all units, rows x units, which are used up."""
        shape = self.shape
        trust = np.empty((len(joint), shape.n_experts))
        classes = np.empty((len(joint), shape.n_classes))
        kernels.fold_units(joint, shape.net, trust, classes)
        return Folded(trust, classes)


@dataclass(frozen=True, slots=True, eq=False)
class MixtureEvidence:
    """Why a mixture answers so: the bars of its gates and of its experts.

    Gates and experts are naive Bayes classifiers, so the bars of each add up to its joint log
    probabilities. Their softmax gives the shares of a gate's children and an expert's classes; an
    expert's responsibility is the product of the shares on the way to it, and the answer is the sum
    of the experts' probabilities by responsibility.

    Attributes
    ----------
    gate_baseline : array of shape (rows, nodes - 1)
    gate_bars : array of shape (rows, attributes, nodes - 1)
        Evidence for each node but the root, as its gate sees it. Nodes are numbered level by level,
        the root being 0; the last are the experts.
    expert_baseline : array of shape (rows, experts, classes)
    expert_bars : array of shape (rows, attributes, experts, classes)
    responsibilities : array of shape (rows, experts)
    log_proba : array of shape (rows, classes)
        The answer: log-sum-exp of log responsibilities and the experts' log probabilities.
    layers : tuple of int
    features : list
    classes : array
    """

    PER_ROW: ClassVar = dict.fromkeys(
        (
            "gate_baseline", "gate_bars", "expert_baseline", "expert_bars", "responsibilities",
            "log_proba",
        ),
        0,
    )  # fmt: skip

    gate_baseline: NDArray[np.float64]
    gate_bars: NDArray[np.float64]
    expert_baseline: NDArray[np.float64]
    expert_bars: NDArray[np.float64]
    responsibilities: NDArray[np.float64]
    log_proba: NDArray[np.float64]
    layers: tuple[int, ...]
    features: list[Any]
    classes: NDArray[Any]

    def __len__(self) -> int:
        return len(self.log_proba)

    def __repr__(self) -> str:
        rows, attributes, experts, classes = self.expert_bars.shape
        return (
            f"MixtureEvidence of {attributes} attributes and {experts} experts for {classes} "
            f"classes in {rows} rows"
        )


def explain(
    mixture: Mixture, block: Block, classes: NDArray[Any], n_jobs: int | None
) -> MixtureEvidence:
    """Bars of all units, taken apart by gates and experts."""
    shape, scorer = mixture.shape, mixture.scorer
    bars = scorer.evidence(block, n_jobs)
    folded = mixture.fold(block, n_jobs)
    gates = shape.n_gate_units

    def by_expert(units: NDArray[np.float64]) -> NDArray[np.float64]:
        """Class by class in memory, expert by expert in the answer."""
        found = units.reshape(*units.shape[:-1], shape.n_classes, shape.n_experts)
        return np.swapaxes(found, -1, -2)

    baseline = np.tile(scorer.log_prior, (block.n_rows, 1))
    return MixtureEvidence(
        baseline[:, :gates],
        bars[:, :, :gates],
        by_expert(baseline[:, gates:]),
        by_expert(bars[:, :, gates:]),
        np.exp(folded.trust),
        folded.classes,
        shape.layers,
        block.schema.names,
        classes,
    )
