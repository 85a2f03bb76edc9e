"""SAMPLES: tables to try things on."""

from unnaive.datasets.classic import make_led, make_monks, make_parity, make_waveform, make_xor
from unnaive.datasets.credit import load_german_credit
from unnaive.datasets.loans import make_loans
from unnaive.datasets.streams import make_electricity, make_flights

__all__ = [
    "load_german_credit",
    "make_electricity",
    "make_flights",
    "make_led",
    "make_loans",
    "make_monks",
    "make_parity",
    "make_waveform",
    "make_xor",
]
