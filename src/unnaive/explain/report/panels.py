"""The data of each panel of a report, as plain values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from unnaive.answer import (
    Answer,
    ClassTree,
    Ensemble,
    ExternalEstimator,
    GroupedClasses,
    scorecard,
)
from unnaive.common.sklearn_private import safe_indexing
from unnaive.common.wording import counted
from unnaive.encode import Bins, Categories
from unnaive.encode.coders import column_slots
from unnaive.encode.labels import read_target
from unnaive.explain.importance import Importance, importance_of
from unnaive.explain.model import (
    AttributeEvidence,
    ModelParts,
    PartEvidence,
    evidence_of,
    label_names,
    read_model,
)
from unnaive.explain.quality import labelled_rows, quality_of
from unnaive.explain.report import text
from unnaive.explain.report.payload import (
    Coders,
    Packed,
    coders_of,
    pack,
    pack_short,
    scorer_payload,
)
from unnaive.explain.report.quality import (
    calibration_data,
    curve_data,
    decision_data,
    quality_view,
    rule_data,
)
from unnaive.explain.trees import TreeNode, tree_of
from unnaive.table import Block, Column

MAX_PARTS = 200


class Panels:
    """Everything that a report shows, gathered once."""

    def __init__(self, model: Any, X: Any, y: Any, title: str | None) -> None:
        self.model = model
        self.answer: Answer = model.answer_
        self.foreign = self.answer.find(ExternalEstimator) is not None
        self.block = model._open(X).map(lambda block: block)
        self.schema = self.block.schema
        self.names = [self.schema.label(j) for j in range(len(self.schema))]
        self.class_names = list(label_names(model.classes_))
        known = text.title_of(self.class_names, y, model.target_name)
        self.title = known if title is None else str(title)
        blank: Coders = [None] * len(self.names)
        self.coders = list(blank if self.foreign else coders_of(self.answer.root))
        self.values = page_values(self.block, self.coders)
        self.quality = None if y is None else quality_of(model, X, y)
        self.probabilities = self.answer.probabilities(self.block)
        rows = None if y is None else labelled_rows(model.classes_, self.block.n_rows, y, None)
        self.truth = None if rows is None else rows.groups
        self.reading = None if self.foreign else read_model(model)
        self.nodes: tuple[TreeNode, ...] = ()
        if self.answer.tree is not None:
            nodes = tree_of(model)
            self.nodes = nodes if len(nodes) > 1 else ()  # one node is no tree to look at
        self.importance = self._importance(X, y)
        self.parts = self._parts()
        self.card = self._scorecard()

    def _scorecard(self) -> dict[str, Any] | None:
        """Return the points of two classes, where evidence adds up in a short enough table."""
        if len(self.class_names) != 2:
            return None
        try:
            card = scorecard(self.model)
        except (TypeError, ValueError):  # no evidence by value
            return None
        if card.n_values > 1000:
            return None
        frame = card._columns()
        lines = zip(frame["column"], frame["value"], frame["points"], strict=True)
        points = [{"column": c, "value": v, "points": p} for c, v, p in lines]
        return {"words": text.scorecard_words(card), "lines": points}

    def _importance(self, X: Any, y: Any) -> Importance | None:
        """Return the importance on all rows, or on some of them where each column takes long.

        None for a tree without naive Bayes, if there are no labels.
        """
        if self.reading is None:
            return None
        # Each column is left out once, which reads every column of every row.
        n, most = self.block.n_rows, max(500, min(50_000, 200_000_000 // len(self.names) ** 2))
        if n > most:
            at = np.linspace(0, n - 1, most).astype(np.intp)
            X = safe_indexing(X if hasattr(X, "__getitem__") else np.asarray(X), at)
            y = None if y is None else read_target(y)[at]
        self.n_measured = min(n, most)
        importance = importance_of(self.reading, X, y)
        return None if y is None and not importance.evidence.any() else importance

    def _parts(self) -> list[dict[str, Any]]:
        if self.reading is None:
            return []
        parts = parts_data(self.reading, self._titles(), self.block)
        informative = any(
            attribute["form"] != "nothing" for part in parts for attribute in part["attributes"]
        )
        return parts if informative else []

    def _titles(self) -> dict[int, str]:
        """Return the titles of the nodes of a tree, and of the members of a pool."""
        core = self.answer.core
        pooled = isinstance(core, Ensemble) and core.stack is None
        if isinstance(core, Ensemble) and pooled and self.reading is not None:
            weights = dict(zip(core.names, core.shares.tolist(), strict=True))
            named = enumerate(self.reading.parts.names)
            return {k: f"{n}, weight {weights[n]:.2f} in the pool" for k, n in named if k}
        return {
            node.node: f"{'node' if node.children else 'leaf'} {node.node}: {node.condition}"
            if node.condition
            else "the root, all rows"
            for node in self.nodes
        }

    # For the template ------------------------------------------------------------------------

    def template(self) -> dict[str, Any]:
        """Return the contents of the template."""
        several = len(self.class_names) > 1
        shown = {
            "importance": self.importance is not None,
            "tree": bool(self.nodes),
            "evidence": bool(self.parts),
            "compare": bool(self.parts) and several,
            "scorecard": self.card is not None,
            "pairs": bool(self.parts) and bool(self.parts[0].get("pairs")),
        }
        every = 0 if self.reading is None else len(self.reading.parts.names)
        tree = self.answer.tree
        kept, n_pairs = len(self.parts), len(self.answer.pairs)
        shown_pairs = len(self.parts[0].get("pairs", ())) if self.parts else 0
        return {
            "title": self.title,
            "sections": [(k, name) for k, name in text.SECTIONS.items() if shown.get(k, True)],
            "words": text.SECTIONS,
            "shown": shown,
            "model": {
                "name": type(self.model).__name__,
                "what": text.model_words(self.answer, getattr(self.model, "reason_", "")),
                "code": BaseEstimator.__repr__(self.model, N_CHAR_MAX=100_000),
            },
            "quality": None if self.quality is None else quality_view(self.quality),
            "curves": self.quality is not None and bool(curve_data(self.quality)),
            "decide": self.quality is not None and decision_data(self.quality) is not None,
            "importance": self._importance_view(),
            "tree_words": text.tree_words(tree) if self.nodes and tree else "",
            "evidence_words": f" Of {every} parts, the {kept} with most rows are on this page."
            if 0 < kept < every
            else "",
            "pairs_words": f" Of {n_pairs} pairs, the strongest {shown_pairs} are on this page."
            if shown_pairs < n_pairs
            else "",
            "try_words": text.foreign_words(self.answer)
            if self.foreign
            else text.try_words(self.answer),
            "can_try": not self.foreign,
            "card": self.card,
            "clusters": self.answer.find(GroupedClasses) is not None,
            "notes": self._notes(),
        }

    def _importance_view(self) -> dict[str, Any] | None:
        importance = self.importance
        if importance is None:
            return None
        labelled, order = not np.isnan(importance.log_loss), importance.order[:20]
        evidence = importance.evidence / (importance.evidence.max() or 1.0)
        drop = np.maximum(importance.drop / (np.abs(importance.drop).max() or 1.0), 0.0)
        lines = [
            {
                "name": importance.features[j],
                "note": importance.notes[j],
                "evidence": f"{importance.evidence[j]:.3f}",
                "evidence_bar": round(100 * float(evidence[j]), 1),
                "drop": f"{importance.drop[j]:+.4f}".replace("-", "\u2212") if labelled else "",
                "drop_bar": round(100 * float(drop[j]), 1) if labelled else 0,
            }
            for j in order
        ]
        rest = len(importance.features) - len(order)
        return {
            "labelled": labelled,
            "has_evidence": bool(importance.evidence.any()),
            "rows": f"{self.n_measured:,}",
            "all": self.n_measured == self.block.n_rows,
            "lines": lines,
            "rest": f"{counted(rest, 'further attribute')} matter less." if rest else "",
        }

    def _notes(self) -> list[Note]:
        notes = [Note(str(edit.column), f"Corrected: {edit}.") for edit in self.answer.edits]
        if self.quality is not None:
            names, rows = label_names(self.quality.classes), self.quality.confusion.sum(axis=1)
            notes += _abridged(_notes_on_classes(names, rows.astype(np.intp)), "classes")
        columns = _notes_on_columns(self.block, self.names, self.values, self.coders)
        return notes + _abridged(columns, "columns")

    # For the scripts ---------------------------------------------------------------------------

    def data(self) -> dict[str, Any]:
        """Return the data of the page's scripts."""
        described = zip(self.names, self.schema, self.coders, self.values, strict=True)
        columns = [_column_view(*each) for each in described]
        typical = [_typical(*each) for each in zip(self.schema, self.values, strict=True)]
        labels = self.class_names if self.reading is None else label_names(self.answer.labels)
        owner = None if self.reading is None else _owner(self.answer)
        importance = self.importance
        heading, members = ("", []) if self.foreign else text.members(self.answer)
        return {
            "classes": self.class_names,
            "labels": list(labels),
            "owner": None if owner is None else owner.tolist(),  # class of each label
            "columns": columns,
            "answer": None if self.foreign else scorer_payload(self.answer.root),
            "members": members,
            "membersTitle": heading,
            "rows": self._rows(),
            "typical": typical,
            "importance": [0.0] * len(columns) if importance is None else importance.size.tolist(),
            "calibration": [] if self.quality is None else calibration_data(self.quality),
            "curves": [] if self.quality is None else curve_data(self.quality),
            "decision": None if self.quality is None else decision_data(self.quality),
            "rule": rule_data(self.answer.decision),
            "tree": self._tree(),
            "parts": self.parts,
        }

    def _rows(self) -> dict[str, Any]:
        at, truth = _rows_shown(len(self.values), self.probabilities, self.truth), self.truth
        data: dict[str, Any] = {"at": at.tolist(), "values": [pack(one[at]) for one in self.values]}
        if truth is None:
            return {**data, "truth": None, "wrong": None}
        wrong = self.probabilities[at].argmax(axis=1) != truth[at]
        return {**data, "truth": truth[at].tolist(), "wrong": wrong.tolist()}

    def _tree(self) -> dict[str, Any] | None:
        if not self.nodes or self.reading is None:
            return None
        name = "gain ratio" if self.answer.find(ClassTree) else "utility"
        return {
            "condition": [node.condition for node in self.nodes],
            "weight": pack(np.array([node.class_weight for node in self.nodes])),
            "utility": [round(node.utility, 4) for node in self.nodes],
            "utilityName": name,
        }


