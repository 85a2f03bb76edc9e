"""KEEPING: model files, and models as SQL."""

from unnaive.store.files import ModelFileError, load, save
from unnaive.store.sql import to_sql

__all__ = ["ModelFileError", "load", "save", "to_sql"]
