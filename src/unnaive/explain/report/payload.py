"""A fitted model as plain data, enough to compute `predict_proba` outside Python.

``scorer.js`` is the other half: it reads exactly what is written here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from unnaive.bayes import GaussianTerm, KernelTerm, Scorer, TableTerm, Term
from unnaive.encode import Bins, Categories
from unnaive.explain.report.arrays import pack
from unnaive.models import (
    BaggedNaiveBayesClassifier,
    BoostedNaiveBayesClassifier,
    ClassDecompositionClassifier,
    HierarchicalMixtureClassifier,
    NaiveBayesClassifier,
)
from unnaive.models.tree.class_tree import ClassTree
from unnaive.models.tree.kernel_tree import KernelTree
from unnaive.models.tree.tree import BayesTree, Tree

Machine: TypeAlias = dict[str, Any]
Coders: TypeAlias = Sequence[Bins | Categories | None]


def machine_of(model: Any) -> Machine | None:
    """What computes the probabilities of a fitted classifier; None for those of other libraries."""
    if isinstance(model, NaiveBayesClassifier):
        return _bayes(model.scorer_)
    if isinstance(model, BoostedNaiveBayesClassifier):
        if model.algorithm_ == "real":
            return _bayes(model.scorer_)
        share = len(model.classes_) - 1 if model.algorithm_ == "samme" else 1
        votes = model.estimator_weights_ / max(share, 1)
        return {"kind": "rounds", "votes": pack(votes), "scorer": _scorer(model.scorer_)}
    if isinstance(model, BaggedNaiveBayesClassifier):
        return {
            "kind": "bags",
            "bags": len(model.bag_weights_),
            "soft": model.voting == "soft",
            "scorer": _scorer(model.scorer_),
        }
    if isinstance(model, HierarchicalMixtureClassifier):
        shape = model.mixture_.shape
        return {
            "kind": "mixture",
            "first": shape.first.tolist(),
            "width": shape.width.tolist(),
            "experts": shape.n_experts,
            "scorer": _scorer(model.mixture_.scorer),
        }
    if isinstance(model, ClassDecompositionClassifier):
        inner = machine_of(model.estimator_)
        if inner is None:
            return None
        # The estimator has the pairs for classes, numbered from 0, none of them absent.
        return {"kind": "pairs", "owner": model.owner_.tolist(), "fold": model.fold, "of": inner}
    tree = getattr(model, "tree_", None)
    if isinstance(tree, BayesTree):
        return _bayes_tree(tree)
    return _class_tree(tree) if isinstance(tree, ClassTree) else None


def coders_of(model: Any) -> Coders | None:
    """How a model's columns are numbered; None for models of other libraries."""
    if isinstance(model, ClassDecompositionClassifier):
        return coders_of(model.estimator_)
    tree = getattr(model, "tree_", None)
    if isinstance(tree, Tree):
        return tree.coders
    scorer = model.mixture_.scorer if isinstance(model, HierarchicalMixtureClassifier) else None
    scorer = getattr(model, "scorer_", scorer)
    if not isinstance(scorer, Scorer):
        return None
    return [term.coder if isinstance(term, TableTerm) else None for term in scorer.terms]


def _bayes(scorer: Scorer) -> Machine:
    return {"kind": "bayes", "scorer": _scorer(scorer)}


def _scorer(scorer: Scorer) -> Machine:
    """Terms as they are; their classes may be those of several models, end to end."""
    return {"prior": pack(scorer.log_prior), "terms": [_term(term) for term in scorer.terms]}


def _term(term: Term) -> Machine | None:
    if isinstance(term, TableTerm):
        return {"kind": "table", "logs": pack(term.logs)}
    if isinstance(term, GaussianTerm):
        return {
            "kind": "gaussian",
            "peak": pack(term.log_weight - 0.5 * np.log(2.0 * np.pi * term.variance)),
            "mean": pack(term.mean),
            "deviation": pack(np.sqrt(term.variance)),
            "missing": pack(term.missing),
        }
    if isinstance(term, KernelTerm):
        own = term.densities
        return {
            "kind": "kernel",
            "low": own.scale.low,
            "half_range": own.scale.half_range,
            "start": pack(own.start),
            "per_step": pack(own.per_step),
            "first": pack(own.first),
            "last": pack(own.last),
            "logs": pack(own.logs),
            "there": pack(term.log_weight),
            "missing": pack(term.missing),
        }
    return None


def _routing(tree: Tree) -> Machine:
    """What leads a row; see `Tree`."""
    names = ("attribute", "parent", "child_start", "child", "route_start", "route", "offsets")
    return {name: pack(getattr(tree, name)) for name in names}


def _bayes_tree(tree: BayesTree) -> Machine:
    found: Machine = {
        "kind": "bayes_tree",
        "tree": _routing(tree),
        "prior": pack(tree.log_prior),
        "place": pack(tree.place),
        "logs": pack(tree.logs),
    }
    if isinstance(tree, KernelTree):
        found["scales"] = [
            None if scale is None else [scale.low, scale.half_range] for scale in tree.scales
        ]
        names = ("start", "per_step", "first", "last", "densities")
        found |= {name: pack(getattr(tree, name)) for name in names}
    return found


def _class_tree(tree: ClassTree) -> Machine:
    return {
        "kind": "class_tree",
        "tree": _routing(tree),
        "share": pack(tree.share),
        "answer": pack(tree.answer),
    }
