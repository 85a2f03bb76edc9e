"""Categorical columns and labels as codes into a list of plain values, whatever library holds them.

Codes are unsigned; the largest code of the dtype means missing, so that ``code + 1`` wraps around
to slot 0.
"""

from __future__ import annotations

import decimal
from collections.abc import Sequence
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

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
