"""The result of a comparison, as a table to print and to compute with."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.choose.running import Result
from unnaive.common.facts import align
from unnaive.common.wording import counted, printable, size_words, span_words
from unnaive.table import Schema

MEASURES = (
    "accuracy",
    "log_loss",
    "brier",
    "calibration_error",
)  # less is better, but for the first
HEADS = ("model", "accuracy", "log loss", "Brier", "calibration error", "fit", "predict", "size")


def rank(results: Sequence[Result], criterion: str) -> list[Result]:
    """Sort results, the best first; those without quality come last, in their order."""

    def key(result: Result) -> tuple[int, float]:
        value = math.nan if result.quality is None else getattr(result.quality, criterion)
        sign = -1 if criterion == "accuracy" else 1
        return (2, 0.0) if result.quality is None else (int(value != value), sign * value)

    return sorted(results, key=key)


@dataclass(frozen=True, repr=False, eq=False)
class Comparison:
    """Classifiers side by side on the same folds, the best first.

    Attributes
    ----------
    results : tuple of Result
        One for each classifier: ``name``, ``quality``, times, ``size``, or the ``problem``.
    best_name_ : str
    best_ : classifier
        The best of them by ``criterion``, fitted on all rows.
    frame : table
        The same as a table: of pandas, polars or pyarrow if that is what X was, else of pandas, or
        a dict of columns where pandas is not installed.
    criterion : str
    n_folds, n_rows : int
    classes : array of shape (n_classes,)

    See Also
    --------
    compare : Makes it, with an example.
    """

    results: tuple[Result, ...]
    criterion: str
    n_folds: int
    n_rows: int
    classes: NDArray[Any]
    best_name_: str
    best_: Any = field(compare=False)
    schema: Schema
    backend: str | None = None

    def to_dict(self) -> dict[str, list[Any]]:
        """The table as a dict of columns: numbers as they are, times in seconds, size in bytes.

        Returns
        -------
        dict
        """
        columns: dict[str, list[Any]] = {"model": [r.name for r in self.results]}
        for name in MEASURES:
            columns[name] = [
                math.nan if r.quality is None else getattr(r.quality, name) for r in self.results
            ]
        columns["fit_seconds"] = [r.fit_seconds for r in self.results]
        columns["predict_seconds"] = [r.predict_seconds for r in self.results]
        columns["size_bytes"] = [r.size for r in self.results]
        columns["problem"] = [r.problem for r in self.results]
        return columns

    @property
    def frame(self) -> Any:
        """The table, in the dataframe library of X."""
        backend: Any = self.backend or ("pandas" if find_spec("pandas") else None)
        if backend is None:
            return self.to_dict()
        import narwhals.stable.v2 as nw

        return nw.from_dict(self.to_dict(), backend=backend).to_native()

    # Printing -------------------------------------------------------------------------------

    @property
    def title(self) -> str:
        """Size of the table, and how models were compared."""
        return (
            f"{counted(self.n_rows, 'row')}, {counted(len(self.schema), 'column')}, "
            f"{counted(len(self.classes), 'class', 'classes')}; "
            f"{self.n_folds}-fold cross-validation, sorted by {self.criterion.replace('_', ' ')}"
        )

    @property
    def notes(self) -> list[str]:
        """Models without a result, and why."""
        return [f"{r.name}: {r.problem}" for r in self.results if r.problem]

    def _body(self) -> list[list[str]]:
        return [_cells(r) for r in self.results if not r.problem]

    def _best_cells(self) -> NDArray[np.bool_]:
        """Which cells hold the best value of their column."""
        done = [r for r in self.results if r.quality is not None]
        values = np.array([_figures(r) for r in done], dtype=float)
        signs = np.array([-1.0, 1, 1, 1, 1, 1, 1])
        costs = signs * np.where(np.isnan(values), np.inf * signs, values)
        best = np.zeros((len(done), len(HEADS)), dtype=bool)
        best[:, 1:] = (costs == costs.min(axis=0)) & np.isfinite(costs)
        return best

    def __repr__(self) -> str:
        notes = ["", *self.notes] if self.notes else []
        lines = [self.title, "", *align([list(HEADS), *self._body()]), *notes]
        return "\n".join(map(printable, lines))

    def __rich__(self) -> Any:
        """For rich's console: the best of every column in colour."""
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        table = Table(title=Text(printable(self.title)), title_justify="left", title_style="")
        for head in HEADS:
            table.add_column(head, justify="left" if head == "model" else "right", no_wrap=True)
        for cells, wins in zip(self._body(), self._best_cells(), strict=True):
            table.add_row(
                *(
                    Text(printable(c), style="bold green" if w else "")
                    for c, w in zip(cells, wins, strict=True)
                )
            )
        return Group(table, *(Text(printable(note), style="yellow") for note in self.notes))

    def show(self) -> None:
        """Print the table: with rich in a terminal where it is installed, plainly elsewhere."""
        import sys

        if sys.stdout.isatty() and find_spec("rich"):
            from rich.console import Console

            Console(highlight=False).print(self)
        else:
            print(self)

    def _repr_html_(self) -> str:
        def row(cells: Sequence[str], tag: str, wins: Any = None) -> str:
            html_cells = [
                f'<{tag} style="text-align: {"right" if j else "left"}">'
                + (f"<b>{html.escape(c)}</b>" if wins is not None and wins[j] else html.escape(c))
                + f"</{tag}>"
                for j, c in enumerate(cells)
            ]
            return f"<tr>{''.join(html_cells)}</tr>"

        body = [row(c, "td", w) for c, w in zip(self._body(), self._best_cells(), strict=True)]
        notes = "".join(f"<li>{html.escape(note)}</li>" for note in self.notes)
        return (
            f"<table><caption>{html.escape(self.title)}</caption><thead>{row(HEADS, 'th')}</thead>"
            f"<tbody>{''.join(body)}</tbody></table>" + (f"<ul>{notes}</ul>" if notes else "")
        )


def _figures(result: Result) -> list[float]:
    size = math.nan if result.size is None else result.size
    measures = (getattr(result.quality, name) for name in MEASURES)
    return [*measures, result.fit_seconds, result.predict_seconds, size]


def _cells(result: Result) -> list[str]:
    figures = _figures(result)
    return [
        result.name,
        *(f"{v:.4f}" if v == v else "-" for v in figures[:4]),
        *(time_words(v) for v in figures[4:6]),
        "-" if result.size is None else size_words(result.size),
    ]


def time_words(seconds: float) -> str:
    """A time, for people."""
    if seconds < 0.0995:
        return f"{1e3 * seconds:.2g} ms"
    if seconds < 1:
        return f"{1e3 * seconds:.0f} ms"
    return f"{seconds:.3g} s" if seconds < 999.5 else span_words(seconds)
