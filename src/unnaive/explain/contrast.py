"""One class against another: the evidence that distinguishes them, in general and for a row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.common.facts import Columns, Facts
from unnaive.common.wording import counted
from unnaive.explain.evidence import PartEvidence, evidence_of
from unnaive.explain.parts import find_label, label_names
from unnaive.explain.rows import Explanation, Piece


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Discrimination(Facts):
    """The values that distinguish two labels, the most important first.

    Attributes
    ----------
    label, against : str
    attributes, values : tuples of str
        A value of an attribute each, or two values of a pair of attributes.
    weights : array
        Log P(value | label) - log P(value | against): above zero it favours the label.
    counts : array of shape (values, 2)
        Weight of the training rows of the two; NaN where the model keeps none.
    shares : array of shape (values, 2)
        How frequent the value is in each; of a pair, as if its attributes were independent.
    importance : array
        Mean of the two shares times the absolute weight.
    """

    label: str
    against: str
    attributes: tuple[str, ...]
    values: tuple[str, ...]
    weights: NDArray[np.float64]
    counts: NDArray[np.float64]
    shares: NDArray[np.float64]
    importance: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.values)

    def _columns(self) -> Columns:
        return {
            "column": self.attributes,
            "value": self.values,
            "evidence": self.weights,
            f"rows of {self.label}": self.counts[:, 0],
            f"rows of {self.against}": self.counts[:, 1],
            f"share of {self.label}": self.shares[:, 0],
            f"share of {self.against}": self.shares[:, 1],
            "importance": self.importance,
        }

    def _title(self) -> str:
        return f"{self.label} against {self.against}: {counted(len(self), 'value')}"


def discriminate(
    model: Any, label: Any, against: Any, part: int | str | None = None
) -> Discrimination:
    """The values that distinguish two classes.

    Parameters
    ----------
    model : fitted classifier, a `Reading` or a `PartEvidence`
    label, against : Any
        Two classes, or other labels of the part.
    part : int, str or None, default=None
        Which naive Bayes of the model; see `evidence_of`.

    Returns
    -------
    Discrimination
        Values of all attributes, by `importance`. Points of a density are among them, each for its
        neighbourhood, and so are two values of a pair that has evidence of its own.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from unnaive import NaiveBayesClassifier
    >>> from unnaive.explain import discriminate
    >>> data = load_iris(as_frame=True)
    >>> model = NaiveBayesClassifier().fit(data.data, data.target_names[data.target])
    >>> values = discriminate(model, "versicolor", "virginica")
    >>> print(values.attributes[0], values.values[0], f"{values.weights[0]:+.2f}")
    petal width (cm) above 1.75 -3.41
    """
    facts = model if isinstance(model, PartEvidence) else evidence_of(model, part)
    a, b = find_label(facts.labels, label, "label"), find_label(facts.labels, against, "against")
    if a == b:
        raise ValueError(f"label and against are both {facts.names[a]!r}: give two classes.")
    names: list[str] = []
    values: list[str] = []
    tables = []  # logs, counts and shares, values x labels
    for attribute in facts.attributes:
        at = np.flatnonzero(attribute.logs.any(axis=1))
        names += [attribute.name] * len(at)
        values += [attribute.values[v] for v in at]
        tables.append((attribute.logs[at], attribute.counts[at], attribute.distribution()[at]))
    for pair in facts.pairs:
        one, two = np.nonzero(pair.logs.any(axis=2) & pair.shares.any(axis=2))
        names += [pair.name] * len(one)
        values += [
            f"{pair.values[0][i]}, {pair.values[1][k]}" for i, k in zip(one, two, strict=True)
        ]
        logs = pair.logs[one, two]
        tables.append((logs, np.full(logs.shape, np.nan), pair.shares[one, two]))
    logs, counts, shares = (np.concatenate(each)[:, [a, b]] for each in zip(*tables, strict=True))
    weights = logs[:, 0] - logs[:, 1]
    importance = shares.mean(axis=1) * np.abs(weights)
    order = np.argsort(-importance, kind="stable")
    return Discrimination(
        facts.names[a],
        facts.names[b],
        tuple(names[k] for k in order),
        tuple(values[k] for k in order),
        weights[order],
        counts[order],
        shares[order],
        importance[order],
    )


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Waterfall(Facts):
    """Bars that lead from a baseline to a total, the longest first.

    Attributes
    ----------
    title : str
    label, against : str
        The class of the bars, and the one it is compared with; "" where they are probabilities.
    unit : {"log odds", "probability", "votes"}
    start, total : float
        ``start`` and all ``bars`` add up to ``total``.
    names, values : tuples of str
        Of each bar: an attribute and the row's value, or a part and its prediction.
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
    row: Explanation, label: Any = None, against: Any = None, piece: int | str | None = None
) -> Waterfall:
    """A row's bars for a class, sorted.

    Parameters
    ----------
    row : Explanation
        From `explain_rows`.
    label : Any, default=None
        The class that bars are for; None is the predicted one.
    against : Any, default=None
        The class that it is compared with; None is the most probable other one.
    piece : int, str or None, default=None
        Where several parts answer for the row, the one whose attributes are shown, by its place
        in ``row.class_pieces`` or its name. By default, bars are what each part adds to the answer.

    Returns
    -------
    Waterfall
        Of log odds, attribute by attribute, where one part answers or a piece is chosen; else of
        probabilities (or of votes on the log scale), part by part. In a C4.5 tree, of
        probabilities step by step, in the order of the path.
    """
    predicted = int(row.probabilities.argmax())
    c = predicted if label is None else find_label(row.classes, label, "label")
    pieces = row.class_pieces
    if piece is None and len(pieces) > 1:
        return _by_part(row, c)
    if isinstance(piece, str):
        named = [k for k, one in enumerate(row.pieces) if one.part == piece]
        if not named:
            raise ValueError(
                f"piece {piece!r} is not among the parts that answer for the row: "
                f"{', '.join(one.part for one in row.pieces[:10])}."
            )
        chosen = row.pieces[named[0]]
    else:
        k = 0 if piece is None else piece
        if not 0 <= k < len(pieces):
            raise ValueError(f"piece must be a number from 0 to {len(pieces) - 1}; got {piece!r}.")
        chosen = pieces[k]
    if len(row.path) > 1 and not chosen.bars.any():
        return _by_step(row, c)
    return _by_attribute(row, chosen, c, against)


