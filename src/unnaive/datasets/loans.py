"""Generated loans: a table like those of banks."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.utils import check_random_state

from unnaive.datasets._table import as_table, check_count, check_share

PURPOSES = ("car", "furniture", "business", "education", "repairs", "travel")
RISKY_PURPOSE = np.array([0.0, 0.1, 0.9, -0.5, 0.2, 0.6])
WORK = ("employed", "self-employed", "retired", "student")
RISKY_WORK = np.array([-0.3, 0.3, -0.2, 0.7])
HOMES = ("owned", "rented", "with family")
RISKY_HOME = np.array([-0.5, 0.3, 0.0])


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
