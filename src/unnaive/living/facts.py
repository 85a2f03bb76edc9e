"""What has changed between two samples of rows, as facts."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from unnaive.common.facts import Columns, Facts
from unnaive.common.wording import counted


@dataclass(frozen=True, slots=True, repr=False)
class ValueDrift(Facts):
    """Shares of the values of one column before and after, and the class each speaks for."""

    column: str
    values: tuple[str, ...]
    before: tuple[float, ...]
    after: tuple[float, ...]
    speaks_before: tuple[str, ...]
    speaks_after: tuple[str, ...]

    def _columns(self) -> Columns:
        return {
            "value": self.values,
            "before": self.before,
            "after": self.after,
            "speaks_before": self.speaks_before,
            "speaks_after": self.speaks_after,
        }

    def _title(self) -> str:
        return f"shares of the values of {self.column}"


@dataclass(frozen=True, slots=True)
class ColumnDrift:
    """What has changed in one column.

    Attributes
    ----------
    column : str
    index : float
        Population stability index of its values, missing ones included. Of columns with normal
        densities, that of the densities; there is then no distance, and no test of evidence.
    distance : float
        Jensen-Shannon distance, 0 to 1.
    p_value : float
        How often chance moves values so far: G-test, corrected for all tests of the comparison.
    missing_before, missing_after : float
        Shares of rows without a value.
    new, vanished : tuple
        Categories of one of the samples only.
    evidence_loss : float
        Log loss, in nats for each row of the new sample, that the old evidence of this column costs
        where the new evidence would be right, less what chance is expected to cost; NaN without
        labels.
    evidence_p_value : float
        How often chance changes evidence so far, corrected likewise.
    turned : str
        The value that costs most among those that now speak for another class; empty if none does.
    drifted : bool
        Whether values or evidence moved by more than chance explains, and by enough to matter.
    values : ValueDrift
    """

    column: str
    index: float
    distance: float
    p_value: float
    missing_before: float
    missing_after: float
    new: tuple[Any, ...]
    vanished: tuple[Any, ...]
    evidence_loss: float
    evidence_p_value: float
    turned: str
    drifted: bool
    values: ValueDrift


@dataclass(frozen=True, slots=True, repr=False)
class ClassDrift(Facts):
    """Base rates: shares of the classes before and after, and what the model predicts on average.

    NaN stands for what is not known.
    """

    classes: tuple[Any, ...]
    before: tuple[float, ...]
    after: tuple[float, ...]
    predicted: tuple[float, ...]
    index: float
    p_value: float
    drifted: bool

    def _columns(self) -> Columns:
        return {
            "class": [str(c) for c in self.classes],
            "before": self.before,
            "after": self.after,
            "predicted": self.predicted,
        }

    def _title(self) -> str:
        if math.isnan(self.index):
            return "base rates before, and as predicted: the new rows have no classes"
        return f"base rates, stability index {self.index:.3g}, p {self.p_value:.2g}"


@dataclass(frozen=True, slots=True, repr=False)
class Drift(Facts):
    """What has changed between two samples; as a table, one row for each column.

    Columns that changed most come first.

    Attributes
    ----------
    columns : tuple of ColumnDrift
    classes : ClassDrift
    rows_before, rows_after : int
    level : float
        How often an alarm is false.
    log_loss : float
        Of the model on the new rows; NaN without a model or labels.
    expected_log_loss : float
        What the model expects of itself on these rows, from its own probabilities; no labels are
        needed. A log loss far above it says that probabilities are not what they claim any more.
    """

    columns: tuple[ColumnDrift, ...]
    classes: ClassDrift
    rows_before: int
    rows_after: int
    level: float
    log_loss: float = math.nan
    expected_log_loss: float = math.nan
    places: dict[str, int] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "places", {c.column: k for k, c in enumerate(self.columns)})

    def __getitem__(self, column: str) -> ColumnDrift:
        """What has changed in one column."""
        if column not in self.places:
            raise KeyError(f"there is no column {column!r}.")
        return self.columns[self.places[column]]

    @property
    def drifted(self) -> list[str]:
        """The columns that drifted, most first."""
        return [c.column for c in self.columns if c.drifted]

    @property
    def alarm(self) -> bool:
        """Whether any column, or the base rates, drifted."""
        return bool(self.drifted) or self.classes.drifted

    def _columns(self) -> Columns:
        names = ("column", "index", "distance", "p_value", "missing_before", "missing_after")
        more = ("evidence_loss", "evidence_p_value", "turned", "drifted")
        columns: Columns = {name: [getattr(c, name) for c in self.columns] for name in names}
        columns["new"] = [len(c.new) for c in self.columns]
        columns["vanished"] = [len(c.vanished) for c in self.columns]
        return columns | {name: [getattr(c, name) for c in self.columns] for name in more}

    def _title(self) -> str:
        rows = f"{self.rows_before:,} rows before, {self.rows_after:,} after"
        if not self.alarm:
            return f"no drift: {rows}"
        what = [counted(len(self.drifted), "column")] if self.drifted else []
        what += ["the base rates"] if self.classes.drifted else []
        return f"drift of {' and '.join(what)}: {rows}"

    def to_dict(self) -> dict[str, Any]:
        """All facts as plain data, for JSON; NaN becomes None.

        Returns
        -------
        dict
        """
        rates = self.classes
        return {
            "alarm": self.alarm,
            "drifted": self.drifted,
            "level": self.level,
            "rows_before": self.rows_before,
            "rows_after": self.rows_after,
            "log_loss": _plain(self.log_loss),
            "expected_log_loss": _plain(self.expected_log_loss),
            "classes": {
                "index": _plain(rates.index),
                "p_value": _plain(rates.p_value),
                "drifted": rates.drifted,
                "shares": _records(rates),
            },
            "columns": [
                {
                    name: _plain(getattr(c, name))
                    for name in c.__slots__
                    if name not in ("values", "new", "vanished")
                }
                | {"new": [str(v) for v in c.new], "vanished": [str(v) for v in c.vanished]}
                | {"values": _records(c.values)}
                for c in self.columns
            ],
        }


def _records(facts: Facts) -> list[dict[str, Any]]:
    table = facts._columns()
    return [
        {name: _plain(value) for name, value in zip(table, row, strict=True)}
        for row in zip(*table.values(), strict=True)
    ]


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and math.isnan(value) else value
