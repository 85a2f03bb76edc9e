"""What every site counts, so that sums of rows that never meet add up to one model."""

from __future__ import annotations

import json
import math
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from unnaive.common.atomic import replacing
from unnaive.counts.summary import Summary
from unnaive.encode import Categories, Grid
from unnaive.models import NaiveBayesClassifier
from unnaive.table import Column, Schema
from unnaive.table.schema import Family, Kind

FORMAT = 1
FIELDS = {"format", "target", "weight", "parameters", "columns"}
CELLS = 64  # of the range of a column of numbers
MOST_CELLS = 4096


@dataclass(frozen=True, slots=True)
class Range:
    """The public range of a column of numbers, in cells of equal width; numbers beyond are in the
    first and last cell.
    """

    low: float
    high: float
    cells: int = CELLS

    def check(self) -> None:
        """Refuse what is no range."""
        good = math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high
        if not good or not 2 <= self.cells <= MOST_CELLS:
            raise ValueError(
                f"a range must be two finite numbers in order, with 2 to {MOST_CELLS} cells; got "
                f"{self.low} to {self.high} with {self.cells}."
            )

    @property
    def cuts(self) -> NDArray[np.float64]:
        """Where cells end and the next begin."""
        return np.linspace(self.low, self.high, self.cells + 1)[1:-1]

    @staticmethod
    def middles(cuts: NDArray[np.float64]) -> NDArray[np.float64]:
        """The middle of every cell between cuts at equal distances."""
        half = (cuts[-1] - cuts[0]) / (2 * (len(cuts) - 1)) if len(cuts) > 1 else 1.0
        return np.concatenate((cuts - half, cuts[-1:] + half))


