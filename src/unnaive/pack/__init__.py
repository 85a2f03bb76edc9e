"""PACKING: arrays and plain data to and from one safe file."""

from unnaive.pack.container import read_pack, write_pack
from unnaive.pack.journal import Journal
from unnaive.pack.objects import Objects
from unnaive.pack.values import PackError

__all__ = ["Journal", "Objects", "PackError", "read_pack", "write_pack"]
