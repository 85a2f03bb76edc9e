"""Arrow IPC files, which are also Feather files, as batches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from unnaive.table.batches import own_columns, refuse_other_columns, unreadable
from unnaive.table.files import Piece
from unnaive.table.scan import Scan


class IpcBatches:
    """Arrow IPC files, in the format of files or of streams, one after the other."""

    ordered = True
    coded: frozenset[str] = frozenset()
    n_rows: int | None = None
    measured = False

    def __init__(self, paths: list[str], scan: Scan, n_jobs: int) -> None:  # noqa: ARG002
        self.paths = paths
        columns = []
        for path in paths:
            with _open(path) as reader:
                columns.append(own_columns(reader.schema, scan))
        self.names = columns[0]
        for path, names in zip(paths, columns, strict=True):
            refuse_other_columns(scan, paths[0], self.names, path, names)

    def pieces(self, columns: list[str], n_rows: int) -> Iterator[Piece]:
        import pyarrow as pa

        for path in self.paths:
            first = 0
            with _open(path) as reader:
                batches = _batches(reader)
                while True:
                    try:
                        batch = next(batches, None)
                    except (pa.ArrowException, OSError) as error:
                        raise unreadable(path, error, first, None) from error
                    if batch is None:
                        break
                    table = pa.Table.from_batches([batch]).select(columns)
                    for start in range(0, len(table), n_rows):
                        part = table.slice(start, n_rows)
                        yield Piece(part, len(part), path, first + start)
                    first += len(table)


def _open(path: str) -> Any:
    import pyarrow as pa

    try:
        file = pa.memory_map(path)
        is_file = file.read(6) == b"ARROW1"
        file.seek(0)
        return pa.ipc.open_file(file) if is_file else pa.ipc.open_stream(file)
    except (pa.ArrowException, OSError) as error:
        raise unreadable(path, error) from error


def _batches(reader: Any) -> Iterator[Any]:
    if hasattr(reader, "num_record_batches"):
        return (reader.get_batch(k) for k in range(reader.num_record_batches))
    return iter(reader)
