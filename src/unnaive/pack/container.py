"""One file of arrays and plain data; docs/guide/model_files.md has the layout.

Sizes are checked before anything is read, and every part against its checksum before anything is
made of it. Arrays lie end to end and fill the file, so that none can lie in another.
"""

from __future__ import annotations

import io
import json
import math
import os
import re
import struct
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from unnaive.common.atomic import replacing
from unnaive.pack.limits import (
    MOST_BYTES,
    MOST_HEADER,
    Budget,
    PackError,
    header_cost,
    is_shape,
    padding,
)
from unnaive.pack.values import Aside, Stored, decode, encode

# How to raise it: readers of this version refuse the next one, so only when the layout below
# changes.
LAYOUT = 1
MAGIC = b"\x89UNV\r\n\x1a\n"  # as PNG's: shows files that were copied as text
PREAMBLE = struct.Struct(
    "<8sIIQQI"
)  # magic, layout, CRC of header, its size, unpacked, CRC of these
DTYPE = re.compile(r"[<|](b1|[iu][1248]|f[248]|[mM]8\[(Y|M|W|D|h|m|s|ms|us|ns)\]|S[1-9]\d{0,4})")

LARGE = 1 << 16  # numbers in an array whose planes are tried before they are deflated
PIECES, PIECE = 16, 1 << 10  # bytes that are looked at in a plane
# As they are, runs alone, and as usual, the quickest first.
WAYS = ((0, zlib.Z_DEFAULT_STRATEGY), (1, zlib.Z_RLE), (1, zlib.Z_DEFAULT_STRATEGY))

Block: TypeAlias = tuple[bool, bytes | memoryview]  # whether it is deflated, and its bytes
AnyFile: TypeAlias = str | os.PathLike[str] | BinaryIO


class Entry(NamedTuple):
    """An array in the header: type, shape, and its bytes in the file, the last axis quickest."""

    dtype: str
    shape: list[int]
    packed: bool  # deflated, bytes of equal rank together
    stored: int
    crc: int


def write_pack(target: AnyFile, content: Any, *, kind: str, version: int, reserve: int = 0) -> None:
    """Write plain data and arrays to one file, whole or not at all.

    Parameters
    ----------
    target : path or binary file
        A path is replaced only when everything is written and safe on disk.
    content : plain data
        None, true/false, numbers, text, bytes, dates, times, decimals, lists, tuples, dicts, sets
        and NumPy arrays, in any nesting. They come back equal, and of the same types.
    kind : str
        What the file is, such as ``"unnaive model"``.
    version : int
        Version of what the content means.
    reserve : int, default=0
        Bytes of memory that readers make of the content beside it; a file that unpacks to more
        than it may is made longer.

    Examples
    --------
    >>> import io
    >>> import numpy as np
    >>> from unnaive.pack import read_pack, write_pack
    >>> file = io.BytesIO()
    >>> write_pack(file, {"a": np.arange(3), "b": (1, None)}, kind="example", version=1)
    >>> _ = file.seek(0)
    >>> read_pack(file, kind="example", version=1)
    (1, {'a': array([0, 1, 2]), 'b': (1, None)})
    """
    write_parts(target, pack_parts(content, kind, version, reserve))


def write_parts(target: AnyFile, parts: Iterable[bytes | memoryview]) -> None:
    """Write bytes to a file, or to a path that is replaced when all is written."""
    if isinstance(target, (str, os.PathLike)):
        with replacing(target) as file:
            file.writelines(parts)
    else:
        target.writelines(parts)


def read_pack(
    source: AnyFile, *, kind: str, version: int, max_bytes: int | None = None
) -> tuple[int, Any]:
    """Read what `write_pack` wrote. Nothing in the file is run.

    Parameters
    ----------
    source : path or binary file that can be searched
    kind : str
        What the file must be.
    version : int
        Latest version of the content that the caller understands.
    max_bytes : int or None, default=None
        Most memory for all that the file holds; None is 8 GiB. However large it is, a file unpacks
        to at most 256 times its size, beyond the first 64 MiB.

    Returns
    -------
    version, content
        The version that the file has, and what was written.

    Raises
    ------
    PackError
        If the file is truncated, damaged, too large, of another kind or from a later version.
    """
    limit = MOST_BYTES if max_bytes is None else max_bytes
    try:
        if isinstance(source, (str, os.PathLike)):
            with Path(source).open("rb") as file:
                return _read(file, kind, version, limit)
        return _read(source, kind, version, limit)
    except PackError:
        raise
    except (ValueError, TypeError, ArithmeticError, LookupError, RecursionError) as error:
        raise PackError(f"the file is damaged: {error!s:.200}") from error


# Writing ---------------------------------------------------------------------------------------


