"""Columns of any library: what they hold, their numbers as float64, their categories as codes.

Numeric columns become float64 with NaN for missing; dates and durations count microseconds, so
that every engine and time unit gives the same numbers. Categories whose type orders them become
their places in that order. Other categories and labels become codes into a list of plain values.
Codes are unsigned; the largest code of the dtype means missing, so that ``code + 1`` wraps around
to slot 0.
"""

from __future__ import annotations

import datetime
import decimal
import numbers
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from unnaive.common.kernels import read_only
from unnaive.table.schema import FAMILY_WORDS, Column, Family, natural_kind

Native = Any  # a NumPy array of one column, or a narwhals Series
LONGEST_ORDER = 65_534  # categories, the most that 16-bit codes of a model can name


class RawCodes(NamedTuple):
    """Codes of one column, the values they stand for; the dtype's largest code is missing."""

    codes: NDArray[Any]
    values: Any  # a list; an array of labels whose type matters

    @property
    def slots(self) -> NDArray[Any]:
        """The codes as slots: 0 is missing, then the values in their order."""
        return self.codes + self.codes.dtype.type(1)


def code_dtype(n_values: int) -> type[np.unsignedinteger[Any]]:
    """Smallest unsigned type with room for ``n_values`` codes, missing and unseen."""
    if n_values <= 2**8 - 2:
        return np.uint8
    return np.uint16 if n_values <= 2**16 - 2 else np.uint32


def as_objects(values: Sequence[Any]) -> NDArray[Any]:
    """A list as a 1-D array of the very objects in it."""
    out = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):  # NumPy would unpack tuples and lists
        out[i] = value
    return out


def is_missing(value: Any) -> bool:
    if value is None:
        return True
    try:
        return bool(value != value)
    except (TypeError, decimal.InvalidOperation):  # pandas.NA has no truth value; signalling NaN
        return True
    except ValueError:  # neither has an array, which is not missing
        return False


def count_missing(column: nw.Series[Any]) -> int:
    """How many values are null; pandas itself fails at a signalling NaN."""
    try:
        return column.null_count()
    except decimal.InvalidOperation:
        return sum(map(is_missing, column.to_list()))


def in_microseconds(values: NDArray[Any]) -> NDArray[Any]:
    """Dates or durations of any unit in microseconds; OverflowError where 64 bits are too few."""
    counts = values.astype(f"{values.dtype.str[:3]}[us]")
    unit, _ = np.datetime_data(values.dtype)
    if unit not in ("us", "ns", "ps", "fs", "as"):  # NumPy would wrap around without a word
        there = ~np.isnat(values)
        if (counts.astype(values.dtype) != values)[there].any():
            raise OverflowError
    return counts


def beyond_time(what: object) -> ValueError:
    """The error for dates and durations that microseconds in 64 bits cannot count."""
    return ValueError(
        f"{what} holds dates or durations too far away to compute with: the limit is 290,000 "
        "years. Correct them, or make them missing."
    )


def read_categorical(column: Native, what: object = "a column") -> RawCodes:
    """Codes and plain Python values of a column; ``what`` it is called in errors."""
    try:
        return read_dictionary(column) if isinstance(column, nw.Series) else _codes_of_array(column)
    except OverflowError:
        raise beyond_time(what) from None


def order_of(column: Native) -> tuple[Any, ...]:
    """The categories of a column whose type orders them, in that order; else none."""
    if not isinstance(column, nw.Series):
        return ()
    native = column.to_native()
    if getattr(getattr(native, "dtype", None), "ordered", None) is False:
        return ()  # pandas says so at once; asking narwhals takes as long as counting many rows
    if column.dtype not in (nw.Categorical, nw.Enum):
        return ()
    if column.implementation.is_polars():
        values = native.dtype.categories.to_list() if column.dtype == nw.Enum else []
    elif hasattr(getattr(native, "dtype", None), "categories"):
        values = native.dtype.categories.tolist() if native.dtype.ordered else []
    else:  # a dictionary of pyarrow, in a pandas column or not
        array = native.array.__arrow_array__() if hasattr(native, "array") else native
        values = _dictionary_pyarrow(array).values if array.type.ordered else []
    plain = tuple(dict.fromkeys(_plain(v) for v in values if not is_missing(v)))
    return plain if len(plain) <= LONGEST_ORDER else ()


