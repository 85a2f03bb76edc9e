"""Sample tables."""

from unnaive.datasets.generators import make_electricity, make_flights, make_loans
from unnaive.datasets.loaders import load_german_credit

__all__ = ["load_german_credit", "make_electricity", "make_flights", "make_loans"]
