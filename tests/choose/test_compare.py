"""Classifiers side by side: same folds, honest figures, awkward tables, time budgets."""

from __future__ import annotations

import io
import json
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.stats import t as student_t
from scipy.stats import ttest_1samp
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    StratifiedKFold,
    cross_val_predict,
    cross_val_score,
)
from sklearn.neighbors import KNeighborsClassifier

from helpers import mixed_table
from unnaive import (
    AutoClassifier,
    C45Classifier,
    NaiveBayesClassifier,
    PooledClassifier,
    compare,
    load,
    save,
    scan,
)
from unnaive.choose import make_model
from unnaive.choose.comparison import MEASURES, differ, spread
from unnaive.common.registry import family
from unnaive.encode.hashing import deal_folds
from unnaive.encode.sampling import sample_rows
from unnaive.table import arrow, open_table

CHEAP = ["nb", "gaussian", "c45"]


class Watch:
    """A time that passes only when it is told to, so that no test waits or depends on a machine."""

    now = 0.0

    def perf_counter(self):
        return self.now


watch = Watch()


@pytest.fixture
def told_time(monkeypatch):
    monkeypatch.setattr(sys.modules["unnaive.choose.compare"], "time", watch)
    return watch


class Sleeper(ClassifierMixin, BaseEstimator):
    """Answers class frequencies, and takes its time for every row of training."""

    def __init__(self, nap=1e-4):
        self.nap = nap

    def seconds(self, n):
        return self.nap * n

    def fit(self, X, y, sample_weight=None):
        watch.now += self.seconds(len(y))
        self.classes_, counts = np.unique(y, return_counts=True)
        self.share_ = counts / counts.sum()
        return self

    def predict_proba(self, X):
        return np.tile(self.share_, (len(X), 1))

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


class Broken(Sleeper):
    def predict_proba(self, X):
        return np.full((len(X), len(self.classes_)), np.nan)


def figures(found):
    return {r.name: r.quality for r in found.results}


def test_the_whole_family_runs_on_a_mixed_table_and_the_best_is_fitted_on_all_rows():
    X, y = mixed_table(150)
    found = compare(X, y, cv=2, random_state=0)
    assert [r.problem for r in found.results] == [""] * len(family())
    assert {r.name for r in found.results} == set(family())
    losses = [r.quality.log_loss for r in found.results]
    assert losses == sorted(losses)
    assert found.best_name_ == found.results[0].name
    again = clone(found.results[0].estimator).fit(X, y)
    assert (again.predict_proba(X) == found.best_.predict_proba(X)).all()
    for result in found.results:
        assert result.fit_seconds > 0
        assert result.predict_seconds > 0
        assert result.size > 500


def test_figures_are_those_of_scikit_learns_cross_validation():
    X, y = mixed_table(300)
    folds = StratifiedKFold(4, shuffle=True, random_state=0)
    found = compare(X, y, models=CHEAP, cv=folds, random_state=0)
    for result in found.results:
        p = cross_val_predict(result.estimator, X, y, cv=folds, method="predict_proba")
        assert result.quality.log_loss == pytest.approx(log_loss(y, p), rel=1e-9)
        best = np.unique(y)[p.argmax(axis=1)]
        assert result.quality.accuracy == pytest.approx((best == y).mean())


def test_the_same_seed_gives_the_same_figures_whatever_the_table_and_the_threads():
    X, y = mixed_table(200)
    first = compare(X, y, models=CHEAP, cv=3, random_state=0)
    arrow = pa.Table.from_pandas(X)
    for table in (pl.from_pandas(X), arrow, X.set_axis(range(7, 207)), arrow.to_reader()):
        again = compare(table, y, models=CHEAP, cv=3, random_state=0, n_jobs=2)
        assert figures(again) == figures(first)
    assert figures(compare(X, y, models=CHEAP, cv=3, random_state=1)) != figures(first)


def test_weight_is_repetition_given_the_same_folds_and_zero_weight_is_absence():
    X, y = mixed_table(120)
    weight = np.random.default_rng(0).integers(0, 3, len(y))
    folds = np.arange(len(y)) % 3
    repeat = np.repeat(np.arange(len(y)), weight)
    splits = [(np.flatnonzero(folds != k), np.flatnonzero(folds == k)) for k in range(3)]
    own = folds[repeat]
    repeated = [(np.flatnonzero(own != k), np.flatnonzero(own == k)) for k in range(3)]
    tree = {"c45": C45Classifier(calibration="none")}  # halves of rows are drawn row by row
    given = {"models": CHEAP[:2], "estimators": tree}
    a = compare(X, y, cv=splits, sample_weight=weight, **given)
    b = compare(X.iloc[repeat], y[repeat], cv=repeated, **given)
    for name, quality in figures(a).items():
        assert quality.log_loss == pytest.approx(figures(b)[name].log_loss, rel=1e-9)
        assert quality.accuracy == pytest.approx(figures(b)[name].accuracy)
    assert a.n_rows == np.count_nonzero(weight)


