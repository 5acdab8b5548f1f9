"""Parsers that are programs of their own, from packages: English by link-parser, JavaScript by acorn on node."""

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
    (program,) = Path(inside["link-grammar"]).rglob("bin/link-parser")
    (english,) = Path(inside["link-grammar-dictionaries-en"]).rglob("link-grammar/en")
    libraries = [path.parent for name in inside for path in Path(inside[name]).rglob("lib*.so.*")]
    options = ["-constituents=1", "-graphics=0", "-verbosity=0", "-null=0", "-timeout=5", "-limit=100"]
    command = [str(program.resolve()), str(english.resolve()), *options]
    place = {**os.environ, "LD_LIBRARY_PATH": ":".join(sorted({str(path.resolve()) for path in libraries}))}
    text = "\n".join(sentences) + "\n"
    done = subprocess.run(command, input=text, capture_output=True, text=True, env=place, check=True)
    for block in re.split(r"\n\s*\n", done.stdout):
        start = re.search(r"^\(", block, re.MULTILINE)
        tree = s_expression(block[start.start() :], leaf=_kind_of_word) if start else None
        if tree:
            yield tree


def _kind_of_word(word):
    found = _WORD.search(word)
    if found:
        return f".{found[1]}"
    return "word" if word[0].isalnum() else word[0]


_ACORN = """
const acorn = require(process.argv[1]);
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
for (const path of require("fs").readFileSync(0, "utf8").split("\\n")) {
  let tree = null;
  for (const sourceType of ["module", "script"]) {
    try {
      const text = require("fs").readFileSync(path, "utf8");
      const options = {ecmaVersion: "latest", sourceType, allowHashBang: true, allowReturnOutsideFunction: true};
      tree = nested(acorn.parse(text, options), {left: most});
      break;
    } catch (fault) { if (fault.message === "large") break; }
  }
  console.log(JSON.stringify(tree));
}
"""


def parsed_scripts(paths, acorn):
    """Syntax trees of JavaScript files, None for those that acorn cannot read or that are large."""
    (library,) = Path(acorn).rglob("dist/acorn.js")
    command = ["node", "-e", _ACORN, str(library.resolve()), str(MOST_NODES)]
    text = "\n".join(str(path.resolve()) for path in paths)
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    return [_tuples(json.loads(line)) for line in done.stdout.splitlines()]


def _tuples(tree):
    return None if tree is None else (tree[0], [_tuples(child) for child in tree[1]])
