"""Files: what goes in comes out, and nothing else does."""

from __future__ import annotations

import datetime
import decimal
import io
import json
import os
import uuid
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from fuzz.mutate import npy, zipped
from unnaive.common.atomic import replacing
from unnaive.store import ModelFileError
from unnaive.store.files import MOST_JSON, _load, read_content, write_content
from unnaive.store.plain import MOST_DEPTH


def written(value):
    return write_content({"value": value}).getvalue()


def read(data, max_bytes=1 << 30):
    return read_content(io.BytesIO(data), max_bytes)["value"]


def refused(data, words=".", max_bytes=1 << 30):
    """Check that a file is refused as the model that it is not."""
    with pytest.raises(ModelFileError, match=words):
        _load(io.BytesIO(data), max_bytes, "file")


SCALARS = [
    None,
    True,
    10**30,
    -0.0,
    5e-324,
    float("nan"),
    float("-inf"),
    "ü\ud800\x00",
    b"\x00a",
    datetime.date(1, 1, 1),
    datetime.datetime(2020, 10, 25, 2, 30, 5, 6, fold=1),
    datetime.datetime(2020, 1, 2, tzinfo=datetime.timezone(datetime.timedelta(hours=-3))),
    datetime.time(1, 2, 3, 4),
    datetime.timedelta(-1, 3, 4),
    decimal.Decimal("1.50"),
    np.float32(0.1),
    np.bool_(True),
    np.str_("text"),
    np.datetime64("2020-01-01"),
    (),
    (1, (2.0, ["x"])),
    {1: "a", None: "b", ("t", 2): []},
    {"$array": 0, "plain": 1},
    frozenset({1, 2.5}),
]


@pytest.mark.parametrize("value", SCALARS, ids=repr)
def test_values_come_back_with_their_types(value):
    found = read(written(value))
    assert type(found) is type(value)
    assert repr(found) == repr(value) or found == value


@pytest.mark.parametrize(
    "array",
    [
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.array(["a", "bcd", ""]),
        np.array([["x"], ["y"]]),
        np.array([b"ab", b""]),
        np.array([True, False]),
        np.zeros((0, 3)),
        np.array(3.5),
        np.array([1, "a", None, (1, 2)], dtype=object),
        np.array(["2020-01-01", "NaT"], dtype="M8[ns]"),
        np.arange(3, dtype=">i4"),
        np.arange(10.0)[::2],
        np.random.default_rng(0).random(300_000),
    ],
    ids=lambda a: f"{a.dtype}{a.shape}",
)
def test_arrays_come_back_with_type_and_shape_and_can_be_changed(array):
    found = read(written(array))
    assert found.shape == array.shape
    assert found.dtype == array.dtype.newbyteorder("=")
    assert found.tolist() == array.tolist() or found.tobytes() == array.tobytes()
    assert found.flags.writeable
    assert found.flags.c_contiguous


PLAIN = st.recursive(
    st.one_of(
        *(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text()),
        *(st.binary(), st.datetimes(), st.timedeltas(), st.decimals(allow_nan=False)),
    ),
    lambda inner: st.one_of(
        st.lists(inner),
        st.lists(inner).map(tuple),
        st.dictionaries(st.one_of(st.text(), st.integers()), inner),
    ),
    max_leaves=20,
)


@settings(max_examples=100, deadline=None)
@given(content=PLAIN, array=hnp.arrays(hnp.scalar_dtypes(), hnp.array_shapes(min_side=0)))
def test_any_plain_content_comes_back(content, array):
    if array.dtype.kind == "c" or array.dtype.itemsize > 8:
        array = array.real.astype(np.float64)
    found, same = read(written([content, array]))
    assert found == content
    assert same.dtype == array.dtype.newbyteorder("=")
    assert same.astype(array.dtype).tobytes() == array.tobytes()


@given(texts=st.lists(st.text(), min_size=1, max_size=9), n=st.integers(990, 1010))
def test_many_texts_come_back(texts, n):
    texts = (texts * n)[:n]
    assert read(written([texts, tuple(texts)])) == [texts, tuple(texts)]


def test_an_array_that_two_places_share_is_stored_once_and_shared_again():
    array = np.random.default_rng(0).random(1000)
    data = written([array, {"again": array}])
    first, second = read(data)
    assert first is second["again"]
    assert len(data) < 2 * array.nbytes


