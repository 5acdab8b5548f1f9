"""A demo corpus: document trees of five kinds that share most of their tags, so that only structure separates them.

``python -m arbora.datasets FILE`` writes the sample that `load_demo` reads; a test keeps the two equal.
"""

import gzip
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..forest.forest import Forest
from ..io import read_jsonl, write_jsonl

DEMO_FILE = "demo.jsonl.gz"
DEMO_SEED = 2024
DEMO_PER_CLASS = 60


class Element(NamedTuple):
    """One element of a kind of document: present with probability `chance`, then repeated low..high times."""

    tag: str
    children: tuple["Element", ...] = ()
    low: int = 1
    high: int = 1
    chance: float = 1.0


def _one(tag: str, *children: Element) -> Element:
    return Element(tag, children)


def _maybe(chance: float, tag: str, *children: Element) -> Element:
    return Element(tag, children, chance=chance)


def _many(low: int, high: int, tag: str, *children: Element) -> Element:
    return Element(tag, children, low, high)


_PARTY = (_one("name"), _one("address", _one("p"), _maybe(0.5, "p"), _maybe(0.8, "country")), _maybe(0.3, "id"))
_REMARK = (_maybe(0.8, "name"), _one("date"), _many(1, 2, "p"))
_SECTION = (
    _maybe(0.9, "title"),
    _many(1, 5, "p"),
    _maybe(0.3, "image"),
    _maybe(0.3, "list", _many(2, 4, "item")),
    _maybe(0.2, "table", _many(2, 3, "row", _many(2, 3, "cell"))),
)

KINDS = {
    "article": (
        _one("meta", _one("title"), _many(1, 3, "name"), _one("date"), _maybe(0.4, "id")),
        _maybe(0.6, "note", _one("p")),
        _many(2, 4, "section", *_SECTION),
        Element("list", (_many(2, 6, "item", _one("name"), _one("title"), _maybe(0.7, "date")),), chance=0.6),
    ),
    "recipe": (
        _one("meta", _one("title"), _maybe(0.7, "name"), _maybe(0.4, "date")),
        _maybe(0.7, "image"),
        _maybe(0.5, "p"),
        _one("list", _many(4, 9, "item", _maybe(0.8, "quantity"), _one("name"))),
        _one("section", _maybe(0.6, "title"), _one("list", _many(3, 7, "item", _one("p"), _maybe(0.15, "image")))),
        _maybe(0.4, "note", _one("p")),
        _maybe(0.3, "table", _many(2, 5, "row", _one("name"), _one("quantity"))),
    ),
    "invoice": (
        _one("meta", _one("id"), _one("date"), _maybe(0.3, "title")),
        _one("party", *_PARTY),
        _one("party", *_PARTY),
        _one("table", _many(1, 8, "row", _one("name"), _one("quantity"), _one("price"), _maybe(0.3, "id"))),
        _one("row", _maybe(0.6, "price"), _one("price")),
        _maybe(0.4, "note", _many(1, 2, "p")),
    ),
    "product": (
        _one("meta", _one("title"), _one("id"), _maybe(0.3, "name")),
        _many(1, 4, "image"),
        _one("price"),
        _many(1, 3, "p"),
        _maybe(0.8, "table", _many(3, 7, "row", _one("name"), _one("cell"))),
        Element("section", (_maybe(0.5, "title"), _many(1, 4, "item", *_REMARK, _one("quantity"))), chance=0.6),
        _maybe(0.4, "list", _many(2, 4, "item", _one("link"), _maybe(0.5, "price"))),
    ),
    "entry": (
        _one("meta", _one("title"), _one("name"), _one("date"), _many(1, 4, "tag")),
        _maybe(0.8, "link"),
        _maybe(0.4, "image"),
        _many(1, 6, "p"),
        Element("section", (_many(1, 5, "item", *_REMARK, _maybe(0.4, "list", _one("item", *_REMARK))),), chance=0.6),
    ),
}

