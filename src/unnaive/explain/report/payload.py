"""An answer as plain data, from which `predict_proba` can be computed outside Python.

``scorer.js`` is the other half: it reads exactly what is written here.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from functools import singledispatch
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from unnaive.answer import (
    ClassTree,
    Ensemble,
    EvidenceTable,
    Forest,
    GatedMixture,
    GroupedClasses,
    NaiveBayesTree,
)
from unnaive.answer.trees import Tree
from unnaive.bayes import GaussianTerm, KernelTerm, Scorer, TableTerm, Term
from unnaive.bayes.scoring import PairTerm
from unnaive.encode import Bins, Categories
from unnaive.encode.coders import slots_in

Packed: TypeAlias = dict[str, Any]
Payload: TypeAlias = dict[str, Any]
Coders: TypeAlias = Sequence[Bins | Categories | None]


@singledispatch
def scorer_payload(node: Any) -> Payload:
    """Return a node of an answer as data that the page computes probabilities from."""
    raise TypeError(f"a page cannot compute what a {type(node).__name__} answers.")


@singledispatch
def coders_of(node: Any) -> Coders:
    """Return how the columns of a node are numbered."""
    return [term.coder if isinstance(term, TableTerm) else None for term in node.scorer.terms]


@coders_of.register
def _(node: Tree | Forest) -> Coders:
    return node.coders


@coders_of.register
def _(node: GroupedClasses) -> Coders:
    return coders_of(node.inner)


@coders_of.register
def _(node: Ensemble) -> Coders:
    """Return, for each column, the numbering of the member that tells most values apart."""
    by_member = [coders_of(member) for member in node.members]
    return [
        max(several, key=lambda coder: -1 if coder is None else coder.size)
        for several in zip(*by_member, strict=True)
    ]


@scorer_payload.register
def _(node: Ensemble) -> Payload:
    """Return the members, each with its own numbering of columns; or one scorer of all."""
    payload: Payload = {
        "kind": "ensemble",
        "output": node.member_output,
        "combine": node.combine,
        "bounded": node.has_bounded_scores,
        "weights": pack(node.shares),
        "intercept": pack(node.intercept),
    }
    if node.stack is not None:
        return {**payload, "scorer": _scorer(node.stack.scorer)}
    shown = coders_of(node)
    payload["members"] = [scorer_payload(member) for member in node.members]
    payload["columns"] = [
        [_slots(*both) for both in zip(coders_of(member), shown, strict=True)]
        for member in node.members
    ]
    return payload


def _slots(coder: Bins | Categories | None, shown: Bins | Categories | None) -> Payload:
    """Return a numbering: cuts of a number, or a slot for each slot of the page's categories."""
    if isinstance(coder, Bins):
        return {"cuts": pack(coder.cuts)}
    if isinstance(coder, Categories) and isinstance(shown, Categories):
        return {"slots": pack(slots_in(coder, shown))}
    return {}


@scorer_payload.register
def _(node: EvidenceTable) -> Payload:
    return {"kind": "table", "scorer": _scorer(node.scorer)}


@scorer_payload.register
def _(node: GatedMixture) -> Payload:
    return {
        "kind": "mixture",
        "first": node.shape.first.tolist(),
        "width": node.shape.width.tolist(),
        "experts": node.shape.n_experts,
        "scorer": _scorer(node.scorer),
    }


@scorer_payload.register
def _(node: GroupedClasses) -> Payload:
    inner = scorer_payload(node.inner)
    return {
        "kind": "folded",
        "owner": node.class_index.tolist(),
        "method": node.aggregation,
        "inner": inner,
    }


def _scorer(scorer: Scorer) -> Payload:
    """Return a scorer; its classes may be those of several models, end to end."""
    return {
        "prior": pack(scorer.log_prior),
        "terms": [_term(term) for term in scorer.terms],
        "pairs": [_pair(pair, scorer.terms) for pair in scorer.pairs],
    }


def _pair(pair: PairTerm, terms: Sequence[Term]) -> Payload:
    """Return evidence of two columns, whose numbering may be coarser than that of the columns."""
    return {
        "columns": [pair.first, pair.second],
        "slots": [_slots(coder, getattr(terms[j], "coder", None)) for j, coder in pair.columns],
        "width": pair.logs.shape[1],
        "logs": pack(pair.logs.reshape(-1, pair.n_classes)),
    }


