"""Hierarchical mixtures against their twin, their laws and their edges."""

from __future__ import annotations

import copy
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy.special import logsumexp, softmax
from sklearn.base import clone

import reference_mixture as reference
from blocks import split_memory
from helpers import assert_same_model, mixed_table, nominal_table
from unnaive import HierarchicalMixtureClassifier, NaiveBayesClassifier
from unnaive.answer.mixture import MixtureStructure
from unnaive.encode.hashing import branch_seeds, draw_order
from unnaive.models.hierarchical import grow_layers, initial_table

MIXTURE = partial(HierarchicalMixtureClassifier, calibration="none")


def parity(bits):
    rows = [[str(n >> b & 1) for b in range(bits)] for n in range(2**bits)]
    X = pd.DataFrame(rows, columns=list("abcdefgh"[:bits]))
    return X, (X == "1").sum(axis=1) % 2


def twin_of(model, X, y, weights):
    """The twin, with the same noise, after the same visits."""
    seed = int(np.random.RandomState(model.random_state).randint(2**31 - 1))
    shape = MixtureStructure(tuple(model.layers), len(model.classes_))
    noise = initial_table(shape, model.coders_, model.noise, seed)
    units = shape.models()

    def start(node, u, j, v):
        unit = units[node][u]
        return noise.totals[unit] if j is None else noise.attribute(j)[unit, place[j][v]]

    place = [{v: k + 1 for k, v in enumerate(coder.values)} for coder in model.coders_]
    domains = [list(values) for values in place]
    twin = reference.Mixture(
        shape.layers,
        shape.n_classes,
        domains,
        model.sigma,
        model.gamma,
        start,
        model.likelihood == "bernoulli",
    )
    labels = np.searchsorted(model.classes_, y)
    rows = X.to_numpy().tolist()
    for sweep in branch_seeds(seed, model.n_sweeps):
        online = model.training == "online"
        judge = None if online else copy.deepcopy(twin)
        order = draw_order(int(sweep), np.arange(len(y))) if online else range(len(y))
        for i in order:
            twin.learn(rows[i], labels[i], weights[i], judge, None if online else 2.0**-20)
    return twin


@pytest.mark.parametrize("layers", [(1,), (4,), (2, 2), (2, 1, 3)])
@pytest.mark.parametrize("training", ["online", "batch"])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_it_equals_the_twin(layers, training, seed):
    X, y, weights = nominal_table(seed, classes=2 + seed % 2)
    weights = weights if seed else np.ones(len(y), dtype=int)
    model = MIXTURE(
        layers=layers,
        training=training,
        n_sweeps=3,
        sigma=(0.1, 2.0)[seed % 2],
        likelihood="bernoulli" if seed == 2 else "gaussian",
        random_state=seed,
    ).fit(X, y, weights)
    twin = twin_of(model, X, y, weights)
    rows = X.to_numpy().tolist()
    np.testing.assert_allclose(
        model.predict_proba(X), [twin.probabilities(r) for r in rows], atol=1e-9
    )
    np.testing.assert_allclose(
        model.responsibilities(X), [twin.responsibilities(r) for r in rows], atol=1e-9
    )


def test_a_batch_sweep_depends_on_no_order_or_grouping_of_rows(monkeypatch):
    X, y = mixed_table(500)
    model = MIXTURE(layers=(2, 2), training="batch", random_state=0)
    whole = clone(model).fit(X, y)
    order = np.random.default_rng(0).permutation(len(y))
    assert_same_model(whole, clone(model).fit(X.iloc[order], y[order]))
    twice = clone(model).fit(pd.concat([X, X]), np.concatenate([y, y]))
    assert_same_model(twice, clone(model).fit(X, y, sample_weight=[2] * len(y)))
    split_memory(monkeypatch, [0, 1, 130, 411, 500])
    assert_same_model(whole, clone(model).fit(X, y))


