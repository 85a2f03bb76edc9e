"""One HTML file: the template filled in, with style and scripts inside."""

from __future__ import annotations

import base64
import datetime
import hashlib
import json
import re
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from unnaive.common.atomic import replacing
from unnaive.common.wording import printable
from unnaive.pack.release import release

# In the order of loading: each uses what stands before it.
SCRIPTS = (
    "data.js", "scorer.js", "dom.js", "quality.js", "decision.js", "tree.js", "evidence.js",
    "pairs.js", "whatif.js", "compare.js", "main.js",
)  # fmt: skip


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
    """A name in pieces, each with the sign at its end that parts it from the next word."""
    return re.split(r"(?<=[_.\-/])", str(name))


def as_json(data: Any) -> str:
    """Plain data for a script element: nothing in it can end the element or open a comment."""
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
    """Hash by which the page's content security policy allows exactly this text."""
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"