@pytest.mark.parametrize("n_folds", [2, 5])
def test_folds_have_their_share_of_every_class_also_of_tiny_ones(n_folds):
    groups = np.repeat([0, 1, 2, 3], [1, 3, 40, 57])
    folds = deal_folds(0, np.arange(len(groups)), groups, n_folds)
    sizes = np.bincount(folds, minlength=n_folds)
    assert sizes.max() - sizes.min() <= 1
    for group in range(4):
        each = np.bincount(folds[groups == group], minlength=n_folds)
        assert each.max() - each.min() <= 1
    assert (folds != deal_folds(1, np.arange(len(groups)), groups, n_folds)).any()


def test_tiny_classes_strings_gaps_constant_and_empty_columns():
    X, y = mixed_table(80)
    X = X.assign(nothing=np.nan, always="same", when=pd.date_range("2024-01-01", periods=80))
    y = y.astype(object)
    y[:2], y[2] = "rare", "once"
    found = compare(X, y, cv=5, random_state=0)
    assert found.notes == []
    assert set(found.best_.classes_) == set(y)
    assert all(0 < r.quality.log_loss < 5 for r in found.results)


def test_one_class_two_rows_and_more_folds_than_rows():
    X = pd.DataFrame({"a": [1.0, 2.0, 3.0]})
    found = compare(X, ["x"] * 3, models=CHEAP, cv=10)
    assert found.n_folds == 3
    assert figures(found)["nb"].accuracy == 1
    assert compare(X[:2], ["x", "y"], models=["nb"]).n_folds == 2
    with pytest.raises(ValueError, match="2 rows or more"):
        compare(X[:1], ["x"])


def test_a_failing_estimator_is_shown_not_raised():
    X, y = mixed_table(90)
    found = compare(
        X, y, models=["nb"], estimators={"linear": LogisticRegression(), "nan": Broken(0)}, cv=3
    )
    assert found.best_name_ == "nb"
    problems = {r.name: r.problem for r in found.results if r.problem}
    assert "could not convert string to float" in problems["linear"]
    assert problems["nan"] == "ValueError: predict_proba returned values that are not finite"
    assert "linear: ValueError: could not" in repr(found)


def test_if_all_fail_the_reasons_are_raised():
    X, y = mixed_table(40)
    with pytest.raises(ValueError, match="no model could be fitted: Ridge.*could not convert"):
        compare(X, y, models=[], estimators=RidgeClassifier())


def test_estimators_without_probabilities_or_weights():
    X, y = mixed_table(120)
    numbers = X[["age", "income"]].fillna(0)
    found = compare(
        numbers, y, models=["nb"], estimators=[RidgeClassifier(), DummyClassifier()], cv=3
    )
    assert {r.name for r in found.results} == {"nb", "RidgeClassifier", "DummyClassifier"}
    ridge = found.results[-1]
    assert ridge.name == "RidgeClassifier"
    assert ridge.quality.accuracy > 0.3
    assert np.isnan(ridge.quality.log_loss)
    weighted = compare(
        numbers, y, models=["nb"], estimators=[KNeighborsClassifier()], sample_weight=np.ones(120)
    )
    assert weighted.notes == [
        "KNeighborsClassifier: TypeError: KNeighborsClassifier takes no sample_weight"
    ]
    best = compare(numbers, y, models=[], estimators=RidgeClassifier(), criterion="accuracy", cv=2)
    assert best.best_.predict(numbers).shape == (120,)


def test_names_of_estimators():
    X, y = mixed_table(40)
    two = compare(X, y, models=[], estimators=[Sleeper(0), Sleeper(0)], cv=2)
    assert sorted(r.name for r in two.results) == ["Sleeper", "Sleeper-2"]
    pairs = compare(X, y, models="nb", estimators=[("mine", NaiveBayesClassifier(alpha=1))], cv=2)
    assert sorted(r.name for r in pairs.results) == ["mine", "nb"]


