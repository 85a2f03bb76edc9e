"""ANSWERING: how a fitted model predicts, as plain data that nests."""

from unnaive.answer.answer import Answer
from unnaive.answer.decision import Decision
from unnaive.answer.edits import edit, edits_of, flatten, make_monotone, undo
from unnaive.answer.evidence import Evidence
from unnaive.answer.forest import Forest
from unnaive.answer.mixture import GatedMixture
from unnaive.answer.nodes import (
    Ensemble,
    EvidenceTable,
    ExternalEstimator,
    GroupedClasses,
    NaiveBayesStack,
)
from unnaive.answer.scorecard import Scorecard, scorecard
from unnaive.answer.trees import ClassTree, NaiveBayesTree

__all__ = [
    "Answer",
    "ClassTree",
    "Decision",
    "Ensemble",
    "Evidence",
    "EvidenceTable",
    "ExternalEstimator",
    "Forest",
    "GatedMixture",
    "GroupedClasses",
    "NaiveBayesStack",
    "NaiveBayesTree",
    "Scorecard",
    "edit",
    "edits_of",
    "flatten",
    "make_monotone",
    "scorecard",
    "undo",
]