def _owner(answer: Answer) -> NDArray[np.intp] | None:
    """Return the class number of each label; None where labels are the classes."""
    owner = None
    for node in answer.walk():
        if isinstance(node, GroupedClasses):
            owner = node.class_index if owner is None else owner[node.class_index]
    return owner


def parts_data(read: ModelParts, titles: dict[int, str], block: Block) -> list[dict[str, Any]]:
    """Return the evidence of the main part, then of as many others as a page has room for.

    Of the main part, pairs of attributes too, with the rows of the block that have their values.
    """
    facts = evidence_of(read, read.parts.main)
    parts = [_part(facts, read.parts.main, titles, full=True)]
    if facts.pairs:
        prior = np.exp(facts.log_prior - facts.log_prior.max())
        parts[0] |= {"pairs": pairs_data(facts, block), "prior": (prior / prior.sum()).tolist()}
    room = 120_000 - _cells(parts[0])  # cells of 12 bytes: about 1.5 MB
    # Those with most training rows first, then as numbered.
    weight = np.array([read.parts.part(k).weight for k in range(len(read.parts.names))])
    for k in np.argsort(-np.nan_to_num(weight), kind="stable").tolist():
        if k == read.parts.main:
            continue
        part = _part(evidence_of(read, k), k, titles, full=False)
        room -= _cells(part)
        if room < 0 or len(parts) >= MAX_PARTS:
            break
        parts.append(part)
    return parts


