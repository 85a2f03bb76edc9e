"""Rows in files, against reading them and against memory."""
