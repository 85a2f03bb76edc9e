"""CSV files that threads take apart give the rows that pyarrow reads one after the other."""

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
from unnaive.table.text_cuts import Stretch, cut_text

ODD = {
    "plain": ["red", "green", "blue"],
    "gaps": ["red", "", "NA", '""'],
    "quoted": ['"red"', '"light, very"', '"two\nlines"', '"two\r\nlines"'],
    "doubled": ['"a ""word"""', '""""', '"""x"', '"x"""', '"\n"""'],
    "loose": ['5" pipe', 'a""b', '"a"b"c"', '"a" ', ' "a', 'x"'],
    "loose with breaks": ['5" pipe', '"two\nlines"', 'x"'],
    "marks": ["\ufeffred", "\ufeff"],
    "long": ["x" * 3000, "y"],
}


def write(path, values, seed=0, end="\n", header="x,text,label", last=True):
    rng = np.random.default_rng(seed)
    lines = [
        f"{rng.normal():.17g},{values[rng.integers(len(values))]},{'yes' if i % 3 else 'no'}"
        for i in range(400)
    ]
    text = end.join([header, *lines]) + (end if last else "")
    path.write_bytes(text.encode())
    return path


def read(path):
    """Rows as models get them, and how often a file was begun by pyarrow's own reader."""
    batches = csv.CsvBatches([str(path)], scan(path, "label"), -1)
    begun, opened = [], batches._open
    batches._open = lambda *given: begun.append(given) or opened(*given)
    pieces = list(batches.pieces(["label", "x", "text"], 0))
    assert [p.first for p in pieces] == np.cumsum([0, *(p.n_rows for p in pieces)])[:-1].tolist()
    return [row for p in pieces for row in p.table.to_pylist()], len(begun), len(pieces)


def expected(path):
    kinds = {"x": pa.float64(), "text": pa.string(), "label": pa.string()}
    convert = arrow_csv.ConvertOptions(
        column_types=kinds, include_columns=["label", "x", "text"], strings_can_be_null=True
    )
    with pa.input_stream(str(path), compression="detect") as stream:
        whole = io.BytesIO(stream.read())
    parse = arrow_csv.ParseOptions(newlines_in_values=True)
    return arrow_csv.read_csv(whole, parse_options=parse, convert_options=convert).to_pylist()


@pytest.mark.parametrize("size", [100, 1000, 5000])
@pytest.mark.parametrize("kind", list(ODD))
def test_rows_are_those_of_one_reader(tmp_path, monkeypatch, kind, size):
    monkeypatch.setattr(csv, "BLOCK_BYTES", size)
    if kind == "long" and size < 1000:
        pytest.skip("pyarrow itself needs blocks that hold two rows")
    for seed, end in enumerate(("\n", "\r\n")):
        path = write(tmp_path / "a.csv", ODD[kind], seed, end, last=bool(seed))
        rows, begun, n_pieces = read(path)
        assert rows == expected(path)
        assert n_pieces > 1
        if kind in ("plain", "gaps", "quoted", "doubled"):  # quotes that pair need no other reader
            assert begun == 0
        if kind == "loose":
            assert begun == 1


HOW = ["mark", "returns", "empty lines", "packed", "no rows", "late header"]


@pytest.mark.parametrize("how", HOW)
def test_files_that_are_written_in_another_way(tmp_path, monkeypatch, how):
    monkeypatch.setattr(csv, "BLOCK_BYTES", 600)
    path = write(tmp_path / "a.csv", ODD["quoted"], header='"x","text","label"')
    whole = path.read_bytes()
    if how == "mark":
        path.write_bytes(b"\xef\xbb\xbf" + whole)
    elif how == "returns":
        path.write_bytes(write(path, ODD["plain"]).read_bytes().replace(b"\n", b"\r"))
    elif how == "empty lines":
        path.write_bytes(whole.replace(b"yes\n", b"yes\n\n\r\n\n") + b"\n" * 700)
    elif how == "late header":
        path.write_bytes(b"\r\n\n" + whole)
    elif how == "packed":
        path = tmp_path / "a.csv.gz"
        path.write_bytes(gzip.compress(whole))
    else:
        path.write_bytes(whole[: whole.index(b"\n") + 1])
    rows, begun, _ = read(path)
    assert rows == expected(path)
    assert len(rows) == (0 if how == "no rows" else 400)
    assert begun == (how == "returns")  # without a line feed, a row never ends


@pytest.mark.parametrize("size", [100, 1 << 20])
def test_names_may_hold_line_breaks_and_delimiters(tmp_path, monkeypatch, size):
    monkeypatch.setattr(csv, "BLOCK_BYTES", size)
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


def test_quotes_that_pair_are_told_from_others():
    """Beside a look at every byte in turn."""
    rng = np.random.default_rng(0)
    n_whole = 0
    for _ in range(3000):
        size = int(rng.integers(1, 40))
        signs = rng.choice(
            np.frombuffer(b'",\nab', np.uint8), size, p=[0.3, 0.25, 0.15, 0.15, 0.15]
        )
        data = np.concatenate((signs, np.full(8, 10, np.uint8)))
        whole = Stretch(data, size, False).is_whole(",")
        inside, pairs, before = False, True, ord("\n")
        for c in signs.tolist():
            if c == ord('"'):
                inside = not inside
                pairs &= not inside or before in b',\n\r"'
            before = c
        assert whole == (pairs and not inside)
        n_whole += whole
    assert 300 < n_whole < 2700


def test_a_mark_inside_the_file_is_part_of_its_value():
    mark = np.frombuffer("\ufeffa,b\n".encode() + b"\n" * 8, np.uint8)
    assert not Stretch(mark, 7, False).is_whole(",")
    assert Stretch(mark[3:].copy(), 4, False).is_whole(",")


def test_stretches_are_the_file():
    rng = np.random.default_rng(1)
    text = b"".join(b'%d,"a\nb"\n' % k for k in rng.integers(0, 10**6, 5000))
    for size in (50, 777, 1 << 14, 1 << 20):
        found = list(cut_text(pa.BufferReader(text), size))
        assert b"".join(s.rows.tobytes() for s in found) == text
        assert all(s.is_whole(",") for s in found)
        assert [s.first for s in found] == [True] + [False] * (len(found) - 1)
    endless = list(cut_text(pa.BufferReader(b'"' + b"x" * 10_000), 100))
    assert endless == [None]


def test_a_value_of_megabytes_is_read_and_an_endless_one_is_an_error_with_its_row(tmp_path):
    path = tmp_path / "long.csv"

    def write(n_letters):
        rows = [f"{'z' * n_letters if i == 2 else f'v{i % 3}'},{i},{i % 2}\n" for i in range(40)]
        path.write_text("t,x,y\n" + "".join(rows))

    write(3_000_000)
    values = NaiveBayesClassifier().fit(path, "y").coders_[0].values
    assert sorted(map(len, values)) == [2, 2, 2, 3_000_000]
    write(20_000_000)
    with pytest.raises(OSError, match=r"row 3 on, the file .*long.csv' has a row of several mega"):
        NaiveBayesClassifier().fit(path, "y")
