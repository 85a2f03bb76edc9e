"""One Spark session for all tests that need one; `conftest.py` makes it a fixture."""

from __future__ import annotations

import os
import shutil
import sys
import warnings

import pytest


@pytest.fixture(scope="session")
def spark():
    """Two cores of this machine, and four tries for every task."""
    pytest.importorskip("pyspark")
    if not (shutil.which("java") or os.environ.get("JAVA_HOME")):
        pytest.skip("Spark needs a Java runtime, and there is none")
    from pyspark.sql import SparkSession

    # Workers are started by Java: they find this Python and its modules by these.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.log.level": "OFF",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "4",
        "spark.default.parallelism": "2",
        "spark.python.daemon.module": "spark_daemon",
        # Tests are short: code that Java compiles with care does not pay.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.sql.adaptive.enabled": "false",
    }
    builder = SparkSession.builder.master("local[2,4]").appName("unnaive")
    for name, value in settings.items():
        builder = builder.config(name, value)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        session = builder.getOrCreate()
    yield session
    session.stop()
