"""Facts as tables: the one way in which results print, show in notebooks and become data frames."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from unnaive.common.wording import counted, printable, shortened

SHOWN = 12  # rows that are printed


@dataclass(frozen=True, slots=True, eq=False)
class Repeated:
    """A column of texts that are repeated: each row has the number of one of them."""

    codes: NDArray[Any]
    texts: Sequence[str]

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, rows: slice) -> list[str]:
        return [self.texts[code] for code in self.codes[rows].tolist()]

    def __iter__(self) -> Iterator[str]:
        return iter(self[:])

    def written(self) -> NDArray[np.object_]:
        """The texts row by row."""
        written: NDArray[np.object_] = np.array([*self.texts, ""], dtype=object)[self.codes]
        return written


Columns: TypeAlias = dict[str, Sequence[Any] | NDArray[Any] | Repeated]


class Facts:
    """Facts that are a table; a subclass says its columns and its title once.

    Dataclasses among them pass ``repr=False``, so that this way of printing stays.
    """

    __slots__ = ()

    def _columns(self) -> Columns:
        """The table: columns by name, equally long."""
        raise NotImplementedError

    def _title(self) -> str:
        """What the table shows, in one line."""
        raise NotImplementedError

    def _preview(self) -> tuple[Columns, int]:
        """At least the first SHOWN rows of the table, and how many it has."""
        columns = self._columns()
        return columns, _length(columns)

    def to_frame(self, library: str | None = None) -> Any:
        """The facts as a data frame.

        Parameters
        ----------
        library : {"pandas", "polars", "pyarrow"} or None, default=None
            The kind of table; None is pandas where it is installed, else polars.

        Returns
        -------
        pandas.DataFrame, polars.DataFrame or pyarrow.Table
        """
        import narwhals.stable.v2 as nw

        libraries: tuple[Any, ...] = ("pandas", "polars", "pyarrow")
        if library is not None and library not in libraries:
            raise ValueError(f"library must be one of {', '.join(libraries)}; got {library!r}.")
        backend: Any = library or next((name for name in libraries if find_spec(name)), None)
        if backend is None:
            raise ImportError("to_frame needs pandas or polars: pip install pandas.")
        columns = {name: _plain(values, backend) for name, values in self._columns().items()}
        return nw.from_dict(columns, backend=backend).to_native()

    def __repr__(self) -> str:
        heads, rows, more = self._shown()
        left = [not all(map(_is_number, column)) for column in zip(*rows, strict=True)]
        lines = align([heads, *rows], left) if rows else []
        return "\n".join([printable(self._title()), *lines, *([more] if more else [])])

    def _repr_html_(self) -> str:
        heads, rows, more = self._shown()
        title = html.escape(self._title() + (f"; {more}" if more else ""))
        body = "".join(_html_row(row, "td") for row in rows)
        head = _html_row(heads, "th")
        return (
            f"<table><caption>{title}</caption><thead>{head}</thead><tbody>{body}</tbody></table>"
        )

    def _shown(self) -> tuple[list[str], list[list[str]], str]:
        """Heads, rows of cells as text, and how many rows are left out."""
        columns, n_rows = self._preview()
        shown = min(n_rows, SHOWN)
        cells = [[_cell(value) for value in values[:shown]] for values in columns.values()]
        rows = [list(row) for row in zip(*cells, strict=True)]
        left = n_rows - shown
        more = f"... {counted(left, 'more row')}" if left else ""
        return [_cell(name) for name in columns], rows, more


F = TypeVar("F", bound=Facts)


class FactTuple(tuple[F, ...], Facts):
    """Facts of one kind, as one table: their rows one after the other."""

    __slots__ = ()

    def _columns(self) -> Columns:
        tables = [fact._columns() for fact in self]
        return join_columns(tables)

    def _title(self) -> str:
        return counted(len(self), type(self[0]).__name__) if self else "no facts"

    __repr__ = Facts.__repr__


def join_columns(tables: Sequence[Mapping[str, Any]]) -> Columns:
    """Tables of the same columns, one after the other."""
    names = list(tables[0]) if tables else []
    return {name: [value for table in tables for value in table[name]] for name in names}


def align(rows: list[list[str]], left: int | Sequence[bool] = 1) -> list[str]:
    """Rows of cells as lines of plain text; the first or marked columns to the left, others to
    the right.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    marked = [j < left for j in range(len(widths))] if isinstance(left, int) else left
    return [
        "  ".join(
            cell.ljust(width) if to_left else cell.rjust(width)
            for cell, width, to_left in zip(row, widths, marked, strict=True)
        ).rstrip()
        for row in rows
    ]


def _length(columns: Columns) -> int:
    return next((len(values) for values in columns.values()), 0)


def _plain(values: Sequence[Any] | NDArray[Any] | Repeated, library: str) -> Any:
    """Values that a library of tables takes."""
    if isinstance(values, Repeated):
        if library != "pandas":
            return values.written().tolist()
        import pandas as pd

        return pd.Series(pd.Categorical.from_codes(values.codes, list(values.texts)))
    if isinstance(values, np.ndarray):
        return values.tolist() if values.dtype.kind in "OU" else values
    return list(values)


def _cell(value: Any) -> str:
    """A value on one line, numbers with four digits."""
    widest = 60  # letters of a cell that are printed
    if value is None:
        return ""
    if isinstance(value, (float, np.floating)):
        number = float(value)
        return (
            "" if np.isnan(number) else f"{number:.4g}" if abs(number) < 1e6 else f"{number:,.0f}"
        )
    return shortened(printable(str(value)), widest)


def _is_number(cell: str) -> bool:
    try:
        float(cell.replace(",", "") or "0")
    except ValueError:
        return False
    return True


def _html_row(cells: Sequence[str], tag: str) -> str:
    each = (
        f'<{tag} style="text-align: {"right" if _is_number(cell) else "left"}">'
        f"{html.escape(cell)}</{tag}>"
        for cell in cells
    )
    return f"<tr>{''.join(each)}</tr>"
