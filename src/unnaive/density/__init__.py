"""SMOOTHING: kernel densities of numbers by class, from the fine count table alone."""

from unnaive.density.estimate import (
    FLOOR,
    Densities,
    Scale,
    check_tables,
    densities_at,
    fit_densities,
    middles,
)
from unnaive.density.measure import Measure, bayes_measure, delta, most_probable
from unnaive.density.widths import CANDIDATES, check_bandwidth, choose_widths

__all__ = [
    "CANDIDATES",
    "FLOOR",
    "Densities",
    "Measure",
    "Scale",
    "bayes_measure",
    "check_bandwidth",
    "check_tables",
    "choose_widths",
    "delta",
    "densities_at",
    "fit_densities",
    "middles",
    "most_probable",
]
