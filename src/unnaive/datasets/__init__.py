"""SAMPLES: tables to try things on."""

from unnaive.datasets.credit import load_german_credit

__all__ = ["load_german_credit"]
