"""Sentences of a report: what the model is, and how to read its panels."""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch
from typing import Any

import numpy as np

from unnaive.answer import (
    Answer,
    ClassTree,
    Ensemble,
    EvidenceTable,
    ExternalEstimator,
    Forest,
    GatedMixture,
    GroupedClasses,
    Scorecard,
)
from unnaive.answer.trees import NaiveBayesTree, Tree
from unnaive.common.wording import counted, shortened
from unnaive.explain.model import label_names
from unnaive.table.columns import as_objects

LONG = 32  # letters of a class in the title
SECTIONS = {
    "quality": "How good is it?",
    "importance": "Which attributes matter?",
    "tree": "The tree",
    "evidence": "Evidence for each class",
    "try": "What if?",
    "compare": "How do classes differ?",
    "scorecard": "Scorecard",
    "notes": "Notes on the data",
    "parameters": "Parameters of the model",
}


def scorecard_words(card: Scorecard) -> str:
    """Return how to read a scorecard."""
    label = shortened(str(card.label), LONG)
    return (
        f"Add the points of a row's values to the base of {card.base}: more points make {label} "
        f"more probable than {shortened(str(card.against), LONG)}. 20 points double the odds, "
        f"{card.even:.0f} points are even odds. Rounding to whole points moves a sum by at most "
        f"{card.rounding:.1f} points."
    )


def title_of(names: Sequence[str], y: Any, known: str | None) -> str:
    """Return the target, by the name that y has or that is known from training, and its classes."""
    target = getattr(y, "name", None) or known
    short = [shortened(name, LONG) for name in names[:3]]
    what = f"{len(names)} classes"
    if len(names) <= 3:
        what = " or ".join(filter(None, (", ".join(short[:-1]), short[-1])))
    return f"{target}: {what}" if isinstance(target, str) and target else what


def model_words(answer: Answer, reason: str = "") -> str:
    """Return what the model is, in a sentence or two, and why it was chosen, if known."""
    n, columns = len(answer.classes), counted(len(answer.schema), "attribute")
    classes = f"Predicts {n} classes" if n > 1 else "Knows one class,"
    edits = f" It has {counted(len(answer.edits), 'correction')} by hand." if answer.edits else ""
    chosen = f" Chosen among others: {reason}" if reason else ""
    return f"{classes} from {columns}. {describe(answer.root)}{edits}{chosen}"


@singledispatch
def describe(node: Any) -> str:
    """Return what a node is, in a sentence."""
    return f"Predictions come from a {type(node).__name__}."


@describe.register
def _(node: EvidenceTable) -> str:
    if node.scorer.pairs:
        pairs = counted(len(node.scorer.pairs), "pair")
        return f"The evidence of all attributes, and of {pairs} of attributes, adds up."
    scaled = _calibrated_words("It is", node)
    if node.boosted:
        return f"Learned by boosting: the evidence of all rounds and attributes adds up.{scaled}"
    return f"Naive Bayes: the evidence of all attributes adds up.{scaled}"


def _calibrated_words(what: str, node: EvidenceTable | NaiveBayesTree) -> str:
    if not node.is_calibrated:
        return ""
    if node.columns is None:
        return f" {what} calibrated by the factor {node.slope:.2g}."
    low, high = node.columns.min(initial=np.inf), node.columns.max(initial=0.0)
    return f" {what} calibrated by a factor for each attribute, from {low:.2g} to {high:.2g}."


@describe.register
def _(node: GatedMixture) -> str:
    layers = "-".join(map(str, node.shape.layers))
    experts = counted(node.shape.n_experts, "expert")
    return f"A mixture of naive Bayes: gates divide every row among {experts} (layers: {layers})."


@describe.register
def _(node: Tree) -> str:
    what = "class shares" if isinstance(node, ClassTree) else "a naive Bayes"
    leaves = counted(node.n_leaves, "leaf", "leaves")
    each = ", each" if node.n_leaves > 1 else ""
    scaled = _calibrated_words("Its evidence is", node) if isinstance(node, NaiveBayesTree) else ""
    return f"A tree of {leaves}{each} with {what}; depth {int(node.depth.max())}.{scaled}"