_TAGS = ("p", "div", "name", "link", "note", "image", "item", "title")  # what a stray element may be


def make_documents(n_per_class: int = DEMO_PER_CLASS, noise: float = 0.03, random_state: Any = 0) -> Forest:
    """Draw document trees of five kinds: article, recipe, invoice, product and feed entry.

    All have the same root and share most tags.  Elements are optional or repeated.  Slots are positions among siblings;
    names look like ``invoice-017.xml``.

    Parameters
    ----------
    n_per_class : int
        Trees of each kind.
    noise : float, default 0.03
        Probability that an element is lost, doubled, renamed or wrapped.
    random_state : int, Generator or None
        Seed.  The same seed gives the same data.

    Returns
    -------
    Forest
        The trees, with classes in `target`.

    Examples
    --------
    >>> make_documents(2).name.tolist()[:3]
    ['article-000.xml', 'article-001.xml', 'recipe-000.xml']
    """
    if n_per_class < 1 or not 0.0 <= noise <= 1.0:
        raise ValueError(f"n_per_class={n_per_class}, noise={noise}; wanted 1 or more, and a probability")
    rng = np.random.default_rng(random_state)
    kinds = [kind for kind in KINDS for _ in range(n_per_class)]
    trees = [("document", _draw(rng, KINDS[kind], noise)) for kind in kinds]
    names = [f"{kind}-{x % n_per_class:03d}.xml" for x, kind in enumerate(kinds)]
    return Forest.from_nested(trees, target=kinds, name=names)


def load_demo() -> Forest:
    """Read the demo corpus that ships with the package: 300 document trees of five kinds.

    Returns
    -------
    Forest
        The trees, with classes in `target`.

    Examples
    --------
    >>> load_demo()
    Forest(300 trees, 10866 nodes, 23 labels, 11 slots)
    """
    with as_file(files(__package__) / DEMO_FILE) as path:
        return read_jsonl(path, progress=False)


def write_documents(forest: Forest, folder: Path) -> int:
    """Write named trees with classes as XML files, a folder for each class, and say how many."""
    from lxml import etree

    for tree, kind, name in zip(forest, np.asarray(forest.target), np.asarray(forest.name), strict=True):
        root = etree.Element(tree["label"])
        stack = [(root, tree)]
        while stack:
            element, node = stack.pop()
            stack += [(etree.SubElement(element, child["label"]), child) for child in node.get("children", ())]
        target = folder / str(kind) / str(name)
        target.parent.mkdir(parents=True, exist_ok=True)
        etree.indent(root)
        target.write_bytes(etree.tostring(root) + b"\n")
    return forest.n_trees


def write_demo(path: Path) -> None:
    """Write the demo corpus as it ships; the bytes depend on nothing but the seed."""
    plain = path.with_suffix("")
    write_jsonl(make_documents(DEMO_PER_CLASS, random_state=DEMO_SEED), plain)
    path.write_bytes(gzip.compress(plain.read_bytes(), 9, mtime=0))
    plain.unlink()


def _draw(rng: np.random.Generator, elements: tuple[Element, ...], noise: float) -> list[tuple[str, list[Any]]]:
    """Children drawn for these elements; the depth is that of KINDS, so recursion is safe."""
    drawn: list[tuple[str, list[Any]]] = []
    for element in elements:
        if rng.random() >= element.chance:
            continue
        for _ in range(rng.integers(element.low, element.high, endpoint=True)):
            node = (element.tag, _draw(rng, element.children, noise))
            drawn += _disturb(rng, node) if rng.random() < noise else [node]
    return drawn


def _disturb(rng: np.random.Generator, node: tuple[str, list[Any]]) -> list[tuple[str, list[Any]]]:
    """One thing that goes wrong in real documents: an element lost, doubled, renamed or wrapped."""
    accidents = [[], [node, node], [(_TAGS[rng.integers(len(_TAGS))], node[1])], [("div", [node])]]
    return accidents[rng.integers(len(accidents))]
