"""A fit that was killed goes on from its checkpoint, to the identical model."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest
from sklearn.base import clone
from sklearn.model_selection import KFold

import unnaive
from helpers import assert_same_model
from registry import ESTIMATORS
from unnaive import (
    BoostedNaiveBayesClassifier,
    ClassDecompositionClassifier,
    FlexibleNBTreeClassifier,
    NaiveBayesClassifier,
    NBTreeClassifier,
    UnnaiveBayesClassifier,
    scan,
)
from unnaive.estimator.registry import estimators
from unnaive.models import _checkpoint
from unnaive.models.boost import coding, learn, resume
from unnaive.models.boost import rounds as boost_rounds
from unnaive.models.ensemble.rounds import Booster
from unnaive.models.tree.flexible import FlexibleGrower
from unnaive.models.tree.grow import Grower
from unnaive.pack import Journal
from unnaive.pack.journal import JournalError
from unnaive.table.files import FileSource

HERE = Path(__file__).parent.parent
# Small steps are allowed and nothing is cut back, so that trees have many nodes.
MANY = {"min_node_size": 20, "min_error_reduction": 0.01, "significance": None, "random_state": 0}
MODELS = {
    "nbtree": NBTreeClassifier(**MANY),
    "nbtree, global": NBTreeClassifier(**MANY, discretize="global"),
    "nbtree, pruned": NBTreeClassifier(**MANY | {"significance": 0.05}),
    "nbtree, splitter": NBTreeClassifier(**MANY, cv=KFold(4, shuffle=True, random_state=3)),
    "flexible": FlexibleNBTreeClassifier(**MANY | {"min_node_size": 150}),
    "flexible, utility": FlexibleNBTreeClassifier(
        **MANY | {"min_node_size": 250}, select="utility"
    ),
    "real": BoostedNaiveBayesClassifier(n_estimators=7, learning_rate=0.02),
    "m1": BoostedNaiveBayesClassifier(n_estimators=7, algorithm="m1", random_state=1),
    "early": BoostedNaiveBayesClassifier(
        n_estimators=9, algorithm="samme", early_stopping=True, learning_rate=0.3, random_state=2
    ),
    "unnaive": UnnaiveBayesClassifier(n_bags=3, max_rounds=60, max_bins=16, random_state=0),
    "unnaive, all rows": UnnaiveBayesClassifier(
        early_stopping=False, max_rounds=25, interactions=3, learning_rate=0.3
    ),
}


def rows(n: int = 900, seed: int = 0) -> pd.DataFrame:
    """Which columns matter depends on another one: naive Bayes alone misses much of that."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({name: rng.random(n).round(2) for name in "abcd"})
    kind = rng.integers(0, 3, n)
    a, b, c = (table[name].to_numpy() for name in "abc")
    y = np.choose(kind, [(a > 0.5) ^ (c > 0.7), (b > 0.4) ^ (a > 0.3), (c > 0.5) | (a < 0.1)])
    label = np.where(y ^ (rng.random(n) < 0.08), "x", "y").astype(object)
    label[rng.random(n) < 0.03] = "z"
    table["kind"] = np.array(["u", "v", "w"], dtype=object)[kind]
    table["day"] = pd.Timestamp("2024-02-28") + pd.to_timedelta(rng.integers(0, 9, n), "D")
    table['city\'s "name"'] = np.where(rng.random(n) < 0.9, table["kind"] + "?", None)
    table["nothing"] = np.nan
    table.loc[rng.random(n) < 0.05, "a"] = np.nan
    return table.assign(label=label, times=rng.integers(0, 3, n))


def write(folder: Path, table: pd.DataFrame) -> Path:
    folder.mkdir(exist_ok=True)
    for k, part in enumerate(np.array_split(np.arange(len(table)), 3)):
        own = pa.Table.from_pandas(table.iloc[part], preserve_index=False)
        pq.write_table(own, folder / f"{k}.parquet")
    return folder


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write(tmp_path_factory.mktemp("checkpoint") / "rows", rows())


@pytest.fixture(autouse=True)
def _every_step_is_written(monkeypatch):
    monkeypatch.setattr(Journal, "every", 0.0)
    monkeypatch.setattr(boost_rounds, "POINT", 2)


class StoppedError(Exception):
    """The process ended here."""


