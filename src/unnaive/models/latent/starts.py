"""Where EM starts: rows drawn as centres, far from one another, or random shares of all rows."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from unnaive.common.compile import kernel
from unnaive.counts.coded import GRAIN
from unnaive.models.latent.kernels import TILE, _count, fill_tables
from unnaive.models.latent.state import Centres, EMRows, Mixtures, Packs, Prior, Sums


@kernel
def begin(
    packs: Packs,
    shares: NDArray[np.float64],
    centres: Centres,
    prior: Prior,
    mixtures: Mixtures,
) -> None:
    """Parameters to start from (OUT): rows as centres, each column's own spread around them.

    shares (IN) says how frequent each slot's value is in its column. A categorical column is half
    the centre's value, half what the column holds.
    """
    n_mixtures, n_components = mixtures.log_share.shape
    mixtures.log_share[:] = -math.log(n_components)
    mixtures.variance[:] = 1.0
    for m in range(n_mixtures):
        for k in range(n_components):
            mixtures.mean[m, k] = centres.values[m, k]
            for c in range(len(packs.pack)):
                centre = centres.slots[m, k, c]
                for v in range(packs.width[c]):
                    share = shares[packs.offset[c] + v]
                    if centre > 0:
                        share = 0.5 * share + (0.5 if v == centre else 0.0)
                    log = math.log(share) if v > 0 else 0.0
                    mixtures.logs[m, packs.offset[c] + v, k] = log
        mixtures.penalty[m] = prior.alpha * mixtures.logs[m].sum()
        mixtures.penalty[m] += prior.prior_alpha * mixtures.log_share[m].sum()
        fill_tables(packs, mixtures, m)


@kernel
def farthest(
    rows: EMRows,
    slots: NDArray[np.uint16],
    fold: int,
    centres: Centres,
    m: int,
    key: NDArray[np.float64],
) -> tuple[int, float]:
    """The row that an exponential race chooses, likelier the farther from all centres of mixture m.

    ``key`` (IN) holds exponential draws. Only rows that the fold trains on can be chosen; -1 if all
    have been. The race's time comes with it.
    """
    n, n_centres = len(key), centres.values.shape[1]
    best, chosen = np.inf, -1
    distance, away = np.empty(TILE), np.empty(TILE)
    for first in range(0, n, TILE):
        last = min(first + TILE, n)
        distance[:] = 1e300  # before the first, all are far
        for k in range(n_centres):
            away[:] = 0.0
            for j in range(rows.values.shape[0]):
                values, centre = rows.values[j, first:last], centres.values[m, k, j]
                for i in range(len(values)):
                    away[i] += (values[i] - centre) ** 2
            for c in range(slots.shape[0]):
                column, centre_slot = slots[c, first:last], centres.slots[m, k, c]
                for i in range(len(column)):
                    if column[i] != centre_slot:
                        away[i] += 2.0  # what two independent standardized numbers differ by
            for i in range(TILE):
                distance[i] = min(distance[i], away[i])
        for i in range(first, last):
            if rows.weight[i] > rows.held[fold, i] and distance[i - first] > 0.0:
                race = key[i] / distance[i - first]
                if race < best:
                    best, chosen = race, i
    return chosen, best


@kernel
def share_at_random(
    rows: EMRows,
    packs: Packs,
    draws: NDArray[np.float64],
    held: NDArray[np.float64],
    rounding: float,
    m: int,
    sums: Sums,
) -> None:
    """Sums of mixture m (OUT) of rows that belong to all components, in random shares.

    draws (IN, components x rows) are positive: a row's shares are its draws over their sum, rounded
    to what adds exactly in any order. held (IN) is the weight of each row that is held out.
    """
    n_components, n_rows = draws.shape
    joint = np.empty((n_components, TILE))
    for first in range(0, n_rows, TILE):
        last = min(first + TILE, n_rows)
        for i in range(first, last):
            total = 0.0
            for k in range(n_components):
                total += draws[k, i]
            for k in range(n_components):
                share = math.floor(draws[k, i] / total / GRAIN + 0.5) * GRAIN
                joint[k, i - first] = (rows.weight[i] - held[i]) * share
        _count(rows, packs, first, last, joint, rounding, m, sums)
