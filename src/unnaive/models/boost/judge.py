"""What bags say of the rows that they hold out, and all of them together of all rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unnaive.bayes.calibration import fit_calibration
from unnaive.bayes.scoring import log_probabilities
from unnaive.models.boost.coding import Stripes
from unnaive.models.boost.rounds import Booster
from unnaive.models.boost.state import Terms


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
        scores = _of_classes(booster.score(bag, rows)[held], n_classes)
        shares[first[stripe] + held] = np.exp(log_probabilities(scores))
    if not len(stripes.order):
        return shares
    out = np.empty_like(shares)
    out[stripes.order] = shares
    return out


def base_rate_shift(
    booster: Booster, terms: Terms, tables: NDArray[np.float64], n_classes: int
) -> NDArray[np.float64]:
    """What is added to the intercept so that classes are as probable, on the whole, as they are
    frequent: a mean of log odds over bags finds rare classes too rare.
    """
    if n_classes < 2:
        return np.zeros(len(booster.prior))
    scored = booster.stripes.scored(terms, tables, booster.prior, n_classes)
    shift = fit_calibration(scored, slope=1.0).intercept
    return shift[1:] - shift[:1] if n_classes == 2 else shift - shift.mean()


def _of_classes(scores: NDArray[np.float64], n_classes: int) -> NDArray[np.float64]:
    """Scores of all classes: of two, one score is the log odds of the second."""
    if scores.shape[1] == n_classes:
        return scores
    return np.concatenate((np.zeros_like(scores), scores), axis=1)
