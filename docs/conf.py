"""Sphinx settings; every warning is an error (`make check`)."""

import re
from pathlib import Path

_source = (Path(__file__).parents[1] / "src/arbora/__init__.py").read_text(encoding="utf-8")

project = "Arbora"
author = "The Arbora developers"
project_copyright = author
release = re.findall(r'^__version__ = "(.+)"', _source, re.MULTILINE)[0]
version = release

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_gallery.gen_gallery"]
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


def list_parameters(app, what, name, obj, options, lines):
    """Turn sections of parameters, `name : meaning` over several lines, into lists; line by line, in place."""
    out, inside = [], False
    for line in lines:
        if set(line) == {"-"} and out and out[-1] in ("Parameters", "Attributes"):
            out[-1:] = [f"**{out[-1]}**", ""]
            inside = True
        elif inside and line and not line.startswith(" "):
            names, _, meaning = line.partition(" : ")
            out.append(f"- ``{names}``: {meaning}" if meaning else line)
            inside = bool(meaning)
        elif inside and line:
            out.append(f"  {line.strip()}")
        else:
            out.append(line)
            inside = inside and bool(line)
    lines[:] = out


def setup(app):
    app.connect("autodoc-process-docstring", list_parameters)
