"""Rows that are not the same in every pass over a source."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone

from unnaive import (
    BoostedNaiveBayesClassifier,
    C45Classifier,
    HierarchicalMixtureClassifier,
    LatentClassClusterer,
    NaiveBayesClassifier,
    NBTreeClassifier,
    RandomForestClassifier,
    UnnaiveBayesClassifier,
    scan,
)
from unnaive.counts.encoded_rows import _append_slots
from unnaive.encode.grid import number_values
from unnaive.encode.labels import groups_of, label_groups
from unnaive.table.records import ChangedRowsError

MODELS = [
    NBTreeClassifier(random_state=0, cv=3, max_depth=1, max_categories=2),
    C45Classifier(),
    RandomForestClassifier(n_estimators=2, class_weight="balanced", random_state=0),
    BoostedNaiveBayesClassifier(n_estimators=2, numeric="width", class_weight="balanced"),
    UnnaiveBayesClassifier(max_rounds=2, random_state=0),
    HierarchicalMixtureClassifier(numeric="width", training="batch", random_state=0),
]
CHANGES = {
    "a number": (lambda table: table.assign(x=table["x"].where(table.index != 7, 3e6)), "'x' has"),
    "a gap": (lambda table: table.assign(x=table["x"].where(table.index != 7)), "'x' has"),
    "a category": (lambda t: t.assign(kind=t["kind"].where(t.index != 7, "new")), "'kind' has"),
    "a label": (lambda table: table.assign(y=table["y"].where(table.index != 7, 0)), "labels"),
    "a new label": (lambda table: table.assign(y=table["y"].where(table.index != 7, 2)), "label 2"),
    "a weight": (lambda table: table.assign(w=table["w"].where(table.index != 7, 9.5)), "weights"),
    "one row less": (lambda table: table[:-1], "400 rows.*399"),
    "one row more": (lambda table: pd.concat([table, table[:1]]), "400 rows.*401"),
    "no such column": (lambda table: table.drop(columns="x"), "'x' is not there any more"),
}


def rows(n: int = 400) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n)
    y[7] = 1
    kinds = np.where(rng.random(n) < 0.1, None, rng.choice(["a", "b", "c"], n))
    kinds[7] = "a"
    weight = rng.random(n) + 0.5
    return pd.DataFrame({"x": rng.integers(0, 50, n) + 1.0 * y, "kind": kinds, "y": y, "w": weight})


def fit_changing(model, change):
    """Fit a model on a function whose rows change after the names and the first pass are read."""
    calls = []

    def read() -> pa.RecordBatchReader:
        calls.append(1)
        table = rows() if len(calls) <= 2 else change(rows())
        return pa.Table.from_pandas(table, preserve_index=False).to_reader(max_chunksize=150)

    return clone(model).fit(scan(read, "y", weight="w"))


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_after_the_first_pass_is_refused(change):
    changed, words = CHANGES[change]
    with pytest.raises(ChangedRowsError, match=words + ".*same rows in every pass"):
        fit_changing(MODELS[0], changed)


@pytest.mark.parametrize("model", MODELS[1:], ids=repr)
def test_every_model_that_reads_twice_notices_another_value(model):
    fit_changing(model, lambda table: table)
    for change in ("a number", "a label"):
        with pytest.raises(ChangedRowsError, match=CHANGES[change][1]):
            fit_changing(model, CHANGES[change][0])


def test_rows_of_weight_zero_may_be_what_they_like(tmp_path):
    table = rows().assign(w=1.0)
    table.loc[::7, "w"] = 0.0
    passes = []

    def changing(part: pl.DataFrame) -> pl.DataFrame:
        passes.append(1)
        return part.with_columns(
            pl.when(pl.col("w") == 0).then(float(len(passes))).otherwise(pl.col("x")).alias("x")
        )

    lazy = pl.from_pandas(table).lazy().map_batches(changing)
    model = LatentClassClusterer(2, max_iter=3, random_state=0)
    model.fit(scan(lazy, weight="w", columns=["x", "kind"]))
    assert len(passes) == 3
    assert len(model.labels_) == len(table)


# Borders of kernels ---------------------------------------------------------------------------


@pytest.mark.parametrize("n", [50, 5000, 200_000])
@pytest.mark.parametrize("limit", [8, 65_534])
def test_numbers_that_a_grid_never_saw_get_one_of_its_cells(n, limit):
    rng = np.random.default_rng(n)
    found = number_values(rng.normal(size=n), limit)
    assert found is not None
    grid, _ = found
    far = [0.0, -0.0, 5e-324, 1e308, -1e308, np.inf, -np.inf, np.nan]
    codes = grid.codes(np.array([*far, *rng.normal(0, 10, 1000)]))
    assert codes[7] == 0
    assert (codes[[0, 1, 2, 3, 4, 5, 6]] >= 1).all()
    assert codes.max() <= grid.size
    assert codes[3] == codes[5] == grid.size
    assert codes[4] == codes[6] == 1


def test_slots_for_which_a_joint_table_has_no_room_are_taken_for_its_last():
    joint = np.ones(4, np.uint16)
    codes = np.array([0, 2, 3, 255], np.uint8)
    _append_slots(codes, np.uint16(0), np.uint16(0xFF), np.uint16(3), joint)
    assert joint.tolist() == [3, 5, 5, 5]


def test_labels_that_the_first_pass_did_not_have_are_refused():
    labels, _ = label_groups(np.array(["a", "b"]))
    with pytest.raises(ChangedRowsError, match="the label 'c', but did not in the first pass"):
        groups_of(labels, np.array(["b", "c"]))


def test_dictionaries_with_codes_beyond_their_values_are_refused(tmp_path):
    codes = pa.array(np.array([0, 1, 9] * 50, np.int32))
    column = pa.DictionaryArray.from_arrays(codes, pa.array(["a", "b"]), safe=False)
    table = pa.table({"kind": column, "y": [0, 1, 1] * 50})
    with pytest.raises(ValueError, match="2 values has codes beyond them"):
        NaiveBayesClassifier().fit(scan(table.to_reader, "y"))
