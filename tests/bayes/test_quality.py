"""Measures of probabilities, against scikit-learn and a slow twin; sums of parts add up."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, brier_score_loss, confusion_matrix, log_loss

from unnaive.bayes.quality import QualitySums


def example(seed, n=200, classes=3):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(classes, 0.4), n)
    groups = np.array([rng.choice(classes, p=row) for row in p])
    return p, groups, rng.integers(0, 4, n).astype(float)


def slow_calibration_error(p, groups, weight):
    bins = {}
    for row, group, w in zip(p, groups, weight, strict=True):
        best = int(np.argmax(row))
        entry = bins.setdefault(min(int(row[best] * 15), 14), [0.0, 0.0])
        entry[0] += w * (best == group)
        entry[1] += w * row[best]
    return sum(abs(right - sure) for right, sure in bins.values()) / weight.sum()


@pytest.mark.parametrize("classes", [2, 3, 7])
@pytest.mark.parametrize("weighted", [False, True])
def test_measures_equal_scikit_learns(classes, weighted):
    p, groups, weight = example(classes, classes=classes)
    if not weighted:
        weight = np.ones(len(p))
    sums = QualitySums.of(p, groups, weight if weighted else None)
    found, labels = sums.quality, list(range(classes))
    best = p.argmax(axis=1)
    given = {"sample_weight": weight}
    assert found.accuracy == pytest.approx(accuracy_score(groups, best, **given))
    assert found.log_loss == pytest.approx(log_loss(groups, p, labels=labels, **given))
    assert found.brier == pytest.approx(brier_score_loss(groups, p, labels=labels, **given))
    assert found.calibration_error == pytest.approx(slow_calibration_error(p, groups, weight))
    expected = confusion_matrix(groups, best, labels=labels, **given)
    np.testing.assert_allclose(sums.confusion, expected)


def test_parts_add_up_and_weight_is_repetition():
    p, groups, weight = example(0)
    whole = QualitySums.of(p, groups, weight).quality
    parts = [QualitySums.of(p[s], groups[s], weight[s]) for s in (slice(0, 70), slice(70, None))]
    again = np.repeat(np.arange(len(p)), weight.astype(int))
    repeated = QualitySums.of(p[again], groups[again]).quality
    for found in ((parts[0] + parts[1]).quality, repeated):
        for name in ("accuracy", "log_loss", "brier", "calibration_error"):
            assert getattr(found, name) == pytest.approx(getattr(whole, name), rel=1e-12)


def test_certainty_right_and_wrong():
    right = QualitySums.of(np.eye(2)[[0, 1]], np.array([0, 1])).quality
    assert (right.accuracy, right.log_loss, right.brier, right.calibration_error) == (1, 0, 0, 0)
    wrong = QualitySums.of(np.eye(2)[[1, 0]], np.array([0, 1])).quality
    assert (wrong.accuracy, wrong.brier, wrong.calibration_error) == (0, 1, 1)
    assert wrong.log_loss == pytest.approx(36.04, abs=0.01)
    alone = QualitySums.of(np.ones((3, 1)), np.zeros(3, int)).quality
    assert (alone.accuracy, alone.log_loss, alone.brier) == (1, 0, 0)
