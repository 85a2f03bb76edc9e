"""Sums that add up: what parts of the rows leave becomes what all of them leave."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Self


class Additive:
    """Base of dataclasses whose fields are sums over rows."""

    __slots__ = ()

    def __add__(self, other: Self) -> Self:
        mine: Any = self
        names = [field.name for field in fields(mine)]
        return type(self)(*(getattr(self, name) + getattr(other, name) for name in names))
