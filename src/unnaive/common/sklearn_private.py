"""What we need of scikit-learn that it keeps private, in one place, each with its reason."""

from __future__ import annotations

from typing import Any

# Rows of any kind of table by position: the public `sklearn.utils.resample` copies and shuffles.
from sklearn.utils import _safe_indexing as safe_indexing

# Whether users asked for metadata routing: the public functions raise where they did not.
from sklearn.utils.metadata_routing import _routing_enabled as routing_enabled

# Metadata of some rows: what scikit-learn's own meta-estimators cut weights and groups with.
from sklearn.utils.validation import _check_method_params as check_method_params

__all__ = ["check_method_params", "positive_label", "routing_enabled", "safe_indexing"]


def positive_label(tuned: Any) -> Any:
    """The class that a fitted `TunedThresholdClassifierCV` has its threshold for.

    It knows it by its scorer alone; None is the second class.
    """
    return tuned._curve_scorer._get_pos_label()
