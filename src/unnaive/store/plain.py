"""Values and dataclasses as JSON and arrays, and back.

A class that is to be stored needs nothing but exact annotations and, where its fields must agree
with each other, a method ``check`` that raises ValueError. Only listed classes are ever created. To
change a class without losing old files:

- a new field with a default: nothing to do, files without it get the default;
- any other change of fields: raise ``FORMAT`` in ``store/files.py``, and turn nodes of earlier
  formats into the new form before they are read.
"""

from __future__ import annotations

import datetime
import decimal
import math
import types
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import MISSING, fields
from itertools import pairwise
from typing import Any, Literal, TypeAlias, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from unnaive.common.checks import check_hashes
from unnaive.table.columns import as_objects

CLASS = "is"  # the key under which an object names its class
MOST_DEPTH = 100  # of brackets; models need 14, plus the models within them
MANY_TEXTS = 1000  # longer lists of texts are stored as arrays
TEXT_BYTES = 64  # memory of a short text, beside its letters
RAW_KINDS = "biufmMSU"  # of arrays that are stored as they are
PLAIN = (bool, int, float, str, type(None))
# What wrong content raises, wherever it is found.
WRONG = (ValueError, TypeError, ArithmeticError, LookupError, AttributeError, RecursionError)
Field: TypeAlias = tuple[str, Any, bool]


class ModelFileError(ValueError):
    """A file that holds no model, or a model that cannot be stored in a file."""


# Values -----------------------------------------------------------------------------------------


class ArrayWriter:
    """Encode values as JSON; arrays are collected, each once."""

    def __init__(self) -> None:
        self.arrays: list[NDArray[Any]] = []
        self._places: dict[int, int] = {}

    def encode(self, value: Any) -> Any:
        """Return the value as JSON; what JSON cannot express becomes ``{"$word": ...}``."""
        kind = type(value)
        if value is None or kind in (bool, int, str):
            return value
        if kind is float and math.isfinite(value):
            return value
        if kind is list:
            return self._encode_items(value)
        if kind in (tuple, frozenset):
            items = value if kind is tuple else sorted(value, key=repr)
            return {f"${kind.__name__}": self._encode_items(items)}
        if kind is dict:
            if all(type(k) is str and not k.startswith("$") for k in value):
                return {k: self.encode(v) for k, v in value.items()}
            return {"$dict": [[self.encode(k), self.encode(v)] for k, v in value.items()]}
        if isinstance(value, np.ndarray):
            return self._encode_array(value)
        if isinstance(value, np.generic):
            return {"$scalar": self._encode_array(np.asarray(value))}
        for base in kind.__mro__:  # timestamps of pandas are datetimes
            if base in _WORDS:
                word, write, _ = _WORDS[base]
                return {word: write(value)}
        name = f"{kind.__module__}.{kind.__qualname__}"
        raise ModelFileError(f"{name} cannot be stored; use text instead of {value!r:.80}.")

    def _encode_items(self, items: Sequence[Any]) -> Any:
        if len(items) <= MANY_TEXTS or any(type(v) is not str for v in items):
            return [self.encode(v) for v in items]
        texts = [v.encode("utf-8", "surrogatepass") for v in items]
        ends = np.cumsum([len(text) for text in texts], dtype=np.int64)
        letters = np.frombuffer(b"".join(texts), dtype=np.uint8)
        return {"$text": [self._add(letters), self._add(ends)]}

    def _encode_array(self, array: NDArray[Any]) -> Any:
        if array.dtype.kind in RAW_KINDS:
            return {"$array": self._add(array)}
        if array.dtype.kind == "O" and array.ndim == 1:
            return {"$objects": self._encode_items(array.tolist())}
        raise ModelFileError(f"an array of {array.dtype} cannot be stored; use astype(str).")

    def _add(self, array: NDArray[Any]) -> int:
        place = self._places.setdefault(id(array), len(self.arrays))
        if place == len(self.arrays):
            self.arrays.append(array)
        return place


