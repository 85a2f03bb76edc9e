"""What a column holds, and its numbers as float64, whatever library holds it.

Numeric columns become float64 with NaN for missing; dates and durations count microseconds, so
that every engine and time unit gives the same numbers. Categories whose type orders them become
their places in that order.
"""

from __future__ import annotations

import datetime
import decimal
import numbers
from dataclasses import replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from unnaive.common.kernels import read_only
from unnaive.table.codes import (
    Native,
    as_objects,
    beyond_time,
    count_missing,
    in_microseconds,
    is_missing,
    order_of,
    read_categorical,
    read_dictionary,
)
from unnaive.table.schema import FAMILY_WORDS, Column, Family, natural_kind

# ---------------------------------------------------------------------------------------------
# Families
# ---------------------------------------------------------------------------------------------

# Of NumPy's kinds of types; objects are looked at.
FAMILY_OF_KIND: dict[str, Family] = {
    "i": "number",
    "u": "number",
    "f": "number",
    "b": "bool",
    "M": "time",
    "m": "duration",
    "U": "text",
    "T": "text",
    "S": "text",
}


def describe_column(
    column: Native, name: Any, *, forced: bool = False, coded: bool = False
) -> Column:
    """What a column holds, and how it is used: by its type, unless it is ``forced`` to be
    categories. That it is ``coded`` does not declare it to be categories.
    """
    column = _plain_numbers(column)
    order = () if forced or coded else order_of(column)
    if order and not has_no_value(column):
        return Column(name, "numeric", "level", order)
    if not (forced or coded or order) and is_declared_categorical(column):
        return Column(name, "categorical", _family_of_categories(column, name))
    if forced:
        return Column(name, "categorical", family_of(column, name))
    family = "empty" if order else family_of(_as_numbers(column), name)
    return Column(name, natural_kind(family), family)


def as_categories(spec: Column) -> Column:
    """Ordered categories as plain ones, of the family of their values; others as they are."""
    if spec.family != "level":
        return spec
    family = _family_of_objects(as_objects(spec.order or ()), spec.name)
    return replace(spec, kind="categorical", family=family)


def family_of(column: Native, name: str | int) -> Family:
    """What kind of values a column holds; looks at the values only where the dtype is silent."""
    if isinstance(column, nw.Series):
        return _family_of_series(column, name)
    return _family_of_array(column, name)


def is_declared_categorical(column: Native) -> bool:
    """Whether a column's type says that its values are categories, whatever they are."""
    return isinstance(column, nw.Series) and column.dtype in (nw.Categorical, nw.Enum)


def has_no_value(column: Native) -> bool:
    """Whether every value is missing; quick where the first one is there."""
    if isinstance(column, nw.Series):
        missing = count_missing(column)
        if column.dtype.is_float() and missing < len(column):
            return bool(np.isnan(_floats(column)).all())
        return missing >= len(column)
    if column.dtype.kind == "f":
        return bool(len(column) and np.isnan(column[0]) and np.isnan(column).all())
    return column.dtype.kind == "O" and all(is_missing(v) for v in column)


def _family_of_array(column: NDArray[Any], name: str | int) -> Family:
    kind = column.dtype.kind
    if kind == "O":
        return _family_of_objects(column, name)
    if kind == "f" and has_no_value(column):
        return "empty"
    if kind not in FAMILY_OF_KIND:
        raise ValueError(
            f"column {name!r} has the type {column.dtype}, which is not supported; "
            "convert it to numbers or text."
        )
    return FAMILY_OF_KIND[kind]


def _family_of_series(column: nw.Series[Any], name: str | int) -> Family:
    dtype = column.dtype
    if dtype in (nw.Categorical, nw.Enum):
        return _family_of_categories(column, name)
    if dtype.is_float():
        first = column.head(1).to_numpy()
        return "empty" if np.isnan(first.astype(float)).all() and has_no_value(column) else "number"
    if len(column) == count_missing(column):
        return "empty"
    if dtype.is_numeric():
        return "number"
    if dtype in (nw.Datetime, nw.Date, nw.Time):
        return "time"
    if dtype == nw.Duration:
        return "duration"
    if dtype == nw.Boolean:
        return "bool"
    if dtype == nw.String:
        return "text"
    if dtype in (nw.List, nw.Struct, nw.Array):
        raise ValueError(
            f"column {name!r} holds {dtype}, which is not supported; "
            "turn it into columns of numbers or text."
        )
    return _family_of_objects(as_objects(column.to_list()), name)


