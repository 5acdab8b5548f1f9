"""Sphinx settings; every warning is an error (`make check`)."""

import re
from pathlib import Path
from typing import Any

from arbora.io.registry import READERS

_source = (Path(__file__).parents[1] / "src/arbora/__init__.py").read_text(encoding="utf-8")

project = "Arbora"
author = "The Arbora developers"
project_copyright = author
release = re.findall(r'^__version__ = "(.+)"', _source, re.MULTILINE)[0]
version = release

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
napoleon_google_docstring = False
napoleon_use_param = napoleon_use_rtype = napoleon_use_keyword = False  # types are words, not links
napoleon_custom_sections = [("Attributes", "params_style")]
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",  # made anew, not kept
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    "min_reported_time": 3600,
}
autodoc_typehints = "none"  # the docstrings say what matters
autodoc_member_order = "bysource"
default_role = "literal"  # names between single backquotes, as the docstrings write them
myst_enable_extensions = ["colon_fence", "dollarmath", "deflist"]
myst_heading_anchors = 3
exclude_patterns = ["_build", "reproduction"]  # the tables are included by reproduction.md
nitpicky = True

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

html_theme = "pydata_sphinx_theme"
html_title = f"Arbora {release}"
html_static_path = ["_static"]
html_css_files = ["arbora.css"]
html_js_files = ["arbora.js"]
html_show_sphinx = False
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "Arbora"},
    "header_links_before_dropdown": 5,
    "navbar_align": "left",
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_context = {"default_mode": "auto"}
html_sidebars = {"index": [], "tutorial": []}


def list_readers(app: Any, page: str, source: list[str]) -> None:
    """Put the readers of all formats where the reference has the word READERS."""
    if page == "api":
        source[0] = source[0].replace("READERS\n", "".join(f".. autofunction:: read_{name}\n" for name in READERS))


def setup(app: Any) -> None:
    app.connect("source-read", list_readers)
