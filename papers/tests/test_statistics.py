"""Tests and intervals against their definitions."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from unnaive_papers.statistics import (
    corrected_p,
    log_slope,
    mean_estimate,
    plain_p,
    rank_methods,
    share_interval,
    sign_of,
    two_samples_p,
)


def test_the_mean_has_students_interval():
    values = [81.0, 83.5, 80.2, 84.1]
    found = mean_estimate(values, "seeds")
    low, high = stats.t.interval(0.95, 3, np.mean(values), stats.sem(values))
    assert (found.value, found.low, found.high) == pytest.approx((np.mean(values), low, high))


def test_one_value_has_no_interval():
    found = mean_estimate([3.0], "seeds")
    assert found.value == 3.0
    assert np.isnan([found.low, found.high]).all()


def test_the_corrected_test_is_stricter_than_the_plain_one():
    gains = np.random.default_rng(0).normal(1, 2, 50)
    plain = stats.ttest_1samp(gains, 0).pvalue
    assert corrected_p(gains, 10) > 3 * plain
    # With nothing shared between folds both are the same test.
    assert corrected_p(gains, 10**12) == pytest.approx(plain)


@pytest.mark.parametrize(("gains", "p"), [([0.0, 0.0], 1.0), ([2.0, 2.0], 0.0)])
def test_gains_without_spread_are_certain(gains, p):
    assert corrected_p(gains, 10) == p
    assert plain_p(gains) == p


def test_two_equal_samples_do_not_differ():
    assert two_samples_p([1.0, 1.0], [1.0, 1.0]) == 1.0
    assert two_samples_p([1.0, 1.0], [2.0, 2.0]) == 0.0


@pytest.mark.parametrize(
    ("gain", "p", "sign"), [(1, 0.2, "="), (1, 0.04, "+"), (-1, 0.04, "-"), (-1, 0.001, "--")]
)
def test_signs_are_those_of_the_paper(gain, p, sign):
    assert sign_of(gain, p) == sign


def test_wilsons_interval_stays_inside_zero_and_one():
    low, high = share_interval(1.0, 20)
    assert 0.8 < low < 1
    assert high <= 1 + 1e-12


def test_a_power_is_found():
    x = np.array([1, 2, 4, 8, 16.0])
    assert log_slope(x, 3 * x**1.5).value == pytest.approx(1.5)


def test_ranks_and_groups_of_methods():
    rng = np.random.default_rng(0)
    base = rng.normal(80, 5, 30)
    scores = pd.DataFrame(
        {
            "good": base + 5,
            "same a": base + rng.normal(0, 1, 30),
            "same b": base + rng.normal(0, 1, 30),
        }
    )
    found = rank_methods(scores, higher_is_better=True)
    assert found.methods[0] == "good"
    assert found.ranks[0] == 1.0
    assert found.ranks.sum() == pytest.approx(6)
    assert found.friedman_p < 1e-6
    assert found.groups == [(1, 2)]
    assert rank_methods(scores, higher_is_better=False).methods[-1] == "good"


def test_holms_correction_is_monotone_and_at_most_one():
    rng = np.random.default_rng(1)
    scores = pd.DataFrame(rng.normal(size=(12, 5)), columns=list("abcde"))
    found = rank_methods(scores, higher_is_better=True)
    raw = {(a, b): stats.wilcoxon(scores[a] - scores[b]).pvalue for a, b in found.p_values}
    order = sorted(raw, key=raw.get)
    for k, pair in enumerate(order):
        expected = max(min(1.0, (len(raw) - j) * raw[order[j]]) for j in range(k + 1))
        assert found.p_values[pair] == pytest.approx(expected)


def test_methods_that_never_differ_are_one_group():
    scores = pd.DataFrame({"a": [1.0, 2, 3], "b": [1.0, 2, 3], "c": [1.0, 2, 3]})
    found = rank_methods(scores, higher_is_better=True)
    assert found.groups == [(0, 2)]
    assert np.isnan(found.friedman_p)