def read_labels(column: nw.Series[Any]) -> NDArray[Any] | RawCodes:
    """Labels of a column: whole numbers and booleans as they are, all others as codes."""
    dtype = column.dtype
    if count_missing(column) == 0 and (dtype.is_integer() or dtype == nw.Boolean):
        return column.to_numpy()
    zone = getattr(dtype, "time_zone", None)  # NumPy would forget it
    if dtype.is_float() or (dtype == nw.Datetime and zone is None):
        array = column.to_numpy()
        missing = array != array
        values, codes = np.unique(array[~missing], return_inverse=True)
        out = np.full(len(array), -1, dtype=np.int64)
        out[~missing] = codes
        return RawCodes(out.astype(code_dtype(len(values))), values)
    return read_categorical(column, "y")


def _codes_of_array(column: NDArray[Any]) -> RawCodes:
    kind = column.dtype.kind
    if kind == "b":
        return RawCodes(np.ascontiguousarray(column).view(np.uint8), [False, True])
    if kind in "iufmM":
        missing = np.zeros(len(column), bool) if kind in "iu" else column != column
        if kind in "mM":
            column = in_microseconds(column)  # finer units become integers
        values, codes = np.unique(column[~missing], return_inverse=True)
        out = np.full(len(column), -1, dtype=np.int64)
        out[~missing] = codes
        return _raw(out, values.tolist())
    index: dict[Any, int] = {}
    codes = np.fromiter(
        (-1 if is_missing(v) else index.setdefault(v, len(index)) for v in column.tolist()),
        dtype=np.int64,
        count=len(column),
    )
    return _raw(codes, list(index))


def _raw(codes: NDArray[np.signedinteger[Any]], values: Sequence[Any]) -> RawCodes:
    """Narrow signed codes, -1 missing, to the unsigned type whose largest code is missing."""
    return RawCodes(codes.astype(code_dtype(len(values)), copy=False), [_plain(v) for v in values])


