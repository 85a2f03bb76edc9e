"""Statements answer as `predict_proba` does, on real engines, whatever names and values hold."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

from postgres_server import postgres_server
from sql_engines import (
    CLASSES,
    NUMBER,
    TABLE,
    DuckEngine,
    PostgresEngine,
    SparkEngine,
    SQLiteEngine,
    answers,
    hostile_rows,
)
from unnaive import (
    BaggedNaiveBayesClassifier,
    BoostedNaiveBayesClassifier,
    C45Classifier,
    ClassDecompositionClassifier,
    HierarchicalMixtureClassifier,
    NaiveBayesClassifier,
    NBTreeClassifier,
    to_sql,
)

MODELS = {
    "mdl": NaiveBayesClassifier(),
    "width, missing is a value": NaiveBayesClassifier(numeric="width", missing="value"),
    "frequency, raw shares": NaiveBayesClassifier(numeric="frequency", alpha=0.0),
    "sigma, rare values grouped": NaiveBayesClassifier(numeric="sigma", max_categories=5),
    "bayes": NaiveBayesClassifier(numeric="bayes"),
    "gaussian": NaiveBayesClassifier(numeric="gaussian", missing="value"),
    "kernel": NaiveBayesClassifier(numeric="kernel"),
    "kernel of one column": NaiveBayesClassifier(numeric={NUMBER: "kernel"}),
    "nbtree": NBTreeClassifier(random_state=0),
    "nbtree, every split": NBTreeClassifier(
        alpha=0.0, missing="value", significance=None, random_state=0
    ),
    "c45": C45Classifier(),
    "c45, raw shares": C45Classifier(alpha=0.0, min_rows=10, prune=False),
    "boosted": BoostedNaiveBayesClassifier(),
    "boosted m1": BoostedNaiveBayesClassifier(algorithm="m1", random_state=0),
    "boosted samme": BoostedNaiveBayesClassifier(algorithm="samme", alpha=0.0, random_state=0),
    "bagged": BaggedNaiveBayesClassifier(random_state=0),
    "bagged, hard votes": BaggedNaiveBayesClassifier(voting="hard", random_state=0),
    "mixture": HierarchicalMixtureClassifier(random_state=0),
    "mixture of mixtures": HierarchicalMixtureClassifier(
        layers=(2, 2), training="batch", random_state=0
    ),
    "decomposition": ClassDecompositionClassifier(random_state=0),
    "decomposition, best": ClassDecompositionClassifier(
        C45Classifier(), fold="max", random_state=0
    ),
}
# Spark takes seconds to plan a statement: one model of each kind.
ON_SPARK = ["kernel of one column", "nbtree, every split", "bagged, hard votes", "decomposition"]


@pytest.fixture(scope="module")
def fitted():
    """Models, each fitted when it is first asked for, and their answers for the same new rows."""
    X, y = hostile_rows(1500, 0)
    new = hostile_rows(3000, 1, unseen=True)[0]
    known = {}

    def find(name):
        if name not in known:
            model = clone(MODELS[name]).fit(X, y)
            known[name] = model, model.predict_proba(new), model.predict(new)
        return known[name]

    return find


@pytest.fixture(scope="module")
def new_rows():
    return hostile_rows(3000, 1, unseen=True)[0]


@pytest.fixture(scope="module")
def duck(new_rows):
    return DuckEngine(new_rows)


@pytest.fixture(scope="module")
def lite(new_rows):
    engine = SQLiteEngine(new_rows)
    try:
        engine.run("select exp(0.0), ln(1.0)")
    except engine.connection.OperationalError:
        pytest.skip("this SQLite was built without mathematical functions")
    return engine


@pytest.fixture(scope="module")
def postgres(new_rows):
    with postgres_server() as address:
        engine = PostgresEngine(new_rows, address)
        yield engine
        engine.connection.close()


@pytest.fixture(scope="module")
def on_spark(new_rows, spark):
    return SparkEngine(new_rows, spark)


def assert_equal_answers(engine, found):
    model, expected, predicted = found
    rows = engine.run(to_sql(model, TABLE, engine.dialect, keep="id"))
    probabilities, classes = answers(rows, expected.shape[1])
    assert len(probabilities) == len(expected)
    assert np.abs(probabilities - expected).max() < 1e-9
    assert np.abs(probabilities.sum(axis=1) - 1).max() < 1e-12
    # Equally probable classes may come out in another order, by rounding.
    sure = np.diff(np.sort(expected, axis=1)[:, -2:])[:, 0] > 1e-9
    assert (np.array(classes, dtype=object)[sure] == predicted[sure]).all()


@pytest.mark.parametrize("name", MODELS)
def test_duckdb_answers_as_predict_proba(name, duck, fitted):
    assert_equal_answers(duck, fitted(name))


@pytest.mark.parametrize("name", MODELS)
def test_sqlite_answers_as_predict_proba(name, lite, fitted):
    assert_equal_answers(lite, fitted(name))


@pytest.mark.parametrize("name", MODELS)
def test_postgresql_answers_as_predict_proba(name, postgres, fitted):
    assert_equal_answers(postgres, fitted(name))


@pytest.mark.parametrize("name", ON_SPARK)
def test_spark_answers_as_predict_proba(name, on_spark, fitted):
    assert_equal_answers(on_spark, fitted(name))


@pytest.mark.parametrize("place", ["duck", "lite", "postgres"])
def test_every_engine_decides_by_costs_as_predict_does(place, fitted, new_rows, request):
    engine, (model, p, _) = request.getfixturevalue(place), fitted("mdl")
    decided = model.with_decision([[0, 2, 1], [5, 0, 3], [4, 8, 0]])
    rows = engine.run(to_sql(decided, TABLE, engine.dialect, keep="id"))
    chosen = np.array([row[-1] for row in sorted(rows, key=lambda row: row[0])], dtype=object)
    costs = np.sort(decided.decision.expected(p), axis=1)
    sure = costs[:, 1] - costs[:, 0] > 1e-9
    assert sure.mean() > 0.9
    assert (chosen[sure] == decided.predict(new_rows)[sure]).all()


def test_the_trees_of_these_tests_have_branches(fitted):
    sizes = {
        name: fitted(name)[0].tree_.n_nodes for name in MODELS if hasattr(fitted(name)[0], "tree_")
    }
    assert sizes["c45, raw shares"] > 50
    assert sizes["nbtree, every split"] > 3
    assert set(fitted("mdl")[2]) == set(CLASSES)
