"""Rows that stay where they are: what to read of them, as plain data."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

FILES = "unnaive.table.arrow"
# By the package that the type of a lazy table comes from: its kind, and the module that opens it.
ENGINES = {
    "pyarrow": ("arrow", FILES),
    "duckdb": ("duckdb", FILES),
    "polars": ("polars", FILES),
    "dask": ("dask", "unnaive.table.dask"),
    "dask_expr": ("dask", "unnaive.table.dask"),
    "pyspark": ("spark", "unnaive.table.spark"),
}


@dataclass(frozen=True, slots=True)
class Scan:
    """Rows to be read, block by block, as often as a model needs; see `scan`."""

    data: Any
    target: str | None = None
    weight: str | None = None
    columns: Sequence[str] | Mapping[str, Any] | None = None
    row_id: str | None = None
    memory_limit: int | None = None
    ignored: tuple[str, ...] = ()
    all_rows: bool = False  # also those of weight zero
    decimal: str | None = None  # in CSV, before fractions
    na_values: tuple[str, ...] = ()  # in CSV, texts that mean missing
    period: str | None = None  # a column that says when a row was: read, and no feature

    @property
    def kind(self) -> str:
        """What holds the rows: "files", "factory", or the name of a library."""
        kind = kind_of(self.data)
        assert kind is not None
        return kind

    @property
    def non_features(self) -> list[str]:
        """Columns that are not features."""
        names = (self.target, self.weight, self.row_id, self.period, *self.ignored)
        return [name for name in names if name is not None]

    @property
    def unlabelled(self) -> Scan:
        """The same rows without their labels, which are no features either."""
        ignored = (*self.ignored, *([] if self.target is None else [self.target]))
        return replace(self, target=None, ignored=ignored)

    @property
    def limit(self) -> int:
        """Bytes that may be held: as said, or a quarter of the machine's memory."""
        return machine_memory() // 4 if self.memory_limit is None else self.memory_limit


def scan(
    data: Any,
    target: str | None = None,
    *,
    weight: str | None = None,
    columns: Sequence[str] | Mapping[str, Any] | None = None,
    row_id: str | None = None,
    memory_limit: int | str | None = None,
    decimal: str | None = None,
    na_values: Sequence[str] = (),
) -> Scan:
    """Rows in files or in another engine, for models to be fitted on or to answer for.

    Nothing is read here. ``model.fit(scan)`` reads block by block; the model is the same, bit for
    bit, as one fitted on all rows in memory. ``model.fit("sales/*.parquet", "churned")`` is short
    for ``model.fit(scan("sales/*.parquet", "churned"))``.

    Parameters
    ----------
    data : str, path, list of paths, or lazy table
        A path, a glob or a folder of Parquet, CSV, JSON lines or Arrow IPC files, read in the order
        of their sorted names (a list: in its order); a ``pyarrow.dataset.Dataset``; a function that
        returns a new ``pyarrow.RecordBatchReader`` each time; a DuckDB relation; a polars
        ``LazyFrame``; a Dask or a Spark DataFrame.
    target : str or None, default=None
        The column with the labels.
    weight : str or None, default=None
        A column that says how often each row counts.
    columns : list of str or dict or None, default=None
        The columns to learn from; all others but ``target``, ``weight`` and ``row_id`` if None. For
        CSV a dict gives types as well, as Arrow names them: ``{"zip": "string", "age": None}``.
    row_id : str or None, default=None
        A column of whole numbers, different in every row, that random choices about rows (folds,
        draws) depend on. None is the position in the files. DuckDB and Spark have no order of rows:
        only with ``row_id`` is a model that makes such choices the same each time.
    memory_limit : int or str or None, default=None
        Most memory for rows that a model visits more than once, in bytes or as ``"500MB"``; beyond
        it they are kept in a temporary file. None is a quarter of the machine's memory.
    decimal : {".", ","} or None, default=None
        What stands before fractions in CSV; None is what the beginning of a file suggests.
    na_values : sequence of str, default=()
        Texts in CSV that mean missing, besides empty ones and the usual "NA", "null" and so on.

    Returns
    -------
    Scan

    Examples
    --------
    >>> import tempfile, pandas as pd, unnaive
    >>> from pathlib import Path
    >>> folder = Path(tempfile.mkdtemp())
    >>> sales = pd.DataFrame({"age": [25, 47, 61, 33], "churned": ["no", "yes", "yes", "no"]})
    >>> sales.to_parquet(folder / "sales.parquet")
    >>> model = unnaive.NaiveBayesClassifier().fit(unnaive.scan(folder, "churned"))
    >>> model.classes_
    array(['no', 'yes'], dtype='<U3')
    """
    if kind_of(data) is None:
        raise TypeError(
            "scan reads paths, folders, lazy tables and functions that return a "
            f"pyarrow.RecordBatchReader; got {type(data).__name__}. A table in memory goes to fit "
            "as it is."
        )
    for name, value in (("target", target), ("weight", weight), ("row_id", row_id)):
        if value is not None and not isinstance(value, str):
            raise TypeError(f"{name} must be the name of a column; got {value!r}.")
    if isinstance(columns, str):
        raise TypeError(f"columns must be a list of names; got {columns!r}.")
    if decimal not in (None, ".", ","):
        raise ValueError(f"decimal must be '.' or ','; got {decimal!r}.")
    if isinstance(na_values, str):
        raise TypeError(f"na_values must be a list of texts; got {na_values!r}.")
    limit = read_size(memory_limit)
    return Scan(
        data, target, weight, columns, row_id, limit, decimal=decimal,
        na_values=tuple(na_values),
    )  # fmt: skip


