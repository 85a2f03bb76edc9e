"""matplotlib displays of explanations, in the manner of scikit-learn's displays."""

from unnaive.explain.displays.evidence import EvidenceDisplay, PairDisplay
from unnaive.explain.displays.explanation import ExplanationDisplay
from unnaive.explain.displays.nomogram import NomogramDisplay
from unnaive.explain.displays.outline import GroupsDisplay, TreeDisplay

__all__ = [
    "EvidenceDisplay",
    "ExplanationDisplay",
    "GroupsDisplay",
    "NomogramDisplay",
    "PairDisplay",
    "TreeDisplay",
]
