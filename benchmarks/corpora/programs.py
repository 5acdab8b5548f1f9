"""Parsers that are programs of their own, from packages: English by link-parser, others on node."""

import json
import os
import re
import subprocess
from pathlib import Path

from .convert import s_expression

_WORD = re.compile(r"\.([a-z])[-a-z]*$")  # link-parser's mark of the kind of a word
MOST_NODES = 3000  # of a script; larger ones are left out anyway


def parsed_sentences(sentences, inside):
    """Constituents of English sentences, the trees of those that link-parser reads in full.

    `inside` has the folders of Debian's link-grammar, liblink-grammar5, libhunspell-1.7-0 and
    link-grammar-dictionaries-en.  Leaves are words: their label is the kind of the word, or ``word``.
    """
    for block in re.split(r"\n\s*\n", link_parser(sentences, inside)):
        start = re.search(r"^\(", block, re.MULTILINE)
        tree = s_expression(block[start.start() :], leaf=_kind_of_word) if start else None
        if tree:
            yield tree


def link_parser(sentences, inside):
    """What link-parser prints: the constituents of each sentence in brackets."""
    (program,) = Path(inside["link-grammar"]).rglob("bin/link-parser")
    (english,) = Path(inside["link-grammar-dictionaries-en"]).rglob("link-grammar/en")
    libraries = [path.parent for name in inside for path in Path(inside[name]).rglob("lib*.so.*")]
    options = ["-constituents=1", "-graphics=0", "-verbosity=0", "-null=0", "-timeout=5", "-limit=100"]
    command = [str(program.resolve()), str(english.resolve()), *options]
    place = {**os.environ, "LD_LIBRARY_PATH": ":".join(sorted({str(path.resolve()) for path in libraries}))}
    text = "\n".join(sentences) + "\n"
    return subprocess.run(command, input=text, capture_output=True, text=True, env=place, check=True).stdout


def _kind_of_word(word):
    found = _WORD.search(word)
    if found:
        return f".{found[1]}"
    return "word" if word[0].isalnum() else word[0]


_NODES = """
const fs = require("fs");
const most = Number(process.argv[2]);
function nested(value, room) {
  const children = [];
  for (const key of Object.keys(value)) {
    const inner = value[key];
    for (const child of Array.isArray(inner) ? inner : [inner])
      if (child && typeof child.type === "string") children.push(nested(child, room));
  }
  if (--room.left < 0) throw new Error("large");
  return [value.type, children];
}
function lines(parse) {
  for (const path of fs.readFileSync(0, "utf8").split("\\n")) {
    let tree = null;
    try { tree = nested(parse(fs.readFileSync(path, "utf8")), {left: most}); } catch (fault) { }
    console.log(JSON.stringify(tree));
  }
}
const library = require(process.argv[1]);
"""
_ACORN = """
const options = {ecmaVersion: "latest", allowHashBang: true, allowReturnOutsideFunction: true};
lines(text => {
  try { return library.parse(text, {...options, sourceType: "module"}); }
  catch (fault) { return library.parse(text, {...options, sourceType: "script"}); }
});
"""
_SOLIDITY = "lines(text => library.parse(text));"
_STYLES = """
function rule(value, room) {
  const own = value.children || (value.type === "Rule" ? [value.prelude, value.block] : []);
  const label = value.type === "Declaration" ? value.property : value.type;
  const inner = value.type === "Declaration" ? value.value.children : own;
  return [label, Array.from(inner || []).filter(child => child && child.type).map(child => rule(child, room))];
}
const trees = [];
const text = fs.readFileSync(fs.readFileSync(0, "utf8").trim(), "utf8");
library.walk(library.parse(text), {visit: "Rule", enter(value) { trees.push(rule(library.toPlainObject(value))); }});
for (const tree of trees) console.log(JSON.stringify(tree));
"""


def parsed_scripts(paths, acorn):
    """Syntax trees of JavaScript files, None for those that acorn cannot read or that are large."""
    return _by_node(_ACORN, Path(acorn) / "package/dist/acorn.js", paths)


def parsed_contracts(paths, parser):
    """Syntax trees of Solidity files, None for those that cannot be read or that are large."""
    return _by_node(_SOLIDITY, Path(parser) / "package/dist/index.cjs.js", paths)


def parsed_rules(path, css_tree):
    """Syntax trees of the rules of a style sheet; a declaration has the name of its property as label."""
    return _by_node(_STYLES, Path(css_tree) / "package/dist/csstree.js", [path])


def _by_node(script, library, paths):
    """Nested trees of what a script of node prints: a tree as JSON, or null, per line."""
    command = ["node", "-e", _NODES + script, str(library.resolve()), str(MOST_NODES)]
    text = "\n".join(str(path.resolve()) for path in paths)
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    return [_tuples(json.loads(line)) for line in done.stdout.splitlines()]


def _tuples(tree):
    return None if tree is None else (tree[0], [_tuples(child) for child in tree[1]])
