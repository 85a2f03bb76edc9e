"""SMOOTHING: densities of numbers by class, from counts and moments alone."""

from unnaive.density.estimate import Densities, Normal, Scale, bayes_measure

__all__ = ["Densities", "Normal", "Scale", "bayes_measure"]
