"""The file of a timeline: what periods share is written once, and no word of it is trusted."""

from __future__ import annotations

import io
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuzz import timelines as wrong_timelines
from unnaive import NaiveBayesClassifier, Timeline, save
from unnaive.counts import Summary
from unnaive.encode import Categories, Labels
from unnaive.living.file import TimelineFile
from unnaive.living.stack import AT, RECORDS, Catalog, Stack, stack_sums, unstack_sums
from unnaive.pack import PackError, limits, write_pack
from unnaive.pack.known import OBJECTS

FORMAT_1 = Path(__file__).parent / "files" / "format_1.unt"  # of the code before format 2


def saved(model):
    file = io.BytesIO()
    save(model, file)
    return file.getvalue()


def packed(summary):
    """All that a period has, by itself: the slow and obvious record."""
    file = io.BytesIO()
    write_pack(file, OBJECTS.pack(summary, Summary), kind="sums", version=1)
    return file.getvalue()


def rows(n, seed=0, text=("a", "b", "c")):
    rng = np.random.default_rng(seed)
    number = np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n).round(1))
    X = pd.DataFrame({"number": number, "text": rng.choice([*text, None], n), "none": None})
    return X, rng.choice(["no", "yes"], n)


@settings(max_examples=15, deadline=None)
@given(
    st.integers(1, 60), st.integers(1, 20), st.integers(0, 10**6), st.sampled_from([8, 65_534]),
    st.sampled_from(["mdl", "gaussian"]), st.sampled_from([None, 1.0, 300.0, 0.3]),
)  # fmt: skip
def test_sums_come_back_from_a_stack_as_each_would_by_itself(n, by, seed, limit, rule, weight):
    X, y = rows(n, seed)
    weights = None if weight is None else np.full(n, weight)
    estimator = NaiveBayesClassifier(numeric=rule, grid_limit=limit)
    timeline = Timeline(by, estimator).fit(X, y, weights)
    sums = [timeline[period] for period in timeline]
    catalog = Catalog()
    again = unstack_sums(stack_sums(sums, catalog), catalog)
    assert list(map(packed, again)) == list(map(packed, sums))


def test_values_that_are_equal_but_not_the_same_stay_apart():
    catalog = Catalog()
    alike = [(1, 2), (True, 2), (1.0, 2), (Decimal("1"), 2), (Decimal("1.0"), 2), (1, 2)]
    places = [catalog.place(Categories(values)) for values in alike]
    assert places == [0, 1, 2, 3, 4, 0]
    labels = [np.array([0, 1]), np.array([0, 1], np.int8), np.array(["0", "1"]), np.array([0, 1])]
    assert [catalog.place(Labels(classes)) for classes in labels] == [5, 6, 7, 5]


def test_what_periods_share_is_written_once(tmp_path):
    X, y = rows(40)
    timeline = Timeline(40, path=tmp_path / "t.unt").fit(X, y)
    known, first = len(timeline._file._catalog), (tmp_path / "t.unt").stat().st_size
    for _ in range(20):
        timeline.append(X, y)
    assert len(timeline._file._catalog) == known
    assert (tmp_path / "t.unt").stat().st_size < first + 20 * first / 2
    timeline.append(*rows(40, text=("a", "b", "d")))
    assert len(timeline._file._catalog) == known + 1  # its categories, and no more
    again = Timeline.open(tmp_path / "t.unt")
    assert again[20].schema is again[0].schema
    assert saved(again.model()) == saved(timeline.model())


def test_files_of_format_1_are_read_and_go_on(tmp_path):
    path = tmp_path / "t.unt"
    path.write_bytes(FORMAT_1.read_bytes())
    timeline = Timeline.open(path)
    assert timeline.periods_[0] == "2023-W51"
    assert sum(timeline[period].n_rows for period in timeline) == 80
    X = pd.DataFrame({"when": ["2024-02-01"] * 4, "number": [1.5] * 4, "text": ["a"] * 4})
    timeline.append(X, ["no", "yes"] * 2)
    again = Timeline.open(path)
    assert again.periods_[-1] == "2024-W05"
    assert saved(again.model()) == saved(timeline.model())
    again.save(path)
    assert saved(Timeline.open(path).model()) == saved(timeline.model())


def test_a_timeline_saved_over_its_own_file_goes_on_with_it(tmp_path):
    X, y = rows(60)
    timeline = Timeline(20, path=tmp_path / "t.unt").fit(X[:40], y[:40])
    timeline.save(tmp_path / "t.unt")
    timeline.append(X[40:], y[40:])
    assert saved(Timeline.open(tmp_path / "t.unt").model()) == saved(timeline.model())


