"""How a CSV file is written: what stands between its values, and before fractions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

DELIMITERS = ",;\t|"  # the first of those that stand most often in the header
HEADER_BYTES = 1 << 20  # within which a header ends
NUMBER = r"^\s*[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?\s*$"
THOUSANDS = r"^\s*[+-]?[1-9]\d{0,2},\d{3}\s*$"  # or a fraction: nobody can tell


def parse_options(path: str) -> Any:
    """What pyarrow has to know to take a file apart. Quoted values may hold line breaks."""
    from pyarrow import csv

    return csv.ParseOptions(delimiter=find_delimiter(path), newlines_in_values=True)


def find_delimiter(path: str) -> str:
    """The character between values, from the header of a file."""
    if ".tsv" in path.lower():
        return "\t"
    # What is quoted is part of a name: every other piece between quotes.
    outside = b"".join(first_line(path).split(b'"')[::2]).decode("utf-8", "replace")
    return max(DELIMITERS, key=lambda sign: (outside.count(sign), -DELIMITERS.index(sign)))


def find_decimal_point(columns: Iterable[Any]) -> str:
    """A comma, if columns of numbers have it before fractions and none has a point there.

    Columns are Arrow arrays of text.
    """
    import pyarrow.compute as pc

    def holds(values: Any, pattern: str) -> Any:
        return pc.match_substring_regex(values, pattern)

    point = "."
    for column in columns:
        values = column.filter(holds(column, "[.,]"))  # nothing else is of interest
        if len(values) and pc.all(holds(column, NUMBER)).as_py():
            if pc.any(holds(values, "[.]")).as_py():
                return "."
            if not pc.all(holds(values, THOUSANDS)).as_py():
                point = ","
    return point


def first_line(path: str) -> bytes:
    """The header as it is written; a quoted name may hold line breaks, empty lines are left out."""
    import pyarrow as pa

    with pa.input_stream(path, compression="detect") as stream:
        text = bytes(stream.read(HEADER_BYTES)).removeprefix(b"\xef\xbb\xbf").lstrip(b"\r\n")
    end = 0
    for number, piece in enumerate(text.split(b'"')):
        line_break = piece.find(b"\n") if number % 2 == 0 else -1
        if line_break >= 0:
            return text[: end + line_break + 1]
        end += len(piece) + 1
    return text