def test_numpy_and_zip_read_the_files(tmp_path):
    array = np.arange(6.0).reshape(2, 3)
    (tmp_path / "a.zip").write_bytes(written([array]))
    with np.load(tmp_path / "a.zip") as archive:
        assert np.array_equal(archive["0"], array)
        assert json.loads(archive["model.json"]) == {"value": [{"$array": 0}]}


class Odd:
    pass


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (Odd(), r"\.Odd cannot be stored; use text"),
        (1j, "builtins.complex cannot be stored"),
        (uuid.UUID(int=7), "uuid.UUID cannot be stored; use text"),
        (np.array([1j]), "an array of complex128 cannot be stored"),
        (np.array([Odd()], dtype=object), "Odd cannot be stored"),
        (np.array(["x"], np.dtypes.StringDType()), r"StringDType\(\) .*; use astype\(str\)"),
        (datetime.time(1, tzinfo=datetime.UTC), "a time of day with a zone"),
        ("a" * (MOST_JSON + 1), "bytes of names and categories"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_cannot_be_stored_is_named(content, words):
    with pytest.raises(ModelFileError, match=words):
        written(content)


# Damage and hostile content ---------------------------------------------------------------------

SAMPLE = written({"a": np.arange(50.0), "b": ["text", (1, 2)]})


def test_every_cut_and_every_flipped_bit_is_refused_or_changes_nothing():
    for n in range(len(SAMPLE)):
        refused(SAMPLE[:n], "not a file of unnaive, or it is damaged")
        for bit in (0, 7):
            flipped = bytearray(SAMPLE)
            flipped[n] ^= 1 << bit
            try:
                found = read(bytes(flipped))
            except Exception:
                refused(bytes(flipped))
            else:
                assert found["b"] == ["text", (1, 2)]
                assert np.array_equal(found["a"], np.arange(50.0))


def doc(node, **more):
    return json.dumps({"value": node, **more})


ZEROS = npy("<f8", [50], bytes(400))


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (npy("|O", [50], bytes(400)), "a type that is not allowed"),
        (npy("<c16", [25], bytes(400)), "a type that is not allowed"),
        (npy("<f8,<i4", [50], bytes(400)), "a type that is not allowed"),
        (npy("<f8", [-50], bytes(400)), "a type that is not allowed"),
        (npy("<f8", [1] * 9 + [50], bytes(400)), "a type that is not allowed"),
        (npy("<f8", [10**11], bytes(400)), "not as large as its shape"),
        (npy("<f8", [49], bytes(400)), "not as large as its shape"),
        (npy("<f8", [50], bytes(399)), "not as large as its shape"),
        (npy("|b1", [50], b"\x02" * 50), "neither true nor false"),
        (npy("<U1", [1], b"\xff" * 4), "text that is none"),
        (ZEROS.replace(b"False", b"__import__('os')"), "a type that is not allowed"),
        (b"\x93NUMPY\x02" + ZEROS[7:], "not an array of NumPy"),
        (ZEROS[:20], "truncated"),
        (b"", "not an array of NumPy"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_hostile_arrays_are_refused(array, words):
    assert read(zipped(doc({"$array": 0}), [ZEROS])).shape == (50,)
    with pytest.raises(ModelFileError, match=words):
        read(zipped(doc({"$array": 0}), [array]))


@pytest.mark.parametrize(
    "node",
    [
        {"$array": 1},
        {"$array": -1},
        {"$array": True},
        {"$array": "0"},
        {"$eval": "1"},
        {"$tuple": 1},
        {"$tuple": [], "more": 1},
        {"$float": "1"},
        {"$float": []},
        {"$scalar": 1},
        {"$scalar": {"$array": 0}},
        {"$dict": [[1, 2], [1, 3]]},
        {"$dict": [[[], 2]]},
        {"$dict": [1]},
        {"$frozenset": [[]]},
        {"$text": [0, 0]},
        {"$text": 5},
        {"$objects": 5},
        {"$objects": [[]]},
        {"$bytes": "zz"},
        {"$date": "2020-13-01"},
        {"$datetime": ["2020-01-01"]},
        {"$datetime": "2020-01-01T00:00:00+99:00"},
        {"$timedelta": "9" * 30},
        {"$decimal": "x"},
        {"$tuple": [k * (2**61 - 1) for k in range(1, 50_000)]},  # one hash: quadratic time
    ],
    ids=lambda node: repr(node)[:60],
)
def test_hostile_values_are_refused(node):
    refused(zipped(doc(node), [ZEROS]))


@pytest.mark.parametrize(
    ("ends", "letters"),
    [([1, 0], "a"), ([2], "a"), ([1], "ab"), ([-1, 1], "a"), ([1], "\xff")],
)
def test_hostile_texts_are_refused(ends, letters):
    block = letters.encode("latin1")
    arrays = [
        npy("|u1", [len(block)], block),
        npy("<i8", [len(ends)], np.array(ends, "<i8").tobytes()),
    ]
    refused(zipped(doc({"$text": [0, 1]}), arrays))


@pytest.mark.parametrize(
    "text",
    [
        b'{"value":NaN}',
        b'{"value":1,"value":2}',
        b"[]",
        b"\xff",
        '{"value":1}'.encode("utf-16"),
        b'{"value":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"value":' + b"9" * 5000 + b"}",
    ],
    ids=lambda t: t[:30].decode(errors="replace"),
)
def test_hostile_documents_are_refused(text):
    refused(zipped(text))


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_members_of_other_names_or_methods_are_refused():
    document = doc(1)
    refused(zipped(document, [ZEROS], zipfile.ZIP_LZMA), "packed in a way")
    for names in (["1.npy"], ["0.npy", "0.npy"], ["0.npy", "more"], ["../0.npy"]):
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("model.json", document)
            for name in names:
                archive.writestr(name, ZEROS)
        refused(file.getvalue(), "its members are not those of a model")


def test_sizes_are_checked_before_anything_is_inflated():
    zeros = npy("<f8", [1 << 24], bytes(1 << 27))
    refused(zipped(doc({"$array": 0}), [zeros]), "more than max_bytes, 1,000", 1000)
    with pytest.raises(ModelFileError, match="needs more memory than max_bytes"):
        read(zipped(doc([[]] * 10_000)), 10**6)
    with pytest.raises(ModelFileError, match="needs more memory than max_bytes"):
        read(zipped(doc([{"$array": 0}] * 10**4), [ZEROS]), 5 * 10**6)
    refused(zipped(b" " * (MOST_JSON + 1)), "a document of .* is refused")


def test_a_member_that_inflates_to_more_than_it_declares_is_refused():
    data = zipped(doc({"$array": 0}), [npy("<f8", [1000], bytes(8000))])
    small = len(npy("<f8", [100], bytes(800))).to_bytes(4, "little")
    large = len(npy("<f8", [1000], bytes(8000))).to_bytes(4, "little")
    assert data.count(large) == 2  # in the member's header and in the directory
    refused(data.replace(large, small))


def test_content_may_be_nested_up_to_a_hundred_levels():
    def nested(depth):
        return [nested(depth - 1)] if depth else "]}{["

    assert read(written(nested(MOST_DEPTH - 1))) == nested(MOST_DEPTH - 1)
    with pytest.raises(ModelFileError, match="nested more than 100 levels deep"):
        read(written(nested(MOST_DEPTH + 1)))


def test_equal_values_are_not_values_made_to_collide():
    mask = (True, False) * 500
    assert read(written(mask)) == mask


# Writing ----------------------------------------------------------------------------------------


def test_a_file_that_could_not_be_written_leaves_the_old_one_and_nothing_else(tmp_path):
    path = tmp_path / "a.unv"
    path.write_bytes(b"old")
    for stop in (OSError, KeyboardInterrupt):
        with pytest.raises(stop), replacing(path) as file:  # noqa: PT012
            file.write(b"half of")
            raise stop
    assert os.listdir(tmp_path) == ["a.unv"]
    assert path.read_bytes() == b"old"


def test_files_have_the_permissions_that_open_gives_and_links_are_followed(tmp_path):
    (tmp_path / "plain").write_bytes(b"")
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "real")
    with replacing(link) as file:
        file.write(b"new")
    assert link.is_symlink()
    assert (tmp_path / "real").stat().st_mode == (tmp_path / "plain").stat().st_mode
    assert sorted(os.listdir(tmp_path)) == ["link", "plain", "real"]


def test_folders_and_missing_files_are_the_systems_own_errors(tmp_path):
    with pytest.raises(FileNotFoundError, match="none/a'"), replacing(tmp_path / "none" / "a"):
        pass
    with pytest.raises(IsADirectoryError, match=tmp_path.name), replacing(tmp_path):
        pass
