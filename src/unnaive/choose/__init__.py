"""CHOOSING: models side by side on a user's table."""

from unnaive.choose.auto import AutoClassifier
from unnaive.choose.candidates import make_model
from unnaive.choose.compare import compare
from unnaive.choose.comparison import Comparison, Result
from unnaive.choose.pooled import PooledClassifier

__all__ = ["AutoClassifier", "Comparison", "PooledClassifier", "Result", "compare", "make_model"]