def pack_parts(
    content: Any, kind: str, version: int, reserve: int = 0
) -> Iterator[bytes | memoryview]:
    """The bytes of a pack, from front to back; as in `write_pack`."""
    aside = Aside()
    body = encode(content, aside)
    blocks = [_deflated(array) for array in aside.arrays]
    text = _header(body, aside, blocks, kind, version)
    stored = zlib.compress(text, 9)
    spent = header_cost(text) + aside.n_bytes + reserve
    missing = padding(len(stored) + sum(len(data) for _, data in blocks), spent)
    if missing:
        aside.arrays.append(np.zeros(missing, dtype=np.uint8))
        blocks.append((False, _memory(aside.arrays[-1])))
        text = _header(body, aside, blocks, kind, version)
        stored = zlib.compress(text, 9)
    fixed = (MAGIC, LAYOUT, zlib.crc32(stored), len(stored), len(text))
    yield PREAMBLE.pack(*fixed, zlib.crc32(PREAMBLE.pack(*fixed, 0)[:-4]))
    yield stored
    for _, data in blocks:
        yield data


def _header(body: Any, aside: Aside, blocks: list[Block], kind: str, version: int) -> bytes:
    """The table of the arrays and everything else, as JSON."""
    table = [
        Entry(
            array.dtype.newbyteorder("<").str,
            list(array.shape),
            packed,
            len(data),
            zlib.crc32(data),
        )
        for array, (packed, data) in zip(aside.arrays, blocks, strict=True)
    ]
    header = {"kind": kind, "version": version, "arrays": table, "content": body}
    try:
        text = json.dumps(header, separators=(",", ":"), allow_nan=False).encode()
    except ValueError as error:
        raise PackError(f"the content cannot be stored: {error}.") from error
    if len(text) > MOST_HEADER:
        raise PackError(
            f"the content has {len(text):,} bytes of names and categories, more than "
            f"{MOST_HEADER:,}; group rare categories (max_categories=), or call compact() first."
        )
    return text


def _memory(array: NDArray[Any]) -> memoryview:
    """The bytes of an array, little-endian."""
    laid = np.ravel(array)
    return laid.astype(laid.dtype.newbyteorder("<"), copy=False).view(np.uint8).data


def _deflated(array: NDArray[Any]) -> Block:
    """Deflated where that is shorter. Bytes of equal rank come together: of neighbouring numbers
    the high ones are mostly alike.
    """
    plain = _memory(array)
    size = array.dtype.itemsize
    planes = np.frombuffer(plain, dtype=np.uint8).reshape(-1, size).T
    if array.size < LARGE:
        packed = zlib.compress(np.ascontiguousarray(planes).data, 3)
    else:
        packed = _deflate_some(planes)
    return (True, packed) if len(packed) < len(plain) else (False, plain)


