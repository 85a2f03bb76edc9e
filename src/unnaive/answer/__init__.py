"""ANSWERING: how a fitted model predicts, as plain data that nests."""

from unnaive.answer.answer import Answer
from unnaive.answer.decision import Decision
from unnaive.answer.evidence import Evidence
from unnaive.answer.forest import ClassForest
from unnaive.answer.mixture import GatedMixture
from unnaive.answer.nodes import Calibrated, EvidenceTable, Folded, Foreign, Pool, Vote
from unnaive.answer.scorecard import Scorecard, scorecard
from unnaive.answer.trees import BayesTree, ClassTree, KernelTree

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
