"""Contents of a report: facts of the model and of the rows, in words and as plain data."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from unnaive.answer import Answer, ClassTree, Folded, Foreign, Pool, Scorecard, scorecard
from unnaive.common.sklearn_private import safe_indexing
from unnaive.common.wording import counted
from unnaive.encode.labels import read_target
from unnaive.explain.importance import Importance, importance_of
from unnaive.explain.labelled import labelled_rows
from unnaive.explain.model import label_names, read_model
from unnaive.explain.quality import quality_of
from unnaive.explain.report import words
from unnaive.explain.report.arrays import pack
from unnaive.explain.report.curves import curve_data, decision_data, rule_data
from unnaive.explain.report.notes import ColumnFacts, Note, notes_on
from unnaive.explain.report.parts import parts_data
from unnaive.explain.report.payload import Coders, coders_of, scorer_payload
from unnaive.explain.report.quality import calibration_data, cross_validated, quality_view
from unnaive.explain.report.rows import PageRows
from unnaive.explain.trees import TreeNode, tree_of

MOST_IMPORTANT = 20
MOST_POINTS = 1000  # values of a scorecard that are on the page
MOST_MEASURED = 50_000  # rows on which importance is measured
WORK = 200_000_000  # and fewer, if rows times columns times columns are more than this


class Contents:
    """Everything that a report shows, gathered once."""

    def __init__(self, model: Any, X: Any, y: Any, cv: Any, title: str | None) -> None:
        self.model = model
        self.answer: Answer = model.answer_
        self.foreign = self.answer.find(Foreign) is not None
        self.block = model._open(X).map(lambda block: block)
        self.schema = self.block.schema
        self.names = [self.schema.label(j) for j in range(len(self.schema))]
        self.class_names = list(label_names(model.classes_))
        known = words.title_of(self.class_names, y, model.target_name)
        self.title = known if title is None else str(title)
        blank: Coders = [None] * len(self.names)
        self.coders = list(blank if self.foreign else coders_of(self.answer.root))
        self.rows = PageRows.of(self.block, self.coders)
        self.quality = None if y is None else quality_of(model, X, y)
        self.folds = [] if y is None or cv is None else cross_validated(model, X, y, cv)
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

    def _scorecard(self) -> Scorecard | None:
        """Points of two classes, where evidence adds up and the table is short enough to read."""
        if len(self.class_names) != 2:
            return None
        try:
            card = scorecard(self.model)
        except (TypeError, ValueError):  # no evidence by value
            return None
        return card if card.n_values <= MOST_POINTS else None

    def _card_view(self) -> dict[str, Any] | None:
        if self.card is None:
            return None
        frame = self.card._columns()
        lines = zip(frame["column"], frame["value"], frame["points"], strict=True)
        return {
            "words": words.scorecard_words(self.card),
            "lines": [{"column": c, "value": v, "points": p} for c, v, p in lines],
        }

    def _importance(self, X: Any, y: Any) -> Importance | None:
        """On all rows, or on some spread over them where each column would take long.

        None for a tree without naive Bayes, if there are no labels.
        """
        if self.reading is None:
            return None
        n, most = self.block.n_rows, max(500, min(MOST_MEASURED, WORK // len(self.names) ** 2))
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
        """Titles of the nodes of a tree, and of the members of a pool."""
        core = self.answer.core
        if isinstance(core, Pool) and self.reading is not None and core.join == "geometric":
            weights = dict(zip(core.names, core.weights.tolist(), strict=True))
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
        """The contents of the template."""
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
        kept = len(self.parts)
        return {
            "title": self.title,
            "sections": [(k, text) for k, text in words.SECTIONS.items() if shown.get(k, True)],
            "words": words.SECTIONS,
            "shown": shown,
            "model": {
                "name": type(self.model).__name__,
                "what": words.model_words(self.answer, getattr(self.model, "reason_", "")),
                "code": BaseEstimator.__repr__(self.model, N_CHAR_MAX=100_000),
            },
            "quality": None if self.quality is None else quality_view(self.quality, self.folds),
            "curves": self.quality is not None and bool(curve_data(self.quality)),
            "decide": self.quality is not None and decision_data(self.quality) is not None,
            "importance": self._importance_view(),
            "tree_words": words.tree_words(tree) if self.nodes and tree else "",
            "evidence_words": f" Of {every} parts, the {kept} with most rows are on this page."
            if 0 < kept < every
            else "",
            "pairs_words": self._pairs_words(),
            "try_words": words.foreign_words(self.answer)
            if self.foreign
            else words.try_words(self.answer),
            "can_try": not self.foreign,
            "card": self._card_view(),
            "clusters": self.answer.find(Folded) is not None,
            "notes": self._notes(),
            "cite": words.citation(self.model),
        }

    def _pairs_words(self) -> str:
        """How many pairs there was no room for."""
        shown = len(self.parts[0].get("pairs", ())) if self.parts else 0
        every = len(self.answer.pairs)
        return (
            f" Of {every} pairs, the strongest {shown} are on this page." if shown < every else ""
        )

    def _importance_view(self) -> dict[str, Any] | None:
        importance = self.importance
        if importance is None:
            return None
        labelled = not np.isnan(importance.log_loss)
        order = importance.order[:MOST_IMPORTANT]
        top = {
            "evidence": importance.evidence.max() or 1.0,
            "drop": np.abs(importance.drop).max() or 1.0,
        }
        lines = [
            {
                "name": importance.features[j],
                "note": importance.notes[j],
                "evidence": f"{importance.evidence[j]:.3f}",
                "evidence_bar": round(100 * float(importance.evidence[j] / top["evidence"]), 1),
                "drop": f"{importance.drop[j]:+.4f}".replace("-", "\u2212") if labelled else "",
                "drop_bar": round(100 * max(float(importance.drop[j] / top["drop"]), 0.0), 1)
                if labelled
                else 0,
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

    def _notes(self) -> list[Any]:
        facts = [
            ColumnFacts.of(self.block, j, name, coder)
            for j, (name, coder) in enumerate(zip(self.names, self.coders, strict=True))
        ]
        quality = self.quality
        names = self.class_names if quality is None else label_names(quality.classes)
        rows = None if quality is None else quality.confusion.sum(axis=1).astype(np.intp)
        edits = [Note(str(edit.column), f"Corrected: {edit}.") for edit in self.answer.edits]
        return edits + notes_on(facts, self.schema.columns, self.block.n_rows, names, rows)

    # For the scripts ---------------------------------------------------------------------------

    def data(self) -> dict[str, Any]:
        """The data of the page's scripts."""
        columns = self.rows.columns(self.block, self.names, self.coders)
        labels = self.class_names if self.reading is None else label_names(self.answer.labels)
        owner = None if self.reading is None else _owner(self.answer)
        importance = self.importance
        return {
            "classes": self.class_names,
            "labels": list(labels),
            "owner": None if owner is None else owner.tolist(),  # class of each label
            "columns": columns,
            "answer": None if self.foreign else scorer_payload(self.answer.root),
            "members": [] if self.foreign else words.members(self.answer),
            "membersTitle": words.members_words(self.answer.root),
            "rows": self.rows.some(self.probabilities, self.truth),
            "typical": self.rows.typical(self.block),
            "importance": [0.0] * len(columns) if importance is None else importance.size.tolist(),
            "calibration": [] if self.quality is None else calibration_data(self.quality),
            "curves": [] if self.quality is None else curve_data(self.quality),
            "decision": None if self.quality is None else decision_data(self.quality),
            "rule": rule_data(self.answer.decision),
            "tree": self._tree(),
            "parts": self.parts,
        }

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
    """Class number of each label; None where labels are the classes."""
    owner = None
    for node in answer.nodes():
        if isinstance(node, Folded):
            owner = node.owner if owner is None else owner[node.owner]
    return owner