def scan_of(X: Any, y: Any = None, sample_weight: Any = None) -> Scan | None:
    """What ``fit(X, y, sample_weight)`` means when rows are not in memory; None when they are.

    ``y`` and ``sample_weight`` are then names of columns.
    """
    if not is_scanned(X):
        return None
    if not isinstance(X, Scan):
        X = scan(X)
    if y is None and sample_weight is None:
        return X
    for word, given, named in (("y", y, X.target), ("sample_weight", sample_weight, X.weight)):
        if given is not None and not isinstance(given, str):
            raise TypeError(
                f"{word} must be the name of a column, as X is read block by block; "
                f"got {type(given).__name__}."
            )
        if given is not None and named is not None and given != named:
            raise ValueError(f"{word} is {given!r}, but the scan says {named!r}; give one of them.")
    return replace(X, target=X.target or y, weight=X.weight or sample_weight)


def is_scanned(X: Any) -> bool:
    """Whether rows are not in memory: a `Scan`, or what can be one."""
    return isinstance(X, Scan) or (not isinstance(X, (list, tuple)) and kind_of(X) is not None)


def kind_of(data: Any) -> str | None:
    """What kind of lazy table this is; None for tables in memory."""
    if isinstance(data, (str, os.PathLike)):
        return "files"
    if isinstance(data, (list, tuple)):
        return "files" if data and all(isinstance(d, (str, os.PathLike)) for d in data) else None
    cls = type(data)
    kind, _ = ENGINES.get(cls.__module__.split(".")[0], (None, FILES))
    if kind in ("arrow", "polars"):
        lazy = any(t.__name__ in ("Dataset", "LazyFrame") for t in cls.__mro__)
        return kind if lazy else None
    if kind is not None:
        return kind
    table = any(hasattr(data, name) for name in ("__array__", "__len__", "__arrow_c_stream__"))
    return "factory" if callable(data) and not isinstance(data, type) and not table else None


def read_size(value: int | str | None) -> int | None:
    """Bytes from a number or from text such as "500MB"."""
    units = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12,
             "KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}  # fmt: skip
    if value is None:
        return None
    size: float | None = None
    if isinstance(value, str):
        text = value.strip().upper()
        unit = text.lstrip("0123456789. ")
        number = text[: len(text) - len(unit)].strip()
        if number.replace(".", "", 1).isdigit() and (unit or "B") in units:
            size = float(number) * units[unit or "B"]
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        size = float(value)
    if size is None or not 0 <= size < float("inf"):
        raise ValueError(f"memory_limit must be bytes, or text such as '500MB'; got {value!r}.")
    return int(size)


def machine_memory() -> int:
    """Bytes of memory of this machine."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not on every system
        return 4 * 2**30
