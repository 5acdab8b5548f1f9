"""Which columns a model takes, and by which families: what a user asks for, given what the trees have."""

import logging
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....errors import ArboraError, ContentWarning, SettingError, warn
from ....forest.content import Column
from ....forest.content_rows import LABEL
from ....forest.node_columns import natural_order
from ....forest.trees import Trees
from . import Emission
from .bag import Bag
from .categorical import Categorical
from .columns import FAMILIES, Columns, Family
from .flag import Flag
from .gaussian import LARGEST, Gaussian
from .labels import Labels
from .poisson import Poisson

log = logging.getLogger(__name__)

#: What is taken for a column of each kind, unless something else is asked for.
DEFAULTS = {"codes": "categorical", "flags": "flag", "numbers": "gaussian", "counts": "poisson", "bags": "bag"}
#: Kinds that each family takes.
TAKES = {
    "categorical": ("codes", "flags"),
    "flag": ("flags",),
    "gaussian": ("numbers", "counts"),
    "poisson": ("counts",),
    "bag": ("bags",),
}
PRIOR_SHARE = 0.1  # of the variance of a column: the scale of the prior of variances given the state
SPIKE = 0.05  # a share of one exact value that a Gaussian should not see
MOST_WORDS = 100_000  # of a column of codes or bags
_TOP = 100  # values of each part that may turn out to be the most frequent


class Summary(NamedTuple):
    """What a family needs of a column."""

    n: int  # known values
    mean: float
    variance: float
    words: tuple[str, ...]
    top_value: float  # the most frequent number
    top_share: float


def check_content(content: Any) -> None:
    """Raise unless the setting can be one, whatever the trees are."""
    if content is None or content == "auto":
        return
    if not isinstance(content, Mapping):
        raise SettingError(
            f"content={content!r}; wanted 'auto', None or families by column, as {{'length': 'gaussian'}}"
        )
    for column, given in content.items():
        if given is not None:
            parse_family(column, given)


def parse_family(column: str, given: Any) -> tuple[str, float | None]:
    """Name of a family, and the number behind it: "bag:20" weighs bags of more than 20 words down to 20."""
    name, _, number = str(given).partition(":")
    if name not in FAMILIES or (number and name != "bag"):
        known = ", ".join(FAMILIES)
        raise SettingError(f"content: column {column!r} has family {given!r}; wanted one of {known}, or bag:NUMBER")
    try:
        most = float(number) if number else None
    except ValueError:
        most = -1.0
    if most is not None and not 0.0 < most <= 1e9:
        raise SettingError(f"content: column {column!r} has family {given!r}; wanted a number of words after bag:")
    return name, most


def asked_families(content: Any, kinds: Mapping[str, str]) -> dict[str, str | None]:
    """Family of each column by the setting; that of the label is None where it is to be left out."""
    if content is None:
        return {}
    if content == "auto":
        return {column: DEFAULTS[kind] for column, kind in kinds.items()}
    for column, given in content.items():
        if column == LABEL:
            if given not in (None, "categorical"):
                raise SettingError(
                    f"content: the label has family {given!r}; wanted 'categorical', or None to leave it out"
                )
            continue
        if column not in kinds:
            held = ", ".join(map(repr, kinds)) or "none"
            raise SettingError(f"content: the trees have no column {column!r}; found {held}")
        if given is not None and kinds[column] not in TAKES[parse_family(column, given)[0]]:
            raise SettingError(
                f"content: column {column!r} holds {kinds[column]}, family {given!r} takes "
                f"{' or '.join(TAKES[parse_family(column, given)[0]])}; make a column of that kind"
            )
    return {column: given for column, given in content.items() if column == LABEL or given is not None}


def emission_for(content: Any, forest: Trees) -> Emission:
    """The emission of these trees; warns of columns that mislead."""
    check_content(content)
    asked = asked_families(content, forest.content_kinds)
    columns = {column: given for column, given in asked.items() if column != LABEL}
    without_label = LABEL in asked and asked[LABEL] is None
    if not columns:
        if without_label:
            raise SettingError("content: without labels and columns there is nothing to model; take a column")
        return Labels(forest.n_labels)
    found = summaries(forest, tuple(columns))
    families: list[tuple[str, Family]] = []
    if forest.n_labels and not without_label:
        families.append((LABEL, Categorical(forest.n_labels)))
    for column, given in columns.items():
        summary = found[column]
        if not summary.n:
            if content == "auto":
                log.warning("column %r has no value and is left out", column)
                continue
            warn(f"column {column!r} has no value in the training trees; it stays at its prior", ContentWarning)
        families.append((column, _family(column, str(given), summary)))
    if not families or [column for column, _ in families] == [LABEL]:
        return Labels(forest.n_labels)
    return Columns(tuple(families), forest.n_labels if without_label else 0)


