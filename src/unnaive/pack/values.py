"""Plain values to JSON and back, exactly; arrays are set aside."""

from __future__ import annotations

import datetime
import decimal
import math
import uuid
import zoneinfo
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.common.checks import check_hashes
from unnaive.pack.limits import Budget, PackError, is_shape

RAW_KINDS = "biufmMS"  # arrays whose memory is stored as it is


class Aside:
    """Arrays found in a value, each once, so that what was one array stays one."""

    def __init__(self) -> None:
        self.arrays: list[NDArray[Any]] = []
        self.n_bytes = 0  # of arrays of all kinds, each as often as it stands in the value
        self._places: dict[int, int] = {}

    def add(self, array: NDArray[Any]) -> int:
        place = self._places.setdefault(id(array), len(self.arrays))
        if place == len(self.arrays):
            self.arrays.append(array)
        return place


# To JSON ---------------------------------------------------------------------------------------


def encode(value: Any, aside: Aside) -> Any:
    """A value as JSON knows it. What JSON has no word for becomes ``{"$word": ...}``."""
    kind = type(value)
    if value is None or kind in (bool, int, str):
        return value
    if kind is float:
        return value if math.isfinite(value) else {"$float": repr(value)}
    if kind is list:
        return [encode(v, aside) for v in value]
    if kind is dict:
        if all(type(k) is str and not k.startswith("$") for k in value):
            return {k: encode(v, aside) for k, v in value.items()}
        return {"$dict": [[encode(k, aside), encode(v, aside)] for k, v in value.items()]}
    if kind in (tuple, set, frozenset):
        items = value if kind is tuple else sorted(value, key=repr)  # one content, one file
        return {f"${kind.__name__}": [encode(v, aside) for v in items]}
    if isinstance(value, np.ndarray):
        return _encode_array(value, aside)
    if isinstance(value, np.generic):
        return {"$scalar": _encode_array(np.asarray(value), aside)}
    if kind in _WRITERS:
        word, write = _WRITERS[kind]
        return {word: write(value)}
    if kind.__name__ == "Timestamp" and kind.__module__.startswith("pandas"):
        return {"$timestamp": _write_timestamp(value)}
    raise PackError(
        f"a value of the type {kind.__module__}.{kind.__qualname__} cannot be stored: {value!r:.80}"
    )