def _family_of_categories(column: nw.Series[Any], name: str | int) -> Family:
    if column.implementation.is_polars():
        return "text"
    native = column.to_native()
    values = getattr(native.dtype, "categories", None) if hasattr(native, "dtype") else None
    if values is None:  # a dictionary of pyarrow, in a pandas column or not
        return _family_of_objects(as_objects(read_dictionary(column).values), name)
    if not len(values):  # the type of no categories says nothing of those to come
        return "empty"
    if isinstance(values.dtype, np.dtype) and values.dtype.kind != "O":
        return _family_of_array(values.to_numpy(), name)
    return _family_of_objects(np.asarray(values, dtype=object), name)


def _family_of_objects(values: NDArray[Any], name: str | int) -> Family:
    types = set(map(type, values.ravel().tolist())) - {type(None)}
    # A float may be just the NaN that stands for missing text.
    floats = {t for t in types if issubclass(t, float)}
    if floats != types and all(is_missing(v) for v in values if isinstance(v, float)):
        types -= floats
    families = {_family_of_type(t) for t in types} - {None}
    if not families:
        return "empty"
    if len(families) > 1:
        mixed = " and ".join(sorted(FAMILY_WORDS[f] for f in families if f))
        raise ValueError(
            f"column {name!r} mixes {mixed}; convert it to one type, "
            "for instance with .astype(str) or pandas.to_numeric."
        )
    family = families.pop()
    assert family is not None
    if family == "object":
        kinds = ", ".join(sorted(t.__name__ for t in types))
        raise TypeError(
            f"column {name!r} holds values of type {kinds}: "
            "argument must be a string or a real number."
        )
    if family == "number" and all(is_missing(v) for v in values):
        return "empty"
    return family


def _family_of_type(t: type) -> Family | None:
    if t.__name__ in ("NAType", "NaTType"):
        return None
    if issubclass(t, (bool, np.bool_)):
        return "bool"
    if issubclass(t, (datetime.timedelta, np.timedelta64)):
        return "duration"
    if issubclass(t, (datetime.date, datetime.time, np.datetime64)):
        return "time"
    if issubclass(t, (numbers.Real, decimal.Decimal)):
        return "number"
    # Intervals and periods of pandas that are categories have no number, but a name.
    named = issubclass(t, (str, bytes)) or t.__module__.startswith("pandas")
    return "text" if named else "object"


# ---------------------------------------------------------------------------------------------
# Numeric columns
# ---------------------------------------------------------------------------------------------


def read_numeric(column: Native, spec: Column) -> NDArray[np.float64]:
    """Values as contiguous float64, NaN where missing."""
    if spec.family == "level":
        return _read_levels(column, spec)
    column = _as_numbers(_plain_numbers(column))
    try:
        if isinstance(column, nw.Series):
            values = _numeric_series(column, spec)
        elif column.dtype.kind == "O":
            values = _numeric_objects(column, spec)
        elif column.dtype.kind in "mM":
            values = _microseconds(column)
        else:
            values = column
    except OverflowError:
        raise beyond_time(spec) from None
    return read_only(np.ascontiguousarray(values, dtype=np.float64))


def _read_levels(column: Native, spec: Column) -> NDArray[np.float64]:
    """Places of values in their order; values that it does not list count as missing."""
    place = {value: k for k, value in enumerate(spec.order or ())}
    raw = read_categorical(column, spec)
    places = np.array([np.nan, *(place.get(value, np.nan) for value in raw.values)])
    return read_only(places[raw.slots])


