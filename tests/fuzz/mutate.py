"""Wrong model files of many kinds, each by a number."""

from __future__ import annotations

import io
import json
import random
import struct
import zipfile
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

NUMBERS = [
    0, -1, 1, 2, 3, 255, 65_535, 65_536, 10**5, 3 * 10**8, 2**31, -(2**31), 2**53, 2**63, -(2**63),
    10**25, 0.5, -0.0, 1e-320, 1e-9, 1e300, -1e300, 1.7e308, {"$float": "nan"}, {"$float": "inf"},
    {"$float": "-inf"},
]  # fmt: skip
OTHERS = [
    None, True, False, "", "real", "numeric", "categorical", "empty", "number", "\x00", "Bins",
    "Categories", "TableTerm", "GaussianTerm", "KernelTerm", "ClassTree", [], {}, [0], [[]],
    {"$tuple": []}, {"$tuple": [1, "a"]}, {"$array": 0}, {"$array": 1}, {"$array": 10**6},
    {"$dict": [[1, 2]]}, {"$frozenset": [1]}, {"$text": [0, 1]}, {"$objects": [None]},
    {"$datetime": "2020-01-01T00:00:00"}, {"$decimal": "1e999999"}, {"is": "Scorer"},
]  # fmt: skip
FLOATS = np.array(
    [0.0, -0.0, 1.0, -1.0, np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, 1e100, -1e100, 0.5, 2.0]
)
DTYPES = ["<f8", "<i8", "<u8", "<f4", "<i4", "<u4", "|u1", "|b1", "<M8[ns]", "|S8", "<f2", "|O"]


class Broken:
    """A model file in parts, to be changed and put together again with right checksums.

    ``types`` has the type and shape of every array, ``blocks`` its bytes.
    """

    def __init__(self, data: bytes) -> None:
        self.types: list[list[Any]] = []
        self.blocks: list[bytes] = []
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            self.document: dict[str, Any] = json.loads(archive.read("model.json"))
            for i in range(len(archive.namelist()) - 1):
                array = np.load(io.BytesIO(archive.read(f"{i}.npy")))
                self.types.append([array.dtype.str, list(array.shape)])
                self.blocks.append(array.tobytes())

    def file(self) -> bytes:
        """Return the file."""
        arrays = zip(self.types, self.blocks, strict=True)
        return zipped(json.dumps(self.document), [npy(*t, block) for t, block in arrays])


def npy(dtype: str, shape: list[int], block: bytes) -> bytes:
    """Return an array in NumPy's format, whatever its header says."""
    header = f"{{'descr': {dtype!r}, 'fortran_order': False, 'shape': {tuple(shape)}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + block


