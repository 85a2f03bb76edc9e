"""KEEPING: model files."""

from unnaive.store.files import ModelFileError, load, save

__all__ = ["ModelFileError", "load", "save"]