def _moment_text(value: datetime.datetime) -> str:
    """Return a moment as text; time zones with names become their offset."""
    if getattr(value, "nanosecond", 0):
        raise ModelFileError(f"{value!r:.80} has nanoseconds and cannot be stored; use text.")
    return value.isoformat()


def _time_text(value: datetime.time) -> str:
    if value.tzinfo is not None:
        raise ModelFileError(f"a time of day with a zone cannot be stored: {value!r}; use text.")
    return value.isoformat()


def _read_float(text: str) -> float:
    if text not in ("nan", "inf", "-inf"):
        raise ModelFileError(f"the content has {text!r:.40} instead of nan, inf or -inf.")
    return np.nan if text == "nan" else float(text)  # one object, as names and labels need


_MICROSECOND = datetime.timedelta(microseconds=1)
# Types that are stored as text: the word for it, and how it is written and read.
_WORDS: dict[type, tuple[str, Callable[[Any], str], Callable[[str], Any]]] = {
    float: ("$float", repr, _read_float),
    bytes: ("$bytes", bytes.hex, bytes.fromhex),
    datetime.datetime: ("$datetime", _moment_text, datetime.datetime.fromisoformat),
    datetime.date: ("$date", datetime.date.isoformat, datetime.date.fromisoformat),
    datetime.time: ("$time", _time_text, datetime.time.fromisoformat),
    datetime.timedelta: (
        "$timedelta",
        lambda v: str(v // _MICROSECOND),
        lambda text: int(text) * _MICROSECOND,
    ),
    decimal.Decimal: ("$decimal", str, decimal.Decimal),
}
_FROM_TEXT = {word: read for word, _, read in _WORDS.values()}


class ArrayReader:
    """Decode what `ArrayWriter` encoded, and refuse anything that it would not have written.

    Parameters
    ----------
    arrays : sequence of arrays
        Their memory is paid for once; each further reference is paid for, too.
    budget : int
        Bytes of memory that may still be taken.
    """

    def __init__(self, arrays: Sequence[NDArray[Any]], budget: int) -> None:
        self._arrays, self._budget = arrays, budget
        self._used: set[int] = set()

    def spend(self, n_bytes: int) -> None:
        """Pay for memory before it is taken."""
        self._budget -= n_bytes
        if self._budget < 0:
            raise ModelFileError("it needs more memory than max_bytes; raise that if you trust it.")

    def decode(self, node: Any, depth: int = 0) -> Any:
        """Return the value of a node."""
        if depth > MOST_DEPTH:
            raise ModelFileError(f"its content is nested more than {MOST_DEPTH} levels deep.")
        if isinstance(node, list):
            return [self.decode(item, depth + 1) for item in node]
        if not isinstance(node, dict):
            return node
        word = next((key for key in node if key.startswith("$")), None)
        if word is None:
            return {key: self.decode(item, depth + 1) for key, item in node.items()}
        value = node[word]
        if len(node) == 1 and word in _READERS:
            return _READERS[word](self, value, depth + 1)
        if len(node) == 1 and word in _FROM_TEXT:
            return _FROM_TEXT[word](_exactly(value, str, word))
        raise ModelFileError(f"the content has an unknown kind of value, {word!r:.40}.")

    def items(self, node: Any, depth: int) -> list[Any]:
        """Return the values of a list."""
        if isinstance(node, dict):
            node = self.decode(node, depth)
        elif isinstance(node, list):
            node = [self.decode(item, depth) for item in node]
        if not isinstance(node, list):
            raise _expected("a list", node)
        return node

    def array(self, place: Any) -> NDArray[Any]:
        """Return a stored array."""
        if type(place) is not int or not 0 <= place < len(self._arrays):
            raise ModelFileError("the content names an array that is not there.")
        if place in self._used:  # its checks take their time again
            self.spend(self._arrays[place].nbytes)
        self._used.add(place)
        return self._arrays[place]


def _expected(what: str, node: Any) -> ModelFileError:
    return ModelFileError(f"the content has {node!r:.40} instead of {what}.")


def _read_tuple(reader: ArrayReader, node: Any, depth: int) -> tuple[Any, ...]:
    values = reader.items(node, depth)
    with suppress(TypeError):  # what has no hash cannot be looked up
        check_hashes(values)
    return tuple(values)


def _read_frozenset(reader: ArrayReader, node: Any, depth: int) -> frozenset[Any]:
    return frozenset(_read_tuple(reader, node, depth))


def _read_dict(reader: ArrayReader, node: Any, depth: int) -> dict[Any, Any]:
    pairs = reader.items(node, depth)
    if not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
        raise _expected("a list of pairs", node)
    check_hashes(key for key, _ in pairs)
    items = dict(pairs)
    if len(items) < len(pairs):
        raise ModelFileError("the content has a key twice.")
    return items


def _read_text(reader: ArrayReader, node: Any, depth: int) -> list[str]:  # noqa: ARG001
    letters, ends = map(reader.array, node)
    if letters.dtype != np.uint8 or ends.dtype != np.int64 or letters.ndim != 1 or ends.ndim != 1:
        raise _expected("texts", node)
    bounds = np.concatenate([[0], ends])
    if (bounds[1:] < bounds[:-1]).any() or bounds[-1] != len(letters):
        raise ModelFileError("the content has texts that do not fill their array.")
    reader.spend(TEXT_BYTES * len(ends) + 4 * len(letters))
    data, places = letters.tobytes(), bounds.tolist()
    return [data[i:j].decode("utf-8", "surrogatepass") for i, j in pairwise(places)]


def _read_objects(reader: ArrayReader, node: Any, depth: int) -> NDArray[Any]:
    values = reader.items(node, depth)
    if any(isinstance(v, (list, np.ndarray)) for v in values):
        raise ModelFileError("the content has a list in an array of single values.")
    check_hashes(values)
    return as_objects(values)


def _read_scalar(reader: ArrayReader, node: Any, depth: int) -> Any:
    array = reader.decode(node, depth)
    if not isinstance(array, np.ndarray) or array.shape != () or array.dtype.kind == "O":
        raise _expected("one number", node)
    return array[()]


_READERS: dict[str, Callable[[ArrayReader, Any, int], Any]] = {
    "$tuple": _read_tuple,
    "$frozenset": _read_frozenset,
    "$dict": _read_dict,
    "$array": lambda reader, node, depth: reader.array(node),  # noqa: ARG005
    "$scalar": _read_scalar,
    "$text": _read_text,
    "$objects": _read_objects,
}


# Dataclasses ------------------------------------------------------------------------------------


class PlainData:
    """Dataclasses to plain values and back, by the types that their fields are declared with.

    Parameters
    ----------
    *classes : types
        The dataclasses that may be stored, each under its own name.
    """

    def __init__(self, *classes: type) -> None:
        self.classes = {cls.__name__: cls for cls in classes}
        self._fields: dict[str, list[Field]] = {}

    def pack(self, value: Any, hint: Any, where: str = "content") -> Any:
        """Return the plain form of a value of the declared type."""
        return self._visit(value, hint, where, self._pack_object)

    def unpack(self, node: Any, hint: Any, where: str = "content") -> Any:
        """Return the value, checked against its declared type and by its own ``check``."""
        return self._visit(node, hint, where, self._unpack_object)

    # Both directions walk the same way: only objects differ.

    def _visit(self, value: Any, hint: Any, where: str, on_object: Callable[..., Any]) -> Any:
        origin, args = get_origin(hint), get_args(hint)
        if hint is Any:
            return value
        if hint in PLAIN:
            return _exactly(value, hint, where)
        if origin in (Union, types.UnionType):
            return self._visit(value, _member(value, args, where), where, on_object)
        if origin is Literal:
            if type(value) is str and value in args:
                return value
            raise ModelFileError(f"{where} is {value!r:.40}, not one of {args}.")
        if origin is np.ndarray:
            return _exactly_array(value, args, where)
        if origin in (tuple, list, frozenset):
            inner = _item_hints(_exactly(value, origin, where), origin, args, where)
            items = enumerate(zip(value, inner, strict=True))
            return origin(self._visit(v, h, f"{where}[{i}]", on_object) for i, (v, h) in items)
        if isinstance(hint, type):
            return on_object(value, hint, where)
        raise ModelFileError(f"{where} is declared as {hint}, which cannot be stored.")

    def fields(self, name: str) -> list[Field]:
        """Return name and type of each field of a class, and whether it is required."""
        if name not in self._fields:
            cls = self.classes[name]
            hints = get_type_hints(cls)
            self._fields[name] = [
                (f.name, hints[f.name], f.default is MISSING and f.default_factory is MISSING)
                for f in fields(cls)
                if f.init
            ]
        return self._fields[name]

    def _known(self, name: Any, hint: type, where: str) -> type:
        cls = self.classes.get(name) if isinstance(name, str) else None
        if cls is None or not issubclass(cls, hint):
            known = f"not a {hint.__name__} that can be stored."
            raise ModelFileError(f"{where} is {name!r:.40}, {known}")
        return cls

    def _pack_object(self, value: Any, hint: type, where: str) -> dict[str, Any]:
        cls = self._known(type(value).__name__, hint, where)
        if type(value) is not cls:
            raise ModelFileError(f"{where} is a {type(value)}, which cannot be stored.")
        packed = {
            name: self._visit(getattr(value, name), of, f"{where}.{name}", self._pack_object)
            for name, of, _ in self.fields(cls.__name__)
        }
        return {CLASS: cls.__name__, **packed}

    def _unpack_object(self, node: Any, hint: type, where: str) -> Any:
        if not isinstance(node, dict):
            raise ModelFileError(f"{where} is not a {hint.__name__}.")
        cls = self._known(node.get(CLASS), hint, where)
        expected = self.fields(cls.__name__)
        unknown = node.keys() - {name for name, _, _ in expected} - {CLASS}
        if unknown:
            name = sorted(map(str, unknown))[0]
            raise ModelFileError(f"{where} has {name!r:.40}, which is unknown.")
        values = {}
        for name, of, required in expected:
            if name in node:
                values[name] = self._visit(node[name], of, f"{where}.{name}", self._unpack_object)
            elif required:
                raise ModelFileError(f"{where} has no {name}.")
        return checked(lambda: cls(**values), where)


def checked(make: Callable[[], Any], where: str) -> Any:
    """Return the object that ``make`` creates, once its own ``check`` has passed."""
    try:
        made = make()
        if hasattr(made, "check"):
            made.check()
    except ModelFileError:
        raise
    except WRONG as error:
        raise ModelFileError(f"{where}: {error!s:.200}") from error
    return made


def _member(value: Any, args: tuple[Any, ...], where: str) -> Any:
    """Return which of several declared types a value, or a node, is of."""
    if value is None and type(None) in args:
        return type(None)
    others = [hint for hint in args if hint is not type(None)]
    if len(others) == 1:
        return others[0]
    name = value.get(CLASS) if isinstance(value, dict) else type(value).__name__
    for hint in others:
        if name == getattr(hint, "__name__", None):
            return hint
    raise ModelFileError(f"{where} is {name!r:.40}, not one of {[h.__name__ for h in others]}.")


def _exactly(value: Any, kind: type, where: str) -> Any:
    if type(value) is not kind:
        raise ModelFileError(f"{where} is a {type(value).__name__}, not a {kind.__name__}.")
    return value


def _exactly_array(value: Any, args: tuple[Any, ...], where: str) -> Any:
    """Check the type of an array: the second argument of `numpy.ndarray`."""
    (scalar,) = get_args(args[1])
    if not isinstance(value, np.ndarray):
        raise ModelFileError(f"{where} is a {type(value).__name__}, not an array.")
    if scalar is not Any and value.dtype != np.dtype(scalar):
        raise ModelFileError(f"{where} is an array of {value.dtype}, not of {np.dtype(scalar)}.")
    return value


def _item_hints(value: Any, origin: type, args: tuple[Any, ...], where: str) -> list[Any]:
    if origin is not tuple or (len(args) == 2 and args[1] is ...):
        return [args[0]] * len(value)
    if len(args) != len(value):
        raise ModelFileError(f"{where} has {len(value)} entries, not {len(args)}.")
    return list(args)
