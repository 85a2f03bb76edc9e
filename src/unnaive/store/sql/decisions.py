"""Decisions by thresholds and costs as conditions."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from unnaive.answer import Decision
from unnaive.store.sql.columns import Columns
from unnaive.store.sql.dialects import op, ref
from unnaive.store.sql.scores import equal_to
from unnaive.store.sql.statement import add_up


def decide(columns: Columns, decision: Decision, probabilities: Sequence[str]) -> list[exp.Expr]:
    """For each class, the condition under which a row is given it, the first that holds."""
    double = columns.dialect.double
    if decision.threshold is not None:
        p, least = ref(probabilities[decision.positive]), double(decision.threshold)
        above, below = op(p, ">=", least), op(p.copy(), "<", least)
        return [above, below] if decision.positive == 0 else [below, above.copy()]
    step = columns.statement.step("costs")
    costs = []
    for of_class in decision.costs.T.tolist():
        terms = zip(probabilities, of_class, strict=True)
        costs.append(step.define("c", add_up([op(ref(p), "*", double(cost)) for p, cost in terms])))
    step = columns.statement.step("cheapest")
    lowest = step.define("m", columns.dialect.least([ref(cost) for cost in costs]))
    return equal_to(costs, lowest)
