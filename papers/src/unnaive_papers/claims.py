"""Claims and verdicts: what a paper says, what we find, and whether that is the same."""

from __future__ import annotations

import math
import tomllib
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from unnaive_papers.kept import Record, frame
from unnaive_papers.measures import MEASURES
from unnaive_papers.statistics import Estimate
from unnaive_papers.study import Study, Task

REPRODUCED, PARTLY, NOT, UNKNOWN = "reproduced", "partly", "not", "not measured"
ORDER = (REPRODUCED, PARTLY, NOT, UNKNOWN)
RELATIONS = ("near", "above", "below")
CAUSES = ("protocol", "data", "paper", "us")  # why a claim does not hold here


@dataclass(frozen=True, slots=True)
class Verdict:
    """One claim beside what was found."""

    paper: str
    id: str
    text: str
    where: str
    unit: str
    said: float
    found: Estimate
    rule: str
    verdict: str
    tried: str
    cause: str  # one of CAUSES, where the verdict is not "reproduced"
    n_sets: int  # of the claim's part that were measured
    all_sets: int

    @property
    def difference(self) -> Estimate:
        return self.found.minus(self.said)

    @property
    def is_whole(self) -> bool:
        """Whether all sets of the claim's part were there."""
        return self.n_sets >= self.all_sets


def judge(study: Study, records: dict[Task, Record]) -> list[Verdict]:
    """Verdicts on all claims of a study, from records alone."""
    frames = {name: frame(study, name, records) for name in study.parts}
    measures = {**MEASURES, **getattr(study.module, "MEASURES", {})}
    return [_judge_one(study, claim, frames, measures) for claim in study.claims]


def _judge_one(
    study: Study, claim: dict[str, Any], frames: dict[str, Any], measures: dict[str, Any]
) -> Verdict:
    part = study.parts[claim["part"]]
    rows = frames[claim["part"]]
    leave = claim.get("leave_out", [])
    rows = rows[~rows["set"].isin(leave)]
    arguments = dict(claim.get("of", {}))
    named = [arguments["set"]] if "set" in arguments else arguments.get("sets")
    wanted = named or [name for name in part.sets if name not in leave]
    found = measures[claim["measure"]](rows, **arguments) if len(rows) else _nothing()
    said = float(claim["paper"])
    relation, tolerance = claim.get("relation", "near"), float(claim.get("tolerance", 0))
    if relation not in RELATIONS:
        raise ValueError(f"claim {claim['id']}: relation must be one of {RELATIONS}.")
    bound = float(claim.get("bound", said))
    n_sets = found.n_sets or len(set(rows["set"]) & set(wanted))
    verdict = decide(found, relation, bound, tolerance)
    cause = claim.get("cause", "")
    if cause and cause not in CAUSES:
        raise ValueError(f"claim {claim['id']}: cause must be one of {CAUSES}.")
    return Verdict(
        study.key, claim["id"], claim["text"], claim["where"], claim.get("unit", ""), said, found,
        _rule_text(relation, bound, tolerance, claim.get("unit", "")),
        verdict if n_sets >= len(wanted) else UNKNOWN, claim.get("tried", ""),
        cause if verdict in (PARTLY, NOT) else "", n_sets, len(wanted),
    )  # fmt: skip


def decide(found: Estimate, relation: str, bound: float, tolerance: float = 0.0) -> str:
    """The verdict on a figure.

    ``near``: reproduced within the tolerance of the paper's figure; partly within twice the
    tolerance. ``above`` and ``below``: reproduced if the whole interval is on that side of the
    bound; partly if only the figure is. A count has no interval: being at the bound is enough.
    """
    if math.isnan(found.value):
        return UNKNOWN
    if relation == "near":
        gap = abs(found.value - bound)
        slack = 1e-9 * max(1.0, abs(bound))
        return REPRODUCED if gap <= tolerance + slack else (
            PARTLY if gap <= 2 * tolerance + slack else NOT
        )  # fmt: skip
    sign = 1 if relation == "above" else -1
    if not found.over:
        return REPRODUCED if sign * (found.value - bound) >= 0 else (
            PARTLY if sign * (found.value - bound) >= -tolerance else NOT
        )  # fmt: skip
    worst = found.low if relation == "above" else found.high
    if not math.isnan(worst) and sign * (worst - bound) > 0:
        return REPRODUCED
    return PARTLY if sign * (found.value - bound) > 0 else NOT


def _rule_text(relation: str, bound: float, tolerance: float, unit: str) -> str:
    unit = f" {unit}" if unit else ""
    if relation == "near":
        return f"within {tolerance:g}{unit} of the paper's figure"
    word = "at least" if relation == "above" else "at most"
    return f"{word} {bound:g}{unit}, with its whole interval"


def _nothing() -> Estimate:
    return Estimate(math.nan, math.nan, math.nan)


# ---------------------------------------------------------------------------------------------
# What held before
# ---------------------------------------------------------------------------------------------


def baseline() -> dict[str, dict[str, str]]:
    """Verdicts of the quick sample as they were: paper -> claim -> verdict."""
    return tomllib.loads((files("unnaive_papers") / "baseline.toml").read_text("utf-8"))


def fallen(verdicts: list[Verdict]) -> list[tuple[Verdict, str]]:
    """Claims of the quick sample that held before, and now hold less."""
    before = baseline()
    out = []
    for verdict in verdicts:
        was = before.get(verdict.paper, {}).get(verdict.id, UNKNOWN)
        if verdict.verdict == UNKNOWN:  # its part was left out; failed tasks are told elsewhere
            continue
        if ORDER.index(verdict.verdict) > ORDER.index(was):
            out.append((verdict, was))
    return out


def baseline_text(verdicts: list[Verdict]) -> str:
    """These verdicts in the format of ``baseline.toml``."""
    lines = ["# Verdicts of the quick sample: a run fails when one of them gets worse."]
    for paper in dict.fromkeys(v.paper for v in verdicts):
        lines += ["", f"[{paper}]"]
        lines += [f'{v.id} = "{v.verdict}"' for v in verdicts if v.paper == paper]
    return "\n".join(lines) + "\n"
