"""Starts Python workers of Spark: each is forked from this process, which has imported all."""

from __future__ import annotations

import pandas  # noqa: F401
import pyarrow  # noqa: F401
from pyspark.daemon import manager

import unnaive.common.kernels  # noqa: F401  and Numba with it
from unnaive import *  # noqa: F403

if __name__ == "__main__":
    manager()
