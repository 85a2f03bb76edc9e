"""Rows that are not the same in every pass; ``make fuzz-sources`` tries thousands of ways."""

from __future__ import annotations

from functools import reduce
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone

from fuzz import sources
from unnaive import (
    LatentClassClusterer,
    NaiveBayesClassifier,
    NBTreeClassifier,
    scan,
)
from unnaive.encode.grid import number_values
from unnaive.encode.joint import _append_slots
from unnaive.encode.labels import groups_of, label_groups
from unnaive.table import arrow, fingerprint
from unnaive.table.fingerprint import ChangedRowsError, Checksums, SummedBlock

TREE = NBTreeClassifier(random_state=0, cv=3, max_depth=1)


def rows(n: int = 400) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n)
    kinds = np.where(rng.random(n) < 0.1, None, rng.choice(["a", "b", "c"], n))
    return pd.DataFrame({"x": rng.integers(0, 50, n) + 1.0 * y, "kind": kinds, "y": y})


def test_a_function_that_draws_other_rows_is_refused_by_name_and_column():
    calls = []

    def draw() -> pa.RecordBatchReader:
        calls.append(1)
        table = rows()
        if len(calls) > 2:  # names, first pass
            table["x"] = -1e6 * table["x"] - 7
        return pa.Table.from_pandas(table).to_reader()

    words = "column 'x' of the function 'draw' has other values.* than in the first pass.*Parquet"
    with pytest.raises(ChangedRowsError, match=words):
        clone(TREE).fit(scan(draw, "y"))


@pytest.mark.parametrize("seed", range(26))
def test_changes_of_any_kind_end_in_a_clear_error_or_come_too_late(seed, monkeypatch):
    monkeypatch.setattr(arrow, "LEAST_ROWS", 50)
    monkeypatch.setattr(arrow, "BLOCK_BYTES", 1 << 10)
    sources.run(seed)


# Checksums ------------------------------------------------------------------------------------


def checksums(table: pd.DataFrame, cuts=(), numbering: str | None = "rows") -> Checksums:
    """Of all columns, read in parts."""
    given = scan("rows.parquet", "y")
    reader = arrow.BlockReader.of(given, list(table.columns), "from_dtype", None)
    parts, edges = [], [0, *cuts, len(table)]
    for start, stop in pairwise(edges):
        block = reader.read(pa.Table.from_pandas(table[start:stop]), start)
        if block is not None:
            own = SummedBlock(block, reader, numbering, "rows")
            assert own.columns is block.columns  # whoever has them may read anything
            parts.append(own.checksums())
    return reduce(Checksums.__add__, parts)


@pytest.mark.parametrize("numbering", ["rows", None])
@pytest.mark.parametrize("cuts", [(1,), (200,), (0, 7, 8, 399), range(1, 400)])
def test_checksums_do_not_depend_on_how_rows_are_cut(cuts, numbering):
    assert checksums(rows(), cuts, numbering) == checksums(rows(), (), numbering)


@pytest.mark.parametrize("numbering", ["rows", None])
@pytest.mark.parametrize(
    ("column", "value"), [("x", 0.5), ("x", np.nan), ("kind", "b"), ("kind", None), ("y", 1)]
)
def test_any_other_value_changes_the_checksum_of_its_column(column, value, numbering):
    table = rows()
    row = table.index[(table[column] != value) & (table[column] == table[column])][5]
    changed = table.copy()
    changed.loc[row, column] = value
    before, now = checksums(table, (), numbering), checksums(changed, (), numbering)
    different = {name for name in before.columns if before.columns[name] != now.columns[name]}
    assert column in different
    assert column == "y" or different == {column}  # labels stand for numbers where there are none


def test_values_that_move_to_other_rows_are_seen_where_rows_have_numbers():
    table = rows()
    moved = table.assign(x=np.roll(table["x"], 1))
    assert checksums(table).columns["x"] != checksums(moved).columns["x"]
    turned = table[::-1].reset_index(drop=True)
    assert checksums(table) != checksums(turned)
    assert checksums(table, (), None) == checksums(turned, (), None)


def test_text_is_not_the_number_it_looks_like():
    one, other = (
        fingerprint.hash_values([1, True, None]),
        fingerprint.hash_values(["1", "True", ""]),
    )
    assert len({*one.tolist(), *other.tolist()}) == 6
    assert one[2] == 0


# What is not hashed ---------------------------------------------------------------------------


def test_rows_that_are_read_once_or_lie_in_memory_are_not_hashed(tmp_path, monkeypatch):
    def refuse(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(fingerprint, "_sum_values", refuse)
    table = rows()
    table.to_parquet(tmp_path / "rows.parquet")
    NaiveBayesClassifier().fit(tmp_path / "rows.parquet", "y")
    clone(TREE).fit(table.drop(columns="y"), table["y"])
    with pytest.raises(AssertionError):
        clone(TREE).fit(tmp_path / "rows.parquet", "y")


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