@dataclass(frozen=True)
class Plan:
    """Columns with their kinds, the target, and the parameters of the model: plain JSON.

    Attributes
    ----------
    schema : Schema
    target : str
        The column with the classes.
    weight : str or None
        The column with the weights of rows.
    parameters : dict
        Of `NaiveBayesClassifier`.
    classes : tuple or None
        The classes, where they are public.
    values : tuple or None
        For each column its categories, or the `Range` of its numbers, where they are public:
        `private` needs both.
    """

    schema: Schema
    target: str
    weight: str | None = None
    parameters: dict[str, Any] = field(default_factory=dict)
    classes: tuple[Any, ...] | None = None
    values: tuple[Range | tuple[Any, ...], ...] | None = None

    @classmethod
    def of(
        cls, model: Any, target: str, weight: str | None = None, *, values: bool = False
    ) -> Plan:
        """The plan by which a fitted model would have been made.

        With ``values``, its classes, categories and ranges of numbers are in the plan: of rows
        that are no secret.
        """
        if not isinstance(getattr(model, "summary_", None), Summary):
            raise TypeError(
                f"a plan is made of a fitted NaiveBayesClassifier; got {type(model).__name__}."
            )
        default = NaiveBayesClassifier().get_params()
        given = {k: v for k, v in model.get_params().items() if repr(v) != repr(default[k])}
        given.pop("n_jobs", None)
        if not values:
            return cls(model.schema_, target, weight, given)
        sums = model._sums("asked for its values")
        domain = tuple(
            _values_of(column, coder)
            for column, coder in zip(sums.schema, sums.coders, strict=True)
        )
        return cls(model.schema_, target, weight, given, tuple(model.classes_.tolist()), domain)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Plan:
        """Read a plan; errors name what is wrong in it."""
        text = Path(path).read_text(encoding="utf-8")
        try:
            return cls._of_plain(json.loads(text))
        except (ValueError, TypeError, KeyError) as error:
            raise ValueError(f"{os.fspath(path)} is no plan: {error}") from error

    @classmethod
    def _of_plain(cls, content: Any) -> Plan:
        listed = isinstance(content, dict) and "classes" in content
        if not isinstance(content, dict) or content.keys() - {"classes"} != FIELDS:
            raise ValueError(f"it must have {', '.join(sorted(FIELDS))}, and nothing else.")
        if content["format"] != FORMAT:
            raise ValueError(f"it has the format {content['format']!r}, not {FORMAT}.")
        columns = tuple(_column(node, listed) for node in content["columns"])
        schema = Schema(columns, named=True)
        schema.check()
        target, weight, parameters = (content[k] for k in ("target", "weight", "parameters"))
        if not isinstance(target, str) or not isinstance(weight, (str, type(None))):
            raise ValueError("target and weight must be names of columns.")
        if target in schema.names:
            raise ValueError(f"the target {target!r} is among the columns to learn from.")
        known: dict[str, Any] = {}
        if listed:
            known["classes"] = tuple(content["classes"])
            known["values"] = tuple(_read_values(node) for node in content["columns"])
        plan = cls(schema, target, weight, dict(parameters), **known)
        plan.estimator()._check_parameters()
        return plan

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the plan, whole or not at all."""
        columns: list[dict[str, Any]] = [
            {"name": c.name, "kind": c.kind, "family": c.family}
            | ({"order": list(c.order or ())} if c.family == "level" else {})
            for c in self.schema
        ]
        for node, values in zip(columns, self.values or (), strict=False):
            if isinstance(values, Range):
                node |= {"range": [values.low, values.high], "cells": values.cells}
            else:
                node["categories"] = list(values)
        content: dict[str, Any] = {
            "format": FORMAT,
            "target": self.target,
            "weight": self.weight,
            "parameters": self.parameters,
            "columns": columns,
        }
        if self.classes is not None:
            content["classes"] = list(self.classes)
        try:
            text = json.dumps(content, indent=1)
        except TypeError as error:
            what = "a parameter, category or level"
            raise ValueError(f"{what} cannot be written as JSON: {error}.") from error
        with replacing(path) as file:
            file.write(text.encode() + b"\n")

    def estimator(self) -> NaiveBayesClassifier:
        """The model of the plan, not fitted."""
        return NaiveBayesClassifier().set_params(**self.parameters)

    def summarize(self, X: Any, y: Any = None, sample_weight: Any = None) -> NaiveBayesClassifier:
        """The model of one site's rows, counted as every site counts them.

        Parameters
        ----------
        X, y, sample_weight :
            As in the fit of the model; columns are read as the plan says.

        Returns
        -------
        NaiveBayesClassifier
            `unnaive.merge` of those of all sites is the model of all rows.
        """
        model = self.estimator()
        model._check_parameters()
        return model._learn(model._gather(X, y, sample_weight, self.schema))


def _values_of(column: Column, coder: Any) -> Range | tuple[Any, ...]:
    """The values of a column of rows that are no secret; none where all were missing."""
    if column.kind == "empty":
        return ()
    if column.family == "level":  # each in a cell of its own
        n = len(column.order or ())
        return Range(-0.5, max(n, 2) - 0.5, min(max(n, 2), MOST_CELLS))
    if isinstance(coder, Categories):
        return coder.values
    if not isinstance(coder, Grid) or not coder.size:
        raise ValueError(f"{column} has no values to put into the plan; drop it.")
    low, high = float(coder.low[0]), float(coder.high[-1])
    return Range(low, high if high > low else low + 1.0)


def _column(node: Any, listed: bool) -> Column:
    fields = {"name", "kind", "family"}
    numbers = isinstance(node, dict) and node.get("kind") == "numeric"
    if isinstance(node, dict) and node.get("family") == "level":
        fields.add("order")
    if listed:
        fields |= {"range", "cells"} if numbers else {"categories"}
    if not isinstance(node, dict) or node.keys() != fields:
        raise ValueError(f"every column must have {', '.join(sorted(fields))}, and nothing else.")
    if not isinstance(node["name"], str):
        raise ValueError(f"the name of a column must be text; got {node['name']!r}.")
    for key, known in (("kind", get_args(Kind)), ("family", get_args(Family))):
        if node[key] not in known:
            choices = ", ".join(known)
            raise ValueError(f"{key} of column {node['name']!r} must be one of {choices}.")
    column = Column(node["name"], node["kind"], node["family"], tuple(node.get("order", ())))
    column.check()
    return column


def _read_values(node: dict[str, Any]) -> Range | tuple[Any, ...]:
    """The values of a column, as a plan lists them."""
    if "categories" in node:
        categories = Categories(tuple(node["categories"]))
        categories.check()
        return categories.values
    low, high = node["range"]
    values = Range(float(low), float(high), int(node["cells"]))
    values.check()
    return values
