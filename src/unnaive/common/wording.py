"""Numbers and names in words: how much, how long, how many, for people."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def span_words(seconds: float) -> str:
    """Return a time to wait in words."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 100 else f"{minutes / 60:.1f} h"


def counted(n: float, word: str, plural: str = "") -> str:
    """Return a number of things, whole or by weight, with their word: 1 row, 1,234,567 rows, 2.5
    rows.
    """
    return f"{amount(n)} {word if n == 1 else plural or word + 's'}"


def amount(n: float) -> str:
    """Return a number of things, whole or by weight, without an exponent."""
    return f"{n:,.0f}" if n == round(n) or abs(n) >= 1e5 else f"{n:,.6g}"


def count_words(n: float) -> str:
    """Return a number of which only the size matters in words."""
    return _scaled(n, ("", "k", "M", "G"))


def size_words(n: float) -> str:
    """Return a number of bytes in words."""
    return _scaled(n, (" B", " kB", " MB", " GB"))


def _scaled(n: float, units: tuple[str, ...]) -> str:
    for unit in units[:-1]:
        if n < 999.5:  # as .3g rounds
            return f"{n:.3g}{unit}"
        n /= 1000
    return f"{n:.3g}{units[-1]}"


def shortened(text: str, limit: int) -> str:
    """Return the text of at most so many letters, the rest left out of its middle."""
    if len(text) <= limit:
        return text
    # Names that are long often differ at their ends.
    tail = max((limit - 1) // 3, 1)
    return f"{text[: limit - 1 - tail].rstrip()}…{text[-tail:].lstrip()}"


def listed(names: Iterable[Any], most: int = 8) -> str:
    """Return the first names of a list as written in code, and how many there are in all."""
    names = list(names)
    shown = ", ".join(map(repr, names[:most])) or "none"
    return shown if len(names) <= most else f"{shown}, ... ({len(names)} in all)"


def printable(text: str) -> str:
    """Return the text that a terminal shows and does nothing else with, on one line.

    Names and values of a table may hold anything. Spaces and line breaks of all kinds become one
    space each; whatever else does not print, such as control characters, escape sequences and marks
    that turn the direction of writing, is shown by its code, as ``repr`` does.
    """
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else _shown(letter) for letter in text)


def _shown(letter: str) -> str:
    return " " if letter.isspace() else letter.encode("unicode_escape").decode()


def printable_lines(text: str) -> str:
    """Return printable text whose line breaks are meant."""
    return "\n".join(map(printable, text.split("\n")))
