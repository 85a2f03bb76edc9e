"""PACKING: arrays and plain data to and from one safe file."""

from unnaive.pack.atomic import replacing
from unnaive.pack.container import read_pack, write_pack
from unnaive.pack.values import PackError

__all__ = ["PackError", "read_pack", "replacing", "write_pack"]