def test_a_time_budget_takes_the_cheapest_first_and_says_what_was_left_out(told_time):
    X, y = mixed_table(400)
    others = {"slow": Sleeper(1e-2), "middle": Sleeper(1e-3), "quick": Sleeper(1e-5)}
    start, order = told_time.now, []
    found = compare(
        X,
        y,
        models=["nb"],
        estimators=others,
        time_budget=6.0,
        random_state=0,
        progress=lambda name, *_: order.append(name),
    )
    assert list(dict.fromkeys(order)) == ["nb", "quick", "middle", "slow"]
    assert told_time.now - start <= 6
    assert {r.name for r in found.results if r.quality} == {"nb", "quick", "middle"}
    assert found.results[-1].left_out
    assert "slow: left out: the time budget of 6 s is too small for it" in repr(found)
    assert "nan" not in repr(found)


def test_something_is_always_found(told_time):
    X, y = mixed_table(100)
    for budget in (1e-9, 0.01, 1.0):
        found = compare(
            X, y, models=[], estimators=[Sleeper(0.1), Sleeper(0.2)], time_budget=budget, cv=2
        )
        assert found.best_name_ == "Sleeper"
        assert [r.name for r in found.results if r.left_out] == ["Sleeper-2"]


def test_a_model_that_turns_out_slow_is_left_out_between_folds(told_time):
    class Slowing(Sleeper):
        def seconds(self, n):
            return 1.0 if n == 320 else 0.0  # in folds, not on the few rows before

    X, y = mixed_table(400)
    slow = {"slow": Slowing()}
    start = told_time.now
    found = compare(X, y, models=["nb"], estimators=slow, time_budget=2.5, random_state=0)
    assert found.best_name_ == "nb"
    reason = "left out after 1 of 5 folds: the time budget of 2.5 s is too small for it"
    assert found.notes == [f"slow: {reason}"]
    assert told_time.now - start <= 2.5


def test_times_are_those_of_the_median_fold(told_time):
    class First(Sleeper):
        def seconds(self, n):
            return 30.0 if watch.now == start else 2.0  # compiles when it is first called

    X, y = mixed_table(60)
    start = told_time.now
    found = compare(X, y, models=[], estimators=First(), cv=3)
    assert found.results[0].fit_seconds == 2.0


def test_splitters_groups_and_ready_folds():
    X, y = mixed_table(60)
    groups = np.arange(60) // 10
    found = compare(X, y, models=["nb"], cv=GroupKFold(3), groups=groups)
    parts = [list(GroupKFold(3).split(X, y, groups))]
    assert figures(found) == figures(compare(X, y, models=["nb"], cv=parts[0]))
    assert found.n_folds == 3
    assert compare(X, y, models=["nb"], cv=KFold(2)).n_folds == 2


def test_categories_may_be_named():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 5, (300, 2)).astype(float)
    y = np.isin(X[:, 0], [0, 3]).astype(int)
    plain = compare(X, y, models=["gaussian", "decomposition"], cv=3, random_state=0)
    told = compare(
        X, y, models=["gaussian", "decomposition"], cv=3, random_state=0, categorical_features=[0]
    )
    assert figures(plain)["gaussian"].accuracy < 1
    assert figures(told)["gaussian"].accuracy == 1
    assert figures(told)["decomposition"].accuracy == 1
    assert figures(told)["decomposition"] != figures(plain)["decomposition"]


def test_progress_is_told():
    X, y = mixed_table(60)
    told = []
    compare(X, y, models=["nb", "c45"], cv=3, progress=lambda *what: told.append(what))
    assert told[0] == ("nb", 0, 6)
    assert told[-1] == ("c45", 6, 6)
    assert [done for _, done, _ in told] == sorted(done for _, done, _ in told)


def test_the_frame_is_of_the_tables_own_kind():
    X, y = mixed_table(60)
    frame = compare(X, y, models=["nb", "c45"], cv=2).frame
    assert isinstance(frame, pd.DataFrame)
    assert list(frame["model"]) == ["nb", "c45"] or list(frame["model"]) == ["c45", "nb"]
    assert frame["log_loss"].between(0, 10).all()
    assert isinstance(compare(pl.from_pandas(X), y, models=["nb"], cv=2).frame, pl.DataFrame)
    numbers = X[["age"]].to_numpy()
    assert isinstance(compare(numbers, y, models=["nb"], cv=2).frame, pd.DataFrame)
    columns = compare(X, y, models=["nb"], cv=2).to_dict()
    assert json.loads(json.dumps(columns))["model"] == ["nb"]