def stop_after(monkeypatch, steps: int | None) -> None:
    """Fits end with an error after so many steps have been kept."""
    add = Journal.__dict__["add"] if not hasattr(Journal, "_real") else Journal._real
    monkeypatch.setattr(Journal, "_real", add, raising=False)
    left = steps

    def limited(self, entry, *, now=False):
        nonlocal left
        add(self, entry, now=now)
        if left is not None:
            left -= 1
            if left == 0:
                raise StoppedError

    monkeypatch.setattr(Journal, "add", limited)


def left_behind(monkeypatch, model, source, steps: int, **given) -> None:
    """Leave the checkpoint of a fit that has ended early."""
    stop_after(monkeypatch, steps)
    with pytest.raises(StoppedError):
        clone(model).fit(scan(source, "label", weight="times", **given))
    stop_after(monkeypatch, None)


# Going on ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MODELS)
def test_stopped_after_every_few_steps_the_model_is_the_same(name, data, tmp_path, monkeypatch):
    model, path = MODELS[name], tmp_path / "c"
    expected = clone(model).fit(scan(data, "label", weight="times"))
    stops, jobs = 0, [None, 2]
    while True:
        stop_after(monkeypatch, 5)
        # What may be another each time: threads, memory.
        given = {"checkpoint": path, "memory_limit": 0 if stops % 2 else None}
        own = clone(model).set_params(n_jobs=jobs[stops % 2])
        try:
            found = own.fit(scan(data, "label", weight="times", **given))
            break
        except StoppedError:
            stops += 1
            assert path.exists()
    assert stops >= 1
    assert_same_model(expected, found)
    assert os.listdir(tmp_path) == []