def _deflate_some(planes: NDArray[np.uint8]) -> bytes:
    """One stream of planes, each in the way that a look at some of its bytes suggests.

    Low bytes of measurements look like chance, and are taken as they are: to try to make them
    shorter takes longer than all else. In small counts, runs are all that there is to find.
    """
    parts, checksum = [zlib.compress(b"")[:2]], 1
    room = np.empty(planes.shape[1], dtype=np.uint8)
    plane = room.data
    for k in range(len(planes)):
        room[:] = planes[k]
        starts = range(0, len(plane) - PIECE, (len(plane) - PIECE) // (PIECES - 1))
        sample = b"".join(plane[start : start + PIECE] for start in starts)
        sizes = [len(_deflate(sample, way, last=True)) for way in WAYS]
        parts.append(_deflate(plane, WAYS[sizes.index(min(sizes))], last=k + 1 == len(planes)))
        checksum = zlib.adler32(plane, checksum)
    return b"".join([*parts, checksum.to_bytes(4, "big")])


def _deflate(data: bytes | memoryview, way: tuple[int, int], *, last: bool) -> bytes:
    level, strategy = way
    deflating = zlib.compressobj(level, wbits=-zlib.MAX_WBITS, strategy=strategy)
    return deflating.compress(data) + deflating.flush(zlib.Z_FINISH if last else zlib.Z_FULL_FLUSH)


# Reading ---------------------------------------------------------------------------------------


def _read(file: BinaryIO, kind: str, version: int, limit: int) -> tuple[int, Any]:
    begin = file.tell()
    size = file.seek(0, io.SEEK_END) - begin
    file.seek(begin)
    budget = Budget(size, limit)
    header, start = _read_header(file, budget)
    if header["kind"] != kind:
        raise PackError(f"this is a file of {header['kind']!r:.60}, not of {kind!r}.")
    written = header["version"]
    if type(written) is not int or written < 1:
        raise PackError("the file is damaged: it has no version.")
    if written > version:
        raise PackError(
            f"the file has version {written} of its format, and this release of unnaive reads "
            f"versions up to {version}; install a later release to read it."
        )
    table = [_entry(given) for given in header["arrays"]]
    if start + sum(entry.stored for entry in table) != size:
        raise PackError("the file is truncated, or has more at its end than it should.")
    budget.spend(sum(_n_bytes(entry) for entry in table))
    arrays = [_read_array(file, entry) for entry in table]
    return written, decode(header["content"], Stored(arrays, budget))


def _read_header(file: BinaryIO, budget: Budget) -> tuple[dict[str, Any], int]:
    """The header, and where the arrays begin."""
    fixed = file.read(PREAMBLE.size)
    if fixed[: len(MAGIC)] != MAGIC[: len(fixed)] or not fixed:
        raise PackError("this is not a file of unnaive.")
    if len(fixed) < PREAMBLE.size:
        raise PackError("the file is truncated.")
    _, layout, crc, stored, unpacked, checksum = PREAMBLE.unpack(fixed)
    if zlib.crc32(fixed[:-4]) != checksum:
        raise PackError("the file is damaged: its first bytes do not match their checksum.")
    if layout != LAYOUT:
        raise PackError(
            f"the file has layout {layout}, and this release of unnaive reads layout {LAYOUT}; "
            "install a later release to read it."
        )
    if PREAMBLE.size + stored > budget.size:
        raise PackError("the file is truncated.")
    if unpacked > MOST_HEADER:
        raise PackError(f"a header of {stored:,} bytes that unpacks to {unpacked:,} is refused.")
    data = file.read(stored)
    _check_sum(data, stored, crc, "its header does")
    text = _inflate(data, unpacked)
    budget.spend(header_cost(text))
    # Bytes might be taken for UTF-16, which costs other than what was counted.
    letters = text.decode("utf-8")
    header = json.loads(letters, parse_constant=_no_constant, object_pairs_hook=_no_twins)
    if not isinstance(header, dict) or set(header) != {"kind", "version", "arrays", "content"}:
        raise PackError("the file is damaged: its header is not one of this format.")
    if not isinstance(header["arrays"], list):
        raise PackError("the file is damaged: its list of arrays is not a list.")
    return header, PREAMBLE.size + stored


def _entry(given: Any) -> Entry:
    """A line of the table of arrays, checked."""
    entry = Entry(*given)
    dtype, shape, packed, stored, crc = entry
    if not (isinstance(dtype, str) and DTYPE.fullmatch(dtype)):
        raise PackError(f"the file has an array of the type {dtype!r:.40}, which is not allowed.")
    if not is_shape(shape) or type(packed) is not bool:
        raise PackError(f"the file has an array of the shape {shape!r:.60}, which is not allowed.")
    if not (type(stored) is int and stored >= 0 and type(crc) is int):
        raise PackError("the file is damaged: an array has no size or no checksum.")
    if not packed and stored != _n_bytes(entry):
        raise PackError(f"the file has {stored:,} bytes for an array of {_n_bytes(entry):,}.")
    return entry


def _n_bytes(entry: Entry) -> int:
    return math.prod(entry.shape) * np.dtype(entry.dtype).itemsize


def _read_array(file: BinaryIO, entry: Entry) -> NDArray[Any]:
    data = file.read(entry.stored)
    _check_sum(data, entry.stored, entry.crc, "an array does")
    dtype = np.dtype(entry.dtype)
    if entry.packed:
        planes = np.frombuffer(_inflate(data, _n_bytes(entry)), dtype=np.uint8)
        # A copy also of single bytes: kernels are compiled for arrays that can be written to.
        memory = np.array(planes.reshape(dtype.itemsize, -1).T, order="C").reshape(-1)
    else:
        memory = np.frombuffer(bytearray(data), dtype=np.uint8)
    if dtype.kind == "b" and (memory > 1).any():
        raise PackError("the file is damaged: something is neither true nor false.")
    array = memory.view(dtype).reshape(entry.shape)
    return array.astype(dtype.newbyteorder("="), copy=False)


def _check_sum(data: bytes, size: int, crc: int, what: str) -> None:
    if len(data) != size:
        raise PackError("the file is truncated.")
    if zlib.crc32(data) != crc:
        raise PackError(f"the file is damaged: {what} not match its checksum.")


def _inflate(data: bytes, size: int) -> bytes:
    """Unpack to exactly so many bytes; never to more, whatever the data hold."""
    unpacker = zlib.decompressobj()
    try:
        inflated = unpacker.decompress(data, size + 1)
    except zlib.error as error:
        raise PackError("the file is damaged: something does not unpack.") from error
    if len(inflated) != size or not unpacker.eof or unpacker.unused_data:
        raise PackError("the file is damaged: something does not unpack to its size.")
    return inflated


def _no_constant(word: str) -> Any:
    raise PackError(f"the file is damaged: {word} is not JSON.")


def _no_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    node = dict(pairs)
    if len(node) < len(pairs):
        raise PackError("the file is damaged: its header names something twice.")
    return node
