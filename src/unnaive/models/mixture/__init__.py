"""Hierarchical mixtures: architecture, training, folding and growing."""
