"""CSV files as batches: types are settled before reading, and hold for all files."""

from __future__ import annotations

import io
import os
import re
from codecs import utf_8_decode
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from unnaive.common.threads import in_order
from unnaive.common.wording import shortened
from unnaive.table.batches import PACKED, refuse_other_columns, unreadable
from unnaive.table.blocks import arrow_types
from unnaive.table.dialect import (
    find_decimal_point,
    find_delimiter,
    first_line,
    parse_options,
)
from unnaive.table.files import Piece
from unnaive.table.scan import Scan
from unnaive.table.schema import refuse_duplicates
from unnaive.table.text_cuts import Stretch, cut_text

FIRST_ROWS = 20_000  # that tell types, and what stands before fractions
FIRST_BYTES = 1 << 20  # of a packed file, that its length as text is told from
BLOCK_BYTES = 1 << 21  # larger ones are slower to parse


class CsvBatches:
    """CSV files with a header, one after the other.

    Types are inferred from the beginning of the first file, as pyarrow does it; whole numbers are
    read as any numbers, so that a fraction may come later. A column that is empty there is looked
    up further on. Where commas do not part values, they may stand before fractions, as the
    beginning of each file tells. Whatever then does not fit its type is an error, with its place.
    """

    ordered = True
    n_rows: int | None = None
    measured = True

    def __init__(self, paths: list[str], scan: Scan, n_jobs: int) -> None:
        self.paths, self.n_jobs, self.missing = paths, n_jobs, scan.na_values
        self.headers = {path: self._header(path) for path in paths}
        self.names = self.headers[paths[0]]
        for path, names in self.headers.items():
            refuse_other_columns(scan, paths[0], self.names, path, names)
        refuse_duplicates(self.names)
        read = {*(scan.columns or self.names), *scan.non_features}
        self.points = dict.fromkeys(paths, scan.decimal or ".")  # before fractions
        if scan.decimal is None:
            self.points |= {path: self._point(path) for path in paths}
        self.types = self._infer([n for n in self.names if n in read], scan)
        self.coded = frozenset(n for n, t in self.types.items() if str(t).startswith("dictionary"))
        self.sizes = [_text_size(path) for path in paths]

    def pieces(self, columns: list[str], n_rows: int) -> Iterator[Piece]:  # noqa: ARG002
        import pyarrow as pa

        read, whole = 0, max(1, sum(self.sizes))
        for path, size in zip(self.paths, self.sizes, strict=True):
            first = blocks = 0
            try:
                for table in self._tables(path, columns):
                    if len(table):
                        blocks += 1  # a table is what a block of the text holds
                        share = (read + min(blocks * BLOCK_BYTES, size)) / whole
                        yield Piece(table, len(table), path, first, share)
                        first += len(table)
            except (pa.ArrowException, OSError) as error:
                raise self._place(path, error, first) from error
            read += size

    def _tables(self, path: str, columns: list[str]) -> Iterator[Any]:
        """All rows of a file: stretches in threads, or one after the other from where those cannot
        be told apart or hold something wrong.
        """
        import pyarrow as pa

        take_apart = StretchParser(
            parse_options(path), self._convert(path, columns, self.types), self.headers[path]
        )
        seen = 0
        with pa.input_stream(path, compression="detect") as stream:
            for table in in_order(take_apart, cut_text(stream, BLOCK_BYTES), self.n_jobs):
                if table is None:
                    break
                yield table
                seen += len(table)
            else:
                return
        for batch in self._open(path, columns, self.types):
            yield pa.Table.from_batches([batch.slice(min(seen, len(batch)))])
            seen -= min(seen, len(batch))

    def _convert(self, path: str, columns: list[str], types: dict[str, Any]) -> Any:
        from pyarrow import csv

        return csv.ConvertOptions(
            decimal_point=self.points[path],
            column_types={name: types[name] for name in columns if name in types},
            include_columns=columns,
            strings_can_be_null=True,
            null_values=[*csv.ConvertOptions().null_values, *self.missing],
        )

    def _open(self, path: str, columns: list[str], types: dict[str, Any]) -> Any:
        from pyarrow import csv

        read = csv.ReadOptions(block_size=BLOCK_BYTES)
        convert = self._convert(path, columns, types)
        return iter(csv.open_csv(path, read, parse_options(path), convert))

    def _texts(self, path: str, columns: list[str], types: dict[str, Any]) -> Iterator[Any]:
        import pyarrow as pa

        try:
            yield from self._open(path, columns, types)
        except (pa.ArrowException, OSError) as error:
            raise unreadable(path, error) from error

    def _header(self, path: str) -> list[str]:
        import pyarrow as pa
        from pyarrow import csv

        try:
            alone = csv.ReadOptions(use_threads=False)  # one line: threads would still be starting
            line = first_line(path)
            utf_8_decode(line)  # whatever else it is, would look damaged; its end may be cut off
            empty = csv.read_csv(pa.py_buffer(line), alone, parse_options(path))
            return list(empty.schema.names)
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            raise unreadable(path, error) from error

    def _point(self, path: str) -> str:
        """What stands before fractions in a file; a comma only if it does not part values."""
        import pyarrow as pa

        if find_delimiter(path) == ",":
            return "."
        names = self.headers[path]
        as_they_are = dict.fromkeys(names, pa.binary())  # not only columns that will be read
        for batch in self._texts(path, names, as_they_are):
            return find_decimal_point(batch.slice(0, FIRST_ROWS).columns)
        return "."

    def _infer(self, columns: list[str], scan: Scan) -> dict[str, Any]:
        """The type of each column: as given, or as the first rows that have a value suggest."""
        import pyarrow as pa
        from pyarrow import csv

        given = arrow_types(scan.columns)
        types = dict(given)
        open_ones = [name for name in columns if name not in given]
        for path in self.paths:
            if not open_ones:
                break
            texts = {name: pa.string() for name in open_ones}
            for batch in self._texts(path, open_ones, texts):
                table = pa.table(batch.slice(0, FIRST_ROWS))
                for name in list(open_ones):
                    values = table[name].drop_null()
                    if len(values):
                        convert = csv.ConvertOptions(decimal_point=self.points[path])
                        inferred = _as_csv_reads(values, convert).type
                        keep_whole = name in (scan.target, scan.row_id)
                        types[name] = _widened(inferred, keep_whole)
                        open_ones.remove(name)
                if not open_ones:
                    break
        return types | dict.fromkeys(open_ones, pa.string())

    def _place(self, path: str, error: Exception, first: int) -> Exception:
        """The error with its file, and column and row where a value does not fit its type."""
        import pyarrow as pa

        match = re.search(r"CSV column #(\d+): .*?conversion error to ([^:]+): (.*)", str(error))
        if match is None:
            return unreadable(path, error, first, None)
        name = self._header(path)[int(match.group(1))]
        row = 0
        for batch in self._open(path, [name], {name: pa.string()}):
            for i, value in enumerate(batch.column(0).to_pylist()):
                if not _fits(value, self.types[name], self.points[path]):
                    kind = "numbers" if pa.types.is_floating(self.types[name]) else match.group(2)
                    shown = shortened(repr(value), 80)
                    return ValueError(
                        f"column {name!r} holds {kind} at first, but {shown} in row "
                        f"{row + i + 1:,} of {path!r}. Correct the value, make it empty (missing) "
                        f"or read text: scan(..., columns={{{name!r}: 'string', ...}})."
                    )
            row += len(batch)
        return unreadable(path, error, first, None)


