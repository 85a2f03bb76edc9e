"""EXPLAINING: why models answer as they do; facts first (numbers), then displays."""

from unnaive.bayes.metrics import ScoreCurve
from unnaive.explain.classes import (
    Discrimination,
    GroupProfile,
    discriminate,
    distinguishing_values,
    profiles_of,
)
from unnaive.explain.displays import (
    EvidenceDisplay,
    ExplanationDisplay,
    GroupsDisplay,
    NomogramDisplay,
    PairDisplay,
    TreeDisplay,
)
from unnaive.explain.importance import Importance, importance_of
from unnaive.explain.model import AttributeEvidence, PairEvidence, PartEvidence, evidence_of
from unnaive.explain.quality import Calibration, Quality, quality_of
from unnaive.explain.rows import (
    Explanation,
    Reasons,
    Waterfall,
    WhatIf,
    explain_rows,
    waterfall_of,
    what_if,
)
from unnaive.explain.trees import TreeNode, tree_of

__all__ = [
    "AttributeEvidence",
    "Calibration",
    "Discrimination",
    "EvidenceDisplay",
    "Explanation",
    "ExplanationDisplay",
    "GroupProfile",
    "GroupsDisplay",
    "Importance",
    "NomogramDisplay",
    "PairDisplay",
    "PairEvidence",
    "PartEvidence",
    "Quality",
    "Reasons",
    "ScoreCurve",
    "TreeDisplay",
    "TreeNode",
    "Waterfall",
    "WhatIf",
    "discriminate",
    "distinguishing_values",
    "evidence_of",
    "explain_rows",
    "importance_of",
    "profiles_of",
    "quality_of",
    "tree_of",
    "waterfall_of",
    "what_if",
]
