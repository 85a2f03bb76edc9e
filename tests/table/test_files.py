"""Rows in files give the model that rows in memory give, byte for byte."""

from __future__ import annotations

import datetime
import decimal
from contextlib import nullcontext
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.naive_bayes import GaussianNB

from helpers import assert_same_learned, assert_same_model, learned, mixed_table
from registry import CLASSIFIERS, CLUSTERERS, TRANSFORMERS
from unnaive import (
    BoostedNaiveBayesClassifier,
    C45Classifier,
    ClassDecompositionClassifier,
    Discretizer,
    LatentClassClusterer,
    NaiveBayesClassifier,
    NBTreeClassifier,
    RowProgress,
    scan,
)
from unnaive.table import arrow, records

ROWS = 420
UNEVEN = [0, 3, 3, 150, 151, 290, 300, ROWS]  # seven parts, one of them empty


@pytest.fixture(scope="module")
def table():
    """What is hard about real tables, with weights of 0 to 3."""
    X, y = mixed_table(ROWS, classes=4)
    rng = np.random.default_rng(1)
    X["price"] = [None if r < 0.05 else decimal.Decimal(f"{r:.2f}") for r in rng.random(ROWS)]
    X["day"] = [datetime.date(2024, 1, 1 + i % 28) for i in range(ROWS)]
    X["empty"] = np.nan
    X["late"] = np.where(np.arange(ROWS) < 300, np.nan, rng.normal(size=ROWS).round(1))
    X.loc[160, "city"] = "Only here"
    y[310:] = np.where(y[310:] == "never", "no", y[310:])  # a class that the last part lacks
    return X, y, rng.integers(0, 4, ROWS)


def write(folder, X, y, edges, weight=None):
    """Parts of a table in files, the columns of every other one the other way round."""
    folder.mkdir(parents=True, exist_ok=True)
    whole = pa.Table.from_pandas(X.assign(label=y), preserve_index=False)
    if weight is not None:
        whole = whole.append_column("weight", pa.array(weight))
    for k, (a, b) in enumerate(pairwise(edges)):
        names = whole.column_names[:: -1 if k % 2 else 1]
        pq.write_table(whole.select(names).slice(a, b - a), folder / f"part-{k}.parquet")
    return folder


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(arrow, "MOST_ROWS", 100)
    monkeypatch.setattr(arrow, "LEAST_ROWS", 100)
    # Arrays of rows are in files, visited and sorted a few rows at a time.
    monkeypatch.setattr(records, "_SMALL", 64)
    monkeypatch.setattr(records, "STRETCH", 37)


# All models read files in the same way, as `tests/laws/test_sources.py` shows.
@pytest.mark.parametrize("estimator", [*CLASSIFIERS, *TRANSFORMERS, *CLUSTERERS[:1]], ids=repr)
def test_files_give_the_model_of_memory(estimator, table, tmp_path, small_blocks):
    X, y, weight = table
    whole = clone(estimator).fit(X, y)
    for edges, limit in (([0, ROWS], None), ([0, 37, ROWS], 0), (UNEVEN, 0)):
        folder = write(tmp_path / f"{len(edges)}", X, y, edges)
        model = clone(estimator).fit(scan(folder, "label", memory_limit=limit))
        assert_same_model(whole, model)
    folder = write(tmp_path / "weighted", X, y, UNEVEN, weight)
    weighted = clone(estimator).fit(X, y, sample_weight=weight)
    assert_same_model(weighted, clone(estimator).fit(scan(folder, "label", weight="weight")))
    for method in ("predict_proba", "predict"):
        if hasattr(model, method):
            found = getattr(model, method)(str(folder / "*.parquet"))
            np.testing.assert_array_equal(found, getattr(whole, method)(X))
    if hasattr(model, "evidence"):
        known, found = (
            SimpleNamespace(value_=m.evidence(r)) for m, r in ((whole, X), (model, folder))
        )
        assert_same_learned(learned(known), learned(found))
    if hasattr(model, "transform"):
        found = model.transform(folder).to_pandas()
        for name, column in whole.transform(X).items():
            known = [None if v != v else v for v in column]
            assert [None if v != v else v for v in found[name]] == known


