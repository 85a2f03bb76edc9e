"""Explanations of rows: evidence that adds up to the prediction, part by part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from unnaive.answer import Answer
from unnaive.bayes import TableTerm
from unnaive.bayes.evidence import add_bars, weigh
from unnaive.common.facts import Columns, Facts, join_columns
from unnaive.common.wording import counted, printable
from unnaive.encode.coding import column_slots
from unnaive.explain.attributes import State
from unnaive.explain.pairs import pair_name
from unnaive.explain.parts import Combiner, Part, Reading, find_label, label_names
from unnaive.explain.readings import read_answer, read_model
from unnaive.explain.reasons import Reasons, check_top, reasons_of, value_names
from unnaive.explain.tree import Step, path_to
from unnaive.table import Block
from unnaive.table.answers import Lines, Tabular
from unnaive.table.codes import is_missing
from unnaive.table.kept import KeptBlock

ROWS = 1024  # rows explained at a time
DIGITS = 6  # of the row's numbers


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Piece(Facts):
    """The evidence of one part of the model for a row.

    Attributes
    ----------
    part, role : str
        Name and role of the part; see `Part`.
    number : int
        Of the part in the model.
    share : float
        Its share in the answer for the row: 1 for a model alone or the node of a tree, the weight
        of a vote, a responsibility.
    labels : array
    names : tuple of str
        The labels as text.
    baseline : array of shape (labels,)
    bars : array of shape (attributes, labels)
        Log P(value | label), in the order of the columns.
    weights : array of shape (attributes, labels)
        Log P(value | label) - log P(value | others).
    """

    part: str
    role: str
    number: int
    share: float
    labels: NDArray[Any]
    names: tuple[str, ...]
    baseline: NDArray[np.float64]
    bars: NDArray[np.float64]
    weights: NDArray[np.float64]

    @property
    def joint(self) -> NDArray[np.float64]:
        """Joint log probability: the baseline plus all bars, in the order of the scorer."""
        return add_bars(self.baseline, self.bars)

    def _columns(self) -> Columns:
        n_bars, n_labels = self.bars.shape
        return {
            "bar": np.repeat(np.arange(n_bars), n_labels),
            "class": list(self.names) * n_bars,
            "log_probability": self.bars.ravel(),
            "evidence": self.weights.ravel(),
        }

    def _title(self) -> str:
        return f"{self.part}: share {self.share:.3g}, {counted(len(self.bars), 'bar')}"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Explanation(Facts):
    """Why a row is predicted as it is.

    Where one part answers, its ``joint`` is the row's ``predict_joint_log_proba``. In general
    ``answer()`` combines the pieces to the probabilities of the classes.

    Attributes
    ----------
    features : tuple of str
        Names of the attributes, in the order of the columns.
    values : tuple of str
        The row's values as text.
    states : tuple of {"missing", "value", "unseen"}
    classes : array
    probabilities : array of shape (classes,)
        `predict_proba` of the row.
    pieces : tuple of Piece
        The parts that answer for the row, and the gates that set the experts' responsibilities.
    combiner : Combiner
        How the pieces make the answer: the mean of their probabilities weighted by share, the
        shares of the votes for each class, or the softmax of the sum of the votes.
    path : tuple of Step
        From the root to where the row stops, in a tree.
    """

    features: tuple[str, ...]
    values: tuple[str, ...]
    states: tuple[State, ...]
    classes: NDArray[Any]
    probabilities: NDArray[np.float64]
    pieces: tuple[Piece, ...]
    combiner: Combiner
    path: tuple[Step, ...]

    @property
    def predicted(self) -> Any:
        """The most probable class."""
        return self.classes[self.probabilities.argmax()]

    @property
    def class_pieces(self) -> tuple[Piece, ...]:
        """The pieces that predict classes: all but gates."""
        return tuple(piece for piece in self.pieces if piece.role != "gate")

    def answer(self) -> NDArray[np.float64]:
        """Probabilities of the classes, combined from the pieces."""
        pieces = self.class_pieces
        return self.combiner.combine([p.share for p in pieces], [p.joint for p in pieces])

    def _columns(self) -> Columns:
        """A line for each attribute of each part that answers, by its strongest evidence."""
        lines = [
            (piece, k, int(np.abs(piece.weights[k]).argmax()))
            for piece in self.class_pieces
            for k in np.argsort(-np.abs(piece.weights).max(axis=1), kind="stable")
        ]
        return {
            "part": [piece.part for piece, _, _ in lines],
            "share": [piece.share for piece, _, _ in lines],
            "column": [self.features[k] for _, k, _ in lines],
            "value": [self.values[k] for _, k, _ in lines],
            "state": [self.states[k] for _, k, _ in lines],
            "class": [piece.names[c] for piece, _, c in lines],
            "evidence": [float(piece.weights[k, c]) for piece, k, c in lines],
        }

    def _title(self) -> str:
        answer = ", ".join(
            f"{name} {p:.3f}"
            for name, p in zip(label_names(self.classes), self.probabilities, strict=True)
        )
        return printable(f"Explanation: {answer}")


@overload
def explain_rows(
    model: Any, X: Any, *, top: None = None, label: Any = None
) -> list[Explanation]: ...
@overload
def explain_rows(model: Any, X: Any, *, top: int, label: Any = None) -> Reasons: ...
def explain_rows(
    model: Any, X: Any, *, top: int | None = None, label: Any = None
) -> list[Explanation] | Reasons:
    """Why each row of a table is predicted as it is.

    Parameters
    ----------
    model : fitted classifier, or a `Reading` of one
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
        evidence is the mean of their parts by share; of trees, that of the node where a row stops.
        Rows on Dask or Spark get a table of the same kind that is computed when it is asked for:
        with ``top`` a line for each row, with ``reason_1``, ``reason_2`` and so on; without it a
        line for each attribute of each part, the table of an `Explanation`.

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
    >>> bool(np.allclose(why.pieces[0].joint, model.predict_joint_log_proba(X[:1])[0]))
    True
    >>> explain_rows(model, X[[0, 70]], top=2)
    Reasons of 2 rows, at most 2 each
    row  rank  column  value  evidence  words
      0     1  x2        1.4     4.615  x2 at most 2.45: for 0
      0     2  x3        0.2     4.615  x3 at most 0.8: for 0
      1     1  x3        1.8     3.818  x3 above 1.75: for 2
      1     2  x2        4.8     2.649  x2 above 4.75: for 2
    """
    reading = read_model(model)
    if top is not None:
        check_top(top)
        number = None if label is None else find_label(reading.classes, label, "label")
        n_jobs = getattr(reading.model, "n_jobs", None)
        ask = partial(_reasons, reading.answer, top=top, label=number, n_jobs=n_jobs)
        reasons: Reasons = reading.source(X).map(Tabular(ask, Reasons.lines))
        return reasons
    if label is not None:
        raise ValueError("label goes with top: explanations hold the evidence for every class.")
    question = Tabular(partial(_explanations, reading.answer), _lines)
    explanations: list[Explanation] = reading.source(X).map(question)
    return explanations


# Only the answer is sent to workers, and read there.


def _reasons(
    answer: Answer, block: Block, top: int, label: int | None, n_jobs: int | None
) -> Reasons:
    return reasons_of(read_answer(answer), block, top, label, n_jobs)


def _explanations(answer: Answer, block: Block) -> list[Explanation]:
    reading, kept = read_answer(answer), KeptBlock(block)
    probabilities = answer.probabilities(kept)
    explanations: list[Explanation] = []
    for start in range(0, kept.n_rows, ROWS):
        part = kept.slice(start, start + ROWS)
        explanations += _explain(reading, part, probabilities[start : start + ROWS])
    return explanations


def _lines(explanations: list[Explanation]) -> Lines:
    """The tables of explanations, one below the other."""
    tables = [explanation._columns() for explanation in explanations]
    columns = {f"explanation_{name}": values for name, values in join_columns(tables).items()}
    numbers = {"explanation_share", "explanation_evidence"}
    arrays = {n: np.array(v, float if n in numbers else object) for n, v in columns.items()}
    return Lines(arrays, np.repeat(np.arange(len(tables)), [len(t["part"]) for t in tables]))


def _explain(
    reading: Reading, block: KeptBlock, probabilities: NDArray[np.float64]
) -> list[Explanation]:
    pieces: list[list[Piece]] = [[] for _ in range(block.n_rows)]
    stops = np.zeros(block.n_rows, dtype=np.intp)
    unseen = np.zeros((block.n_rows, len(block.schema)), dtype=bool)
    for active in reading.active_parts(block):
        part, rows = reading.part(active.part), block.take(active.rows)
        bars = part.scorer.evidence(rows)
        weights = weigh(bars, part.scorer.log_prior)
        unseen[active.rows] |= _unseen(part, rows)
        stops[active.rows] = active.part
        names = label_names(part.labels)
        for k, row in enumerate(active.rows):
            pieces[row].append(
                Piece(
                    part.name,
                    part.role,
                    active.part,
                    float(active.share[k]),
                    part.labels,
                    names,
                    part.scorer.log_prior,
                    bars[k],
                    weights[k],
                )
            )
    texts, gone = _texts(block)
    features = [block.schema.label(j) for j in range(len(block.schema))]
    states: list[list[State]] = [
        [
            "missing" if gone[i, j] else "unseen" if unseen[i, j] else "value"
            for j in range(len(features))
        ]
        for i in range(block.n_rows)
    ]
    _add_extra_bars(reading.answer.extra_bars, features, texts, states)
    tree = reading.tree
    return [
        Explanation(
            tuple(features),
            tuple(column[i] for column in texts),
            tuple(states[i]),
            reading.classes,
            probabilities[i],
            tuple(pieces[i]),
            reading.combiner,
            path_to(tree, int(stops[i]), reading.schema)
            if tree is not None and len(pieces[i]) == 1
            else (),
        )
        for i in range(block.n_rows)
    ]


def _add_extra_bars(
    bars: Sequence[tuple[int, int] | str],
    features: list[str],
    texts: list[list[str]],
    states: list[list[State]],
) -> None:
    """Names, values and states (OUT) of bars after those of the columns."""
    n_rows = len(states)
    for bar in bars:
        if isinstance(bar, str):  # a member of a pool
            features.append(bar)
            texts.append([""] * n_rows)
            for row in states:
                row.append("value")
            continue
        a, b = bar
        features.append(pair_name(features[a], features[b]))
        texts.append([f"{x}, {y}" for x, y in zip(texts[a], texts[b], strict=True)])
        for row in states:
            row.append(max(row[a], row[b], key=("value", "unseen", "missing").index))


def _unseen(part: Part, block: Block) -> NDArray[np.bool_]:
    """Which values the part never saw in training: rows x attributes."""
    out = np.zeros((block.n_rows, len(block.schema)), dtype=bool)
    for j, term in enumerate(part.scorer.terms):
        if isinstance(term, TableTerm):
            out[:, j] = column_slots(block, j, term.coder) > term.coder.size
    return out


def _texts(block: Block) -> tuple[list[list[str]], NDArray[np.bool_]]:
    """The values as text, column by column, and which are missing, rows x columns."""
    texts, gone = [], np.zeros((block.n_rows, len(block.schema)), dtype=bool)
    for j, column in enumerate(block.schema):
        if column.kind == "numeric":
            values = block.numeric(j)
            gone[:, j] = np.isnan(values)
            names = iter(value_names(values[~gone[:, j]], column, DIGITS))
            texts.append(["missing" if absent else next(names) for absent in gone[:, j]])
            continue
        raw = block.categorical(j)
        words = ["missing", *(str(value) for value in raw.values)]
        absent = np.array([True, *(is_missing(value) for value in raw.values)])
        slots = raw.slots
        gone[:, j] = absent[slots]
        texts.append(["missing" if absent[slot] else words[slot] for slot in slots])
    return texts, gone
