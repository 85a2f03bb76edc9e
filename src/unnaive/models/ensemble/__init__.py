"""Rounds of boosting, and models that answer together."""