def test_printing_plainly_richly_and_in_notebooks():
    from rich.console import Console

    X, y = mixed_table(90)
    found = compare(X, y, models=CHEAP, estimators={"<b>": LogisticRegression()}, cv=3)
    plain = repr(found)
    lines = plain.splitlines()
    assert lines[0].startswith("90 rows, 6 columns, 3 classes; 3-fold cross-validation")
    assert lines[2].split()[:3] == ["model", "accuracy", "log"]
    assert len({len(line) for line in lines[2:6]}) == 1
    assert "\x1b" not in plain
    wide, page = io.StringIO(), found._repr_html_()
    Console(file=wide, width=120, force_terminal=True).print(found)
    assert "\x1b[1;32m" in wide.getvalue()
    assert all(name in wide.getvalue() for name in CHEAP)
    assert "&lt;b&gt;: ValueError" in page
    assert "<b>:" not in page
    assert page.count("<tr>") == 4


def test_show_prints_plainly_into_a_pipe():
    code = (
        "from unnaive import compare; from sklearn.datasets import load_iris;"
        "compare(*load_iris(return_X_y=True), models=['nb'], cv=2).show()"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "\x1b" not in out.stdout
    assert out.stdout.splitlines()[3].startswith("nb ")


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"models": ["nb", "tree"]}, "models contains 'tree'; choose from nb, gaussian"),
        ({"models": []}, "nothing to compare"),
        ({"estimators": {"nb": Sleeper()}}, "estimators has 'nb', which is the name of a model"),
        ({"criterion": "gini"}, "criterion must be 'accuracy' or .*; got 'gini'"),
        ({"criterion": "ks"}, "criterion 'kolmogorov_smirnov' needs 2 classes; y has 3"),
        ({"repeats": 0}, "repeats must be a whole number, 1 or more; got 0"),
        ({"repeats": 2, "cv": KFold(2)}, "repeats needs cv to be a number of folds"),
        ({"time_budget": 0}, "time_budget must be a number of seconds above 0, or None; got 0"),
        ({"cv": 1}, "cv must be 2 folds or more; got 1"),
        ({"sample_weight": [1.0]}, "one number per row"),
        ({"groups": [1, 2]}, "inconsistent numbers of samples"),
        ({"cv": [([0, 1], [])]}, "cv leaves no fold with both"),
    ],
)
def test_wrong_parameters_are_named(params, words):
    X, y = mixed_table(40)
    with pytest.raises(ValueError, match=words):
        compare(X, y, **params)


def test_wrong_estimators_and_tables_are_refused():
    X, y = mixed_table(40)
    with pytest.raises(TypeError, match="estimators contains 3, which is not a classifier"):
        compare(X, y, estimators=[3])
    with pytest.raises(ValueError, match="y has 1 missing labels"):
        compare(X, [None, *y[1:]])
    with pytest.raises(ValueError, match="there is no model 'tree'"):
        make_model("tree")


def test_auto_answers_as_the_best_and_shows_how_it_chose():
    X, y = mixed_table(200)
    model = AutoClassifier(models=CHEAP, cv=3, random_state=0).fit(X, y)
    found = compare(X, y, models=CHEAP, cv=3, random_state=0, pool=True)
    assert model.best_name_ == found.best_name_
    assert model.comparison_.results == found.results
    assert (model.predict_proba(X) == found.best_.predict_proba(X)).all()
    assert (model.predict_log_proba(X) == found.best_.predict_log_proba(X)).all()
    assert list(model.feature_names_in_) == list(X)
    with pytest.raises(ValueError, match="Feature names seen at fit time, yet now missing"):
        model.predict(X.drop(columns="age"))


def test_auto_keeps_its_best_in_a_file(tmp_path):
    X, y = mixed_table(80)
    model = AutoClassifier(models=CHEAP, cv=2, random_state=0).fit(X, y)
    for saved in (model, model.best_estimator_):
        save(saved, tmp_path / "a.unv")
        again = load(tmp_path / "a.unv")
        assert type(again) is type(saved)
        assert (again.predict_proba(X) == model.predict_proba(X)).all()
    save(model, tmp_path / "a.unv")
    with pytest.raises(AttributeError, match="no comparison_: model files keep the chosen model"):
        load(tmp_path / "a.unv").comparison_


