"""Laws of explanations: what is shown is what the model computes."""

from __future__ import annotations

import pickle
from itertools import product

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.special import logsumexp, softmax
from sklearn.calibration import calibration_curve
from sklearn.metrics import accuracy_score, confusion_matrix, log_loss
from sklearn.naive_bayes import GaussianNB

from explained import EVERY, ROWS, X, Y, fitted
from helpers import mixed_table
from unnaive import (
    BaggedNaiveBayesClassifier,
    BoostedNaiveBayesClassifier,
    C45Classifier,
    ClassDecompositionClassifier,
    HierarchicalMixtureClassifier,
    LatentClassClusterer,
    NaiveBayesClassifier,
    NBTreeClassifier,
    UnnaiveBayesClassifier,
)
from unnaive.bayes.evidence import weigh
from unnaive.encode.coders import column_slots
from unnaive.explain import (
    discriminate,
    distinguishing_values,
    evidence_of,
    explain_rows,
    importance_of,
    profiles_of,
    quality_of,
    tree_of,
    waterfall_of,
    what_if,
)
from unnaive.explain.model import read_model, table_reach
from unnaive.table import open_table

every = pytest.mark.parametrize("k", range(len(EVERY)), ids=[repr(m) for m in EVERY])
XOR = pd.DataFrame({"a": [0, 0, 1, 1] * 50, "b": [0, 1, 0, 1] * 50}).astype(str)
XOR_Y = np.array(["no", "yes", "yes", "no"] * 50)


# Rows ---------------------------------------------------------------------------------------


@every
def test_explanations_hold_the_prediction_and_evidence_that_adds_up(k):
    model = fitted(k)
    found, why = explain_rows(model, ROWS), model.evidence(ROWS)
    np.testing.assert_array_equal([row.probabilities for row in found], model.predict_proba(ROWS))
    assert [row.predicted for row in found] == list(model.predict(ROWS))
    names, weights = why.weights()
    for i, row in enumerate(found):
        np.testing.assert_allclose(row.evidence.total(), why.total()[i : i + 1], atol=1e-9)
        np.testing.assert_allclose(row.weights, weights[i], atol=1e-12)
        assert len(row.features) == len(row.values) == len(row.states) == len(names)


@every
def test_weights_are_means_of_the_members_against_all_other_classes(k):
    """The slow twin: one row and one member at a time."""
    why = fitted(k).evidence(ROWS.head(6))
    if any(member.members for member in why.members) or why.class_index is not None:
        return
    _, found = why.weights()
    for i in range(6):
        members = [(why, 1.0)]
        if why.members:
            members = list(zip(why.members, why.member_weights[i], strict=True))[why.n_gates :]
        whole, mean = sum(share for _, share in members), 0.0
        for member, share in members:
            own = member.contributions[i]
            if member.link == "softmax":
                own = weigh(own, member.baseline[i])
            mean = mean + share / whole * own
        rough = 1e-9 * (1 + abs(mean).max())  # impossible values are -1e8
        np.testing.assert_allclose(found[i], mean, atol=rough)


@every
def test_a_waterfall_leads_from_the_start_to_the_total(k):
    model = fitted(k)
    for row in explain_rows(model, ROWS[:8]):
        fall = waterfall_of(row)
        assert fall.start + fall.bars.sum() == pytest.approx(fall.total, abs=1e-9)
        assert fall.probability == row.probabilities.max()
        assert list(abs(fall.bars)) == sorted(abs(fall.bars), reverse=True)
        if fall.unit == "probability":
            assert fall.total == pytest.approx(fall.probability, abs=1e-9)
        elif row.evidence.link == "softmax" and len(row.evidence.members) != 1:
            best = np.sort(row.probabilities)
            odds = np.log(best[-1]) - np.log(np.maximum(best[-2], 1e-300))
            rough = 1e-9 * (1 + abs(row.evidence.contributions).max())  # impossible values are -1e8
            assert fall.total == pytest.approx(odds, abs=rough) or best[-2] < 1e-200


def test_facts_are_plain_data():
    """They go to other processes and files; the model does not go with them."""
    tree = NBTreeClassifier(random_state=0).fit(X, Y)
    for fact in (explain_rows(tree, X[:1])[0], evidence_of(tree), importance_of(tree, X, Y)):
        again = pickle.loads(pickle.dumps(fact))
        assert repr(again) == repr(fact)
        assert len(pickle.dumps(fact)) < 25_000


