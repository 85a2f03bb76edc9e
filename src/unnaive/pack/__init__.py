"""PACKING: arrays and plain data to and from one safe file."""

from unnaive.pack.container import AnyFile, read_pack, write_pack
from unnaive.pack.journal import Journal, JournalError
from unnaive.pack.known import LEARNED, OBJECTS
from unnaive.pack.objects import NAME, Objects, checked
from unnaive.pack.release import release
from unnaive.pack.values import Aside, PackError, encode

__all__ = [
    "LEARNED",
    "NAME",
    "OBJECTS",
    "AnyFile",
    "Aside",
    "Journal",
    "JournalError",
    "Objects",
    "PackError",
    "checked",
    "encode",
    "read_pack",
    "release",
    "write_pack",
]