def test_auto_has_what_its_best_has():
    X, y = mixed_table(100)
    numbers = X[["age", "income"]].fillna(0)
    ridge = AutoClassifier(models=[], estimators=RidgeClassifier(), criterion="accuracy", cv=2)
    assert hasattr(ridge, "predict_proba")  # unknown before fitting
    ridge.fit(numbers, y)
    assert not hasattr(ridge, "predict_proba")
    assert not hasattr(ridge, "evidence")
    bayes = AutoClassifier(models=["nb"], cv=2).fit(X, y)
    assert (bayes.evidence(X).total() == bayes.best_estimator_.predict_joint_log_proba(X)).all()


def test_auto_finds_the_model_that_a_table_needs():
    """Naive Bayes cannot learn exclusive or; trees and clusters can."""
    rng = np.random.default_rng(0)
    corner = rng.integers(0, 2, size=(400, 2))
    X, y = corner + 0.2 * rng.normal(size=(400, 2)), corner[:, 0] != corner[:, 1]
    model = AutoClassifier(cv=3, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.95
    assert model.best_name_ not in ("nb", "gaussian", "kernel", "boosted", "bagged")


@pytest.mark.parametrize("time_budget", [None, 60])
def test_ctrl_c_inside_compiled_code_stops_the_comparison(time_budget):
    """Numba's kernels turn it into a SystemError."""

    class Stopped(NaiveBayesClassifier):
        def fit(self, X, y, sample_weight=None):
            try:
                raise KeyboardInterrupt
            except KeyboardInterrupt as stop:
                raise SystemError("returned a result with an exception set") from stop

    X, y = mixed_table(60)
    with pytest.raises(KeyboardInterrupt):
        compare(X, y, models=[], estimators={"stopped": Stopped()}, time_budget=time_budget)


def test_areas_are_means_over_folds_as_scikit_learn_computes_them():
    X, y = mixed_table(200, seed=5, classes=2)
    folds = StratifiedKFold(4, shuffle=True, random_state=1)
    found = compare(X, y, models=["nb"], cv=folds, criterion="auc", n_jobs=1)
    result, model = found.results[0], make_model("nb", n_jobs=1)
    assert found.criterion == "roc_auc"
    for name, scoring in (("roc_auc", "roc_auc"), ("average_precision", "average_precision")):
        labels = (y == np.unique(y)[1]).astype(int)
        each = cross_val_score(model, X, labels, cv=folds, scoring=scoring)
        np.testing.assert_allclose(result.figures(name), each, atol=1e-12)
        assert getattr(result.quality, name) == pytest.approx(each.mean(), abs=1e-12)
    assert set(MEASURES) <= set(found.to_dict())
    assert found.to_dict()["roc_auc_sd"][0] == pytest.approx(
        np.std(result.figures("roc_auc"), ddof=1)
    )


def test_without_a_seed_every_run_is_the_same_and_repeats_deal_new_folds():
    X, y = mixed_table(120, seed=2)
    given = {"models": ["nb", "bagged"], "cv": 3}
    first, again = compare(X, y, **given), compare(X, y, **given)
    assert [r.folds for r in first.results] == [r.folds for r in again.results]
    more = compare(X, y, repeats=2, **given)
    folds = {r.name: r.folds for r in more.results}
    for result in first.results:
        assert folds[result.name][:3] == result.folds
        assert folds[result.name][3:] != result.folds
    assert "3-fold cross-validation, 2 times" in more.title


def test_what_does_not_differ_from_the_best_is_marked():
    X, y = mixed_table(200, seed=2)
    same = {"twin": make_model("nb", random_state=0), "chance": DummyClassifier(strategy="prior")}
    found = compare(X, y, models=["nb"], estimators=same, repeats=2)
    marks = {r.name: r.as_good for r in found.results}
    assert marks == {"nb": True, "twin": True, "chance": False}
    lines = {line.split()[0]: line for line in repr(found).splitlines() if line}
    assert " = " in lines["twin"]
    assert " = " not in lines["chance"]
    assert "\u00b1" in lines["nb"]
    assert "= does not differ from the best" in repr(found)


def test_the_test_of_differences_is_nadeau_and_bengios():
    rng = np.random.default_rng(0)
    for shift in (0.0, 0.02, 0.2):
        a, b = rng.normal(0.5, 0.05, 10), rng.normal(0.5 + shift, 0.05, 10)
        gaps, factor = a - b, np.sqrt((1 / 10 + 1 / 4) / (1 / 10))
        t = ttest_1samp(gaps, 0.0).statistic / factor
        assert differ(a, b, 0.25) == (2 * student_t.sf(abs(t), 9) < 0.05)
    assert not differ([0.5, 0.6], [0.5, 0.6], 0.25)
    assert differ([0.5, 0.6], [0.7, 0.8], 0.25)
    assert not differ([0.5], [0.9], 0.25)
    assert np.isnan(spread([0.5]))


# Rows that are read from elsewhere -----------------------------------------------------------


@pytest.fixture
def rows_of_files(tmp_path, monkeypatch):
    """A table with weights of 0 to 2, and a folder of its rows, shuffled, with their numbers."""
    monkeypatch.setattr(arrow, "MOST_ROWS", 40)
    monkeypatch.setattr(arrow, "LEAST_ROWS", 40)
    X, y = mixed_table(150, classes=2)
    weight = np.random.default_rng(0).integers(0, 3, 150)
    whole = X.assign(y=y, w=weight, number=np.arange(150)).sample(frac=1, random_state=0)
    for k in range(2):
        whole[75 * k : 75 * (k + 1)].to_parquet(tmp_path / f"{k}.parquet", index=False)
    return X, y, weight, scan(tmp_path, "y", weight="w", columns=list(X), row_id="number")


@pytest.mark.parametrize("model", [AutoClassifier, PooledClassifier])
def test_files_are_compared_and_pooled_as_their_rows_in_memory_are(model, rows_of_files):
    X, y, weight, files = rows_of_files
    ready = [(np.arange(50, 150), np.arange(50)), (np.arange(100), np.arange(100, 150))]
    options = {"models": ["nb", "c45"]} if model is AutoClassifier else {"estimators": ["nb"]}
    for cv in (2, StratifiedKFold(2, shuffle=True, random_state=0), ready):
        found = model(cv=cv, random_state=0, **options)
        memory, own = clone(found).fit(X, y, weight), clone(found).fit(files)
        np.testing.assert_allclose(own.predict_proba(X), memory.predict_proba(X), 0, 1e-9)
    assert own.target_name == "y"
    if model is AutoClassifier:
        assert own.comparison_.n_rows == np.count_nonzero(weight)


def test_of_many_rows_a_sample_is_compared_and_the_best_learns_from_all(rows_of_files, monkeypatch):
    monkeypatch.setattr("unnaive.encode.sampling.LEAST_OF_CLASS", 5)
    X, y, weight, files = rows_of_files
    n = np.count_nonzero(weight)
    result = compare(files, models=["nb"], cv=2, max_rows=60, random_state=0)
    assert 2 <= result.n_rows < n == result.n_rows_of_scan
    assert f"{result.n_rows} rows of {n}" in result.title
    whole = NaiveBayesClassifier().fit(X, y, weight)
    np.testing.assert_allclose(result.best_.predict_proba(X), whole.predict_proba(X), 0, 1e-9)
    pool = PooledClassifier(["nb"], cv=2, max_rows=60, random_state=0).fit(files)
    block = pool._open(X).block
    np.testing.assert_allclose(
        pool.answer_.root.members[0].predict_proba(block), whole.predict_proba(X), 0, 1e-9
    )
    with pytest.raises(TypeError, match="'DummyClassifier'.*raise max_rows"):
        compare(files, models=[], estimators=DummyClassifier(), cv=2, max_rows=60)
    with pytest.raises(ValueError, match="positions needs all .* rows in memory"):
        compare(files, models=["nb"], cv=[(np.arange(9), np.arange(9, 19))], max_rows=60)
    with pytest.raises(ValueError, match="name the column with the labels"):
        PooledClassifier(["nb"]).fit(files.data)


def test_a_sample_has_every_class_and_its_rows_their_own_labels(tmp_path, monkeypatch):
    monkeypatch.setattr("unnaive.encode.sampling.LEAST_OF_CLASS", 20)
    y = np.where(np.arange(20_000) < 20, "rare", np.where(np.arange(20_000) % 2, "a", "b"))
    table = pd.DataFrame({"x": np.arange(20_000), "text": np.char.add("t", y), "y": y})
    table.to_csv(tmp_path / "rows.csv", index=False)
    source = open_table(BaseEstimator(), scan(tmp_path / "rows.csv", "y"))
    sample = sample_rows(source, 1000, 0)
    assert 850 < len(sample.y) < 1200
    assert sample.n_rows == 20_000
    assert (sample.y == "rare").sum() == 20
    assert (sample.X["x"].to_numpy() == sample.row_ids).all()
    assert (sample.y == y[sample.row_ids]).all()
    assert sample.X["text"].to_pylist() == [f"t{label}" for label in sample.y]