def _cells(part: dict[str, Any]) -> int:
    return sum(len(attribute["values"]) for attribute in part["attributes"]) * int(part["n_labels"])


def _part(facts: PartEvidence, k: int, titles: dict[int, str], full: bool) -> dict[str, Any]:
    return {
        "title": titles.get(k, facts.part),
        "role": facts.role,
        "node": k if facts.role == "node" else None,
        "labels": list(facts.names) if facts.role == "gate" else None,
        "n_labels": len(facts.names),
        "weight": None if np.isnan(facts.weight) else float(facts.weight),
        "label_weight": None if np.isnan(facts.label_weight).any() else facts.label_weight.tolist(),
        "attributes": [_attribute(attribute, full) for attribute in facts.attributes],
    }


def _attribute(attribute: AttributeEvidence, full: bool) -> dict[str, Any]:
    """Return one attribute; ``full`` adds what the comparison of classes needs."""
    data: dict[str, Any] = {
        "form": attribute.form,
        "values": list(attribute.values),
        "states": "".join(state[0] for state in attribute.states),
        "importance": round(attribute.importance, 6),
        "weights": _thousandths(attribute.weights),
        "low": _thousandths(np.where(np.isnan(attribute.low), attribute.weights, attribute.low)),
        "high": _thousandths(np.where(np.isnan(attribute.high), attribute.weights, attribute.high)),
        "counts": _counts(attribute.counts),
    }
    if attribute.reason:
        data["reason"] = attribute.reason
    if full:
        data |= {"logs": pack_short(attribute.logs), "shares": pack_short(attribute.shares)}
        if attribute.form == "density":  # shares are then densities, for drawing
            data["spread"] = pack_short(attribute.distribution())
    return data


