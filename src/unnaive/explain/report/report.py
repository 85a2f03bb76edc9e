"""A report: one self-contained HTML page that shows a fitted model."""

from __future__ import annotations

import base64
import datetime
import hashlib
import html
import json
import re
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from sklearn.utils.validation import check_is_fitted

from unnaive.answer.unwrap import unwrap
from unnaive.common.atomic import replacing
from unnaive.common.wording import printable
from unnaive.estimator.base import release
from unnaive.explain.report.panels import Panels
from unnaive.models.base import leaves_answer

# In the order of loading: each uses the ones before it.
SCRIPTS = (
    "data.js",
    "scorer.js",
    "dom.js",
    "quality.js",
    "decision.js",
    "tree.js",
    "evidence.js",
    "pairs.js",
    "whatif.js",
    "compare.js",
    "main.js",
)


class Report:
    """A page about a fitted model, made by `unnaive.report`.

    A notebook shows the page in a frame.

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

    def __repr__(self) -> str:
        where = "" if self.path is None else f", written to {str(self.path)!r}"
        return f"Report {self.title!r}: {len(self.html) / 1e6:.2f} MB{where}"

    def _repr_html_(self) -> str:
        """Return the page in a frame that can reach nothing outside itself."""
        page = html.escape(self.html, quote=True)
        return (
            f'<iframe sandbox="allow-scripts" srcdoc="{page}" width="100%" height="800" '
            'style="border:1px solid #8886" title="report"></iframe>'
        )


def report(
    model: Any, X: Any, y: Any = None, *, path: Any = None, title: str | None = None
) -> Report:
    """Return a self-contained HTML page: quality, evidence, what-if panel, tree.

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
    inside = unwrap(model)
    model, X = inside.model, inside.read(X)
    if not (leaves_answer(model) and hasattr(model, "predict_proba")):
        raise TypeError(
            f"report shows classifiers of this library that have predict_proba, also inside a "
            f"Pipeline, a search or a classifier with a threshold; got a {type(model).__name__}."
        )
    check_is_fitted(model)
    panels = Panels(model, X, y, title)
    page = Report(panels.template(), panels.data())
    if path is not None:
        page.save(path)
    return page


def render(template: str, contents: dict[str, Any], data: dict[str, Any] | None = None) -> str:
    """Return a whole page: ``contents`` fill the template, ``data`` are for its scripts."""
    try:
        from jinja2 import Environment, StrictUndefined
        from markupsafe import Markup
    except ImportError:
        raise ImportError(
            "report needs jinja2, which is not installed; install it with: pip install "
            "'unnaive[report]'."
        ) from None
    environment = Environment(autoescape=True, undefined=StrictUndefined)
    environment.filters["breaking"] = lambda name: Markup("<wbr>").join(_words(name))
    environment.filters["plain"] = printable
    style, script = _asset("style.css"), "\n".join(_asset(name) for name in SCRIPTS)
    page = environment.from_string(_asset(template)).render(
        **contents,
        version=release(),
        today=datetime.date.today().isoformat(),
        style=Markup(style),
        style_hash=_hash(style),
        script=Markup(script),
        script_hash=_hash(script),
        data=Markup(as_json(data)),
    )
    # Lone halves of a character, as broken file names have them, cannot be written as UTF-8.
    return page.encode("utf-8", "replace").decode("utf-8")


def _words(name: str) -> list[str]:
    """Return a name in pieces, each with the sign at its end that parts it from the next word."""
    return re.split(r"(?<=[_.\-/])", str(name))


def as_json(data: Any) -> str:
    """Return JSON for a script element: nothing in it can end the element or open a comment."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for letter in "<>&\u2028\u2029":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return text


def write(text: str, path: Any) -> Path:
    """Write a file at once: readers see the old one or the whole new one."""
    target = Path(path)
    if target.is_dir():
        raise IsADirectoryError(f"path {str(target)!r} is a folder; name a file in it.")
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"path {str(target)!r} lies in a folder that does not exist; make it first."
        )
    with replacing(target) as file:
        file.write(text.encode("utf-8"))
    return target


@cache
def _asset(name: str) -> str:
    return resources.files("unnaive.explain.report").joinpath("assets", name).read_text("utf-8")


def _hash(text: str) -> str:
    """Return the hash by which the page's content security policy allows exactly this text."""
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"
