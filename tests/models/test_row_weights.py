"""Weights that rounds give to rows: by their definition, in any unit, however rows are split."""

from __future__ import annotations

import numpy as np
import pytest

from unnaive.models.ensemble import weights as module
from unnaive.models.ensemble.weighing import GivenRows
from unnaive.models.ensemble.weights import RowWeights
from unnaive.table.records import MemoryRecords

GRAIN = 2.0**-20


def rows_of(given, places):
    return MemoryRecords([GivenRows(given[part], part) for part in places])


def say(gains, hits=None):
    """What a round says of each row, given for all rows of the table."""

    def of_record(rows):
        def of_part(part):
            places = rows.row_ids[part]
            return gains[places], None if hits is None else hits[places]

        return of_part

    return of_record


def defined(logs, given):
    """Weights with mean one, and the effective share, from logarithms of relative weights."""
    relative = np.exp(logs - logs.max())
    relative *= given.sum() / (relative @ given)
    share = given.sum() / (relative**2 @ given)
    return relative * given, share


def weigh(records, given, steps):
    """The weights and their sums after some rounds."""
    weights = RowWeights(records, given.sum())
    errors = []
    for gains, hits, vote, known in steps:
        errors.append(weights.judge(say(gains, hits), vote if known else None))
        weights.lower(vote)
    return np.concatenate(list(weights.each())), weights, errors


# Gains of a round, which lower weights by e to the vote times them: about as was guessed before;
# nearly all rows become light, or one of them heavy; and by more than can be told.
GAINS = {
    "a little": lambda rng, n: rng.normal(0.2, 0.5, n),
    "all fall": lambda rng, n: rng.normal(30.0, 1.0, n),
    "all rise": lambda rng, n: rng.normal(-30.0, 1.0, n),
    "one rises": lambda rng, n: np.where(np.arange(n) == 7, -36.0, rng.normal(0.2, 0.5, n)),
    "one is left": lambda rng, n: np.where(np.arange(n) == 7, 0.0, 36.0) + 0 * rng.random(n),
}


@pytest.mark.parametrize("name", GAINS)
@pytest.mark.parametrize("known", [True, False], ids=["vote known", "vote found"])
def test_weights_are_as_defined_whatever_their_mean_was_guessed_to_be(name, known):
    rng = np.random.default_rng(0)
    n = 2000
    given = rng.integers(1, 4, n).astype(float)
    gains = [GAINS[name](rng, n), rng.normal(0.0, 1.0, n)]
    steps = [(gains[0], gains[0] > 0, 1.0, True), (gains[1], gains[1] > 0, 0.3, known)]
    if not known:
        gains[1] = (gains[1] > 0).astype(float)  # rows that are hit fall by the vote
    logs = -gains[0] - 0.3 * gains[1]
    expected, share = defined(logs, given)
    found, weights, errors = weigh(rows_of(given, [np.arange(n)]), given, steps)
    np.testing.assert_allclose(found, expected, atol=3 * GRAIN, rtol=1e-9)
    assert weights.effective_share() == pytest.approx(share, rel=1e-3)
    first, _ = defined(-gains[0], given)
    missed = first[~steps[1][1]].sum() / given.sum()
    assert errors[1] == pytest.approx(missed, abs=1e-5)
    parts = np.array_split(rng.permutation(n), 3)
    other, again, same = weigh(rows_of(given, parts), given, steps)
    assert same == errors
    assert (again.total, again.effective_share()) == (weights.total, weights.effective_share())
    np.testing.assert_array_equal(other, found[np.concatenate(parts)])


def test_a_good_guess_takes_one_pass_and_a_bad_one_a_few(monkeypatch):
    rng = np.random.default_rng(1)
    given = np.ones(500)
    passes = []
    again = module.weigh_again
    monkeypatch.setattr(module, "weigh_again", lambda *a: passes.append(1) or again(*a))
    for name, most in (("a little", 0), ("all rise", 2), ("one is left", 2)):
        passes.clear()
        gains = GAINS[name](rng, 500)
        weigh(rows_of(given, [np.arange(500)]), given, [(gains, gains > 0, 1.0, True)])
        assert len(passes) <= most, name
        assert len(passes) > 0 or most == 0, name


@pytest.mark.parametrize("scale", [1.0, 1e13])
def test_steep_votes_and_weights_beyond_exact_sums_end_with_a_mean_of_one(scale):
    rng = np.random.default_rng(2)
    given = scale * rng.integers(1, 4, 300)
    gains = rng.normal(0.0, 20.0, 300)
    for vote in (1.0, 40.0):
        steps = [(gains, gains > 0, vote, True)]
        found, weights, _ = weigh(rows_of(given, [np.arange(300)]), given, steps)
        assert found.sum() == pytest.approx(given.sum(), rel=1e-6)
        assert np.isfinite(weights.effective_share())


def test_heavy_rows_that_have_become_light_keep_what_they_weigh():
    """Beside a light row that has become so heavy that they would be rounded away."""
    rng = np.random.default_rng(3)
    for given in (1e6, 1e13, 1e80):
        every = np.full(1000, given)
        every[0] = 1.0
        gains = np.where(np.arange(1000) == 0, 0.0, 15.0)
        logs = -gains
        expected, _ = defined(logs, every)
        for parts in ([np.arange(1000)], np.array_split(rng.permutation(1000), 3)):
            steps = [(gains, gains > 0, 1.0, True)]
            found, _, _ = weigh(rows_of(every, parts), every, steps)
            np.testing.assert_allclose(found, expected[np.concatenate(parts)], rtol=1e-5)


def test_sums_stay_exact_where_rows_are_billions():
    for given in (1.0, 1e6, 2.0**31, 1e10, 1e11):
        grain = module._grain(given)
        assert given * module.MOST_MEAN / grain <= 2.0**53
        assert GRAIN <= grain <= module.COARSE
    assert module._grain(1e15) == GRAIN  # no sum would be exact: weights are told apart
