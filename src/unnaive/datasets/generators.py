"""Generated tables: loans, and streams with a change at a known row."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.utils import check_random_state

from unnaive.common.checks import check_number

PURPOSES = ("car", "furniture", "business", "education", "repairs", "travel")
RISKY_PURPOSE = np.array([0.0, 0.1, 0.9, -0.5, 0.2, 0.6])
WORK = ("employed", "self-employed", "retired", "student")
RISKY_WORK = np.array([-0.3, 0.3, -0.2, 0.7])
HOMES = ("owned", "rented", "with family")
RISKY_HOME = np.array([-0.5, 0.3, 0.0])
KINDS = ("concept", "values")
CARRIERS = ("AA", "DL", "UA", "WN", "B6")
LATE = np.array([0.9, -0.9, 0.5, -0.6, 0.1])  # log odds of a delay, before a change
AIRPORTS = ("ATL", "DEN", "JFK", "LAX", "ORD", "SEA")
BUSY = np.array([0.3, -0.2, 0.6, 0.1, 0.4, -0.5])


def make_loans(
    n_samples: int = 1000, *, missing: float = 0.08, random_state: Any = None
) -> tuple[Any, Any]:
    """Loans and whether they were repaid: numbers, text, a date, booleans and missing values.

    Most columns are independent given the class, but not all: a loan is risky if it is large
    compared with the income, and business loans go wrong far more often for those who are not
    self-employed. Incomes are missing more often for the self-employed.

    Parameters
    ----------
    n_samples : int, default=1000
    missing : float, default=0.08
        Share of the incomes, homes and debts that are missing.
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    X : pandas.DataFrame
    y : pandas.Series
        ``"repaid"`` or ``"defaulted"``.

    Examples
    --------
    >>> from unnaive.datasets import make_loans
    >>> X, y = make_loans(500, random_state=0)
    >>> X.shape, sorted(y.unique())
    ((500, 10), ['defaulted', 'repaid'])
    """
    n = check_count("n_samples", n_samples, 1)
    check_share("missing", missing)
    rng = check_random_state(random_state)
    age = np.clip(rng.normal(42, 13, n), 18, 85).round()
    work = np.where(age > 64, 2, np.where(age < 24, 3, (rng.random_sample(n) < 0.18).astype(int)))
    income = np.exp(rng.normal(7.8, 0.45, n) - 0.5 * (work > 1)).round(-1)
    amount = np.exp(rng.normal(8.6, 0.8, n)).round(-2) + 500
    months = rng.choice([12, 24, 36, 48, 60, 72], n)
    purpose = rng.randint(len(PURPOSES), size=n)
    home = rng.choice(3, n, p=[0.45, 0.4, 0.15])
    debts = rng.poisson(0.8, n)
    guarantor = rng.random_sample(n) < 0.15
    opened = np.datetime64("2021-01-01") + rng.randint(0, 4 * 365, size=n)

    burden = np.log(amount / months / income) + 3.0
    risk = (
        -2.1
        + 1.1 * burden
        + 0.35 * debts
        - 0.02 * (age - 42)
        + RISKY_PURPOSE[purpose]
        + RISKY_WORK[work]
        + RISKY_HOME[home]
        - 0.9 * guarantor
        - 1.6 * ((purpose == PURPOSES.index("business")) & (work == 1))
        + 0.4 * (opened >= np.datetime64("2023-01-01"))  # rates went up
    )
    defaulted = rng.random_sample(n) < expit(risk)

    def gaps(values: Any, rate: Any, empty: Any) -> Any:
        return np.where(rng.random_sample(n) < rate, empty, values)

    columns = {
        "age": age.astype(int),
        "work": np.array(WORK, dtype=object)[work],
        "income": gaps(income, np.minimum(missing * (1 + 2 * (work == 1)), 1), np.nan),
        "amount": amount,
        "months": months,
        "purpose": np.array(PURPOSES, dtype=object)[purpose],
        "home": gaps(np.array(HOMES, dtype=object)[home], missing, None),
        "debts": gaps(debts.astype(float), missing, np.nan),
        "guarantor": guarantor,
        "opened": opened.astype("datetime64[s]"),
    }
    return as_table(columns, np.where(defaulted, "defaulted", "repaid"), "outcome")


def _after(n: int, drift_at: Any, kind: str) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Rows after a change of concept, and rows after a change of values."""
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(map(repr, KINDS))}; got {kind!r}.")
    first = n if drift_at is None else check_count("drift_at", drift_at, 0)
    after = np.arange(n) >= first
    return after & (kind == "concept"), after & (kind == "values")