def test_states_tell_missing_and_unseen_values():
    row = explain_rows(fitted(0), ROWS)
    assert row[3].states[list(X).index("city")] == "unseen"
    assert row[3].values[list(X).index("city")] == "Paris"
    assert set(row[5].states) == {"missing"}
    assert not row[5].evidence.contributions.any()


def test_the_path_leads_to_the_leaf_of_the_row():
    tree = NBTreeClassifier(random_state=0, significance=None, alpha=0.1).fit(XOR, XOR_Y)
    assert tree.tree_.n_nodes > 1
    nodes = tree_of(tree)
    for row, leaf in zip(explain_rows(tree, XOR[:4]), tree.apply(XOR[:4]), strict=True):
        assert row.path[-1] == leaf
        assert [nodes[n].parent for n in row.path] == [-1, *row.path[:-1]]
        assert row.conditions == tuple(nodes[n].condition for n in row.path)


def test_other_parts_of_a_row_can_be_asked_for():
    model = fitted(
        [repr(m) for m in EVERY].index(repr(HierarchicalMixtureClassifier(random_state=0)))
    )
    row = explain_rows(model, ROWS[:1])[0]
    whole = waterfall_of(row, piece="expert 1")
    inside = row.evidence.members[0]  # what is calibrated
    own = inside.members[inside.member_names.index("expert 1")].total()[0]
    a, b = (model.classes_.tolist().index(name) for name in (whole.label, whole.against))
    assert whole.total == pytest.approx(own[a] - own[b])
    gate = waterfall_of(row, piece="gate 0")
    assert gate.label.startswith("expert")
    with pytest.raises(
        ValueError, match="piece 'bag 1' is not among the parts that answer for the row: gate 0"
    ):
        waterfall_of(row, piece="bag 1")
    with pytest.raises(ValueError, match="label='x' is not one of the classes: maybe, no, yes"):
        waterfall_of(row, "x")
    with pytest.raises(ValueError, match="label and against are both 'no'"):
        waterfall_of(row, "no", "no", "expert 0")


# Evidence -----------------------------------------------------------------------------------


def slow_weights(logs, log_prior):
    """The definition: log P(value | class) - log P(value | all other classes together)."""
    out = np.zeros(logs.shape)
    prior = softmax(log_prior)
    for v, c in np.ndindex(*logs.shape):
        others = [d for d in range(len(prior)) if d != c]
        together = sum(prior[d] * np.exp(logs[v, d]) for d in others) / prior[others].sum()
        out[v, c] = logs[v, c] - np.log(together)
    return out


def test_weights_are_log_likelihood_ratios_against_all_other_classes():
    rng = np.random.default_rng(0)
    for n in (2, 3, 26):
        logs, prior = rng.normal(-2, 2, (50, n)), rng.normal(0, 1, n)
        np.testing.assert_allclose(weigh(logs, prior), slow_weights(logs, prior), atol=1e-12)
    assert not weigh(rng.normal(0, 1, (5, 1)), np.zeros(1)).any()
    # Nothing is lost beside a class that is all but certain, or ruled out.
    found = weigh(np.array([[0.0, -1e8, -3.0]]), np.array([0.0, -50.0, -60.0]))
    assert found[0, 0] == pytest.approx(3.0 + 60.0 - 50.0, abs=1e-3)


@every
def test_evidence_is_what_rows_with_that_value_get(k):
    """Every value, put into a row, brings the bars that the facts promise."""
    model = fitted(k)
    facts = evidence_of(model)
    read = read_model(model)
    part = read.find(None)
    for own in facts.attributes:
        asked = [v for v, state in enumerate(own.states) if state != "unseen"]
        if own.form == "nothing":
            continue
        table = pd.concat([X.head(1)] * len(asked), ignore_index=True)
        new = [own.raw[v] for v in asked]
        table[own.name] = new if own.kind == "numeric" else pd.Series(new, dtype=object)
        bars = part.scorer.evidence(read.block(table))[:, own.position]
        np.testing.assert_allclose(bars, own.logs[asked], atol=1e-9)
        np.testing.assert_allclose(own.weights, weigh(own.logs, facts.log_prior), atol=1e-12)
        assert not ((own.low > own.weights) | (own.weights > own.high)).any()  # or NaN


