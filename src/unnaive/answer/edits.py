"""Edits of evidence by experts: applied on top of what was learned, on record, and undone."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.isotonic import isotonic_regression
from sklearn.utils.validation import check_is_fitted

from unnaive.answer.answer import Answer
from unnaive.answer.nodes import Edit, EditKind, EditLayer, EditValue, EvidenceTable
from unnaive.answer.unwrap import unwrap_classifier
from unnaive.bayes import Scorer
from unnaive.bayes.evidence import weigh
from unnaive.bayes.scoring import TableTerm
from unnaive.common.wording import listed
from unnaive.counts import CountTable
from unnaive.encode import Bins
from unnaive.estimator.base import moment_text, utc_moment
from unnaive.table import Column, Schema
from unnaive.table.columns import as_objects, is_missing, read_numeric


def edit(
    model: Any,
    column: Any,
    value: Any,
    *,
    evidence: float,
    by: str,
    reason: str = "",
    label: Any = None,
) -> Any:
    """Set what one value of a column says, as a correction on record.

    Predictions, evidence, explanations, the report, SQL and model files follow. What was learned
    stays below the correction: `partial_fit`, `forget` and `merge` keep it, `undo` takes it back.

    Parameters
    ----------
    model : fitted classifier
        Whose evidence is one table: `NaiveBayesClassifier`, `UnnaiveBayesClassifier`, or
        `BoostedNaiveBayesClassifier` with real votes.
    column : str or int
        The column's name, or its position where columns have no names.
    value : object
        A category, or any number of the interval that is meant; None is a missing value.
    evidence : float
        What the value does to the log odds of ``label``, in nats.
    by, reason : str
        Who makes the correction, and why.
    label : class or None, default=None
        The class that the evidence is for; None is the second of two.

    Returns
    -------
    classifier
        A new one; this one stays as it is.

    See Also
    --------
    flatten : A column that shall say nothing.
    make_monotone : A column whose evidence shall rise or fall with its values.

    Examples
    --------
    >>> from unnaive import NaiveBayesClassifier, edit, edits_of, undo
    >>> X, y = [["a"], ["a"], ["b"], ["b"]], ["bad", "bad", "good", "bad"]
    >>> model = NaiveBayesClassifier().fit(X, y)
    >>> better = edit(model, 0, "a", evidence=1.0, by="Ann", reason="last year's rule is gone")
    >>> bad, good = better.evidence([["a"]]).contributions[0, 0]
    >>> round(float(good - bad), 9)
    1.0
    >>> len(edits_of(better)), len(edits_of(undo(better)))
    (1, 0)
    """
    answer, term, j = _editable(model, column)
    number = _class_number(label, answer)
    plain = _plain(value)
    try:
        slot = slot_of(term, answer.schema[j], plain)
    except (TypeError, ValueError):
        raise ValueError(
            f"{answer.schema[j]} holds numbers; {value!r} is none, so it has no interval."
        ) from None
    if slot is None:
        known = answer.schema[j].order if isinstance(term.coder, Bins) else term.coder.values
        raise ValueError(
            f"{answer.schema[j]} has no category {value!r} that the model knows; it knows "
            f"{listed(known or ())}."
        )
    given = {"value": plain, "label": answer.classes.tolist()[number], "evidence": float(evidence)}
    return _with_edit(model, answer, j, "evidence", by, reason, **given)


def flatten(model: Any, column: Any, *, by: str, reason: str = "") -> Any:
    """Let a column say nothing, alone and in pairs, as a correction on record.

    Parameters
    ----------
    model, column, by, reason :
        As in `edit`.

    Returns
    -------
    classifier
        A new one; this one stays as it is.

    Examples
    --------
    >>> from unnaive import NaiveBayesClassifier, flatten
    >>> model = NaiveBayesClassifier().fit([["a"], ["b"], ["b"]], ["bad", "good", "good"])
    >>> flat = flatten(model, 0, by="Ann", reason="not allowed")
    >>> bad, good = flat.evidence([["a"]]).contributions[0, 0]
    >>> float(good - bad)
    0.0
    """
    answer, _, j = _editable(model, column)
    return _with_edit(model, answer, j, "flat", by, reason)


def make_monotone(
    model: Any,
    column: Any,
    increasing: bool = True,
    *,
    by: str,
    reason: str = "",
    label: Any = None,
) -> Any:
    """Let the evidence of a column rise, or fall, with its values, as a correction on record.

    Neighbouring intervals that go the wrong way are given their mean evidence, by their numbers of
    rows (isotonic regression). Missing and unseen values keep theirs.

    Parameters
    ----------
    model, column :
        As in `edit`; a column of numbers, or of categories whose type has an order.
    increasing : bool, default=True
        Whether the evidence for ``label`` rises; False: falls.
    by, reason, label :
        As in `edit`.

    Returns
    -------
    classifier
        A new one; this one stays as it is.

    Examples
    --------
    >>> import numpy as np
    >>> from unnaive import NaiveBayesClassifier, make_monotone
    >>> x = np.repeat([1.0, 2.0, 3.0], 20)[:, None]
    >>> y = np.repeat([0, 1, 0, 1, 0, 1], [15, 5, 4, 16, 8, 12])
    >>> model = NaiveBayesClassifier(numeric="frequency").fit(x, y)
    >>> up = make_monotone(model, 0, by="Ann", reason="risk grows with exposure")
    >>> np.diff(up.predict_proba([[1.0], [2.0], [3.0]])[:, 1]).round(2).tolist()
    [0.44, 0.0]
    """
    answer, term, j = _editable(model, column)
    if not isinstance(term.coder, Bins) and not answer.schema[j].order:
        raise ValueError(
            f"the categories of {answer.schema[j]} have no order in which evidence could rise."
        )
    number = _class_number(label, answer)
    kind: EditKind = "increasing" if increasing else "decreasing"
    return _with_edit(model, answer, j, kind, by, reason, label=answer.classes.tolist()[number])


def edits_of(model: Any) -> tuple[Edit, ...]:
    """Return the corrections that are in a model, in the order in which they were made.

    Parameters
    ----------
    model : fitted classifier

    Returns
    -------
    tuple of Edit
        Each says what was changed, by whom, when and why.

    See Also
    --------
    undo : Take one back.

    Examples
    --------
    >>> from unnaive import NaiveBayesClassifier, edits_of, flatten
    >>> model = NaiveBayesClassifier().fit([["a"], ["b"], ["b"]], ["bad", "good", "good"])
    >>> [(one.kind, one.by) for one in edits_of(flatten(model, 0, by="Ann"))]
    [('flat', 'Ann')]
    """
    return _answer_of(model).edits


def undo(model: Any, number: int = -1) -> Any:
    """Take a correction back: the model as if it had never been made.

    Parameters
    ----------
    model : fitted classifier
    number : int, default=-1
        Which one of `edits_of` to take back; the last one by default.

    Returns
    -------
    classifier
        A new one; this one stays as it is.

    Examples
    --------
    >>> from unnaive import NaiveBayesClassifier, edits_of, flatten, undo
    >>> model = NaiveBayesClassifier().fit([["a"], ["b"], ["b"]], ["bad", "good", "good"])
    >>> edits_of(undo(flatten(model, 0, by="Ann")))
    ()
    """
    answer = _answer_of(model)
    edits = list(answer.edits)
    if not -len(edits) <= number < len(edits):
        there = f"the model has {len(edits)}" if edits else "nobody has corrected the model"
        raise ValueError(f"there is no correction {number}: {there}.")
    del edits[number]
    return _with_edits(model, answer, edits)


def _answer_of(model: Any) -> Answer:
    check_is_fitted(model)
    inside = unwrap_classifier(model, "edited")
    answer = getattr(inside, "answer_", None)
    kept = not isinstance(getattr(type(inside), "answer_", None), property)
    if inside is not model or not kept or not isinstance(answer, Answer):
        raise TypeError(f"a {type(model).__name__} cannot be edited; edit the model inside of it.")
    return answer


def _editable(model: Any, column: Any) -> tuple[Answer, TableTerm, int]:
    answer = _answer_of(model)
    if not isinstance(answer.root, EvidenceTable):
        raise TypeError(
            f"a {type(model).__name__} cannot be edited, because its evidence is not one table; "
            "naive Bayes, UnnaiveBayesClassifier and boosting with real votes have one."
        )
    j = position(answer.schema, column)
    if j is None:
        some = ", ".join(map(repr, answer.schema.names[:8]))
        raise ValueError(f"there is no column {column!r}; the columns are {some}.")
    term = answer.root.scorer.terms[j]
    if not isinstance(term, TableTerm):
        why = "it says nothing" if term is None else "its evidence is that of a density"
        raise ValueError(f"{answer.schema[j]} has no table of evidence to edit: {why}.")
    return answer, term, j


def _class_number(label: Any, answer: Answer) -> int:
    classes = answer.classes.tolist()
    if label is None and len(classes) == 2:
        return 1
    if label not in classes:
        raise ValueError(
            f"label must be the class that evidence is for, of {classes[:8]}; got {label!r}."
        )
    return classes.index(label)


def _plain(value: Any) -> EditValue:
    if isinstance(value, np.datetime64 | datetime.date):
        return str(utc_moment(value))
    plain: EditValue = value.item() if isinstance(value, np.generic) else value
    if plain is not None and not isinstance(plain, bool | int | float | str):
        raise ValueError(f"value must be a category, a number, a time or None; got {value!r}.")
    return plain


def _with_edit(
    model: Any, answer: Answer, j: int, kind: EditKind, by: str, reason: str, **given: Any
) -> Any:
    for name, text in (("by", by), ("reason", reason)):
        if not isinstance(text, str):
            raise ValueError(f"{name} must be text; got {text!r}.")
    at = moment_text(datetime.datetime.now(datetime.UTC))
    new = Edit(kind, answer.schema[j].name, by, reason, at, **given)
    new.check()
    return _with_edits(model, answer, [*answer.edits, new])


def _with_edits(model: Any, answer: Answer, edits: list[Edit]) -> Any:
    changed = copy(model)
    changed.answer_ = with_edits(answer, edits)
    return changed


# Applying edits ----------------------------------------------------------------------------------


def with_edits(answer: Answer, edits: Sequence[Edit]) -> Answer:
    """Return the answer with these edits and no others; of a table of evidence."""
    if not isinstance(answer.root, EvidenceTable):
        raise TypeError(f"evidence of a {type(answer.root).__name__} cannot be edited.")
    return replace(answer, root=_edit_table(answer.root, answer.schema, answer.classes, edits))


def _edit_table(
    node: EvidenceTable, schema: Schema, classes: NDArray[Any], edits: Sequence[Edit]
) -> EvidenceTable:
    """Return a table of evidence with these edits and no others."""
    if node.layer is not None:
        node = replace(node, scorer=node.layer.scorer, errors=node.layer.errors, layer=None)
    if not edits:
        return node
    layer = EditLayer(tuple(edits), node.scorer, node.errors)
    scorer, errors = node.scorer, list(node.errors)
    for edit in edits:
        j = position(schema, edit.column)
        if j is None or not isinstance(scorer.terms[j], TableTerm):
            continue  # the column has no evidence now; it may have some after an update
        scorer, changed = _apply(edit, scorer, j, schema[j], classes.tolist(), node.counts)
        if errors and errors[j].size:  # an expert's word has no standard error
            errors[j] = np.where(changed[:, None], np.float32(0), errors[j])
    return replace(node, scorer=scorer, errors=tuple(errors), layer=layer)


def join_edits(lists: Iterable[Sequence[Edit]]) -> list[Edit]:
    """Return the edits of several models, each once, in the order in which they were made."""
    every = list(dict.fromkeys(edit for edits in lists for edit in edits))
    return sorted(every, key=lambda edit: datetime.datetime.fromisoformat(edit.at))


def position(schema: Schema, column: Any) -> int | None:
    """Return the position of a column, by its name, or by its number without names."""
    names = list(schema.names)
    return names.index(column) if column in names else None


def slot_of(term: TableTerm, column: Column, value: EditValue) -> int | None:
    """Return the slot of a value; None for an unknown category or level."""
    if value is None or is_missing(value):
        return 0
    if not isinstance(term.coder, Bins):
        return term.coder.index.get(value)
    if column.family == "level":
        number = float(read_numeric(as_objects([value]), column)[0])
        if math.isnan(number):
            return None
    elif column.family == "time":
        number = float(np.datetime64(str(value), "us").astype(np.int64))
    else:
        number = float(value)
    return int(term.coder.codes(np.array([number]), column)[0])


def _apply(
    edit: Edit,
    scorer: Scorer,
    j: int,
    column: Column,
    classes: list[Any],
    counts: CountTable | None,
) -> tuple[Scorer, NDArray[np.bool_]]:
    """Return the evidence with one more edit, and the slots of its column that it changed."""
    term = scorer.terms[j]
    assert isinstance(term, TableTerm)
    if edit.kind == "flat":
        pairs = tuple(
            replace(p, logs=_flat(p.logs)) if j in (p.first, p.second) else p for p in scorer.pairs
        )
        scorer = replace(scorer, pairs=pairs)
        logs = _flat(term.logs)
        return _with_logs(scorer, j, term, logs), np.ones(len(logs), dtype=np.bool_)
    logs, changed = term.logs.copy(), np.zeros(len(term.logs), dtype=np.bool_)
    label = classes.index(edit.label) if edit.label in classes else None
    if label is None:
        return scorer, changed
    weights = weigh(logs, scorer.log_prior)[:, label]
    if edit.kind == "evidence":
        slot = slot_of(term, column, edit.value)
        if slot is not None:
            logs[slot, label] += edit.evidence - weights[slot]
            changed[slot] = True
    else:
        values = slice(1, len(logs) - 1)
        rows = np.ones(len(logs)) if counts is None else counts.attribute(j).sum(axis=0)
        rising = edit.kind == "increasing"
        smooth = isotonic_regression(
            weights[values], sample_weight=np.maximum(rows[values], 1e-6), increasing=rising
        )
        logs[values, label] += smooth - weights[values]
        changed[values] = smooth != weights[values]
    return _with_logs(scorer, j, term, logs), changed


def _flat(logs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the same value for all classes, which is evidence for none."""
    return np.broadcast_to(logs.mean(axis=-1, keepdims=True), logs.shape).copy()


def _with_logs(scorer: Scorer, j: int, term: TableTerm, logs: NDArray[np.float64]) -> Scorer:
    terms = (*scorer.terms[:j], TableTerm(term.coder, logs), *scorer.terms[j + 1 :])
    return replace(scorer, terms=terms)
