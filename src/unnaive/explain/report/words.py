"""Sentences of a report: what the model is, how its panels are read, how to cite it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from typing import Any

from unnaive.common.wording import counted, shortened
from unnaive.models import (
    BaggedNaiveBayesClassifier,
    BoostedNaiveBayesClassifier,
    ClassDecompositionClassifier,
    HierarchicalMixtureClassifier,
)
from unnaive.models.tree.class_tree import ClassTree
from unnaive.models.tree.tree import Tree
from unnaive.pack.release import release

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


def model_words(model: Any, names: Sequence[str]) -> str:
    """What the model is, in a sentence or two."""
    columns = counted(model.n_features_in_, "attribute")
    does = f"Tells {len(names)} classes apart by" if len(names) > 1 else "Knows one class, by"
    return f"{does} {columns}. {_inside(model)}"


def _inside(model: Any) -> str:
    tree = getattr(model, "tree_", None)
    if isinstance(tree, Tree):
        what = "the shares of its classes" if isinstance(tree, ClassTree) else "a naive Bayes"
        if tree.n_leaves == 1:
            return f"A tree that is a single leaf, with {what}."
        levels = counted(int(tree.depth.max()), "level")
        return f"A tree of {tree.n_leaves:,} leaves, each with {what}, {levels} deep."
    if isinstance(model, ClassDecompositionClassifier):
        inner = type(model.estimator_).__name__
        clusters = counted(len(model.owner_), "cluster")
        return f"Classes are learned as {clusters} by a {inner}."
    if isinstance(model, HierarchicalMixtureClassifier):
        layers = "-".join(map(str, model.layers_))
        experts = counted(model.mixture_.shape.n_experts, "expert")
        return f"Gates share every row among {experts} ({layers})."
    if isinstance(model, BoostedNaiveBayesClassifier):
        rounds = counted(len(model.estimator_weights_), "round")
        joined = "add up" if model.algorithm_ == "real" else "vote"
        return f"Boosted naive Bayes: {rounds} that {joined}."
    if isinstance(model, BaggedNaiveBayesClassifier):
        joined = "average their probabilities" if model.voting == "soft" else "vote"
        bags = counted(len(model.bag_weights_), "bag")
        return f"{bags} of naive Bayes that {joined}."
    return "Every attribute adds its evidence to that of the others."


def tree_words(tree: Tree) -> str:
    what = "shares of the classes" if isinstance(tree, ClassTree) else "naive Bayes of its own"
    stops = (
        "is shared among all children"
        if isinstance(tree, ClassTree)
        else "is answered by the node itself"
    )
    return (
        f"Every row follows the tests from left to right and is answered by the leaf's {what}. "
        f"A row whose value is missing or new {stops}. Lines are as wide as many rows take them; "
        "the row of the what-if panel takes those marked."
    )


def try_words(model: Any, additive: bool) -> str:
    where = " of the leaf where the row stops" if getattr(model, "tree_", None) is not None else ""
    if additive:
        return (
            f"Set the values of a row. Each line is the axis of one attribute{where}: marks are "
            "its values, to the right if they speak for the class explained, to the left if "
            "against it, and the dot is the value set. All evidence adds up to the log odds."
        )
    asks = isinstance(getattr(model, "tree_", None), ClassTree)
    why = "a tree asks one value after another" if asks else "the parts of this model vote"
    return (
        "Set the values of a row. Each line is the axis of one attribute: marks show by how much "
        "each of its values would move the log odds, compared with its being missing, while all "
        f"others stay. These moves do not add up, for {why}."
    )


def members_words(model: Any) -> str:
    """What the small bars beside the answer are."""
    if isinstance(model, HierarchicalMixtureClassifier):
        return "How much each expert is trusted with the row, and for which class."
    if isinstance(model, ClassDecompositionClassifier):
        return "Probability of each cluster."
    if isinstance(model, BoostedNaiveBayesClassifier):
        return "The class that each round votes for, and its weight."
    return "What each bag adds to the probabilities."


def foreign_words(model: Any) -> str:
    return (
        f"This model is built around a {type(model.estimator_).__name__} of another library, whose "
        "inside this page does not know: there is nothing to try, and no evidence to show. The "
        "figures above were computed by the model itself."
    )


def citation(model: Any) -> dict[str, str]:
    """How to cite the software and the papers behind the model."""
    found = [f"unnaive, version {release()}. Python package, BSD-3-Clause."]
    while True:
        found += [ref for ref in references(type(model)) if ref not in found]
        if not isinstance(model, ClassDecompositionClassifier):
            break
        model = model.estimator_
    papers = len(found) - 1
    words = "If this report helps your work, please cite the software"
    if papers:
        words += " and the paper" + ("s" if papers > 1 else "") + " that the model comes from"
    return {"words": f"{words}.", "text": "\n".join(found)}


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
