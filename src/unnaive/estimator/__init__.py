"""ESTIMATORS: what everything that learns from tables shares, and how its fits report progress."""

from unnaive.estimator.base import AdditiveEstimator, TableEstimator
from unnaive.estimator.progress import reports_progress
from unnaive.estimator.row_progress import RowProgress
from unnaive.table.passes import Progress

__all__ = ["AdditiveEstimator", "Progress", "RowProgress", "TableEstimator", "reports_progress"]