@dataclass(frozen=True, slots=True)
class StretchParser:
    """Takes stretches of one file apart; None for one that only all of the file explains."""

    parse: Any
    convert: Any
    names: list[str]

    def __call__(self, stretch: Stretch | None) -> Any:
        import pyarrow as pa
        from pyarrow import csv

        if stretch is None or not stretch.is_whole(self.parse.delimiter):
            return None
        read = csv.ReadOptions(
            use_threads=False,
            block_size=stretch.size,
            column_names=None if stretch.first else self.names,
        )
        try:
            return csv.read_csv(pa.py_buffer(stretch.rows), read, self.parse, self.convert)
        except pa.ArrowException:
            return None


def _text_size(path: str) -> int:
    """Bytes of a file's text; of a packed one, what its beginning suggests."""
    import pyarrow as pa

    size = os.path.getsize(path)
    if not path.lower().endswith(PACKED):
        return size
    with (
        pa.OSFile(path) as raw,
        pa.CompressedInputStream(raw, pa.Codec.detect(path.lower()).name) as stream,
    ):
        text = len(stream.read(FIRST_BYTES))
        return int(size * text / max(1, raw.tell()))


def _widened(kind: Any, keep_whole: bool) -> Any:
    """Numbers of any kind are floats, unless they are labels; text comes as a dictionary."""
    import pyarrow as pa

    if pa.types.is_integer(kind) and not keep_whole:
        return pa.float64()
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return pa.dictionary(pa.int32(), pa.string())
    return kind


def _fits(value: str | None, kind: Any, point: str) -> bool:
    import pyarrow as pa
    from pyarrow import csv

    if value is None:
        return True
    if pa.types.is_floating(kind):
        try:
            float(value if point == "." else value.replace(".", "x").replace(point, "."))
            return True
        except ValueError:
            return False
    try:
        _as_csv_reads([value], csv.ConvertOptions(column_types={"x": kind}))
    except pa.ArrowInvalid:
        return False
    return True


def _as_csv_reads(values: Any, convert: Any) -> Any:
    """Text as it would be read from a file; by default pyarrow takes no row of more than 1 MB."""
    import pyarrow as pa
    from pyarrow import csv

    buffer = io.BytesIO()
    csv.write_csv(pa.table({"x": values}), buffer)
    whole = csv.ReadOptions(block_size=buffer.tell() + 1)
    buffer.seek(0)
    return csv.read_csv(buffer, whole, convert_options=convert)["x"]
