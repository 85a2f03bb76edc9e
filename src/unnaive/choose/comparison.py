"""The result of a comparison, as a table to print and to compute with."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from unnaive.bayes.metrics import NAN, Measures
from unnaive.choose.rows import Split
from unnaive.common.facts import align
from unnaive.common.wording import counted, printable, size_words, span_words
from unnaive.table import Schema

# Measures and their heads; the first ones are always shown, others where they are asked for.
MEASURES = {
    "accuracy": "accuracy",
    "log_loss": "log loss",
    "brier": "Brier",
    "calibration_error": "calibration error",
    "roc_auc": "ROC AUC",
    "average_precision": "average precision",
    "f1": "F1",
    "kolmogorov_smirnov": "Kolmogorov-Smirnov",
}
ALWAYS = 5
HIGHER_IS_BETTER = frozenset(MEASURES) - {"log_loss", "brier", "calibration_error"}
ALIASES = {"auc": "roc_auc", "ap": "average_precision", "ks": "kolmogorov_smirnov"}
SAME = "="  # marks what does not differ from the best
LEVEL = 0.05  # of the test of differences


@dataclass(frozen=True)
class Result:
    """The result of one estimator.

    Attributes
    ----------
    name : str
    estimator : estimator
        As it was compared, not fitted.
    quality : Measures or None
        Over all held-out rows; areas under curves are means over folds. Without ``predict_proba``,
        only accuracy and F1 are known, others NaN.
    folds : tuple of Measures
        Of each fold.
    as_good : bool
        Whether it is the best, or does not differ from it by the criterion (a paired t-test over
        folds, corrected for training rows that folds share, at 5 %).
    size : int or None
        Bytes of the pickled model of the first fold.
    problem : str
        Why there is no quality: an error, or the time budget; empty if there is one.
    left_out : bool
        Whether the time budget is the reason.
    pooled : bool
        Whether it is the pool of the other results.
    fit_seconds, predict_seconds : float
        Of the median fold: the first may have compiled kernels.
    held_out : array of shape (rows, classes) or None
        Of models of this library, what they would add to a pool for rows that were held out; NaN
        for others.
    """

    name: str
    estimator: Any = field(compare=False)
    quality: Measures | None = None
    folds: tuple[Measures, ...] = ()
    as_good: bool = False
    size: int | None = None
    problem: str = ""
    left_out: bool = False
    pooled: bool = False
    fit_seconds: float = field(default=NAN, compare=False)
    predict_seconds: float = field(default=NAN, compare=False)
    held_out: NDArray[np.float64] | None = field(default=None, compare=False, repr=False)

    def figures(self, name: str) -> list[float]:
        """A measure of each fold."""
        return [getattr(fold, name) for fold in self.folds]


def rank(results: Sequence[Result], criterion: str) -> list[Result]:
    """Sort results, the best first; those without quality come last, in their order."""

    def key(result: Result) -> tuple[int, float]:
        value = math.nan if result.quality is None else getattr(result.quality, criterion)
        sign = -1 if criterion in HIGHER_IS_BETTER else 1
        return (2, 0.0) if result.quality is None else (int(value != value), sign * value)

    return sorted(results, key=key)


def mark_as_good(
    results: Sequence[Result], criterion: str, splits: Sequence[Split]
) -> list[Result]:
    """Sorted results, those that do not differ from the first marked."""
    ratio = float(np.mean([len(test) / len(train) for train, test in splits]))
    best = results[0].figures(criterion)
    return [
        replace(r, as_good=r.quality is not None and not differ(best, r.figures(criterion), ratio))
        for r in results
    ]


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
    n_folds, n_repeats, n_rows : int
    n_rows_of_scan : int or None
        How many rows there are, where the ``n_rows`` compared are a sample of them.
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
    n_repeats: int = 1
    n_rows_of_scan: int | None = None

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
        columns[f"{self.criterion}_sd"] = [spread(r.figures(self.criterion)) for r in self.results]
        columns["as_good"] = [r.as_good for r in self.results]
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
        times = f", {self.n_repeats} times" if self.n_repeats > 1 else ""
        whole = "" if self.n_rows_of_scan is None else f" of {self.n_rows_of_scan:,}"
        return (
            f"{counted(self.n_rows, 'row')}{whole}, {counted(len(self.schema), 'column')}, "
            f"{counted(len(self.classes), 'class', 'classes')}; {self.n_folds}-fold "
            f"cross-validation{times}, sorted by {MEASURES[self.criterion]}"
        )

    @property
    def measures(self) -> list[str]:
        """The measures that are shown."""
        always = list(MEASURES)[:ALWAYS]
        return always if self.criterion in always else [*always, self.criterion]

    @property
    def heads(self) -> list[str]:
        """Heads of the columns that are shown."""
        return ["model", *(MEASURES[name] for name in self.measures), "fit", "predict", "size"]

    @property
    def notes(self) -> list[str]:
        """Models without a result, and why."""
        return [f"{r.name}: {r.problem}" for r in self.results if r.problem]

    @property
    def legend(self) -> str:
        """What the signs in the column of the criterion mean."""
        words = f"± is the standard deviation of {MEASURES[self.criterion]} over folds"
        if any(r.as_good for r in self.results[1:]):
            test = f"corrected paired t-test over folds, {100 * LEVEL:g} %"
            words += f"; {SAME} does not differ from the best ({test})"
        return words

    def _body(self) -> list[list[str]]:
        return [self._cells(k) for k, r in enumerate(self.results) if not r.problem]

    def _cells(self, k: int) -> list[str]:
        result = self.results[k]
        return [
            result.name,
            *(self._measure(result, name, k > 0) for name in self.measures),
            time_words(result.fit_seconds),
            time_words(result.predict_seconds),
            "-" if result.size is None else size_words(result.size),
        ]

    def _measure(self, result: Result, name: str, marked: bool) -> str:
        value = getattr(result.quality, name)
        text = f"{value:.4f}" if value == value else "-"
        if name != self.criterion:
            return text
        about = spread(result.figures(name))
        text = f"{text} ± {about:.4f}" if about == about else text
        return f"{text} {SAME if marked and result.as_good else ' '}"

    def _best_cells(self) -> NDArray[np.bool_]:
        """Which cells hold the best value of their column."""
        done = [r for r in self.results if r.quality is not None]
        values = np.array([self._figures(r) for r in done], dtype=float)
        signs = np.array(
            [-1.0 if n in HIGHER_IS_BETTER else 1.0 for n in self.measures] + [1.0] * 3
        )
        costs = signs * np.where(np.isnan(values), np.inf * signs, values)
        best = np.zeros((len(done), len(self.heads)), dtype=bool)
        best[:, 1:] = (costs == costs.min(axis=0)) & np.isfinite(costs)
        return best

    def _figures(self, result: Result) -> list[float]:
        size = math.nan if result.size is None else result.size
        measures = (getattr(result.quality, name) for name in self.measures)
        return [*measures, result.fit_seconds, result.predict_seconds, size]

    def __repr__(self) -> str:
        lines = [self.title, "", *align([self.heads, *self._body()]), "", self.legend, *self.notes]
        return "\n".join(map(printable, lines))

    def __rich__(self) -> Any:
        """For rich's console: the best of every column in colour."""
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        table = Table(title=Text(printable(self.title)), title_justify="left", title_style="")
        for head in self.heads:
            table.add_column(head, justify="left" if head == "model" else "right", no_wrap=True)
        for cells, wins in zip(self._body(), self._best_cells(), strict=True):
            table.add_row(
                *(
                    Text(printable(c), style="bold green" if w else "")
                    for c, w in zip(cells, wins, strict=True)
                )
            )
        notes = (Text(printable(note), style="yellow") for note in self.notes)
        return Group(table, Text(printable(self.legend), style="dim"), *notes)

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
            f"<table><caption>{html.escape(self.title)}</caption>"
            f"<thead>{row(self.heads, 'th')}</thead><tbody>{''.join(body)}</tbody></table>"
            f"<p>{html.escape(self.legend)}</p>" + (f"<ul>{notes}</ul>" if notes else "")
        )