def make_electricity(
    n_samples: int = 10_000,
    *,
    drift_at: int | None = None,
    kind: str = "concept",
    random_state: Any = None,
) -> tuple[Any, Any]:
    """Half-hours of an electricity market, and whether the price goes up or down.

    Like the Elec2 data of New South Wales in its columns. Prices follow demand, which follows the
    time of day, and a price goes up where ``demand``, as a difference from what is usual at that
    time, is high, the price is low, or the neighbour's price is high. Rows are independent of each
    other, given their times; every day is like every other.

    Parameters
    ----------
    n_samples : int, default=10000
    drift_at : int or None, default=None
        The row from which on things are different; None: never.
    kind : {"concept", "values"}, default="concept"
        What changes: what high ``demand`` means for the class (it turns around, while the values
        stay), or the values of ``transfer`` (up by one standard deviation, without a meaning).
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    X : pandas.DataFrame
        With the column ``time``.
    y : pandas.Series
        ``"up"`` or ``"down"``.

    Examples
    --------
    >>> from unnaive.datasets import make_electricity
    >>> X, y = make_electricity(480, random_state=0)
    >>> list(X), X["time"].iloc[48].isoformat()
    (['time', 'price', 'demand', 'other_price', 'other_demand', 'transfer'], '2024-01-02T00:00:00')
    """
    n = check_count("n_samples", n_samples, 1)
    turned, moved = _after(n, drift_at, kind)
    rng = check_random_state(random_state)
    hour = np.arange(n) % 48 / 2
    usual = 0.5 - 0.25 * np.cos(2 * np.pi * (hour - 4) / 24)
    surprise, other = rng.normal(size=(2, n)) * 0.08
    demand, other_demand = usual + surprise, usual + other
    price = np.exp(rng.normal(-3.0, 0.4, n) + demand)
    other_price = np.exp(rng.normal(-3.0, 0.4, n) + other_demand)
    transfer = rng.normal(0.5, 0.15, n) + 0.15 * moved
    odds = (
        np.where(turned, -1.0, 1.0) * 14.0 * surprise
        - 1.2 * (np.log(price) + 2.5)
        + 1.2 * (np.log(other_price) + 2.5)
    )
    up = rng.random_sample(n) < expit(odds)
    time = np.datetime64("2024-01-01T00:00", "s") + np.arange(n) * np.timedelta64(1800, "s")
    columns = {
        "time": time,
        "price": price.round(5),
        "demand": surprise.round(5),
        "other_price": other_price.round(5),
        "other_demand": other_demand.round(5),
        "transfer": transfer.round(5),
    }
    return as_table(columns, np.where(up, "up", "down").astype(object), "price_change")


def make_flights(
    n_samples: int = 10_000,
    *,
    drift_at: int | None = None,
    kind: str = "concept",
    random_state: Any = None,
) -> tuple[Any, Any]:
    """Flights in the order of their departures, and whether they were delayed.

    Like the airline data of the US Department of Transportation in its columns. Delays depend on
    the carrier, the airport, and the hour of departure. Rows are independent of each other.

    Parameters
    ----------
    n_samples : int, default=10000
    drift_at : int or None, default=None
        The row from which on things are different; None: never.
    kind : {"concept", "values"}, default="concept"
        What changes: which ``carrier`` is late (good and bad ones change places, while their
        shares stay), or the values of ``distance`` (longer by two fifths, without a meaning).
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    X : pandas.DataFrame
        With the column ``time``.
    y : pandas.Series
        ``"delayed"`` or ``"on time"``.

    Examples
    --------
    >>> from unnaive.datasets import make_flights
    >>> X, y = make_flights(500, drift_at=250, random_state=0)
    >>> list(X), sorted(y.unique())
    (['time', 'carrier', 'origin', 'hour', 'distance', 'weekday'], ['delayed', 'on time'])
    """
    n = check_count("n_samples", n_samples, 1)
    turned, moved = _after(n, drift_at, kind)
    rng = check_random_state(random_state)
    carrier = rng.choice(len(CARRIERS), n, p=[0.25, 0.25, 0.2, 0.2, 0.1])
    origin = rng.randint(len(AIRPORTS), size=n)
    hour = np.clip(rng.normal(14, 4, n), 5, 23).round()
    distance = np.exp(rng.normal(6.6, 0.6, n) + 0.35 * moved).round()
    weekday = rng.randint(7, size=n)
    odds = -0.9 + np.where(turned, -1, 1) * LATE[carrier] + BUSY[origin] + 0.12 * (hour - 14)
    late = rng.random_sample(n) < expit(odds)
    days = np.array(["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"], dtype=object)
    columns = {
        "time": np.datetime64("2024-01-01T00:00", "s") + np.arange(n) * np.timedelta64(300, "s"),
        "carrier": np.array(CARRIERS, dtype=object)[carrier],
        "origin": np.array(AIRPORTS, dtype=object)[origin],
        "hour": hour,
        "distance": distance,
        "weekday": days[weekday],
    }
    return as_table(columns, np.where(late, "delayed", "on time").astype(object), "arrival")


def as_table(columns: Mapping[str, Any], target: Any, name: str) -> tuple[Any, Any]:
    """Columns and labels as a pandas table and a named series."""
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError(
            "sample tables need pandas; install it with: pip install 'unnaive[data]'"
        ) from error
    return pd.DataFrame(dict(columns)), pd.Series(target, name=name)


def check_count(name: str, value: Any, least: int) -> int:
    """Refuse a number of rows or columns that is not a whole number in its range."""
    check_number(SimpleNamespace(**{name: value}), name, least, whole=True)
    return int(value)


def check_share(name: str, value: Any) -> float:
    """Refuse a probability outside 0 to 1."""
    check_number(SimpleNamespace(**{name: value}), name, 0, 1)
    return float(value)
