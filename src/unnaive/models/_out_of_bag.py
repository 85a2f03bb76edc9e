"""What models keep of rows that some of their members have not learned from."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unnaive.bayes.calibration import Calibration
from unnaive.common.checks import check_values
from unnaive.models._calibration import take_logs
from unnaive.models._judged_rows import JudgedRows
from unnaive.models._row_draw import RowDraw, class_weights
from unnaive.table.storage import stretches

OUT_OF_BAG = frozenset({"oob_score_", "oob_decision_function_"})
UNJUDGED = 0.05  # share of rows in every bag that is worth a warning


class OutOfBag:
    """A classifier with the parameter ``oob_score``."""

    oob_score_: float
    oob_decision_function_: NDArray[np.float64]
    classes_: NDArray[Any]

    def _drop_out_of_bag(self) -> None:
        """Forget what an earlier fit has kept."""
        for name in OUT_OF_BAG:
            self.__dict__.pop(name, None)

    def _check_out_of_bag(self) -> None:
        if hasattr(self, "oob_decision_function_"):
            shares, n = self.oob_decision_function_, len(self.classes_)
            check_values("oob_decision_function_", shares, (len(shares), n), 0.0, nan=True)


def out_of_bag_accuracy(
    shares: NDArray[np.float64], groups: NDArray[Any], weight: NDArray[np.float64]
) -> float:
    """Accuracy of the rows that are judged; NaN where none is."""
    right, total = [], []
    for part in stretches(len(shares)):
        judged = ~np.isnan(shares[part, 0])
        hit = shares[part][judged].argmax(axis=1) == groups[part][judged]
        weights = weight[part][judged]
        right.append(math.fsum(weights[hit]))
        total.append(math.fsum(weights))
    whole = math.fsum(total)
    return math.fsum(right) / whole if whole else math.nan


def slope_out_of_bag(
    shares: NDArray[np.float64],
    groups: NDArray[Any],
    weight: NDArray[np.float64],
    n_jobs: int | None,
) -> float:
    """How sure to be, by probabilities of rows that members have not drawn; NaN where all have."""
    return _log_rows(shares, groups, weight).fit(n_jobs).slope


def rows_of_all(
    places: NDArray[np.int64], groups: NDArray[Any], totals: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Which rows all members judge together, to say how probable classes are: some of a large
    table, drawn by their places.
    """
    draw = RowDraw.of(len(groups), len(totals), totals)
    drawn = np.full(len(groups), draw is None)
    if draw is not None:
        drawn[draw.places(places, groups)] = True
    return drawn


def match_by_all(
    slope: float,
    shares: NDArray[np.float64],
    groups: NDArray[Any],
    weight: NDArray[np.float64],
    n_jobs: int | None = None,
) -> Calibration:
    """Intercepts, beside a slope, such that classes are as probable as they are frequent, by what
    all members say of rows; NaN of rows that are not drawn.
    """
    rows, n_classes = _log_rows(shares, groups, weight), shares.shape[1]
    rows = rows.weigh_classes(class_weights(groups, weight, n_classes))
    return rows.match_shares(n_jobs, slope)


def _log_rows(
    shares: NDArray[np.float64], groups: NDArray[Any], weight: NDArray[np.float64]
) -> JudgedRows:
    """Log probabilities of the rows that are judged."""
    judged = ~np.isnan(shares[:, 0])
    logs = shares[judged]
    take_logs(logs)
    return JudgedRows(logs, groups[judged], weight[judged])


def warn_of_unjudged(shares: NDArray[np.float64], where: str, stacklevel: int) -> None:
    """Warn where many rows are judged by nobody, because they are ``where``."""
    n_rows, unjudged = len(shares), int(np.isnan(shares[:, 0]).sum())
    if unjudged / n_rows > UNJUDGED:
        warnings.warn(
            f"{unjudged} of {n_rows} rows are {where}, so that nothing judges them; raise "
            "n_estimators.",
            UserWarning,
            stacklevel=stacklevel + 1,
        )