def time_words(seconds: float) -> str:
    """A time, for people."""
    if seconds < 0.0995:
        return f"{1e3 * seconds:.2g} ms"
    if seconds < 1:
        return f"{1e3 * seconds:.0f} ms"
    return f"{seconds:.3g} s" if seconds < 999.5 else span_words(seconds)


def spread(figures: Sequence[float]) -> float:
    """Return the standard deviation over folds; NaN of one fold."""
    values = [value for value in figures if value == value]
    return float(np.std(values, ddof=1)) if len(values) > 1 else math.nan


def differ(first: Sequence[float], second: Sequence[float], test_to_train: float) -> bool:
    """Return whether figures of the same folds differ by a corrected paired t-test.

    Folds share training rows, so their variance is too small by the ratio of test to training
    rows, which is added to it (C. Nadeau and Y. Bengio. Inference for the Generalization Error.
    Machine Learning 52, 2003).
    """
    gaps = np.asarray(first) - np.asarray(second)
    gaps = gaps[~np.isnan(gaps)]
    n = len(gaps)
    if n < 2:
        return False
    mean, variance = float(gaps.mean()), float(gaps.var(ddof=1))
    if variance <= (1e-12 * abs(mean)) ** 2:
        return mean != 0.0
    t = abs(mean) / math.sqrt((1.0 / n + test_to_train) * variance)
    return 2.0 * float(stdtr(n - 1, -t)) < LEVEL
