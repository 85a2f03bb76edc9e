"""Timelines: any window is the fit on its rows."""

from __future__ import annotations

import datetime
import io

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import assert_same_model
from unnaive import C45Classifier, Discretizer, NaiveBayesClassifier, Timeline, load, save, scan
from unnaive.living.periods import coarser, span_of


def saved(model):
    file = io.BytesIO()
    save(model, file)
    return file.getvalue()


def stream(n=600, days=100, seed=0):
    rng = np.random.default_rng(seed)
    when = pd.Timestamp("2023-12-20") + pd.to_timedelta(rng.integers(0, days * 24, n), unit="h")
    X = pd.DataFrame({
        "when": when,
        "number": np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n).round(2)),
        "text": rng.choice(["a", "b", None], n),
    })  # fmt: skip
    return X, rng.choice(["no", "yes", "perhaps"], n, p=[0.5, 0.45, 0.05])


X, Y = stream()
NAMED = pd.Series(Y, name="y")
FEATURES = X.drop(columns="when")
KNOWN = X[X["text"].notna()]
GAUSSIAN = NaiveBayesClassifier(numeric="gaussian", missing="value")


def months(estimator=None):
    return Timeline("month", time="when", estimator=estimator)


@pytest.mark.parametrize("estimator", [NaiveBayesClassifier(), GAUSSIAN, Discretizer()], ids=str)
@pytest.mark.parametrize("by", ["day", "week", "month"])
def test_any_window_is_the_fit_on_its_rows(by, estimator):
    timeline = Timeline(by, estimator=estimator, time="when")
    timeline.fit(X[:400], Y[:400]).partial_fit(X[400:], Y[400:])
    periods = timeline.periods_
    rng = np.random.default_rng(1)
    for _ in range(4):
        first, last = sorted(rng.integers(0, len(periods), 2))
        inside = (X["when"] >= span_of(periods[first]).start) & (
            X["when"] < span_of(periods[last]).end
        )
        whole = type(estimator)(**estimator.get_params()).fit(FEATURES[inside], Y[inside])
        assert_same_model(timeline.model(periods[first], periods[last]), whole)
    whole = type(estimator)(**estimator.get_params()).fit(FEATURES, Y)
    assert_same_model(timeline.model(), whole)


def test_late_rows_go_to_their_own_period_in_any_order_of_appends():
    order = np.random.default_rng(2).permutation(len(X))
    whole = Timeline("month", time="when").fit(X, Y)
    late = Timeline("month", time="when")
    for rows in np.array_split(order, 4):
        late.partial_fit(X.iloc[rows], Y[rows])
    assert late.periods_ == whole.periods_
    for period in whole:
        assert saved(late.model(period, period)) == saved(whole.model(period, period))


@pytest.mark.parametrize("estimator", [NaiveBayesClassifier(), GAUSSIAN], ids=str)
def test_half_lives_are_weights_of_rows(estimator):
    timeline = Timeline("day", estimator=estimator, time="when").fit(X, Y)
    end = span_of(timeline.periods_[-1]).end
    ends = (X["when"].dt.floor("D") + pd.Timedelta(days=1)).to_numpy()
    weight = 0.5 ** ((end - ends) / np.timedelta64(1, "D") / 20.0)
    whole = type(estimator)(**estimator.get_params()).fit(FEATURES, Y, weight)
    for half_life in (20, datetime.timedelta(days=20)):
        faded = timeline.model(half_life=half_life)
        assert saved(faded) != saved(timeline.model())
        np.testing.assert_allclose(
            faded.predict_proba(FEATURES), whole.predict_proba(FEATURES), rtol=1e-9
        )


def test_periods_of_a_column():
    batch = np.arange(len(X)) // 200
    values = Timeline("batch").fit(FEATURES.assign(batch=batch), Y)
    assert values.periods_ == [0, 1, 2]
    assert [values[p].n_rows for p in values] == [200] * 3
    assert saved(values.model(since=1)) == saved(
        NaiveBayesClassifier().fit(FEATURES[200:], Y[200:])
    )
    weights = 0.5 ** ((2 - batch) / 2)
    np.testing.assert_allclose(
        values.model(half_life=2).predict_proba(FEATURES),
        NaiveBayesClassifier().fit(FEATURES, Y, weights).predict_proba(FEATURES),
        rtol=1e-9,
    )


