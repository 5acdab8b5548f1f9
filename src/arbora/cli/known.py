"""What a person knows of the groups, from files: classes of some trees, pairs of trees, groups to merge or split."""

import json
import zipfile
from collections.abc import Sequence
from typing import Any

from ..errors import ReadError
from ..evaluate.summary import tree_names
from ..evaluate.wording import counted
from ..forest.trees import Trees
from ..io.builder import Fault
from ..io.json_deep import distinct_members
from ..io.sources import decode, read_bytes
from ..io.tables import MAX_BYTES
from .reading import class_table, keys_of
from .terminal import Teller

PAIRS = ("must_link", "cannot_link")
STEPS = ("known", *PAIRS, "moves")
STEER_EXAMPLE = (
    '{"known": {"a.xml": "letter"}, "must_link": [["a.xml", "b.xml"]], "cannot_link": [["a.xml", "c.xml"]], '
    '"moves": [{"merge": ["d.xml", "e.xml"]}, {"split": ["f.xml", "g.xml"]}]}'
)


def steps_of(path: str, forest: Trees) -> dict[str, Any]:
    """What a file of --steer asks for, by numbers of trees: known classes, constraints, moves; or what a model was."""
    if zipfile.is_zipfile(path):
        return _steps_of_model(path, forest)
    found = _json(path, STEER_EXAMPLE)
    if not isinstance(found, dict) or not found or not set(found) <= set(STEPS):
        raise ReadError(f"{path}: wanted {STEER_EXAMPLE}")
    names = _Names(path, tree_names(forest))
    out: dict[str, Any] = {}
    if "known" in found:
        classes = found["known"]
        if not isinstance(classes, dict) or not all(isinstance(c, str) for c in classes.values()):
            raise ReadError(f"{path}: known: wanted classes by names of trees, as {STEER_EXAMPLE}")
        out["known"] = known = [None] * forest.n_trees
        for name, class_ in classes.items():
            tree = names.number(name)
            if known[tree] not in (None, class_):
                raise ReadError(f"{path}: known: {name!r} is of class {class_!r}, and by another name {known[tree]!r}")
            known[tree] = class_
    pairs = {key: [names.pair(pair) for pair in _listed(path, found[key])] for key in PAIRS if key in found}
    if pairs:
        out["constraints"] = pairs
    if "moves" in found:
        out["moves"] = [names.move(move) for move in _listed(path, found["moves"])]
    return out


def _steps_of_model(path: str, forest: Trees) -> dict[str, Any]:
    """The steps that a saved model keeps; they are of its own trees."""
    from ..models import load

    model = load(path)
    if not hasattr(model, "moves_"):
        raise ReadError(f"{path}: a {type(model).__name__}; --steer takes a model of patterns, or JSON")
    if model.provenance_["data_sha256"] != forest.sha256:
        raise ReadError(f"{path}: it was fitted to other trees; write names of trees into a file of JSON")
    out: dict[str, Any] = {"moves": model.moves_}
    if hasattr(model, "constraints_"):
        kept = model.constraints_
        out["constraints"] = {key: kept[key].tolist() for key in PAIRS}
        out["known"] = [None] * forest.n_trees
        for tree, class_ in zip(kept["known_tree"].tolist(), kept["known_class"].tolist(), strict=True):
            out["known"][tree] = model.known_classes_[class_]
    return out


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
    found = _json(path, _example())
    if not isinstance(found, dict) or not set(found) <= set(PAIRS):
        raise ReadError(f"{path}: wanted {_example()}")
    names = _Names(path, tree_names(forest))
    return {key: [names.pair(pair) for pair in _listed(path, found[key])] for key in found}


def _json(path: str, example: str) -> Any:
    """What a file of JSON holds."""
    try:
        text = decode(read_bytes(path, MAX_BYTES, "give fewer pairs"))
        return json.loads(text, object_pairs_hook=distinct_members)
    except Fault as fault:
        raise ReadError(fault.at(path)) from None
    except (ValueError, RecursionError) as error:
        raise ReadError(f"{path}: no JSON ({error}); wanted {example}") from None


def _listed(path: str, pairs: Any) -> list[Any]:
    if not isinstance(pairs, list):
        raise ReadError(f"{path}: wanted lists, as {_example()}")
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

    def move(self, move: Any) -> dict[str, Any]:
        """A move with numbers of trees."""
        if not isinstance(move, dict) or len(move) != 1 or not set(move) <= {"merge", "split"}:
            raise ReadError(f"{self.path}: {move!r:.80} is no move; wanted {STEER_EXAMPLE}")
        ((kind, trees),) = move.items()
        return {kind: self.numbers(trees)}

    def numbers(self, names: Any) -> Any:
        """Numbers of trees, in lists as they are given."""
        if isinstance(names, list) and names:
            return [self.number(name) if isinstance(name, str) else self.numbers(name) for name in names]
        raise ReadError(f"{self.path}: {names!r:.80}; wanted names of trees, as in {STEER_EXAMPLE}")

    def number(self, name: str) -> int:
        """The one tree of this name."""
        trees = self.exact.get(name) or self.short.get(name, [])
        if not trees:
            raise ReadError(f"{self.path}: no tree is called {name!r}; arbora predict and --output list the names")
        if len(trees) > 1:
            raise ReadError(f"{self.path}: {len(trees)} trees are called {name!r}; give the whole name of one")
        return trees[0]
