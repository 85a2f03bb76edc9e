"""Timelines: any window is the fit on its rows, and the file outlives whatever happens to it."""

from __future__ import annotations

import datetime
import io
import subprocess
import sys
import textwrap

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unnaive import C45Classifier, Discretizer, NaiveBayesClassifier, Timeline, save, scan
from unnaive.living.file import TimelineFile
from unnaive.living.periods import coarser, span_of
from unnaive.pack import PackError


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
FEATURES = X.drop(columns="when")
KNOWN = X[X["text"].notna()]
GAUSSIAN = NaiveBayesClassifier(numeric="gaussian", missing="value")


@pytest.mark.parametrize("estimator", [NaiveBayesClassifier(), GAUSSIAN, Discretizer()], ids=str)
@pytest.mark.parametrize("by", ["day", "week", "month"])
def test_any_window_is_the_fit_on_its_rows_byte_for_byte(by, estimator):
    timeline = Timeline(by, estimator, time="when").fit(X[:400], Y[:400]).append(X[400:], Y[400:])
    periods = timeline.periods_
    rng = np.random.default_rng(1)
    for _ in range(4):
        first, last = sorted(rng.integers(0, len(periods), 2))
        inside = (X["when"] >= span_of(periods[first]).start) & (
            X["when"] < span_of(periods[last]).end
        )
        whole = type(estimator)(**estimator.get_params()).fit(FEATURES[inside], Y[inside])
        assert saved(timeline.model(periods[first], periods[last])) == saved(whole)
    assert saved(timeline.model()) == saved(
        type(estimator)(**estimator.get_params()).fit(FEATURES, Y)
    )


def test_late_rows_go_to_their_own_period_in_any_order_of_appends():
    order = np.random.default_rng(2).permutation(len(X))
    whole = Timeline("month", time="when").fit(X, Y)
    late = Timeline("month", time="when")
    for rows in np.array_split(order, 4):
        late.append(X.iloc[rows], Y[rows])
        late.model(until=late.periods_[0])  # sums that were kept are made anew
    assert late.periods_ == whole.periods_
    for period in whole:
        assert saved(late.model(period, period)) == saved(whole.model(period, period))


@pytest.mark.parametrize("estimator", [NaiveBayesClassifier(), GAUSSIAN], ids=str)
def test_half_lives_are_weights_of_rows(estimator):
    timeline = Timeline("day", estimator, time="when").fit(X, Y)
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


def test_periods_of_rows_and_of_a_column():
    rows = Timeline(150, NaiveBayesClassifier()).fit(FEATURES[:200], Y[:200])
    rows.append(FEATURES[200:], Y[200:])
    assert rows.periods_ == [0, 1, 2, 3]
    assert [rows[p].n_rows for p in rows] == [150] * 4
    assert saved(rows.model(1, 2)) == saved(
        NaiveBayesClassifier().fit(FEATURES[150:450], Y[150:450])
    )
    batch = np.arange(len(X)) // 200
    values = Timeline("batch").fit(FEATURES.assign(batch=batch), Y)
    assert values.periods_ == [0, 1, 2]
    assert saved(values.model(since=1)) == saved(
        NaiveBayesClassifier().fit(FEATURES[200:], Y[200:])
    )
    weights = 0.5 ** ((2 - batch) / 2)
    np.testing.assert_allclose(
        values.model(half_life=2).predict_proba(FEATURES),
        NaiveBayesClassifier().fit(FEATURES, Y, weights).predict_proba(FEATURES),
        rtol=1e-9,
    )


def test_files_weights_and_other_tables_give_the_same_sums(tmp_path):
    weight = np.arange(len(X)) % 3
    X.assign(y=Y, w=weight).to_parquet(tmp_path / "rows.parquet", row_group_size=100)
    X.assign(y=Y, w=weight).to_csv(tmp_path / "rows.csv", index=False)
    memory = Timeline("month", time="when").fit(X, Y, weight)
    text = X.assign(when=X["when"].dt.strftime("%Y-%m-%dT%H:%M"))
    for rows in (
        (scan(tmp_path / "rows.parquet", "y", weight="w"),),
        (tmp_path / "rows.csv", "y", "w"),
        (pl.from_pandas(X), Y, weight),
        (text, Y, weight),
    ):
        other = Timeline("month", time="when").fit(*rows)
        assert other.periods_ == memory.periods_
        for period in memory:
            assert saved(other.model(period, period)) == saved(memory.model(period, period))