@pytest.fixture(scope="module")
def killed(data, tmp_path_factory):
    """Fits in processes that are killed: a folder for each, and the exit codes of all attempts."""
    if not hasattr(os, "fork"):
        pytest.skip("needs fork")
    folder = tmp_path_factory.mktemp("killed")
    orders = []
    for name, kills, ctrl_c in [
        ("nbtree", 4, 0),
        ("flexible", 3, 0),
        ("m1", 3, 0),
        ("early", 2, 1),
        ("unnaive", 3, 0),
    ]:
        (folder / name).mkdir()
        given = {k: v for k, v in MODELS[name].get_params().items() if k != "n_jobs"}
        order = {"name": name, "model": type(MODELS[name]).__name__, "parameters": given}
        order |= {"data": str(data), "kills": kills, "seed": kills, "ctrl_c": ctrl_c}
        order |= {"checkpoint": str(folder / name / "c"), "out": str(folder / name / "out.unv")}
        orders.append(order)
    (folder / "orders.json").write_text(json.dumps(orders))
    done = subprocess.run(
        [sys.executable, HERE / "killed.py", folder / "orders.json"],
        env={**os.environ, "PYTHONPATH": str(HERE.parent / "src")},
        capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr, done.stderr
    codes = {order["name"]: [] for order in orders}
    for line in done.stdout.splitlines():
        name, code = line.split()
        codes[name].append(int(code))
    return folder, codes


@pytest.mark.parametrize("name", ["nbtree", "flexible", "m1", "unnaive"])
def test_killed_at_random_points_it_ends_with_the_same_model(name, killed, data):
    folder, codes = killed
    *before, last = codes[name]
    assert before.count(-9) >= 2, codes  # on a quick machine a late blow comes too late
    assert last == 0
    assert os.listdir(folder / name) == ["out.unv"]
    found = unnaive.load(folder / name / "out.unv")
    assert_same_model(clone(MODELS[name]).fit(data, "label"), found)


def test_ctrl_c_leaves_a_checkpoint_to_go_on_from(killed, data):
    folder, codes = killed
    assert codes["early"] == [130, 130, 0]
    found = unnaive.load(folder / "early" / "out.unv")
    assert_same_model(clone(MODELS["early"]).fit(data, "label"), found)


def test_nothing_is_searched_twice_and_files_are_read_once_more(data, tmp_path, monkeypatch):
    searched, passes = [], []
    split, each = Grower._split, FileSource._visit
    monkeypatch.setattr(Grower, "_split", lambda *a: searched.append(1) or split(*a))
    monkeypatch.setattr(FileSource, "_visit", lambda *a: passes.append(1) or each(*a))
    clone(MODELS["nbtree"]).fit(scan(data, "label", weight="times"))
    whole, taken = len(searched), len(passes)
    left_behind(monkeypatch, MODELS["nbtree"], data, 9, checkpoint=tmp_path / "c")
    before = len(passes)
    clone(MODELS["nbtree"]).fit(scan(data, "label", weight="times", checkpoint=tmp_path / "c"))
    assert len(searched) == 2 * whole
    assert (taken, len(passes) - before) == (3, 2)


def test_rounds_are_not_counted_twice(data, tmp_path, monkeypatch):
    counted = []
    count = Booster._count
    monkeypatch.setattr(Booster, "_count", lambda *a: counted.append(1) or count(*a))
    clone(MODELS["real"]).fit(scan(data, "label", weight="times"))
    whole = len(counted)
    left_behind(monkeypatch, MODELS["real"], data, 5, checkpoint=tmp_path / "c")
    clone(MODELS["real"]).fit(scan(data, "label", weight="times", checkpoint=tmp_path / "c"))
    assert len(counted) == 2 * whole + 1  # once to see that the rows are the same


def test_rounds_and_searches_of_evidence_are_not_repeated(data, tmp_path, monkeypatch):
    rounds_taken, searches = [], []
    advance, search = boost_rounds.Booster._advance, learn.strongest_pairs
    monkeypatch.setattr(
        boost_rounds.Booster,
        "_advance",
        lambda self, n, pace: rounds_taken.append(n) or advance(self, n, pace),
    )
    monkeypatch.setattr(learn, "strongest_pairs", lambda *a: searches.append(1) or search(*a))
    kept = []
    add = resume.Resumed.add
    monkeypatch.setattr(
        resume.Resumed, "add", lambda self, *a: kept.append(sum(rounds_taken)) or add(self, *a)
    )
    model = MODELS["unnaive"]
    clone(model).fit(scan(data, "label", weight="times"))
    whole, points = sum(rounds_taken), len(kept)
    for steps in (4, points + 3):  # in the first run; after the pairs were chosen
        rounds_taken.clear()
        kept.clear()
        searches.clear()
        left_behind(monkeypatch, model, data, steps, checkpoint=tmp_path / "c")
        lost = sum(rounds_taken) - kept[-1]
        clone(model).fit(scan(data, "label", weight="times", checkpoint=tmp_path / "c"))
        assert sum(rounds_taken) == whole + lost
        assert len(searches) == 1


def test_samples_of_many_rows_go_on_where_they_stood(data, tmp_path, monkeypatch):
    for name, value in (("MANY_ROWS", 300), ("STRIPE", 60), ("SAMPLE", 120)):
        monkeypatch.setattr(coding, name, value)
    model = clone(MODELS["unnaive"]).set_params(max_rounds=30)
    expected = clone(model).fit(scan(data, "label", weight="times"))
    left_behind(monkeypatch, model, data, 4, checkpoint=tmp_path / "c")
    given = scan(data, "label", weight="times", checkpoint=tmp_path / "c")
    assert_same_model(expected, clone(model).fit(given))


def test_evidence_of_other_tables_is_refused(data, tmp_path, monkeypatch):
    left_behind(monkeypatch, MODELS["unnaive"], data, 4, checkpoint=tmp_path / "c")
    make_terms = boost_rounds.make_terms
    monkeypatch.setattr(
        "unnaive.models.unnaive_bayes.make_terms",
        lambda numbering, columns, *rest: make_terms(numbering, columns[:-1], *rest),
    )
    with pytest.raises(JournalError, match="the rows, their order or their folds are not what"):
        clone(MODELS["unnaive"]).fit(scan(data, "label", weight="times", checkpoint=tmp_path / "c"))


def test_data_that_were_moved_or_come_from_elsewhere_are_the_same(data, tmp_path, monkeypatch):
    expected = clone(MODELS["nbtree"]).fit(scan(data, "label", weight="times"))
    other = write(tmp_path / "moved", rows())
    dataset = pa.dataset.dataset(data, format="parquet")
    lazy = pl.scan_parquet(sorted(data.iterdir()))
    for k, source in enumerate((other, dataset, lambda: dataset.scanner().to_reader(), lazy)):
        left_behind(monkeypatch, MODELS["nbtree"], data, 6 + k, checkpoint=tmp_path / "c")
        given = scan(source, "label", weight="times", checkpoint=tmp_path / "c")
        assert_same_model(expected, clone(MODELS["nbtree"]).fit(given))


@pytest.mark.parametrize("name", ["nbtree", "m1", "unnaive"])
def test_without_a_seed_the_first_one_drawn_is_kept(name, data, tmp_path, monkeypatch):
    model = clone(MODELS[name]).set_params(random_state=None)
    seeds = iter([11, 12, 13])
    draw = _checkpoint.draw_seed
    monkeypatch.setattr(_checkpoint, "draw_seed", lambda given: next(seeds))
    left_behind(monkeypatch, model, data, 4, checkpoint=tmp_path / "c")
    found = clone(model).fit(scan(data, "label", weight="times", checkpoint=tmp_path / "c"))
    monkeypatch.setattr(_checkpoint, "draw_seed", lambda given: 11)
    assert_same_model(clone(model).fit(scan(data, "label", weight="times")), found)
    monkeypatch.setattr(_checkpoint, "draw_seed", draw)


def test_a_random_state_goes_on_if_it_draws_the_same(data, tmp_path, monkeypatch):
    model, path = MODELS["nbtree"], tmp_path / "c"
    stop_after(monkeypatch, 5)
    with pytest.raises(StoppedError):
        clone(model).set_params(random_state=np.random.RandomState(4)).fit(
            scan(data, "label", checkpoint=path)
        )
    stop_after(monkeypatch, None)
    with pytest.raises(JournalError, match="random_state draws another seed"):
        clone(model).set_params(random_state=np.random.RandomState(5)).fit(
            scan(data, "label", checkpoint=path)
        )
    found = clone(model).set_params(random_state=np.random.RandomState(4))
    again = clone(model).set_params(random_state=np.random.RandomState(4))
    found.fit(scan(data, "label", checkpoint=path))
    assert_same_model(again.fit(data, "label"), found)


def test_one_path_serves_one_fit_after_the_other(data, tmp_path):
    path = tmp_path / "c"
    for name in ("nbtree", "real"):
        found = clone(MODELS[name]).fit(scan(data, "label", checkpoint=path))
        assert not path.exists()
        assert_same_model(clone(MODELS[name]).fit(data, "label"), found)
        assert found.score(scan(data, "label", checkpoint=path)) > 0.5  # answers keep none
        found.predict(scan(data, "label", checkpoint=path))
        assert not path.exists()


# Refusing ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"alpha": 1.0}, "parameter alpha was 0.5, and is 1.0"),
        ({"class_weight": {"x": 2, "y": 1}}, "parameter class_weight was None, and is"),
        ({"cv": 4}, "parameter cv was 5, and is 4"),
        ({"random_state": 1}, "parameter random_state was 0, and is 1"),
        ({"random_state": None}, "parameter random_state was 0, and is None"),
    ],
)
def test_other_parameters_are_refused(change, words, data, tmp_path, monkeypatch):
    left_behind(monkeypatch, MODELS["nbtree"], data, 5, checkpoint=tmp_path / "c")
    kept = (tmp_path / "c").read_bytes()
    model = clone(MODELS["nbtree"]).set_params(**change)
    with pytest.raises(JournalError, match=words):
        model.fit(scan(data, "label", weight="times", checkpoint=tmp_path / "c"))
    assert (tmp_path / "c").read_bytes() == kept


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "the scan's weight was 'times', and is None"),
        ({"columns": ["a", "b"]}, "the scan's columns was None, and is .'a', 'b'."),
        ({"row_id": "times"}, "the scan's row_id was None, and is 'times'"),
    ],
)
def test_other_columns_are_refused(given, words, data, tmp_path, monkeypatch):
    left_behind(monkeypatch, MODELS["real"], data, 4, checkpoint=tmp_path / "c")
    given = {"weight": "times"} | given if given else given
    with pytest.raises(JournalError, match=words):
        clone(MODELS["real"]).fit(scan(data, "label", checkpoint=tmp_path / "c", **given))