def _by_attribute(row: Explanation, piece: Piece, c: int, against: Any) -> Waterfall:
    a, b = _two_labels(row, piece, c, against)
    if b is None:
        bars, start = np.zeros(len(piece.bars)), 0.0
    else:
        bars = piece.bars[:, a] - piece.bars[:, b]
        start = float(piece.baseline[a] - piece.baseline[b])
    labels = (piece.names[a], "" if b is None else piece.names[b])
    scale = (piece.part, *labels, "log odds", start)
    return _longest_first(row, c, scale, row.features, row.values, bars)


def _longest_first(
    row: Explanation,
    c: int,
    scale: tuple[str, str, str, str, float],
    names: Sequence[str],
    values: Sequence[str],
    bars: NDArray[np.float64],
) -> Waterfall:
    """A waterfall with sorted bars; ``scale`` is its title, labels, unit and start."""
    order = np.argsort(-np.abs(bars), kind="stable")
    return Waterfall(
        *scale,
        scale[-1] + float(bars.sum()),
        tuple(names[k] for k in order),
        tuple(values[k] for k in order),
        bars[order],
        label_names(row.classes)[c],
        float(row.probabilities[c]),
    )


def _two_labels(row: Explanation, piece: Piece, c: int, against: Any) -> tuple[int, int | None]:
    """The most probable labels of a piece for a class and for the one it is compared with."""
    joint, owner = piece.joint, row.combiner.owner
    if piece.role == "gate":  # predicts experts, not classes
        order = np.argsort(-joint, kind="stable")
        return int(order[0]), int(order[1]) if len(order) > 1 else None
    classes = np.arange(len(row.classes)) if owner is None else owner
    if len(np.unique(classes)) < 2:
        return int(joint.argmax()), None
    best = np.where(classes == c, joint, -np.inf)
    if against is None:
        rivals = np.where(classes != c, joint, -np.inf)
    else:
        rival = find_label(row.classes, against, "against")
        if rival == c:
            raise ValueError(f"label and against are both {against!r}: give two classes.")
        rivals = np.where(classes == rival, joint, -np.inf)
    return int(best.argmax()), int(rivals.argmax())


def _by_step(row: Explanation, c: int) -> Waterfall:
    """The probability of a class from node to node, in a tree of classes."""
    probability = np.array([row.combiner.fold(step.shares[None])[0, c] for step in row.path])
    steps = [step.condition for step in row.path[1:]]
    return Waterfall(
        f"node {row.path[-1].node}",
        label_names(row.classes)[c],
        "",
        "probability",
        float(probability[0]),
        float(probability[-1]),
        tuple(steps),  # in the order of the path, which is their meaning
        ("",) * len(steps),
        np.diff(probability),
        label_names(row.classes)[c],
        float(row.probabilities[c]),
    )


def _by_part(row: Explanation, c: int) -> Waterfall:
    """What each part adds to the probability of a class, or to its votes."""
    pieces, classes = row.class_pieces, label_names(row.classes)
    alone = [row.combiner.part_answer(piece.joint) for piece in pieces]
    bars = np.array([piece.share * p[c] for piece, p in zip(pieces, alone, strict=True)])
    answers = [f"{classes[int(p.argmax())]}, {p.max():.0%}" for p in alone]
    unit = "votes" if row.combiner.softmax else "probability"
    scale, names = ("all parts", classes[c], "", unit, 0.0), [piece.part for piece in pieces]
    if row.combiner.is_calibrated and not row.combiner.softmax:
        change = float(row.probabilities[c]) - float(bars.sum())
        names, answers, bars = [*names, "calibration"], [*answers, ""], np.append(bars, change)
    return _longest_first(row, c, scale, names, answers, bars)
