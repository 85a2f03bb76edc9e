"""EXPLAINING: why models answer as they do; facts first (numbers), then displays."""

from unnaive.bayes.curves import ScoreCurve
from unnaive.explain.attributes import AttributeEvidence
from unnaive.explain.contrast import Discrimination, Waterfall, discriminate, waterfall_of
from unnaive.explain.displays import (
    DecompositionDisplay,
    EvidenceDisplay,
    ExplanationDisplay,
    MixtureDisplay,
    NomogramDisplay,
    PairDisplay,
    TreeDisplay,
)
from unnaive.explain.evidence import PartEvidence, evidence_of
from unnaive.explain.groups import GroupProfile, Remark, distinguishing_values, profiles_of
from unnaive.explain.importance import Importance, importance_of
from unnaive.explain.pairs import PairEvidence
from unnaive.explain.parts import ActivePart, Combiner, Part, Reading
from unnaive.explain.quality import Calibration, Quality, quality_of
from unnaive.explain.readings import read_model
from unnaive.explain.reasons import Reasons
from unnaive.explain.rows import Explanation, Piece, explain_rows
from unnaive.explain.tree import Step, TreeNode, tree_of
from unnaive.explain.whatif import Variation, WhatIf, vary, what_if

__all__ = [
    "ActivePart",
    "AttributeEvidence",
    "Calibration",
    "Combiner",
    "DecompositionDisplay",
    "Discrimination",
    "EvidenceDisplay",
    "Explanation",
    "ExplanationDisplay",
    "GroupProfile",
    "Importance",
    "MixtureDisplay",
    "NomogramDisplay",
    "PairDisplay",
    "PairEvidence",
    "Part",
    "PartEvidence",
    "Piece",
    "Quality",
    "Reading",
    "Reasons",
    "Remark",
    "ScoreCurve",
    "Step",
    "TreeDisplay",
    "TreeNode",
    "Variation",
    "Waterfall",
    "WhatIf",
    "discriminate",
    "distinguishing_values",
    "evidence_of",
    "explain_rows",
    "importance_of",
    "profiles_of",
    "quality_of",
    "read_model",
    "tree_of",
    "vary",
    "waterfall_of",
    "what_if",
]