def test_another_model_is_refused(data, tmp_path, monkeypatch):
    left_behind(monkeypatch, MODELS["nbtree"], data, 5, checkpoint=tmp_path / "c")
    with pytest.raises(JournalError, match="was NBTreeClassifier, and is FlexibleNBTreeClassifier"):
        clone(MODELS["flexible"]).fit(scan(data, "label", checkpoint=tmp_path / "c"))


def some_row(table):
    """One that counts, once."""
    return table.index[table["times"] == 1][3]


def drop_row(table):
    table.drop(index=some_row(table), inplace=True)


def change_name(table):
    table.rename(columns={"d": "D"}, inplace=True)


def change_class(table):
    table.loc[some_row(table), "label"] = "new"


def change_value(table):
    table.loc[some_row(table), "b"] = 0.123


def change_weight(table):
    table.loc[some_row(table), "times"] = 5


def swap(table):
    """The same sums, but other rows: two rows of a class exchange a value."""
    own = np.flatnonzero(((table["label"] == "x") & (table["times"] == 1)).to_numpy())
    table.loc[own, "kind"] = np.roll(table.loc[own, "kind"].to_numpy(), 1)


@pytest.mark.parametrize("name", ["nbtree", "real", "unnaive"])
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (drop_row, "there were .* rows, and are"),
        (change_name, "the columns were .*'d'"),
        (change_class, "the classes were .'x', 'y', 'z'., and are .'new'"),
        (change_value, "the values of column 'b' have changed"),
        (change_weight, "the values of column 'a' have changed"),
        (swap, "column 'kind' of .* has other values, or the same values in other rows"),
    ],
)
def test_other_rows_are_refused(name, change, words, data, tmp_path, monkeypatch):
    left_behind(monkeypatch, MODELS[name], data, 6, checkpoint=tmp_path / "c")
    table = rows()
    change(table)
    other = write(tmp_path / "other", table)
    kept = (tmp_path / "c").read_bytes()
    with pytest.raises(JournalError, match=words):
        clone(MODELS[name]).fit(scan(other, "label", weight="times", checkpoint=tmp_path / "c"))
    assert (tmp_path / "c").read_bytes() == kept


