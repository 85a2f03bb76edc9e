"""READING: tables of any kind as blocks of columns."""

from unnaive.common.progress import StoppedError
from unnaive.table.block import Block
from unnaive.table.scan import Scan, scan_of
from unnaive.table.schema import Column, Schema
from unnaive.table.source import Source, open_table

__all__ = ["Block", "Column", "Scan", "Schema", "Source", "StoppedError", "open_table", "scan_of"]
