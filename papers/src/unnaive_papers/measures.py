"""Named measures: records to one figure with its interval. Claims name them in ``claims.toml``."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from unnaive_papers.statistics import (
    Estimate,
    corrected_p,
    exactly,
    log_slope,
    mean_estimate,
    plain_p,
    rank_estimate,
    two_samples_p,
)

NOTHING = Estimate(math.nan, math.nan, math.nan)


def by_set(records: Any, figure: str = "accuracy") -> Any:
    """Sets x methods: the mean over seeds."""
    return records.pivot_table(figure, "set", "method", sort=False)


def mean(records: Any, method: str, figure: str = "accuracy") -> Estimate:
    """Mean over sets; the interval is over seeds, whose folds and draws differ."""
    own = records[records["method"] == method]
    if own.empty:
        return NOTHING
    wide = own.pivot_table(figure, "seed", "set")
    whole = wide.dropna()  # seeds that every set has
    if len(whole) < 2:
        return Estimate(float(wide.mean().mean()), math.nan, math.nan, "seeds", wide.shape[1])
    return mean_estimate(whole.mean(axis=1), "seeds", wide.shape[1])


def value(records: Any, method: str, set: str, figure: str = "accuracy") -> Estimate:
    """The figure of one set; the interval is over seeds."""
    own = records[(records["method"] == method) & (records["set"] == set)]
    return NOTHING if own.empty else mean_estimate(own[figure], "seeds", 1)


def gain(records: Any, method: str, beside: str, figure: str = "accuracy") -> Estimate:
    """Mean difference of two methods; the interval is over sets."""
    wide = by_set(records, figure)
    if method not in wide or beside not in wide:
        return NOTHING
    gaps = (wide[method] - wide[beside]).dropna()
    return mean_estimate(gaps, "sets", len(gaps)) if len(gaps) else NOTHING


def gain_on(records: Any, method: str, beside: str, set: str, figure: str = "accuracy") -> Estimate:
    """Difference of two methods on one set; the interval is over seeds."""
    own = records[records["set"] == set].pivot_table(figure, "seed", "method")
    if method not in own or beside not in own:
        return NOTHING
    return mean_estimate((own[method] - own[beside]).dropna(), "seeds", 1)


def error_reduction(records: Any, method: str, beside: str) -> Estimate:
    """Mean over sets of the share of the error that goes away, in per cent."""
    wide = by_set(records)
    if method not in wide or beside not in wide:
        return NOTHING
    wide = wide[[method, beside]].dropna()
    some = wide[wide[beside] < 100]  # without error nothing can go away
    cut = 100 * (some[method] - some[beside]) / (100 - some[beside])
    return mean_estimate(cut, "sets", len(wide)) if len(cut) else NOTHING


def sets_ahead(
    records: Any,
    method: str,
    beside: str,
    sets: list[str] | None = None,
    figure: str = "accuracy",
) -> Estimate:
    """On how many sets the mean of one method is above that of others (one or several)."""
    wide = by_set(records, figure)
    others = [beside] if isinstance(beside, str) else beside
    if not {method, *others} <= {*wide.columns}:
        return NOTHING
    if sets is not None:
        wide = wide[wide.index.isin(sets)]
    ahead = (wide[method] > wide[others].max(axis=1)).sum()
    return exactly(int(ahead), len(wide)) if len(wide) else NOTHING


def p_values(records: Any, method: str, beside: str, test: str) -> Any:
    """Per set, the mean gain and p of a test.

    ``"corrected"`` is over folds of all repeats, ``"plain"`` over means of repeats, paired;
    ``"two samples"`` ignores the pairs.
    """
    import pandas as pd

    out = []
    for name, rows in records.groupby("set", sort=False):
        own = {m: r.set_index("seed").sort_index() for m, r in rows.groupby("method")}
        if method not in own or beside not in own:
            continue
        seeds = own[method].index.intersection(own[beside].index)
        a, b = own[method].loc[seeds], own[beside].loc[seeds]
        gaps = a["accuracy"] - b["accuracy"]
        if test == "corrected":
            by_fold = np.concatenate(
                [np.subtract(x, z) for x, z in zip(a["folds"], b["folds"], strict=True)]
            )
            p = corrected_p(by_fold, len(a["folds"].iloc[0]))
        elif test == "plain":
            p = plain_p(gaps)
        else:
            p = two_samples_p(a["accuracy"], b["accuracy"])
        out.append({"set": name, "gain": gaps.mean(), "p": p})
    return pd.DataFrame(out, columns=["set", "gain", "p"]).set_index("set")


def significant(
    records: Any,
    method: str,
    beside: str,
    sign: str = "+",
    test: str = "corrected",
    level: float = 0.01,
) -> Estimate:
    """On how many sets one method is better (or worse, ``sign="-"``) beyond chance."""
    found = p_values(records, method, beside, test)
    if found.empty:
        return NOTHING
    sure = found[found["p"] < level]["gain"]
    return exactly(int((sure > 0).sum() if sign == "+" else (sure < 0).sum()), len(found))


def slope(records: Any, method: str, x: str, y: str, lists: bool = False) -> Estimate:
    """The power with which one figure grows in another: 1 is linear."""
    own = records[records["method"] == method]
    if own.empty:
        return NOTHING
    if lists:
        return log_slope(np.concatenate(own[x].tolist()), np.concatenate(own[y].tolist()))
    best = own.groupby(x)[y].min()
    return log_slope(best.index.to_numpy(), best.to_numpy())


def largest(records: Any, figure: str, method: str | None = None) -> Estimate:
    """The largest value of a figure in all records."""
    own = records if method is None else records[records["method"] == method]
    return NOTHING if own.empty else exactly(float(own[figure].max()), own["set"].nunique())


def smallest(records: Any, figure: str, method: str | None = None) -> Estimate:
    """The smallest value of a figure in all records."""
    own = records if method is None else records[records["method"] == method]
    return NOTHING if own.empty else exactly(float(own[figure].min()), own["set"].nunique())


def rank_correlation(records: Any, method: str, beside: str, x: str) -> Estimate:
    """Whether the gain over sets grows with a figure of the first method: Spearman's."""
    wide, own = by_set(records), records[records["method"] == method].groupby("set")[x].mean()
    if method not in wide or beside not in wide:
        return NOTHING
    gaps = (wide[method] - wide[beside]).dropna()
    return rank_estimate(own.loc[gaps.index], gaps)


MEASURES: dict[str, Callable[..., Estimate]] = {
    "mean": mean,
    "value": value,
    "gain": gain,
    "gain on": gain_on,
    "error reduction": error_reduction,
    "sets ahead": sets_ahead,
    "significant": significant,
    "slope": slope,
    "largest": largest,
    "smallest": smallest,
    "rank correlation": rank_correlation,
}
