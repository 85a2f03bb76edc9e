"""Evidence of single columns: by steps of which size, and from which start."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unnaive.bayes.estimate import log_likelihood
from unnaive.common.threads import in_threads
from unnaive.models.boost import kernels
from unnaive.models.boost.coding import Numbering
from unnaive.models.boost.rounds import FEW_LEAVES, MANY_LEAVES, Bag, Booster

SHARES = (0.2, 0.4, 0.6, 0.8)
ALPHA = 0.5  # pseudo-count of every value
# Rows from which on there is one start: measured on held-out training rows, the second one gains up
# to some 3,000 rows, does nothing at 6,000 and loses at 11,000 (letter), for half of the time.
FEW_ROWS = 10_000
WORTH = 0.01  # share of the loss that large steps must spare: less is chance
PATIENCE = 2  # rounds of small steps for each of large ones, until the latter are the better ones


def boost_columns(booster: Booster, numbering: Numbering) -> list[float]:
    """Boost single columns: what the held-out rows lose at every look.

    Where rows are few, the bags boost from no evidence and again from a share of naive Bayes', and
    keep the mean of both: the start matters there, and neither is the better one on all tables. The
    share is the one that held-out rows like best, and the losses are those from no evidence. Models
    without rows held out only start from no evidence.
    """
    if not booster.stopping.early:
        return booster.run()
    losses = _boost_by_leaves(booster)
    if len(booster.stripes) > 1 or len(booster.stripes[0].groups) >= FEW_ROWS:
        return losses
    from_nothing = [bag.tables for bag in booster.bags]
    naive = list(
        in_threads(
            lambda bag: _naive_evidence(booster, numbering, bag), booster.bags, booster.n_jobs
        )
    )

    def loss(share: float) -> float:
        for bag, tables in zip(booster.bags, naive, strict=True):
            bag.tables = share * tables
        booster.prepare()
        return booster.held_out_loss()

    share = min(SHARES, key=loss)
    for bag, tables in zip(booster.bags, naive, strict=True):
        bag.tables = share * tables
    booster.run()
    for bag, tables in zip(booster.bags, from_nothing, strict=True):
        bag.tables = 0.5 * (bag.tables + tables)
    return losses


def _boost_by_leaves(booster: Booster) -> list[float]:
    """Boost from no evidence by steps of four leaves and by steps of two, and keep the better.

    Held-out rows tell which: four are much better where single values stand out from their
    neighbours, as amounts of money do, two a little better where evidence is smooth.
    """
    rule = booster.rule
    booster.rule = rule._replace(leaves=MANY_LEAVES)
    fine = booster.run()
    tables = [bag.tables for bag in booster.bags]
    booster.rule = rule._replace(leaves=FEW_LEAVES)
    for bag in booster.bags:
        bag.tables = np.zeros_like(bag.tables)
    smooth = booster.run(most=PATIENCE * booster.bags[0].n_rounds)
    if min(fine) >= (1.0 - WORTH) * min(smooth):
        return smooth
    booster.rule = rule._replace(leaves=MANY_LEAVES)
    for bag, evidence in zip(booster.bags, tables, strict=True):
        bag.tables = evidence
    return fine


def _naive_evidence(booster: Booster, numbering: Numbering, bag: Bag) -> NDArray[np.float64]:
    """Naive Bayes' evidence of the rows that a bag learns from, in the intervals of pairs.

    Columns that may only rise or fall have none: it need not do so.
    """
    rows, terms, n_classes = booster.stripes[0], bag.terms, numbering.counts.n_groups
    weight = np.empty(terms.start[-1] * n_classes)
    kernels.weigh_classes(rows, terms, bag.number, n_classes, weight)
    weight = weight.reshape(-1, n_classes)
    missing = "value" if booster.rule.lowest == 0 else "skip"
    tables = np.zeros_like(bag.tables)
    for t in np.flatnonzero(terms.direction == 0):
        cells = slice(terms.start[t], terms.start[t + 1])
        place = numbering.places[terms.first[t]]
        counts = np.zeros((place.max() + 1, n_classes))
        np.add.at(counts, place, weight[cells])
        logs = log_likelihood(np.ascontiguousarray(counts.T), ALPHA, missing)[place]
        if n_classes == 2:
            tables[cells] = logs[:, 1:] - logs[:, :1]
        else:
            tables[cells] = logs - logs.mean(axis=1, keepdims=True)
    return tables
