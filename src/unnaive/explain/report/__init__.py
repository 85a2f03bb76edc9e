"""Self-contained HTML reports of fitted models."""

from unnaive.explain.report.report import Report, report

__all__ = ["Report", "report"]
