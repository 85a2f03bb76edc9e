"""One self-contained page that shows a fitted model."""

from __future__ import annotations

import html
from pathlib import Path
from typing import Any

from sklearn.utils.validation import check_is_fitted

from unnaive.explain.report.contents import Contents
from unnaive.explain.report.page import render, write
from unnaive.models._base import leaves_answer
from unnaive.models.wrapped import look_inside


class Report:
    """A page about a fitted model, made by `unnaive.report`.

    In a notebook it shows itself compactly; :meth:`frame` shows the whole page there.

    Attributes
    ----------
    html : str
        The whole page.
    path : Path or None
        Where it was written last.
    title : str
    """

    def __init__(self, contents: dict[str, Any], data: dict[str, Any]) -> None:
        self.html = render("page.html.jinja", contents, data)
        self.title: str = contents["title"]
        self.path: Path | None = None
        quality = contents["quality"]
        self._what = f"{contents['model']['name']}. {contents['model']['what']}"
        self._rows: str = "" if quality is None else quality["rows"]
        self._figures: list[dict[str, str]] = [] if quality is None else quality["figures"]

    def save(self, path: Any) -> Path:
        """Write the page to a file, whole or not at all.

        Parameters
        ----------
        path : str or path
            Of the HTML file; it may exist, its folder must.

        Returns
        -------
        Path
        """
        self.path = write(self.html, path)
        return self.path

    def frame(self, height: int = 800) -> Frame:
        """The whole page for a notebook, in a frame that can reach nothing outside itself.

        Parameters
        ----------
        height : int, default=800
            In pixels.

        Returns
        -------
        Frame
        """
        return Frame(self.html, int(height))

    def __repr__(self) -> str:
        where = "" if self.path is None else f", written to {str(self.path)!r}"
        return f"Report {self.title!r}: {len(self.html) / 1e6:.2f} MB{where}"

    def _repr_html_(self) -> str:
        """A few lines: the figures, and where the page is."""
        size = f"{len(self.html.encode()) / 1e6:.1f} MB"
        if self.path is None:
            where = f"{size}, not written yet: <code>.save(path)</code>"
        else:
            link = html.escape(self.path.resolve().as_uri())
            where = f'<a href="{link}" target="_blank">{_text(self.path)}</a>, {size}'
        figures = "".join(
            f'<td style="padding:0 2em 0 0;text-align:left;vertical-align:top">'
            f'<b style="font-size:1.5em">{_text(figure["value"])}</b><br>'
            f"{_text(figure['name'])}<br>"
            f'<span style="opacity:.7">{_text(figure["beside"])}</span></td>'
            for figure in self._figures
        )
        table = f'<table style="margin:.5em 0"><tr>{figures}</tr></table>' if figures else ""
        rows = f"<div>Measured on the rows you passed: {_text(self._rows)}.</div>" if table else ""
        return (
            f"<div><div><b><bdi>{_text(self.title)}</bdi></b></div><div>{_text(self._what)}</div>"
            f"{table}{rows}<div>{where}; <code>.frame()</code> shows the whole page here.</div>"
            "</div>"
        )


class Frame:
    """A page inside a notebook; see `Report.frame`."""

    def __init__(self, page: str, height: int) -> None:
        self.page, self.height = page, height

    def __repr__(self) -> str:
        return f"Frame of {self.height} pixels"

    def _repr_html_(self) -> str:
        page = html.escape(self.page, quote=True)
        return (
            f'<iframe sandbox="allow-scripts" srcdoc="{page}" width="100%" height="{self.height}" '
            'style="border:1px solid #8886" title="report"></iframe>'
        )


def report(
    model: Any, X: Any, y: Any = None, *, path: Any = None, cv: Any = None, title: str | None = None
) -> Report:
    """One self-contained HTML page that shows a fitted model: quality, evidence, what-if, tree.

    The page needs no network. What it computes equals ``predict_proba``.

    Parameters
    ----------
    model : fitted classifier of this library
        Also inside a `Pipeline`, whose page is about the columns that its last step sees, inside a
        search, or with a threshold of scikit-learn's. A decomposition around a classifier of
        another library has no panels that look inside.
    X : table of shape (n_samples, n_features)
        The rows to measure and show, held-out rows rather than those of training. Some of them
        are kept in the page, to start what-if questions from.
    y : array-like of shape (n_samples,) or None, default=None
        Their labels; without them nothing is measured.
    path : str, path or None, default=None
        Where to write the page; None only returns it.
    cv : int, splitter, iterable or None, default=None
        Adds cross-validated figures: copies of the model are fitted on parts of these rows.
    title : str or None, default=None
        Heading of the page.

    Returns
    -------
    Report

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from unnaive import NaiveBayesClassifier, report
    >>> data = load_iris(as_frame=True)
    >>> model = NaiveBayesClassifier().fit(data.data, data.target)
    >>> page = report(model, data.data, data.target, title="Iris")
    >>> page.html.startswith("<!DOCTYPE html>")
    True
    """
    inside = look_inside(model)
    model, X = inside.model, inside.read(X)
    if not (leaves_answer(model) and hasattr(model, "predict_proba")):
        raise TypeError(
            f"report shows classifiers of this library that have predict_proba, also inside a "
            f"Pipeline, a search or a classifier with a threshold; got a {type(model).__name__}."
        )
    check_is_fitted(model)
    if cv is not None:
        inside.alone("cross-validated by report")
    if cv is not None and y is None:
        raise ValueError("cv needs labels; pass y as well.")
    contents = Contents(model, X, y, cv, title)
    made = Report(contents.template(), contents.data())
    if path is not None:
        made.save(path)
    return made


def _text(value: Any) -> str:
    return html.escape(str(value), quote=True)
