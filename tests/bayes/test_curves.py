"""Curves of scores: equal to scikit-learn's and SciPy's, and within their bound when counted."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import ks_2samp
from sklearn.metrics import (
    average_precision_score,
    f1_score,
    precision_score,
    recall_score,
    roc_auc_score,
)

from unnaive.bayes.curves import ScoreCounts, ScoreCurve, score_curves
from unnaive.bayes.quality import CalibrationSums, ClassScores, QualitySums, headline


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
    scores = ClassScores.of(QualitySums.of(p, groups, weight).confusion)
    for name, judge in (("precision", precision_score), ("recall", recall_score), ("f1", f1_score)):
        expected = judge(
            groups, best, average=None, labels=range(classes), zero_division=0, **given
        )
        np.testing.assert_allclose(getattr(scores, name), expected, atol=1e-12)
    macro_f1 = f1_score(groups, best, average="macro", zero_division=0, **given)
    assert scores.macro_f1 == pytest.approx(macro_f1, abs=1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_counted_areas_are_within_their_bound_and_parts_add_up(seed):
    p, groups, weight = made_set(seed)
    cut = len(p) // 3
    parts = [
        ScoreCounts.of(p[s], groups[s], None if weight is None else weight[s])
        for s in (slice(0, cut), slice(cut, None))
    ]
    counted = (parts[0] + parts[1]).curves
    whole = ScoreCounts.of(p, groups, weight).curves
    for exact, one, two in zip(score_curves(p, groups, weight), whole, counted, strict=True):
        np.testing.assert_allclose(one.true, two.true, rtol=1e-12)
        assert abs(two.roc_auc - exact.roc_auc) <= two.roc_auc_error + 1e-12
        assert two.roc_auc_error < 0.01


def test_scores_that_differ_only_in_far_digits_have_a_bound_that_is_reached():
    scores = np.array([0.3, np.nextafter(0.3, 1)])
    p, groups = np.column_stack((1 - scores, scores)), np.array([0, 1])
    curve = ScoreCounts.of(p, groups).curves[1]
    assert (curve.roc_auc, curve.roc_auc_error) == (0.5, 0.5)
    assert score_curves(p, groups)[1].roc_auc == 1.0
    tied = ScoreCounts.of(np.full((4, 2), 0.5), np.array([0, 1, 0, 1])).curves[1]
    assert (tied.roc_auc, tied.roc_auc_error) == (0.5, 0.0)


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


def test_calibration_sums_of_parts_add_up():
    p, groups, weight = made_set(1)
    whole = CalibrationSums.of(p, groups, weight)
    parts = [CalibrationSums.of(p[s], groups[s], weight[s]) for s in (slice(9), slice(9, None))]
    both = parts[0] + parts[1]
    for name in ("total", "predicted", "hits"):
        np.testing.assert_allclose(getattr(both, name), getattr(whole, name))
