"""Objects in files that are mapped into memory: their arrays are read where they lie.

A file is the sizes of its pieces, then the pieces: a pickle, and the arrays that it refers to
(protocol 5 of pickle). Each begins at a multiple of 64 bytes. A map is private: what is changed in
an array is changed for its process alone. So no array is read-only: kernels would have to be
compiled again for those.
"""

from __future__ import annotations

import mmap
import os
import pickle
import struct
from collections.abc import Iterator
from typing import Any

from unnaive.common.atomic import replacing

ALIGNMENT = 64


def dump(thing: Any) -> bytes:
    """The content of an object's file."""
    arrays: list[pickle.PickleBuffer] = []
    pickled = pickle.dumps(thing, protocol=5, buffer_callback=arrays.append)
    pieces = [memoryview(pickled), *(array.raw() for array in arrays)]
    sizes = struct.pack(f"<{1 + len(pieces)}Q", len(pieces), *(piece.nbytes for piece in pieces))
    return b"".join(_aligned(memoryview(sizes), *pieces))


def _aligned(*pieces: memoryview) -> Iterator[memoryview | bytes]:
    for piece in pieces:
        yield piece
        yield bytes(-piece.nbytes % ALIGNMENT)


def load(content: Any) -> Any:
    """The object whose file has this content, of which its arrays are a part."""
    view = memoryview(content)
    (n_pieces,) = struct.unpack_from("<Q", view)
    pieces, at = [], 8 * (1 + n_pieces)
    for size in struct.unpack_from(f"<{n_pieces}Q", view, 8):
        at += -at % ALIGNMENT
        pieces.append(view[at : at + size])
        at += size
    return pickle.loads(pieces[0], buffers=pieces[1:])


def write_mapped(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file that appears whole, and is of no use once the machine has stopped."""
    with replacing(path, durable=False) as file:
        file.write(content)


def read_mapped(path: str | os.PathLike[str]) -> Any:
    """The object in a file; its arrays stay there, also when the file is removed."""
    with open(path, "rb") as file:
        return load(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY))
