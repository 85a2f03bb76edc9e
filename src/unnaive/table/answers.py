"""Answers of engines that answer with a table: their columns, known before any row is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from unnaive.table.blocks import BlockReader
from unnaive.table.source import Block

ONE = "prediction"  # name of an answer of one column


def first_answer(reader: BlockReader, fn: Callable[[Block], Any], empty: Any) -> Any:
    """What ``fn`` answers for a row without any value; None where that is nothing like a table.

    This tells the columns of all answers and their types, and fails where ``fn`` does not fit.
    """
    block = replace(reader, target=None, weight=None, row_id=None).read(empty)
    assert block is not None
    answer = fn(block)
    if isinstance(answer, np.ndarray):
        return answer if answer.ndim <= 2 else None
    frame = nw.from_native(answer, pass_through=True)
    return answer if isinstance(frame, nw.DataFrame) else None


def answer_columns(values: Any, names: Sequence[str] | None) -> Mapping[str, Any]:
    """The columns of an answer by name: of an array, or of a table, which has names."""
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
