"""Everything that can be done with a model that came out of a file."""

from __future__ import annotations

import io
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

import unnaive
from unnaive.explain import tree_of

OURS = str(Path(unnaive.__file__).parent)
FEW = 3  # rows that are explained one by one
SWEEPS = 1000  # of a mixture: more, which a file may ask for, take longer than it is given


def is_clear(error: BaseException) -> bool:
    """Whether an error was raised on purpose, by the library or by scikit-learn's checks: it did
    not come out of NumPy or of an index.
    """
    last = traceback.extract_tb(error.__traceback__)[-1]
    raised = (last.line or "").startswith("raise")
    return raised and (last.filename.startswith(OURS) or "sklearn" in Path(last.filename).parts)


def use(model: Any, sample: Any) -> None:
    """Ask a model all that there is to ask; errors that say what is wrong are welcome."""
    for name, consume in CONSUMERS.items():
        try:
            consume(model, sample)
        except (ValueError, TypeError) as error:
            if not is_clear(error):
                raise RuntimeError(f"{name}: no clear error") from error
        except BaseException as error:
            raise RuntimeError(name) from error


def ask_evidence(model: Any, sample: Any) -> None:
    if hasattr(model, "evidence"):
        why = model.evidence(sample.rows)
        assert not np.isnan(why.contributions).any(), "evidence that is not a number"


def explain(model: Any, sample: Any) -> None:
    rows = sample.rows[:FEW]
    repr(unnaive.explain_rows(model, rows))
    repr(unnaive.explain_rows(model, rows, top=2))
    repr(unnaive.evidence_of(model))
    row = rows.iloc[:1] if isinstance(rows, pd.DataFrame) else rows[:1]
    repr(unnaive.what_if(model, row, {}))


def weigh(model: Any, sample: Any) -> None:
    repr(unnaive.importance_of(model, sample.rows))


def show_tree(model: Any, sample: Any) -> None:
    if hasattr(model, "tree_"):
        model.apply(sample.rows)
        unnaive.export_text(model)
        tree_of(model)


def write_report(model: Any, sample: Any) -> None:
    html = unnaive.report(model, sample.rows, sample.labels).html
    assert html.startswith("<!DOCTYPE html>")


def write_sql(model: Any, _: Any) -> None:
    assert "SELECT" in unnaive.to_sql(model, "rows")


def write_card(model: Any, _: Any) -> None:
    repr(unnaive.scorecard(model))


def save_again(model: Any, _: Any) -> None:
    file = io.BytesIO()
    unnaive.save(model, file)


def merge(model: Any, sample: Any) -> None:
    _sound(unnaive.merge([model, sample.load()]), sample)
    _sound(unnaive.merge([model, model]), sample)


def subtract(model: Any, sample: Any) -> None:
    _sound(unnaive.subtract(model, sample.load()), sample)


def forget(model: Any, sample: Any) -> None:
    if hasattr(model, "forget"):
        _sound(model.forget(*sample.more), sample)


def update(model: Any, sample: Any) -> None:
    if hasattr(model, "partial_fit"):
        _sound(model.partial_fit(*sample.more), sample)


def learn_again(model: Any, sample: Any) -> None:
    """With the parameters of the file, where a fit of them is soon done: sweeps may be many."""
    if hasattr(model, "partial_fit") and getattr(model, "n_sweeps", 0) <= SWEEPS:
        _sound(clone(model).fit(*sample.more), sample)


def _sound(model: Any, sample: Any) -> None:
    from fuzz.judge import answers, check_answers

    found = answers(model, sample.rows)
    if repr(model) == sample.model:  # or else it was asked to learn in another way
        check_answers(model, found, len(sample.rows))


CONSUMERS: dict[str, Callable[[Any, Any], None]] = {
    "evidence": ask_evidence,
    "explain": explain,
    "importance": weigh,
    "tree": show_tree,
    "report": write_report,
    "SQL": write_sql,
    "scorecard": write_card,
    "save": save_again,
    "merge": merge,
    "subtract": subtract,
    "forget": forget,
    "partial_fit": update,
    "fit": learn_again,
}
