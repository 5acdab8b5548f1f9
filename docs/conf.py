"""Sphinx settings; every warning is an error (`make check`)."""

import re
from pathlib import Path

_source = (Path(__file__).parents[1] / "src/arbora/__init__.py").read_text(encoding="utf-8")

project = "Arbora"
author = "The Arbora developers"
project_copyright = author
release = re.findall(r'^__version__ = "(.+)"', _source, re.MULTILINE)[0]
version = release

extensions = ["myst_parser"]
myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 3
exclude_patterns = ["_build", "reproduction"]  # the tables are included by reproduction.md
nitpicky = True

html_theme = "alabaster"
html_theme_options = {"description": "Probabilistic clustering of trees", "page_width": "1100px"}
html_show_sphinx = False
html_copy_source = False
