"""READING: tables of any kind as blocks of columns."""

from unnaive.table.atomic import replacing
from unnaive.table.checks import (
    FINITE,
    HEAVIEST,
    LARGEST,
    check_ascending,
    check_hashes,
    check_number,
    check_values,
    check_word,
    expect,
)
from unnaive.table.columns import RawCodes, as_objects, code_dtype, is_missing
from unnaive.table.kept import KeptBlock
from unnaive.table.parallel import in_order, in_threads, thread_count
from unnaive.table.passes import COUNTING, Pass, StoppedError
from unnaive.table.picking import Picked, PickedSource, take_rows
from unnaive.table.reading import open_table, read_weight
from unnaive.table.scan import Scan, scan_of
from unnaive.table.schema import Column, Schema, column_methods
from unnaive.table.source import Block, MemorySource, Source, join_answers
from unnaive.table.storage import Storage, join, keep, stretches
from unnaive.table.words import amount, counted, shortened, size_words, span_words
from unnaive.table.writing import write_parquet

__all__ = [
    "COUNTING",
    "FINITE",
    "HEAVIEST",
    "LARGEST",
    "Block",
    "Column",
    "KeptBlock",
    "MemorySource",
    "Pass",
    "Picked",
    "PickedSource",
    "RawCodes",
    "Scan",
    "Schema",
    "Source",
    "StoppedError",
    "Storage",
    "amount",
    "as_objects",
    "check_ascending",
    "check_hashes",
    "check_number",
    "check_values",
    "check_word",
    "code_dtype",
    "column_methods",
    "counted",
    "expect",
    "in_order",
    "in_threads",
    "is_missing",
    "join",
    "join_answers",
    "keep",
    "open_table",
    "read_weight",
    "replacing",
    "scan_of",
    "shortened",
    "size_words",
    "span_words",
    "stretches",
    "take_rows",
    "thread_count",
    "write_parquet",
]
