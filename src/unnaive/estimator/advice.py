"""What looks wrong in a table, from the counts that a fit makes anyway."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from unnaive.common.advice import advise
from unnaive.counts.summary import Summary
from unnaive.encode import Categories, Grid
from unnaive.table import Column

FEW = 5  # rows of a class below which nothing can be learned about it
LEAST_DISTINCT = 30  # texts, and so many at least
LEAST_NUMBERS = 20  # different ones
PER_VALUE = 20  # rows for each stretch of values that tells the class
NUMBER = re.compile(r"\s*[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?\s*")


def advise_on(summary: Summary) -> None:
    """Warn about classes and columns that rarely are what the owner of a table wants."""
    least_rows = 50  # before anything looks wrong
    if summary.n_rows < least_rows:
        return
    for text in (*_on_classes(summary), *_on_columns(summary)):
        advise(text)


def _on_classes(summary: Summary) -> Iterator[str]:
    totals = summary.counts.totals
    if totals.sum() != summary.n_rows or len(totals) < 2:  # weights are no rows
        return
    few = [str(summary.labels.classes[c]) for c in np.flatnonzero((totals > 0) & (totals < FEW))]
    if few:
        yield (
            f"fewer than {FEW} rows have the class {_listed(few)}: little can be learned about so "
            "few. Join rare classes, or leave their rows out."
        )


def _on_columns(summary: Summary) -> Iterator[str]:
    # Where one class has nearly all rows, telling the class of nearly every row is no feat.
    table, total = summary.counts, summary.counts.totals.sum()
    varied = len(table.totals) > 1 and table.totals.max() < 0.95 * total
    begins = table.offsets[:-1]
    missing, most = table.counts[:, begins].sum(axis=0), table.counts.max(axis=0)
    # Rows whose class the values of each column tell.
    told = np.add.reduceat(most, begins) - most[begins]
    constants = []
    for j, (column, coder) in enumerate(zip(summary.schema, summary.coders, strict=True)):
        if column.order is None:
            yield (
                f"{column} has categories in different orders in parts of the data, so that they "
                "are sorted by name; give all parts one list of categories."
            )
        if coder is None or not coder.size:
            continue
        if coder.size == 1 and not missing[j]:
            constants.append(str(column))
            continue
        share = float(1.0 - missing[j] / max(total, 1e-300))
        text = _on_values(column, coder, share * summary.n_rows)
        sure = varied and told[j] >= 0.999 * total
        if text is None and sure and _few_stretches(coder, table.values(j), total):
            text = (
                f"{column} alone tells the class of nearly every row: it may have been written "
                "after the outcome was known. Leave it out if new rows will not have it."
            )
        if text is not None:
            yield text
    if constants:
        yield f"one value in all rows says nothing: {_listed(constants)}; leave it out."
    empty = [str(column) for column in summary.schema if column.family == "empty"]
    if empty:
        yield f"no row has a value in {_listed(empty)}; leave it out."


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")


def _on_values(column: Column, coder: Grid | Categories, n_rows: float) -> str | None:
    """What is wrong with a column's values as such."""
    # Texts differ in 70 % of the rows if they tell rows, not kinds; text written freely has four
    # words on average; strays among numbers are at most a tenth.
    if isinstance(coder, Grid):
        steps = coder.size == round(n_rows) and coder.shift == 0
        if column.family == "number" and steps and _is_whole(coder.low):
            return f"{column} counts rows: whole numbers without gaps or repetition. Leave it out."
        return None
    if column.family != "text" or coder.size < min(LEAST_NUMBERS, LEAST_DISTINCT):
        return None
    texts = [str(value) for value in coder.values[:2000]]
    numbers = [text for text in texts if NUMBER.fullmatch(text)]
    if len(numbers) >= max(LEAST_NUMBERS, 0.9 * len(texts)):
        return _on_numbers(column, texts, numbers)
    if coder.size >= max(LEAST_DISTINCT, 0.7 * n_rows):
        words = np.mean([len(text.split()) for text in texts])
        kind = "free text" if words >= 4 else "an identifier"
        return (
            f"{column} has another value in nearly every row, like {kind}: a model learns such "
            "values by heart. Leave it out, or make something of it that rows have in common."
        )
    return None


def _on_numbers(column: Column, texts: Sequence[str], numbers: Sequence[str]) -> str | None:
    """Numbers that are stored as text, unless they may be codes."""
    strays = [text for text in texts if not NUMBER.fullmatch(text)]
    commas = any("," in text for text in numbers)
    if not strays and not any(sign in text for text in numbers for sign in ".,"):
        return None  # whole numbers may be codes, such as those of places
    warning = f"{column} holds numbers stored as text"
    if commas and not any("." in text for text in numbers):
        return (
            f"{warning}, with commas before fractions: every value is a category of its own. "
            "Convert them, as in pandas.read_csv(decimal=','), or pass --decimal , to the command."
        )
    also = f", among them {strays[0]!r}" if strays else ""
    return (
        f"{warning}{also}: every value is a category of its own. Convert them, as in "
        "pandas.to_numeric(errors='coerce')"
        + (f", or pass --na-values {strays[0]!r} to the command." if strays else ".")
    )


def _is_whole(values: NDArray[np.float64]) -> bool:
    return bool((values == np.rint(values)).all() and values[-1] - values[0] == len(values) - 1)


def _few_stretches(
    coder: Grid | Categories, counts: NDArray[np.float64], total: np.float64
) -> bool:
    """Whether there are few values, or few stretches of numbers that tell one class each."""
    stretches = coder.size
    if isinstance(coder, Grid):
        # Where there are too many, the first cells mostly show it.
        for cells in (counts[:, : int(total) // PER_VALUE * 4], counts):
            stretches = 1 + int(np.count_nonzero(np.diff(cells.argmax(axis=0))))
            if stretches * PER_VALUE > total:
                return False
    return bool(stretches * PER_VALUE <= total)
