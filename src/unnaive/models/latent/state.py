"""What EM works on: rows, parameters of many mixtures, and the sums of a pass over the rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class EMRows(NamedTuple):
    """Distinct rows as EM sees them, column by column."""

    values: NDArray[np.float64]  # numeric columns x rows, standardized, 0 where missing
    gap: NDArray[np.intp]  # per numeric column: its row of `present`, -1 if it has no gap
    present: NDArray[np.float64]  # columns with gaps x rows: 1 where there is a value
    cells: NDArray[np.uint16]  # packs of categorical columns x rows
    weight: NDArray[np.float64]
    held: NDArray[np.float64]  # folds x rows: the weight that a fold holds out


class Packs(NamedTuple):
    """Categorical columns packed: the cell of a pack tells the slots of its columns."""

    start: NDArray[np.intp]  # first cell of each pack, and the end
    pack: NDArray[np.intp]  # of each column: which pack,
    divisor: NDArray[np.intp]  # and how to read its slot from the pack's cell
    width: NDArray[np.intp]
    offset: NDArray[np.intp]  # first slot of each column in a count table, and the end


class Mixtures(NamedTuple):
    """Parameters of several mixtures with equally many components."""

    log_share: NDArray[np.float64]  # mixtures x components
    mean: NDArray[np.float64]  # mixtures x components x numeric columns, of standardized values
    variance: NDArray[np.float64]
    logs: NDArray[np.float64]  # mixtures x slots x components
    table: NDArray[np.float64]  # mixtures x components x cells: logs summed over packs
    penalty: NDArray[np.float64]  # mixtures: log density of the parameters' prior


class Sums(NamedTuple):
    """What a pass leaves: whole numbers of a unit, weights of cells, log-likelihoods."""

    share: NDArray[np.int64]  # mixtures x components
    moments: NDArray[np.int64]  # mixtures x components x columns x (weight, sum, squares)
    cells: NDArray[np.float64]  # mixtures x components x cells
    fit: NDArray[np.int64]  # mixtures x (rows trained on, held out) x (whole numbers, parts of one)


class Centres(NamedTuple):
    """Rows that mixtures start from: mixtures x components x columns."""

    values: NDArray[np.float64]  # standardized
    slots: NDArray[np.uint16]


class Grains(NamedTuple):
    """To what terms of sums are rounded, so that these do not depend on order."""

    rounding: float  # what rounds to a whole number of a unit,
    unit: float  # that unit,
    fine: float  # and how many parts one has in sums of log-likelihoods


class Prior(NamedTuple):
    """What keeps estimates away from the edge; see `LatentClassClusterer`."""

    alpha: float
    prior_alpha: float
    min_variance: float
