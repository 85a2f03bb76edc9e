"""Whatever is done with an answer agrees with its plain reading, for random answers."""

from __future__ import annotations

import io

import duckdb
import numpy as np
import pytest

import unnaive
from explained import ROWS
from expressions import X, answer, spoken
from unnaive.bayes import GaussianTerm, Scorer
from unnaive.bayes.scoring import add_scorers, stack_scorers
from unnaive.explain.report.panels import Panels
from unnaive.models import AnswerClassifier
from unnaive.table import open_table

SEEDS = range(40)
some = pytest.mark.parametrize("seed", SEEDS)


def model_of(seed):
    return AnswerClassifier.of(answer(seed))


def plain(model, rows):
    return np.stack([spoken(model.answer_.root, rows.iloc[i : i + 1]) for i in range(len(rows))])


@some
def test_probabilities_are_those_of_the_plain_reading(seed):
    model = model_of(seed)
    expected = plain(model, ROWS)
    np.testing.assert_allclose(model.predict_proba(ROWS), expected, atol=1e-9)
    with np.errstate(divide="ignore"):
        logs = np.log(expected)
    near = logs > -30
    np.testing.assert_allclose(model.predict_log_proba(ROWS)[near], logs[near], atol=1e-6)
    sure = np.diff(np.sort(expected, axis=1)[:, -2:]).ravel() > 1e-9
    best = model.classes_[expected.argmax(axis=1)]
    assert (model.predict(ROWS) == best)[sure].all()


@some
def test_evidence_adds_up_to_the_plain_reading(seed):
    model = model_of(seed)
    why, expected = model.evidence(ROWS), plain(model, ROWS)
    np.testing.assert_allclose(why.probabilities(), expected, atol=1e-9)


@some
def test_statements_compute_the_plain_reading(seed):
    model = model_of(seed)
    rows = ROWS.head(8).assign(key=range(8))  # noqa: F841
    try:
        statement = unnaive.to_sql(model, "rows", keep="key")
    except TypeError as error:
        assert "fit an NBTreeClassifier" in str(error)  # noqa: PT017
        return
    found = duckdb.sql(statement).df().sort_values("key")
    columns = [f"probability_{label}" for label in model.classes_]
    np.testing.assert_allclose(found[columns], plain(model, ROWS.head(8)), atol=1e-9)


@some
def test_files_keep_every_bit_of_an_answer(seed):
    model, file = model_of(seed), io.BytesIO()
    unnaive.save(model, file)
    file.seek(0)
    again = unnaive.load(file)
    assert (again.predict_proba(ROWS) == model.predict_proba(ROWS)).all()
    assert type(again.answer_.root) is type(model.answer_.root)


@pytest.mark.parametrize("seed", range(0, 40, 4))
def test_pages_are_made_of_any_answer(seed):
    model = model_of(seed)
    contents = Panels(model, X.head(40), None, None)
    template, data = contents.template(), contents.data()
    assert template["can_try"]
    assert data["answer"]["kind"] in {
        "table", "ensemble", "mixture", "folded", "bayes_tree", "class_tree", "forest",
    }  # fmt: skip
    assert template["model"]["what"]


def test_an_answer_for_other_classes_is_refused():
    own = answer(0)
    wrong = type(own)(own.schema, np.arange(9), own.root)
    with pytest.raises(ValueError, match=r"of 9 classes"):
        wrong.check()


def test_rows_are_read_by_the_columns_of_the_answer():
    model = model_of(0)
    block = open_table(model, X, fitted=model.answer_.schema).block
    whole = model.answer_.probabilities(block)
    assert (model.predict_proba(X[X.columns[::-1]]) == whole).all()


def test_only_evidence_by_slots_is_joined():
    scorer = Scorer(np.zeros(2), (GaussianTerm(*np.ones((4, 2))),))
    for join in (stack_scorers, lambda scorers: add_scorers(scorers, [1.0, 1.0])):
        with pytest.raises(TypeError, match="only evidence by the slots of single columns"):
            join([scorer, scorer])