@describe.register
def _(node: Ensemble) -> str:
    probable = node.member_output == "probability"
    if node.stack is not None:
        does = "average their probabilities" if probable else "vote"
        return f"An ensemble of naive Bayes: {_count_members(node)} that {does}."
    if len(node.members) == 1:
        return f"{describe(node.members[0])} Its probabilities are calibrated."
    what = "log probabilities" if node.member_output == "log_probability" else "probabilities"
    named = ", ".join(f"{n} {w:.2f}" for n, w in zip(node.names, node.shares, strict=True))
    members = counted(len(node.members), "model")
    return f"A pool of {members}, whose {what} add up by weight ({named})."


def _count_members(node: Ensemble) -> str:
    return counted(len(node.names), node.names[0].split()[0])


@describe.register
def _(node: Forest) -> str:
    trees, leaves = counted(node.n_trees, "tree"), int((node.attribute < 0).sum())
    return f"A random forest: the mean of {trees} with {counted(leaves, 'leaf', 'leaves')}."


@describe.register
def _(node: GroupedClasses) -> str:
    clusters = counted(len(node.class_index), "cluster")
    return f"Classes are split into {clusters}, which are then predicted. {describe(node.inner)}"


@describe.register
def _(node: ExternalEstimator) -> str:
    return f"Predictions come from a {type(node.estimator).__name__} of another library."


def tree_words(tree: Tree) -> str:
    classes = isinstance(tree, ClassTree)
    what = "the class shares of its leaf" if classes else "the naive Bayes of its leaf"
    stops = "goes to all children by their shares of rows" if classes else "stays at the node"
    return (
        f"Every row follows the tests from left to right and is predicted by {what}. "
        f"A row whose value is missing or new {stops}. Lines are wider where more training rows "
        "pass; the path of the what-if row is marked."
    )


def try_words(answer: Answer) -> str:
    tree = answer.tree
    where = "" if tree is None else " of the leaf where the row stops"
    if answer.root.is_additive and not answer.pairs:
        return (
            f"Set the values of a row. Each line is the axis of one attribute{where}: marks are "
            "its values, to the right with evidence for the class explained, to the left against "
            "it, and the dot is the value set. All evidence adds up to the log odds."
        )
    why = "the parts of this model vote"
    if answer.find(GroupedClasses) is not None:
        why = "the probabilities of clusters are summed"
    elif isinstance(tree, ClassTree) or isinstance(answer.core, Forest):
        why = "a tree tests one value after another"
    elif isinstance(answer.core, Ensemble) and answer.core.stack is None:
        why = "several models are pooled"
    elif answer.pairs:
        why = "pairs of attributes have evidence of their own"
    return (
        "Set the values of a row. Each line is the axis of one attribute: marks show the change in "
        "log odds by each of its values, compared with a missing one, while all others stay. "
        f"These changes do not add up, because {why}."
    )


def members(answer: Answer) -> tuple[str, list[str]]:
    """Return the heading and names of the small bars beside the prediction: votes or shares."""
    title, names, node = "", [], answer.core
    for node in answer.walk():
        if not isinstance(node, Ensemble) or node.stack is not None or len(node.names) > 1:
            break  # anything outside calibrates
    if isinstance(node, GroupedClasses):
        title = "Probability of each cluster"
        names = list(label_names(as_objects(node.pairs(answer.classes))))
    elif isinstance(node, GatedMixture):
        title = "Responsibility of each expert for the row, and its prediction"
        names = [f"expert {e}" for e in range(node.shape.n_experts)]
    elif isinstance(node, Ensemble) and node.stack is not None:
        names, member = list(node.names), node.names[0].split()[0]
        votes = f"Vote of each {member}: its class and weight"
        shares = f"Share of each {member} in the probabilities"
        title = votes if node.combine == "softmax" else shares
    return f"{title} (before calibration)" if title and node is not answer.root else title, names


def foreign_words(answer: Answer) -> str:
    inside = type(getattr(answer.core, "estimator", answer.core)).__name__
    return (
        f"This model is built around a {inside} of another library, which has no evidence to show "
        "and cannot be computed on this page. The figures above were computed by the model itself."
    )
