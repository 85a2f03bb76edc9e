"""Naive Bayes that is not naive: fast, exact, readable classifiers for tables."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unnaive.answer import (
        edit,
        edits_of,
        flatten,
        make_monotone,
        scorecard,
        undo,
    )
    from unnaive.choose import AutoClassifier, Comparison, PooledClassifier, compare
    from unnaive.common.advice import UnnaiveWarning
    from unnaive.density import bayes_measure
    from unnaive.discretize import Discretizer
    from unnaive.estimator import RowProgress
    from unnaive.explain import (
        EvidenceDisplay,
        ExplanationDisplay,
        GroupsDisplay,
        NomogramDisplay,
        PairDisplay,
        TreeDisplay,
        discriminate,
        evidence_of,
        explain_rows,
        importance_of,
        quality_of,
        what_if,
    )
    from unnaive.explain.report import report
    from unnaive.explain.trees import export_text
    from unnaive.living import DriftDisplay, Timeline, drift
    from unnaive.models import (
        BaggedNaiveBayesClassifier,
        BoostedNaiveBayesClassifier,
        C45Classifier,
        ClassDecompositionClassifier,
        FlexibleNBTreeClassifier,
        HierarchicalMixtureClassifier,
        LatentClassClusterer,
        NaiveBayesClassifier,
        NBTreeClassifier,
        RandomForestClassifier,
        UnnaiveBayesClassifier,
        merge,
        subtract,
    )
    from unnaive.store import load, save, to_sql
    from unnaive.table.scan import scan

__version__ = "0.1.0.dev0"

# Where each name lives. It is imported when it is first asked for, so that the command line
# answers at once and nobody waits for rooms that are not entered.
_LATER = {
    name: f"unnaive.{home}"
    for home, names in {
        "answer": "edit edits_of flatten make_monotone scorecard undo",
        "choose": "AutoClassifier Comparison PooledClassifier compare",
        "common.advice": "UnnaiveWarning",
        "density": "bayes_measure",
        "discretize": "Discretizer",
        "estimator": "RowProgress",
        "explain": (
            "EvidenceDisplay ExplanationDisplay GroupsDisplay "
            "NomogramDisplay PairDisplay TreeDisplay discriminate evidence_of explain_rows "
            "importance_of quality_of what_if"
        ),
        "explain.report": "report",
        "explain.trees": "export_text",
        "living": "DriftDisplay Timeline drift",
        "models": (
            "BaggedNaiveBayesClassifier "
            "BoostedNaiveBayesClassifier C45Classifier ClassDecompositionClassifier "
            "FlexibleNBTreeClassifier HierarchicalMixtureClassifier LatentClassClusterer "
            "NBTreeClassifier NaiveBayesClassifier RandomForestClassifier "
            "UnnaiveBayesClassifier merge subtract"
        ),
        "store": "load save to_sql",
        "table.scan": "scan",
    }.items()
    for name in names.split()
}

__all__ = [
    "AutoClassifier",
    "BaggedNaiveBayesClassifier",
    "BoostedNaiveBayesClassifier",
    "C45Classifier",
    "ClassDecompositionClassifier",
    "Comparison",
    "Discretizer",
    "DriftDisplay",
    "EvidenceDisplay",
    "ExplanationDisplay",
    "FlexibleNBTreeClassifier",
    "GroupsDisplay",
    "HierarchicalMixtureClassifier",
    "LatentClassClusterer",
    "NBTreeClassifier",
    "NaiveBayesClassifier",
    "NomogramDisplay",
    "PairDisplay",
    "PooledClassifier",
    "RandomForestClassifier",
    "RowProgress",
    "Timeline",
    "TreeDisplay",
    "UnnaiveBayesClassifier",
    "UnnaiveWarning",
    "__version__",
    "bayes_measure",
    "compare",
    "discriminate",
    "drift",
    "edit",
    "edits_of",
    "evidence_of",
    "explain_rows",
    "export_text",
    "flatten",
    "importance_of",
    "load",
    "make_monotone",
    "merge",
    "quality_of",
    "report",
    "save",
    "scan",
    "scorecard",
    "subtract",
    "to_sql",
    "undo",
    "what_if",
]
_ROOMS = ("choose", "datasets", "explain", "papers")  # modules with more public names


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"unnaive.{name}")
    if name not in _LATER:
        raise AttributeError(f"module 'unnaive' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_LATER[name]), name)
    return value


def __dir__() -> list[str]:
    return list(__all__)
