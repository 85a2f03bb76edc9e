"""One page that shows a model: data, scripts and words, put into one HTML file."""

from unnaive.explain.report.making import Frame, Report, report

__all__ = ["Frame", "Report", "report"]
