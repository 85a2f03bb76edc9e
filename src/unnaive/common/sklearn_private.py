"""What we need of scikit-learn that it keeps private, in one place, each with its reason."""

from __future__ import annotations

# Rows of any kind of table by position: the public `sklearn.utils.resample` copies and shuffles.
from sklearn.utils import _safe_indexing as safe_indexing

# Whether users asked for metadata routing: the public functions raise where they did not.
from sklearn.utils.metadata_routing import _routing_enabled as routing_enabled

# Metadata of some rows: what scikit-learn's own meta-estimators cut weights and groups with.
from sklearn.utils.validation import _check_method_params as check_method_params

__all__ = ["check_method_params", "routing_enabled", "safe_indexing"]
