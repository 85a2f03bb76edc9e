"""Packs: what goes in comes out, and nothing else does."""

from __future__ import annotations

import datetime
import decimal
import io
import json
import os
import struct
import uuid
import zlib
import zoneinfo
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from unnaive.common.atomic import replacing
from unnaive.pack import PackError, limits, read_pack, write_pack
from unnaive.pack.container import MAGIC, PREAMBLE
from unnaive.pack.limits import ALLOWANCE, MOST_DEPTH, MOST_HEADER, MOST_RATIO


def packed(content, kind="test", version=1):
    file = io.BytesIO()
    write_pack(file, content, kind=kind, version=version)
    return file.getvalue()


def unpacked(data, **limits):
    return read_pack(io.BytesIO(data), kind="test", version=1, **limits)[1]


def split(data):
    """Header as data, and the bytes of the arrays."""
    stored = PREAMBLE.unpack(data[: PREAMBLE.size])[3]
    at = PREAMBLE.size + stored
    return json.loads(zlib.decompress(data[PREAMBLE.size : at])), data[at:]


def joined(header, arrays, *, layout=1, claimed=None, text=None):
    """A file with right checksums, whatever its header says."""
    text = json.dumps(header).encode() if text is None else text
    stored = zlib.compress(text)
    size = len(text) if claimed is None else claimed
    fixed = PREAMBLE.pack(MAGIC, layout, zlib.crc32(stored), len(stored), size, 0)[:-4]
    return fixed + struct.pack("<I", zlib.crc32(fixed)) + stored + arrays


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
    datetime.datetime(2020, 1, 2, 3, 4, 5, 6),
    datetime.datetime(2020, 10, 25, 2, 30, fold=1, tzinfo=zoneinfo.ZoneInfo("Europe/Rome")),
    datetime.datetime(2020, 1, 2, tzinfo=datetime.timezone(datetime.timedelta(hours=-3))),
    datetime.time(1, 2, 3, 4),
    datetime.timedelta(-1, 3, 4),
    pd.Timestamp("2020-01-01 00:00:00.123456789"),
    pd.Timestamp("2020-06-01", tz="America/Lima"),
    decimal.Decimal("1.50"),
    uuid.UUID(int=7),
    np.float32(0.1),
    np.int8(-3),
    np.bool_(True),
    np.str_("text"),
    np.datetime64("2020-01-01"),
    (),
    (1, (2.0, ["x"])),
    {1: "a", None: "b", ("t", 2): []},
    {"$array": 0, "plain": 1},
    frozenset({1, 2.5}),
    {2, 1},
]


@pytest.mark.parametrize("value", SCALARS, ids=repr)
def test_values_come_back_with_their_types(value):
    found = unpacked(packed(value))
    assert type(found) is type(value)
    assert repr(found) == repr(value) or found == value


@pytest.mark.parametrize(
    "array",
    [
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.array(["a", "bcd", ""]),
        np.array([["x"], ["y"]]),
        np.array(["x", "yy"], dtype=np.dtypes.StringDType()),
        np.array([b"ab", b""]),
        np.array([True, False]),
        np.zeros((0, 3)),
        np.array(3.5),
        np.array([1, "a", None, (1, 2)], dtype=object),
        np.array(["2020-01-01", "NaT"], dtype="M8[ns]"),
        np.arange(3, dtype=">i4"),
        np.arange(10.0)[::2],
        np.zeros(100_000),
        np.zeros(100_000, dtype=bool),
    ],
    ids=lambda a: f"{a.dtype}{a.shape}",
)
def test_arrays_come_back_with_type_and_shape_and_can_be_changed(array):
    found = unpacked(packed(array))
    assert found.shape == array.shape
    assert found.dtype == (
        array.dtype if array.dtype.kind == "T" else array.dtype.newbyteorder("=")
    )
    assert found.tolist() == array.tolist() or found.tobytes() == array.tobytes()
    assert found.flags.writeable
    assert found.flags.c_contiguous


PLAIN = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(allow_nan=False),
        st.text(),
        st.binary(),
        st.datetimes(),
        st.timedeltas(),
        st.decimals(allow_nan=False),
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
    found, same = unpacked(packed([content, array]))
    assert found == content
    assert same.dtype == array.dtype.newbyteorder("=")
    assert same.astype(array.dtype).tobytes() == array.tobytes()


