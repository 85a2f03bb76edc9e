"""Evidence of columns and pairs against its twin, its laws and its edges."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.metrics import log_loss

import reference_boost as reference
from blocks import split_memory
from helpers import assert_same_model, interactions, mixed_table
from unnaive import NaiveBayesClassifier, UnnaiveBayesClassifier, evidence_of
from unnaive.bayes.scoring import TableTerm
from unnaive.encode.coders import column_slots
from unnaive.models import _additive as additive
from unnaive.models import _additive_kernels as kernels
from unnaive.models._additive_kernels import Rows, Rule, Terms
from unnaive.table import open_table

UNNAIVE = UnnaiveBayesClassifier
# All rows learn: no draws.
PLAIN = UNNAIVE(early_stopping=False, max_rounds=15, interactions=3)


def parity(n=400, seed=0):
    """Two columns that tell nothing alone and all together, and one that tells nothing."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.random((n, 3)), columns=["a", "b", "noise"])
    return X, ((X["a"] > 0.5) ^ (X["b"] > 0.4)).to_numpy().astype(int)


# The twin -----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("n_scores", [1, 3])
@pytest.mark.parametrize(("lowest", "leaves"), [(0, 2), (1, 2), (0, 4)])
def test_rounds_equal_those_of_the_twin(seed, n_scores, lowest, leaves):
    rng = np.random.default_rng(seed)
    n, sizes, has_order = 60, [8, 6, 4], [True, False, True]
    slots = np.stack([rng.integers(0, size - 1, n) for size in sizes])
    groups = ((slots[0] > 2) ^ (slots[1] == 1)).astype(int) + (n_scores > 1) * (slots[2] == 2)
    weights = rng.integers(1 << 10, 1 << 12, n) / 1024  # no two cuts gain the same
    terms = [[0], [1], [2], [0, 1], [0, 2]]
    twin = reference.Boosting(terms, sizes, has_order, 0.3, 0.5, 4.0, lowest == 0, leaves)
    expected = twin.fit(slots.T.tolist(), groups.tolist(), weights.tolist(), [0.1] * n_scores, 3)
    shapes = [[sizes[j] for j in term] for term in terms]
    start = np.concatenate(([0], np.cumsum([np.prod(shape) for shape in shapes])))
    last = [term[1] if len(term) == 2 else -1 for term in terms]
    arrays = Terms(
        np.array([term[0] for term in terms]),
        np.array(last),
        np.array([shape[0] for shape in shapes]),
        np.array([shape[1] if len(shape) == 2 else 1 for shape in shapes]),
        start,
        np.array([has_order[term[0]] for term in terms]),
        np.array([has_order[j] for j in last]),
        np.zeros(len(terms), np.int8),
    )
    rows = Rows(
        slots.astype(np.uint16),
        slots.astype(np.uint8),
        groups.astype(np.uint16),
        weights,
        np.empty(0, np.uint8),
    )
    rule = Rule(0.3, 0.5, 4.0, 1, lowest, 2.0**-20, leaves)
    scores, tables = np.full((n, n_scores), 0.1), np.zeros((start[-1], n_scores))
    heavy = np.empty(start[-1])
    kernels.weigh_terms(rows, arrays, kernels.NOBODY, heavy)
    kernels.take_rounds(rows, arrays, rule, kernels.NOBODY, 3, heavy, scores, tables)
    moved = 0
    for t, (shape, table) in enumerate(zip(shapes, expected, strict=True)):
        cells = slice(start[t], start[t + 1])
        own, filled = tables[cells].reshape(*shape, n_scores), heavy[cells].reshape(shape) > 0
        for cell in zip(*np.nonzero(filled), strict=True):  # for others, cuts are all the same
            want = table.get(cell, [0.0] * n_scores)
            np.testing.assert_allclose(own[cell], want, atol=2e-5)
            moved += any(want)
    assert moved > 20
    again = np.full((n, n_scores), 0.1)
    kernels.add_tables(rows, arrays, tables, again)
    np.testing.assert_allclose(scores, again, atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_answers_are_the_formula_applied_to_the_tables(seed):
    X, y, weights = interactions(seed)
    model = clone(PLAIN).set_params(interactions=2).fit(X, y, weights)
    scorer, block = model.scorer_, open_table(model, X, fitted=model.schema_).block
    assert len(scorer.pairs) == 2
    columns = [column_slots(block, j, term.coder) for j, term in enumerate(scorer.terms)]
    coders = {j: coder for pair in scorer.pairs for j, coder in pair.columns}
    of_pairs = {j: column_slots(block, j, coder) for j, coder in coders.items()}
    expected = [
        reference.joint(
            scorer.log_prior.tolist(),
            [term.logs.tolist() for term in scorer.terms],
            [((pair.first, pair.second), pair.logs.tolist()) for pair in scorer.pairs],
            [int(column[i]) for column in columns],
            {j: int(slots[i]) for j, slots in of_pairs.items()},
        )
        for i in range(len(X))
    ]
    assert (model.predict_joint_log_proba(X) == np.array(expected)).all()


# Laws ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("missing", ["value", "skip"])
@pytest.mark.parametrize("classes", [2, 4])
def test_bars_add_up_bit_for_bit(missing, classes):
    X, y = mixed_table(300, classes=classes)
    model = clone(PLAIN).set_params(interactions=5, missing=missing).fit(X, y)
    evidence = model.evidence(X)
    assert evidence.contributions.shape == (300, X.shape[1] + 5, classes)
    assert evidence.terms[: X.shape[1]] == list(X.columns)
    a, b = model.pairs_[0]
    assert evidence.terms[X.shape[1]] == (X.columns[a], X.columns[b])
    assert (evidence.total() == model.predict_joint_log_proba(X)).all()
    np.testing.assert_allclose(evidence.contributions.sum(axis=2), 0, atol=1e-12)


@pytest.mark.parametrize("missing", ["value", "skip"])
def test_pairs_are_pure_and_columns_centred(missing):
    X, y = mixed_table(500, classes=3)
    model = clone(PLAIN).set_params(interactions=4, missing=missing).fit(X, y)
    block = open_table(model, X, fitted=model.schema_).block
    lowest = 0 if missing == "value" else 1
    for pair in model.scorer_.pairs:
        a, b = (column_slots(block, j, coder) for j, coder in pair.columns)
        weight = np.zeros(pair.logs.shape[:2])
        np.add.at(weight, (a, b), 1.0)
        weight[:lowest] = weight[:, :lowest] = 0.0
        assert abs(pair.logs).max() > 1e-3
        for axis in (0, 1):
            mean = (pair.logs * weight[:, :, None]).sum(axis=axis)
            np.testing.assert_allclose(mean, 0, atol=1e-9 * len(X))
        assert not pair.logs[-1].any()
        assert not pair.logs[:, -1].any()
    for j, term in enumerate(model.scorer_.terms):
        assert isinstance(term, TableTerm)
        count = model.counts_.attribute(j).sum(axis=0)[lowest:]
        np.testing.assert_allclose(count @ term.logs[lowest:], 0, atol=1e-9 * len(X))
        assert not term.logs[-1].any()
        if missing == "skip":
            assert not term.logs[0].any()


@pytest.mark.parametrize("seed", range(3))
def test_neither_threads_nor_blocks_matter(seed, monkeypatch):
    X, y, weights = interactions(seed)
    model = UNNAIVE(random_state=seed, max_rounds=60, n_bags=3)
    one = clone(model).fit(X, y, weights)
    assert_same_model(one, clone(model).set_params(n_jobs=2).fit(X, y, weights))
    split_memory(monkeypatch, [0, 1, 50, len(y)])
    assert_same_model(one, clone(model).fit(X, y, weights))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("missing", ["value", "skip"])
def test_weight_equals_repetition_where_no_rows_are_held_out(seed, missing):
    X, y, _ = interactions(seed)
    weights = np.random.default_rng(seed).integers(0, 4, len(y))
    model = clone(PLAIN).set_params(missing=missing)
    rows = np.repeat(np.arange(len(y)), weights)
    weighted = clone(model).fit(X, y, weights)
    repeated = clone(model).fit(X.iloc[rows], y[rows])
    for a, b in zip(weighted.scorer_.terms, repeated.scorer_.terms, strict=True):
        assert (a.logs == b.logs).all()
    assert weighted.pairs_ == repeated.pairs_
    proba, again = weighted.predict_proba(X), repeated.predict_proba(X)
    np.testing.assert_allclose(proba, again, rtol=1e-9)


def test_a_parquet_file_gives_the_same_model(tmp_path):
    X, y = mixed_table(600)
    X.assign(label=y).to_parquet(tmp_path / "rows.parquet", row_group_size=130)
    model = UNNAIVE(random_state=0, max_rounds=40, n_bags=3)
    from_file = clone(model).fit(tmp_path / "rows.parquet", "label")
    assert_same_model(from_file, clone(model).fit(X, y))


def test_class_weight_is_weight_of_the_rows():
    X, y = mixed_table(300)
    by_class = clone(PLAIN).set_params(class_weight={"no": 3.0}).fit(X, y)
    by_row = clone(PLAIN).fit(X, y, np.where(y == "no", 3.0, 1.0))
    assert (by_class.predict_proba(X) == by_row.predict_proba(X)).all()


# Learning -----------------------------------------------------------------------------------


def test_pairs_find_what_columns_alone_cannot():
    X, y = parity()
    model = UNNAIVE(random_state=0).fit(X[:300], y[:300])
    assert model.pairs_[0] == (0, 1)
    assert model.score(X[300:], y[300:]) > 0.9
    assert UNNAIVE(random_state=0, interactions=0).fit(X[:300], y[:300]).score(X, y) < 0.7


def test_pairs_that_held_out_rows_do_not_gain_by_are_left_out():
    kept = 0
    for seed in range(1, 5):
        rng = np.random.default_rng(seed)
        X = rng.random((300, 4))
        y = (X[:, 0] + 0.3 * rng.normal(size=300) > 0.5).astype(int)
        kept += len(UNNAIVE(random_state=0).fit(X, y).pairs_)
    assert kept <= 3
    assert len(UNNAIVE(random_state=0, interactions=6, max_rounds=5).fit(X, y).pairs_) == 6


def test_it_is_surer_than_naive_bayes_only_where_it_may_be():
    """Five copies of a column say no more than one."""
    X, y = mixed_table(400, classes=2)
    many = pd.concat([X[["age"]].add_suffix(str(k)) for k in range(5)], axis=1)
    models = UNNAIVE(random_state=0, interactions=0), NaiveBayesClassifier(numeric="width")
    sure = [m.fit(many, y).predict_proba(many).max(axis=1).mean() for m in models]
    assert sure[0] < sure[1] - 0.02


@pytest.mark.parametrize("direction", [1, -1])
def test_constrained_columns_only_rise_or_fall(direction):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.normal(size=500), "z": rng.normal(size=500)})
    y = (np.sin(3 * X["x"]) + X["z"] * X["x"] + rng.normal(size=500) > 0).to_numpy()
    free = UNNAIVE(random_state=0).fit(X, y)
    model = UNNAIVE(random_state=0, monotonic_cst={"x": direction}).fit(X, y)
    moves = [np.diff(m.scorer_.terms[0].logs[1:-1, 1]) * direction for m in (free, model)]
    assert (moves[0] < 0).any()
    assert (moves[1] >= 0).all()
    assert model.pairs_ == []
    as_list = UNNAIVE(random_state=0, monotonic_cst=[direction, 0]).fit(X, y)
    assert_same_model(model, as_list)


