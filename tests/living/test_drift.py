"""What has changed between samples: figures by their definitions, and drift that was planted."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from scipy.stats import chi2, chi2_contingency, kstest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.naive_bayes import GaussianNB

from unnaive import (
    BaggedNaiveBayesClassifier,
    BoostedNaiveBayesClassifier,
    ClassDecompositionClassifier,
    Discretizer,
    DriftDisplay,
    NaiveBayesClassifier,
    NBTreeClassifier,
    RandomForestClassifier,
    Timeline,
    UnnaiveBayesClassifier,
    drift,
    scan,
)
from unnaive.datasets import make_electricity, make_flights
from unnaive.living.display import drift_page
from unnaive.living.distances import (
    g_test,
    holm,
    interaction_test,
    stability_index,
    with_margins,
)


def rows(n, seed, *, flip=False, shift=0.0, rate=0.0):
    """Numbers a and c, categories b; the class depends on a and b."""
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=n) + shift, rng.choice(["x", "y", "z"], n)
    noise = rng.logistic(size=n)
    y = (-1 if flip else 1) * a + (b == "x") + noise + rate > 0
    X = pd.DataFrame({"a": a, "b": b, "c": rng.integers(0, 5, n) * 1.0})
    return X, np.where(y, "yes", "no")


def batches(X, y, size):
    """A timeline of batches of rows."""
    return Timeline("batch").fit(X.assign(batch=np.arange(len(X)) // size), y)


# Figures --------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [3.0, "same"])
def test_a_constant_column_has_stability_index_0(value):
    X, y = rows(900, 1)
    X["d"] = value
    found = drift(
        *(NaiveBayesClassifier().fit(X[p], y[p]) for p in (X.index < 850, X.index >= 850))
    )
    assert (found["d"].index, found["d"].drifted) == (0.0, False)


def test_figures_are_those_of_their_definitions():
    before, after = np.array([40.0, 25, 0, 35]), np.array([10.0, 30, 5, 25])
    p, q = (before + 0.5) / 102, (after + 0.5) / 72
    index = sum((b - a) * math.log(b / a) for a, b in zip(p, q, strict=True))
    assert stability_index(before, after) == pytest.approx(index)
    table = np.stack((before, after))
    wanted = chi2_contingency(table, correction=False, lambda_="log-likelihood")
    n, inverse = table.sum(), [(1 / table.sum(axis=axis)).sum() for axis in (0, 1)]
    williams = 1 + (n * inverse[0] - 1) * (n * inverse[1] - 1) / (6 * n * wanted.dof)
    found = g_test(before, after)
    assert found[:2] == pytest.approx((wanted.statistic / williams, wanted.dof))
    assert found.p_value == pytest.approx(chi2.sf(found.statistic, wanted.dof))
    assert g_test(before[:1], after[:1]).p_value == 1.0
    # Values with few rows are tested as one.
    sparse = g_test(np.append(before, [1.0, 0, 1]), np.append(after, [0.0, 1, 0]))
    assert sparse == pytest.approx(g_test(np.append(before, 2.0), np.append(after, 1.0)))
    assert g_test(np.array([1.0, 0]), np.array([0.0, 1])).freedom == 0


def test_holms_correction_multiplies_by_the_number_of_hypotheses_left():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.9, 0.5]) == [1.0, 1.0]
    assert holm([]) == []


def test_changed_evidence_is_what_logistic_regression_without_an_interaction_misses():
    before = np.array([[30.0, 20, 10, 7], [12, 25, 40, 9]])
    after = np.array([[10.0, 20, 30, 8], [9, 30, 22, 4]])
    design, labels, weights = [], [], []
    for period, side in enumerate((before, after)):
        for c in range(2):
            for v in range(4):
                design.append([period, *np.eye(4)[v]])
                labels.append(c)
                weights.append(side[c, v])
    model = LogisticRegression(C=np.inf, tol=1e-10, max_iter=10_000)
    fitted = model.fit(design, labels, weights).predict_proba(design)
    observed = [side[:, v] / side[:, v].sum() for side in (before, after) for v in range(4)]
    statistic = 0.0
    for (period, *value), c, w, p in zip(design, labels, weights, fitted, strict=True):
        statistic += 2 * w * np.log(observed[4 * int(period) + int(np.argmax(value))][c] / p[c])
    found = interaction_test(1e6 * before, 1e6 * after)  # so many rows need no correction
    assert found.statistic == pytest.approx(1e6 * statistic, rel=1e-4)
    assert found.freedom == 3


def test_new_shares_of_values_and_classes_are_no_change_of_evidence():
    odds = np.array([[30.0, 20, 10], [12, 25, 40]])
    moved = odds * np.array([[2.0], [1.0]]) * np.array([1.0, 5.0, 0.2])
    assert interaction_test(odds, moved).statistic == pytest.approx(0, abs=1e-6)
    np.testing.assert_allclose(with_margins(odds, moved), moved, rtol=1e-6)


def test_p_values_of_the_tests_are_uniform_when_nothing_changes():
    rng = np.random.default_rng(3)
    shares = rng.dirichlet(np.ones(6) * 3, 2)
    values, evidence = [], []
    for _ in range(300):
        both = [np.stack([rng.multinomial(400, own) for own in shares]) * 1.0 for _ in range(2)]
        values.append(g_test(both[0].sum(axis=0), both[1].sum(axis=0)).p_value)
        evidence.append(interaction_test(*both).p_value)
    for found in (values, evidence):
        assert kstest(found, "uniform").pvalue > 0.001


@pytest.mark.parametrize("sizes", [(20, 20), (1000, 20)])
def test_tests_of_few_rows_are_not_too_often_wrong(sizes):
    rng = np.random.default_rng(sum(sizes))
    shares = [np.full(10, 0.1), 0.6 ** np.arange(10)]
    for share in shares:
        p_values = np.array(
            [
                g_test(*(rng.multinomial(n, share / share.sum()) * 1.0 for n in sizes)).p_value
                for _ in range(500)
            ]
        )
        assert (p_values < 0.05).mean() < 0.08  # by three standard errors; it was up to 0.134
        assert (p_values < 0.01).mean() < 0.0225


def test_a_first_period_of_few_rows_is_not_too_often_far_from_the_next():
    alarms = 0
    for seed in range(60):
        X, y = rows(100, 300 + seed)
        alarms += drift(*(NaiveBayesClassifier().fit(X[s], y[s]) for s in
                                    (slice(0, 8), slice(8, 100)))).alarm  # fmt: skip
    assert alarms <= 2


# Planted and absent ---------------------------------------------------------------------------


def test_the_right_change_is_named():
    model = NaiveBayesClassifier().fit(*rows(3000, 0))
    assert not drift(model, *rows(1500, 1)).alarm
    moved = drift(model, *rows(1500, 2, shift=0.6))
    assert moved.drifted == ["a"]
    assert moved["a"].index > 0.1
    assert moved["a"].turned == ""
    turned = drift(model, *rows(1500, 3, flip=True))
    assert turned.drifted == ["a"]
    assert turned["a"].index < 0.1
    assert "yes -> no" in turned["a"].turned or "no -> yes" in turned["a"].turned
    assert turned.log_loss > turned.expected_log_loss + 0.2
    rates = drift(model, *rows(1500, 4, rate=2.0))
    assert rates.classes.drifted
    X, y = rows(1500, 5)
    X.loc[X["b"] == "z", "b"] = "new"
    X.loc[:600, "c"] = np.nan
    found = drift(model, X, y)
    assert set(found.drifted) == {"b", "c"}
    assert (found["b"].new, found["b"].vanished) == (("new",), ("z",))
    assert found["c"].missing_after == pytest.approx(601 / 1500)


def test_without_labels_values_and_predictions_are_compared():
    model = NaiveBayesClassifier().fit(*rows(3000, 0))
    X, y = rows(1500, 2, shift=0.6)
    found = drift(model, X)
    assert found.drifted == ["a"]
    assert math.isnan(found.log_loss)
    assert math.isnan(found["a"].evidence_loss)
    p = model.predict_proba(X)
    np.testing.assert_allclose(found.classes.predicted, p.mean(axis=0))
    assert found.expected_log_loss == pytest.approx(-(p * np.log(p)).sum(axis=1).mean())
    assert drift(model, X, y).log_loss == pytest.approx(log_loss(y, p))
    assert found.classes.before == drift(model, X, y).classes.before


def test_drift_over_time_is_drawn_as_cells_and_as_lines():
    X, y = rows(2000, 6)
    X.loc[1000:, "a"] += 1
    timeline = batches(X, y, 500)
    display = DriftDisplay.from_timeline(timeline)
    assert display.columns_[0] == "a"
    drawn = display.ax_.images[0].get_array()
    np.testing.assert_allclose(drawn, timeline.drift().matrix(display.columns_))
    assert len(display.ax_.texts) == sum(len(d.drifted) for d in display.drift.drifts)
    lines = DriftDisplay(display.drift).plot(kind="lines", max_columns=2)
    assert lines.ax_.size == 2
    np.testing.assert_allclose(lines.ax_.flat[0].lines[0].get_ydata(), drawn[0])
    with pytest.raises(ValueError, match="kind must be"):
        display.plot(kind="pie")
    plt.close("all")


def test_nothing_is_found_where_nothing_changes():
    alarms = 0
    for seed in range(12):
        X, y = rows(2000, 100 + seed)
        first, second = (NaiveBayesClassifier().fit(X[k::2], y[k::2]) for k in range(2))
        alarms += drift(first, second).alarm
    assert alarms == 0


# Sources and forms ----------------------------------------------------------------------------


@pytest.mark.parametrize("numeric", ["mdl", "frequency", "kernel"])
def test_drift_of_known_rows_is_the_comparison_of_their_sums(numeric):
    X, y = rows(900, 3)
    X["whole"], X["gap"] = np.arange(900) // 7 % 31, np.where(np.arange(900) % 5, X["a"], np.nan)
    weight = 1.0 + np.arange(900) % 3
    model = NaiveBayesClassifier(numeric=numeric).fit(X, y, weight)
    some = slice(100, 700)
    part = NaiveBayesClassifier(numeric=numeric).fit(X[some], y[some], weight[some])
    watched = drift(model, X[some], y[some], weight[some])
    assert list(map(repr, watched.columns)) == list(map(repr, drift(model, part).columns))


def test_rows_in_files_give_the_same_facts(tmp_path):
    model = NaiveBayesClassifier().fit(*rows(1000, 0))
    X, y = rows(500, 2, shift=0.6)
    X.assign(y=y).to_parquet(tmp_path / "new.parquet", row_group_size=100)
    files = drift(model, tmp_path / "new.parquet", "y").to_dict()
    memory = drift(model, X, y).to_dict()
    for name in ("log_loss", "expected_log_loss"):
        assert files.pop(name) == pytest.approx(memory.pop(name))
    for part in (files, memory):
        for share in part["classes"]["values"]:
            share["predicted"] = round(share["predicted"], 9)
    assert files == memory
    assert drift(model, scan(tmp_path / "new.parquet", columns=["a", "b", "c"])).drifted == ["a"]


def test_weights_are_repetitions():
    model = NaiveBayesClassifier().fit(*rows(1000, 0))
    X, y = rows(300, 2, shift=0.3)
    weight = np.arange(300) % 3 + 1
    twice = X.loc[X.index.repeat(weight)], np.repeat(y, weight)
    weighted, repeated = drift(model, X, y, weight).to_dict(), drift(model, *twice).to_dict()
    assert weighted.pop("rows_after") == 300
    assert repeated.pop("rows_after") == weight.sum()
    assert weighted["drifted"] == repeated["drifted"]
    assert weighted["log_loss"] == pytest.approx(repeated["log_loss"])
    for a, b in zip(weighted["columns"], repeated["columns"], strict=True):
        assert a["index"] == pytest.approx(b["index"])
        assert a["p_value"] == pytest.approx(b["p_value"])


def test_of_columns_with_normal_densities_only_missing_values_are_compared():
    model = NaiveBayesClassifier(numeric="gaussian").fit(*rows(2000, 0))
    X, y = rows(1000, 2, shift=0.6)
    found = drift(model, X.assign(a=X["a"].where(X["a"] > 0)), y)
    assert math.isnan(found["a"].index)
    assert found["a"].missing_after == pytest.approx((X["a"] <= 0).mean())
    assert "Its values were not counted." in drift_page(found)


def test_every_model_with_counts_can_be_monitored():
    X, y = rows(3000, 0)
    shifted = rows(1500, 2, shift=0.6)
    some = {"max_rounds": 5} if "max_rounds" in UnnaiveBayesClassifier().get_params() else {}
    models = [
        UnnaiveBayesClassifier(random_state=0, **some),
        BoostedNaiveBayesClassifier(),
        BaggedNaiveBayesClassifier(random_state=0),
        NBTreeClassifier(random_state=0),
        ClassDecompositionClassifier(estimator=NaiveBayesClassifier(), random_state=0),
    ]
    for model in models:
        model.fit(X, y)
        assert drift(model, *rows(1500, 1)).drifted == []
        found = drift(model, *shifted)
        assert found.drifted == ["a"]
        p = model.predict_proba(shifted[0])
        assert found.log_loss == pytest.approx(log_loss(shifted[1], p), abs=1e-9)
        np.testing.assert_allclose(found.classes.predicted, p.mean(axis=0))
    compact = NaiveBayesClassifier().fit(X, y)
    compact.compact()
    assert drift(compact, *shifted).drifted == ["a"]
    with pytest.raises(TypeError, match="RandomForestClassifier keeps none"):
        drift(RandomForestClassifier(random_state=0).fit(X, y), X)


def test_a_column_that_had_no_value_drifts_when_it_has_some():
    X, y = rows(900, 0)
    model = NaiveBayesClassifier().fit(X.assign(c=np.nan), y)
    found = drift(model, X, y)
    assert found.drifted == ["c"]
    assert drift(NaiveBayesClassifier().fit(X, y), X.assign(c=np.nan), y).drifted == ["c"]


def test_facts_are_a_table_a_dict_and_a_page():
    model = NaiveBayesClassifier().fit(*rows(1000, 0))
    X, y = rows(500, 2, shift=0.6)
    X.loc[:9, "b"] = "<script>alert(1)</script>"
    found = drift(model, X, y)
    frame = found.to_frame()
    assert frame["column"].tolist()[0] == "a"
    assert frame["drifted"].tolist().count(True) == len(found.drifted)
    assert "drift of 1 column" in repr(found)
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["drifted"] == ["a"]
    assert found["a"].to_frame()["after"].sum() == pytest.approx(1)
    page = drift_page(found, "a & b")
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert "Drift: a &amp; b" in page
    with pytest.raises(KeyError, match="no column 'q'"):
        found["q"]


def test_what_cannot_be_compared_is_refused():
    X, y = rows(200, 0)
    with pytest.raises(TypeError, match="GaussianNB keeps none"):
        drift(GaussianNB(), X)
    with pytest.raises(TypeError, match="str keeps none"):
        drift("a", "b")
    with pytest.raises(ValueError, match="level must be"):
        drift(NaiveBayesClassifier().fit(X, y), X, level=0)
    other = NaiveBayesClassifier().fit(X.rename(columns={"a": "d"}), y)
    with pytest.raises(ValueError, match="column 'a' of one table stands where"):
        drift(NaiveBayesClassifier().fit(X, y), other)
    same = Discretizer().fit(X, y), Discretizer().fit(X, y)
    assert not drift(*same).alarm


@pytest.mark.parametrize("seed", [101, 102])
@pytest.mark.parametrize(
    ("make", "kind", "column"),
    [
        (make_electricity, "concept", "demand"),
        (make_electricity, "values", "transfer"),
        (make_flights, "concept", "carrier"),
        (make_flights, "values", "distance"),
    ],
)
def test_a_change_planted_in_a_stream_is_found_within_two_periods(make, kind, column, seed):
    X, y = make(4000, drift_at=2700, kind=kind, random_state=seed)  # within a period
    days = batches(X.drop(columns="time"), y, 500)
    found = days.drift()
    assert found.alarms[0] in (5, 6)  # 2700 is in the period 5
    assert found.drifts[found.periods.index(found.alarms[0])].drifted == [column]


def test_labels_of_another_type_are_no_drift_of_base_rates():
    X, y = pd.DataFrame({"a": np.arange(60.0)}), np.repeat(["no", "yes"], 30)
    model = NaiveBayesClassifier().fit(X, y)
    with pytest.raises(ValueError, match="labels are text in one part"):
        drift(model, X, y == "yes")
