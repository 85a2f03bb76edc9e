"""ANSWERING: how a fitted model predicts, as plain data that nests."""

from unnaive.answer.answer import Answer
from unnaive.answer.decision import Decision
from unnaive.answer.edits import edit, edits_of, flatten, make_monotone, undo
from unnaive.answer.evidence import Evidence
from unnaive.answer.forest import ClassForest
from unnaive.answer.mixture import GatedMixture
from unnaive.answer.nodes import Ensemble, EvidenceTable, Folded, Foreign, NaiveBayesStack
from unnaive.answer.scorecard import Scorecard, scorecard
from unnaive.answer.trees import ClassTree, NaiveBayesTree

__all__ = [
    "Answer",
    "ClassForest",
    "ClassTree",
    "Decision",
    "Ensemble",
    "Evidence",
    "EvidenceTable",
    "Folded",
    "Foreign",
    "GatedMixture",
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
