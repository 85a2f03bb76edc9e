"""READING: tables of any kind as blocks of columns."""

from unnaive.table.checks import check_number, check_word
from unnaive.table.columns import RawCodes, as_objects, code_dtype, is_missing
from unnaive.table.kept import KeptBlock
from unnaive.table.parallel import in_threads, thread_count
from unnaive.table.reading import open_table, read_weight
from unnaive.table.schema import Column, Schema, column_methods
from unnaive.table.source import Block, MemorySource, Source

__all__ = [
    "Block",
    "Column",
    "KeptBlock",
    "MemorySource",
    "RawCodes",
    "Schema",
    "Source",
    "as_objects",
    "check_number",
    "check_word",
    "code_dtype",
    "column_methods",
    "in_threads",
    "is_missing",
    "open_table",
    "read_weight",
    "thread_count",
]
