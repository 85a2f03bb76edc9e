"""From a piece of a lazy table to a `Block`, whatever engine it comes from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from unnaive.common.wording import listed
from unnaive.table.codes import read_labels
from unnaive.table.columns import read_numeric
from unnaive.table.reading import (
    all_weights_zero,
    check_against,
    check_names,
    check_weight,
    new_schema,
)
from unnaive.table.scan import Scan
from unnaive.table.schema import Column, Schema, refuse_duplicates
from unnaive.table.source import Block, cut_target, keep_rows


@dataclass(frozen=True, slots=True)
class BlockReader:
    """What to take of each piece of a table: plain data, which may be sent to workers.

    Attributes
    ----------
    features : tuple of str
        Columns to learn from, in order.
    target, weight, row_id : str or None
        The other columns.
    categorical_features : object
        As in the estimators.
    fitted : Schema or None
        What a model knows of the columns already.
    all_rows : bool
        Whether rows of weight zero are read as well.
    coded : frozenset of str
        Columns of text that come as dictionaries only because that is quicker to read.
    period : str or None
        A column that is read beside the features and left as it is.
    """

    features: tuple[str, ...]
    target: str | None
    weight: str | None
    row_id: str | None
    categorical_features: Any
    fitted: Schema | None
    all_rows: bool = False
    coded: frozenset[str] = frozenset()
    period: str | None = None

    @classmethod
    def of(
        cls,
        scan: Scan,
        names: Sequence[str],
        categorical_features: Any,
        fitted: Schema | None,
    ) -> BlockReader:
        """The reader of a table with columns of these names."""
        refuse_duplicates(names)
        there = set(names)
        for word, name in (
            ("target", scan.target),
            ("weight", scan.weight),
            ("row_id", scan.row_id),
            ("the period", scan.period),
            *(("columns", name) for name in scan.columns or ()),
        ):
            if name is not None and name not in there:
                raise ValueError(
                    f"{word} names {name!r}, which is not a column of the data; its columns are "
                    f"{listed(names)}."
                )
        features = [name for name in scan.columns or names if name not in scan.non_features]
        if fitted is not None and fitted.named:
            learned = set(fitted.names)
            shared = [name for name in features if name in learned]
            check_names(fitted.names, shared)  # other columns, such as the labels, may be there
            features = fitted.names
        elif fitted is not None and len(fitted) != len(features):
            raise ValueError(
                f"X has {len(features)} features, but the model was fitted on {len(fitted)}."
            )
        if not features:
            raise ValueError("0 feature(s) while a minimum of 1 is required: no columns are left.")
        return cls(
            tuple(features),
            scan.target,
            scan.weight,
            scan.row_id,
            categorical_features,
            fitted,
            scan.all_rows,
            period=scan.period,
        )

    @property
    def columns(self) -> list[str]:
        """All columns that are read."""
        aside = (self.target, self.weight, self.row_id, self.period)
        return [*self.features, *(name for name in aside if name is not None)]

    def read(self, table: Any, first_row: int = 0, first_key: int | None = None) -> Block | None:
        """Rows of a pyarrow, pandas or polars table; None where there are none of any weight.

        ``first_row`` is the place of the first one among all rows, where there is an order;
        ``first_key`` as in `Block`.
        """
        frame = nw.from_native(table, eager_only=True)
        n_rows = len(frame)
        if n_rows == 0:
            return None
        columns: Any = [frame[name] for name in self.features]
        target = None if self.target is None else read_labels(frame[self.target])
        row_ids = None if self.row_id is None else _row_ids(frame[self.row_id])
        period = None if self.period is None else frame[self.period]
        weight = None
        if self.weight is not None:
            weight_column = Column(self.weight, "numeric", "number")
            weight = check_weight(read_numeric(frame[self.weight], weight_column), n_rows)
            if not (weight.all() or self.all_rows):
                kept = weight > 0
                if row_ids is None:
                    row_ids = np.arange(first_row, first_row + n_rows)
                columns, weight, row_ids = keep_rows(columns, kept), weight[kept], row_ids[kept]
                target, n_rows = cut_target(target, kept), len(row_ids)
                period = None if period is None else period.filter(kept.tolist())
                if n_rows == 0:
                    return None
        schema = self.schema_of(columns)
        return Block(
            schema,
            columns,
            n_rows=n_rows,
            target=target,
            weight=weight,
            first_row=first_row,
            row_ids=row_ids,
            first_key=first_key,
            period=period,
        )

    def schema_of(self, columns: list[Any]) -> Schema:
        """What the columns of some rows hold; those without a value have no type yet."""
        if self.fitted is not None:
            return check_against(self.fitted, columns)
        names = list(self.features)
        return new_schema(columns, names, self.categorical_features, True, self.coded)


def _row_ids(column: nw.Series[Any]) -> NDArray[np.int64]:
    if not column.dtype.is_integer() or column.null_count():
        raise ValueError(
            f"row_id {column.name!r} must hold whole numbers, none missing; it is {column.dtype} "
            f"with {column.null_count()} missing."
        )
    return np.ascontiguousarray(column.to_numpy(), dtype=np.int64)


def arrow_types(columns: Sequence[str] | Mapping[str, Any] | None) -> dict[str, Any]:
    """Types that the user gives for some columns, as Arrow has them."""
    if not isinstance(columns, Mapping):
        return {}
    import pyarrow as pa

    types: dict[str, Any] = {}
    for name, given in columns.items():
        try:
            if given is not None:
                types[name] = pa.type_for_alias(given) if isinstance(given, str) else given
        except ValueError:
            raise ValueError(
                f"columns gives {name!r} the type {given!r}, which Arrow does not know; use "
                "'string', 'float64', 'int64', 'bool', 'date32', 'timestamp[us]' or the like."
            ) from None
    return types


def no_rows(seen: int) -> ValueError:
    """What is wrong when no block has rows: were any seen?"""
    if seen:
        return all_weights_zero()
    return ValueError("0 sample(s) while a minimum of 1 is required: the data have no rows.")
