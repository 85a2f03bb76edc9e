"""SMOOTHING: kernel densities of numbers by class, from the fine count table alone."""

from unnaive.density.estimate import Densities, Scale
from unnaive.density.measure import bayes_measure

__all__ = ["Densities", "Scale", "bayes_measure"]