def test_order_matters_to_online_training_only_as_visited(monkeypatch):
    """Rows are visited in the order of the table, in whatever blocks they come."""
    X, y = mixed_table(300)
    model = MIXTURE(shuffle=False, random_state=0)
    whole = clone(model).fit(X, y)
    backwards = clone(model).fit(X[::-1], y[::-1])
    assert np.abs(backwards.predict_proba(X) - whole.predict_proba(X)).max() > 1e-6
    shuffled = clone(model).set_params(shuffle=True)
    other = clone(shuffled).fit(X, y)
    split_memory(monkeypatch, [0, 1, 130, 300])
    assert_same_model(whole, clone(model).fit(X, y))
    assert_same_model(other, shuffled.fit(X, y))


@pytest.mark.parametrize("training", ["online", "batch"])
def test_partial_fit_is_one_sweep_over_what_it_is_given(training):
    X, y = mixed_table(200)
    model = MIXTURE(n_sweeps=3, training=training, random_state=0)
    whole = clone(model).fit(X, y)
    steps = clone(model)
    for _ in range(3):
        steps.partial_fit(X, y, classes=np.unique(y))
    assert steps.n_sweeps_ == 3
    np.testing.assert_allclose(steps.predict_proba(X), whole.predict_proba(X), atol=1e-9)


def test_partial_fit_keeps_what_the_first_call_fixed():
    X, y = mixed_table(200)
    model = MIXTURE(random_state=0).partial_fit(X, y, classes=["maybe", "no", "other", "yes"])
    assert model.classes_.tolist() == ["maybe", "no", "other", "yes"]
    new = X.assign(city="Paris", income=X["income"] * 50)
    model.partial_fit(new, y)
    assert model.predict_proba(new).shape == (200, 4)
    with pytest.raises(ValueError, match="y holds the label 'never'"):
        model.partial_fit(X[:2], ["never", "no"])
    with pytest.raises(ValueError, match=r"layers is now \(2,\), but the model was begun with"):
        model.set_params(layers=(2,)).partial_fit(X, y)
    with pytest.raises(ValueError, match="class_weight='balanced' needs all rows"):
        MIXTURE(class_weight="balanced").partial_fit(X, y)
    with pytest.raises(AttributeError, match="no attribute 'partial_fit'") as found:
        MIXTURE(layers="grow").partial_fit(X, y)
    assert "layers='grow' judges architectures on all rows" in str(found.value.__cause__)


@pytest.mark.parametrize("layers", [(2,), (4,)])
@pytest.mark.parametrize("training", ["online", "batch"])
def test_exclusive_or_is_loaded_by_one_layer(layers, training):
    X, y = parity(2)
    for seed in range(25):
        model = MIXTURE(layers=layers, n_sweeps=50, training=training, random_state=seed)
        assert model.fit(X, y).score(X, y) == 1
    assert NaiveBayesClassifier().fit(X, y).score(X, y) == 0.5


@pytest.mark.parametrize("depth", [6, 7])
def test_four_bit_parity_is_loaded_by_six_and_seven_layers(depth):
    X, y = parity(4)
    for seed in range(4):
        model = MIXTURE(layers=(2,) * depth, gamma=0.01, n_sweeps=1000, random_state=seed)
        assert model.fit(X, y).score(X, y) == 1


def test_evidence_is_joined_by_log_sum_exp():
    X, y = mixed_table(150)
    model = MIXTURE(layers=(2, 3), random_state=0).fit(X, y)
    why = model.evidence(X)
    gates, experts = why.members[:3], why.members[3:]
    assert [part.contributions.shape for part in gates] == [(150, 6, 2), (150, 6, 3), (150, 6, 3)]
    assert [part.contributions.shape for part in experts] == [(150, 6, 3)] * 6
    root = softmax(gates[0].total(), axis=1)
    below = np.stack([softmax(gate.total(), axis=1) for gate in gates[1:]], axis=1)
    trust = (root[:, :, None] * below).reshape(150, 6)
    np.testing.assert_allclose(why.member_weights[:, 3:], trust, atol=1e-12)
    np.testing.assert_allclose(model.responsibilities(X), trust, atol=1e-12)
    scores = np.stack([expert.total() for expert in experts], axis=1)
    logs = scores - logsumexp(scores, axis=2, keepdims=True)
    joined = logsumexp(np.log(trust)[:, :, None] + logs, axis=1)
    np.testing.assert_allclose(np.log(why.total()), joined, atol=1e-9)
    np.testing.assert_allclose(model.predict_log_proba(X), joined, atol=1e-9)


