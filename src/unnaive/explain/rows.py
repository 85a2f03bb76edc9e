"""Why rows are predicted as they are: explanations, waterfalls, reason codes and what-if."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from unnaive.answer import Answer, Ensemble, Evidence
from unnaive.bayes import TableTerm
from unnaive.common.facts import Columns, Facts, join_columns
from unnaive.common.wording import counted, printable
from unnaive.discretize.intervals import cut_names, slot_words
from unnaive.encode import Bins, Categories
from unnaive.encode.coders import column_slots
from unnaive.explain.model import (
    ModelParts,
    State,
    find_label,
    label_names,
    pair_name,
    parts_of,
    read_model,
)
from unnaive.explain.trees import path_to
from unnaive.table import Block, Schema
from unnaive.table.block import KeptBlock
from unnaive.table.columns import as_objects, is_missing
from unnaive.table.output import Lines, Tabular
from unnaive.table.records import taken

CELLS = 1 << 22  # numbers of evidence that are held at a time
Coder: TypeAlias = Bins | Categories | None
Texts: TypeAlias = NDArray[np.object_]  # of each row


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Explanation(Facts):
    """Why a row is predicted as it is.

    Attributes
    ----------
    features : tuple of str
        Names of the columns, then of pairs of columns and of members that have no columns.
    values : tuple of str
        The row's values as text.
    states : tuple of {"missing", "value", "unseen"}
    classes : array
    probabilities : array of shape (classes,)
        `predict_proba` of the row.
    weights : array of shape (features, classes)
        Weight of evidence; of models that vote, the mean over members.
    evidence : Evidence
        Of this row: a baseline and contributions that add up, also of every member.
    path : tuple of int
        The nodes from the root to where the row stops, in a tree.
    conditions : tuple of str
        The test that leads to each of these nodes; "" at the root.
    """

    features: tuple[str, ...]
    values: tuple[str, ...]
    states: tuple[State, ...]
    classes: NDArray[Any]
    probabilities: NDArray[np.float64]
    weights: NDArray[np.float64]
    evidence: Evidence
    path: tuple[int, ...]
    conditions: tuple[str, ...]

    @property
    def predicted(self) -> Any:
        """The most probable class."""
        return self.classes[self.probabilities.argmax()]

    def _columns(self) -> Columns:
        """Return a line for each column by its strongest evidence, the strongest first."""
        order = np.argsort(-np.abs(self.weights).max(axis=1), kind="stable").tolist()
        best = np.abs(self.weights).argmax(axis=1)
        names = label_names(self.classes)
        return {
            "column": [self.features[k] for k in order],
            "value": [self.values[k] for k in order],
            "state": [self.states[k] for k in order],
            "class": [names[best[k]] for k in order],
            "evidence": [float(self.weights[k, best[k]]) for k in order],
        }

    def _title(self) -> str:
        answer = ", ".join(
            f"{name} {p:.3f}"
            for name, p in zip(label_names(self.classes), self.probabilities, strict=True)
        )
        return printable(f"Explanation: {answer}")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Reasons(Facts):
    """The values of each row with most evidence for a class, the strongest first.

    Attributes
    ----------
    features : tuple of str
        The columns, then pairs of columns and members that have no columns.
    labels : array of shape (rows,)
        The class that each row's reasons speak for.
    bars : array of shape (rows, top)
        Number of the column in ``features``; -1 where a row has no more reasons.
    evidence : array of shape (rows, top)
        Weight of evidence for the class against all others; in a tree of classes, what the tests
        on the column add to its probability.
    values, words : arrays of str of shape (rows, top)
        The row's value, and the reason in words; "" where there is none.
    """

    features: tuple[str, ...]
    labels: NDArray[Any]
    bars: NDArray[np.intp]
    evidence: NDArray[np.float64]
    values: NDArray[np.object_]
    words: NDArray[np.object_]

    def __len__(self) -> int:
        return len(self.bars)

    def joined(self, others: Sequence[Reasons]) -> Reasons:
        """Return these reasons, then those of other rows by the same model."""
        every = [self, *others]
        names = ("labels", "bars", "evidence", "values", "words")
        arrays = [np.concatenate([getattr(each, name) for each in every]) for name in names]
        return Reasons(self.features, *arrays)

    def lines(self) -> Lines:
        """Return a line for each row: ``reason_for``, and of each reason ``reason_1`` (in words),
        ``reason_1_column``, ``reason_1_value`` and ``reason_1_evidence``.
        """
        columns: dict[str, NDArray[Any]] = {"reason_for": self.labels}
        names = np.array([*self.features, ""], dtype=object)[self.bars]
        parts = {"": self.words, "_column": names, "_value": self.values}
        for k in range(self.bars.shape[1]):
            for part, each in {**parts, "_evidence": self.evidence}.items():
                columns[f"reason_{k + 1}{part}"] = each[:, k].copy()
        return Lines(columns)

    def _columns(self) -> Columns:
        rows, ranks = np.nonzero(self.bars >= 0)
        return {
            "row": rows,
            "rank": ranks + 1,
            "column": np.array(self.features, dtype=object)[self.bars[rows, ranks]],
            "value": self.values[rows, ranks],
            "evidence": self.evidence[rows, ranks],
            "words": self.words[rows, ranks],
        }

    def _title(self) -> str:
        return f"Reasons of {counted(len(self), 'row')}, at most {self.bars.shape[1]} each"


@overload
def explain_rows(
    model: Any, X: Any, *, top: None = None, label: Any = None
) -> list[Explanation]: ...
@overload
def explain_rows(model: Any, X: Any, *, top: int, label: Any = None) -> Reasons: ...
def explain_rows(
    model: Any, X: Any, *, top: int | None = None, label: Any = None
) -> list[Explanation] | Reasons:
    """Explain why each row of a table is predicted as it is.

    Parameters
    ----------
    model : fitted classifier
    X : table of shape (n_samples, n_features)
        The rows to explain.
    top : int or None, default=None
        Only the strongest reasons of each row, so many, as one table: for many rows.
    label : Any, default=None
        The class that these reasons speak for; None is the predicted one of each row.

    Returns
    -------
    list of Explanation, or Reasons where ``top`` is given
        The reasons of a row are the values with most evidence for the class. Of models that vote,
        evidence is the mean of their members by share; of trees, that of the node where a row
        stops. Rows on Dask or Spark get a table of the same kind that is computed when it is asked
        for: with ``top`` a line for each row, with ``reason_1``, ``reason_2`` and so on; without it
        a line for each column, the table of an `Explanation`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from unnaive import NaiveBayesClassifier
    >>> from unnaive.explain import explain_rows
    >>> X, y = load_iris(return_X_y=True)
    >>> model = NaiveBayesClassifier().fit(X, y)
    >>> why = explain_rows(model, X[:1])[0]
    >>> why.values
    ('5.1', '3.5', '1.4', '0.2')
    >>> bool(np.allclose(why.evidence.total(), model.predict_joint_log_proba(X[:1])))
    True
    >>> explain_rows(model, X[[0, 70]], top=2)
    Reasons of 2 rows, at most 2 each
    row  rank  column  value  evidence  words
      0     1  x2        1.4     4.615  x2 at most 2.45: for 0
      0     2  x3        0.2     4.615  x3 at most 0.8: for 0
      1     1  x3        1.8     3.818  x3 above 1.75: for 2
      1     2  x2        4.8     2.649  x2 above 4.75: for 2
    """
    read = read_model(model)
    if top is not None:
        if not (isinstance(top, (int, np.integer)) and top >= 1):
            raise ValueError(f"top must be a whole number, 1 or more; got {top!r}.")
        number = None if label is None else find_label(read.classes, label, "label")
        n_jobs = getattr(read.model, "n_jobs", None)
        # Only the answer is sent to workers.
        ask = partial(_reasons, read.answer, top=int(top), label=number, n_jobs=n_jobs)
        reasons: Reasons = read.source(X).map(Tabular(ask, Reasons.lines))
        return reasons
    if label is not None:
        raise ValueError("label goes with top: explanations hold the evidence for every class.")
    explain = Tabular(partial(_explanations, read.answer), _lines)
    explanations: list[Explanation] = read.source(X).map(explain)
    return explanations


def chunks(answer: Answer, block: KeptBlock) -> Iterator[tuple[slice, KeptBlock]]:
    """Yield the rows of a block in chunks whose evidence fits in memory."""
    size = 64  # rows, whatever they hold
    if block.n_rows > size:
        size = max(1, CELLS // _count_numbers(answer.evidence(block.slice(0, 1))))
    for start in range(0, block.n_rows, size):
        yield slice(start, start + size), block.slice(start, start + size)


def _count_numbers(why: Evidence) -> int:
    return why.contributions.size + sum(map(_count_numbers, why.members))


def feature_names(schema: Schema, names: Sequence[Any]) -> tuple[str, ...]:
    """Return the names of columns and pairs of `Evidence` as text."""
    labels = {name: schema.label(j) for j, name in enumerate(schema.names)}
    return tuple(
        pair_name(labels[name[0]], labels[name[1]])
        if isinstance(name, tuple) and name not in labels
        else labels.get(name, str(name))
        for name in names
    )


def _explanations(answer: Answer, block: Block) -> list[Explanation]:
    kept, schema, explanations = KeptBlock(block), block.schema, []
    tree, coders = answer.tree, _coders(answer)
    value: State = "value"
    for _, rows in chunks(answer, kept):
        probabilities, why = answer.probabilities(rows), answer.evidence(rows)
        names, weights = why.weights()
        features = feature_names(schema, names)
        texts, states = _values(rows, coders)
        for name in names[len(schema) :]:
            text, state = [""] * rows.n_rows, [value] * rows.n_rows
            if isinstance(name, tuple):
                a, b = map(schema.names.index, name)
                text = [f"{x}, {y}" for x, y in zip(texts[a], texts[b], strict=True)]
                worst = ("value", "unseen", "missing").index
                state = [max(*both, key=worst) for both in zip(states[a], states[b], strict=True)]
            texts.append(text)
            states.append(state)
        stops = _within(why)[0].node
        for i in range(rows.n_rows):
            path: tuple[tuple[int, ...], tuple[str, ...]] = ((), ())
            if tree is not None and stops is not None:
                path = path_to(tree, int(stops[i]), schema)
            explanations.append(
                Explanation(
                    features,
                    tuple(column[i] for column in texts),
                    tuple(column[i] for column in states),
                    answer.classes,
                    probabilities[i],
                    weights[i],
                    taken(why, np.array([i])),
                    *path,
                )
            )
    return explanations


def _within(why: Evidence) -> tuple[Evidence, NDArray[np.intp] | None]:
    """Return the evidence of what is calibrated or folded to classes, and the class number of each
    of its outputs, if these are clusters.
    """
    owner = None
    while len(why.members) == 1:
        if why.class_index is not None:
            owner = why.class_index if owner is None else owner[why.class_index]
        why = why.members[0]
    return why, owner


def _lines(explanations: list[Explanation]) -> Lines:
    """Return the tables of explanations, one below the other."""
    tables = [explanation._columns() for explanation in explanations]
    columns = {f"explanation_{name}": values for name, values in join_columns(tables).items()}
    arrays = {
        name: np.array(values, float if name == "explanation_evidence" else object)
        for name, values in columns.items()
    }
    return Lines(arrays, np.repeat(np.arange(len(tables)), [len(t["column"]) for t in tables]))


# Waterfalls --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Waterfall(Facts):
    """Bars that lead from a baseline to a total, the longest first.

    Attributes
    ----------
    title : str
        The part that is shown; "" for the whole model.
    label, against : str
        The class of the bars, and the one it is compared with; "" where they are probabilities.
    unit : {"log odds", "probability"}
    start, total : float
        ``start`` and all ``bars`` add up to ``total``.
    names, values : tuples of str
        Of each bar: a column and the row's value, or a member and its prediction.
    bars : array
    answer : str
    probability : float
        The class, and its probability by the whole model.
    """

    title: str
    label: str
    against: str
    unit: str
    start: float
    total: float
    names: tuple[str, ...]
    values: tuple[str, ...]
    bars: NDArray[np.float64]
    answer: str
    probability: float

    def _columns(self) -> Columns:
        return {
            "name": ("start", *self.names),
            "value": ("", *self.values),
            "bar": np.concatenate(([self.start], self.bars)),
            "total": np.cumsum(np.concatenate(([self.start], self.bars))),
        }

    def _title(self) -> str:
        against = f" against {self.against}" if self.against else ""
        return f"{self.unit} of {self.label}{against}: P({self.answer}) = {self.probability:.3f}"


def waterfall_of(
    row: Explanation, label: Any = None, against: Any = None, piece: str | None = None
) -> Waterfall:
    """Return a row's bars for a class, the longest first.

    Parameters
    ----------
    row : Explanation
        From `explain_rows`.
    label : Any, default=None
        The class that bars are for; None is the predicted one.
    against : Any, default=None
        The class that it is compared with; None is the most probable other one.
    piece : str or None, default=None
        Where several members answer for the row, the name of the one whose columns are shown. By
        default, bars are what each member adds to the answer.

    Returns
    -------
    Waterfall
        Of log odds where scores add up, as in naive Bayes; of probabilities in trees of classes
        and means of members.
    """
    c = int(row.probabilities.argmax())
    if label is not None:
        c = find_label(row.classes, label, "label")
    (why, owner), is_gate = _within(row.evidence), False
    if piece is not None:
        names = why.member_names
        if piece not in names:
            raise ValueError(
                f"piece {piece!r} is not among the parts that answer for the row: "
                f"{', '.join(names[:10])}."
            )
        k = names.index(piece)
        is_gate = k < why.n_gates
        why, inner = _within(why.members[k])
        owner = inner if owner is None else owner
    labels, features, values = label_names(why.classes), row.features, row.values
    if why.members:
        features = tuple(str(term) for term in why.terms)
        values = tuple(_said(member) for member in why.members[why.n_gates :])
    start, bars, rival, unit = 0.0, np.zeros(len(features)), "", "log odds"
    if why.link == "softmax":
        a, b = _two_labels(why, owner, row.classes, c, against, is_gate)
        said = labels[a]
        if b is not None:
            bars, rival = why.contributions[0, :, a] - why.contributions[0, :, b], labels[b]
            start = float(why.baseline[0, a] - why.baseline[0, b])
    else:
        said, unit = label_names(row.classes)[c], "probability"
        own = np.arange(len(labels)) == c if owner is None else owner == c
        start = float(why.baseline[0, own].sum())
        bars = why.contributions[0][:, own].sum(axis=1)
        change = float(row.probabilities[c]) - start - float(bars.sum())
        if piece is None and abs(change) > 1e-9:
            features, values = (*features, "calibration"), (*values, "")
            bars = np.append(bars, change)
    order = np.argsort(-np.abs(bars), kind="stable")
    return Waterfall(
        piece or "",
        said,
        rival,
        unit,
        start,
        start + float(bars.sum()),
        tuple(features[k] for k in order),
        tuple(values[k] for k in order),
        bars[order],
        label_names(row.classes)[c],
        float(row.probabilities[c]),
    )


def _said(member: Evidence) -> str:
    """Return the prediction of a member in words."""
    p = member.probabilities()[0]
    return f"{label_names(member.classes)[int(p.argmax())]}, {p.max():.0%}"


def _two_labels(
    why: Evidence,
    owner: NDArray[np.intp] | None,
    classes: NDArray[Any],
    c: int,
    against: Any,
    is_gate: bool,
) -> tuple[int, int | None]:
    """Return the most probable labels for a class and for the one it is compared with."""
    total = why.total()[0]
    if is_gate:  # predicts experts, not classes
        order = np.argsort(-total, kind="stable").tolist()
        return order[0], order[1] if len(order) > 1 else None
    own = np.arange(len(classes)) if owner is None else owner
    if len(classes) < 2:
        return int(total.argmax()), None
    others = own != c
    if against is not None:
        rival = find_label(classes, against, "against")
        if rival == c:
            raise ValueError(f"label and against are both {against!r}: give two classes.")
        others = own == rival
    best = np.where(own == c, total, -np.inf).argmax()
    return int(best), int(np.where(others, total, -np.inf).argmax())


# Reason codes ------------------------------------------------------------------------------------


def _reasons(
    answer: Answer, block: Block, top: int, label: int | None, n_jobs: int | None
) -> Reasons:
    """Return the strongest reasons of each row, for a class or for the predicted one."""
    kept, n = KeptBlock(block), block.n_rows
    chosen = np.full(n, label)
    if label is None:
        chosen = answer.probabilities(kept, n_jobs).argmax(axis=1)
    names: list[Any] = []
    bars, evidence = [], []
    for rows, part in chunks(answer, kept):
        names, weights = answer.evidence(part, n_jobs).weights()
        strength = weights[np.arange(part.n_rows), :, chosen[rows]]
        at, most = strongest(strength, min(top, len(names)))
        bars.append(at)
        evidence.append(most)
    found = np.concatenate(bars)
    values, words = np.full((2, *found.shape), "", dtype=object)
    coders, classes = _coders(answer), label_names(answer.classes)
    endings = np.array([f": for {name}" for name in classes], dtype=object)
    for j in np.unique(found[found >= 0]).tolist():
        at, rank = np.nonzero(found == j)
        text, phrase = _bar_texts(answer, kept.take(at), coders, names, j)
        values[at, rank], words[at, rank] = text, phrase + endings[chosen[at]]
    features = feature_names(block.schema, names)
    return Reasons(features, answer.classes[chosen], found, np.concatenate(evidence), values, words)


def strongest(
    strength: NDArray[np.float64], top: int
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return the greatest numbers above 0 of each row, and where they are; -1 where there are no
    more. Of equal ones the first comes first.
    """
    rows, left = np.arange(len(strength)), strength.copy()
    bars, most = np.empty((len(rows), top), np.intp), np.empty((len(rows), top))
    for k in range(top):
        at = left.argmax(axis=1)
        most[:, k] = np.maximum(left[rows, at], 0.0)
        bars[:, k] = np.where(most[:, k] > 0.0, at, -1)
        left[rows, at] = -np.inf
    return bars, most


