"""The evidence of a model's parts as plain data, the largest parts first."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.explain.model import AttributeEvidence, ModelParts, PartEvidence, evidence_of
from unnaive.explain.report.arrays import Packed, pack, pack_short
from unnaive.explain.report.pairs import pairs_data
from unnaive.table import Block

CELLS = 120_000  # values times labels of all parts that a page holds: about 1.5 MB
MOST_PARTS = 200
FARTHEST = 32.0  # stronger evidence is shown as this


def parts_data(read: ModelParts, titles: dict[int, str], block: Block) -> list[dict[str, Any]]:
    """Evidence of the main part, then of the others by weight, as many as a page has room for.

    Of the main part, pairs of attributes too, with the rows of the block that have their values.
    """
    facts = evidence_of(read, read.parts.main)
    parts = [_part(facts, read.parts.main, titles, full=True)]
    if facts.pairs:
        prior = np.exp(facts.log_prior - facts.log_prior.max())
        parts[0] |= {"pairs": pairs_data(facts, block), "prior": (prior / prior.sum()).tolist()}
    room = CELLS - _cells(parts[0])
    for k in _by_weight(read):
        if k == read.parts.main:
            continue
        part = _part(evidence_of(read, k), k, titles, full=False)
        room -= _cells(part)
        if room < 0 or len(parts) >= MOST_PARTS:
            break
        parts.append(part)
    return parts


def _by_weight(read: ModelParts) -> list[int]:
    """Numbers of the parts, those with most training rows first, then as numbered."""
    weight = np.array([read.parts.part(k).weight for k in range(len(read.parts.names))])
    return [int(k) for k in np.argsort(-np.nan_to_num(weight), kind="stable")]


def _cells(part: dict[str, Any]) -> int:
    return sum(len(attribute["values"]) for attribute in part["attributes"]) * int(part["n_labels"])


def _part(facts: PartEvidence, k: int, titles: dict[int, str], full: bool) -> dict[str, Any]:
    return {
        "title": titles.get(k, facts.part),
        "role": facts.role,
        "node": k if facts.role == "node" else None,
        "labels": list(facts.names) if facts.role == "gate" else None,
        "n_labels": len(facts.names),
        "weight": None if np.isnan(facts.weight) else float(facts.weight),
        "label_weight": None if np.isnan(facts.label_weight).any() else facts.label_weight.tolist(),
        "attributes": [_attribute(attribute, full) for attribute in facts.attributes],
    }


def _attribute(attribute: AttributeEvidence, full: bool) -> dict[str, Any]:
    """One attribute; ``full`` adds what the comparison of classes needs, of the main part."""
    data: dict[str, Any] = {
        "form": attribute.form,
        "values": list(attribute.values),
        "states": "".join(state[0] for state in attribute.states),
        "importance": round(attribute.importance, 6),
        "weights": _thousandths(attribute.weights),
        "low": _thousandths(np.where(np.isnan(attribute.low), attribute.weights, attribute.low)),
        "high": _thousandths(np.where(np.isnan(attribute.high), attribute.weights, attribute.high)),
        "counts": _counts(attribute.counts),
    }
    if attribute.reason:
        data["reason"] = attribute.reason
    if full:
        data |= {"logs": pack_short(attribute.logs), "shares": pack_short(attribute.shares)}
        if attribute.form == "density":  # shares are then densities, for drawing
            data["spread"] = pack_short(attribute.distribution())
    return data


def _thousandths(values: NDArray[np.float64]) -> Packed:
    """Evidence as it is drawn: whole thousandths."""
    return pack(np.rint(1000 * np.clip(values, -FARTHEST, FARTHEST)).astype(np.int64))


def _counts(counts: NDArray[np.float64]) -> Packed:
    whole = not np.isnan(counts).any() and (counts == np.rint(counts)).all()
    fits = whole and np.abs(counts).max(initial=0) < 2**31
    return pack(counts.astype(np.int64)) if fits else pack_short(counts)