def test_growing_finds_what_it_takes_and_no_more():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.choice(list("01"), (400, 3)), columns=list("abc"))
    both = MIXTURE(layers="grow", n_sweeps=20, random_state=0).fit(X, X["a"] != X["b"])
    assert np.prod(both.layers_) >= 2
    assert both.score(X, X["a"] != X["b"]) == 1
    alone = MIXTURE(layers="grow", random_state=0).fit(X, X["a"] == "1")
    assert alone.layers_ == (1,)
    assert dict(alone.growth_)[(1,)] == 1
    X, y = mixed_table(100)
    few = MIXTURE(layers="grow", max_experts=2, random_state=0).fit(X, y)
    assert {layers for layers, _ in few.growth_} == {(1,), (2,)}


def test_growing_climbs_while_it_gains():
    accuracy = {(1,): 0.5, (2,): 0.5, (4,): 0.6, (2, 2): 0.7, (2, 4): 0.65, (2, 2, 2): 0.8}
    best, tried = grow_layers(lambda layers: accuracy.get(layers, 0.1), 16)
    assert best == (2, 2, 2)
    assert [layers for layers, _ in tried][-2:] == [(2, 2, 4), (2, 2, 2, 2)]
    assert grow_layers(lambda layers: 0.5, 16)[0] == (1,)


def test_many_columns_and_large_weights_stay_in_range():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.choice(list("abc"), (60, 400)))
    y = rng.integers(0, 2, 60)
    for weight in (1e-3, 1.0, 1e15):
        model = MIXTURE(random_state=0, gamma=1e-6).fit(X, y, sample_weight=[weight] * 60)
        assert np.isfinite(model.table_.counts).all()
        assert np.isfinite(model.predict_proba(X)).all()


def test_columns_without_values_and_one_class():
    X = pd.DataFrame({"a": [None] * 10, "b": [1.0] * 10, "c": list("xy") * 5})
    model = MIXTURE(random_state=0).fit(X, [1] * 10)
    assert (model.predict_proba(X) == 1).all()
    model = MIXTURE(random_state=0).fit(X, [0, 1] * 5)
    assert model.predict(X).tolist() == [0, 1] * 5


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"layers": "deep"}, r"layers must be 'grow' or whole numbers, 1 or more.*got 'deep'"),
        ({"layers": 4}, "layers must be 'grow' or whole numbers"),
        ({"layers": ()}, "layers must be 'grow' or whole numbers"),
        ({"layers": (2, 0)}, r"layers must be 'grow' or whole numbers.*got \(2, 0\)"),
        ({"layers": (2,) * 13}, "layers asks for 8,192 experts"),
        ({"gamma": 0}, "gamma must be a number, 1e-06 or more; got 0"),
        ({"sigma": -1}, "sigma must be a number, from 0 to 100; got -1"),
        ({"noise": -1}, "noise must be a number, 0 or more; got -1"),
        ({"n_sweeps": 0}, "n_sweeps must be a whole number, 1 or more; got 0"),
        ({"training": "offline"}, "training must be 'online' or 'batch'; got 'offline'"),
    ],
)
def test_bad_parameters_are_named(parameters, words):
    X, y = mixed_table(50)
    with pytest.raises(ValueError, match=words):
        MIXTURE(**parameters).fit(X, y)