def _encode_array(array: NDArray[Any], aside: Aside) -> Any:
    kind = array.dtype.kind
    aside.n_bytes += array.nbytes
    if kind in RAW_KINDS:
        return {"$array": aside.add(array)}
    if kind == "U":
        return {"$text": [array.dtype.itemsize // 4, list(array.shape), array.ravel().tolist()]}
    if array.dtype == np.dtypes.StringDType():
        return {"$strings": [list(array.shape), array.ravel().tolist()]}
    if kind == "O":
        items = [encode(v, aside) for v in array.ravel().tolist()]
        return {"$objects": [list(array.shape), items]}
    raise PackError(f"an array of the type {array.dtype} cannot be stored.")


def _write_zone(zone: datetime.tzinfo | None) -> Any:
    """A time zone: by its offset in microseconds, or by its name."""
    if isinstance(zone, datetime.timezone):
        return zone.utcoffset(None) // datetime.timedelta(microseconds=1)
    name = getattr(zone, "key", None) or getattr(zone, "zone", None)
    if zone is not None and not isinstance(name, str):
        raise PackError(f"the time zone {zone!r} cannot be stored: it has no name.")
    return name


def _write_datetime(value: datetime.datetime) -> list[Any]:
    return [value.replace(tzinfo=None, fold=0).isoformat(), value.fold, _write_zone(value.tzinfo)]


def _write_time(value: datetime.time) -> str:
    if value.tzinfo is not None:
        raise PackError(f"a time of day with a zone cannot be stored: {value!r}")
    return value.isoformat()


def _write_timestamp(value: Any) -> list[Any]:
    moment = value.asm8
    unit, _ = np.datetime_data(moment.dtype)
    return [int(moment.astype(np.int64)), unit, _write_zone(value.tzinfo)]


_WRITERS: dict[type, tuple[str, Callable[[Any], Any]]] = {
    bytes: ("$bytes", bytes.hex),
    datetime.date: ("$date", datetime.date.isoformat),
    datetime.datetime: ("$datetime", _write_datetime),
    datetime.time: ("$time", _write_time),
    datetime.timedelta: ("$timedelta", lambda v: [v.days, v.seconds, v.microseconds]),
    decimal.Decimal: ("$decimal", str),
    uuid.UUID: ("$uuid", lambda v: v.hex),
}

# From JSON -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Stored:
    """The arrays of a file, and how much may still be made of it."""

    arrays: Sequence[NDArray[Any]]  # paid for
    budget: Budget
    used: set[int] = field(default_factory=set)


def decode(node: Any, stored: Stored) -> Any:
    """What `encode` was given. Anything it would not have written is refused."""
    if isinstance(node, list):
        return [decode(item, stored) for item in node]
    if not isinstance(node, dict):
        return node
    word = next((key for key in node if key.startswith("$")), None)
    if word is None:
        return {key: decode(item, stored) for key, item in node.items()}
    if len(node) > 1 or word not in _READERS:
        raise PackError(f"the content has an unknown kind of value, {word!r:.40}.")
    return _READERS[word](node[word], stored)


def _expected(what: str, node: Any) -> PackError:
    return PackError(f"the content has {node!r:.40} instead of {what}.")


def _read_items(node: Any, stored: Stored) -> list[Any]:
    if not isinstance(node, list):
        raise _expected("a list", node)
    return [decode(item, stored) for item in node]


def _read_tuple(node: Any, stored: Stored) -> tuple[Any, ...]:
    values = _read_items(node, stored)
    with suppress(TypeError):  # what has no hash cannot be looked up
        check_hashes(values)
    return tuple(values)


def _read_set(node: Any, stored: Stored) -> Iterable[Any]:
    values = _read_items(node, stored)
    check_hashes(values)
    return values


def _read_dict(node: Any, stored: Stored) -> dict[Any, Any]:
    pairs = _read_items(node, stored)
    if not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
        raise _expected("a list of pairs", node)
    check_hashes(key for key, _ in pairs)
    items = dict(pairs)
    if len(items) < len(pairs):
        raise PackError("the content names something twice.")
    return items


def _read_array(node: Any, stored: Stored) -> NDArray[Any]:
    if type(node) is not int or not 0 <= node < len(stored.arrays):
        raise PackError("the content names an array that is not there.")
    array = stored.arrays[node]
    if node in stored.used:  # it is checked and perhaps copied once more
        stored.budget.spend(array.nbytes)
    stored.used.add(node)
    return array


def _read_scalar(node: Any, stored: Stored) -> Any:
    array = decode(node, stored)
    if not isinstance(array, np.ndarray) or array.shape != () or array.dtype.kind == "O":
        raise _expected("one number", array)
    return array[()]


def _shaped(items: list[Any], shape: Any, dtype: Any, stored: Stored) -> NDArray[Any]:
    if not is_shape(shape) or math.prod(shape) != len(items):
        raise PackError("the content has a list that does not fill its shape.")
    stored.budget.spend(len(items) * np.dtype(dtype).itemsize)
    out = np.empty(len(items), dtype=dtype)
    out[:] = items
    return out.reshape(shape)


def _texts(items: Any) -> list[str]:
    if not isinstance(items, list) or not all(type(v) is str for v in items):
        raise _expected("a list of text", items)
    return items


def _read_text(node: Any, stored: Stored) -> NDArray[Any]:
    width, shape, items = node
    longest = max(map(len, _texts(items)), default=0)
    # Every text takes the room of the width, so that a wide type is memory without content.
    if type(width) is not int or not longest <= width <= max(2 * longest, 1 << 10):
        raise PackError(f"the content has text of {longest} characters in a type of {width!r:.20}.")
    return _shaped(items, shape, f"U{width}", stored)


def _read_strings(node: Any, stored: Stored) -> NDArray[Any]:
    shape, items = node
    return _shaped(_texts(items), shape, np.dtypes.StringDType(), stored)


def _read_objects(node: Any, stored: Stored) -> NDArray[Any]:
    shape, items = node
    values = _read_items(items, stored)
    if any(isinstance(v, (list, np.ndarray)) for v in values):
        raise PackError("the content has a list in an array of single values.")
    out = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):  # an assignment at once would take tuples apart
        out[i] = value
    check_hashes(values)
    return out if shape == [len(values)] else _shaped(values, shape, object, stored)


def _read_zone(node: Any) -> datetime.tzinfo | None:
    if node is None:
        return None
    if type(node) is int:
        return datetime.timezone(datetime.timedelta(microseconds=node))
    try:
        return zoneinfo.ZoneInfo(_texts([node])[0])
    except (OSError, KeyError, ValueError) as error:
        raise PackError(f"the time zone {node!r:.80} is not known on this machine.") from error


def _read_datetime(node: Any, stored: Stored) -> datetime.datetime:  # noqa: ARG001
    text, fold, zone = node
    moment = datetime.datetime.fromisoformat(text)
    return moment.replace(tzinfo=_read_zone(zone), fold=fold)


def _read_timestamp(node: Any, stored: Stored) -> Any:  # noqa: ARG001
    try:
        import pandas as pd
    except ImportError as error:
        raise PackError(
            "the content has dates of pandas, which is not installed; pip install pandas."
        ) from error
    number, unit, zone = node
    if type(number) is not int or unit not in ("s", "ms", "us", "ns"):
        raise _expected("a timestamp", node)
    moment = pd.Timestamp(np.datetime64(number, unit))
    if moment is pd.NaT:
        raise PackError("the content has a timestamp without a value (NaT).")
    return moment if zone is None else moment.tz_localize("UTC").tz_convert(_read_zone(zone))


def _read_timedelta(node: Any, stored: Stored) -> Any:  # noqa: ARG001
    days, seconds, microseconds = node
    return datetime.timedelta(days, seconds, microseconds)


def _read_float(node: Any, stored: Stored) -> float:  # noqa: ARG001
    if node not in ("nan", "inf", "-inf"):
        raise _expected("nan, inf or -inf", node)
    return np.nan if node == "nan" else float(node)  # one object, as names and labels need


def _from_text(read: Callable[[str], Any]) -> Callable[[Any, Stored], Any]:
    return lambda node, stored: read(_texts([node])[0])  # noqa: ARG005


_READERS: dict[str, Callable[[Any, Stored], Any]] = {
    "$float": _read_float,
    "$tuple": _read_tuple,
    "$set": lambda node, stored: set(_read_set(node, stored)),
    "$frozenset": lambda node, stored: frozenset(_read_set(node, stored)),
    "$dict": _read_dict,
    "$array": _read_array,
    "$scalar": _read_scalar,
    "$text": _read_text,
    "$strings": _read_strings,
    "$objects": _read_objects,
    "$bytes": _from_text(bytes.fromhex),
    "$date": _from_text(datetime.date.fromisoformat),
    "$datetime": _read_datetime,
    "$time": _from_text(datetime.time.fromisoformat),
    "$timedelta": _read_timedelta,
    "$timestamp": _read_timestamp,
    "$decimal": _from_text(decimal.Decimal),
    "$uuid": _from_text(uuid.UUID),
}
