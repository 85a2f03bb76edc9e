"""Answers for many rows, written block by block."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from unnaive.common.atomic import replacing


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