def test_folds_that_are_others_each_time_are_refused(data, tmp_path, monkeypatch):
    model = clone(MODELS["nbtree"]).set_params(cv=KFold(3, shuffle=True))
    left_behind(monkeypatch, model, data, 6, checkpoint=tmp_path / "c")
    with pytest.raises(JournalError, match="cv= with a splitter that shuffles needs"):
        model.fit(scan(data, "label", weight="times", checkpoint=tmp_path / "c"))


def test_a_damaged_checkpoint_is_told_and_kept(data, tmp_path, monkeypatch):
    path = tmp_path / "c"
    left_behind(monkeypatch, MODELS["nbtree"], data, 6, checkpoint=path)
    whole = bytearray(path.read_bytes())
    whole[len(whole) // 2] ^= 1
    path.write_bytes(whole)
    with pytest.raises(JournalError, match="c' cannot be read .*remove it to begin anew"):
        clone(MODELS["nbtree"]).fit(scan(data, "label", weight="times", checkpoint=path))
    assert path.read_bytes() == bytes(whole)


# Others ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [m for m in ESTIMATORS if not m._keeps_checkpoint], ids=str)
def test_models_that_keep_none_say_so_and_name_those_that_do(model, data, tmp_path):
    able = sorted(name for name, cls in estimators().items() if cls._keeps_checkpoint)
    words = f"{type(model).__name__} keeps no checkpoint.*{', '.join(able)}"
    with pytest.raises(ValueError, match=words):
        clone(model).fit(scan(data, "label", checkpoint=tmp_path / "c"))
    assert not (tmp_path / "c").exists()


def test_a_decomposition_does_not_hand_its_checkpoint_on(data, tmp_path):
    model = ClassDecompositionClassifier(estimator=NBTreeClassifier())
    with pytest.raises(ValueError, match="ClassDecompositionClassifier keeps no checkpoint"):
        model.fit(scan(data, "label", checkpoint=tmp_path / "c"))
    with pytest.raises(ValueError, match="NaiveBayesClassifier keeps no checkpoint"):
        NaiveBayesClassifier().partial_fit(scan(data, "label", checkpoint=tmp_path / "c"))


def test_fits_without_a_checkpoint_open_no_journal(data, monkeypatch):
    def never(*args):
        raise AssertionError

    monkeypatch.setattr(Journal, "__init__", never)
    table = rows()
    y = table.pop("label")
    for name in ("nbtree", "m1"):
        clone(MODELS[name]).fit(table, y)
        clone(MODELS[name]).fit(data, "label")


def test_a_checkpoint_is_a_path():
    with pytest.raises(TypeError, match="checkpoint must be the path of a file; got 3"):
        scan("x.parquet", "y", checkpoint=3)


def test_flexible_searches_are_kept_by_their_own_grower(data, tmp_path, monkeypatch):
    searched = []
    split = FlexibleGrower._split
    monkeypatch.setattr(FlexibleGrower, "_split", lambda *a: searched.append(1) or split(*a))
    clone(MODELS["flexible"]).fit(scan(data, "label", weight="times"))
    whole = len(searched)
    left_behind(monkeypatch, MODELS["flexible"], data, 4, checkpoint=tmp_path / "c")
    clone(MODELS["flexible"]).fit(scan(data, "label", weight="times", checkpoint=tmp_path / "c"))
    assert len(searched) == 2 * whole
