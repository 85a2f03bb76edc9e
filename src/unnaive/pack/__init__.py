"""PACKING: arrays and plain data to and from one safe file."""

from unnaive.pack.container import read_pack, write_pack
from unnaive.pack.limits import PackError
from unnaive.pack.objects import Objects

__all__ = ["Objects", "PackError", "read_pack", "write_pack"]
