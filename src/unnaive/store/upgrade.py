"""Model files of format 1 (release 0.1.0.dev0), in which every model kept its own pieces.

Format 2 keeps one answer instead. Nodes are plain data here, before anything is checked.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from unnaive.pack import PackError
from unnaive.pack.objects import NAME

Node = dict[str, Any]


def upgrade(estimator: Any) -> Any:
    """An estimator of format 1, with those inside it, as one of format 2."""
    if not isinstance(estimator, dict) or not isinstance(estimator.get("learned"), dict):
        return estimator
    learned: Node = {name: _inside(value) for name, value in estimator["learned"].items()}
    make = _ANSWERS.get(str(estimator.get(NAME)))
    if make is not None:
        try:
            learned = make(learned, estimator.get("parameters", {}))
        except (KeyError, TypeError, AttributeError) as error:
            raise PackError(f"the model lacks {error}, which files of format 1 have.") from error
    return {**estimator, "learned": learned}


def _inside(value: Any) -> Any:
    """Estimators that a meta-estimator has learned."""
    if isinstance(value, list):
        return [_inside(item) for item in value]
    return upgrade(value)


def _answer(learned: Node, root: Node, *gone: str, classes: Any = None) -> Node:
    """What was learned, with pieces of the answer put into it."""
    answer = {
        NAME: "Answer",
        "schema": learned["schema_"],
        "classes": learned["classes_"] if classes is None else classes,
        "root": root,
    }
    kept = {name: value for name, value in learned.items() if name not in gone}
    return {**kept, "answer_": answer}


def _table(learned: Node, rounds: float | None = None) -> Node:
    counts = learned.get("counts_")
    table = {NAME: "EvidenceTable", "scorer": learned["scorer_"], "counts": counts}
    return {**table, "rounds": rounds}


def _naive_bayes(learned: Node, _: Node) -> Node:
    return _answer(learned, _table(learned), "scorer_", "counts_", "class_log_prior_")


def _clusterer(learned: Node, _: Node) -> Node:
    clusters = np.arange(int(learned["n_clusters_"]))
    return _answer(learned, _table(learned), "scorer_", classes=clusters)


def _tree(learned: Node, _: Node) -> Node:
    return _answer(learned, learned["tree_"], "tree_")


def _mixture(learned: Node, _: Node) -> Node:
    mixture = {**learned["mixture_"], NAME: "GatedMixture", "counts": learned["table_"]}
    return _answer(learned, mixture, "mixture_", "table_")


def _boosted(learned: Node, _: Node) -> Node:
    votes, algorithm = learned["estimator_weights_"], learned["algorithm_"]
    if algorithm == "real":
        return _answer(learned, _table(learned, float(votes.sum())), "scorer_", "counts_")
    share = max(len(learned["classes_"]) - 1, 1) if algorithm == "samme" else 1
    return _vote(learned, votes / share, "winner", "softmax", "round")


def _bagged(learned: Node, parameters: Node) -> Node:
    cast = "winner" if parameters.get("voting") == "hard" else "probabilities"
    return _vote(learned, np.ones(learned["bag_weights_"].size), cast, "mean", "bag")


def _vote(learned: Node, weights: Any, cast: str, join: str, member: str) -> Node:
    vote = {NAME: "Vote", "weights": weights, "cast": cast, "join": join, "member": member}
    root = {**vote, "scorer": learned["scorer_"], "counts": learned["counts_"]}
    return _answer(learned, root, "scorer_", "counts_")


def _decomposition(learned: Node, parameters: Node) -> Node:
    return {**learned, "fold_": parameters.get("fold", "sum")}


_ANSWERS = {
    "NaiveBayesClassifier": _naive_bayes,
    "LatentClassClusterer": _clusterer,
    "C45Classifier": _tree,
    "NBTreeClassifier": _tree,
    "FlexibleNBTreeClassifier": _tree,
    "HierarchicalMixtureClassifier": _mixture,
    "BoostedNaiveBayesClassifier": _boosted,
    "BaggedNaiveBayesClassifier": _bagged,
    "ClassDecompositionClassifier": _decomposition,
}
