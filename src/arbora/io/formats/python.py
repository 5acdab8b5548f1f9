"""Reader of Python source: the abstract syntax tree of a file, node types as labels."""

import ast
import warnings
from collections.abc import Sequence

from ...forest.forest import Forest
from ..builder import Columns, Fault
from ..contents import Asked, words_of
from ..finding import Source
from ..format import MAX_BYTES_OPTION, Format, Option
from ..sources import MAX_BYTES, Policy, read_bytes, read_files

CONTENT = ("name", "number", "words")
_NAME_FIELDS = ("id", "name", "attr", "arg", "module")


def read_python(
    source: Source,
    *,
    names: bool = False,
    content: Sequence[str] | bool | None = None,
    max_bytes: int = MAX_BYTES,
    on_error: str = "raise",
    vocabulary: Sequence[str] | None = None,
    progress: bool | None = None,
) -> Forest:
    """Read Python files as abstract syntax trees, one tree per file.

    The files are parsed, never run.  Load and store marks are left out.

    Parameters
    ----------
    source : path or list of paths
        Files, globs (``**`` for any folders) or directories.
    names : bool, default False
        Whether identifiers join the label of their node, as in ``Name:x`` or ``FunctionDef:main``.
    content : sequence of str, bool or None, default None
        Columns to read as content of the nodes: "name", an identifier; "number", a numeric constant; "words", those of
        a text.  True reads all, None none.
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
        One tree per file.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from arbora import read_python
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "a.py")
    ...     _ = path.write_text("pass")
    ...     read_python(path)[0]
    {'label': 'Module', 'children': [{'label': 'Pass'}]}
    """

    asked = Asked(content, CONTENT)

    def read_file(path: str, columns: Columns) -> None:
        _add_syntax(_parse(read_bytes(path, max_bytes)), names, columns, asked)
        columns.end_tree()

    return read_files(source, "python", read_file, Policy(on_error, vocabulary, progress, max_bytes))


def _parse(data: bytes) -> ast.AST:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what the compiler thinks of a user's escapes is not our concern
        try:
            return ast.parse(data)
        except SyntaxError as error:
            what = f"not Python of this version ({error.msg}); correct the file, or leave it out"
            raise Fault(what, error.lineno or None, error.offset or None) from None
        except ValueError as error:  # a null byte, or an integer of thousands of digits
            raise Fault(f"not Python source ({error}); leave the file out") from None
        except (RecursionError, MemoryError):
            raise Fault("nested deeper than Python's own parser goes; simplify the file, or leave it out") from None


def _named(node: ast.AST) -> str | None:
    return next((getattr(node, f) for f in _NAME_FIELDS if isinstance(getattr(node, f, None), str)), None)


def _hold(node: ast.AST, place: int, asked: Asked, columns: Columns) -> None:
    """Note name and constant of a node."""
    if "name" in asked:
        columns.hold(place, "name", _named(node))
    value = node.value if isinstance(node, ast.Constant) else None
    if "number" in asked and isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e300:
        columns.hold(place, "number", float(value))
    if "words" in asked and isinstance(value, str) and (words := words_of(value)):
        columns.hold(place, "words", words)


def _add_syntax(root: ast.AST, names: bool, columns: Columns, asked: Asked) -> None:
    words, depth, label = columns.words, columns.depth, columns.label
    stack = [(root, 0)]
    while stack:
        node, level = stack.pop()
        word = type(node).__name__
        if names:
            named = _named(node)
            word = word if named is None else f"{word}:{named}"
        if asked:
            _hold(node, len(depth), asked, columns)
        depth.append(level)
        label.append(words[word])
        children = [child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.expr_context)]
        stack.extend((child, level + 1) for child in reversed(children))


FORMAT = Format(
    name="python",
    suffixes=(".py",),
    makes="one tree per file: the syntax tree; types of its nodes are labels",
    manual="""\
One tree per file: the abstract syntax tree, `Module(FunctionDef(arguments, Return))`. The file is never run. By default
names of variables and functions are ignored.""",
    options=(
        Option("names", bool, "identifiers join the label, as in Name:x"),
        Option("content", str, "columns of content: name, number, words, or all"),
        MAX_BYTES_OPTION,
    ),
    reader=read_python,
)
