"""What if a value were another one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.explain.evidence import evidence_of
from unnaive.explain.parts import Reading
from unnaive.explain.readings import read_model
from unnaive.explain.rows import Explanation, explain_rows
from unnaive.table import Block
from unnaive.table.columns import as_objects


@dataclass(frozen=True, slots=True, eq=False)
class WhatIf:
    """A row as it is and as it might be.

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
        """By how much the probability of each class moves."""
        return self.after.probabilities - self.before.probabilities

    def __repr__(self) -> str:
        return f"WhatIf {', '.join(self.changed)} changed: {self.before} -> {self.after}"


@dataclass(frozen=True, slots=True, eq=False)
class Variation:
    """A row with one attribute at each of several values.

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

    def __repr__(self) -> str:
        return f"Variation of {self.attribute!r} over {len(self.values)} values"


def what_if(model: Any, row: Any, changes: Mapping[Any, Any]) -> WhatIf:
    """Explain a row as it is, and as it would be with other values.

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
    >>> found = what_if(model, data.data[50:51], changes)
    >>> print(found.before.predicted, "->", found.after.predicted)
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
        Values to try; None is missing. By default all that the model's main part tells apart:
        missing, its categories, a number in each interval, points over the range of a density.

    Returns
    -------
    Variation

    Examples
    --------
    >>> from unnaive import NaiveBayesClassifier
    >>> from unnaive.explain import vary
    >>> model = NaiveBayesClassifier().fit([["a"], ["a"], ["b"], ["b"]], [0, 0, 1, 0])
    >>> found = vary(model, [["a"]], 0)
    >>> found.values
    ('missing', 'a', 'b')
    >>> found.probabilities[:, 1].round(3).tolist()
    [0.25, 0.118, 0.4]
    """
    reading = read_model(model)
    j, own = find_column(reading, column), _one_row(reading, row)
    if values is None:
        names, raw = _own_values(reading, j)
    else:
        raw = tuple(values)
        names = tuple("missing" if value is None else str(value) for value in raw)
    table = own.take(np.zeros(len(raw), dtype=np.intp)).with_columns({j: as_objects(raw)})
    found = reading.answer.probabilities(reading.block(table))
    return Variation(reading.schema.label(j), names, raw, reading.classes, found)


def find_column(reading: Reading, column: Any) -> int:
    """Position of a column, given by name or position."""
    names = reading.schema.names
    if column in names:
        return names.index(column)
    if isinstance(column, (int, np.integer)) and 0 <= column < len(names):
        return int(column)
    raise ValueError(f"there is no column {column!r}; the table has {names[:10]}.")


def _own_values(reading: Reading, j: int) -> tuple[tuple[str, ...], tuple[Any, ...]]:
    """What the main part tells apart; for trees without one, what their tests do."""
    own = evidence_of(reading).attributes[j]
    kept = [v for v, state in enumerate(own.states) if state != "unseen" and own.form != "nothing"]
    if not kept:
        raise ValueError(
            f"the model's main part says nothing about {own.name!r}: pass values= to try some."
        )
    return tuple(own.values[v] for v in kept), tuple(own.raw[v] for v in kept)


def _one_row(reading: Reading, row: Any) -> Block:
    block = reading.block(row)
    if block.n_rows != 1:
        raise ValueError(f"row must be a table with one row; got {block.n_rows}.")
    return block
