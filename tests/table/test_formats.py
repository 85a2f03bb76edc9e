"""JSON and Arrow files are read like CSV and Parquet; an index of pandas is no feature."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.ipc
import pytest

from unnaive import NaiveBayesClassifier, scan

ROWS = pd.DataFrame(
    {
        "age": [25.5, None, 61, 33, 47, 58] * 5,
        "city": ["Rome", "Oslo", None, "Oslo", "Rome", "Oslo"] * 5,
        "y": ["no", "yes", "yes", "no", "no", "yes"] * 5,
    }
)


def write_lines(path):
    path.write_text(ROWS.to_json(orient="records", lines=True))


def write_file(path):
    table = pa.Table.from_pandas(ROWS)
    with pa.ipc.new_file(str(path), table.schema) as writer:
        writer.write_table(table, max_chunksize=7)


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("rows.json", write_lines),
        ("rows.jsonl", write_lines),
        ("rows.feather", write_file),
        ("rows.arrow", write_file),
        ("rows without ending", write_file),
    ],
)
def test_files_of_every_kind_make_the_same_model(tmp_path, name, write):
    write(tmp_path / name)
    known = NaiveBayesClassifier().fit(ROWS[["age", "city"]], ROWS.y)
    model = NaiveBayesClassifier().fit(str(tmp_path / name), "y")
    assert model.schema_.names == ["age", "city"]
    np.testing.assert_array_equal(model.counts_.counts, known.counts_.counts)
    np.testing.assert_array_equal(
        model.predict_proba(str(tmp_path / name)), known.predict_proba(ROWS[["age", "city"]])
    )


def test_what_is_no_table_in_json_is_named(tmp_path):
    path = tmp_path / "rows.json"
    for text, words in [
        ("", "must have one record, such as .*, on every line"),
        ('[{"a": 1}]', "must have one record, such as .*, on every line"),
        ('{"a": 1', "cannot be read: .*JSON parse error"),
    ]:
        path.write_text(text)
        with pytest.raises(OSError, match=words):
            NaiveBayesClassifier().fit(str(path), "y")
    path.write_text(json.dumps({"a": {"b": 1}, "y": 2}))
    with pytest.raises(ValueError, match="column 'a' holds Struct.*not supported"):
        NaiveBayesClassifier().fit(str(path), "y")


def test_the_index_of_a_pandas_table_is_no_feature(tmp_path):
    path = tmp_path / "rows.parquet"
    ROWS.sample(frac=1.0, random_state=0).to_parquet(path)
    assert "__index_level_0__" in pa.parquet.read_schema(path).names
    assert NaiveBayesClassifier().fit(str(path), "y").schema_.names == ["age", "city"]
    named = scan(str(path), "y", columns=["age", "__index_level_0__"])
    assert NaiveBayesClassifier().fit(named).schema_.names == ["age", "__index_level_0__"]
    keyed = ROWS.assign(key=range(30)).set_index("key")
    keyed.to_parquet(path)
    assert NaiveBayesClassifier().fit(str(path), "y").schema_.names == ["age", "city"]
    keyed.to_feather(tmp_path / "rows.feather")
    model = NaiveBayesClassifier().fit(str(tmp_path / "rows.feather"), "y")
    assert model.schema_.names == ["age", "city"]
