"""ESTIMATORS: what everything that learns from tables shares, and how its fits report progress."""

from unnaive.common.progress import Progress, RowProgress, reports_progress
from unnaive.estimator.base import AdditiveEstimator, TableEstimator

__all__ = ["AdditiveEstimator", "Progress", "RowProgress", "TableEstimator", "reports_progress"]