def _thousandths(values: NDArray[np.float64]) -> Packed:
    """Return evidence as it is drawn: whole thousandths."""
    return pack(np.rint(1000 * np.clip(values, -32.0, 32.0)).astype(np.int64))


def _counts(counts: NDArray[np.float64]) -> Packed:
    whole = not np.isnan(counts).any() and (counts == np.rint(counts)).all()
    fits = whole and np.abs(counts).max(initial=0) < 2**31
    return pack(counts.astype(np.int64)) if fits else pack_short(counts)


def pairs_data(facts: PartEvidence, block: Block) -> list[dict[str, Any]]:
    """Return the pairs of a part, as many as a page has room for; rows of the block are counted."""
    room, pairs = 1_000_000, []  # cells of 5 bytes: about 5 MB
    for pair in sorted(facts.pairs, key=lambda one: -one.importance):
        counts = pair.count(block)
        shown = pair.shown_slots(counts)
        room -= len(shown[0]) * len(shown[1]) * len(pair.labels)
        if room < 0:
            break
        pairs.append(
            {
                "columns": [pair.term.first, pair.term.second],
                "values": [
                    [names[k] for k in kept] for names, kept in zip(pair.values, shown, strict=True)
                ],
                "importance": round(pair.importance, 6),
                "logs": pack_short(pair.logs[np.ix_(*shown)]),
                "margins": [
                    pack_short(margin[kept])
                    for margin, kept in zip(pair.margins, shown, strict=True)
                ],
                "counts": pack(counts[np.ix_(*shown)].astype(np.int64)),
            }
        )
    return pairs


def page_values(block: Block, coders: Coders) -> list[NDArray[Any]]:
    """Return columns as the page's scorer reads them: numbers, NaN for missing, and slots."""
    return [
        block.numeric(j) if column.kind == "numeric" else column_slots(block, j, coder)
        for j, (column, coder) in enumerate(zip(block.schema, coders, strict=True))
    ]


def _column_view(
    name: str, column: Column, coder: Bins | Categories | None, values: NDArray[Any]
) -> dict[str, Any]:
    """Return a column for the controls of the page."""
    view: dict[str, Any] = {"name": name, "kind": column.kind, "family": column.family}
    if isinstance(coder, Bins):
        view["cuts"] = pack(coder.cuts)
    elif isinstance(coder, Categories):
        view["names"] = [coder.name(slot + 1) for slot in range(coder.size)]
    if column.kind == "numeric":
        view |= _range(values, coder)
    if column.family == "level":
        view["levels"] = [*map(str, column.order or ())]
    return view


