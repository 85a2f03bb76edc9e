"""Gates over experts of any kind."""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.datasets import load_iris
from sklearn.neighbors import KNeighborsClassifier

from unnaive.models import C45Classifier
from unnaive.papers import configuration
from unnaive_papers.generators import make_xor
from unnaive_papers.wiering.gated import GatedExperts, GatedRounds, Neighbors


def _iris():
    X, y = load_iris(return_X_y=True, as_frame=True)
    return X, y.to_numpy().astype(str)


def test_experts_of_gated_boosting_are_the_rounds_that_vote():
    X, y = _iris()
    model = GatedRounds(configuration("wiering", "boosting", 0), configuration("wiering", "NB"))
    model.fit(X, y)
    p = model.expert_probabilities(X)
    votes = np.zeros(p.shape[1:])
    for each, weight in zip(p, model.boosted_.estimator_weights_, strict=True):
        votes[np.arange(len(X)), each.argmax(axis=1)] += weight
    assert (model.classes_[votes.argmax(axis=1)] == model.boosted_.predict(X)).all()
    assert np.allclose(model.shares(X).sum(axis=0), 1)
    assert np.allclose(model.predict_proba(X).sum(axis=1), 1)


def test_a_gate_over_naive_bayes_experts_learns_exclusive_or():
    X, y = make_xor(200, random_state=0)
    X, y = pd.DataFrame(X), np.asarray(y).astype(str)
    expert = configuration("wiering", "NB")
    alone = (expert.fit(X, y).predict(X) == y).mean()
    model = GatedExperts(expert, expert, n_sweeps=20, random_state=1).fit(X, y)
    assert (model.predict(X) == y).mean() > alone + 0.2


def test_one_expert_is_the_expert_itself():
    X, y = _iris()
    tree = C45Classifier(calibration="none")
    model = GatedExperts(tree, configuration("wiering", "NB"), n_experts=1, n_sweeps=1).fit(X, y)
    assert np.allclose(model.predict_proba(X), tree.fit(X, y).predict_proba(X))


def test_neighbors_of_equal_weights_are_scikit_learns():
    X, y = _iris()
    scaled = (X - X.mean()) / X.std()
    theirs = KNeighborsClassifier(5).fit(scaled.to_numpy(), y).predict_proba(scaled.to_numpy())
    assert np.allclose(Neighbors().fit(X, y).predict_proba(X), theirs)
    heavy = np.where(y == "1", 3.0, 1.0)
    assert Neighbors().fit(X, y, heavy).predict_proba(X)[:, 1].sum() > theirs[:, 1].sum()