def _plain_numbers(column: Native) -> Native:
    """Numbers that lie in memory as an array of NumPy has them as that; other columns as they are.

    To ask narwhals what pandas has takes as long as counting many rows, and of Arrow it would make
    a copy.
    """
    native: Any = column.to_native() if isinstance(column, nw.Series) else None
    dtype = getattr(native, "dtype", None)
    if isinstance(dtype, np.dtype) and dtype.kind in "iuf":
        return np.asarray(native)
    if getattr(native, "num_chunks", 0) == 1 and native.null_count == 0:
        import pyarrow as pa

        if pa.types.is_integer(native.type) or pa.types.is_floating(native.type):
            return native.chunk(0).to_numpy()
    return column


def _as_numbers(column: Native) -> Native:
    """Periods of pandas as the moments when they begin, intervals as their middles, or the end
    that they have; other columns as they are.
    """
    if not isinstance(column, nw.Series) or column.dtype != nw.Unknown:
        return column
    native = column.to_native()
    if getattr(getattr(native, "type", None), "extension_name", "").startswith("pandas."):
        native = native.to_pandas()  # in a table of Arrow, as pandas writes them to files
    array: Any = getattr(native, "array", None)
    if hasattr(array, "start_time"):
        return np.asarray(array.start_time)
    if not hasattr(array, "mid"):
        return column
    if array.dtype.subtype.kind not in "iuf":
        return np.asarray(array.mid)
    left, right = (np.asarray(end, dtype=np.float64) for end in (array.left, array.right))
    with np.errstate(invalid="ignore"):  # of both infinite ends
        middle = left + (right - left) / 2
    return np.where(np.isinf(left), right, np.where(np.isinf(right), left, middle))


def _numeric_series(column: nw.Series[Any], spec: Column) -> NDArray[Any]:
    dtype = column.dtype
    if dtype.is_float() or dtype.is_integer():
        return column.to_numpy() if column.null_count() == 0 else _floats(column)
    if dtype == nw.Date:
        column = column.cast(nw.Datetime("us"))
    if dtype in (nw.Datetime, nw.Date):
        if getattr(dtype, "time_zone", None):
            column = column.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        return _microseconds(column.to_numpy())
    if dtype == nw.Duration:
        return _microseconds(column.to_numpy())
    if dtype in (nw.Object, nw.Unknown, nw.Time) or not dtype.is_numeric():
        return _numeric_objects(as_objects(column.to_list()), spec)
    return _floats(column)


def _floats(column: nw.Series[Any]) -> NDArray[Any]:
    if column.dtype == nw.Decimal and not column.implementation.is_polars():
        column = column.cast(nw.String)  # pyarrow rounds decimals less well than text
    return column.cast(nw.Float64).to_numpy()


def _microseconds(values: NDArray[Any]) -> NDArray[np.float64]:
    counts = in_microseconds(values)
    out = counts.view(np.int64).astype(np.float64)
    out[np.isnat(counts)] = np.nan
    return out


def _numeric_objects(values: NDArray[Any], spec: Column) -> NDArray[np.float64]:
    out = np.full(len(values), np.nan)
    for i, value in enumerate(values):
        if not is_missing(value):
            out[i] = _as_float(value, spec)
    return out


def _as_float(value: Any, spec: Column) -> float:
    microsecond = datetime.timedelta(microseconds=1)
    if isinstance(value, datetime.datetime):
        zone = value.tzinfo and datetime.UTC
        return float((value - datetime.datetime(1970, 1, 1, tzinfo=zone)) // microsecond)
    if isinstance(value, datetime.date):
        return float((value - datetime.date(1970, 1, 1)) // microsecond)
    if isinstance(value, datetime.time):
        seconds = (value.hour * 60 + value.minute) * 60 + value.second
        return float(seconds * 1_000_000 + value.microsecond)
    if isinstance(value, datetime.timedelta):
        if abs(value) // microsecond >= 1 << 63:  # no other library counts as far
            raise OverflowError
        return float(value // microsecond)
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return float(_microseconds(np.asarray([value]))[0])
    try:
        return float(value)
    except OverflowError:
        raise ValueError(f"{spec} holds a number too large to compute with; rescale it.") from None
    except (TypeError, ValueError):
        raise ValueError(
            f"{spec} held {FAMILY_WORDS[spec.family]} when the model was fitted, "
            f"but now holds {value!r}; convert it first."
        ) from None