def zipped(
    document: str | bytes, arrays: Sequence[bytes] = (), method: int = zipfile.ZIP_DEFLATED
) -> bytes:
    """Return a model file of a document and arrays."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method, compresslevel=1) as archive:
        archive.writestr("model.json", document)
        for i, array in enumerate(arrays):
            archive.writestr(f"{i}.npy", array)
    return file.getvalue()


def mutated(data: bytes, other: bytes, seed: int) -> tuple[bytes, bool]:
    """A wrong file made of a right one, and whether it may be another model than it was: it was
    changed inside of its checksums, or by chance it is the other file.
    """
    rng = random.Random(seed)
    if seed % 2:
        for _ in range(rng.choice((1, 1, 1, 2, 5))):
            data = rng.choice(OUTSIDE)(data, other, rng)
        return data, data == other
    broken = Broken(data)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        if _nodes(broken.document, []):  # or nothing is left to change
            rng.choice(INSIDE)(broken, rng)
    if rng.random() < 0.06:  # last: other changes would visit each of its many nodes
        put_bomb(broken, rng)
    return broken.file(), True


# Outside: bytes of the file --------------------------------------------------------------------


def _place(data: bytes, rng: random.Random) -> int:
    """Return a place in the file, often among the last bytes, where sizes are."""
    least = 0 if rng.random() < 0.6 else max(0, len(data) - 400)
    return rng.randrange(least, len(data)) if data else 0


def flip(data: bytes, _: bytes, rng: random.Random) -> bytes:
    at = _place(data, rng)
    return data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1 :] if data else b""


def overwrite(data: bytes, _: bytes, rng: random.Random) -> bytes:
    at, n = _place(data, rng), rng.choice((1, 2, 4, 8, 64))
    new = rng.choice((rng.randbytes(n), bytes(n), b"\xff" * n))
    return data[:at] + new + data[at + n :]


def truncate(data: bytes, _: bytes, rng: random.Random) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def insert(data: bytes, _: bytes, rng: random.Random) -> bytes:
    at = rng.choice((_place(data, rng), len(data)))
    return data[:at] + rng.randbytes(rng.choice((1, 3, 64))) + data[at:]


def delete(data: bytes, _: bytes, rng: random.Random) -> bytes:
    at = _place(data, rng)
    return data[:at] + data[at + rng.choice((1, 8, 100)) :]


def repeat(data: bytes, _: bytes, rng: random.Random) -> bytes:
    at, n = _place(data, rng), rng.choice((8, 64, 1000))
    return data[: at + n] + data[at : at + n] + data[at + n :]


def splice(data: bytes, other: bytes, rng: random.Random) -> bytes:
    return data[: _place(data, rng)] + other[_place(other, rng) :]


OUTSIDE: list[Callable[[bytes, bytes, random.Random], bytes]] = [
    flip, flip, overwrite, truncate, insert, delete, repeat, splice,
]  # fmt: skip


# Inside: content and arrays --------------------------------------------------------------------


def _nodes(node: Any, found: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """Every place in the content that could hold something else."""
    places = node.items() if isinstance(node, dict) else enumerate(node)
    for key, child in list(places):
        found.append((node, key))
        if isinstance(child, (dict, list)):
            _nodes(child, found)
    return found


def _any_node(broken: Broken, rng: random.Random) -> tuple[Any, Any]:
    return rng.choice(_nodes(broken.document, []))


def put_number(broken: Broken, rng: random.Random) -> None:
    numbers = [
        (owner, key)
        for owner, key in _nodes(broken.document, [])
        if type(owner[key]) in (int, float)
    ]
    if numbers:
        owner, key = rng.choice(numbers)
        old = owner[key]
        owner[key] = rng.choice([*NUMBERS, old + 1, old - 1, -old, 2 * old, old / 3])


def put_other(broken: Broken, rng: random.Random) -> None:
    owner, key = _any_node(broken, rng)
    owner[key] = json.loads(json.dumps(rng.choice([*OTHERS, *NUMBERS])))


def swap_nodes(broken: Broken, rng: random.Random) -> None:
    (a, i), (b, j) = _any_node(broken, rng), _any_node(broken, rng)
    first, second = json.dumps(a[i]), json.dumps(b[j])
    a[i] = json.loads(second)
    b[j] = json.loads(first)


def drop_node(broken: Broken, rng: random.Random) -> None:
    owner, key = _any_node(broken, rng)
    del owner[key]


def double_node(broken: Broken, rng: random.Random) -> None:
    owner, key = _any_node(broken, rng)
    if isinstance(owner, list):
        owner.insert(key, json.loads(json.dumps(owner[key])))
    else:
        owner[f"{key}_"] = owner[key]


def put_word(broken: Broken, rng: random.Random) -> None:
    words = [
        (owner, key) for owner, key in _nodes(broken.document, []) if isinstance(owner[key], str)
    ]
    if not words:
        return
    owner, key = rng.choice(words)
    other, at = rng.choice(words)
    owner[key] = rng.choice((other[at], owner[key] + "x", owner[key].upper()))


def put_bomb(broken: Broken, rng: random.Random) -> None:
    """A few letters that ask for a lot of memory, or for a lot of time."""
    owner, key = _any_node(broken, rng)
    owner[key] = rng.choice(BOMBS)(broken)


def many_texts(broken: Broken) -> Any:
    """Return empty texts, each of which becomes an object."""
    broken.types += [["|u1", [0]], ["<i8", [10**5]]]
    broken.blocks += [b"", bytes(8 * 10**5)]
    n = len(broken.blocks)
    return [{"$text": [n - 2, n - 1]}] * 1000


def many_nodes(_: Broken) -> Any:
    return [{}] * 1_000_000


def deep_nodes(_: Broken) -> Any:
    node: Any = 1
    for _level in range(150):
        node = {"": [node]}
    return node


def many_copies(broken: Broken) -> Any:
    """One array, named again and again."""
    sizes = [len(block) for block in broken.blocks]
    return [{"$array": sizes.index(max(sizes, default=0))}] * 100_000 if sizes else []


def vast_array(broken: Broken) -> Any:
    """Return an array whose header asks for a terabyte."""
    broken.types.append(["<f8", [10**11]])
    broken.blocks.append(b"")
    return {"$array": len(broken.blocks) - 1}


BOMBS = [many_texts, many_nodes, deep_nodes, many_copies, vast_array]


def wrong_array(broken: Broken, rng: random.Random) -> None:
    """Another array, or none, where one was."""
    places = [
        (owner, key)
        for owner, key in _nodes(broken.document, [])
        if key == "$array" and type(owner[key]) is int
    ]
    if places:
        owner, key = rng.choice(places)
        owner[key] = rng.randrange(-1, len(broken.blocks) + 1)


def _array(broken: Broken, rng: random.Random) -> int | None:
    sizes = [np.dtype(entry[0]).itemsize for entry in broken.types]
    whole = enumerate(zip(broken.blocks, sizes, strict=True))
    full = [i for i, (block, size) in whole if block and len(block) % size == 0]
    return rng.choice(full) if full else None


def poke(broken: Broken, rng: random.Random) -> None:
    """Other numbers in an array."""
    i = _array(broken, rng)
    if i is None:
        return
    block, dtype = bytearray(broken.blocks[i]), np.dtype(broken.types[i][0])
    values = np.frombuffer(block, dtype=np.uint8).reshape(-1, dtype.itemsize)
    for _ in range(rng.choice((1, 1, 2, 10))):
        at = rng.randrange(len(values))
        if dtype.kind == "f":
            with np.errstate(over="ignore"):
                new = rng.choice(FLOATS).astype(dtype).tobytes()
        elif dtype.kind in "iu" and rng.random() < 0.8:
            old = int.from_bytes(values[at].tobytes(), "little", signed=dtype.kind == "i")
            wish = rng.choice((0, 1, -1, old + 1, old - 1, 2 * old, 2**31, -(2**62), 2**62, 7))
            bits = 8 * dtype.itemsize
            new = (wish % (1 << bits)).to_bytes(dtype.itemsize, "little")
        else:
            new = rng.randbytes(dtype.itemsize)
        values[at] = np.frombuffer(new, dtype=np.uint8)
    broken.blocks[i] = bytes(block)


def shuffle(broken: Broken, rng: random.Random) -> None:
    """The same numbers in another order."""
    i = _array(broken, rng)
    if i is not None:
        size = np.dtype(broken.types[i][0]).itemsize
        parts = [broken.blocks[i][k : k + size] for k in range(0, len(broken.blocks[i]), size)]
        if rng.random() < 0.5 and len(parts) > 1:
            a, b = rng.sample(range(len(parts)), 2)
            parts[a], parts[b] = parts[b], parts[a]
        else:
            rng.shuffle(parts)
        broken.blocks[i] = b"".join(parts)


def reshape(broken: Broken, rng: random.Random) -> None:
    i = _array(broken, rng)
    if i is not None:
        entry = broken.types[i]
        shape = [*entry[1]]
        n = int(np.prod(shape))
        entry[1] = rng.choice((shape[::-1], [n], [1, n], [n, 1], [*shape, 1], [0, n], [2**60, 0]))
        if 0 in entry[1]:
            broken.blocks[i] = b""


def resize(broken: Broken, rng: random.Random) -> None:
    """Rows more or fewer, with a shape that agrees."""
    i = _array(broken, rng)
    if i is not None and broken.types[i][1]:
        entry, block = broken.types[i], broken.blocks[i]
        shape = [*entry[1]]
        row = len(block) // shape[0]
        rows = rng.choice((0, 1, shape[0] - 1, shape[0] + 1, 2 * shape[0]))
        broken.blocks[i] = (block * 3)[: rows * row]
        entry[1] = [rows, *shape[1:]]


def retype(broken: Broken, rng: random.Random) -> None:
    i = _array(broken, rng)
    if i is not None:
        entry = broken.types[i]
        entry[0] = rng.choice(DTYPES)
        try:
            size = np.dtype(entry[0]).itemsize
        except TypeError:
            return
        if rng.random() < 0.7:
            entry[1] = [len(broken.blocks[i]) // size]
            broken.blocks[i] = broken.blocks[i][: entry[1][0] * size]


INSIDE: list[Callable[[Broken, random.Random], None]] = [
    put_number, put_number, put_other, swap_nodes, drop_node, double_node, put_word, wrong_array,
    poke, poke, poke, poke, shuffle, shuffle, reshape, resize, retype,
]  # fmt: skip