def _coders(answer: Answer) -> list[Coder]:
    """Return how the columns are numbered by the model, or by its main component."""
    if isinstance(answer.core, Ensemble) and answer.core.stack is None:
        return [None] * len(answer.schema)
    parts = parts_of(answer.core, answer.labels)
    terms = parts.part(parts.main).scorer.terms
    return [term.coder if isinstance(term, TableTerm) else None for term in terms]


def _bar_texts(
    answer: Answer, block: KeptBlock, coders: Sequence[Coder], names: Sequence[Any], j: int
) -> tuple[Texts, Texts]:
    """Return the values of some rows behind a contribution, and the same in words."""
    schema = block.schema
    if j < len(schema):
        return _value_texts(block, j, 12), _phrases(block, j, coders[j])
    if not isinstance(names[j], tuple):
        member = np.full(block.n_rows, str(names[j]), dtype=object)
        return member, member
    a, b = map(schema.names.index, names[j])
    own = {(pair.first, pair.second): pair.columns for pair in answer.pairs}
    columns = own.get((a, b), ((a, None), (b, None)))
    first, second = (_value_texts(block, i, 12) for i, _ in columns)
    one, two = (_phrases(block, i, coder) for i, coder in columns)
    return first + ", " + second, one + " and " + two


def _values(block: KeptBlock, coders: Sequence[Coder]) -> tuple[list[list[str]], list[list[State]]]:
    """Return the values as text and their states, column by column."""
    texts, states = [], []
    for j, coder in enumerate(coders):
        text = _value_texts(block, j, 6)
        missing = text == "missing"
        if block.schema[j].kind == "categorical":
            raw = block.categorical(j)
            missing = np.array([True, *map(is_missing, raw.values)])[raw.slots]
        unseen = np.zeros(block.n_rows, dtype=bool)
        if coder is not None:
            unseen = column_slots(block, j, coder) > coder.size
        texts.append(text.tolist())
        states.append(np.where(missing, "missing", np.where(unseen, "unseen", "value")).tolist())
    return texts, states


