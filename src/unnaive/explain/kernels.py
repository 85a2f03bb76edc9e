"""Compiled loops of explanations."""

from __future__ import annotations

from typing import Any

import numpy as np

from unnaive.common.compile import kernel

TILE = 512  # rows whose strongest bars stay in the nearest cache


@kernel
def strongest(strength: Any, bars: Any, evidence: Any, counts: Any) -> None:
    """The bars of each row with most evidence above 0, the strongest first.

    Parameters
    ----------
    strength : array of shape (bars, rows)
        IN.
    bars, evidence : arrays of shape (rows, top)
        OUT: which bars, -1 where there are no more, and their evidence. Of equally strong ones the
        first is kept.
    counts : array of shape (bars, top)
        OUT: how many rows have each bar in each place.
    """
    n_bars, n_rows = strength.shape
    top = bars.shape[1]
    counts[:] = 0
    most, which = np.empty((top + 1, TILE)), np.empty((top + 1, TILE), np.int64)
    for start in range(0, n_rows, TILE):
        size = min(TILE, n_rows - start)
        most[:], which[:] = 0.0, -1
        most[0] = np.inf  # above the first place
        for j in range(n_bars):
            new = strength[j, start : start + size]
            for k in range(top, 0, -1):  # the last place first: each looks at the one above it
                insert(new, j, most[k - 1], which[k - 1], most[k], which[k])
        for i in range(size):
            for k in range(top):
                at = which[k + 1, i]
                bars[start + i, k], evidence[start + i, k] = at, most[k + 1, i]
                if at >= 0:
                    counts[at, k] += 1


@kernel
def insert(new: Any, j: int, above: Any, at_above: Any, here: Any, at_here: Any) -> None:
    """What a place of each row (INOUT) holds after a bar (IN), by the place above it before (IN).

    By itself, and without branches, it runs for several rows at once.
    """
    for i in range(len(new)):
        down, enters = new[i] > above[i], new[i] > here[i]
        here[i] = above[i] if down else (new[i] if enters else here[i])
        at_here[i] = at_above[i] if down else (j if enters else at_here[i])


@kernel
def pick_table(codes: Any, wrap: int, mask: int, weights: Any, labels: Any, out: Any) -> None:
    """The evidence (OUT) of each row's slot (IN, slots x labels) for its label (IN)."""
    for i in range(len(codes)):
        out[i] = weights[(np.int64(codes[i]) + wrap) & mask, labels[i]]


@kernel
def group_by_bar(bars: Any, start: int, free: Any, rows: Any) -> None:
    """Numbers of rows by bar and place, in the order of the rows.

    Parameters
    ----------
    bars : array of int32 of shape (rows, top)
        Number of the bar, -1 for none.
    start : int
        Number of the first row.
    free : array of shape (bars, top)
        INOUT: where the next row with a bar in a place goes.
    rows : array
        OUT: the rows.
    """
    for i in range(len(bars)):
        for k in range(bars.shape[1]):
            j = bars[i, k]
            if j >= 0:
                rows[free[j, k]] = start + i
                free[j, k] += 1


@kernel
def mark_texts(rows: Any, labels: Any, value: Any, phrase: Any, values: Any, words: Any) -> None:
    """Which texts of one bar are used.

    Parameters
    ----------
    rows : array
        IN: the rows with this bar.
    labels : array
        IN: the label of every row.
    value, phrase : arrays
        IN: for each of ``rows``, the number of its value and that of its words.
    values, words : arrays of shape (values,) and (phrases, labels)
        INOUT: what is used becomes true.
    """
    for i in range(len(rows)):
        values[value[i]] = True
        words[phrase[i], labels[rows[i]]] = True


@kernel
def write_texts(
    rows: Any, first: int, ends: Any, labels: Any, value: Any, phrase: Any, value_codes: Any,
    word_codes: Any, values: Any, words: Any,
) -> None:  # fmt: skip
    """Write the codes of the texts of rows with one bar.

    Parameters
    ----------
    rows, labels, value, phrase : arrays
        IN, as of `mark_texts`.
    first : int
        Which of ``rows`` is the first to be written.
    ends : array of shape (top,)
        IN: where the rows end in which the bar has each place.
    value_codes, word_codes : arrays of shape (values,) and (phrases, labels)
        IN: the code of each text.
    values, words : arrays of shape (rows, top)
        OUT.
    """
    i = first
    for k in range(len(ends)):
        while i < ends[k]:
            row = rows[i]
            values[row, k] = value_codes[value[i]]
            words[row, k] = word_codes[phrase[i], labels[row]]
            i += 1