def test_an_array_that_two_places_share_is_stored_once_and_shared_again():
    array = np.random.default_rng(0).random(1000)
    data = packed([array, {"again": array}])
    first, second = unpacked(data)
    assert first is second["again"]
    assert len(data) < 2 * array.nbytes


def test_numbers_are_packed_tightly():
    counts = np.random.default_rng(0).integers(0, 50, 100_000).astype(np.float64)
    assert len(packed(counts)) < counts.nbytes / 5


@pytest.mark.parametrize(
    "make",
    [
        lambda rng, n: np.sort(rng.normal(size=n)),  # high bytes in runs, low ones by chance
        lambda rng, n: rng.integers(0, 3, n).astype(np.uint8),
        lambda rng, n: rng.integers(-(2**63), 2**63 - 1, n),
        lambda rng, n: np.resize(rng.integers(0, 2**16, 500), n).astype("<u2"),
        lambda rng, n: rng.random(n) < 0.01,
        lambda rng, n: np.arange(n).astype("<M8[s]").reshape(3, -1),
        lambda rng, n: np.zeros(n),
    ],
)
def test_large_arrays_come_back_and_are_one_deflated_stream(make):
    array = make(np.random.default_rng(0), 3 << 15)
    file = io.BytesIO()
    write_pack(file, array, kind="t", version=1)
    header = PREAMBLE.unpack(file.getvalue()[: PREAMBLE.size])
    block = file.getvalue()[PREAMBLE.size + header[3] :]
    if len(block) < array.nbytes:  # earlier releases read it so
        assert len(zlib.decompress(block)) == array.nbytes
    file.seek(0)
    again = read_pack(file, kind="t", version=1)[1]
    assert again.dtype == array.dtype
    np.testing.assert_array_equal(again, array)


def test_equal_content_gives_equal_bytes():
    assert packed({3, 1, 2}) == packed({2, 3, 1})


