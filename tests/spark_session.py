"""One Spark session for all tests that need one; `conftest.py` makes it a fixture."""

from __future__ import annotations

import shutil
import warnings

import pytest


@pytest.fixture(scope="session")
def spark():
    """A local Spark of two threads, in UTC."""
    pyspark = pytest.importorskip("pyspark", reason="pyspark is not installed")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java, which is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        session = (
            pyspark.sql.SparkSession.builder.master("local[2]")
            .appName("unnaive tests")
            .config("spark.ui.enabled", "false")
            .config("spark.sql.shuffle.partitions", "2")
            .config("spark.sql.session.timeZone", "UTC")
            .getOrCreate()
        )
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()
