"""How a CSV file is written: what stands between its values."""

from __future__ import annotations

from typing import Any

DELIMITERS = ",;\t|"  # the first of those that stand most often in the header


def parse_options(path: str) -> Any:
    """What pyarrow has to know to take a file apart. Quoted values may hold line breaks."""
    from pyarrow import csv

    return csv.ParseOptions(delimiter=find_delimiter(path), newlines_in_values=True)


def find_delimiter(path: str) -> str:
    """The character between values, from the first line of a file."""
    if ".tsv" in path.lower():
        return "\t"
    import pyarrow as pa

    with pa.input_stream(path, compression="detect") as stream:
        line = bytes(stream.read(1 << 16)).split(b"\n", 1)[0]
    # What is quoted is part of a name: every other piece between quotes.
    outside = b"".join(line.split(b'"')[::2]).decode("utf-8", "replace")
    return max(DELIMITERS, key=lambda sign: (outside.count(sign), -DELIMITERS.index(sign)))
