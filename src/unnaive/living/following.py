"""Every period of a timeline beside those before it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.common.checks import check_level
from unnaive.common.facts import Columns, Facts
from unnaive.common.wording import counted
from unnaive.living.comparing import MIN_INDEX, MIN_LOSS, compare_periods
from unnaive.living.facts import Drift
from unnaive.living.periods import Period
from unnaive.living.timeline import Timeline


@dataclass(frozen=True, slots=True, repr=False)
class DriftOverTime(Facts):
    """Drift of each period; as a table, one row for each period and column.

    Attributes
    ----------
    periods : tuple
    drifts : tuple of Drift
        What has changed in each of them.
    """

    periods: tuple[Period, ...]
    drifts: tuple[Drift, ...]

    @property
    def alarms(self) -> list[Period]:
        """The periods with an alarm, in order."""
        pairs = zip(self.periods, self.drifts, strict=True)
        return [period for period, drift in pairs if drift.alarm]

    @property
    def names(self) -> list[str]:
        """The columns, those that changed most in any period first."""
        table = self.matrix(sorted(self.drifts[0].places))
        most = np.nan_to_num(table).max(axis=1, initial=0.0)
        known = sorted(self.drifts[0].places)
        return [known[k] for k in np.argsort(-most, kind="stable")]

    def matrix(self, columns: list[str], fact: str = "index") -> NDArray[np.float64]:
        """One fact of some columns in every period, columns x periods."""
        values = [[float(getattr(d[name], fact)) for d in self.drifts] for name in columns]
        return np.array(values, dtype=np.float64).reshape(len(columns), len(self.periods))

    def _columns(self) -> Columns:
        rows = [(p, c) for p, d in zip(self.periods, self.drifts, strict=True) for c in d.columns]
        facts = ("column", "index", "p_value", "evidence_loss", "evidence_p_value", "drifted")
        columns: Columns = {"period": [period for period, _ in rows]}
        return columns | {name: [getattr(c, name) for _, c in rows] for name in facts}

    def _title(self) -> str:
        alarms = self.alarms
        words = f"{counted(len(alarms), 'alarm')} in {counted(len(self.periods), 'period')}"
        return f"{words}, the first in {alarms[0]}" if alarms else words


def follow_drift(
    timeline: Timeline,
    *,
    since: Any = None,
    until: Any = None,
    against: str = "earlier",
    level: float = 0.01,
    min_index: float = MIN_INDEX,
    min_loss: float = MIN_LOSS,
    n_bins: int = 10,
) -> DriftOverTime:
    """Compare every period of a window of a timeline with what came before it.

    Parameters
    ----------
    timeline : Timeline
    since, until : period, date, time or None, default=None
        The window, as in `Timeline.model`; it needs two periods.
    against : {"earlier", "previous", "first"}, default="earlier"
        Whether a period is compared with all earlier ones of the window together, with the one
        before it, or with the first one.
    level : float, default=0.01
        How often any of the comparisons may raise a false alarm when nothing has changed. The k-th
        one is tested at ``level / (k * (k + 1))``: these add up to the level however many periods
        there are, and later periods do not change what was said of earlier ones.
    min_index, min_loss, n_bins :
        As in `compare_periods`.

    Returns
    -------
    DriftOverTime

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from unnaive import Timeline, follow_drift
    >>> rng = np.random.default_rng(0)
    >>> rows = pd.DataFrame({"a": rng.normal(size=5000), "b": rng.normal(size=5000)})
    >>> rows.loc[3000:, "b"] += 1
    >>> batches = rows.assign(batch=rows.index // 1000)
    >>> timeline = Timeline("batch").fit(batches, rows["a"] > 0)
    >>> follow_drift(timeline).alarms
    [3, 4]
    """
    if against not in ("earlier", "previous", "first"):
        raise ValueError(f"against must be 'earlier', 'previous' or 'first'; got {against!r}.")
    start, stop = timeline._window(since, until)
    if stop - start < 2:
        raise ValueError(f"drift needs two periods; the window has {counted(stop - start, 'one')}.")
    check_level(level)
    options = {"min_index": min_index, "min_loss": min_loss, "n_bins": n_bins}
    drifts = []
    for k in range(start + 1, stop):
        first = k - 1 if against == "previous" else start
        last = k if against == "earlier" else first + 1
        before = timeline._sum(first, last - 1)
        after = timeline[timeline.periods_[k]]
        number = k - start
        own_level = level / (number * (number + 1))
        drifts.append(compare_periods(before, after, level=own_level, **options))  # type: ignore[arg-type]
    return DriftOverTime(tuple(timeline.periods_[start + 1 : stop]), tuple(drifts))
