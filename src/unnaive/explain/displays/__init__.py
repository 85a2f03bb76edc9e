"""INK: the facts as matplotlib figures, in the habit of scikit-learn's displays."""

from unnaive.explain.displays.evidence import EvidenceDisplay
from unnaive.explain.displays.explanation import ExplanationDisplay
from unnaive.explain.displays.hierarchy import DecompositionDisplay, MixtureDisplay
from unnaive.explain.displays.nomogram import NomogramDisplay
from unnaive.explain.displays.pair import PairDisplay
from unnaive.explain.displays.tree import TreeDisplay

__all__ = [
    "DecompositionDisplay",
    "EvidenceDisplay",
    "ExplanationDisplay",
    "MixtureDisplay",
    "NomogramDisplay",
    "PairDisplay",
    "TreeDisplay",
]
