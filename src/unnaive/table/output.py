"""Predictions as tables of an engine, and in Parquet files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from unnaive.common.atomic import replacing
from unnaive.table.arrow import BlockReader
from unnaive.table.block import Block

ONE = "prediction"  # name of an answer of one column


@dataclass(frozen=True, slots=True, eq=False)
class Lines:
    """An answer as lines of a table: its columns, and the row of each line.

    ``rows`` is None where each row has one line.
    """

    columns: Mapping[str, NDArray[Any]]
    rows: NDArray[np.intp] | None = None

    def __getitem__(self, some: slice) -> Lines:
        columns = {name: values[some] for name, values in self.columns.items()}
        return Lines(columns, None if self.rows is None else self.rows[some])


@dataclass(frozen=True, slots=True, eq=False)
class Tabular:
    """A question about rows whose answers are no tables; engines that need one get ``lines``."""

    ask: Callable[[Block], Any]
    lines: Callable[[Any], Lines]

    def __call__(self, block: Block) -> Any:
        return self.ask(block)

    def as_lines(self, block: Block) -> Lines:
        return self.lines(self.ask(block))


def tabular(fn: Callable[[Block], Any]) -> Callable[[Block], Any]:
    """A question as engines ask it that answer with a table."""
    return fn.as_lines if isinstance(fn, Tabular) else fn


def first_answer(reader: BlockReader, fn: Callable[[Block], Any], empty: Any) -> Any:
    """What ``fn`` answers for a row without any value; None where that is nothing like a table.

    This tells the columns of all answers and their types, and fails where ``fn`` does not fit.
    """
    block = replace(reader, target=None, weight=None, row_id=None).read(empty)
    assert block is not None
    answer = fn(block)
    if isinstance(answer, (np.ndarray, Lines)):
        return answer if isinstance(answer, Lines) or answer.ndim <= 2 else None
    frame = nw.from_native(answer, pass_through=True)
    return answer if isinstance(frame, nw.DataFrame) else None


def answer_columns(values: Any, names: Sequence[str] | None) -> Mapping[str, Any]:
    """The columns of an answer by name: of an array, or of a table, which has names."""
    if isinstance(values, Lines):
        return values.columns
    if not isinstance(values, np.ndarray):
        frame = nw.from_native(values, eager_only=True)
        return {name: frame[name].to_native() for name in frame.columns}
    if values.ndim == 1:
        return {names[0] if names else ONE: values}
    names = names or [str(k) for k in range(values.shape[1])]
    return {name: np.ascontiguousarray(values[:, k]) for k, name in enumerate(names)}


def answer_table(values: Any, names: Sequence[str] | None, schema: Any = None) -> Any:
    """An answer as an Arrow table of the given schema; without one, what has no type is text."""
    import pyarrow as pa

    table = pa.table(dict(answer_columns(values, names)))
    if schema is None:
        kinds = [pa.string() if pa.types.is_null(kind) else kind for kind in table.schema.types]
        schema = pa.schema(list(zip(table.column_names, kinds, strict=True)))
    return table.cast(schema)


def write_parquet(blocks: Iterable[Mapping[str, NDArray[Any]]], path: Any) -> Path:
    """Columns of blocks, one block after the other, in a Parquet file.

    The file is written under another name and takes its own when it is whole; after an error there
    is none.
    """
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise ImportError("writing Parquet needs pyarrow: pip install 'unnaive[files]'.") from None
    target = Path(path)
    if target.is_dir():
        raise IsADirectoryError(f"{str(target)!r} is a folder; name a file to write.")
    writer: Any = None
    with replacing(target) as file:
        for block in blocks:
            table = pa.table({name: _arrow(values) for name, values in block.items()})
            if writer is None:
                writer = pq.ParquetWriter(file, table.schema, write_page_checksum=True)
            writer.write_table(table)
        if writer is not None:
            writer.close()
    return target


def _arrow(values: NDArray[Any]) -> Any:
    import pyarrow as pa

    return pa.array(values.tolist() if values.dtype.kind in "OU" else values)