def _plain(value: Any) -> Any:
    """A Python scalar; whole floats become integers, for pandas turns integer columns with gaps
    into floats. Dates and durations are told apart by microseconds, as everywhere.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if not type(value).__module__.startswith("pandas") or is_missing(value):
        return value
    if not hasattr(value, "as_unit"):  # intervals and periods have a name
        return str(value)
    moment = value.as_unit("us") if value.unit == "ns" else value
    return moment.to_pytimedelta() if hasattr(moment, "to_pytimedelta") else moment


def read_dictionary(column: nw.Series[Any]) -> RawCodes:
    implementation = column.implementation
    native = column.to_native()
    if implementation.is_pandas_like():
        return _dictionary_pandas(native)
    if implementation.is_polars():
        return _dictionary_polars(native)
    if implementation.is_pyarrow():
        return _dictionary_pyarrow(native)
    return _codes_of_array(as_objects(column.to_list()))


def _dictionary_pandas(series: Any) -> RawCodes:
    array = series.array
    if hasattr(array, "categories"):
        codes, values = array.codes, array.categories.tolist()
    else:
        import pandas as pd

        try:
            codes, uniques = pd.factorize(series, use_na_sentinel=True)
        except (TypeError, decimal.InvalidOperation):  # a signalling NaN has no hash
            return _codes_of_array(series.to_numpy(dtype=object))
        values = uniques.tolist()
        if not _tells_apart(series, codes, uniques):
            return _codes_of_array(series.to_numpy(dtype=object))
    # int8 and int16 codes are read as unsigned in place: -1 is their largest code already.
    if codes.dtype.itemsize <= 2:
        plain = [_plain(v) for v in values]
        return RawCodes(np.ascontiguousarray(codes).view(f"u{codes.dtype.itemsize}"), plain)
    return _raw(codes, values)


def _tells_apart(series: Any, codes: NDArray[Any], uniques: Any) -> bool:
    """Whether codes of text stand for what the rows hold: pandas reads objects up to a NUL."""
    in_arrow = getattr(series.dtype, "storage", None) == "pyarrow"
    if in_arrow or not len(uniques) or not isinstance(uniques[0], str):
        return True
    rows, present = series.to_numpy(dtype=object), codes >= 0
    if not present.all():
        rows, codes = rows[present], codes[present]
    return not (uniques.to_numpy(dtype=object)[codes] != rows).any()


def _dictionary_polars(series: Any) -> RawCodes:
    import polars as pl

    if series.dtype == pl.String:
        series = series.cast(pl.Enum(series.unique().drop_nulls().sort()))
    if isinstance(series.dtype, pl.Enum):
        values = series.dtype.categories.to_list()
    elif isinstance(series.dtype, pl.Categorical):
        # Codes may be shared with other columns: the list then has a gap where one is not ours.
        values = [None] * ((series.to_physical().max() or 0) + 1)
        for some in (series.head(10_000), series):  # the first rows often have every category
            present = some.unique().drop_nulls()
            places = present.to_physical().to_list()
            for place, value in zip(places, present.cast(pl.String).to_list(), strict=True):
                values[place] = value
            if None not in values:
                break
    else:
        return _codes_of_array(as_objects(series.to_list()))
    codes = series.to_physical()
    dtype = code_dtype(len(values))
    if codes.null_count():
        codes = codes.cast(pl.UInt32).fill_null(np.iinfo(np.uint32).max)
    return RawCodes(codes.to_numpy().astype(dtype, copy=False), values)


def _dictionary_pyarrow(array: Any) -> RawCodes:
    import pyarrow as pa

    kind = array.type
    if pa.types.is_float16(kind) or (pa.types.is_decimal(kind) and kind.bit_width < 128):
        # pyarrow encodes some of these types not at all, and others as their bits.
        return _codes_of_array(as_objects(array.to_pylist()))
    if not pa.types.is_dictionary(kind):
        array = array.dictionary_encode()
    if isinstance(array, pa.ChunkedArray):
        array = array.unify_dictionaries()
        chunks = array.chunks or [pa.array([], array.type)]
    else:
        chunks = [array]
    try:
        values = chunks[0].dictionary.to_pylist()
    except ValueError:  # a year beyond 9999
        raise OverflowError from None
    codes = [_indices(c.indices) for c in chunks]
    joined = codes[0] if len(codes) == 1 else np.concatenate(codes)
    if not -1 <= joined.min(initial=0) <= joined.max(initial=-1) < len(values):
        raise ValueError(
            f"a dictionary of {len(values)} values has codes beyond them: the column is damaged; "
            "write it again."
        )
    return _raw(joined, values)


def _indices(array: Any) -> NDArray[np.signedinteger[Any]]:
    """Codes of a dictionary of pyarrow, -1 for missing; where they lie if none is."""
    import pyarrow as pa

    signed = array if pa.types.is_signed_integer(array.type) else array.cast(pa.int64())
    return signed.fill_null(-1).to_numpy() if signed.null_count else signed.to_numpy()


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
    _check_type(column, name)
    family = "empty" if order else family_of(column, name)
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
    column = _plain_numbers(column)
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


def _check_type(column: Native, name: Any) -> None:
    """Raise for periods and intervals of pandas, which are neither numbers nor text."""
    if not isinstance(column, nw.Series) or column.dtype != nw.Unknown:
        return
    native: Any = column.to_native()
    dtype = getattr(native, "dtype", None) or getattr(native, "type", None)
    kind = str(getattr(dtype, "extension_name", dtype))
    for word, fix in (("period", ".dt.to_timestamp()"), ("interval", ".array.mid")):
        if word in kind:
            raise ValueError(
                f"column {name!r} holds {word}s of pandas ({kind}): make them categories by "
                f".astype(str) or categorical_features=, or numbers by {fix}."
            )


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
