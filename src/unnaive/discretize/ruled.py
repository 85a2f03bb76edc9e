"""What estimators share that treat numeric columns by rules: parameters, sums, intervals."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from unnaive.counts import Summary, Wanted
from unnaive.discretize.coarse import Coarse, coarsen
from unnaive.discretize.rules import RULES, CuttingRule, Mdl, Rule
from unnaive.estimator import TableEstimator
from unnaive.table import Schema
from unnaive.table.schema import by_column


class RuledEstimator(TableEstimator):
    """Base of estimators with a parameter that names a rule, or a rule for each column.

    In their docstrings ``<rules>`` stands for the names of the rules accepted, and
    ``<what they do>`` for a list of them.
    """

    _rule_parameter: ClassVar[str] = "numeric"
    _rule_kind: ClassVar[type] = CuttingRule  # the rules accepted

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls.__doc__ is not None:  # python -OO has none
            cls.__doc__ = cls._list_rules(cls.__doc__)

    @classmethod
    def _accepted(cls) -> dict[str, type[Rule]]:
        return {name: rule for name, rule in RULES.items() if issubclass(rule, cls._rule_kind)}

    @classmethod
    def _list_rules(cls, text: str) -> str:
        rules = cls._accepted()
        names = ", ".join(f'"{name}"' for name in rules)
        lines = [f'- ``"{name}"`` {rule.does()}' for name, rule in rules.items()]
        text = re.sub("<rules>", f"{{{names}}}", text)
        return re.sub("( *)<what they do>", lambda at: "\n".join(at[1] + s for s in lines), text)

    def _rules(self, schema: Schema) -> dict[int, Rule]:
        """The rule of each numeric column."""
        parameter = self._rule_parameter
        value = getattr(self, parameter)
        for name in value.values() if isinstance(value, Mapping) else [value]:
            self._check_rule(name)
        names = by_column(parameter, value, schema, Mdl.name)
        rules = {name: RULES[name].of(self) for name in set(names.values())}
        return {j: rules[name] for j, name in names.items()}

    def _check_rule(self, name: Any) -> None:
        accepted = list(self._accepted())
        if name in accepted:
            return
        words = f"{name!r}"
        if isinstance(name, str) and name in RULES:
            words += f", which {RULES[name].does()}: there are no intervals to count rows in"
        choices = ", ".join(map(repr, accepted))
        raise ValueError(
            f"{self._rule_parameter} must be one of {choices}, or a dict of these; got {words}."
        )

    def _check_options(self) -> None:
        """Refuse options of rules that make no sense, also of rules that are not chosen."""
        for rule in self._accepted().values():
            rule.of(self).check()

    def _wanted(self, schema: Schema) -> Wanted:
        rules = self._rules(schema).items()
        return Wanted(
            frozenset(j for j, rule in rules if rule.needs_counts),
            frozenset(j for j, rule in rules if rule.needs_moments),
        )

    def _coarsen(self, summary: Summary, factor: NDArray[np.float64] | None = None) -> Coarse:
        rules = self._rules(summary.schema)
        return coarsen(
            summary, rules, max_categories=self.max_categories, factor=factor, n_jobs=self.n_jobs
        )
