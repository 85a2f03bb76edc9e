"""JSON files as batches: a list of records, or a record on every line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from unnaive.table.batches import refuse_other_columns, unreadable
from unnaive.table.files import Piece
from unnaive.table.scan import Scan


class JsonBatches:
    """JSON files, one after the other; each is held in memory while it is read."""

    ordered = True
    coded: frozenset[str] = frozenset()
    n_rows: int | None = None
    measured = False

    def __init__(self, paths: list[str], scan: Scan, n_jobs: int) -> None:  # noqa: ARG002
        self.paths = paths
        columns = [read_json(path).column_names for path in paths]
        self.names = columns[0]
        for path, names in zip(paths, columns, strict=True):
            refuse_other_columns(scan, paths[0], self.names, path, names)

    def pieces(self, columns: list[str], n_rows: int) -> Iterator[Piece]:
        for path in self.paths:
            table = read_json(path).select(columns)
            for first in range(0, len(table), n_rows):
                part = table.slice(first, n_rows)
                yield Piece(part, len(part), path, first)


def read_json(path: str) -> Any:
    """The records of a file as an Arrow table."""
    import pyarrow as pa

    try:
        with pa.input_stream(path, compression="detect") as stream:
            text = bytes(stream.read()).decode("utf-8-sig")
        if text.lstrip().startswith("["):
            records = json.loads(text)
        else:
            records = [json.loads(line) for line in text.splitlines() if line.strip()]
        if not records or not all(isinstance(record, dict) for record in records):
            raise ValueError("it is no list of records such as {...}, nor one on every line")
        names = dict.fromkeys(name for record in records for name in record)
        columns = {name: [record.get(name) for record in records] for name in names}
        return pa.table({name: _column(name, values) for name, values in columns.items()})
    except (pa.ArrowException, ValueError, OSError) as error:
        raise unreadable(path, error) from error


def _column(name: str, values: list[Any]) -> Any:
    import pyarrow as pa

    nested = next((value for value in values if isinstance(value, (dict, list))), None)
    if nested is not None:
        raise ValueError(f"{name!r} holds {json.dumps(nested)[:40]}, a value made of others")
    return pa.array(values)
