"""Reader of source code by tree-sitter: the syntax tree of a file, or of each of its functions."""

import os
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import Any

from ...errors import MissingDependencyError, ReadError
from ...files.kinds import plain_name
from ...forest.forest import Forest
from ..builder import Columns, Fault
from ..finding import Source
from ..format import MAX_BYTES_OPTION, Format, Option
from ..sources import MAX_BYTES, Policy, read_bytes, read_files

UNITS = ("file", "function")
LANGUAGES = {
    ".py": "python",
    ".js": "javascript",
    ".mjs": "javascript",
    ".ts": "typescript",
    ".java": "java",
    ".c": "c",
    ".h": "c",
    ".cc": "cpp",
    ".cpp": "cpp",
    ".hpp": "cpp",
    ".go": "go",
    ".rs": "rust",
    ".rb": "ruby",
}
_FUNCTIONS = ("function", "method", "constructor")  # what the types of functions have in them
_MOST_TEXT = 200  # bytes of a name that joins a label


def read_code(
    source: Source,
    *,
    unit: str = "file",
    names: bool = False,
    language: str | None = None,
    max_bytes: int = MAX_BYTES,
    on_error: str = "raise",
    vocabulary: Sequence[str] | None = None,
    progress: bool | None = None,
) -> Forest:
    """Read source code without running it, as syntax trees of tree-sitter.

    Named nodes of the syntax tree are nodes, and their types are labels.  Comments are left out.  The reader needs
    ``tree-sitter`` and the package of the language, such as ``tree-sitter-java``.

    Parameters
    ----------
    source : path or list of paths
        Files, globs (``**`` for any folders) or directories.
    unit : {"file", "function"}, default "file"
        "file" makes one tree per file, "function" one per function or method that is not inside another.
    names : bool, default False
        Whether identifiers join the label, as in ``identifier:x``.
    language : str or None, default None
        Language of the files.  None derives it from the suffix of each file.
    max_bytes : int, default 100,000,000
        Longest file that is read, in bytes after decompression.  A longer one is refused; raise it for files you trust.
    on_error : {"raise", "skip"}, default "raise"
        "skip" leaves out bad files and warns how many there were.
    vocabulary : sequence of str or None, default None
        Labels to use.  Labels outside it are marked unseen.  None uses the labels that occur, sorted.
    progress : bool or None, default None
        Whether to show a progress bar.  None shows it on a terminal.

    Returns
    -------
    Forest
        One tree per file or function.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from arbora import read_code
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "a.py")
    ...     _ = path.write_text("pass")
    ...     read_code(path)[0]  # doctest: +SKIP
    {'label': 'module', 'children': [{'label': 'pass_statement'}]}
    """
    if unit not in UNITS:
        raise ReadError(f'unit={unit!r}; wanted "file" or "function"')
    if language is not None and not language.isidentifier():
        raise ReadError(f"language={language!r}; wanted the name of a language, such as java")

    def read_file(path: str, columns: Columns) -> None:
        data = read_bytes(path, max_bytes)
        suffix = os.path.splitext(plain_name(path))[1]
        spoken = language or LANGUAGES.get(suffix)
        if spoken is None:
            raise Fault(f"the suffix {suffix!r} says no language; wanted one of {', '.join(LANGUAGES)}, or language=")
        root = parser_of(spoken).parse(data).root_node
        if root.has_error:
            raise Fault(f"not {spoken} as tree-sitter reads it; correct the file, or leave it out", *_first_error(root))
        for top in [root] if unit == "file" else _functions(root):
            _add_syntax(top, names, columns)
            columns.end_tree()

    return read_files(source, "code", read_file, Policy(on_error, vocabulary, progress, max_bytes))


@cache
def parser_of(language: str) -> Any:
    """A parser of tree-sitter for a language."""
    package = f"tree_sitter_{language}"
    try:
        core, grammar = import_module("tree_sitter"), import_module(package)
    except ImportError:
        raise MissingDependencyError(
            f"{language} needs tree-sitter and {package.replace('_', '-')}; install arbora[code] and that package"
        ) from None
    make = getattr(grammar, "language", None) or getattr(grammar, f"language_{language}")
    return core.Parser(core.Language(make()))


def _first_error(root: Any) -> tuple[int, int]:
    """Line and column of the first error."""
    stack, at = [root], root
    while stack:
        node = stack.pop()
        if node.is_error or node.is_missing:
            at = node
            break
        stack += [child for child in reversed(node.children) if child.has_error or child.is_missing]
    return at.start_point[0] + 1, at.start_point[1] + 1


def _functions(root: Any) -> list[Any]:
    """The functions with a body that no other function holds, in their order."""
    found, stack = [], [root]
    while stack:
        node = stack.pop()
        if any(word in node.type for word in _FUNCTIONS) and node.child_by_field_name("body") is not None:
            found.append(node)
        else:
            stack += reversed(node.named_children)
    return found


def _add_syntax(root: Any, names: bool, columns: Columns) -> None:
    words, depth, label = columns.words, columns.depth, columns.label
    stack = [(root, 0)]
    while stack:
        node, level = stack.pop()
        children = [child for child in node.named_children if not child.is_extra]
        word = node.type
        if names and not children and "identifier" in word:
            word = f"{word}:{node.text[:_MOST_TEXT].decode('utf-8', 'replace')}"
        depth.append(level)
        label.append(words[word])
        stack += [(child, level + 1) for child in reversed(children)]


FORMAT = Format(
    name="code",
    suffixes=tuple(LANGUAGES),
    asked=True,
    makes="one tree per file or function: source code as tree-sitter reads it; types of nodes are labels",
    manual="""\
Source code of many languages, as syntax trees of tree-sitter, without punctuation and comments. The code is never run.
This format must be requested by `--format code` or `read_code`, so that scripts beside other files are not read by
accident. With `unit=function` each function or method that is not inside another is a tree. Files with syntax errors
are refused. The reader needs `arbora[code]`, which installs the grammars of Python and JavaScript; other languages need
their package, such as `tree-sitter-java`.

```text
arbora cluster src/ --format code --read unit=function
```""",
    options=(
        Option("unit", UNITS, "what becomes a tree"),
        Option("names", bool, "identifiers join the label, as in identifier:x"),
        Option("language", str, "language of the files, whatever their suffixes"),
        MAX_BYTES_OPTION,
    ),
    reader=read_code,
)
