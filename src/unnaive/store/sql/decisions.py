"""Decisions by thresholds and costs as conditions."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from unnaive.answer import Decision
from unnaive.store.sql.columns import Columns
from unnaive.store.sql.dialects import ref
from unnaive.store.sql.statement import add_up


def decide(columns: Columns, decision: Decision, probabilities: Sequence[str]) -> list[exp.Expr]:
    """For each class, the condition under which a row is given it, the first that holds."""
    double = columns.dialect.double
    if decision.threshold is not None:
        p, least = ref(probabilities[decision.positive]), double(decision.threshold)
        above, below = exp.GTE(this=p, expression=least), exp.LT(this=p.copy(), expression=least)
        return [above, below] if decision.positive == 0 else [below, above.copy()]
    step = columns.statement.step("costs")
    costs = [
        step.define(
            "c",
            add_up(
                [
                    exp.Mul(this=ref(p), expression=double(cost))
                    for p, cost in zip(probabilities, of_class.tolist(), strict=True)
                ]
            ),
        )
        for of_class in decision.costs.T
    ]
    step = columns.statement.step("cheapest")
    lowest = step.define("m", columns.dialect.least([ref(cost) for cost in costs]))
    return [exp.EQ(this=ref(cost), expression=ref(lowest)) for cost in costs]
