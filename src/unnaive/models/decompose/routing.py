"""What reaches the estimator and the clusterer beside rows and classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import Bunch
from sklearn.utils.metadata_routing import process_routing
from sklearn.utils.validation import has_fit_parameter

from unnaive.common.sklearn_private import routing_enabled
from unnaive.estimator import TableEstimator


def route(owner: Any, estimator: Any, clusterer: Any, weight: Any, params: Any) -> Bunch:
    """What goes to the ``fit`` of the estimator and of the clusterer."""
    if routing_enabled():
        if weight is not None:
            params = {**params, "sample_weight": weight}
        routed = process_routing(owner, "fit", **params)
        return Bunch(estimator=routed.estimator.fit, clusterer=routed.clusterer.fit)
    if params:
        raise TypeError(
            f"fit got {sorted(params)}, which reach the estimator and the clusterer only "
            "with metadata routing: sklearn.set_config(enable_metadata_routing=True)."
        )
    if weight is None:
        return Bunch(estimator={}, clusterer={})
    if not has_fit_parameter(estimator, "sample_weight"):
        raise TypeError(
            f"estimator {type(estimator).__name__} takes no sample_weight; leave the weights "
            "out, or use an estimator that does."
        )
    given = {"sample_weight": np.asarray(weight)}
    takes = has_fit_parameter(clusterer, "sample_weight")
    return Bunch(estimator=given, clusterer=given if takes else {})


def refuse_foreign(*estimators: Any) -> None:
    """Only our own estimators read rows that are not in memory."""
    for one in estimators:
        if not isinstance(one, TableEstimator):
            raise TypeError(
                f"{type(one).__name__} needs all rows in memory: read the table and pass it to "
                "fit, or use an estimator of unnaive, such as LatentClassClusterer."
            )