def _typical(column: Column, values: NDArray[Any]) -> float | int | None:
    """Return the median, or the most frequent category."""
    if column.kind != "numeric":
        counts = np.bincount(values)
        counts[0] = 0  # missing only where there is nothing else
        return int(counts.argmax())
    there = np.sort(values[~np.isnan(values)])
    return float(there[len(there) // 2]) if len(there) else None


def _rows_shown(
    n_columns: int, probabilities: NDArray[np.float64], truth: NDArray[np.intp] | None
) -> NDArray[np.intp]:
    """Return rows spread over the table, with the worst and least certain predictions."""
    n_rows = len(probabilities)
    most = max(1, min(200, n_rows, 40_000 // n_columns))
    extra = min(20, most // 4)
    chosen = [np.argsort(probabilities.max(axis=1), kind="stable")[:extra]]
    if truth is not None:
        own = _true_class_probability(probabilities, truth)
        chosen.append(np.argsort(own, kind="stable")[:extra])
    spread = np.linspace(0, n_rows - 1, max(1, most - extra * len(chosen))).astype(np.intp)
    return np.unique(np.concatenate((spread, *chosen)))


def _true_class_probability(
    probabilities: NDArray[np.float64], truth: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Return the probability of each row's true class; 0 for one that the model does not know."""
    column = np.minimum(truth, probabilities.shape[1] - 1)
    return probabilities[np.arange(len(truth)), column] * (truth == column)


def _range(values: NDArray[np.float64], coder: Bins | Categories | None) -> dict[str, Any]:
    """Return the range of a slider: over the rows passed and all cuts."""
    there = values[~np.isnan(values)]
    ends = there if len(there) else np.zeros(1)
    low, high = float(ends.min()), float(ends.max())
    if isinstance(coder, Bins) and len(coder.cuts):
        low, high = min(low, float(coder.cuts[0])), max(high, float(coder.cuts[-1]))
    whole = bool(len(there)) and bool((there == np.rint(there)).all())
    if whole:
        low, high = float(np.floor(low)), float(np.ceil(high))
    return {"low": low, "high": high, "whole": whole}


class Note(NamedTuple):
    """A remark about a column or a class."""

    about: str
    text: str


def _notes_on_classes(names: Sequence[str], n_rows: NDArray[Any]) -> Iterator[Note]:
    for name, n in zip(names, n_rows.tolist(), strict=True):
        if n == 0:
            yield Note(name, "No row of this class was passed, so it is not measured here.")
        elif n < 30:
            few = counted(n, "row")
            yield Note(name, f"Only {few} of this class: its figures are uncertain.")


def _notes_on_columns(
    block: Block, names: Sequence[str], values: Sequence[NDArray[Any]], coders: Coders
) -> Iterator[Note]:
    """Yield notes on columns without information, with unseen categories and missing values."""
    n = block.n_rows
    for name, column, each, coder in zip(names, block.schema, values, coders, strict=True):
        numeric = column.kind == "numeric"
        missing = int(np.isnan(each).sum() if numeric else (each == 0).sum())
        if missing == n:
            training = "" if column.kind == "empty" else " The training rows had values here."
            yield Note(name, f"No value at all in these rows.{training}")
            continue
        if len(np.unique(each[~np.isnan(each)] if numeric else each[each > 0])) == 1:
            yield Note(name, "One value in all rows: it carries no information.")
        if isinstance(coder, Categories) and (unseen := int((each == coder.size + 1).sum())):
            share, have = _percent(unseen / n), "has" if unseen == 1 else "have"
            text = f"{counted(unseen, 'row')} ({share}) {have} a value that training never had"
            yield Note(name, f"{text}; they add no evidence.")
        if missing:
            yield Note(name, f"Missing in {counted(missing, 'row')} ({_percent(missing / n)}).")


def _abridged(notes: Iterable[Note], what: str) -> list[Note]:
    """Return the first notes and the number of the others."""
    every, most = list(notes), 24
    rest = len(every) - most
    more = [Note(f"{rest} more notes", f"on further {what}.")] if rest > 0 else []
    return every[:most] + more


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %" if share >= 0.001 else "below 0.1 %"
