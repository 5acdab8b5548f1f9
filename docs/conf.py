"""Sphinx settings; every warning is an error (`make check`)."""

import re
from pathlib import Path

_source = (Path(__file__).parents[1] / "src/arbora/__init__.py").read_text(encoding="utf-8")

project = "Arbora"
author = "The Arbora developers"
project_copyright = author
release = re.findall(r'^__version__ = "(.+)"', _source, re.MULTILINE)[0]
version = release

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_gallery.gen_gallery"]
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
myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 3
exclude_patterns = ["_build", "reproduction"]  # the tables are included by reproduction.md
nitpicky = True

html_theme = "alabaster"
html_theme_options = {"description": "Probabilistic clustering of trees", "page_width": "1100px"}
html_show_sphinx = False
html_copy_source = False