def test_labels_that_files_bring_to_one_type_do_not_spoil_it(tmp_path):
    X, _ = rows(40)
    timeline = Timeline(40, path=tmp_path / "t.unt").fit(X, np.arange(40) % 2)
    timeline.append(X, (np.arange(40) % 2).astype(">i8"))
    again = Timeline.open(tmp_path / "t.unt").append(X, np.arange(40) % 2)
    assert saved(Timeline.open(tmp_path / "t.unt").model()) == saved(again.model())


def test_an_append_that_fails_leaves_no_number_behind(tmp_path, monkeypatch):
    X, y = rows(40)
    timeline = Timeline(40, path=tmp_path / "t.unt").fit(X, y)
    whole = (tmp_path / "t.unt").read_bytes()

    def interrupted(self, file, record):
        file.seek(self._end)
        file.write(record[:100])
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(TimelineFile, "_append", interrupted)
        with pytest.raises(KeyboardInterrupt):
            timeline.append(*rows(40, text=("x", "y")))
    assert (tmp_path / "t.unt").read_bytes() == whole
    timeline.append(*rows(40, text=("x", "y")))
    assert saved(Timeline.open(tmp_path / "t.unt").model()) == saved(timeline.model())


def test_labels_of_another_type_are_refused_before_they_spoil_the_file(tmp_path):
    X, y = rows(40)
    timeline = Timeline(20, path=tmp_path / "t.unt").fit(X, y)
    whole, model = (tmp_path / "t.unt").read_bytes(), saved(timeline.model())
    for part in (X, X[:7]):
        with pytest.raises(ValueError, match="labels are text in one part .* numbers in another"):
            timeline.append(part, np.arange(len(part)) % 2)
    assert (tmp_path / "t.unt").read_bytes() == whole
    assert saved(timeline.model()) == saved(Timeline.open(tmp_path / "t.unt").model()) == model


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda s: s.references.__setitem__((0, AT.schema), 99), "99 of what .* is not there"),
        (lambda s: s.references.__setitem__((1, AT.labels), 0), "is a Schema, not a Labels"),
        (lambda s: s.references.__setitem__((0, AT.coders + 1), 2), "a Schema, not a Categories"),
        (lambda s: s.references.__setitem__((0, AT.form), -1), "below 0"),
        (lambda s: s.references.__setitem__((0, AT.coders), 0), "more or fewer grids"),
        (lambda s: s.low.__setitem__(1, s.low[0]), "cells are not in ascending order"),
        (lambda s: s.low.__setitem__(1, np.nan), "cells has numbers outside"),
        (lambda s: s.sizes.__setitem__(0, s.sizes[0] + 1), "grids have other cells"),
        (lambda s: s.sizes.__setitem__(0, -1), "sizes has numbers outside"),
        (lambda s: s.shifts.__setitem__(0, 64), "shifts has numbers outside"),
        (lambda s: s.rows.__setitem__(0, -1), "rows has numbers outside"),
        (lambda s: s.totals.__setitem__(0, np.inf), "totals has numbers outside"),
    ],
)  # fmt: skip
def test_wrong_numbers_are_refused_by_words(change, words):
    X, y = rows(40)
    timeline = Timeline(20).fit(X, y)
    catalog = Catalog()
    stack = stack_sums([timeline[0], timeline[1]], catalog)
    change(stack)
    with pytest.raises(ValueError, match=words):
        unstack_sums(RECORDS.unpack(RECORDS.pack(stack, Stack), Stack), catalog)


def test_a_short_file_cannot_ask_for_much_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "ALLOWANCE", 1 << 17)
    monkeypatch.setattr(limits, "MOST_RATIO", 20)
    timeline = Timeline(2, path=tmp_path / "t.unt").fit(*rows(2))
    parts = [(k, timeline[0]) for k in range(500)]
    timeline._file.write(timeline._about(), [(2, parts)])  # made longer, so that it can be read
    assert len(Timeline.open(tmp_path / "t.unt")) == 500
    with monkeypatch.context() as patch:
        patch.setattr(Stack, "cost", 0)
        timeline._file.write(timeline._about(), [(2, parts)])
    with pytest.raises(PackError, match="bytes that unpacks to .* is refused"):
        Timeline.open(tmp_path / "t.unt")


def test_wrong_files_are_refused_or_make_sense(tmp_path):
    path = tmp_path / "wrong.unt"
    every = wrong_timelines.samples(tmp_path)
    outcomes = set()
    for seed in range(90):
        path.write_bytes(wrong_timelines.wrong(every[seed % 3], every[seed // 3 % 3], seed))
        outcomes.add(wrong_timelines.judge(path))
    assert outcomes >= {"refused", "used"}
