"""CHOOSING: models side by side on a user's table."""

from unnaive.choose.auto import AutoClassifier
from unnaive.choose.compare import compare
from unnaive.choose.comparison import Comparison
from unnaive.choose.family import make_model
from unnaive.choose.pooled import PooledClassifier
from unnaive.choose.running import Result

__all__ = ["AutoClassifier", "Comparison", "PooledClassifier", "Result", "compare", "make_model"]
