"""What bags say of the rows that they hold out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unnaive.bayes.scoring import log_probabilities
from unnaive.models.boost.coding import Stripes
from unnaive.models.boost.rounds import Booster


def held_out_shares(booster: Booster, stripes: Stripes, n_classes: int) -> NDArray[np.float64]:
    """Probabilities of all rows in the order of the table, each by the bag that held it out.

    NaN for rows that every bag has learned from.
    """
    lengths = [len(rows.groups) for rows in stripes.rows]
    shares = np.full((sum(lengths), n_classes), np.nan)
    first = np.cumsum([0, *lengths])
    for bag in booster.bags:
        stripe = booster.held_out_stripe(bag)
        rows = stripes.rows[stripe]
        held = np.flatnonzero(rows.folds == bag.number)
        scores = booster.score(bag, rows)[held]
        if scores.shape[1] < n_classes:  # the log odds of the second class
            scores = np.concatenate((np.zeros_like(scores), scores), axis=1)
        shares[first[stripe] + held] = np.exp(log_probabilities(scores))
    if not len(stripes.order):
        return shares
    out = np.empty_like(shares)
    out[stripes.order] = shares
    return out