def grown(emission: Emission, trees: Trees) -> Emission:
    """The emission with all labels of these trees, whose first are its own, and with words that it lacks."""
    if isinstance(emission, Labels):
        return Labels(trees.n_labels)
    if not isinstance(emission, Columns):
        raise ArboraError(f"{type(emission).__name__} cannot grow; please report this")
    found = _words_of(trees, tuple(column for column, family in emission.families if hasattr(family, "words")))
    families = tuple((column, _grown(column, family, trees, found)) for column, family in emission.families)
    return Columns(families, trees.n_labels if emission.n_unused else 0)


def _grown(column: str, family: Any, trees: Trees, found: Mapping[str, set[str]]) -> Family:
    """The family of one column with the words found."""
    if column == LABEL:
        return Categorical(trees.n_labels)
    new = sorted(found.get(column, set()) - set(getattr(family, "words", ())), key=natural_order)
    if not new:
        return family
    words = (*family.words, *new)
    if len(words) > MOST_WORDS:
        raise SettingError(
            f"content: column {column!r} has {len(words)} words by now, more than {MOST_WORDS}; keep the frequent ones"
        )
    return replace(family, n_codes=len(words), words=words)


def _words_of(trees: Trees, columns: tuple[str, ...]) -> dict[str, set[str]]:
    """Words in use of columns, by one pass over the parts if there are any."""
    out: dict[str, set[str]] = {column: set() for column in columns if column in trees.content_kinds}
    for part in trees.parts() if out else ():
        for column, words in out.items():
            words |= set(_words_in_use(part.content[column]))
    return out


def _family(column: str, given: str, summary: Summary) -> Family:
    """A family with the prior that suits its column."""
    name, most = parse_family(column, given)
    if name in ("categorical", "bag") and len(summary.words) > MOST_WORDS:
        raise SettingError(
            f"content: column {column!r} has {len(summary.words)} words, more than {MOST_WORDS}; keep the frequent ones"
        )
    if name == "categorical":
        return Categorical(len(summary.words), summary.words)
    if name == "bag":
        return Bag(len(summary.words), summary.words, most)
    if name == "flag":
        return Flag()
    if name == "poisson":
        return Poisson(1.0 / max(summary.mean, 1e-3))
    if not abs(summary.mean) <= LARGEST or not summary.variance <= LARGEST:
        raise SettingError(f"content: column {column!r} holds numbers beyond 1e75; give it in other units")
    spike = spike_line(column, summary)
    if spike is not None:
        warn(spike, ContentWarning)
    return Gaussian(summary.mean, max(PRIOR_SHARE * summary.variance, 1e-200) if summary.variance > 0 else 1.0)


def spike_line(column: str, summary: Summary) -> str | None:
    """What to say of a column of which one exact value makes up much; None where none does."""
    if summary.top_share <= SPIKE or summary.variance <= 0:
        return None
    return (
        f"column {column!r}: one value, {summary.top_value:g}, makes up {summary.top_share:.0%} of it.  A Gaussian "
        f"state narrows onto such a value; make it missing, give it a flag of its own, or take counts"
    )


# ---- what columns hold ----------------------------------------------------------------------------------------------


def summaries(forest: Trees, columns: tuple[str, ...]) -> dict[str, Summary]:
    """Summaries of some columns, by one pass over the parts."""
    running = {column: _Running() for column in columns}
    for part in forest.parts():
        for column in columns:
            running[column].add(part.content[column])
    return {column: one.summary() for column, one in running.items()}


class _Running:
    """The summary of the parts so far."""

    def __init__(self) -> None:
        self.n, self.mean, self.square = 0, 0.0, 0.0
        self.words: set[str] = set()
        self.top: dict[float, int] = {}

    def add(self, column: Column) -> None:
        """Add a part: means and squares as Chan, Golub and LeVeque (1979) join them."""
        known = column.values[~column.missing]
        self.words |= set(_words_in_use(column))
        if column.kind in ("codes", "bags"):
            self.n += len(known)
            return
        if not len(known):
            return
        x = known.astype(np.float64)
        with np.errstate(over="ignore", invalid="ignore"):  # `_family` refuses what is not finite
            mean, n = float(x.mean()), self.n + len(x)
            gap = mean - self.mean
            self.square += float(((x - mean) ** 2).sum()) + gap * gap * self.n * len(x) / n
            self.mean += gap * len(x) / n
        self.n = n
        value, times = np.unique(x, return_counts=True)
        for at in np.argsort(-times, kind="stable")[:_TOP].tolist():
            self.top[float(value[at])] = self.top.get(float(value[at]), 0) + int(times[at])

    def summary(self) -> Summary:
        """The summary of all parts."""
        value, times = max(self.top.items(), key=lambda pair: pair[1], default=(0.0, 0))
        words = tuple(sorted(self.words, key=natural_order))
        return Summary(self.n, self.mean, self.square / max(self.n, 1), words, value, times / max(self.n, 1))


def _words_in_use(column: Column) -> Iterator[str]:
    word: NDArray[Any] = column.values if column.entries is None else column.entries.word
    if column.words:
        used = np.bincount(word[word >= 0], minlength=len(column.words)) > 0
        yield from (column.words[m] for m in np.flatnonzero(used).tolist())
