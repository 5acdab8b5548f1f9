"""Reader of bracketed trees, as treebanks have them: ``(S (NP (DT the) (NN cat)) (VP (VBZ sleeps)))``."""

import re
from collections.abc import Sequence

from ...forest.forest import Forest
from ...forest.node_columns import MISSING
from ..builder import Columns, Fault, label_code
from ..finding import Source
from ..format import MAX_BYTES_OPTION, Format, Option
from ..sources import MAX_BYTES, Policy, decode, position, read_bytes, read_files, shown

# An opening bracket with its label (perhaps none), a closing one, or a word.
_TOKEN = re.compile(r"\(\s*([^\s()]*)|(\))|([^\s()]+)")


def read_brackets(
    source: Source,
    *,
    leaves: bool = True,
    max_bytes: int = MAX_BYTES,
    on_error: str = "raise",
    vocabulary: Sequence[str] | None = None,
    progress: bool | None = None,
) -> Forest:
    """Read bracketed parse trees in the style of the Penn Treebank, any number per file.

    A bracket is a node labelled by its first word.  Each further word is a leaf.  A bracket without a label has a
    missing one.  An outer bracket around a single tree, as in the Penn Treebank, is left out.

    Parameters
    ----------
    source : path or list of paths
        Files, globs (``**`` for any folders) or directories.
    leaves : bool, default True
        Whether words become leaves.  False keeps the categories only.
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
        The trees of all files.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from arbora import read_brackets
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "a.mrg")
    ...     _ = path.write_text("(S (NP cats) (VP sleep))")
    ...     read_brackets(path, leaves=False)[0]
    {'label': 'S', 'children': [{'label': 'NP'}, {'label': 'VP'}]}
    """

    def read_file(path: str, columns: Columns) -> None:
        _add_trees(decode(read_bytes(path, max_bytes)), leaves, columns)

    return read_files(source, "brackets", read_file, Policy(on_error, vocabulary, progress, max_bytes))


def _add_trees(text: str, leaves: bool, columns: Columns) -> None:
    words, depth, label = columns.words, columns.depth, columns.label
    level, root, opened = 0, len(depth), 0  # depth of the next node, place of the root, offset of its bracket
    for token in _TOKEN.finditer(text):
        name, close, word = token.groups()
        if name is not None:
            if level == 0:
                root, opened = len(depth), token.start()
            depth.append(level)
            label.append(label_code(words, name or None))
            level += 1
        elif close and level > 0:
            level -= 1
            if level == 0:
                _unwrap(root, columns)
                columns.end_tree()
        elif word and level > 0:
            if leaves:
                depth.append(level)
                label.append(words[word])
        else:
            raise Fault(f"found {shown(close or word)} outside a tree, wanted '('", *position(text, token.start()))
    if level:
        raise Fault(f"the tree that starts here is not closed, wanted {level} more ')'", *position(text, opened))


def _unwrap(root: int, columns: Columns) -> None:
    """Leave out an unlabelled root with a single child."""
    depth = columns.depth
    if columns.label[root] == MISSING and depth[root + 1 :].count(1) == 1:
        depth[root:] = [d - 1 for d in depth[root + 1 :]]
        del columns.label[root]


FORMAT = Format(
    name="brackets",
    suffixes=(".mrg", ".ptb", ".brackets", ".penn"),
    makes="any number of trees per file: (S (NP (DT the)) (VP ...)); words are leaves",
    manual="""\
Any number of trees per file, as in treebanks: `(S (NP (DT the) (NN cat)))`. The first word of a bracket is the label;
each further word is a leaf. With `leaves=false` words are left out and only the categories remain.""",
    options=(Option("leaves", bool, "words become leaves"), MAX_BYTES_OPTION),
    reader=read_brackets,
)