@pytest.mark.parametrize("values", [[False, True], [1.0, 2.5], ["2024-01-05", "2024-03-01"]])
def test_values_of_any_type_are_periods(values):
    dates = isinstance(values[0], str)
    column = pd.to_datetime(values).tolist() if dates else values
    table = pd.DataFrame({"a": np.arange(40.0), "p": column * 20})
    timeline = Timeline("p").fit(table, np.arange(40) % 4 > 1)
    file = io.BytesIO()
    save(timeline, file)
    assert timeline.periods_ == load(file).periods_ == column


def test_columns_beyond_the_grid_limit_share_the_cells_of_all_periods():
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"x": rng.normal(size=900), "batch": np.arange(900) // 300})
    y = np.where(rows["x"] + rng.normal(size=900) > 0, "a", "b")
    timeline = Timeline("batch", estimator=NaiveBayesClassifier(grid_limit=50)).fit(rows, y)
    whole = timeline.summary()
    assert whole.coders[0].size <= 50
    low, counts = [], 0.0
    for period in timeline:
        part = timeline[period]
        place = np.searchsorted(whole.coders[0].low, part.coders[0].low)
        np.testing.assert_array_equal(whole.coders[0].low[place], part.coders[0].low)
        low += part.coders[0].low.tolist()
        counts += part.counts.counts.sum()
    assert set(low) == set(whole.coders[0].low.tolist())
    assert counts == len(rows)


def test_files_weights_and_other_tables_give_the_same_sums(tmp_path):
    weight = np.arange(len(X)) % 3
    X.assign(y=Y, w=weight).to_parquet(tmp_path / "rows.parquet", row_group_size=100)
    X.assign(y=Y, w=weight).to_csv(tmp_path / "rows.csv", index=False)
    memory = Timeline("month", time="when").fit(X, NAMED, weight)
    text = X.assign(when=X["when"].dt.strftime("%Y-%m-%dT%H:%M"))
    for rows in (
        (scan(tmp_path / "rows.parquet", "y", weight="w"),),
        (tmp_path / "rows.csv", "y", "w"),
        (pl.from_pandas(X), NAMED, weight),
        (text, NAMED, weight),
    ):
        other = Timeline("month", time="when").fit(*rows)
        assert other.periods_ == memory.periods_
        for period in memory:
            assert saved(other.model(period, period)) == saved(memory.model(period, period))


def test_rows_on_a_cluster_give_the_same_sums():
    dd = pytest.importorskip("dask.dataframe")
    frame = dd.from_pandas(X.assign(y=Y), npartitions=3)
    timeline = Timeline("month", time="when").fit(frame, "y")
    memory = Timeline("month", time="when").fit(X, NAMED)
    assert timeline.periods_ == memory.periods_
    assert saved(timeline.model("2024-01", "2024-02")) == saved(memory.model("2024-01", "2024-02"))


def test_periods_merge_into_larger_ones_and_models_stay():
    timeline = Timeline("day", time="when").fit(X, Y)
    before, january = saved(timeline.model()), saved(timeline.model("2024-01", "2024-01"))
    timeline.coarsen("month")
    assert timeline.periods_ == ["2023-12", "2024-01", "2024-02", "2024-03"]
    assert timeline.by == "month"
    assert saved(timeline.model()) == before
    assert saved(timeline.model("2024-01", "2024-01")) == january
    with pytest.raises(ValueError, match="only a part of the period '2024-01'"):
        timeline.model(since="2024-01-15")
    timeline.partial_fit(X[:50], Y[:50])
    assert timeline.periods_ == ["2023-12", "2024-01", "2024-02", "2024-03"]
    twice = pd.concat([FEATURES, FEATURES[:50]]), np.concatenate([Y, Y[:50]])
    assert saved(timeline.model()) == saved(NaiveBayesClassifier().fit(*twice))


