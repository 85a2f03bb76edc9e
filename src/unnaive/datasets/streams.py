"""Generated streams: rows in the order of time, with a change planted at a known row."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.utils import check_random_state

from unnaive.datasets._table import as_table, check_count

KINDS = ("concept", "values")
CARRIERS = ("AA", "DL", "UA", "WN", "B6")
LATE = np.array([0.9, -0.9, 0.5, -0.6, 0.1])  # log odds of a delay, before a change
AIRPORTS = ("ATL", "DEN", "JFK", "LAX", "ORD", "SEA")
BUSY = np.array([0.3, -0.2, 0.6, 0.1, 0.4, -0.5])


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