def test_counts_are_the_rows_with_the_value():
    weight = np.random.default_rng(0).integers(0, 4, len(Y))
    model = NaiveBayesClassifier().fit(X, Y, weight)
    model.compact()
    own = evidence_of(model)["city"]
    for (v, value), (c, label) in product(enumerate(own.values[:-1]), enumerate(model.classes_)):
        has = X["city"].isna() if v == 0 else X["city"] == value
        assert own.counts[v, c] == weight[has & (label == Y)].sum()
    assert own.values[-1] == "unseen"
    assert not own.counts[-1].any()
    np.testing.assert_allclose(own.shares.sum(axis=0), 1)
    age = evidence_of(NaiveBayesClassifier(numeric="gaussian").fit(X, Y))["age"]
    assert age.counts[0].sum() == X["age"].isna().sum()
    np.testing.assert_allclose(age.distribution().sum(axis=0), 1)


@pytest.mark.parametrize("model", [m for m in EVERY if isinstance(m, NBTreeClassifier)], ids=repr)
def test_a_node_counts_its_own_rows(model):
    model = fitted(EVERY.index(model))
    tree = model.tree_
    inside = model.decision_path(X).toarray().astype(bool)
    for n in range(tree.n_nodes):
        facts = evidence_of(model, n)
        np.testing.assert_allclose(facts.label_weight, tree.class_weight[n])
        own, city = facts["city"], X["city"][inside[:, n]]
        for v in range(1, len(own) - 1):
            assert own.counts[v].sum() == (city == own.values[v]).sum()
        ages = facts["age"]
        assert ages.counts.sum() == inside[:, n].sum()


# Credible intervals -------------------------------------------------------------------------


def test_intervals_hold_what_posterior_draws_say():
    """The slow twin: draw both shares from their posteriors, take quantiles of the log ratio."""
    rng = np.random.default_rng(0)
    counts = np.array([[40.0, 3.0], [10.0, 30.0], [1.0, 60.0], [0.0, 8.0]])
    down, up = table_reach(counts, 0.95)
    total = counts.sum(axis=0)
    for v, c in np.ndindex(*counts.shape):
        own = rng.beta(counts[v, c] + 0.5, total[c] - counts[v, c] + 0.5, 200_000)
        n, rest = counts[v, 1 - c], total[1 - c]
        other = rng.beta(n + 0.5, rest - n + 0.5, 200_000)
        low, high = np.quantile(np.log(own) - np.log(other), [0.025, 0.975])
        middle = np.log((counts[v, c] + 0.5) / (total[c] + 1)) - np.log((n + 0.5) / (rest + 1))
        width = high - low
        assert middle - down[v, c] == pytest.approx(low, abs=0.12 * width)
        assert middle + up[v, c] == pytest.approx(high, abs=0.12 * width)


def test_few_rows_of_many_values_look_thin():
    """Pseudo-counts of many values do not make a single row look like many."""
    table = pd.DataFrame({"a": [f"v{i}" for i in range(40)] + ["v0"] * 60})
    y = np.array([0] * 97 + [1] * 3)
    own = evidence_of(NaiveBayesClassifier().fit(table, y))["a"]
    v = own.values.index("v0")
    assert own.counts[v, 1] == 3
    assert own.low[v, 1] < 0 < own.high[v, 1]


# Importance ---------------------------------------------------------------------------------


@every
def test_importance_is_its_definition(k):
    model = fitted(k)
    rows, y, weight = X[:60], Y[:60], np.arange(60) % 3
    found = importance_of(model, rows, y, weight)
    assert found.features == tuple(X)
    slow = 0.0
    for row, times in zip(explain_rows(model, rows), weight, strict=True):
        slow = slow + times * (np.minimum(abs(row.weights), 30.0) @ row.probabilities)
    slow = slow / weight.sum()
    assert found.features + found.pairs == row.features
    np.testing.assert_allclose([*found.evidence, *found.pair_evidence], slow, atol=1e-9)

    def loss(table):
        given = np.clip(model.predict_proba(table), np.finfo(float).eps, 1)
        place = np.searchsorted(model.classes_, y)
        return -np.average(np.log(given[np.arange(60), place]), weights=weight)

    assert found.log_loss == pytest.approx(loss(rows), abs=1e-12)
    for j, name in enumerate(X):
        gone = rows.assign(**{name: np.full(60, None, dtype=object)})
        assert found.drop[j] == pytest.approx(loss(gone) - loss(rows), abs=1e-9)
    assert np.isnan(importance_of(model, rows).drop).all()


