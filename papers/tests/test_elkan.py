"""How many rounds of boosting the folds choose."""

from __future__ import annotations

import numpy as np

from unnaive_papers.elkan.experiments import best_beyond_chance


def results(scores):
    return {f"split{k}_test_score": np.array(fold) for k, fold in enumerate(scores)}


def test_rounds_are_chosen_where_they_are_ahead_in_every_fold():
    scores = [[0.80, 0.84, 0.85], [0.70, 0.75, 0.74], [0.90, 0.93, 0.95]]
    assert best_beyond_chance(results(scores)) == 2


def test_naive_bayes_stays_where_folds_disagree_or_are_equal():
    assert best_beyond_chance(results([[0.8, 0.9], [0.8, 0.7], [0.8, 0.81]])) == 0
    assert best_beyond_chance(results([[0.8, 0.8], [0.7, 0.7]])) == 0
