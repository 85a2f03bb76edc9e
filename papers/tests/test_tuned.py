"""Peers that are tuned within the time of our pool."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from unnaive_papers.comparison.page import on_the_folds_of, show
from unnaive_papers.comparison.tuned import RandomSearch, draw_parameters, evaluate_tuned, make_peer
from unnaive_papers.protocol import folds
from unnaive_papers.study import COMPARISON, load_study

SPACE = {"n_estimators": ["log", 2, 5], "max_features": ["uniform", 0.3, 1.0]}
FOREST = "sklearn forest"


def table(n=90):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=n), "b": rng.choice(list("xyz"), n)})
    return X, np.where(X["a"] + rng.normal(0, 0.5, n) > 0, "yes", "no")


def test_settings_lie_within_the_ranges_that_the_page_states():
    spaces = load_study(COMPARISON).parts["tuned"].options["spaces"]
    rng = np.random.default_rng(0)
    for method, space in spaces.items():
        for _ in range(50):
            drawn = draw_parameters(space, rng)
            for name, (_, least, most) in space.items():
                assert least <= drawn[name] <= most
                assert isinstance(drawn[name], int) == isinstance(least, int)
        if method.startswith("sklearn"):  # others may not be installed
            assert set(space) <= make_peer(method, 0, drawn)[-1].get_params().keys()
    with pytest.raises(ValueError, match="the scale of depth must be 'uniform' or 'log'"):
        draw_parameters({"depth": ["even", 1, 2]}, rng)


def test_the_setting_of_least_inner_loss_is_taken():
    X, y = table()
    search = RandomSearch(FOREST, SPACE, 4, 1e6, 0).fit(X, y)
    assert search.n_trials_ == 4
    rng, inner = np.random.default_rng(0), folds(y, 3, 0)
    tried = [{}, *(draw_parameters(SPACE, rng) for _ in range(3))]
    losses = [search._loss(params, X, y, inner, np.inf) for params in tried]
    assert search.params_ == tried[int(np.argmin(losses))]
    expected = make_peer(FOREST, 0, search.params_).fit(X, y).predict_proba(X)
    assert (search.predict_proba(X) == expected).all()


def test_without_time_a_peer_has_its_defaults():
    X, y = table()
    search = RandomSearch(FOREST, SPACE, 20, 0.0, 0).fit(X, y)
    assert (search.n_trials_, search.params_) == (1, {})


def test_the_page_shows_trials_seconds_and_what_settings_are_drawn_from():
    X, y = table(60)
    options = {"patience": 60, "trials": 2, "spaces": {FOREST: SPACE}}

    class Ours:
        """A model that takes no time."""

        def fit(self, X, y):
            return self

    record = evaluate_tuned(FOREST, Ours, X, y, folds(y, 2), 0, options)
    assert record["trials"] == 1
    assert (record["fits"], record["parts"]) == (2, 2)
    study = load_study(COMPARISON)
    ours = {k: v for k, v in record.items() if k not in ("trials", "pool_s")}
    rows = [
        {"set": "iris", "method": FOREST, **record},
        {"set": "iris", "method": "unnaive pool", **ours},
    ]
    empty = pd.DataFrame(columns=["set"])
    tuned, each, spaces = show(study, {"quality": empty, "tuned": pd.DataFrame(rows)}.get)
    assert [row[0] for row in tuned.rows] == ["unnaive pool", FOREST]
    assert [row[6] for row in tuned.rows] == ["", "1.0"]
    assert each.columns == ["set", "unnaive pool", FOREST]
    assert ["LightGBM", "learning_rate", "0.01 to 0.3", "logarithmic"] in spaces.rows


def test_a_method_out_of_time_is_compared_on_the_folds_it_finished():
    def record(name, method, so_far, parts=2):
        accuracy, log_loss = so_far[-1]
        whole = {"accuracy": accuracy, "log_loss": log_loss, "so_far": so_far}
        return {"set": name, "method": method, "fits": len(so_far), "parts": parts, **whole}

    records = pd.DataFrame(
        [
            record("iris", "slow", [(0.9, 0.2)]),
            record("wine", "slow", [(0.7, 0.5), (0.8, 0.4)]),
            record("iris", "quick", [(0.5, 1.0), (0.1, 9.0)]),
            record("wine", "quick", [(0.1, 9.0), (0.6, 3.0)]),
            record("iris", "slower", [(0.1, 9.0)]),
        ]
    )
    table = on_the_folds_of("slow", ["quick", "slower", "slow"], records)
    assert table.rows == [["quick", "55.00", "2.0000"], ["slow", "85.00", "0.3000"]]
    assert "2 distinct sets" in table.note
    assert "3 folds" in table.note