def _packed(values: Any, *names: str) -> Payload:
    return {name: pack(getattr(values, name)) for name in names}


def _term(term: Term) -> Payload | None:
    if isinstance(term, TableTerm):
        return {"kind": "table", **_packed(term, "logs")}
    if isinstance(term, GaussianTerm):
        deviation = pack(np.sqrt(term.variance))
        payload = _packed(term, "peak", "mean", "missing")
        return {"kind": "gaussian", "deviation": deviation, **payload}
    if isinstance(term, KernelTerm):
        return {
            "kind": "kernel",
            "low": term.densities.scale.low,
            "half_range": term.densities.scale.half_range,
            "there": pack(term.log_weight),
            "missing": pack(term.missing),
            **_packed(term.densities, "start", "per_step", "first", "last", "logs"),
        }
    return None


def _routing(tree: Tree) -> Payload:
    """Return the tests that route a row; see `Tree`."""
    return _packed(
        tree, "attribute", "parent", "child_start", "child", "route_start", "route", "offsets"
    )


@scorer_payload.register
def _(tree: NaiveBayesTree) -> Payload:
    prior, densities = pack(tree.log_prior), tree.densities
    payload: Payload = {"kind": "bayes_tree", "tree": _routing(tree), "prior": prior}
    payload |= _packed(tree, "place", "logs")
    if densities is not None:
        payload["scales"] = [
            None if scale is None else [scale.low, scale.half_range] for scale in densities.scales
        ]
        payload |= _packed(densities, "start", "per_step", "first", "last")
        payload["densities"] = pack(densities.logs)
    return payload


@scorer_payload.register
def _(tree: ClassTree) -> Payload:
    return {"kind": "class_tree", "tree": _routing(tree), **_packed(tree, "share", "answer")}


@scorer_payload.register
def _(forest: Forest) -> Payload:
    trees = forest.trees()
    names = ("start", "attribute", "test", "missing_first", "route", "first_child", "first_entry",
             "entry_class", "entry_share", "rest")  # fmt: skip
    return {
        "kind": "forest",
        "prior": pack(forest.prior),
        **_packed(trees, *names),
    }


# Arrays -----------------------------------------------------------------------------------------


def pack(array: Any) -> Packed:
    """Return one array, any shape, as plain data.

    Whole numbers take the smallest type that holds them. Floats that repeat, as logarithms of small
    counts do, are kept once, with the place of each.
    """
    flat = np.ascontiguousarray(array).ravel()
    if flat.dtype.kind in "bui":
        return _pack_whole(flat)
    flat = flat.astype(np.float64, copy=False)
    if len(flat) >= 64:  # fewer are not worth looking for repetition
        # As bits: what looks alike to a float, as 0 and -0, stays itself.
        bits, places = np.unique(flat.view(np.uint64), return_inverse=True)
        width = _whole_type(0, len(bits)).itemsize
        if 8 * len(bits) + width * len(flat) < 8 * len(flat):
            return {"values": _text(bits, "f8"), "at": _pack_whole(places.ravel())}
    return _text(flat, "f8")


def pack_short(array: Any) -> Packed:
    """Return an array of numbers that are only shown: seven digits are enough."""
    return _text(np.ascontiguousarray(array, dtype=np.float32).ravel(), "f4")


def _pack_whole(flat: NDArray[Any]) -> Packed:
    low, high = (int(flat.min()), int(flat.max())) if len(flat) else (0, 0)
    dtype = _whole_type(low, high)
    return _text(flat.astype(dtype), f"{'i' if dtype.kind == 'i' else 'u'}{dtype.itemsize}")


def _whole_type(low: int, high: int) -> np.dtype[Any]:
    names = ("i1", "i2", "i4") if low < 0 else ("u1", "u2", "u4")
    for name in names:
        if np.iinfo(name).min <= low and high <= np.iinfo(name).max:
            return np.dtype(name)
    raise OverflowError(f"numbers from {low} to {high} do not fit in 32 bits.")


def _text(flat: NDArray[Any], kind: str) -> Packed:
    little = flat.astype(flat.dtype.newbyteorder("<"), copy=False)
    return {"kind": kind, "bytes": base64.b64encode(little.tobytes()).decode("ascii")}
