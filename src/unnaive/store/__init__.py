"""Keeping: model files, and models as SQL."""