def _value_texts(block: KeptBlock, j: int, digits: int, prefix: str = "") -> Texts:
    """Return the values of a column as text, which other rows do not change, after a prefix."""
    column = block.schema[j]
    slots, words = np.zeros(block.n_rows, np.intp), ["missing"]
    if column.kind == "categorical":
        raw = block.categorical(j)
        slots = raw.slots.astype(np.intp)
        words += ["missing" if is_missing(value) else str(value) for value in raw.values]
    elif column.kind == "numeric":
        distinct, slots = np.unique(block.numeric(j), return_inverse=True)  # one NaN, at the end
        there = distinct[~np.isnan(distinct)]
        if column.family == "number":
            words = [*(f"{value:.{digits}g}" for value in there.tolist()), "missing"]
        else:
            words = [*(cut_names(one, column)[0] for one in there[:, None]), "missing"]
    return np.array([prefix + word for word in words], dtype=object)[slots.ravel()]


def _phrases(block: KeptBlock, j: int, coder: Coder) -> Texts:
    """Return the column and its interval or value in words, row by row."""
    name = block.schema.label(j)
    if isinstance(coder, Bins) and coder.size > 1:
        texts = ["is missing", *slot_words(coder, block.schema[j])[1:]]
        phrases = np.array([f"{name} {text}" for text in texts], dtype=object)
        return phrases[column_slots(block, j, coder)]
    return _value_texts(block, j, 12, f"{name} is ")


# What if -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class WhatIf(Facts):
    """Explanations of a row before and after a change.

    Attributes
    ----------
    before, after : Explanation
    changed : tuple of str
        The columns that differ.
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


def what_if(model: Any, row: Any, changes: Mapping[Any, Any]) -> WhatIf:
    """Explain a row as it is, and with other values.

    Parameters
    ----------
    model : fitted classifier
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
    read = read_model(model)
    block = read.block(row)
    if block.n_rows != 1:
        raise ValueError(f"row must be a table with one row; got {block.n_rows}.")
    new = {_find_column(read, name): as_objects([value]) for name, value in changes.items()}
    explain = partial(_explanations, read.answer)
    after = read.model._open(block.with_columns(new)).map(explain)
    return WhatIf(explain(block)[0], after[0], tuple(read.schema.label(j) for j in new))


def _find_column(read: ModelParts, column: Any) -> int:
    """Return the position of a column, given by name or position."""
    names = read.schema.names
    if column in names:
        return names.index(column)
    if isinstance(column, (int, np.integer)) and 0 <= column < len(names):
        return int(column)
    raise ValueError(f"there is no column {column!r}; the table has {names[:10]}.")
