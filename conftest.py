"""The order of tests, and which examples they look at."""

from __future__ import annotations

from hypothesis import settings

from spark_session import spark  # noqa: F401

FIRST = ("test_dask.py", "test_memory.py")  # which mostly wait, or take long


# The same examples each time, so that a change fails by its own fault alone; to look for new ones:
# pytest --hypothesis-profile=search
settings.register_profile("search", derandomize=False)
settings.register_profile("same", derandomize=True)
settings.load_profile("same")


def pytest_collection_modifyitems(items):
    """Begin with what takes long, so that no worker is left alone with it at the end.

    All of Spark comes in a row: one worker has it, and starts it once.
    """

    def turn(item):
        return 0 if "spark" in item.fixturenames else 1 if item.path.name in FIRST else 2

    items.sort(key=turn)
