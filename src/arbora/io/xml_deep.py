"""XML deeper than libxml2 goes: the same nodes from the standard library's streaming parser, which has no limit."""

from typing import TYPE_CHECKING
from xml.parsers import expat

import numpy as np

from ..forest.node_columns import Ints32
from .builder import Fault, Words

if TYPE_CHECKING:
    from .formats.xml import Markup


def read_deep(data: bytes, markup: "Markup", words: Words) -> tuple[Ints32, Ints32]:
    """Depth and label of the nodes of one document, at most `markup.max_depth` deep; entities are refused."""
    collector = _Collector(markup, words)
    # With a separator expat resolves namespaces itself; without one it gives names as they are written.
    parser = expat.ParserCreate(namespace_separator="}" if markup.namespaces == "keep" else None)
    collector.parser = parser
    parser.buffer_text = True
    parser.ordered_attributes = True
    parser.specified_attributes = True  # none that only a DTD adds
    parser.StartElementHandler = collector.start
    parser.EndElementHandler = collector.end
    parser.EntityDeclHandler = collector.refuse
    if markup.text:
        parser.CharacterDataHandler = collector.characters
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        said = expat.ErrorString(error.code)
        raise Fault(f"not well-formed XML ({said}); correct the file", error.lineno, error.offset + 1) from None
    return np.array(collector.depth, np.int32), np.array(collector.label, np.int32)


class _Collector:
    """The handlers of one parse."""

    parser: expat.XMLParserType

    def __init__(self, markup: "Markup", words: Words) -> None:
        self.markup, self.words = markup, words
        self.depth: list[int] = []
        self.label: list[int] = []
        self.level = 0
        self.in_text = False  # text in pieces, such as around a comment, is one node

    def add(self, word: str) -> None:
        self.depth.append(self.level)
        self.label.append(self.words[word])

    def name(self, name: str) -> str:
        if self.markup.namespaces == "keep":
            return "{" + name if "}" in name else name
        return name.rpartition(":")[2] if self.markup.namespaces == "strip" else name

    def start(self, tag: str, attributes: list[str]) -> None:
        if self.level >= self.markup.max_depth:
            line = self.parser.CurrentLineNumber
            what = f"elements are nested deeper than {self.markup.max_depth}; raise max_depth if you trust the file"
            raise Fault(what, line)
        self.add(self.name(tag))
        self.level += 1
        self.in_text = False
        if self.markup.attributes:
            for attribute in attributes[::2]:
                if self.markup.namespaces == "keep" or not (attribute + ":").startswith("xmlns:"):
                    self.add("@" + self.name(attribute))

    def end(self, _tag: str) -> None:
        self.level -= 1
        self.in_text = False

    def characters(self, text: str) -> None:
        if not self.in_text and text.strip(" \t\n\v\f\r"):
            self.add("#text")
            self.in_text = True

    def refuse(self, *_: object) -> None:
        raise Fault("it declares entities, which is refused with raised limits", self.parser.CurrentLineNumber)
