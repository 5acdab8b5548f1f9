"""Content that readers are asked for: which columns, and what their texts are: numbers, truth, codes or words."""

import logging
import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

from ..errors import ReadError
from ..forest.content import Column
from ..forest.content_values import column_of

logger = logging.getLogger(__name__)

MOST_WORDS = 2000  # of a column of codes or bags: the most frequent ones; other words are missing
_WORD = re.compile(r"\w+")
_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
_TRUTH = {"true": True, "false": False}


def checked_bins(edges: Sequence[float] | None, option: str) -> list[float] | None:
    """The edges of bins of a number, once they are known to increase."""
    bins = None if edges is None else [float(edge) for edge in edges]
    if bins is not None and (not bins or any(not a < b for a, b in pairwise([*bins, math.inf]))):
        raise ReadError(f"{option}={edges!r}; wanted one edge or more, increasing")
    return bins


class Asked:
    """The columns that a reader is asked for: none, all, or some by name."""

    def __init__(self, content: Any, known: Sequence[str] | None = None) -> None:
        if isinstance(content, str):
            content = True if content in ("all", "true") else [name.strip() for name in content.split(",")]
        if content is not None and not isinstance(content, bool) and not isinstance(content, Iterable):
            raise ReadError(f"content={content!r}; wanted names of columns, or True for all")
        self.every = content is True
        self.names = frozenset() if content is None or isinstance(content, bool) else frozenset(map(str, content))
        lost = sorted(self.names - set(known)) if known is not None else []
        if lost:
            raise ReadError(
                f"content={','.join(lost)}: there is no such column; this format has {', '.join(known or ())}"
            )

    def __bool__(self) -> bool:
        return self.every or bool(self.names)

    def __contains__(self, name: str) -> bool:
        return self.every or name in self.names


NOTHING = Asked(None)


def words_of(text: str) -> list[str]:
    """Words of a text in small letters, for a bag."""
    return _WORD.findall(text.lower())


def recognised(values: list[Any]) -> Column:
    """A column of values as a file has them: texts that all are numbers become numbers, and true or false flags.

    Whole numbers from 0 are counts.  Of codes and words, the most frequent are kept.
    """
    texts = [value for value in values if isinstance(value, str)]
    if texts and len(texts) == sum(value is not None for value in values):
        values = _of_texts(values, texts)
    elif texts:  # texts among numbers or truth: words, all of them
        values = [str(value) if isinstance(value, (bool, int, float)) else value for value in values]
    kept = _frequent(values)
    if kept is not None:
        values = [_within(value, kept) for value in values]
    return column_of(values)


def _of_texts(values: list[Any], texts: list[str]) -> list[Any]:
    if all(text.lower() in _TRUTH for text in texts):
        return [None if value is None else _TRUTH[value.lower()] for value in values]
    if all(_NUMBER.fullmatch(text) for text in texts):
        whole = all(text.isascii() and text.isdigit() and len(text) < 16 for text in texts)
        return [None if value is None else int(value) if whole else float(value) for value in values]
    return values


def _frequent(values: list[Any]) -> set[str] | None:
    """The words to keep, if there are more than a column may have."""
    count: Counter[str] = Counter()
    for value in values:
        count.update([value] if isinstance(value, str) else value if isinstance(value, list) else ())
    if len(count) <= MOST_WORDS:
        return None
    logger.info("%d different words; the %d most frequent are kept", len(count), MOST_WORDS)
    order = sorted(count, key=lambda word: (-count[word], word))
    return set(order[:MOST_WORDS])


def _within(value: Any, kept: set[str]) -> Any:
    if isinstance(value, str):
        return value if value in kept else None
    return [word for word in value if word in kept] if isinstance(value, list) else value
