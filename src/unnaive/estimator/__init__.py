"""ESTIMATORS: what everything that learns from tables shares, and how it tells its progress."""

from unnaive.estimator.base import AdditiveEstimator, TableEstimator
from unnaive.estimator.progress import Progress
from unnaive.estimator.row_progress import RowProgress

__all__ = ["AdditiveEstimator", "Progress", "RowProgress", "TableEstimator"]
