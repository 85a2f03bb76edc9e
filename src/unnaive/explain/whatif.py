"""What-if questions: the prediction of a row with other values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.common.facts import Columns, Facts
from unnaive.common.wording import counted
from unnaive.explain.evidence import evidence_of
from unnaive.explain.parts import Reading, label_names
from unnaive.explain.readings import read_model
from unnaive.explain.rows import Explanation, explain_rows
from unnaive.table import Block
from unnaive.table.codes import as_objects


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class WhatIf(Facts):
    """Explanations of a row before and after a change.

    Attributes
    ----------
    before, after : Explanation
    changed : tuple of str
        The attributes that differ.
    """

    before: Explanation
    after: Explanation
    changed: tuple[str, ...]

    @property
    def difference(self) -> NDArray[np.float64]:
        """Change of the probability of each class."""
        return self.after.probabilities - self.before.probabilities

    def _columns(self) -> Columns:
        return {
            "class": label_names(self.before.classes),
            "before": self.before.probabilities,
            "after": self.after.probabilities,
            "difference": self.difference,
        }

    def _title(self) -> str:
        names = ", ".join(self.changed) or "nothing"
        return f"{names} changed: {self.before.predicted} -> {self.after.predicted}"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Variation(Facts):
    """Predictions of a row with one attribute at each of several values.

    Attributes
    ----------
    attribute : str
    values : tuple of str
        Names of the values.
    raw : tuple
        The values themselves.
    classes : array
    probabilities : array of shape (values, classes)
    """

    attribute: str
    values: tuple[str, ...]
    raw: tuple[Any, ...]
    classes: NDArray[Any]
    probabilities: NDArray[np.float64]

    def _columns(self) -> Columns:
        names = (f"probability_{name}" for name in label_names(self.classes))
        return {"value": self.values, **dict(zip(names, self.probabilities.T, strict=True))}

    def _title(self) -> str:
        return f"Probabilities by {self.attribute!r}: {counted(len(self.values), 'value')}"


def what_if(model: Any, row: Any, changes: Mapping[Any, Any]) -> WhatIf:
    """Explain a row as it is, and with other values.

    Parameters
    ----------
    model : fitted classifier, or a `Reading` of one
    row : table with one row
    changes : mapping
        From columns, by name or position, to new values; None is missing.

    Returns
    -------
    WhatIf

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from unnaive import NaiveBayesClassifier
    >>> from unnaive.explain import what_if
    >>> data = load_iris(as_frame=True)
    >>> model = NaiveBayesClassifier().fit(data.data, data.target_names[data.target])
    >>> changes = {"petal width (cm)": 2.0, "sepal width (cm)": None}
    >>> answer = what_if(model, data.data[50:51], changes)
    >>> print(answer.before.predicted, "->", answer.after.predicted)
    versicolor -> virginica
    """
    reading = read_model(model)
    block = _one_row(reading, row)
    new = {find_column(reading, name): as_objects([value]) for name, value in changes.items()}
    after = explain_rows(reading, block.with_columns(new))[0]
    changed = tuple(reading.schema.label(j) for j in new)
    return WhatIf(explain_rows(reading, row)[0], after, changed)


def vary(model: Any, row: Any, column: Any, values: Sequence[Any] | None = None) -> Variation:
    """Probabilities of a row with one attribute at each of several values.

    Parameters
    ----------
    model : fitted classifier, or a `Reading` of one
    row : table with one row
    column : Any
        The attribute, by name or position.
    values : sequence or None, default=None
        Values to try; None is missing. By default those of the model's main part: missing, its
        categories, a number in each interval, points over the range of a density.

    Returns
    -------
    Variation

    Examples
    --------
    >>> from unnaive import NaiveBayesClassifier
    >>> from unnaive.explain import vary
    >>> model = NaiveBayesClassifier().fit([["a"], ["a"], ["b"], ["b"]], [0, 0, 1, 0])
    >>> variation = vary(model, [["a"]], 0)
    >>> variation.values
    ('missing', 'a', 'b')
    >>> variation.probabilities[:, 1].round(3).tolist()
    [0.25, 0.118, 0.4]
    """
    reading = read_model(model)
    j, one_row = find_column(reading, column), _one_row(reading, row)
    if values is None:
        names, raw = _default_values(reading, j)
    else:
        raw = tuple(values)
        names = tuple("missing" if value is None else str(value) for value in raw)
    table = one_row.take(np.zeros(len(raw), dtype=np.intp)).with_columns({j: as_objects(raw)})
    probabilities = reading.answer.probabilities(reading.block(table))
    return Variation(reading.schema.label(j), names, raw, reading.classes, probabilities)


def find_column(reading: Reading, column: Any) -> int:
    """Position of a column, given by name or position."""
    names = reading.schema.names
    if column in names:
        return names.index(column)
    if isinstance(column, (int, np.integer)) and 0 <= column < len(names):
        return int(column)
    raise ValueError(f"there is no column {column!r}; the table has {names[:10]}.")


def _default_values(reading: Reading, j: int) -> tuple[tuple[str, ...], tuple[Any, ...]]:
    """Names and values of an attribute in the main part."""
    attribute = evidence_of(reading).attributes[j]
    kept = [
        v
        for v, state in enumerate(attribute.states)
        if state != "unseen" and attribute.form != "nothing"
    ]
    if not kept:
        raise ValueError(
            f"the model's main part has no evidence of {attribute.name!r}; pass values=."
        )
    return tuple(attribute.values[v] for v in kept), tuple(attribute.raw[v] for v in kept)


def _one_row(reading: Reading, row: Any) -> Block:
    block = reading.block(row)
    if block.n_rows != 1:
        raise ValueError(f"row must be a table with one row; got {block.n_rows}.")
    return block