def lazy_tables(folder):
    import duckdb
    import polars as pl

    paths = str(folder / "*.parquet")
    dataset = pyarrow.dataset.dataset(folder)
    return {
        "glob": paths,
        "folder": folder,
        "list": scan(sorted(folder.iterdir()), "label"),
        "dataset": dataset,
        "factory": lambda: dataset.scanner(batch_size=50).to_reader(),
        "duckdb": duckdb.sql(f"select * from read_parquet('{paths}', file_row_number=false)"),
        "polars": pl.scan_parquet(paths),
    }


@pytest.mark.parametrize(
    "kind", ["glob", "folder", "list", "dataset", "factory", "duckdb", "polars"]
)
def test_every_lazy_table_gives_the_model_of_memory(kind, table, tmp_path, small_blocks):
    X, y, _ = table
    X = X.drop(columns=["empty", "late"])  # one file has no type for them
    whole = pa.Table.from_pandas(X.assign(label=y), preserve_index=False)
    for k, (a, b) in enumerate([(0, 200), (200, ROWS)]):
        pq.write_table(whole.slice(a, b - a), tmp_path / f"{k}.parquet")
    data = lazy_tables(tmp_path)[kind]
    for estimator in (NaiveBayesClassifier(), NBTreeClassifier(random_state=0)):
        drawn = kind == "duckdb" and isinstance(estimator, NBTreeClassifier)
        with pytest.warns(UserWarning, match="row_id=") if drawn else nullcontext():
            model = clone(estimator).fit(data, "label")
        assert_same_model(clone(estimator).fit(X, y), model)
        assert (model.predict(data) == model.predict(X)).all()
        assert model.score(data, "label") == pytest.approx(model.score(X, y))


def test_row_numbers_from_a_column_make_order_irrelevant(table, tmp_path, small_blocks):
    import duckdb

    X, y, _ = table
    whole = X.assign(label=y, number=np.arange(ROWS))
    whole = whole.sample(frac=1, random_state=0).drop(columns=["empty", "plan"])
    relation = duckdb.from_arrow(pa.Table.from_pandas(whole, preserve_index=False))
    columns = [c for c in X.columns if c not in ("empty", "plan")]
    for estimator in (NBTreeClassifier(random_state=0), BoostedNaiveBayesClassifier()):
        model = clone(estimator).fit(scan(relation, "label", row_id="number"))
        assert_same_model(clone(estimator).fit(X[columns], y), model)


def test_threads_do_not_share_the_connection_of_a_duckdb_relation(table):
    import duckdb

    X, y, _ = table
    columns = ["age", "city"]
    whole = X[columns].assign(label=y, row=np.arange(ROWS))
    relation = duckdb.connect().from_arrow(pa.Table.from_pandas(whole, preserve_index=False))
    model = ClassDecompositionClassifier(n_jobs=2, select="accuracy", cv=2, random_state=0)
    fitted = clone(model).fit(scan(relation, "label", row_id="row"))
    assert_same_model(clone(model).fit(X[columns], y), fitted)


@pytest.mark.parametrize(
    "labels",
    [
        np.arange(ROWS) % 3,
        (np.arange(ROWS) % 3).astype(np.int8),
        np.arange(ROWS) % 2 == 0,
        (np.arange(ROWS) % 3).astype(float),
        pd.Categorical(np.array(["b", "a", "c"])[np.arange(ROWS) % 3]),
        pd.date_range("2024-01-01", periods=3, tz="Asia/Tokyo")[np.arange(ROWS) % 3],
    ],
    ids=lambda labels: str(labels.dtype),
)
def test_labels_are_read_as_in_memory(labels, table, tmp_path, small_blocks):
    X, *_ = table
    folder = write(tmp_path, X, labels, UNEVEN)
    whole = NaiveBayesClassifier().fit(X, pd.Series(labels))
    model = NaiveBayesClassifier().fit(folder, "label")
    assert_same_model(whole, model)
    assert model.classes_.dtype == whole.classes_.dtype