class Odd:
    pass


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (Odd(), r"the type .*\.Odd cannot be stored"),
        (1j, "builtins.complex cannot be stored"),
        (np.array([1j]), "an array of the type complex128 cannot be stored"),
        (np.array([Odd()], dtype=object), "Odd cannot be stored"),
        (datetime.time(1, tzinfo=datetime.UTC), "a time of day with a zone"),
        ([10**5000], "the content cannot be stored"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_cannot_be_stored_is_named(content, words):
    with pytest.raises(PackError, match=words):
        packed(content)


def test_a_header_that_no_reader_would_take_is_not_written():
    with pytest.raises(PackError, match="bytes of names and categories"):
        packed("a" * (MOST_HEADER + 1))


# Damage ----------------------------------------------------------------------------------------

SAMPLE = packed({"a": np.arange(50.0), "b": ["text", (1, 2)]})


def test_every_cut_and_every_flipped_bit_is_refused():
    for n in range(len(SAMPLE)):
        with pytest.raises(PackError, match="truncated|not a file"):
            unpacked(SAMPLE[:n])
        for bit in (0, 7):
            flipped = bytearray(SAMPLE)
            flipped[n] ^= 1 << bit
            with pytest.raises(PackError, match="."):
                unpacked(bytes(flipped))
    with pytest.raises(PackError, match="more at its end"):
        unpacked(SAMPLE + b"\x00")


def test_other_kinds_and_later_versions_are_refused_by_name():
    with pytest.raises(PackError, match="a file of 'letter', not of 'test'"):
        unpacked(packed(1, kind="letter"))
    with pytest.raises(PackError, match="version 2 of its format.*up to 1; install a later"):
        unpacked(packed(1, version=2))
    header, arrays = split(SAMPLE)
    with pytest.raises(PackError, match="layout 2.*install a later"):
        unpacked(joined(header, arrays, layout=2))


def test_bombs_are_refused_before_they_unpack():
    zeros = zlib.compress(bytes(1 << 20), 9)
    entry = ["|u1", [1 << 20], True, len(zeros), zlib.crc32(zeros)]
    header = {"kind": "test", "version": 1, "content": {"$array": 0}, "arrays": [entry]}
    assert unpacked(joined(header, zeros)).sum() == 0  # small enough to pass
    with pytest.raises(PackError, match="more than the limit of 1,000; raise max_bytes"):
        unpacked(joined(header, zeros), max_bytes=1000)
    entry[1] = [1 << 30]
    with pytest.raises(PackError, match="that unpacks to 1,073,7.* is refused"):
        unpacked(joined(header, zeros))
    entry[1] = [(1 << 20) - 1]  # holds one byte more than it says
    with pytest.raises(PackError, match="does not unpack to its size"):
        unpacked(joined(header, zeros))
    with pytest.raises(PackError, match="a header of .* that unpacks to .* is refused"):
        unpacked(joined({}, b"", text=b" " * (MOST_HEADER + 1)))


def test_the_writer_keeps_to_the_ratio_that_readers_allow():
    empty = np.zeros((ALLOWANCE + (1 << 22)) // 8)
    data = packed(empty)
    assert len(data) * MOST_RATIO + ALLOWANCE >= empty.nbytes
    assert len(data) < 1 << 20  # and is still packed
    assert unpacked(data).nbytes == empty.nbytes


@pytest.mark.parametrize(
    "content",
    [
        np.array(["", "a" * 1000] * 20_000),
        [[]] * 300_000,
        [np.zeros(10**6)] * 100,
        "a" * (1 << 25),
        np.array(["a" * 5_000_000, "b"]),
        {1: [2, "[{,:" * 100_000 + '\\"\\']},
    ],
    ids=["wide text", "many nodes", "one array in many places", "long", "a long one", "brackets"],
)
def test_whatever_is_written_is_read_again(content):
    again = unpacked(packed(content))
    assert type(again) is type(content)
    assert len(again) == len(content)
    assert np.all([np.array_equal(a, b) for a, b in zip(list(again)[-9:], list(content)[-9:])])


def test_arrays_that_are_named_again_and_again_are_paid_for_each_time():
    header, arrays = split(packed([np.arange(100_000.0)]))
    header["content"] *= 1000
    with pytest.raises(PackError, match="that unpacks to .* is refused"):
        unpacked(joined(header, arrays))


def test_content_may_be_nested_up_to_a_hundred_levels():
    def nested(depth):
        return [nested(depth - 1)] if depth else "]}{["

    assert unpacked(packed(nested(MOST_DEPTH - 1))) == nested(MOST_DEPTH - 1)
    with pytest.raises(PackError, match="nested more than 100 levels deep"):
        packed(nested(MOST_DEPTH))


@given(text=st.text(alphabet='a"\\[{,:]}', max_size=40), chunk=st.integers(1, 9))
def test_the_cost_of_a_header_counts_what_is_outside_of_text(text, chunk):
    """Whatever the text holds, and wherever the pieces that are looked at begin."""
    data = json.dumps([text, {"a": text}]).encode()
    with mock.patch.object(limits, "CHUNK", chunk):
        cost = limits.header_cost(data)
    escaped = data.replace(b"\\\\", b"").replace(b'\\"', b"")
    assert cost == limits.TOKEN_BYTES * 4 + limits.LETTER_BYTES * len(escaped)


ENTRY = ["<f8", [50], False, 400, 0]


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (0, "|O"),
        (0, "<c16"),
        (0, "<f8,<i4"),
        (0, "S99999999"),
        (0, 8),
        (1, [-50]),
        (1, [1 << 62, 1 << 62]),
        (1, [50.0]),
        (1, [1] * 9),
        (1, [True]),
        (2, 1),
        (3, -1),
        (3, 399),
        (3, "400"),
        (4, None),
        (4, 1),
    ],
)
def test_hostile_tables_of_arrays_are_refused(place, value):
    entry = [*ENTRY]
    entry[4] = zlib.crc32(bytes(400))
    header = {"kind": "test", "version": 1, "content": {"$array": 0}, "arrays": [entry]}
    assert unpacked(joined(header, bytes(400))).shape == (50,)
    entry[place] = value
    with pytest.raises(PackError, match="."):
        unpacked(joined(header, bytes(400)))