def test_the_model_alone_expects_about_what_rows_show():
    model = fitted(0)
    alone = [own.importance for own in evidence_of(model).attributes]
    np.testing.assert_allclose(alone, importance_of(model, X).evidence, rtol=0.1, atol=0.01)


# Quality ------------------------------------------------------------------------------------


def test_quality_agrees_with_scikit_learn():
    table, y = mixed_table(300, seed=1, classes=2)
    weight = np.random.default_rng(0).integers(0, 3, 300)
    model = NaiveBayesClassifier().fit(table[:200], y[:200])
    rows, own, times = table[200:], y[200:], weight[200:]
    found = quality_of(model, rows, own, times)
    given, known = model.predict_proba(rows), model.predict(rows)
    assert found.accuracy == pytest.approx(accuracy_score(own, known, sample_weight=times))
    assert found.log_loss == pytest.approx(log_loss(own, given, sample_weight=times))
    np.testing.assert_allclose(found.confusion, confusion_matrix(own, known, sample_weight=times))
    plain = quality_of(model, rows, own).calibration
    observed, predicted = calibration_curve(own == model.classes_[1], given[:, 1], n_bins=10)
    filled = plain.weight[1] > 0
    np.testing.assert_allclose(plain.observed[1, filled], observed)
    np.testing.assert_allclose(plain.predicted[1, filled], predicted)
    assert (plain.low[:, 0] <= plain.observed[:, 0]).all()
    assert plain.weight.sum() == 2 * len(own)


def test_labels_that_the_model_does_not_know_count_as_wrong():
    table, y = mixed_table(100)
    model = NaiveBayesClassifier().fit(table, y)
    strange = np.where(np.arange(100) < 10, "aardvark", y)
    found = quality_of(model, table, strange)
    assert found.classes.tolist() == ["maybe", "no", "yes", "aardvark"]
    assert found.confusion[3].sum() == 10
    assert found.confusion[:, 3].sum() == 0
    with pytest.raises(ValueError, match="X has 100 rows, but y has 3 labels"):
        quality_of(model, table, y[:3])


# Two classes, what if -----------------------------------------------------------------------


def test_values_that_distinguish_classes_are_those_of_the_evidence():
    table, y = mixed_table(400, classes=3)
    model = UnnaiveBayesClassifier(
        interactions=4, early_stopping=False, max_rounds=20, max_categories=3
    ).fit(table, y)
    facts, (a, b) = evidence_of(model), model.classes_[:2]
    told = discriminate(model, a, b)
    place = {both: k for k, both in enumerate(zip(told.attributes, told.values, strict=True))}
    assert len(place) == len(told) > sum(map(len, facts.attributes))
    assert (np.diff(told.importance) <= 0).all()
    for own in facts.attributes:
        for v, value in enumerate(own.values):
            if (k := place.get((own.name, value))) is not None:
                assert told.weights[k] == own.logs[v, 0] - own.logs[v, 1]
                np.testing.assert_array_equal(told.shares[k], own.shares[v, :2])
    with pytest.raises(ValueError, match="against='maybee' is not one of the classes"):
        discriminate(model, "no", "maybee")
    with pytest.raises(ValueError, match="label and against are both 'no': give two classes"):
        discriminate(model, "no", "no")
    block = open_table(model, table, fitted=model.schema_).block
    for pair in facts.pairs:
        for axis, (j, coder) in enumerate(pair.term.columns):
            slots = column_slots(block, j, coder)
            for c, label in enumerate(model.classes_):  # shares by counting rows
                count = np.bincount(slots[y == label], minlength=coder.size + 2)
                np.testing.assert_allclose(pair.margins[axis][:, c], count / count.sum())
        for one, two in np.ndindex(*pair.logs.shape[:2]):
            k = place.get((pair.name, f"{pair.values[0][one]}, {pair.values[1][two]}"))
            shares = pair.margins[0][one] * pair.margins[1][two]
            assert (k is None) == (not shares.any() or not pair.logs[one, two].any())
            if k is not None:
                weight = pair.logs[one, two, 0] - pair.logs[one, two, 1]
                assert told.weights[k] == weight
                assert told.importance[k] == pytest.approx(shares[:2].mean() * abs(weight))
                assert np.isnan(told.counts[k]).all()


