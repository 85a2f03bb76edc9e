"""What is known about how a model was trained, beside what it has learned."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from unnaive.common.checks import expect
from unnaive.table.scan import Scan

LONGEST = 1000  # letters of a name


@dataclass(frozen=True, slots=True)
class About:
    """Stands in model files beside the model; two models that learned the same may differ in it.

    Attributes
    ----------
    target : str or None
        The column with the labels, where it has a name.
    trained : str or None
        When the model was trained, as ISO 8601 in UTC, where whoever saved it has said so.
    """

    target: str | None = None
    trained: str | None = None

    def check(self) -> None:
        """Refuse what no file says."""
        expect(self.target is None or len(self.target) <= LONGEST, "the target's name is too long.")
        if self.trained is not None:
            expect(len(self.trained) <= LONGEST, "the training date is none.")
            datetime.fromisoformat(self.trained)

    @property
    def day(self) -> str:
        """When the model was trained, for people."""
        if self.trained is None:
            return ""
        moment = datetime.fromisoformat(self.trained)
        return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")


def target_name(y: Any, scan: Scan | None) -> str | None:
    """The name of the column with the labels: that of a scan, or of a Series."""
    name = scan.target if scan is not None else getattr(y, "name", None)
    if name is None or callable(name) or isinstance(y, np.ndarray):
        return None
    return str(name)[:LONGEST] or None


def moment_text(moment: datetime) -> str:
    """A moment as text; one without a time zone is taken as local time."""
    return moment.astimezone(UTC).isoformat(timespec="seconds")


def release() -> str:
    """Return the version of the installed package; sources that are not installed have none."""
    try:
        return version("unnaive")
    except PackageNotFoundError:
        return "unknown"


def utc_moment(value: Any) -> np.datetime64:
    """Return a date or time as NumPy has them, without a zone."""
    if isinstance(value, datetime) and value.tzinfo is not None:
        value = value.astimezone(UTC).replace(tzinfo=None)
    return np.datetime64(value, "us")
