"""How much a timeline holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from unnaive.common.facts import Columns, Facts
from unnaive.common.wording import counted, size_words
from unnaive.counts import Summary
from unnaive.encode import Grid
from unnaive.living.periods import Period


@dataclass(frozen=True, slots=True, repr=False)
class PeriodFacts(Facts):
    """How much each period of a timeline holds: rows, their weight, classes, bytes of memory."""

    periods: tuple[Period, ...]
    rows: tuple[int, ...]
    weight: tuple[float, ...]
    classes: tuple[int, ...]
    bytes: tuple[int, ...]

    def _columns(self) -> Columns:
        return {
            "period": self.periods,
            "rows": self.rows,
            "weight": self.weight,
            "classes": self.classes,
            "bytes": self.bytes,
        }

    def _title(self) -> str:
        size = size_words(sum(self.bytes))
        return f"{counted(len(self.periods), 'period')}, {counted(sum(self.rows), 'row')}, {size}"


def contents(periods: Sequence[Period], sums: Sequence[Summary]) -> PeriodFacts:
    """Facts of periods with these sums."""
    return PeriodFacts(
        tuple(periods),
        tuple(s.n_rows for s in sums),
        tuple(float(s.counts.totals.sum()) for s in sums),
        tuple(int((s.counts.totals > 0).sum()) for s in sums),
        tuple(map(_memory, sums)),
    )


def _memory(summary: Summary) -> int:
    """Bytes of the arrays of a summary; text of categories is not counted."""
    total = summary.counts.counts.nbytes + summary.counts.totals.nbytes
    total += summary.moments.limbs.nbytes + summary.labels.classes.nbytes
    for coder in summary.coders:
        if isinstance(coder, Grid):
            total += coder.low.nbytes + (0 if coder.high is coder.low else coder.high.nbytes)
        elif coder is not None:
            total += 8 * len(coder.values)
    return total