@pytest.mark.parametrize("kind", ["pandas", "polars", "array"])
def test_what_if_is_predicting_the_changed_row(kind):
    table = X[["age", "income", "ratio"]]
    make = {"pandas": lambda t: t, "polars": pl.from_pandas, "array": lambda t: t.to_numpy()}[kind]
    model = NaiveBayesClassifier().fit(make(table), Y)
    row = table[10:11]
    column = 0 if kind == "array" else "age"
    found = what_if(model, make(row), {column: 70.0, 2: None})
    changed = row.assign(age=70.0, ratio=np.nan)
    np.testing.assert_array_equal(found.after.probabilities, model.predict_proba(make(changed))[0])
    np.testing.assert_array_equal(found.before.probabilities, model.predict_proba(make(row))[0])
    assert found.changed == (("x0", "x2") if kind == "array" else ("age", "ratio"))
    np.testing.assert_allclose(found.difference.sum(), 0, atol=1e-12)

    with pytest.raises(ValueError, match=r"there is no column 'colour'; the table has \['age'"):
        what_if(fitted(0), X[:1], {"colour": 1})
    with pytest.raises(ValueError, match="row must be a table with one row; got 5"):
        what_if(fitted(0), X[:5], {"age": 1})


# Groups -------------------------------------------------------------------------------------


def test_clusters_are_told_from_their_siblings():
    rng = np.random.default_rng(0)
    corner = rng.integers(0, 2, (400, 2))
    table = pd.DataFrame(corner + rng.normal(0, 0.1, (400, 2)), columns=["p", "q"])
    y = corner[:, 0] ^ corner[:, 1]
    model = ClassDecompositionClassifier(random_state=0).fit(table, y)
    found = profiles_of(model)
    assert len(found) == len(model.pairs_) >= 4
    assert sum(group.weight for group in found) == 400
    facts = evidence_of(model)
    for k, group in enumerate(found):
        assert group.remarks == distinguishing_values(
            facts, k, np.flatnonzero(model.owner_ == model.owner_[k])
        )
        own = np.flatnonzero(model.owner_ == model.owner_[k])
        for remark in group.remarks:
            attribute = facts[remark.attribute]
            v = attribute.values.index(remark.value)
            logs, prior = attribute.logs[v, own], facts.log_prior[own]
            others = own != k
            rest = logsumexp(logs[others] + prior[others]) - logsumexp(prior[others])
            assert remark.weight == pytest.approx(logs[~others][0] - rest)
            assert remark.weight > 0
    around = ClassDecompositionClassifier(GaussianNB(), random_state=0).fit(table, y)
    assert all(group.weight > 0 and not group.remarks for group in profiles_of(around))


def test_experts_share_their_gates_rows():
    model = HierarchicalMixtureClassifier(layers=(2, 2), random_state=0).fit(XOR, XOR_Y)
    found = profiles_of(model)
    assert [group.name for group in found] == [
        "gate 0", "gate 1", "gate 2", "expert 0", "expert 1", "expert 2", "expert 3",
    ]  # fmt: skip
    for gate in {group.parent for group in found[1:]}:
        assert sum(child.share for child in found if child.parent == gate) == pytest.approx(1)
    experts = sum(group.weight for group in found if group.name.startswith("expert"))
    assert experts == pytest.approx(found[0].weight)
    # Each gate's children are told apart by what the gate's own evidence says.
    gate = evidence_of(model, "gate 0")
    assert gate.names == ("gate 1", "gate 2")
    assert found[1].remarks == distinguishing_values(gate, 0)


# Edges --------------------------------------------------------------------------------------