@pytest.mark.parametrize("wanted", [[("noise", "a")], [(2, 0)], [["a", "noise"], (0, "noise")]])
def test_pairs_may_be_named(wanted):
    X, y = parity()
    model = UNNAIVE(random_state=0, interactions=wanted, max_rounds=20).fit(X, y)
    assert model.pairs_ == [(0, 2)]


def test_pairs_may_be_numbered_or_be_a_multiple_of_the_columns():
    X, y = mixed_table(200)
    for wanted, n in ((2, 2), (0.5, 3), (1e9, 15), (0, 0), (0.0, 0)):
        model = UNNAIVE(random_state=0, interactions=wanted, max_rounds=5).fit(X, y)
        assert len(model.pairs_) == n


# Edges --------------------------------------------------------------------------------------


def test_constant_empty_and_all_missing_columns_say_nothing():
    X, y = parity(200)
    X = X.assign(same=1.0, word="x", gone=np.nan, none=pd.Series([None] * 200, dtype=object))
    model = UNNAIVE(random_state=0, max_rounds=20).fit(X, y)
    bars = model.evidence(X).contributions
    assert not bars[:, 3:7].any()
    assert set(np.ravel(model.pairs_)) <= {0, 1, 2}


def test_one_class():
    X, _ = parity(50)
    model = UNNAIVE(random_state=0).fit(X, ["only"] * 50)
    assert (model.predict_proba(X) == 1).all()
    assert model.pairs_ == []


