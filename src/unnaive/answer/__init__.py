"""ANSWERING: how a fitted model predicts, as plain data that nests."""

from unnaive.answer.answer import Answer
from unnaive.answer.class_forest import ClassForest
from unnaive.answer.class_tree import ClassTree
from unnaive.answer.decision import Decision
from unnaive.answer.evidence import Evidence
from unnaive.answer.evidence_table import EvidenceTable
from unnaive.answer.kernel_tree import KernelTree
from unnaive.answer.nodes import Calibrated, Folded, Foreign, GatedMixture, Pool, Vote
from unnaive.answer.scorecard import Scorecard, scorecard
from unnaive.answer.tree import BayesTree

__all__ = [
    "Answer",
    "BayesTree",
    "Calibrated",
    "ClassForest",
    "ClassTree",
    "Decision",
    "Evidence",
    "EvidenceTable",
    "Folded",
    "Foreign",
    "GatedMixture",
    "KernelTree",
    "Pool",
    "Scorecard",
    "Vote",
    "scorecard",
]
