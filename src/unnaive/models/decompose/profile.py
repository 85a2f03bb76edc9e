"""What a cluster is like, in plain words: how it differs from its class."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.answer.clusters import ClassClusters
from unnaive.counts import Summary, Wanted
from unnaive.counts.gather import gather
from unnaive.counts.moments import Spread
from unnaive.encode import Categories
from unnaive.table import Schema, Source
from unnaive.table.picking import Picked, PickedSource

MOST_REMARKS = 3
LEAST_DISTANCE = 0.3  # of a mean from the class's, in standard deviations, worth a remark
LEAST_SHARE = 0.1  # by which a value must be more frequent than in the class


def summarize_pairs(
    source: Source, pairs: Picked, wanted: Callable[[Schema], Wanted], n_jobs: int | None
) -> Summary:
    """Counts and moments of the rows of every (class, cluster) pair."""
    picked = PickedSource(source, pairs)
    return gather(picked, wanted, n_jobs=n_jobs, name="describing clusters")


def describe_class(
    pairs: Summary, owner: NDArray[np.intp], c: int, label: Any, noise: bool
) -> ClassClusters:
    """Sizes and profiles of the clusters of class number c."""
    clusters = np.flatnonzero(owner == c)
    spread = pairs.moments.finish(clusters) if len(clusters) > 1 else None
    said = tuple(_profile(pairs, clusters, spread, p) for p in range(len(clusters)))
    return ClassClusters(label, len(clusters), pairs.counts.totals[clusters], said, noise)


def _profile(pairs: Summary, clusters: NDArray[np.intp], spread: Spread | None, p: int) -> str:
    """How cluster number p differs from its class, the most striking first."""
    if spread is None:
        return "the whole class"
    remarks = _number_remarks(pairs, spread, p)
    for j, coder in enumerate(pairs.coders):
        if isinstance(coder, Categories) and coder.size:
            remarks += _value_remarks(pairs, j, coder, clusters, p)
    remarks.sort(key=lambda r: -r[0])
    said = [text for _, text in remarks[:MOST_REMARKS]]
    return "; ".join(said) if said else "much like the class"


def _number_remarks(pairs: Summary, spread: Spread, p: int) -> list[tuple[float, str]]:
    whole = spread.whole(np.ones(len(spread.weight)))
    remarks = []
    for k, j in enumerate(pairs.moments.columns):
        column = pairs.schema[j]
        if not whole.variance[k] > 0 or np.isnan(spread.mean[p, k]):
            continue
        away = (spread.mean[p, k] - whole.mean[k]) / np.sqrt(whole.variance[k])
        if abs(away) >= LEAST_DISTANCE:
            text = f"{column.name} {'high' if away > 0 else 'low'}"
            if column.family == "number":
                text += f" ({spread.mean[p, k]:.4g} on average, {whole.mean[k]:.4g} in the class)"
            remarks.append((abs(away), text))
    return remarks


def _value_remarks(
    pairs: Summary, j: int, coder: Categories, clusters: NDArray[np.intp], p: int
) -> list[tuple[float, str]]:
    counts = pairs.counts.values(j)[clusters]
    if not counts[p].sum():
        return []
    here, every = counts[p] / counts[p].sum(), counts.sum(axis=0) / counts.sum()
    v = int((here - every).argmax())
    if here[v] - every[v] < LEAST_SHARE:
        return []
    # In standard deviations of having the value, so that numbers and values compare.
    away = (here[v] - every[v]) / np.sqrt(every[v] * (1 - every[v]))
    shares = f"{100 * here[v]:.0f} %, {100 * every[v]:.0f} % in the class"
    return [(away, f"{pairs.schema[j].name} {coder.name(v + 1)} ({shares})")]