def test_unseen_categories_have_no_evidence():
    X, y = mixed_table(300)
    model = clone(PLAIN).set_params(interactions=15).fit(X, y)
    rows = X.head(5).assign(city="Paris")
    evidence = model.evidence(rows)
    of_city = [k for k, name in enumerate(evidence.terms)
               if name == "city" or (isinstance(name, tuple) and "city" in name)]  # fmt: skip
    assert len(of_city) == 6
    assert not evidence.contributions[:, of_city].any()
    assert evidence.contributions[:, len(X.columns) :].any()


def test_many_categories_are_grouped_in_pairs():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"c": rng.integers(0, 300, 900).astype(str), "x": rng.random(900)})
    y = (X["x"] > 0.5) ^ (X["c"].str.len() > 2)
    model = UNNAIVE(random_state=0, interactions=1, max_rounds=20, max_categories=100).fit(X, y)
    (pair,) = model.scorer_.pairs
    assert model.scorer_.terms[0].coder.size == 100
    assert pair.coders[0].size == 19
    assert np.isfinite(model.predict_joint_log_proba(X)).all()
    seen = set(model.scorer_.terms[0].coder.index)
    assert seen == set(pair.coders[0].index)


def test_heavy_and_light_weights_are_one_model():
    X, y = parity(200)
    expected = clone(PLAIN).fit(X, y).predict_proba(X)
    heavy = clone(PLAIN).fit(X, y, np.full(200, 2.0**40))
    light = clone(PLAIN).fit(X, y, np.full(200, 2.0**-40))
    np.testing.assert_allclose(light.predict_proba(X), expected, atol=1e-9)
    assert np.isfinite(heavy.predict_proba(X)).all()


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"interactions": "all"}, "interactions must be 'auto', a number of pairs.*got 'all'"),
        ({"interactions": -1}, "interactions must be 'auto'.*got -1"),
        ({"interactions": True}, "interactions must be 'auto'.*got True"),
        ({"interactions": ["ab"]}, "interactions holds 'ab'; expected pairs of columns"),
        ({"interactions": [("a", "c")]}, "interactions names 'c', which is not a column"),
        ({"interactions": [("a", "a")]}, "interactions pairs column 'a' with itself"),
        ({"monotonic_cst": [1, 0]}, "monotonic_cst has 2 entries, but the table has 3 columns"),
        ({"monotonic_cst": {"a": 2}}, "monotonic_cst of column 'a' must be 1 .* got 2"),
        ({"monotonic_cst": {"z": 1}}, "monotonic_cst names 'z', which is not a column"),
        (
            {"monotonic_cst": {"a": 1}, "interactions": [("a", "b")]},
            "interactions pairs column 'a', which monotonic_cst constrains",
        ),
        ({"n_bags": 0}, "n_bags must be a whole number, from 1 to 255; got 0"),
        ({"max_interaction_bins": 300}, "max_interaction_bins must be a whole number"),
        ({"missing": "drop"}, "missing must be 'skip' or 'value'; got 'drop'"),
    ],
)
def test_errors_say_what_to_do(parameters, words):
    X, y = parity(50)
    with pytest.raises(ValueError, match=words):
        UNNAIVE(**parameters).fit(X, y)


