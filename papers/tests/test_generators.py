"""Generated tables of the literature are what their definitions say."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from unnaive import NaiveBayesClassifier
from unnaive_papers.generators import (
    DIGITS,
    SEGMENTS,
    make_led,
    make_monks,
    make_parity,
    make_waveform,
    make_xor,
)


def test_led_has_its_best_possible_accuracy():
    """Right on 74 % at a noise of 0.1, by counting all 128 patterns; naive Bayes comes near."""
    chance = [
        [np.prod(np.where(np.array(bits) == digit, 0.9, 0.1)) for digit in DIGITS]
        for bits in itertools.product([False, True], repeat=7)
    ]
    best = np.max(chance, axis=1).sum() / 10
    assert best == pytest.approx(0.74, abs=0.001)
    X, y = make_led(40_000, random_state=0)
    score = NaiveBayesClassifier().fit(X[:30_000], y[:30_000]).score(X[30_000:], y[30_000:])
    assert score == pytest.approx(best, abs=0.015)


def test_led_without_noise_shows_digits():
    X, y = make_led(500, noise=0.0, n_irrelevant=0, random_state=0)
    assert (X[list(SEGMENTS)].to_numpy() == DIGITS[y]).all()


def test_waveform_means_are_midway_between_its_triangles():
    X, y = make_waveform(60_000, n_irrelevant=2, random_state=0)

    def h(peak):
        return np.maximum(6 - abs(np.arange(1, 22) - peak), 0)

    for wave, (a, b) in enumerate([(11, 15), (11, 7), (15, 7)]):
        mean = X[y == wave].iloc[:, :21].mean().to_numpy()
        np.testing.assert_allclose(mean, (h(a) + h(b)) / 2, atol=0.06)
    assert list(X)[-2:] == ["irrelevant_1", "irrelevant_2"]


@pytest.mark.parametrize(("problem", "monks"), [(1, 216), (2, 142), (3, 228)])
def test_monks_have_the_counts_of_the_original_test_sets(problem, monks):
    X, y = make_monks(problem)
    assert len(X.drop_duplicates()) == len(X) == 432
    assert y.sum() == monks


def test_xor_and_parity_need_columns_together():
    X, y = make_xor(1000, random_state=0)
    assert ((X["a"] > 0.5) != (X["b"] > 0.5)).eq(y).mean() > 0.99
    assert NaiveBayesClassifier().fit(X, y).score(X, y) < 0.6
    X, y = make_parity(5)
    assert len(X.drop_duplicates()) == 32
    assert (X.sum(axis=1) % 2 == y).all()
    for column in X:
        assert y[X[column]].mean() == 0.5


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: make_led(0), "n_samples must be a whole number, 1 or more; got 0"),
        (lambda: make_led(noise=2), "noise must be a number, from 0 to 1; got 2"),
        (lambda: make_monks(4), "problem must be 1, 2 or 3; got 4"),
        (lambda: make_parity(30), "30 bits have too many combinations"),
        (lambda: make_xor(n_irrelevant=-1), "n_irrelevant must be a whole number, 0 or more"),
    ],
)
def test_errors_name_the_parameter(make, words):
    with pytest.raises(ValueError, match=words):
        make()
