"""Measures and curves of probabilities, against scikit-learn, SciPy and slow twins."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import ks_2samp
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    brier_score_loss,
    confusion_matrix,
    f1_score,
    log_loss,
    precision_score,
    recall_score,
    roc_auc_score,
)

from unnaive.bayes.metrics import ClassScores, MeasureSums, ScoreCurve, headline, score_curves


def made_set(seed):
    """Probabilities and classes: few or many rows, ties, extreme scores, weights, rare classes."""
    rng = np.random.default_rng(seed)
    n, classes = int(rng.integers(20, 400)), int(rng.choice([2, 2, 3, 5]))
    logits = rng.normal(0, rng.choice([0.3, 2.0, 30.0]), (n, classes))
    if seed % 3 == 0:
        logits = np.round(logits)  # many rows of equal score
    p = np.exp(logits - logits.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    groups = np.array([rng.choice(classes, p=row) for row in 0.7 * p + 0.3 / classes])
    groups[:classes] = np.arange(classes)
    weight = rng.uniform(0.1, 3.0, n) if seed % 2 else None
    return p, groups, weight


@pytest.mark.parametrize("seed", range(20))
def test_areas_and_class_scores_equal_scikit_learns_on_made_sets(seed):
    p, groups, weight = made_set(seed)
    classes, given = p.shape[1], {"sample_weight": weight}
    curves = score_curves(p, groups, weight)
    for c, curve in enumerate(curves):
        hit = groups == c
        area, mean = (
            roc_auc_score(hit, p[:, c], **given),
            average_precision_score(hit, p[:, c], **given),
        )
        assert curve.roc_auc == pytest.approx(area, abs=1e-12)
        assert curve.average_precision == pytest.approx(mean, abs=1e-12)
        if weight is None:
            distance = ks_2samp(p[hit, c], p[~hit, c]).statistic
            assert curve.kolmogorov_smirnov == pytest.approx(distance, abs=1e-12)
    if classes > 2:
        macro = roc_auc_score(groups, p, multi_class="ovr", average="macro", **given)
        assert headline(curves, "roc_auc") == pytest.approx(macro, abs=1e-12)
    best = p.argmax(axis=1)
    scores = ClassScores.of(MeasureSums.of(p, groups, weight).confusion)
    for name, judge in (("precision", precision_score), ("recall", recall_score), ("f1", f1_score)):
        expected = judge(
            groups, best, average=None, labels=range(classes), zero_division=0, **given
        )
        np.testing.assert_allclose(getattr(scores, name), expected, atol=1e-12)
    macro_f1 = f1_score(groups, best, average="macro", zero_division=0, **given)
    assert scores.macro_f1 == pytest.approx(macro_f1, abs=1e-12)


def slow_gain(scores, positive, weight, share):
    """Fills a basket with groups of equal score, the highest first, the last one in part."""
    room, reached = share * weight.sum(), 0.0
    for score in sorted(set(scores), reverse=True):
        same = scores == score
        part = min(1.0, room / weight[same].sum())
        reached += part * weight[same & positive].sum()
        room -= part * weight[same].sum()
        if room <= 0:
            break
    return reached / weight[positive].sum()


def test_gain_and_lift_follow_from_their_definitions():
    p, groups, weight = made_set(3)
    curve, positive = ScoreCurve.of(p[:, 1], groups == 1, weight), groups == 1
    for share in (0.05, 0.1, 0.5, 1.0):
        expected = slow_gain(p[:, 1], positive, weight, share)
        assert curve.gain(share) == pytest.approx(expected, abs=1e-12)
    above = p[:, 1] >= 0.4
    true, false = curve.above(0.4)
    assert true == pytest.approx(weight[above & positive].sum())
    assert false == pytest.approx(weight[above & ~positive].sum())
    at = int(np.flatnonzero(curve.thresholds >= 0.4)[-1])
    prevalence = weight[positive].sum() / weight.sum()
    assert curve.lift[at] == pytest.approx(true / (true + false) / prevalence)
    assert curve.above(2.0) == (0.0, 0.0)


def test_a_class_without_rows_has_no_area_and_is_left_out_of_the_mean():
    p, groups = np.full((4, 3), 1 / 3), np.array([0, 0, 1, 1])
    curves = score_curves(p, groups)
    assert np.isnan(curves[2].roc_auc)
    assert np.isnan(curves[2].average_precision)
    assert headline(curves, "roc_auc") == 0.5
    assert np.isnan(headline(score_curves(p[:2, :1], groups[:2]), "roc_auc"))


# Sums over rows ---------------------------------------------------------------------------------


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
    sums = MeasureSums.of(p, groups, weight if weighted else None)
    found, labels = sums.measures, list(range(classes))
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
    whole = MeasureSums.of(p, groups, weight).measures
    parts = [MeasureSums.of(p[s], groups[s], weight[s]) for s in (slice(0, 70), slice(70, None))]
    again = np.repeat(np.arange(len(p)), weight.astype(int))
    repeated = MeasureSums.of(p[again], groups[again]).measures
    for found in ((parts[0] + parts[1]).measures, repeated):
        for name in ("accuracy", "log_loss", "brier", "calibration_error"):
            assert getattr(found, name) == pytest.approx(getattr(whole, name), rel=1e-12)


def test_certainty_right_and_wrong():
    right = MeasureSums.of(np.eye(2)[[0, 1]], np.array([0, 1])).measures
    assert (right.accuracy, right.log_loss, right.brier, right.calibration_error) == (1, 0, 0, 0)
    wrong = MeasureSums.of(np.eye(2)[[1, 0]], np.array([0, 1])).measures
    assert (wrong.accuracy, wrong.brier, wrong.calibration_error) == (0, 1, 1)
    assert wrong.log_loss == pytest.approx(36.04, abs=0.01)
    alone = MeasureSums.of(np.ones((3, 1)), np.zeros(3, int)).measures
    assert (alone.accuracy, alone.log_loss, alone.brier) == (1, 0, 0)