def test_constraints_need_numbers_and_two_classes():
    X, y = mixed_table(60)
    with pytest.raises(ValueError, match="constrains column 'city', which holds categories"):
        UNNAIVE(monotonic_cst={"city": 1}).fit(X, y)
    with pytest.raises(ValueError, match="monotonic_cst is for two classes.*y has 3"):
        UNNAIVE(monotonic_cst={"age": 1}).fit(X, y)


@pytest.mark.parametrize("sample", [100, 700])  # one stripe a round, and four
def test_stripes_of_many_rows_learn_alike(monkeypatch, sample):
    X, y = parity(6000)
    whole = UNNAIVE(random_state=0, max_rounds=60).fit(X[:3000], y[:3000])
    monkeypatch.setattr(additive, "MANY_ROWS", 2000)
    monkeypatch.setattr(additive, "STRIPE", 200)
    monkeypatch.setattr(additive, "SAMPLE", sample)
    model = UNNAIVE(random_state=0, max_rounds=60, n_bags=3)
    striped = clone(model).fit(X[:3000], y[:3000])
    scores = [m.score(X[3000:], y[3000:]) for m in (whole, striped)]
    assert min(scores) > 0.95
    assert striped.pairs_[0] == (0, 1)
    assert_same_model(striped, clone(model).set_params(n_jobs=2).fit(X[:3000], y[:3000]))