def test_rows_on_a_cluster_give_the_same_sums():
    dd = pytest.importorskip("dask.dataframe")
    frame = dd.from_pandas(X.assign(y=Y), npartitions=3)
    timeline = Timeline("month", time="when").fit(frame, "y")
    memory = Timeline("month", time="when").fit(X, Y)
    assert timeline.periods_ == memory.periods_
    assert saved(timeline.model("2024-01", "2024-02")) == saved(memory.model("2024-01", "2024-02"))
    with pytest.raises(ValueError, match="counts rows, and these have no order"):
        Timeline(100).fit(frame, "y")


def test_old_periods_merge_into_larger_ones_and_models_stay(tmp_path):
    timeline = Timeline("day", time="when", path=tmp_path / "t.unt").fit(X, Y)
    before, size = saved(timeline.model()), (tmp_path / "t.unt").stat().st_size
    january = saved(timeline.model("2024-01", "2024-01"))
    timeline.compact(keep_days=30, by="month")
    assert timeline.periods_[:2] == ["2023-12", "2024-01"]
    assert timeline.periods_[-1] == "2024-03-28"
    assert (tmp_path / "t.unt").stat().st_size < size
    again = Timeline.open(tmp_path / "t.unt")
    for one in (timeline, again):
        assert saved(one.model()) == before
        assert saved(one.model("2024-01", "2024-01")) == january
    with pytest.raises(ValueError, match="only a part of the period '2024-01'"):
        again.model(since="2024-01-15")
    again.append(X[:50], Y[:50])  # late rows: some belong to months, some to days
    assert again.periods_ == timeline.periods_
    twice = pd.concat([FEATURES, FEATURES[:50]]), np.concatenate([Y, Y[:50]])
    assert saved(again.model()) == saved(NaiveBayesClassifier().fit(*twice))
    assert again.coarsen("month").periods_ == ["2023-12", "2024-01", "2024-02", "2024-03"]
    assert Timeline.open(tmp_path / "t.unt").by == "month"


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


def test_a_file_that_was_cut_at_50_moments_of_its_last_append_keeps_all_before(tmp_path):
    path = tmp_path / "t.unt"
    first = Timeline("month", time="when", path=path).fit(X[:300], Y[:300])
    before, start = saved(first.model()), path.stat().st_size
    first.append(X[300:], Y[300:])
    after, whole = saved(first.model()), path.read_bytes()
    rng = np.random.default_rng(0)
    cuts = [start, start + 1, *rng.integers(start, len(whole), 47), len(whole) - 1]
    for k, cut in enumerate(cuts):
        path.write_bytes(whole[:cut])
        timeline = Timeline.open(path)
        assert saved(timeline.model()) == before
        if k % 7 == 0:
            timeline.append(X[300:], Y[300:])
            assert path.read_bytes() == whole
    assert saved(Timeline.open(path).model()) == after
    path.write_bytes(whole[:start] + whole[start:].replace(b"\x00", b"\x01", 1))
    with pytest.raises(PackError, match="the timeline .* cannot be read"):
        Timeline.open(path)


def test_a_process_that_is_killed_while_appending_loses_nothing(tmp_path):
    path = tmp_path / "t.unt"
    Timeline(10, path=path).fit(FEATURES[:10], Y[:10])
    code = textwrap.dedent(f"""
        import pandas as pd
        from unnaive import Timeline
        timeline = Timeline.open({str(path)!r})
        rows = pd.DataFrame(dict(number=[1.0] * 10, text=["a"] * 10))
        while True:
            timeline.append(rows, ["no"] * 10)
            print(len(timeline), flush=True)
    """)
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as child:
        said = [child.stdout.readline() for _ in range(6)]
        child.kill()
        said += child.stdout.read().split("\n")
    known = max(int(line) for line in said if line.strip().isdigit())
    timeline = Timeline.open(path)
    assert known <= len(timeline) <= known + 1
    timeline.append(FEATURES[:10], Y[:10])
    assert len(Timeline.open(path)) == len(timeline)