@pytest.mark.parametrize(
    "estimator",
    [NaiveBayesClassifier(), ClassDecompositionClassifier(fold="max", random_state=0)],
    ids=lambda estimator: type(estimator).__name__,
)
def test_files_are_scored_as_memory_is(estimator, table, tmp_path, small_blocks):
    X, y, weight = table
    folder = write(tmp_path, X, y, UNEVEN, weight)
    model = clone(estimator).fit(X, y)
    names = scan(folder, columns=[*X.columns, "label"])
    assert model.score(names, "label") == pytest.approx(model.score(X, y), abs=1e-12)
    weighted = model.score(folder, "label", "weight")
    assert weighted == pytest.approx(model.score(X, y, weight), abs=1e-12)
    assert weighted != model.score(X, y)


def test_more_distinct_numbers_than_cells(tmp_path):
    rng = np.random.default_rng(0)
    n = 100_000
    X = pd.DataFrame({"a": rng.normal(size=n) / 3, "b": np.exp(3 * rng.normal(size=n))})
    y = (X["a"] + rng.normal(size=n) > 0).to_numpy().astype(int)
    folder = write(tmp_path, X, y, [0, 1, 5_000, 70_000, n])
    for numeric in ("mdl", "gaussian", "frequency"):
        model = NaiveBayesClassifier(numeric=numeric)
        whole = clone(model).fit(X, y)
        assert_same_model(whole, clone(model).fit(folder, "label"))


def test_updates_and_merges_across_memory_and_files(table, tmp_path):
    X, y, _ = table
    folder = write(tmp_path, X[200:], y[200:], [0, 50, ROWS - 200])
    model = NaiveBayesClassifier().partial_fit(X[:200], y[:200]).partial_fit(folder, "label")
    assert_same_model(NaiveBayesClassifier().fit(X, y), model)


def test_csv_gives_the_model_of_memory(table, tmp_path, small_blocks):
    X, y, _ = table
    X = X.drop(columns=["empty", "price", "day"]).astype({"plan": str})
    X["mostly"] = np.where(np.arange(ROWS) < 200, np.nan, np.arange(ROWS) / 2)
    whole = X.assign(label=y)
    whole[:250].to_csv(tmp_path / "a.csv", index=False)
    whole[250:][whole.columns[::-1]].to_csv(tmp_path / "b.csv.gz", index=False)
    for estimator in (NaiveBayesClassifier(), NBTreeClassifier(random_state=0)):
        model = clone(estimator).fit(tmp_path, "label")
        assert_same_model(clone(estimator).fit(X, y), model)


