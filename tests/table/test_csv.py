"""CSV files give the rows that pyarrow reads at once, however they are written."""

from __future__ import annotations

import gzip
import io

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import csv as arrow_csv

from unnaive import NaiveBayesClassifier, scan
from unnaive.table import csv
from unnaive.table.arrow import open_reader

ODD = {
    "plain": ["red", "green", "blue"],
    "gaps": ["red", "", "NA", '""'],
    "quoted": ['"red"', '"light, very"', '"two\nlines"', '"two\r\nlines"'],
    "doubled": ['"a ""word"""', '""""', '"""x"', '"x"""', '"\n"""'],
    "loose": ['5" pipe', 'a""b', '"a"b"c"', '"a" ', ' "a', 'x"'],
    "marks": ["\ufeffred", "\ufeff"],
    "long": ["x" * 1500, "y"],
}


def write(path, values, seed=0, end="\n", header="x,text,label"):
    rng = np.random.default_rng(seed)
    lines = [
        f"{rng.normal():.17g},{values[rng.integers(len(values))]},{'yes' if i % 3 else 'no'}"
        for i in range(400)
    ]
    path.write_bytes((end.join([header, *lines]) + end).encode())
    return path


def read(path):
    chunks = list(open_reader(scan(path, "label")).chunks(["label", "x", "text"], 0))
    assert [c.first for c in chunks] == np.cumsum([0, *(c.n_rows for c in chunks)])[:-1].tolist()
    return [row for chunk in chunks for row in chunk.table.to_pylist()]


def expected(path):
    kinds = {"x": pa.float64(), "text": pa.string(), "label": pa.string()}
    convert = arrow_csv.ConvertOptions(
        column_types=kinds, include_columns=["label", "x", "text"], strings_can_be_null=True
    )
    with pa.input_stream(str(path), compression="detect") as stream:
        whole = io.BytesIO(stream.read())
    parse = arrow_csv.ParseOptions(newlines_in_values=True)
    return arrow_csv.read_csv(whole, parse_options=parse, convert_options=convert).to_pylist()


@pytest.mark.parametrize("kind", list(ODD))
def test_values_of_all_kinds_are_read(tmp_path, monkeypatch, kind):
    monkeypatch.setattr(csv, "BLOCK_BYTES", 4000)
    for seed, end in enumerate(("\n", "\r\n")):
        path = write(tmp_path / "a.csv", ODD[kind], seed, end)
        assert read(path) == expected(path)


@pytest.mark.parametrize("how", ["mark", "returns", "empty lines", "packed", "no rows", "late"])
def test_files_that_are_written_in_another_way(tmp_path, how):
    path = write(tmp_path / "a.csv", ODD["quoted"], header='"x","text","label"')
    whole = path.read_bytes()
    if how == "mark":
        path.write_bytes(b"\xef\xbb\xbf" + whole)
    elif how == "returns":
        path.write_bytes(write(path, ODD["plain"]).read_bytes().replace(b"\n", b"\r"))
    elif how == "empty lines":
        path.write_bytes(whole.replace(b"yes\n", b"yes\n\n\r\n\n") + b"\n" * 700)
    elif how == "late":
        path.write_bytes(b"\r\n\n" + whole)
    elif how == "packed":
        path = tmp_path / "a.csv.gz"
        path.write_bytes(gzip.compress(whole))
    else:
        path.write_bytes(whole[: whole.index(b"\n") + 1])
    rows = read(path)
    assert rows == expected(path)
    assert len(rows) == (0 if how == "no rows" else 400)


def test_names_may_hold_line_breaks_and_delimiters(tmp_path):
    name = 'width;;;\r\n""in""\nmetres'
    path = write(tmp_path / "a.csv", ODD["quoted"], header=f'"{name}",text,label')
    plain = write(tmp_path / "b.csv", ODD["quoted"])
    model = NaiveBayesClassifier().fit(path, "label")
    assert list(model.feature_names_in_) == [name.replace('""', '"'), "text"]
    own, other = (pd.read_csv(p).drop(columns="label") for p in (path, plain))
    expected = NaiveBayesClassifier().fit(plain, "label").predict_proba(other)
    np.testing.assert_array_equal(model.predict_proba(own), expected)


def test_rows_of_the_wrong_length_are_placed(tmp_path, monkeypatch):
    monkeypatch.setattr(csv, "BLOCK_BYTES", 1000)
    path = write(tmp_path / "a.csv", ODD["plain"])
    lines = path.read_text().split("\n")
    lines[300] += ",more"
    path.write_text("\n".join(lines))
    found = r"from row 2\d\d on, the file '.*a.csv' cannot be read: .*3 columns, got 4: .*,more"
    with pytest.raises(OSError, match=found):
        NaiveBayesClassifier().fit(path, "label")


def test_a_value_of_megabytes_is_read_and_an_endless_one_is_an_error(tmp_path):
    path = tmp_path / "long.csv"

    def write(n_letters):
        rows = [f"{'z' * n_letters if i == 2 else f'v{i % 3}'},{i},{i % 2}\n" for i in range(40)]
        path.write_text("t,x,y\n" + "".join(rows))

    write(3_000_000)
    values = NaiveBayesClassifier().fit(path, "y").coders_[0].values
    assert sorted(map(len, values)) == [2, 2, 2, 3_000_000]
    write(20_000_000)
    with pytest.raises(OSError, match=r"long.csv' has a row of several megabytes"):
        NaiveBayesClassifier().fit(path, "y")