@settings(max_examples=20, deadline=None)
@given(st.dates(datetime.date(1950, 1, 1), datetime.date(2090, 12, 31)))
def test_larger_periods_hold_the_smaller_ones(day):
    text = day.isoformat()
    assert span_of(text).end - span_of(text).start == np.timedelta64(1, "D")
    for unit in ("week", "month", "quarter", "year"):
        larger = span_of(coarser(text, unit))
        assert larger.start <= span_of(text).start < span_of(text).end <= larger.end
    year, week, _ = day.isocalendar()
    assert coarser(text, "week") == f"{year}-W{week:02d}"


@pytest.mark.parametrize("estimator", [None, GAUSSIAN, Discretizer()], ids=str)
def test_timelines_are_saved_and_go_on(tmp_path, estimator):
    timeline = Timeline("week", estimator=estimator, time="when").fit(X[:400], Y[:400])
    save(timeline, tmp_path / "rows.unv")
    again = load(tmp_path / "rows.unv")
    assert repr(again) == repr(timeline)
    assert again.periods_ == timeline.periods_
    for one in (timeline, again):
        one.partial_fit(X[400:], Y[400:])
    assert saved(again) == saved(timeline)
    assert saved(again.model()) == saved(timeline.model())


def test_windows_begin_at_moments_of_any_zone():
    timeline = Timeline("day", time="when").fit(X, Y)
    moment = pd.Timestamp("2024-01-10T01:00", tz="Europe/Berlin")
    assert saved(timeline.model(moment)) == saved(timeline.model("2024-01-10"))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Timeline("month").fit(X, Y), "name the column of dates or times with time="),
        (lambda: Timeline(1000).fit(X, Y), "by must be one of 'hour'.*numbers of batches"),
        (lambda: Timeline("batch", time="when").fit(X, Y), "names a column itself"),
        (lambda: months(C45Classifier()).fit(X, Y), "C45Classifier needs more than"),
        (lambda: months(NaiveBayesClassifier(calibration="slope")).fit(X, Y), "rows again"),
        (lambda: months(NaiveBayesClassifier(grid_limit=10**6)).fit(X, Y), "grid_limit must be"),
        (lambda: Timeline("month", time="when").model(), "not fitted yet"),
        (lambda: Timeline("month", time="day").fit(X, Y), "there is no column 'day'"),
        (lambda: Timeline("month", time="number").fit(X, Y), "must hold dates or times"),
        (lambda: Timeline("day", time="text").fit(KNOWN, Y[: len(KNOWN)]), "'[ab]' is no date"),
        (lambda: Timeline("text").fit(X, Y), "column 'text' says when rows were, and"),
        (lambda: months().fit(X, Y).model("2031"), "no row is of the"),
        (lambda: months().fit(X, Y).model("March"), "'March' is no period"),
        (lambda: months().fit(X, Y).model(half_life=0), "days, or a time"),
        (lambda: Timeline("week", time="when").fit(X, Y).coarsen("day"), "a week lies"),
        (lambda: Timeline("text").fit(KNOWN, Y[: len(KNOWN)]).model(since=99), "99 is no period"),
        (lambda: Timeline("text").fit(KNOWN, Y[: len(KNOWN)]).coarsen("month"), "not those of a"),
    ],
)
def test_errors_say_what_to_do(make, words):
    with pytest.raises((ValueError, TypeError), match=words):
        make()


def test_rows_of_another_type_are_refused_and_nothing_changes():
    timeline = months().fit(X, Y)
    before = saved(timeline)
    with pytest.raises(ValueError, match="column 'number' held numbers"):
        timeline.partial_fit(X.assign(number="text"), Y)
    with pytest.raises(ValueError, match="labels are text in one part"):
        timeline.partial_fit(X, np.arange(len(X)) % 2)
    assert saved(timeline) == before