@pytest.mark.parametrize(
    "node",
    [
        {"$array": 0},
        {"$array": -1},
        {"$array": True},
        {"$array": "0"},
        {"$eval": "1"},
        {"$tuple": 1},
        {"$tuple": [], "more": 1},
        {"$float": "1"},
        {"$float": []},
        {"$scalar": 1},
        {"$dict": [[1, 2], [1, 3]]},
        {"$dict": [[[], 2]]},
        {"$dict": [1]},
        {"$set": [[]]},
        {"$text": [1 << 40, [1], ["a"]]},
        {"$text": [1, [2], ["a"]]},
        {"$text": [1, [1], [1]]},
        {"$text": 5},
        {"$strings": [[1], [None]]},
        {"$objects": [[2], [1]]},
        {"$objects": [[1], [[]]]},
        {"$bytes": "zz"},
        {"$date": "2020-13-01"},
        {"$datetime": ["2020-01-01", 0, "../../etc/passwd"]},
        {"$datetime": ["2020-01-01", 0, "Europe"]},
        {"$datetime": ["2020-01-01", 7, None]},
        {"$datetime": ["2020-01-01", 0, 10**30]},
        {"$timedelta": [10**20, 0, 0]},
        {"$timestamp": [10**30, "ns", None]},
        {"$timestamp": [-(2**63), "ns", None]},
        {"$timestamp": [0, "Y", None]},
        {"$decimal": "x"},
        {"$uuid": "x"},
    ],
    ids=repr,
)
def test_hostile_values_are_refused(node):
    header = {"kind": "test", "version": 1, "content": node, "arrays": []}
    with pytest.raises(PackError, match="."):
        unpacked(joined(header, b""))


START = b'{"kind":"test","version":1,"arrays":[],"content":'


@pytest.mark.parametrize(
    "text",
    [
        START + b"NaN}",
        START + b'1,"content":2}',
        b'{"kind":"test","version":1,"arrays":{},"content":1}',
        b'{"kind":"test","version":true,"arrays":[],"content":1}',
        b'{"kind":"test","version":1,"arrays":[]}',
        b"[]",
        b"\xff",
        '{"kind":"test","version":1,"arrays":[],"content":1}'.encode("utf-16"),
        '{"kind":"test","version":1,"arrays":[],"content":1}'.encode("utf-32-le"),
        b'{"kind":"test","version":1,"arrays":[],"content":'
        + b"[" * 100_000
        + b"]" * 100_000
        + b"}",
        b'{"kind":"test","version":1,"arrays":[],"content":' + b"9" * 5000 + b"}",
    ],
    ids=lambda t: t[:60].decode(errors="replace"),
)
def test_hostile_headers_are_refused(text):
    with pytest.raises(PackError, match="."):
        unpacked(joined(None, b"", text=text))


def test_equal_values_are_not_values_made_to_collide():
    mask = (True, False) * 500
    assert unpacked(packed(mask)) == mask


def test_values_made_to_collide_are_refused():
    """A dictionary of them would take a time that grows with the square of their number."""
    alike = [k * (2**61 - 1) for k in range(1, 50_000)]
    header = {"kind": "test", "version": 1, "content": {"$tuple": alike}, "arrays": []}
    with pytest.raises(PackError, match="the same hash"):
        unpacked(joined(header, b""))


# Writing ---------------------------------------------------------------------------------------


def test_a_file_that_could_not_be_written_leaves_the_old_one_and_nothing_else(tmp_path):
    path = tmp_path / "a.pack"
    write_pack(path, "old", kind="test", version=1)
    for stop in (OSError, KeyboardInterrupt):
        with pytest.raises(stop), replacing(path) as file:  # noqa: PT012
            file.write(b"half of")
            raise stop
    with pytest.raises(PackError, match="cannot be stored"):
        write_pack(path, [np.zeros(9), Odd()], kind="test", version=1)
    assert os.listdir(tmp_path) == ["a.pack"]
    assert read_pack(path, kind="test", version=1) == (1, "old")


def test_files_have_the_permissions_that_open_gives_and_links_are_followed(tmp_path):
    (tmp_path / "plain").write_bytes(b"")
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "real")
    write_pack(link, 1, kind="test", version=1)
    assert link.is_symlink()
    assert (tmp_path / "real").stat().st_mode == (tmp_path / "plain").stat().st_mode
    assert sorted(os.listdir(tmp_path)) == ["link", "plain", "real"]


def test_folders_and_missing_files_are_the_systems_own_errors(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_pack(tmp_path / "none", kind="test", version=1)
    with pytest.raises(FileNotFoundError, match="none/a'"):
        write_pack(tmp_path / "none" / "a", 1, kind="test", version=1)
    with pytest.raises(IsADirectoryError, match=tmp_path.name):
        write_pack(tmp_path, 1, kind="test", version=1)
    (tmp_path / "empty").write_bytes(b"")
    with pytest.raises(PackError, match="not a file of unnaive"):
        read_pack(tmp_path / "empty", kind="test", version=1)