def test_the_file_of_answers_holds_every_row_or_is_not_there(table, tmp_path, small_blocks):
    X, y, _ = table
    folder = write(tmp_path / "in", X, y, UNEVEN)
    model = NaiveBayesClassifier().fit(folder, "label")
    out = model.predict_to(folder, tmp_path / "out.parquet")
    found = pq.read_table(out)
    assert found["prediction"].to_pylist() == model.predict(X).tolist()
    assert found["row"].to_pylist() == list(range(ROWS))
    proba = np.stack([found[f"probability_{c}"].to_numpy() for c in model.classes_], axis=1)
    assert (proba == model.predict_proba(X)).all()
    (folder / "part-6.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(OSError, match=r"part-6.parquet' cannot be read"):
        model.predict_to(folder, tmp_path / "new.parquet")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in", "out.parquet"]
    assert model.predict_to(X, out) == out  # tables in memory as well


# Faults --------------------------------------------------------------------------------------


def test_damaged_and_vanished_files_are_named(table, tmp_path, small_blocks):
    X, y, _ = table
    folder = write(tmp_path / "in", X, y, [0, 100, 200, ROWS])
    damaged = folder / "part-1.parquet"
    content = bytearray(damaged.read_bytes())
    content[4:2000] = b"\xff" * 1996
    damaged.write_bytes(content)
    with pytest.raises(OSError, match=r"the file '.*part-1.parquet' cannot be"):
        NaiveBayesClassifier().fit(folder, "label")
    damaged.write_bytes(content[:1000])
    with pytest.raises(OSError, match="part-1.parquet' cannot be read"):
        NaiveBayesClassifier().fit(folder, "label")

    class Vanishing(C45Classifier):
        def _fine_coders(self, *counted):  # between the first pass and the second
            (folder / "part-2.parquet").unlink()
            return super()._fine_coders(*counted)

    write(folder, X, y, [0, 100, 200, ROWS])
    with pytest.raises(FileNotFoundError, match="part-2.parquet' has vanished"):
        Vanishing().fit(folder, "label")
    with pytest.raises(FileNotFoundError, match="there is no file 'nowhere.parquet'"):
        NaiveBayesClassifier().fit("nowhere.parquet", "label")
    with pytest.raises(FileNotFoundError, match="has no Parquet or CSV or JSON lines or"):
        NaiveBayesClassifier().fit(write(tmp_path / "none", X, y, [0]), "label")


def test_a_column_that_one_file_lacks_is_named(table, tmp_path):
    X, y, _ = table
    folder = write(tmp_path, X, y, [0, 100, ROWS])
    other = pq.read_table(folder / "part-1.parquet").drop_columns(["age"])
    pq.write_table(other, folder / "part-1.parquet")
    with pytest.raises(ValueError, match=r"column 'age' is missing from the file '.*part-1"):
        NaiveBayesClassifier().fit(folder, "label")
    NaiveBayesClassifier().fit(scan(folder, "label", columns=["city"]))
    with pytest.raises(ValueError, match="target names 'lable', which is not a column"):
        NaiveBayesClassifier().fit(scan(folder, "lable", columns=["city"]))


def test_text_among_numbers_of_a_csv_file_is_placed(tmp_path, monkeypatch):
    from unnaive.table import csv

    monkeypatch.setattr(csv, "BLOCK_BYTES", 1 << 16)
    n = 40_000
    text = [f"{i % 7},{i % 3},{'yes' if i % 2 else 'no'}" for i in range(n)]
    text[31_415] = "3,many,yes"
    path = tmp_path / "a.csv"
    path.write_text("x,z,label\n" + "\n".join(text) + "\n")
    with pytest.raises(ValueError, match=r"column 'z' holds numbers .* 'many' in row 31,416 of"):
        NaiveBayesClassifier().fit(path, "label")
    model = NaiveBayesClassifier().fit(scan(path, "label", columns={"z": "string", "x": None}))
    assert model.schema_.names == ["z", "x"]
    assert "many" in model.coders_[0].values


def test_csv_files_that_are_not_utf_8_say_so(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes("city,label\nKöln,0\nBonn,1\n".encode("latin-1"))
    with pytest.raises(OSError, match=r"a.csv' is not written in UTF-8; save it"):
        NaiveBayesClassifier().fit(path, "label")


def test_values_that_fit_refuses_are_placed(table, tmp_path, small_blocks):
    X, y, weight = table
    bad = X.assign(ratio=np.where(np.arange(ROWS) == 333, np.inf, X["ratio"]))
    folder = write(tmp_path / "a", bad, y, [0, 250, ROWS])
    with pytest.raises(ValueError, match=r"'ratio' holds .*infinit.*rows 1 to 100 of '.*part-1"):
        NaiveBayesClassifier().fit(folder, "label")
    folder = write(tmp_path / "b", X, np.where(np.arange(ROWS) == 7, None, y), [0, ROWS])
    with pytest.raises(ValueError, match=r"y has 1 missing labels.*rows 1 to 100"):
        NaiveBayesClassifier().fit(folder, "label")
    folder = write(tmp_path / "c", X, y, [0, ROWS], 0 * weight)
    with pytest.raises(ValueError, match="zero for every row"):
        NaiveBayesClassifier().fit(scan(folder, "label", weight="weight"))
    folder = write(tmp_path / "d", X, y, [0, 0, 0])
    with pytest.raises(ValueError, match="the data have no rows"):
        NaiveBayesClassifier().fit(folder, "label")


def test_what_scan_refuses():
    with pytest.raises(TypeError, match="A table in memory goes to fit as it is"):
        scan(pd.DataFrame({"a": [1]}))
    with pytest.raises(TypeError, match="target must be the name of a column; got 3"):
        scan("x.parquet", 3)
    with pytest.raises(ValueError, match="memory_limit must be bytes, or text"):
        scan("x.parquet", memory_limit="much")
    assert scan("x.parquet", memory_limit="1.5 GB").memory_limit == 1_500_000_000
    with pytest.raises(TypeError, match="y must be the name of a column"):
        NaiveBayesClassifier().fit("x.parquet", [1, 2])
    with pytest.raises(ValueError, match="requires y to be passed"):
        NaiveBayesClassifier().fit("x.parquet")
    with pytest.raises(ValueError, match="but the scan says 'a'"):
        NaiveBayesClassifier().fit(scan("x.parquet", "a"), "b")


@pytest.mark.parametrize(
    "estimator",
    [
        NaiveBayesClassifier(),
        Discretizer("mdl"),
        NBTreeClassifier(random_state=0),
        LatentClassClusterer(2, n_init=1, random_state=0),
        ClassDecompositionClassifier(clusterer=LatentClassClusterer(2, n_init=1), random_state=0),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_a_fit_looks_at_a_path_once(estimator, tmp_path, monkeypatch):
    made = []
    monkeypatch.setattr(
        "unnaive.table.scan.scan", lambda data, **given: made.append(data) or scan(data, **given)
    )
    path = str(tmp_path / "rows.parquet")
    values = np.arange(60) % 7
    pd.DataFrame({"a": values, "b": values % 3, "y": values > 3}).to_parquet(path)
    estimator.set_callbacks(RowProgress()).fit(path, "y")
    assert made == [path]


def test_foreign_estimators_learn_from_files(table, tmp_path):
    X, y, _ = table
    numbers = X[["age"]].fillna(0.0)
    folder = write(tmp_path, numbers, y, UNEVEN)
    model = ClassDecompositionClassifier(GaussianNB(), KMeans(2, n_init=1), random_state=0)
    near, far = clone(model).fit(numbers, y), clone(model).fit(folder, "label")
    np.testing.assert_allclose(far.predict_proba(folder), near.predict_proba(numbers), atol=1e-9)


def test_flipped_bytes_in_a_page_with_a_checksum_are_an_error(tmp_path):
    whole = pa.table({"x": np.arange(2000) / 7, "y": np.arange(2000) % 2})
    path = tmp_path / "rows.parquet"
    plain = {"compression": "none", "use_dictionary": False}
    pq.write_table(whole, path, write_page_checksum=True, **plain)
    model = NaiveBayesClassifier().fit(path, "y")
    model.predict_to(path, tmp_path / "answers.parquet")
    for damaged, fit in ((path, True), (tmp_path / "answers.parquet", False)):
        data = bytearray(damaged.read_bytes())
        place = len(data) // 4
        data[place] ^= 255
        damaged.write_bytes(data)
        with pytest.raises(OSError, match=f"{damaged.name}.* cannot be read: .*CRC"):
            model.fit(path, "y") if fit else model.fit(damaged, "prediction")


def test_labels_of_two_types_in_two_files_are_refused(tmp_path):
    for k, labels in enumerate(([0, 1] * 20, ["no", "yes"] * 20)):
        pq.write_table(pa.table({"x": np.arange(40.0), "y": labels}), tmp_path / f"{k}.parquet")
    words = r"the labels are numbers in one part .*\(0\) and text .*'no'"
    for model in (NaiveBayesClassifier(), C45Classifier()):
        with pytest.raises(ValueError, match=words + ".*of '.*1.parquet'"):
            model.fit(tmp_path, "y")
    with pytest.raises(ValueError, match=words):
        ClassDecompositionClassifier().fit(tmp_path, "y")
