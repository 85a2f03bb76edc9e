"""CSV files: their delimiters, decimal points and column types, which hold for all files."""

from __future__ import annotations

import io
import re
from codecs import utf_8_decode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from unnaive.common.wording import shortened
from unnaive.table.scan import Scan
from unnaive.table.schema import refuse_duplicates

FIRST_ROWS = 20_000  # from which types and the decimal point are inferred
BLOCK_BYTES = 1 << 22  # read at a time, and the longest row
HEADER_BYTES = 1 << 20  # within which a header ends
DELIMITERS = ",;\t|"  # the first of those that are most frequent in the header
NUMBER = r"^\s*[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?\s*$"
THOUSANDS = r"^\s*[+-]?[1-9]\d{0,2},\d{3}\s*$"  # or a fraction: nobody can tell


class CsvFiles:
    """CSV files with a header.

    Types are inferred from the beginning of the first file, as pyarrow does it; integers are read
    as floats, so that a fraction may come later. A column that is empty there is looked up further
    on. Where the delimiter is no comma, the decimal point may be one, as the beginning of each file
    tells. A later value that does not fit the type is an error with its row and column.
    """

    n_rows = None

    def __init__(self, scan: Scan) -> None:
        self.scan = scan
        self.types = _given_types(scan.columns)
        self._points: dict[str, str] = {}
        self._unknown: set[str] = set()

    @property
    def coded(self) -> frozenset[str]:
        return frozenset(n for n, t in self.types.items() if str(t).startswith("dictionary"))

    def columns(self, path: str) -> list[str]:
        names = _header(path)
        refuse_duplicates(names)
        self._points[path] = self.scan.decimal or self._decimal_point(path, names)
        if len(self._points) == 1:
            read = {*(self.scan.columns or names), *self.scan.non_features}
            self._unknown = read.intersection(names).difference(self.types)
        self._infer_types(path, names)
        return names

    def batches(self, path: str, columns: list[str], n_rows: int) -> Iterator[Any]:  # noqa: ARG002
        import pyarrow as pa

        first = 0
        try:
            for batch in self._open(path, columns, self.types):
                yield batch
                first += len(batch)
        except pa.ArrowInvalid as error:
            match = re.search(r"CSV column #(\d+): .*?conversion error to ([^:]+): ", str(error))
            if match is None:
                raise
            name = _header(path)[int(match.group(1))]
            raise self._misfit(path, name, match.group(2)) or error from error

    def _open(self, path: str, columns: list[str], types: Mapping[str, Any]) -> Any:
        import pyarrow as pa
        from pyarrow import csv

        convert = csv.ConvertOptions(
            decimal_point=self._points.get(path, "."),
            column_types={name: types.get(name, pa.string()) for name in columns},
            include_columns=columns,
            strings_can_be_null=True,
            null_values=[*csv.ConvertOptions().null_values, *self.scan.na_values],
        )
        return csv.open_csv(
            path, csv.ReadOptions(block_size=BLOCK_BYTES), _parse_options(path), convert
        )

    def _decimal_point(self, path: str, names: list[str]) -> str:
        import pyarrow as pa

        if _delimiter(path) == ",":
            return "."
        for batch in self._open(path, names, dict.fromkeys(names, pa.binary())):
            return _decimal_point_of(batch.slice(0, FIRST_ROWS).columns)
        return "."

    def _infer_types(self, path: str, names: list[str]) -> None:
        """Infer the types of columns that had no value in earlier files."""
        import pyarrow as pa
        from pyarrow import csv

        unknown = [name for name in names if name in self._unknown]
        if not unknown:
            return
        for batch in self._open(path, unknown, {}):
            table = pa.table(batch.slice(0, FIRST_ROWS))
            for name in self._unknown.intersection(unknown):
                values = table[name].drop_null()
                if len(values):
                    convert = csv.ConvertOptions(decimal_point=self._points[path])
                    keep_integers = name in (self.scan.target, self.scan.row_id)
                    self.types[name] = _widened(_infer(values, convert), keep_integers)
                    self._unknown.remove(name)
            if self._unknown.isdisjoint(unknown):
                return

    def _misfit(self, path: str, name: str, wanted: str) -> ValueError | None:
        """Return the error for the first value that does not fit the type of its column."""
        import pyarrow as pa

        kind, row = self.types[name], 0
        for batch in self._open(path, [name], {}):
            for i, value in enumerate(batch.column(0).to_pylist()):
                if not _fits(value, kind, self._points[path]):
                    wanted = "numbers" if pa.types.is_floating(kind) else wanted
                    return ValueError(
                        f"column {name!r} holds {wanted} at first, but "
                        f"{shortened(repr(value), 80)} in row {row + i + 1:,} of {path!r}. Correct "
                        "the value, make it empty (missing) or read text: "
                        f"scan(..., columns={{{name!r}: 'string', ...}})."
                    )
            row += len(batch)
        return None


