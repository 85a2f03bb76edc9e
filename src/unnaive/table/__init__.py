"""READING: tables of any kind as blocks of columns."""

from unnaive.table.checks import check_number, check_word
from unnaive.table.columns import RawCodes, as_objects, code_dtype, is_missing
from unnaive.table.parallel import in_threads, thread_count
from unnaive.table.picking import Picked, PickedSource, take_rows
from unnaive.table.reading import open_table
from unnaive.table.scan import Scan, scan_of
from unnaive.table.schema import Column, Schema, column_methods
from unnaive.table.source import Block, MemorySource, Source, join_answers
from unnaive.table.storage import Storage, join, keep
from unnaive.table.writing import write_parquet

__all__ = [
    "Block",
    "Column",
    "MemorySource",
    "Picked",
    "PickedSource",
    "RawCodes",
    "Scan",
    "Schema",
    "Source",
    "Storage",
    "as_objects",
    "check_number",
    "check_word",
    "code_dtype",
    "column_methods",
    "in_threads",
    "is_missing",
    "join",
    "join_answers",
    "keep",
    "open_table",
    "scan_of",
    "take_rows",
    "thread_count",
    "write_parquet",
]
