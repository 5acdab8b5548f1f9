"""Prior knowledge of the groups, from files: classes of some trees, pairs of trees."""

import json
from collections.abc import Sequence
from typing import Any

from ..errors import ReadError
from ..evaluate.summary import tree_names
from ..evaluate.wording import counted
from ..forest.trees import Trees
from ..io.builder import Fault
from ..io.sources import decode, read_bytes
from ..io.tables import MAX_BYTES
from .reading import class_table, keys_of
from .terminal import Teller

PAIRS = ("must_link", "cannot_link")


def known_classes(path: str, forest: Trees, teller: Teller) -> list[str | None]:
    """The class of each tree that the table of --known has a row for, None for the others."""
    table = class_table(path)
    keys = [next((key for key in keys_of(name) if key in table), None) for name in tree_names(forest)]
    idle = sorted(set(table).difference(key for key in keys if key is not None))
    if idle:
        more = f" and {counted(len(idle) - 1, 'other')}" if len(idle) > 1 else ""
        teller.warn(f"--known {path}: no tree is called {idle[0]}{more}; these rows are not used")
    return [None if key is None else table[key] for key in keys]


def known_pairs(path: str, forest: Trees) -> dict[str, list[tuple[int, int]]]:
    """Pairs of the file of --constraints, by numbers of trees."""
    try:
        found = json.loads(decode(read_bytes(path, MAX_BYTES, "give fewer pairs")))
    except Fault as fault:
        raise ReadError(fault.at(path)) from None
    except (ValueError, RecursionError) as error:
        raise ReadError(f"{path}: no JSON ({error}); wanted {_example()}") from None
    if not isinstance(found, dict) or not set(found) <= set(PAIRS):
        raise ReadError(f"{path}: wanted {_example()}")
    names = _Names(path, tree_names(forest))
    return {key: [names.pair(pair) for pair in _listed(path, found[key])] for key in found}


def _listed(path: str, pairs: Any) -> list[Any]:
    if not isinstance(pairs, list):
        raise ReadError(f"{path}: wanted lists of pairs, as {_example()}")
    return pairs


def _example() -> str:
    return '{"must_link": [["a.xml", "b.xml"]], "cannot_link": [["a.xml", "c.xml"]]}'


class _Names:
    """Trees by their names, or by the last part of these."""

    def __init__(self, path: str, names: Sequence[str]):
        self.path = path
        self.exact: dict[str, list[int]] = {}
        self.short: dict[str, list[int]] = {}
        for t, name in enumerate(names):
            self.exact.setdefault(name, []).append(t)
            for key in set(keys_of(name)):
                self.short.setdefault(key, []).append(t)

    def pair(self, pair: Any) -> tuple[int, int]:
        """Numbers of two trees."""
        if not isinstance(pair, list) or len(pair) != 2 or not all(isinstance(name, str) for name in pair):
            raise ReadError(f"{self.path}: {pair!r:.80} is no pair of names of trees; wanted {_example()}")
        return self.number(pair[0]), self.number(pair[1])

    def number(self, name: str) -> int:
        """The one tree of this name."""
        trees = self.exact.get(name) or self.short.get(name, [])
        if not trees:
            raise ReadError(f"{self.path}: no tree is called {name!r}; arbora predict and --output list the names")
        if len(trees) > 1:
            raise ReadError(f"{self.path}: {len(trees)} trees are called {name!r}; give the whole name of one")
        return trees[0]
