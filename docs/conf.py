"""How the site is built: ``make docs``; every warning is an error."""

from __future__ import annotations

import os
import warnings
from functools import partial
from pathlib import Path

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging

import unnaive

ROOT = Path(__file__).resolve().parent.parent

project = "unnaive"
author = "the unnaive developers"
copyright = "the unnaive developers, BSD-3-Clause"
version = release = unnaive.__version__

extensions = [
    "matplotlib.sphinxext.plot_directive",
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "gallery/**/*.py.md5", "gallery/**/*.codeobj.json"]
suppress_warnings = ["config.cache"]  # the order of the gallery is a function
templates_path = ["_templates"]
html_static_path = ["_static"]
html_math_renderer = "mathml"  # browsers draw it themselves: pages need no script and no network
nitpicky = False

# Pages -----------------------------------------------------------------------------------------

myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 3
highlight_language = "text"  # what is Python says so

# Reference -------------------------------------------------------------------------------------

autosummary_generate = True
autodoc_default_options = {"members": True, "inherited-members": True}
autodoc_typehints = "none"  # numpydoc sections say it
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

# Figures of the guide, drawn by the scripts in guide/figures ------------------------------------

plot_basedir = "guide/figures"
plot_formats = ["svg"]
plot_html_show_formats = False
plot_pre_code = ""
plot_template = """
.. only:: html

   {% for img in images %}
   .. figure:: {{ build_dir }}/{{ img.basename }}.{{ default_fmt }}
      {% for option in options -%}
      {{ option }}
      {% endfor %}
      {{ caption }}
      :download:`Code <{{ build_dir }}/{{ src_name }}>`
   {% endfor %}
"""

# Gallery ---------------------------------------------------------------------------------------

os.environ.setdefault("MPLBACKEND", "Agg")
warnings.filterwarnings("ignore", message=".*FigureCanvasAgg is non-interactive.*")
sphinx_gallery_conf = {
    "examples_dirs": str(ROOT / "examples" / "gallery"),
    "gallery_dirs": "gallery",
    "filename_pattern": r"plot_",
    "abort_on_example_error": True,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "download_all_examples": False,
    "plot_gallery": True,
    "within_subsection_order": "FileNameSortKey",
    "reference_url": {"unnaive": None},
    "doc_module": ("unnaive",),
    "backreferences_dir": "reference/backreferences",
    "matplotlib_animations": False,
}

# Look ------------------------------------------------------------------------------------------

html_theme = "pydata_sphinx_theme"
html_title = "unnaive"
html_show_sourcelink = False
html_theme_options = {
    "show_toc_level": 2,
    "navigation_with_keys": True,
    "header_links_before_dropdown": 7,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_css_files = ["site.css"]
html_sidebars = {name: [] for name in ("index", "start", "choosing", "measured")}


def formula(page: object, node: nodes.Element, *, block: bool) -> None:
    """Add a formula to a page as MathML."""
    tag = "div" if block else "span"
    try:
        drawn = tex2mathml(node.astext(), as_block=block)
    except MathError as error:
        logging.getLogger(__name__).warning("formula: %s", error, location=node)
        raise nodes.SkipNode from error
    page.body.append(page.starttag(node, tag, "", CLASS="math notranslate nohighlight"))
    page.body.append(f"{drawn}</{tag}>")
    raise nodes.SkipNode


def setup(app: object) -> None:
    """Formulas as MathML; what is inherited from scikit-learn or Python is described there."""
    app.add_html_math_renderer(
        "mathml", (partial(formula, block=False), None), (partial(formula, block=True), None)
    )

    def skip(app, what, name, obj, skipped, options):  # noqa: ARG001
        foreign = str(getattr(obj, "__module__", "")).startswith("sklearn")
        return skipped or foreign or getattr(obj, "__objclass__", None) is BaseException

    app.connect("autodoc-skip-member", skip)
