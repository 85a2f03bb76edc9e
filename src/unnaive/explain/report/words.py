"""Sentences of a report: what the model is, how its panels are read, how to cite it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from functools import singledispatch
from typing import Any

from unnaive.answer import Answer, ClassTree, EvidenceTable, Folded, Foreign, GatedMixture, Vote
from unnaive.answer.tree import Tree
from unnaive.common.wording import counted, shortened
from unnaive.explain.evidence import label_names
from unnaive.pack.release import release
from unnaive.table.columns import as_objects

LONG = 32  # letters of a class in the title
SECTIONS = {
    "quality": "How good is it?",
    "importance": "What matters?",
    "tree": "The tree",
    "evidence": "What speaks for which class?",
    "try": "What if?",
    "compare": "How do classes differ?",
    "notes": "Notes on the data",
    "cite": "How to cite",
}


def title_of(names: Sequence[str], y: Any) -> str:
    """What the model tells apart."""
    target = getattr(y, "name", None)
    short = [shortened(name, LONG) for name in names[:3]]
    what = " or ".join(short) if len(names) <= 3 else f"{len(names)} classes"
    return f"{target}: {what}" if isinstance(target, str) and target else what


def model_words(answer: Answer) -> str:
    """What the model is, in a sentence or two."""
    n, columns = len(answer.classes), counted(len(answer.schema), "attribute")
    does = f"Tells {n} classes apart by" if n > 1 else "Knows one class, by"
    return f"{does} {columns}. {describe(answer.root)}"


@singledispatch
def describe(node: Any) -> str:
    """What a node is, in a sentence."""
    return f"Answers are those of a {type(node).__name__}."


@describe.register
def _(node: EvidenceTable) -> str:
    if node.rounds is not None:
        return "Boosted naive Bayes: the evidence of all rounds is added up."
    return "Every attribute adds its evidence to that of the others."


@describe.register
def _(node: Vote) -> str:
    members = counted(node.weights.size, node.member)
    joins = "average their probabilities" if node.cast == "probabilities" else "vote"
    return f"{members} of naive Bayes that {joins}."


@describe.register
def _(node: GatedMixture) -> str:
    layers = "-".join(map(str, node.shape.layers))
    experts = counted(node.shape.n_experts, "expert")
    return f"Gates share every row among {experts} (layers: {layers})."


@describe.register
def _(node: Tree) -> str:
    what = "the shares of its classes" if isinstance(node, ClassTree) else "a naive Bayes"
    if node.n_leaves == 1:
        return f"A tree that is a single leaf, with {what}."
    levels = counted(int(node.depth.max()), "level")
    return f"A tree of {node.n_leaves:,} leaves, each with {what}, {levels} deep."


@describe.register
def _(node: Folded) -> str:
    clusters = counted(len(node.owner), "cluster")
    return f"Classes are learned as {clusters}, which are told apart so: {describe(node.inner)}"


@describe.register
def _(node: Foreign) -> str:
    return f"Answers are those of a {type(node.estimator).__name__} of another library."


def tree_words(tree: Tree) -> str:
    classes = isinstance(tree, ClassTree)
    what = "the class shares of its leaf" if classes else "the naive Bayes of its leaf"
    stops = "is shared among all children" if classes else "is answered by the node itself"
    return (
        f"Every row follows the tests from left to right and is answered by {what}. "
        f"A row whose value is missing or new {stops}. Lines are as wide as many rows take them; "
        "the row of the what-if panel takes those marked."
    )


def try_words(answer: Answer) -> str:
    tree = answer.tree
    where = "" if tree is None else " of the leaf where the row stops"
    if answer.root.ADDS_UP:
        return (
            f"Set the values of a row. Each line is the axis of one attribute{where}: marks are "
            "its values, to the right if they speak for the class explained, to the left if "
            "against it, and the dot is the value set. All evidence adds up to the log odds."
        )
    asks = isinstance(tree, ClassTree)
    why = "a tree asks one value after another" if asks else "the parts of this model vote"
    return (
        "Set the values of a row. Each line is the axis of one attribute: marks show by how much "
        "each of its values would move the log odds, compared with its being missing, while all "
        f"others stay. These moves do not add up, for {why}."
    )


@singledispatch
def members_words(node: Any) -> str:  # noqa: ARG001
    """What the small bars beside the answer are."""
    return ""


@members_words.register
def _(node: Vote) -> str:
    if node.join == "softmax":
        return f"The class that each {node.member} votes for, and its weight."
    return f"What each {node.member} adds to the probabilities."


@members_words.register
def _(node: GatedMixture) -> str:  # noqa: ARG001
    return "Responsibility of each expert for the row, and the class it predicts."


@members_words.register
def _(node: Folded) -> str:  # noqa: ARG001
    return "Probability of each cluster."


def members(answer: Answer) -> list[str]:
    """Names of the parts whose votes or shares make the answer."""
    node = answer.root
    if isinstance(node, Folded):
        return list(label_names(as_objects(node.pairs(answer.classes))))
    if isinstance(node, Vote):
        return [f"{node.member} {k}" for k in range(node.weights.size)]
    if isinstance(node, GatedMixture):
        return [f"expert {e}" for e in range(node.shape.n_experts)]
    return []


def foreign_words(answer: Answer) -> str:
    inside = type(getattr(answer.core, "estimator", answer.core)).__name__
    return (
        f"This model is built around a {inside} of another library, whose inside this page does "
        "not know: there is nothing to try, and no evidence to show. The figures above were "
        "computed by the model itself."
    )


def citation(model: Any) -> dict[str, str]:
    """How to cite the software and the papers behind the model and those inside it."""
    entries = [f"unnaive, version {release()}. Python package, BSD-3-Clause."]
    while model is not None:
        entries += [ref for ref in references(type(model)) if ref not in entries]
        model = getattr(model, "best_estimator_", getattr(model, "estimator_", None))
    papers = len(entries) - 1
    words = "If this report helps your work, please cite the software"
    if papers:
        words += " and the paper" + ("s" if papers > 1 else "") + " that the model comes from"
    return {"words": f"{words}.", "text": "\n".join(entries)}


def references(cls: type) -> list[str]:
    """The entries under References in a class's docstring."""
    doc = inspect.getdoc(cls) or ""
    _, _, rest = doc.partition("References\n----------\n")
    section = re.split(r"\n[A-Z][a-z ]+\n---", rest)[0]
    entries: list[str] = []
    for text in filter(None, map(str.strip, section.splitlines())):
        # An entry begins with an author's initial; its other lines follow it.
        if not entries or (len(text) > 2 and text[0].isupper() and text[1] == "."):
            entries.append(text)
        else:
            entries[-1] += f" {text}"
    return entries
