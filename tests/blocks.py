"""A table in memory that comes in several blocks, as a file or a cluster would send it."""

from __future__ import annotations

from functools import reduce
from itertools import pairwise

import numpy as np

from unnaive.estimator import base
from unnaive.table import open_table
from unnaive.table.records import Storage


class SplitSource:
    """Blocks between the given edges, reduced in an order of its own."""

    def __init__(self, block, edges):
        self.storage = Storage()
        own = [(a, min(b, block.n_rows)) for a, b in pairwise(edges) if a < block.n_rows]
        self.blocks = [block.slice(a, b) for a, b in own]

    may_change = True

    def report_passes(self, hook):
        pass

    def reduce(self, fn, add, name=""):
        return reduce(add, [fn(block) for block in reversed(self.blocks)])

    def each(self, fn, name=""):
        yield from (fn(block) for block in self.blocks)

    def keep_away(self, fn, add, name=""):
        return None

    def map(self, fn, names=None):
        return np.concatenate([fn(block) for block in self.blocks])


def split_memory(monkeypatch, edges, source=SplitSource):
    """From now on, fit reads its table in blocks."""

    def open_split(*args, **kwargs):
        return source(open_table(*args, **kwargs).block, edges)

    monkeypatch.setattr(base, "open_table", open_split)
