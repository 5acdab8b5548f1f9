"""Pairs of trees of different shapes, by script: what `benchmarks/translate.py` learns from.

signatures: the syntax tree of a function's body, and its parameters; the standard library of the running Python.
outlines: an HTML page, and the outline of its headings; manuals of PostgreSQL, Octave and Django.
"""

import ast
import sysconfig
from html.parser import HTMLParser
from pathlib import Path

import numpy as np

import arbora

from .build import LARGEST, SMALLEST
from .convert import python_tree
from .development import PAGES
from .packages import unpacked

N_PAIRS = 600
MOST_IN_OUTPUT = 40  # nodes
BOOKS = ("postgresql-doc-15", "octave-doc", "python-django-doc")


def signatures(folder):
    """Bodies and parameters of functions; equal pairs once."""
    root = Path(sysconfig.get_paths()["stdlib"])
    found = {}
    for path in sorted(root.rglob("*.py")):
        if {"site-packages", "test", "tests", "idlelib"} & set(path.relative_to(root).parts):
            continue
        try:
            tree = ast.parse(path.read_text(encoding="utf-8"))
        except (SyntaxError, UnicodeDecodeError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                pair = ("body", [python_tree(part) for part in _without_text(node.body)]), _parameters(node.args)
                found[repr(pair)] = pair
    return _chosen(found)


def _without_text(body):
    """The statements of a function, its documentation left out."""
    first = body[0]
    told = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
    return body[1:] if told else body


def _parameters(args):
    """A node for each parameter, called self or by its kind; below it the kind of its default."""
    plain = [*args.posonlyargs, *args.args]
    defaults = [None] * (len(plain) - len(args.defaults)) + args.defaults
    nodes = [_parameter("argument", one, default) for one, default in zip(plain, defaults, strict=True)]
    nodes += [("*", [])] if args.vararg else []
    nodes += [_parameter("keyword", one, d) for one, d in zip(args.kwonlyargs, args.kw_defaults, strict=True)]
    nodes += [("**", [])] if args.kwarg else []
    return "parameters", nodes


def _parameter(kind, one, default):
    name = one.arg if one.arg in ("self", "cls") else kind
    if default is None:
        return name, []
    value = type(default.value).__name__ if isinstance(default, ast.Constant) else type(default).__name__
    return name, [(value, [])]


def outlines(folder):
    """Pages and the nested headings h1 to h6 of each; equal pairs once."""
    inside = [unpacked(package, Path(folder), False) for package in PAGES if package.name in BOOKS]
    paths = sorted(
        path for root in inside for path in Path(root).rglob("*.html") if path.is_file() and not path.is_symlink()
    )
    rng = np.random.default_rng(0)
    found = {}
    for path in (paths[i] for i in rng.permutation(len(paths))):
        forest = arbora.read_html(str(path))
        if len(forest) == 1 and SMALLEST <= forest.n_nodes <= LARGEST:
            (page,) = forest
            pair = page, _outline(path.read_text(encoding="utf-8", errors="replace"))
            found[repr(pair)] = pair
        if len(found) == 2 * N_PAIRS:
            break
    return _chosen(found)


class _Headings(HTMLParser):
    """The levels of the headings of a page, in order."""

    def __init__(self):
        super().__init__()
        self.levels = []

    def handle_starttag(self, tag, attrs):
        if len(tag) == 2 and tag[0] == "h" and tag[1] in "123456":
            self.levels.append(int(tag[1]))


def _outline(text):
    parser = _Headings()
    parser.feed(text)
    root = ("outline", [])
    above = [(0, root)]
    for level in parser.levels:
        while above[-1][0] >= level:
            above.pop()
        node = (f"h{level}", [])
        above[-1][1][1].append(node)
        above.append((level, node))
    return root


def _size(tree):
    return 1 + sum(map(_size, tree[1])) if isinstance(tree, tuple) else 1


def _chosen(found):
    """Two forests: so many pairs at random, with outputs of two nodes or more that are not too large."""
    pairs = [found[key] for key in sorted(found) if 2 <= _size(found[key][1]) <= MOST_IN_OUTPUT]
    order = np.random.default_rng(0).permutation(len(pairs))[:N_PAIRS]
    inputs, outputs = zip(*(pairs[i] for i in order), strict=True)
    return arbora.Forest.from_nested(inputs), arbora.Forest.from_nested(outputs)


PAIRS = {"signatures": signatures, "outlines": outlines}
