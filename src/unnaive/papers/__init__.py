"""PROVING: the papers' configurations, protocols, tables and figures.

Needs ``pip install "unnaive[papers]"``.
"""

from unnaive.papers.study import COMPARISON, PAPERS, configuration, configurations

__all__ = ["COMPARISON", "PAPERS", "configuration", "configurations"]
