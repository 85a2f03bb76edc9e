"""SAMPLES: tables to try things on."""

from unnaive.datasets.credit import load_german_credit
from unnaive.datasets.generate import make_led, make_monk1, make_parity, make_waveform

__all__ = ["load_german_credit", "make_led", "make_monk1", "make_parity", "make_waveform"]