@pytest.mark.parametrize(("n_columns", "n_rows"), [(1, 30_000), (3, 45_000), (5, 60_000)])
def test_it_is_never_worse_than_naive_bayes_on_many_equal_rows(n_columns, n_rows):
    """Rows of few distinct values must not end in one stripe, nor in one held-out fold."""
    rng = np.random.default_rng(n_columns)
    X = rng.integers(0, 2, (2 * n_rows, n_columns)).astype(str)
    y = rng.random(2 * n_rows) < 0.2 + 0.6 * (X == "1").mean(axis=1)
    train, test = slice(n_rows), slice(n_rows, None)
    models = UNNAIVE(random_state=0, n_bags=2, max_rounds=100), NaiveBayesClassifier()
    losses = [log_loss(y[test], m.fit(X[train], y[train]).predict_proba(X[test])) for m in models]
    assert losses[0] < losses[1] + 0.002


def test_max_rows_limits_the_rows_that_rounds_read():
    X, y = parity(6000)
    model = UNNAIVE(random_state=0, n_bags=2, max_rounds=60, max_rows=2000).fit(X, y)
    assert model.counts_.totals.sum() == 6000
    assert model.score(X, y) > 0.95
    other = clone(model).set_params(max_rows=6000).fit(X, y)
    assert (other.predict_proba(X) != model.predict_proba(X)).any()
    with pytest.raises(ValueError, match="oob_score=True needs max_rows of at least.*6,000"):
        clone(model).set_params(oob_score=True).fit(X, y)


# Rows out of bag ------------------------------------------------------------------------------


@pytest.mark.parametrize("classes", [2, 3])
def test_rows_out_of_bag_have_the_loss_that_ended_the_rounds(classes):
    X, y = mixed_table(300, classes=classes)
    model = UNNAIVE(interactions=[(0, 1)], max_rounds=40, oob_score=True, random_state=0).fit(X, y)
    shares = model.oob_decision_function_
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, rtol=1e-12)
    true = shares[np.arange(len(y)), np.searchsorted(model.classes_, y)]
    n_looks = len(model.validation_loss_)
    assert any(
        abs(-np.log(true).mean() - model.validation_loss_[look]) < 1e-6 for look in range(n_looks)
    )
    assert model.oob_score_ == (model.classes_[shares.argmax(axis=1)] == y).mean()


