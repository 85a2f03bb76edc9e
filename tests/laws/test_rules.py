"""Every rule for numbers does the same in every estimator that accepts it.

The rules come from the registry, with one that is defined here, outside of the library.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass, fields
from itertools import pairwise

import numpy as np
import pytest
from sklearn.base import clone

import unnaive
from helpers import assert_same_model, mixed_table
from unnaive import BaggedNaiveBayesClassifier as Bagged
from unnaive import BoostedNaiveBayesClassifier as Boosted
from unnaive import Discretizer, NaiveBayesClassifier, scan
from unnaive import HierarchicalMixtureClassifier as Mixture
from unnaive.common.checks import check_number
from unnaive.discretize.rules import RULES, ColumnSums, CuttingRule
from unnaive.encode import Bins


@dataclass(frozen=True)
class Gaps(CuttingRule, name="gaps"):
    """Cuts in the middle of the widest gaps, the widest first."""

    needs_moments = True
    n_bins: int = 10  # a parameter of every estimator
    least: float = 0.001  # of the standard deviation; a parameter of none

    def check(self) -> None:
        check_number(self, "least", 0)

    def cuts(self, column: ColumnSums) -> np.ndarray:
        gaps = column.grid.low[1:] - column.grid.high[:-1]
        widest = np.argsort(-gaps, kind="stable")[: self.n_bins - 1]
        wide = widest[gaps[widest] > self.least * np.sqrt(column.whole.variance)]
        return column.grid.high[wide] + 0.5 * gaps[wide]


ALL = list(RULES)
del RULES[Gaps.name]  # other tests do not know of it
BUILT_IN = dict(RULES)
DENSITIES = [name for name, rule in BUILT_IN.items() if not issubclass(rule, CuttingRule)]
CUTTING = [name for name in ALL if name not in DENSITIES]
ENSEMBLES = [Boosted(random_state=0), Bagged(random_state=0), Mixture(n_sweeps=2, random_state=0)]
ACCEPTING = [
    *[(NaiveBayesClassifier(numeric=name), name) for name in ALL],
    *[(clone(model).set_params(numeric=name), name) for model in ENSEMBLES for name in CUTTING],
    *[(Discretizer(name), name) for name in CUTTING],
]
cutting = pytest.mark.parametrize("rule", CUTTING)
densities = pytest.mark.parametrize("rule", DENSITIES)
ensembles = pytest.mark.parametrize("model", ENSEMBLES, ids=lambda model: type(model).__name__)
options = pytest.mark.parametrize(
    "options",
    [{}, {"n_bins": 4, "bandwidth": "cv", "grid_limit": 32}, {"class_weight": "balanced"}],
    ids=str,
)
accepting = pytest.mark.parametrize(
    "model",
    [model for model, _ in ACCEPTING],
    ids=[f"{type(m).__name__}-{n}" for m, n in ACCEPTING],
)


@pytest.fixture(autouse=True)
def registry(monkeypatch):
    for name in RULES.keys() - BUILT_IN.keys():  # left by others
        monkeypatch.delitem(RULES, name)
    monkeypatch.setitem(RULES, Gaps.name, Gaps)


def assert_equal_cuts(a, b):
    """But for the last bit of means, which are added up over the classes where rows have them."""
    np.testing.assert_allclose(a, b, rtol=1e-14)


@cutting
@options
def test_one_undrawn_bag_is_naive_bayes(rule, options):
    X, y = mixed_table(400)
    plain = NaiveBayesClassifier(numeric=rule, **options).fit(X, y)
    bag = Bagged(n_estimators=1, bootstrap=False, numeric=rule, **options).fit(X, y)
    np.testing.assert_array_equal(bag.predict_proba(X), plain.predict_proba(X))
    hard = Bagged(n_estimators=3, bootstrap=False, voting="hard", numeric=rule, **options)
    assert (hard.fit(X, y).predict(X) == plain.predict(X)).all()


@cutting
@options
@pytest.mark.parametrize("algorithm", ["real", "m1", "samme"])
def test_one_boosting_round_predicts_as_naive_bayes(algorithm, rule, options):
    X, y = mixed_table(400)
    plain = NaiveBayesClassifier(numeric=rule, **options).fit(X, y)
    once = {"n_estimators": 1, "learning_rate": 1.0, "calibration": "none"}
    model = Boosted(algorithm=algorithm, numeric=rule, **once, **options)
    assert (model.fit(X, y).predict(X) == plain.predict(X)).all()
    if algorithm == "real":
        np.testing.assert_array_equal(model.predict_proba(X), plain.predict_proba(X))


@cutting
@options
def test_one_expert_one_batch_sweep_no_noise_is_naive_bayes(rule, options):
    """Given its pseudo-counts; its counters round the weights of rows, so class weights nearly."""
    X, y = mixed_table(400)
    exact = "class_weight" not in options
    plain = NaiveBayesClassifier(numeric=rule, alpha=0.5, prior_alpha=0.5, **options).fit(X, y)
    once = {"layers": (1,), "n_sweeps": 1, "noise": 0, "training": "batch", "calibration": "none"}
    model = Mixture(numeric=rule, **once, **options)
    evidence, expected = model.fit(X, y).evidence(X), plain.evidence(X)
    close = {"rtol": 0, "atol": 0 if exact else 1e-5}
    expert = evidence.members[-1]
    np.testing.assert_allclose(expert.contributions, expected.contributions, **close)
    np.testing.assert_allclose(expert.baseline, expected.baseline, **close)
    np.testing.assert_allclose(
        model.predict_proba(X), plain.predict_proba(X), atol=1e-14 if exact else 1e-5
    )


@cutting
def test_the_intervals_of_naive_bayes_are_those_of_the_discretizer(rule):
    X, y = mixed_table(400)
    numbers = X[["age", "income", "ratio"]]
    for given in ({}, {"n_bins": 4, "grid_limit": 32}):
        bandwidth = NaiveBayesClassifier().bandwidth
        cuts = Discretizer(rule, bandwidth=bandwidth, **given).fit(numbers, y).cuts_
        coders = NaiveBayesClassifier(numeric=rule, **given).fit(numbers, y).coders_
        for own, coder in zip(cuts, coders, strict=True):
            assert isinstance(coder, Bins)
            assert_equal_cuts(own, coder.cuts)
    assert any(len(own) for own in cuts)


@accepting
def test_several_blocks_of_a_file_equal_memory(model, tmp_path):
    X, y = mixed_table(300)
    edges = [0, 3, 150, 151, 300]
    for k, (a, b) in enumerate(pairwise(edges)):
        X[a:b].assign(label=y[a:b]).to_parquet(tmp_path / f"part-{k}.parquet", index=False)
    whole = clone(model).fit(X, y)
    assert_same_model(whole, clone(model).fit(scan(tmp_path, "label")))
    if isinstance(model, NaiveBayesClassifier | Discretizer):
        parts = clone(model)
        for a, b in pairwise(edges):
            parts.partial_fit(X[a:b], y[a:b])
        assert_same_model(whole, parts)


@cutting
def test_a_rule_looks_at_classes_if_it_says_so(rule):
    X, y = mixed_table(200)
    X = X[["age", "income"]]
    if RULES[rule].supervised:
        with pytest.raises(ValueError, match=f"method '{rule}' requires y to be passed"):
            Discretizer({"age": rule, "income": "width"}).fit(X)
    else:
        with_y, without = Discretizer(rule).fit(X, y), Discretizer(rule).fit(X)
        mapped = Discretizer({"age": rule, "income": rule}).fit(X, y)  # counted by class
        for a, b, c in zip(with_y.cuts_, without.cuts_, mapped.cuts_, strict=True):
            assert_equal_cuts(a, b)
            assert_equal_cuts(a, c)


@densities
@ensembles
def test_rules_without_intervals_are_refused_where_rows_are_counted_in_them(model, rule):
    X, y = mixed_table(50)
    names = ", ".join(map(repr, CUTTING))
    words = f"numeric must be one of {names}, or a dict of these; got '{rule}', which fits"
    for numeric in (rule, {"age": rule}):
        with pytest.raises(ValueError, match=words):
            clone(model).set_params(numeric=numeric).fit(X, y)


@densities
def test_the_discretizer_refuses_rules_without_intervals(rule):
    with pytest.raises(ValueError, match=f"method must be one of 'mdl'.*got '{rule}', which fits"):
        Discretizer(rule).fit([[1.0], [2.0]], [0, 1])


@pytest.mark.parametrize("cls", [NaiveBayesClassifier, Boosted, Bagged, Mixture, Discretizer])
def test_options_are_parameters_with_the_defaults_of_the_rules(cls):
    accepted = BUILT_IN if cls is NaiveBayesClassifier else set(BUILT_IN) - set(DENSITIES)
    parameters = inspect.signature(cls).parameters
    for name in accepted:
        for option in fields(BUILT_IN[name]):
            # The one exception: Discretizer looks for the widths unless told.
            searched = (cls, option.name) == (Discretizer, "bandwidth")
            assert parameters[option.name].default == ("cv" if searched else option.default)
    choices = ", ".join(f'"{name}"' for name in BUILT_IN if name in accepted)
    assert f"{{{choices}}} or dict" in cls.__doc__
    assert "<" not in cls.__doc__.split("Attributes")[0]


@pytest.mark.parametrize("option", ["n_bins", "bandwidth"])
def test_wrong_options_are_named_by_every_estimator(option):
    X, y = mixed_table(50)
    for model in (NaiveBayesClassifier(), *ENSEMBLES, Discretizer()):
        with pytest.raises(ValueError, match=f"{option} must be .*; got -1"):
            clone(model).set_params(**{option: -1}).fit(X, y)


def test_a_rule_from_outside_takes_the_options_that_estimators_have():
    X, y = mixed_table(300)
    cuts = Discretizer(Gaps.name, n_bins=3).fit(X[["income"]]).cuts_[0]
    values = np.sort(X["income"].dropna())
    widest = np.sort(np.argsort(-np.diff(values))[:2])
    np.testing.assert_allclose(cuts, (values[widest] + values[widest + 1]) / 2)
    few = Boosted(numeric={"income": Gaps.name}, n_bins=3).fit(X, y)
    assert few.scorer_.terms[1].coder.cuts.tolist() == cuts.tolist()


def test_a_file_of_a_model_asks_for_its_rule(tmp_path, monkeypatch):
    X, y = mixed_table(100)
    model = NaiveBayesClassifier(numeric=Gaps.name).fit(X, y)
    unnaive.save(model, tmp_path / "model.unv")
    assert_same_model(model, unnaive.load(tmp_path / "model.unv"))
    monkeypatch.delitem(RULES, Gaps.name)
    with pytest.raises(ValueError, match=r"numeric must be one of .* got 'gaps'"):
        unnaive.load(tmp_path / "model.unv")