def test_two_processes_may_append_to_one_file(tmp_path):
    path = tmp_path / "t.unt"
    one = Timeline("month", time="when", path=path).fit(X[:200], Y[:200])
    other = Timeline.open(path)
    one.append(X[200:400], Y[200:400])
    other.append(X[400:], Y[400:])
    assert saved(other.model()) == saved(Timeline.open(path).model())
    assert saved(other.model()) == saved(NaiveBayesClassifier().fit(FEATURES, Y))
    one.compact(10, "quarter")
    with pytest.raises(PackError, match="was written anew by another process"):
        other.append(X[:5], Y[:5])


def test_facts_say_how_much_each_period_holds(tmp_path):
    timeline = Timeline("month", time="when").fit(X, Y)
    frame = timeline.facts().to_frame()
    assert frame["rows"].sum() == len(X)
    assert (frame["bytes"] > 0).all()
    assert "600 rows" in repr(timeline.facts())
    timeline.save(tmp_path / "copy.unt")
    assert saved(Timeline.open(tmp_path / "copy.unt").model()) == saved(timeline.model())


def test_windows_begin_at_moments_of_any_zone():
    timeline = Timeline("day", time="when").fit(X, Y)
    moment = pd.Timestamp("2024-01-10T01:00", tz="Europe/Berlin")
    assert saved(timeline.model(moment)) == saved(timeline.model("2024-01-10"))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Timeline("month"), "name the column of dates or times with time="),
        (lambda: Timeline(0), "at least 1 row"),
        (lambda: Timeline(1.5), "by must be one of 'hour'"),
        (lambda: Timeline("batch", time="when"), "names a column itself"),
        (lambda: Timeline("month", C45Classifier(), time="when"), "C45Classifier needs more than"),
        (lambda: Timeline(9, NaiveBayesClassifier(calibration="slope")), "rows again"),
        (lambda: Timeline(9, NaiveBayesClassifier(grid_limit=10**6)), "grid_limit must be"),
        (lambda: Timeline("month", time="when").model(), "no rows yet"),
        (lambda: Timeline("month", time="day").fit(X, Y), "there is no column 'day'"),
        (lambda: Timeline("month", time="number").fit(X, Y), "must hold dates or times"),
        (lambda: Timeline("day", time="text").fit(KNOWN, Y[: len(KNOWN)]), "'[ab]' is no date"),
        (lambda: Timeline("text").fit(X, Y), "column 'text' says when rows were, and"),
        (lambda: Timeline("month", time="when").fit(X, Y).model("2031"), "no row is of the"),
        (lambda: Timeline("month", time="when").fit(X, Y).model("March"), "'March' is no period"),
        (lambda: Timeline("day", time="when").fit(X, Y).model(half_life=0), "days, or a time"),
        (lambda: Timeline("week", time="when").fit(X, Y).compact(3, "day"), "a week lies"),
        (lambda: Timeline(10).fit(FEATURES, Y).model(since=99), "99 is no period"),
        (lambda: Timeline(10).fit(FEATURES, Y).coarsen("month"), "not those of a calendar"),
        (lambda: Timeline("day", time="when").fit(X, Y).compact(np.nan, "month"), "keep_days must"),
    ],
)  # fmt: skip
def test_errors_say_what_to_do(make, words):
    with pytest.raises((ValueError, TypeError), match=words):
        make()


def test_rows_of_another_type_are_refused_before_anything_is_kept(tmp_path):
    path = tmp_path / "t.unt"
    timeline = Timeline("month", time="when", path=path).fit(X, Y)
    before = path.read_bytes()
    with pytest.raises(ValueError, match="column 'number' held numbers"):
        timeline.append(X.assign(number="text"), Y)
    assert path.read_bytes() == before
    with pytest.raises(FileExistsError, match="Timeline.open goes on"):
        Timeline("month", time="when", path=path)
    wrong = TimelineFile(str(path))
    about, added = wrong.read()
    for changed in ({"by": "year 1"}, {"time": None}, {"estimator": {"is": "os"}}):
        wrong.write(about | changed, added)
        with pytest.raises(PackError, match="cannot be read"):
            Timeline.open(path)
    wrong.write(about, [(1, [("no month", added[0][1][0][1])])])
    with pytest.raises(PackError, match="'no month' is no period"):
        Timeline.open(path)
    (tmp_path / "other").write_text("hello, this is no timeline")
    with pytest.raises(PackError, match="is not a timeline of unnaive"):
        Timeline.open(tmp_path / "other")
