"""Weights of rows in rounds of boosting: by their definition, however rows are split."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from unnaive.bayes import Smoothing
from unnaive.counts.encoded_rows import CodedRows, JointCodes
from unnaive.estimator import Progress
from unnaive.models.boosted import BoostingRounds, LearningRows, SplitRows, relative_weights
from unnaive.table.records import MemoryRecords

N = 2000
# Decreases of log weights: a few nats; nearly all rows become light, or one of them heavy.
DECREASES = {
    "a little": lambda rng: rng.normal(0.2, 0.5, N),
    "all fall": lambda rng: rng.normal(30.0, 1.0, N),
    "all rise": lambda rng: rng.normal(-30.0, 1.0, N),
    "one rises": lambda rng: np.where(np.arange(N) == 7, -36.0, rng.normal(0.2, 0.5, N)),
    "one is left": lambda rng: np.where(np.arange(N) == 7, 0.0, 36.0),
}


# Columns as far as weights need them: one, of one value.
ONE_COLUMN = SimpleNamespace(
    n_classes=1,
    coarse=SimpleNamespace(coders=[SimpleNamespace(size=1)]),
    first=SimpleNamespace(n_jobs=None),
    scorer=lambda counts, smoothing, prior_alpha: None,
)


def weigh(parts, sample_weight, decreases, vote):
    """The weights, with a mean of 1, and the counts after some rounds."""
    records = []
    for part in parts:
        zeros = np.zeros((1, len(part)), np.uint16)
        joint = JointCodes(((0,),), (np.array([1]),), np.array([0, 1]), zeros)
        rows = CodedRows(joint, zeros[0], sample_weight[part], part)
        records.append(SplitRows(rows))
    rows = LearningRows(MemoryRecords(records), sample_weight.sum(), False)
    smoothing, progress = Smoothing(1.0, "skip"), Progress("boosting", 1, "rounds")
    booster = BoostingRounds(
        ONE_COLUMN, rows, smoothing, 0.5, None, "real", 9, vote, 5, False, progress
    )
    for decrease in decreases:

        def score(rows, decrease=decrease):
            return lambda part: (decrease[rows.row_ids[part]], decrease[rows.row_ids[part]] < 0)

        booster._settle(booster._pass(booster.log_mean, vote, score=score), booster.log_mean)
    one = booster.count_round()
    logs = np.concatenate([state.log_weight for state in rows.records.states])
    return one.share * relative_weights(logs, one.log_unit), booster.counted.sums


@pytest.mark.parametrize("vote", [0.3, 1.0, 40.0])
@pytest.mark.parametrize("name", DECREASES)
def test_weights_follow_their_definition_and_sums_do_not_depend_on_chunks(name, vote):
    rng = np.random.default_rng(0)
    sample_weight = rng.integers(1, 4, N).astype(float)
    decreases = [DECREASES[name](rng), rng.normal(0.0, 1.0, N)]
    found, sums = weigh([np.arange(N)], sample_weight, decreases, vote)
    logs = -vote * sum(decreases)
    expected = np.exp(logs - logs.max())
    expected *= sample_weight.sum() / (expected @ sample_weight)
    np.testing.assert_allclose(found, expected, atol=1e-4, rtol=1e-6)
    parts = np.array_split(rng.permutation(N), 3)
    other, again = weigh(parts, sample_weight, decreases, vote)
    np.testing.assert_array_equal(other, found[np.concatenate(parts)])
    np.testing.assert_array_equal(sums, again)
