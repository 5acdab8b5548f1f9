"""Recipes of the held-out corpora: no choice was made on these; methods run on them once the defaults are frozen."""

import ast
import json
import re
import zipfile
from pathlib import Path

from lxml import etree

from .build import Recipe
from .convert import python_tree, s_expression, value_tree, xml_tree
from .packages import debian, npm, wheel


def _files(root, pattern):
    return sorted(path for path in Path(root).rglob(pattern) if path.is_file() and not path.is_symlink())


# ---- footprints: how parts sit on a circuit board, by kind of part -----------------------------------------------

FAMILIES = ("Connector_Molex", "Package_SO", "Package_DIP", "Capacitor_THT", "Inductor_SMD", "Crystal", "Relay_THT")
FAMILIES += ("Potentiometer_THT", "Button_Switch_SMD", "LED_THT")


def footprints(inside):
    (root,) = inside.values()
    for family in FAMILIES:
        for path in _files(root, f"{family}.pretty/*.kicad_mod"):
            tree = s_expression(path.read_text(encoding="utf-8"))
            if tree:
                yield family, tree


# ---- parts: parts of musical scores, by composer -----------------------------------------------------------------

COMPOSERS = ("bach", "beethoven", "haydn", "monteverdi", "mozart", "trecento")
MEASURES = 12


def scores(inside):
    (root,) = inside.values()
    for composer in COMPOSERS:
        for path in _files(root, f"corpus/{composer}/**/*.mxl") + _files(root, f"corpus/{composer}/**/*.xml"):
            for part in _score(path).iter("part"):
                for measure in part.findall("measure")[MEASURES:]:
                    part.remove(measure)
                yield composer, xml_tree(part)


def _score(path):
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    if path.suffix == ".xml":
        return etree.fromstring(path.read_bytes(), parser)
    with zipfile.ZipFile(path) as box:
        (name, *_) = [n for n in box.namelist() if n.endswith(("xml", "musicxml")) and not n.startswith("META-INF")]
        return etree.fromstring(box.read(name), parser)


# ---- locales: data on languages in one XML format, by kind of data -----------------------------------------------

LOCALES = ("annotations", "casing", "collation", "main", "rbnf", "segments", "subdivisions", "transforms")


def locales(inside):
    (root,) = inside.values()
    for kind in LOCALES:
        for path in _files(root, f"common/{kind}/*.xml"):
            yield kind, path


# ---- items: pages on a programming language, by what a page is on ------------------------------------------------

ITEMS = ("fn", "struct", "constant", "trait", "macro", "type", "enum", "primitive", "keyword")


def items(inside):
    (root,) = inside.values()
    for path in _files(root, "*.html"):
        kind = path.name.split(".")[0]
        if kind in ITEMS and path.name != f"{kind}.html":
            yield kind, path
        elif re.search(r"html/(book|reference|nomicon|rust-by-example|edition-guide)/", str(path)):
            yield "chapter", path
        elif re.search(r"html/(std|core|alloc)/.*/index\.html$", str(path)):
            yield "module", path


# ---- playbooks: files that set up machines, by the part a file plays ---------------------------------------------

PLAYS = {
    "tasks": r"/tasks/[^/]+\.ya?ml$",
    "defaults": r"/defaults/[^/]+\.ya?ml$",
    "handlers": r"/handlers/[^/]+\.ya?ml$",
    "variables": r"/vars/[^/]+\.ya?ml$",
    "role": r"/meta/main\.ya?ml$",
    "arguments": r"/meta/argument_specs?\.ya?ml$",
    "collection": r"/meta/runtime\.ya?ml$",
    "log of changes": r"/changelogs/config\.ya?ml$",
    "test": r"/molecule/.*\.ya?ml$|/tests/test\.ya?ml$",
}


def playbooks(inside):
    import yaml

    (root,) = inside.values()
    for path in _files(root, "*.yml") + _files(root, "*.yaml"):
        part = next((name for name, words in PLAYS.items() if re.search(words, str(path))), None)
        if part and path.stat().st_size < 40_000:
            try:
                value = yaml.safe_load(path.read_text(encoding="utf-8"))
            except (yaml.YAMLError, UnicodeDecodeError):
                continue
            if isinstance(value, dict | list):
                yield part, value_tree(value)


# ---- functions: Python functions, by library ---------------------------------------------------------------------

LIBRARIES = (
    wheel("sympy", "1.14.0"),
    wheel("networkx", "3.6.1"),
    wheel("werkzeug", "3.1.9"),
    wheel("pytest", "9.2.0"),
    wheel("docutils", "0.23"),
    wheel("twisted", "26.10.0"),
    wheel("nltk", "3.10.4"),
    wheel("scapy", "2.8.0"),
)


def functions(inside):
    for name, root in inside.items():
        for path in _files(root, "*.py"):
            if "test" in str(path.relative_to(root)).removeprefix("_pytest") and name != "pytest":
                continue
            for node in ast.walk(ast.parse(path.read_bytes())):
                if isinstance(node, ast.FunctionDef) and 8 <= node.end_lineno - node.lineno <= 60:
                    yield name, python_tree(node)


# ---- charts: descriptions of charts in JSON, by what is drawn ----------------------------------------------------


def charts(inside):
    (root,) = inside.values()
    for path in _files(root, "examples/specs/*.vl.json"):
        spec = json.loads(path.read_text(encoding="utf-8"))
        mark = spec.get("mark", "")
        kind = mark if isinstance(mark, str) else mark.get("type", "")
        kind = kind or ("layered" if "layer" in spec else "several charts")
        drawn = path.parent.parent / "compiled" / path.name.replace(".vl.json", ".vg.json")
        if drawn.exists():
            yield kind, drawn


HELD_OUT = tuple(
    recipe._replace(held_out=True)
    for recipe in (
        Recipe(
            "footprints",
            "drawings of parts on circuit boards; class: the kind of part",
            (debian("kicad-footprints", "6.0.11-1"),),
            footprints,
        ),
        Recipe("scores", "parts of musical scores in XML; class: the composer", (wheel("music21", "10.5.1"),), scores),
        Recipe(
            "locales",
            "data on languages in XML; class: the kind of data",
            (debian("unicode-cldr-core", "41-0.1"),),
            locales,
            "xml",
        ),
        Recipe(
            "items",
            "HTML pages on a programming language; class: what a page is on",
            (debian("rust-doc", "1.63.0+dfsg1-2"),),
            items,
            "html",
            per_class=80,
        ),
        Recipe(
            "playbooks",
            "YAML files that set up machines; class: the part a file plays",
            (wheel("ansible", "12.3.0"),),
            playbooks,
        ),
        Recipe("functions", "Python functions; class: the library", LIBRARIES, functions),
        Recipe(
            "charts", "JSON of charts; class: what is drawn", (npm("vega-lite", "2.0.0"),), charts, "json", per_class=80
        ),
    )
)