def test_rows_out_of_bag_come_in_the_order_of_the_table(monkeypatch):
    X, y = parity(1500)
    model = UNNAIVE(random_state=0, max_rounds=20, n_bags=8, oob_score=True)
    for n_stripes in (1, 12):
        if n_stripes > 1:
            monkeypatch.setattr(additive, "MANY_ROWS", 1000)
            monkeypatch.setattr(additive, "STRIPE", 100)
        one = clone(model).fit(X, y)
        shares = one.oob_decision_function_
        judged = ~np.isnan(shares[:, 0])
        assert judged.all() == (n_stripes == 1)
        assert judged.mean() > 0.4
        assert (shares[judged].argmax(axis=1) == y[judged]).mean() == one.oob_score_ > 0.9
        plain = clone(model).set_params(oob_score=False).fit(X, y)
        assert not hasattr(plain, "oob_score_")
        assert (plain.predict_proba(X) == one.predict_proba(X)).all()


def test_rows_are_out_of_bag_only_where_bags_hold_rows_out():
    X, y = parity(100)
    with pytest.raises(ValueError, match="oob_score=True needs early_stopping=True"):
        UNNAIVE(early_stopping=False, oob_score=True).fit(X, y)
    few = UNNAIVE(n_bags=2, max_rounds=5, oob_score=True, random_state=0).fit(X, y)
    assert 0.15 < (~np.isnan(few.oob_decision_function_[:, 0])).mean() < 0.35


def test_rounds_end_where_hardly_any_loss_is_left():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    X = pd.DataFrame({name: y + 0.1 * rng.random(300) for name in "abcdefgh"})
    model = UNNAIVE(random_state=0, oob_score=True).fit(X, y)
    assert model.oob_score_ == 1.0
    assert len(model.validation_loss_) < 250  # of 402 looks that 1,000 rounds would have


# How sure the evidence is ---------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3])
def test_standard_errors_are_a_jackknife_over_the_bags(n_classes):
    rng = np.random.default_rng(0)
    n_scores = 1 if n_classes == 2 else n_classes
    prior = rng.normal(size=n_scores)
    bags = 0.01 * rng.normal(size=(4, 6, n_scores))  # small: the errors are of first order
    mean = bags.mean(axis=0)
    errors = additive.jackknife(
        additive.Evidence(prior, {2: mean}, {}),
        (additive.Evidence(prior, {2: bag}, {}) for bag in bags),
        8,
    )

    def weights(table):
        if n_classes == 2:
            return table
        out = np.empty_like(table)
        for c in range(n_classes):
            others = [k for k in range(n_classes) if k != c]
            share = np.exp(prior[others]) / np.exp(prior[others]).sum()
            out[:, c] = table[:, c] - np.log((np.exp(table[:, others]) * share).sum(axis=1))
        return out

    distance = np.array([weights(bag) - weights(mean) for bag in bags])
    np.testing.assert_allclose(errors[2], np.sqrt(7 / 4 * (distance**2).sum(axis=0)), rtol=0.05)


def test_intervals_of_evidence_are_narrower_where_rows_are_many():
    width = []
    for n in (300, 4800):
        X, y = mixed_table(n, classes=2)
        model = UNNAIVE(random_state=0, interactions=0, max_rounds=60).fit(X, y)
        facts = evidence_of(model)["city"]
        assert (facts.low <= facts.weights).all()
        assert (facts.weights <= facts.high).all()
        width.append((facts.high - facts.low)[facts.counts.sum(axis=1) > 0].mean())
    assert 0 < 1.5 * width[1] < width[0]
    assert not UNNAIVE(n_bags=1, max_rounds=5).fit(X, y).answer_.root.errors
