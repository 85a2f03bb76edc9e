"""Verdicts follow their rules, and claims.toml of every paper can be judged."""

from __future__ import annotations

import inspect
import math

import pytest

from unnaive_papers.claims import (
    CAUSES,
    NOT,
    PARTLY,
    REPRODUCED,
    UNKNOWN,
    baseline,
    baseline_text,
    decide,
    fallen,
    judge,
)
from unnaive_papers.measures import MEASURES
from unnaive_papers.sets import Samples, known_sets
from unnaive_papers.statistics import Estimate, exactly
from unnaive_papers.study import COMPARISON, NO_SET, PAPERS, Task, load_study


def over_sets(value, low, high):
    return Estimate(value, low, high, "sets", 5)


@pytest.mark.parametrize(
    ("found", "relation", "bound", "tolerance", "verdict"),
    [
        (over_sets(84.0, 83, 85), "near", 84.47, 1.0, REPRODUCED),
        (over_sets(82.9, 82, 84), "near", 84.47, 1.0, PARTLY),
        (over_sets(80.0, 79, 81), "near", 84.47, 1.0, NOT),
        (over_sets(2.0, 0.5, 3.5), "above", 0, 0, REPRODUCED),
        (over_sets(2.0, -0.5, 4.5), "above", 0, 0, PARTLY),
        (over_sets(-0.1, -0.5, 4.5), "above", 0, 0, NOT),
        (over_sets(1.0, 0.9, 1.05), "below", 1.1, 0, REPRODUCED),
        (over_sets(1.0, 0.8, 1.2), "below", 1.1, 0, PARTLY),
        (over_sets(2.0, math.nan, math.nan), "above", 0, 0, PARTLY),
        (exactly(3), "above", 3, 0, REPRODUCED),
        (exactly(2), "above", 3, 1, PARTLY),
        (exactly(1), "above", 3, 1, NOT),
        (exactly(0), "below", 0, 0, REPRODUCED),
        (over_sets(math.nan, math.nan, math.nan), "near", 1, 1, UNKNOWN),
    ],
)
def test_a_verdict_follows_its_rule(found, relation, bound, tolerance, verdict):
    assert decide(found, relation, bound, tolerance) == verdict


def records_of(study, sets, better):
    """Made-up records of Kohavi's accuracies: NBTree is better by so much."""
    gains = {"NBTree": better}
    return {
        Task("kohavi", "accuracy", name, method, seed): {
            "accuracy": 80 + 0.01 * k + gains.get(method, 0.0) + 0.001 * seed,
            "nodes": 5.0,
            "seconds": 1.0,
        }
        for k, name in enumerate(sets)
        for method in study.parts["accuracy"].methods
        for seed in range(5)
    }


def verdict_of(found, name):
    return next(v for v in found if v.id == name)


def test_figures_and_intervals_come_from_records():
    study = load_study("kohavi")
    found = judge(study, records_of(study, study.sets, 2.0))
    gain = verdict_of(found, "gain-c45")
    assert gain.found.value == pytest.approx(2.0)
    assert gain.difference.value == pytest.approx(2.0 - 2.56)
    assert gain.verdict == REPRODUCED
    assert verdict_of(found, "mean-nbtree").verdict == NOT  # 82.14, more than 2 below 84.47
    assert verdict_of(found, "large-sets").found.value == 3


def test_a_claim_about_all_sets_is_not_judged_on_some():
    study = load_study("kohavi")
    found = verdict_of(judge(study, records_of(study, ["iris", "vote"], 2.0)), "gain-c45")
    assert found.verdict == UNKNOWN
    assert (found.n_sets, found.all_sets, found.is_whole) == (2, 29, False)
    assert found.found.value == pytest.approx(2.0)


def test_without_records_nothing_is_measured():
    for paper in PAPERS:
        assert {v.verdict for v in judge(load_study(paper), {})} == {UNKNOWN}


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("paper", [*PAPERS, COMPARISON])
def test_what_a_paper_says_can_be_run_and_judged(paper, quick):
    study = load_study(paper, quick)
    module = study.module
    measures = {**MEASURES, **getattr(module, "MEASURES", {})}
    for part in study.parts.values():
        assert part.experiment in module.EXPERIMENTS
        for name in part.sets:
            assert name == NO_SET or name in known_sets()
            assert not quick or name == NO_SET or name in Samples().names()
        if part.sets != [NO_SET] and paper != COMPARISON:
            assert set(part.methods) <= set(module.CONFIGURATIONS)
    ids = [claim["id"] for claim in study.claims]
    assert len(ids) == len(set(ids))
    for claim in study.claims:
        told = inspect.signature(measures[claim["measure"]])
        told.bind("records", **claim.get("of", {}))  # raises if an argument is not known
        of = claim.get("of", {})
        methods = study.parts[claim["part"]].methods
        for key in ("method", "beside"):
            named = of.get(key, [])
            assert set([named] if isinstance(named, str) else named) <= set(methods), claim["id"]
        assert len(claim["text"]) > 20
        assert claim["where"]
        assert claim.get("cause", "protocol") in CAUSES
        assert "tried" not in claim or "cause" in claim, claim["id"]


def test_the_paper_averages_are_those_of_its_tables():
    """Averages that claims state are those of the tables beside them."""
    vilalta = load_study("vilalta")
    nb = [told["nb"] for told in vilalta.sets.values()]
    assert sum(nb) / len(nb) == pytest.approx(80.63, abs=0.01)
    assert sum(told["significant"] for told in vilalta.sets.values()) == 12
    wiering = load_study("wiering")
    rows = [told["paper"] for told in wiering.sets.values()]
    for k, average in enumerate([76.8, 78.1, 78.3, 76.7, 77.5]):
        assert sum(row[k] for row in rows) / len(rows) == pytest.approx(average, abs=0.06)


def test_a_claim_that_falls_is_told(monkeypatch):
    study = load_study("kohavi")
    monkeypatch.setattr(
        "unnaive_papers.claims.baseline", lambda: {"kohavi": {"gain-nb": REPRODUCED}}
    )
    assert not fallen(judge(study, records_of(study, study.sets, 2.0)))
    [(verdict, was)] = fallen(judge(study, records_of(study, study.sets, -1.0)))
    assert (verdict.id, verdict.verdict, was) == ("gain-nb", NOT, REPRODUCED)
    assert not fallen(judge(study, {}))  # its part was not run


def test_the_baseline_knows_every_quick_claim():
    known = baseline()
    for paper in PAPERS:
        ids = {claim["id"] for claim in load_study(paper, True).claims}
        assert set(known[paper]) == ids
        assert set(known[paper].values()) <= {REPRODUCED, PARTLY, NOT}


def test_the_baseline_is_written_as_it_is_read():
    import tomllib

    found = judge(load_study("kohavi"), {})
    assert tomllib.loads(baseline_text(found))["kohavi"]["gain-nb"] == UNKNOWN
