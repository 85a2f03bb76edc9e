"""INK: the facts as matplotlib figures, in the habit of scikit-learn's displays."""

from unnaive.explain.displays.evidence import EvidenceDisplay
from unnaive.explain.displays.explanation import ExplanationDisplay
from unnaive.explain.displays.hierarchy import DecompositionDisplay, MixtureDisplay, TreeDisplay
from unnaive.explain.displays.nomogram import NomogramDisplay

__all__ = [
    "DecompositionDisplay",
    "EvidenceDisplay",
    "ExplanationDisplay",
    "MixtureDisplay",
    "NomogramDisplay",
    "TreeDisplay",
]
