"""Formats and options of their readers in words: one table for the command line's parser, its help and the manual."""

import inspect
from typing import Any, NamedTuple

from .choose import FORMATS, signature_of


class Option(NamedTuple):
    """An option of a reader that fits into KEY=VALUE."""

    name: str
    values: type | tuple[str, ...]  # bool, int, float (several numbers) or str; or the words that are allowed
    meaning: str
    of_trees: bool = True  # whether it says what becomes a tree, and so belongs to a model of these trees


_TEXT = Option("text", ("kind",), "kind: a child #text wherever there is text")
_ATTRIBUTES = Option("attributes", bool, "each attribute becomes a child @name")
_MAX_DEPTH = Option("max_depth", int, "deepest nesting that is read", of_trees=False)
_MAX_BYTES = Option("max_bytes", int, "longest file that is read, unpacked", of_trees=False)
_MAX_LINE = Option("max_bytes", int, "longest line that is read, unpacked", of_trees=False)
_NAMESPACES = Option(
    "namespaces", ("strip", "keep", "prefix"), "label tag, {uri}tag or prefix:tag for a tag in a namespace"
)

MAKES = {
    "xml": "one tree a file; an element is a node, its tag the label; text and attributes are ignored",
    "html": "one tree a file, mended; an element is a node, its tag the label; text and attributes are ignored",
    "json": "one tree a file; objects, members, arrays and scalars are nodes",
    "jsonl": 'one tree a line: {"label": "a", "children": [...]}; "class" of the root is its known class',
    "elastic": "one tree a line: class:label(child($) ...); the class is the known class",
    "newick": "any number of trees a file: ((a,b)c,d)root; names are labels, branch lengths are ignored",
    "brackets": "any number of trees a file: (S (NP (DT the)) (VP ...)); words are leaves",
    "conllu": "one tree a sentence; a word is a node, its relation to the head the label",
    "python": "one tree a file: the syntax tree; types of its nodes are labels",
    "forest": "trees that arbora convert wrote",
    "parquet": "trees that arbora convert wrote",
    "store": "a folder of trees that arbora convert wrote, read file by file where a model can",
}

OPTIONS: dict[str, tuple[Option, ...]] = {
    "xml": (_NAMESPACES, _ATTRIBUTES, _TEXT, _MAX_DEPTH, _MAX_BYTES),
    "html": (_ATTRIBUTES, _TEXT, _MAX_DEPTH, _MAX_BYTES),
    "json": (
        Option("scalars", ("kind", "value", "drop"), "label #string and the like, the value itself, or no node"),
        _MAX_BYTES,
    ),
    "jsonl": (Option("split", str, 'only trees whose root has this "split"', of_trees=False), _MAX_LINE),
    "elastic": (_MAX_LINE,),
    "newick": (
        Option("unnamed", str, "label of nodes without a name"),
        Option("length_bins", float, "edges of bins; the bin of the branch length joins the label"),
        _MAX_BYTES,
    ),
    "brackets": (Option("leaves", bool, "words become leaves"), _MAX_BYTES),
    "conllu": (Option("label", ("deprel", "upos", "form", "lemma"), "column that becomes the label"), _MAX_BYTES),
    "python": (Option("names", bool, "identifiers join the label, as in Name:x"), _MAX_BYTES),
    "forest": (_MAX_BYTES,),
    "parquet": (_MAX_BYTES,),
    "store": (_MAX_BYTES,),
}

_TRUTH = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
_WANTED = {bool: "true or false", int: "a whole number", float: "numbers with commas between", str: "text"}


def default_of(format: str, option: Option) -> Any:
    """The reader's own default."""
    return inspect.signature(signature_of(FORMATS[format].reader)).parameters[option.name].default


def default_told(format: str, option: Option) -> str:
    """The default as one would type it, or that the option is left out."""
    default = default_of(format, option)
    return "left out" if default is None else str(default).lower()


def wanted(format: str, option: Option) -> str:
    """The values that an option takes, in words."""
    if isinstance(option.values, tuple):
        *most, last = option.values
        words = f"{', '.join(most)} or {last}" if most else last
    else:
        words = _WANTED[option.values]
    return words if default_of(format, option) is not None else f"{words}; or leave it out"


def parse_option(format: str, key: str, text: str) -> Any:
    """The value that KEY=TEXT means to the reader of a format; ValueError, in a sentence, if it means nothing.

    An option that may be left out takes an empty text for that.

    >>> parse_option("xml", "attributes", "yes"), parse_option("xml", "text", "")
    (True, None)
    """
    option = next((option for option in OPTIONS[format] if option.name == key), None)
    if option is None:
        has = ", ".join(f"{option.name} ({wanted(format, option)})" for option in OPTIONS[format])
        raise ValueError(f"the reader of {format} has no option {key!r}; it has {has or 'none'}")
    if text == "" and default_of(format, option) is None:
        return None
    try:
        return _value(option, text)
    except (KeyError, ValueError):
        raise ValueError(f"{key}={text}: wanted {wanted(format, option)}") from None


def _value(option: Option, text: str) -> Any:
    if isinstance(option.values, tuple):
        return option.values[option.values.index(text)]
    if option.values is bool:
        return _TRUTH[text.lower()]
    if option.values is int:
        if not (text.isascii() and text.isdigit()):
            raise ValueError
        return int(text)
    return [float(part) for part in text.split(",")] if option.values is float else text
