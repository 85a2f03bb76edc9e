"""What every site counts, so that sums of rows that never meet add up to one model."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

from unnaive.common.atomic import replacing
from unnaive.models import NaiveBayesClassifier
from unnaive.table import Column, Schema
from unnaive.table.schema import Family, Kind

FORMAT = 1
FIELDS = {"format", "target", "weight", "parameters", "columns"}


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
    """

    schema: Schema
    target: str
    weight: str | None = None
    parameters: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, model: Any, target: str, weight: str | None = None) -> Plan:
        """The plan by which a fitted model would have been made."""
        default = NaiveBayesClassifier().get_params()
        given = {k: v for k, v in model.get_params().items() if repr(v) != repr(default[k])}
        given.pop("n_jobs", None)
        return cls(model.schema_, target, weight, given)

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
        if not isinstance(content, dict) or content.keys() != FIELDS:
            raise ValueError(f"it must have {', '.join(sorted(FIELDS))}, and nothing else.")
        if content["format"] != FORMAT:
            raise ValueError(f"it has the format {content['format']!r}, not {FORMAT}.")
        columns = tuple(_column(node) for node in content["columns"])
        schema = Schema(columns, named=True)
        schema.check()
        target, weight, parameters = (content[k] for k in ("target", "weight", "parameters"))
        if not isinstance(target, str) or not isinstance(weight, (str, type(None))):
            raise ValueError("target and weight must be names of columns.")
        if target in schema.names:
            raise ValueError(f"the target {target!r} is among the columns to learn from.")
        plan = cls(schema, target, weight, dict(parameters))
        plan.estimator()._check_parameters()
        return plan

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the plan, whole or not at all."""
        columns = [{"name": c.name, "kind": c.kind, "family": c.family} for c in self.schema]
        content = {
            "format": FORMAT,
            "target": self.target,
            "weight": self.weight,
            "parameters": self.parameters,
            "columns": columns,
        }
        try:
            text = json.dumps(content, indent=1)
        except TypeError as error:
            raise ValueError(f"a parameter cannot be written as JSON: {error}.") from error
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


def _column(node: Any) -> Column:
    if not isinstance(node, dict) or node.keys() != {"name", "kind", "family"}:
        raise ValueError("every column must have name, kind and family, and nothing else.")
    if not isinstance(node["name"], str):
        raise ValueError(f"the name of a column must be text; got {node['name']!r}.")
    for key, known in (("kind", get_args(Kind)), ("family", get_args(Family))):
        if node[key] not in known:
            choices = ", ".join(known)
            raise ValueError(f"{key} of column {node['name']!r} must be one of {choices}.")
    column = Column(node["name"], node["kind"], node["family"])
    column.check()
    return column
