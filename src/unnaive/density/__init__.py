"""SMOOTHING: densities of numbers by class, from counts and moments alone."""

from unnaive.density.estimate import Densities, Scale
from unnaive.density.measure import bayes_measure
from unnaive.density.normal import Normal

__all__ = ["Densities", "Normal", "Scale", "bayes_measure"]
