"""Which release of the package this is."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version


def release() -> str:
    """Of the installed package; sources that are not installed have none."""
    try:
        return version("unnaive")
    except PackageNotFoundError:
        return "unknown"
