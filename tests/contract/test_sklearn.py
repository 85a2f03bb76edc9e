"""Every public estimator keeps scikit-learn's contract, and none is forgotten."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import unnaive
from helpers import assert_same_model, mixed_table
from registry import (
    CHOOSERS,
    CLASSIFIERS,
    ESTIMATORS,
    EXCUSED,
    META,
    excused,
)

EVERY = [*ESTIMATORS, *CHOOSERS]
ONE_OF_EACH = [*{type(e): e for e in reversed(EVERY)}.values()]  # the first of every class


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(ONE_OF_EACH, expected_failed_checks=excused)
def test_scikit_learn_checks_pass(estimator, check):
    check(estimator)


def test_every_public_estimator_is_in_the_registry():
    public = {
        name
        for name in unnaive.__all__
        if isinstance(getattr(unnaive, name), type)
        and issubclass(getattr(unnaive, name), BaseEstimator)
        and name != "Timeline"  # counts periods and predicts nothing
    }
    assert public == {type(e).__name__ for e in EVERY}


def test_only_random_estimators_are_excused_and_only_from_weight_equivalence():
    for name, checks in EXCUSED.items():
        # C4.5 draws inner folds for its calibration.
        assert hasattr(getattr(unnaive, name)(), "random_state") or name == "C45Classifier"
        assert all(c.startswith("check_sample_weight_equivalence") for c in checks)


def test_import_brings_in_no_optional_package():
    """None beyond those that scikit-learn itself imports where they are installed."""
    optional = "pandas polars pyarrow duckdb dask pyspark matplotlib jinja2 typer rich sqlglot"

    def imported(code):
        code = f"import sys; {code}; print(*[m for m in {optional.split()!r} if m in sys.modules])"
        return subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout.split()

    assert imported("from unnaive import *") == imported("import sklearn.callback")


def test_the_package_root_imports_names_when_they_are_asked_for():
    code = "import sys, unnaive; print('numpy' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "False\n"
    assert set(unnaive.__all__) <= set(dir(unnaive))
    with pytest.raises(AttributeError, match="module 'unnaive' has no attribute 'nothing'"):
        unnaive.nothing


@pytest.mark.parametrize("estimator", EVERY, ids=repr)
def test_pickle_and_deepcopy_keep_every_learned_byte(estimator):
    X, y = mixed_table(120)
    model = clone(estimator).fit(X, y)
    assert_same_model(model, pickle.loads(pickle.dumps(model)))
    assert_same_model(model, copy.deepcopy(model))


@pytest.mark.parametrize("estimator", [*CLASSIFIERS, *META, *CHOOSERS], ids=repr)
def test_predict_is_the_arg_max_of_predict_proba(estimator):
    X, y = mixed_table(300)
    model = clone(estimator).fit(X[:200], y[:200])
    p = model.predict_proba(X)
    assert (model.predict(X) == model.classes_[p.argmax(axis=1)]).all()
    np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-12)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), p, atol=1e-12)


def test_works_inside_scikit_learn_tools():
    X, y = mixed_table(200)
    model = unnaive.NaiveBayesClassifier()
    search = GridSearchCV(model, {"alpha": [0.1, 1.0], "numeric": ["mdl", "gaussian"]}, cv=3)
    chance = pd.Series(y).value_counts(normalize=True).max()
    assert search.fit(X, y).best_score_ > chance + 0.05
    assert cross_val_score(CalibratedClassifierCV(model, cv=3), X, y, cv=3).mean() > chance + 0.05
    numbers = X[["age", "income"]].fillna(0)
    alone = model.fit(numbers, y).score(numbers, y)
    assert alone > chance
    for ensemble in (AdaBoostClassifier(model, n_estimators=5), BaggingClassifier(model)):
        score = ensemble.set_params(random_state=0).fit(numbers, y).score(numbers, y)
        assert score >= alone - 0.05
    chain = make_pipeline(unnaive.Discretizer(), unnaive.NaiveBayesClassifier())
    assert chain.fit(numbers, y).score(numbers, y) > chance


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=repr)
@pytest.mark.parametrize("wrapper", [AdaBoostClassifier, BaggingClassifier])
def test_scikit_learns_boosting_and_bagging_work_around_it(estimator, wrapper):
    X, y = load_iris(return_X_y=True)
    ensemble = wrapper(clone(estimator), n_estimators=3, random_state=0).fit(X, y)
    assert ensemble.score(X, y) > 0.8
    np.testing.assert_allclose(ensemble.predict_proba(X).sum(axis=1), 1, atol=1e-9)
