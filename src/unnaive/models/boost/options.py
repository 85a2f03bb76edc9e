"""What users ask for: which pairs have evidence, and where evidence may only rise or fall."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.table import Schema
from unnaive.table.schema import column_position

PAIRS_PER_COLUMN = 3.0


@dataclass(frozen=True, slots=True)
class Interactions:
    """Which pairs are wanted: those listed, or the ``most`` strongest.

    Where ``held_out`` decides, only those of them that held-out rows gain by.
    """

    most: int
    held_out: bool = False
    listed: tuple[tuple[int, int], ...] | None = None


def read_interactions(
    value: Any, schema: Schema, varying: Sequence[int], directions: NDArray[np.int8]
) -> Interactions:
    """What the parameter ``interactions`` asks for, of the columns that vary."""
    if isinstance(value, str) and value == "auto":
        return Interactions(math.ceil(PAIRS_PER_COLUMN * len(schema)), held_out=True)
    is_number = isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_))
    if is_number and 0 <= float(value) < math.inf:
        each = 1 if isinstance(value, numbers.Integral) else len(schema)
        return Interactions(math.ceil(float(value) * each))
    if isinstance(value, (str, numbers.Number)) or not hasattr(value, "__iter__"):
        raise ValueError(
            "interactions must be 'auto', a number of pairs, a multiple of the number of columns, "
            f"or a list of pairs; got {value!r}."
        )
    listed = dict.fromkeys(_read_pair(pair, schema, directions) for pair in value)
    return Interactions(0, listed=tuple(pair for pair in listed if set(pair) <= set(varying)))


def _read_pair(pair: Any, schema: Schema, directions: NDArray[np.int8]) -> tuple[int, int]:
    """The positions of two columns, in ascending order."""
    if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
        raise ValueError(
            f"interactions holds {pair!r}; expected pairs of columns, as in [('age', 'city')]."
        )
    a, b = sorted(column_position("interactions", schema, name) for name in pair)
    if a == b:
        raise ValueError(f"interactions pairs {schema[a]} with itself; name two columns.")
    for j in (a, b):
        if directions[j]:
            raise ValueError(
                f"interactions pairs {schema[j]}, which monotonic_cst constrains; constrained "
                "columns take part in no pair. Leave out the pair or the constraint."
            )
    return a, b


def read_directions(value: Any, schema: Schema, n_classes: int) -> NDArray[np.int8]:
    """What the parameter ``monotonic_cst`` says of each column."""
    out = np.zeros(len(schema), np.int8)
    if value is None:
        return out
    if not isinstance(value, Mapping):
        value = dict(enumerate(value))
        if len(value) != len(schema):
            raise ValueError(
                f"monotonic_cst has {len(value)} entries, but the table has {len(schema)} columns; "
                "give one for each, or a dict by column."
            )
        positions = list(value)
    else:
        positions = [column_position("monotonic_cst", schema, name) for name in value]
    for j, direction in zip(positions, value.values(), strict=True):
        if direction not in (-1, 0, 1):
            raise ValueError(
                f"monotonic_cst of {schema[j]} must be 1 (rising), -1 (falling) or 0; "
                f"got {direction!r}."
            )
        if direction and schema[j].kind == "categorical":
            raise ValueError(
                f"monotonic_cst constrains {schema[j]}, which holds categories; only numbers rise "
                "and fall."
            )
        out[j] = direction
    if out.any() and n_classes > 2:
        raise ValueError(
            f"monotonic_cst is for two classes, of which the second becomes more or less probable; "
            f"y has {n_classes}."
        )
    return out