def test_parts_are_found_by_number_and_name():
    model = BaggedNaiveBayesClassifier(n_estimators=3, random_state=0).fit(X, Y)
    assert evidence_of(model).role == "summary"
    assert evidence_of(model, "bag 1").part == evidence_of(model, 1).part == "bag 1"
    with pytest.raises(ValueError, match="part 'bag 7' is not in this Bagged.*it has 'bag 0'"):
        evidence_of(model, "bag 7")
    with pytest.raises(ValueError, match="part must be a number from 0 to 3"):
        evidence_of(model, 12)
    with pytest.raises(ValueError, match="level must be between 0 and 1; got 95"):
        evidence_of(model, level=95)


def test_models_that_are_no_naive_bayes_are_refused_in_words():
    with pytest.raises(TypeError, match="GaussianNB is not made of naive Bayes parts"):
        evidence_of(GaussianNB().fit(X[["age"]].fillna(0), Y))
    with pytest.raises(TypeError, match="tree_of reads trees of this library"):
        tree_of(fitted(0))
    with pytest.raises(TypeError, match="profiles_of needs a ClassDecompositionClassifier"):
        profiles_of(fitted(0))


@pytest.mark.parametrize(
    "model",
    [
        NaiveBayesClassifier(missing="value"),
        NaiveBayesClassifier(numeric="gaussian"),
        NaiveBayesClassifier(numeric="kernel", alpha=0.0),
        BoostedNaiveBayesClassifier(),
        NBTreeClassifier(random_state=0),
        C45Classifier(),
        HierarchicalMixtureClassifier(random_state=0),
        ClassDecompositionClassifier(random_state=0),
    ],
    ids=repr,
)
@pytest.mark.parametrize("classes", [1, 2])
def test_awkward_tables_are_explained(model, classes):
    """Constant and empty columns, a class of one row, a single class, gaps only."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "constant": 1.0,
            "empty": np.full(30, np.nan),
            "one word": "a",
            "number": rng.normal(size=30),
            "gaps": np.where(np.arange(30) < 27, np.nan, 1.5),
            7: rng.choice(["x", None], 30),
        }
    )
    y = np.where(np.arange(30) == 3, classes - 1, 0)
    table.columns = table.columns.astype(str)
    model.fit(table, y)
    for own in evidence_of(model).attributes:
        assert np.isfinite(own.weights).all()
        assert not (own.low > own.weights).any()
        assert np.isfinite(own.importance)
    for row, given in zip(
        explain_rows(model, table[:5]), model.predict_proba(table[:5]), strict=True
    ):
        np.testing.assert_array_equal(row.probabilities, given)
        assert np.isfinite(waterfall_of(row).bars).all()
    assert np.isfinite(importance_of(model, table, y).drop).all()
    assert quality_of(model, table, y).accuracy > 0.9


def test_clusters_without_classes_have_evidence_too():
    model = LatentClassClusterer(2, random_state=0).fit(X)
    facts = evidence_of(model)
    assert len(facts.labels) == 2
    assert np.isnan(facts["city"].counts).all()
    assert np.isnan(facts["city"].low).all()
    row = explain_rows(model, X[:1])[0]
    np.testing.assert_allclose(row.evidence.probabilities(), model.predict_proba(X[:1]), atol=1e-12)


def test_a_column_without_evidence_says_why():
    draw = np.random.default_rng(0)
    X = pd.DataFrame({"noise": draw.normal(size=200), "kind": ["a"] * 200, "gone": [None] * 200})
    X["told"] = np.arange(200) % 2 + draw.normal(size=200)
    evidence = evidence_of(NaiveBayesClassifier().fit(X, np.arange(200) % 2))
    reasons = {attribute.name: attribute.reason for attribute in evidence.attributes}
    assert "no cut tells classes apart" in reasons["noise"]
    assert "numeric='frequency'" in reasons["noise"]
    assert reasons["kind"] == "all values are treated alike"
    assert reasons["gone"] == "the training rows have no value there"
    assert reasons["told"] == ""
    assert evidence.reasons() == {reasons[name]: [name] for name in ("noise", "kind", "gone")}
    assert repr(evidence["noise"]).startswith("No evidence of 'noise': numbers that are not cut")
    as_many = NaiveBayesClassifier(numeric="frequency").fit(X, np.arange(200) % 2)
    assert evidence_of(as_many)["noise"].reason == ""
