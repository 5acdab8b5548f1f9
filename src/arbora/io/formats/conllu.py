"""Reader of CoNLL-U treebanks: a sentence is a tree of words, the head of a word its parent."""

import re
from collections.abc import Sequence
from typing import Any

from ...errors import ReadError
from ...forest.forest import Forest
from ..builder import Columns, Fault
from ..contents import Asked
from ..finding import Source
from ..format import MAX_BYTES_OPTION, Format, Option
from ..sources import MAX_BYTES, Policy, decode, read_bytes, read_files, shown

CONTENT = {"form": 1, "lemma": 2, "upos": 3, "xpos": 4, "feats": 5, "deprel": 7}
COLUMNS = {"form": 1, "lemma": 2, "upos": 3, "deprel": 7}

_RANGE = re.compile(r"([1-9][0-9]{0,14})-([1-9][0-9]{0,14})")  # of a token of several words
_EMPTY = re.compile(r"(?:0|[1-9][0-9]{0,14})\.[1-9][0-9]{0,14}")  # a node of the enhanced graph, after a word

Word = tuple[int, str, int, int, list[str]]  # number, label, number of the head, line, all fields


def read_conllu(
    source: Source,
    *,
    label: str = "deprel",
    content: Sequence[str] | bool | None = None,
    max_bytes: int = MAX_BYTES,
    on_error: str = "raise",
    vocabulary: Sequence[str] | None = None,
    progress: bool | None = None,
) -> Forest:
    r"""Read dependency trees in CoNLL-U, one tree per sentence.

    A word is a node below its head.  Siblings keep the order of the sentence.  Multiword tokens and empty nodes are
    left out.

    Parameters
    ----------
    source : path or list of paths
        Files, globs (``**`` for any folders) or directories.
    label : {"deprel", "upos", "form", "lemma"}, default "deprel"
        Column that becomes the label.
    content : sequence of str, bool or None, default None
        Columns to read as content of the nodes: "form", "lemma", "upos", "xpos" and "deprel" as codes, "feats" as a
        bag.  True reads all, None none.
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
        One tree per sentence.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from arbora import read_conllu
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "a.conllu")
    ...     _ = path.write_text("1\tcats\t_\tNOUN\t_\t_\t0\troot\t_\t_\n")
    ...     read_conllu(path, label="upos")[0]
    {'label': 'NOUN'}
    """
    if label not in COLUMNS:
        raise ReadError(f'label={label!r}; wanted "deprel", "upos", "form" or "lemma"')
    asked = Asked(content, tuple(CONTENT))

    def read_file(path: str, columns: Columns) -> None:
        sentence: list[Word] = []
        wordless = 0  # the last line that is of no word, while the sentence has none
        for number, line in enumerate([*decode(read_bytes(path, max_bytes)).split("\n"), ""], 1):
            if line.strip() == "":
                if sentence:
                    _add_sentence(sentence, columns, asked)
                elif wordless:
                    raise Fault("the sentence of this line has no words, only ranges or empty nodes", wordless)
                sentence, wordless = [], 0
            elif not line.startswith("#"):
                word = _parse_word(line.rstrip("\r"), COLUMNS[label], number)
                if word is not None:
                    sentence.append(word)
                else:
                    wordless = number

    return read_files(source, "conllu", read_file, Policy(on_error, vocabulary, progress, max_bytes))


def _parse_word(line: str, column: int, number: int) -> Word | None:
    """One word, or None for a multiword token (1-2) or an empty node (1.1)."""
    fields = line.split("\t")
    if len(fields) != 10:
        raise Fault(f"found {len(fields)} columns, wanted 10 separated by tabs", number)
    place, head = fields[0], fields[6]
    if _EMPTY.fullmatch(place):
        return None
    if several := _RANGE.fullmatch(place):
        if int(several[1]) >= int(several[2]):
            raise Fault(f"found the range {shown(place)}, wanted one that increases", number)
        return None
    if not (place.isascii() and place.isdigit() and head.isascii() and head.isdigit()) or len(place) + len(head) > 30:
        raise Fault(
            f"found ID {shown(place)} and HEAD {shown(head)}, wanted whole numbers (or ID 1-2 or 1.1)",
            number,
        )
    if int(place) == 0:  # which would be its own ancestor: as a HEAD, 0 stands for no word
        raise Fault("found ID 0, wanted IDs that count from 1", number)
    return int(place), fields[column], int(head), number, fields


def _held(fields: list[str], name: str) -> Any:
    """What a word holds in a column; an underscore is nothing."""
    field = fields[CONTENT[name]]
    if field in ("_", ""):
        return None
    return field.split("|") if name == "feats" else field


def _add_sentence(sentence: list[Word], columns: Columns, asked: Asked) -> None:
    children: dict[int, list[int]] = {}
    index = {word[0]: u for u, word in enumerate(sentence)}
    first = sentence[0][3]
    if len(index) < len(sentence):
        raise Fault("two words of the sentence that starts here have the same ID, wanted IDs that differ", first)
    for u, (_, _, head, line, _) in enumerate(sentence):
        if head and head not in index:
            raise Fault(f"HEAD {head} is not a word of the sentence, wanted an ID of it, or 0 at the root", line)
        children.setdefault(head, []).append(u)
    roots = children.get(0, [])
    if len(roots) != 1:
        raise Fault(f"the sentence that starts here has {len(roots)} roots, wanted one word with HEAD 0", first)
    stack = [(roots[0], 0)]
    n_before = len(columns.depth)
    while stack:
        u, level = stack.pop()
        place, word, _, _, fields = sentence[u]
        for name in CONTENT if asked else ():
            if name in asked:
                columns.hold(len(columns.depth), name, _held(fields, name))
        columns.depth.append(level)
        columns.label.append(columns.words[word])
        stack.extend((v, level + 1) for v in reversed(children.get(place, ())))
    if len(columns.depth) - n_before < len(sentence):
        raise Fault("the heads of the sentence that starts here form a cycle, wanted a tree", first)
    columns.end_tree()


FORMAT = Format(
    name="conllu",
    suffixes=(".conllu", ".conll"),
    makes="one tree per sentence; a word is a node, its relation to the head the label",
    manual="""\
One tree per sentence. A word is a node below its head; siblings keep the order of the sentence. Multiword tokens and
empty nodes are left out.""",
    options=(
        Option("label", ("deprel", "upos", "form", "lemma"), "column that becomes the label"),
        Option("content", str, "columns of content: form, lemma, upos, xpos, deprel, feats, or all"),
        MAX_BYTES_OPTION,
    ),
    reader=read_conllu,
)
