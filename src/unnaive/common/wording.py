"""Numbers and names in words: how much, how long, how many, for people."""

from __future__ import annotations


def span_words(seconds: float) -> str:
    """A time to wait."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 100 else f"{minutes / 60:.1f} h"


def counted(n: float, word: str, plural: str = "") -> str:
    """A number of things, whole or by weight, with their word: 1 row, 1,234,567 rows, 2.5 rows."""
    return f"{amount(n)} {word if n == 1 else plural or word + 's'}"


def amount(n: float) -> str:
    """A number of things, whole or by weight, without an exponent."""
    return f"{n:,.0f}" if n == round(n) or abs(n) >= 1e5 else f"{n:,.6g}"


def count_words(n: float) -> str:
    """A number of which only the size matters."""
    return _scaled(n, ("", "k", "M", "G"))


def size_words(n: float) -> str:
    """A number of bytes."""
    return _scaled(n, (" B", " kB", " MB", " GB"))


def _scaled(n: float, units: tuple[str, ...]) -> str:
    for unit in units[:-1]:
        if n < 999.5:  # as .3g rounds
            return f"{n:.3g}{unit}"
        n /= 1000
    return f"{n:.3g}{units[-1]}"


def shortened(text: str, limit: int) -> str:
    """Text of at most so many letters, the rest left out of its middle."""
    if len(text) <= limit:
        return text
    # Names that are long often differ at their ends.
    tail = max((limit - 1) // 3, 1)
    return f"{text[: limit - 1 - tail].rstrip()}…{text[-tail:].lstrip()}"


def one_line(text: str) -> str:
    """Text without line breaks and control characters, which names and values may contain."""
    return "".join(letter if letter.isprintable() else " " for letter in text)
