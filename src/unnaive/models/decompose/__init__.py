"""Decomposing classes: relabelling rows, choosing numbers of clusters, describing clusters."""
