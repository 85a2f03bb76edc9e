"""Corrections of what a model has learned, by people who know better, each on record."""

from __future__ import annotations

import datetime
from copy import copy
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from unnaive.answer import Answer, EvidenceTable
from unnaive.answer.edits import Edit, Kind, Value, position, slot_of
from unnaive.bayes.scoring import TableTerm
from unnaive.common.wording import listed
from unnaive.encode import Bins
from unnaive.estimator.about import moment_text
from unnaive.living.periods import moment_in_utc
from unnaive.models.wrapped import look_inside


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
    kind: Kind = "increasing" if increasing else "decreasing"
    return _with_edit(model, answer, j, kind, by, reason, label=answer.classes.tolist()[number])


def edits_of(model: Any) -> tuple[Edit, ...]:
    """The corrections that are in a model, in the order in which they were made.

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
    inside = look_inside(model).alone("edited")
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


def _plain(value: Any) -> Value:
    if isinstance(value, np.datetime64 | datetime.date):
        return str(moment_in_utc(value))
    plain: Value = value.item() if isinstance(value, np.generic) else value
    if plain is not None and not isinstance(plain, bool | int | float | str):
        raise ValueError(f"value must be a category, a number, a time or None; got {value!r}.")
    return plain


def _with_edit(
    model: Any, answer: Answer, j: int, kind: Kind, by: str, reason: str, **given: Any
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
    changed.answer_ = answer.edited(edits)
    return changed
