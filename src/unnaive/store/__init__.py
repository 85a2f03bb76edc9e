"""KEEPING: model files, and models as SQL."""

from unnaive.store.files import load, save
from unnaive.store.plain import ModelFileError
from unnaive.store.sql import to_sql

__all__ = ["ModelFileError", "load", "save", "to_sql"]
