"""Where EM starts: rows drawn as centres, far from one another, or random shares of all rows."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from unnaive.common.compile import kernel
from unnaive.counts.coded import GRAIN
from unnaive.models.latent.kernels import TILE, _count, estimate, fill_tables
from unnaive.models.latent.state import EMRows, Mixtures, Packs, Prior, Sums


@kernel
def begin(
    rows: EMRows,
    packs: Packs,
    slots: NDArray[np.uint16],
    shares: NDArray[np.float64],
    seeds: NDArray[np.intp],
    prior: Prior,
    mixtures: Mixtures,
) -> None:
    """Parameters to start from (OUT): rows as centres, each column's own spread around them.

    seeds (IN) mixtures x components; shares (IN) how frequent each slot's value is in its column.
    A categorical column is half the centre's value, half what the column holds.
    """
    n_mixtures, n_components = seeds.shape
    mixtures.log_share[:] = -math.log(n_components)
    mixtures.variance[:] = 1.0
    for m in range(n_mixtures):
        for k in range(n_components):
            seed = seeds[m, k]
            mixtures.mean[m, k] = rows.values[:, seed]
            for c in range(len(packs.pack)):
                own = slots[c, seed]
                for v in range(packs.width[c]):
                    share = shares[packs.offset[c] + v]
                    if own > 0:
                        share = 0.5 * share + (0.5 if v == own else 0.0)
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
    seed: int,
    key: NDArray[np.float64],
    distance: NDArray[np.float64],
) -> int:
    """The row that an exponential race chooses, likelier the farther from all chosen so far.

    ``distance`` (IN, OUT) is the least squared distance to a chosen row, brought up to date with
    the row ``seed`` that was chosen last (-1: none yet); ``key`` (IN) holds exponential draws. Only
    rows that the fold trains on can be chosen; -1 if all have been.
    """
    n = len(key)
    for first in range(0, n if seed >= 0 else 0, TILE):
        last = min(first + TILE, n)
        away = np.zeros(last - first)
        for j in range(rows.values.shape[0]):
            values = rows.values[j, first:last]
            centre = rows.values[j, seed]
            for i in range(len(away)):
                away[i] += (values[i] - centre) ** 2
        for c in range(slots.shape[0]):
            column = slots[c, first:last]
            centre_slot = slots[c, seed]
            for i in range(len(away)):
                if column[i] != centre_slot:
                    away[i] += 2.0  # what two independent standardized numbers differ by
        for i in range(len(away)):
            distance[first + i] = min(distance[first + i], away[i])
    best, chosen = np.inf, -1
    for i in range(n):
        if rows.weight[i] > rows.held[fold, i] and distance[i] > 0.0:
            race = key[i] / min(distance[i], 1e300)  # before the first, all are far
            if race < best:
                best, chosen = race, i
    return chosen


@kernel
def begin_at_random(
    rows: EMRows,
    packs: Packs,
    draws: NDArray[np.float64],
    held: NDArray[np.float64],
    rounding: float,
    unit: float,
    prior: Prior,
    m: int,
    sums: Sums,
    mixtures: Mixtures,
) -> None:
    """Parameters of mixture m (OUT) from rows that belong to all components, in random shares.

    draws (IN, components x rows) are positive: a row's shares are its draws over their sum, rounded
    to what adds exactly in any order. held
    (IN) is the weight of each row that is held out; sums (OUT) is room for those of the rows.
    """
    sums.share[m] = 0
    sums.moments[m] = 0
    sums.cells[m] = 0.0
    mixtures.mean[m] = 0.0
    mixtures.variance[m] = 1.0
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
    estimate(packs, sums, unit, prior, m, mixtures)