def _given_types(columns: Sequence[str] | Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the Arrow types that the user gives for some columns."""
    import pyarrow as pa

    types: dict[str, Any] = {}
    for name, given in columns.items() if isinstance(columns, Mapping) else ():
        try:
            if given is not None:
                types[name] = pa.type_for_alias(given) if isinstance(given, str) else given
        except ValueError:
            raise ValueError(
                f"columns gives {name!r} the type {given!r}, which Arrow does not know; use "
                "'string', 'float64', 'int64', 'bool', 'date32', 'timestamp[us]' or the like."
            ) from None
    return types


def _widened(kind: Any, keep_integers: bool) -> Any:
    """Return the type to read: floats for integers that are no labels, dictionaries for text."""
    import pyarrow as pa

    if pa.types.is_integer(kind) and not keep_integers:
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
        _infer([value], csv.ConvertOptions(column_types={"x": kind}))
    except pa.ArrowInvalid:
        return False
    return True


def _infer(values: Any, convert: Any) -> Any:
    """Return the type that pyarrow gives a column of a file with these texts."""
    import pyarrow as pa
    from pyarrow import csv

    buffer = io.BytesIO()
    csv.write_csv(pa.table({"x": values}), buffer)
    whole = csv.ReadOptions(block_size=buffer.tell() + 1)
    buffer.seek(0)
    return csv.read_csv(buffer, whole, convert_options=convert)["x"].type


# ---------------------------------------------------------------------------------------------
# Delimiters and decimal points
# ---------------------------------------------------------------------------------------------


def _parse_options(path: str) -> Any:
    from pyarrow import csv

    return csv.ParseOptions(delimiter=_delimiter(path), newlines_in_values=True)


def _delimiter(path: str) -> str:
    if ".tsv" in path.lower():
        return "\t"
    # What is quoted is part of a name: every other piece between quotes.
    outside = b"".join(_first_line(path).split(b'"')[::2]).decode("utf-8", "replace")
    return max(DELIMITERS, key=lambda sign: (outside.count(sign), -DELIMITERS.index(sign)))


def _header(path: str) -> list[str]:
    import pyarrow as pa
    from pyarrow import csv

    line = _first_line(path)
    utf_8_decode(line)  # other encodings would look like damage; the end may be cut off
    one_thread = csv.ReadOptions(use_threads=False)  # quicker for one line
    names = csv.read_csv(pa.py_buffer(line), one_thread, _parse_options(path)).schema.names
    return list(names)


def _first_line(path: str) -> bytes:
    """Return the header as written; quoted names may hold line breaks, empty lines are skipped."""
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


def _decimal_point_of(columns: Iterable[Any]) -> str:
    """Return a comma if columns of numbers (as text) have one and none has a point."""
    import pyarrow.compute as pc

    def holds(values: Any, pattern: str) -> Any:
        return pc.match_substring_regex(values, pattern)

    point = "."
    for column in columns:
        values = column.filter(holds(column, "[.,]"))
        if len(values) and pc.all(holds(column, NUMBER)).as_py():
            if pc.any(holds(values, "[.]")).as_py():
                return "."
            if not pc.all(holds(values, THOUSANDS)).as_py():
                point = ","
    return point
