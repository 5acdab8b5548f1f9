"""Short names of groups in words: what most trees of a group contain and few others do, the simplest things first."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...evaluate.wording import enumerated
from .families import FIRST_LABEL, MISSING_CODE, UNSEEN_CODE
from .json_notation import JSON_WORDS, is_json
from .kernels.keys import END, START
from .table import PatternTable

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FAMILIES = ("labels", "pairs", "bigrams", "rules")
#: How much of its contrast a thing keeps: simple things make better names.
SIMPLE = {"labels": 1.0, "pairs": 0.85, "bigrams": 0.7, "rules": 0.72}
MOST_PHRASES = 3
MOST_CHILDREN = 3  # of a rule in a name
MOST_TRIED = 60  # candidates of a group
LEAST_CONTRAST = 0.25  # of a phrase that is worth its place
AS_GOOD = 0.5  # share of the best contrast that further phrases have at the least
LEAST_MISSING = 0.5  # contrast from which on a label that a group lacks is worth a word
LONGEST_LABEL = 28  # characters
OTHER_SIZE = 2.0  # times larger or smaller, from which on sizes name a group


class Contrast(NamedTuple):
    """How much more often trees of a group have each column than those of others do, [group, column]."""

    coverage: Floats  # share of the group's trees
    ahead: Floats  # coverage less what others have: half the mean of all, half the most of one group


class Named(NamedTuple):
    """What names are made from."""

    contrast: Contrast
    table: PatternTable
    keys: Ints  # [column]: place of the family, number of the key
    vocabulary: Sequence[str]


def contrast_of(count: Floats, size: Ints) -> Contrast:
    """Contrast of counts [group, column] of trees that have a column."""
    coverage = count / np.maximum(size, 1)[:, None]
    elsewhere = (count.sum(axis=0) - count) / np.maximum(size.sum() - size, 1)[:, None]
    most = np.zeros_like(coverage)
    rivals = np.flatnonzero(size > 1)
    if len(rivals) > 1:
        first = rivals[coverage[rivals].argmax(axis=0)]
        top, next_ = np.partition(coverage[rivals], -2, axis=0)[[-1, -2]]
        most[:] = top
        most[first, np.arange(len(first))] = next_
    elif len(rivals):
        most[np.arange(len(size)) != rivals[0]] = coverage[rivals[0]]
    return Contrast(coverage, coverage - 0.5 * (elsewhere + most))


def short_names(named: Named, sizes: Sequence[float], size: Ints) -> list[str]:
    """A name for each group, no two the same; `sizes` is the median number of nodes of its trees."""
    found = [_own(named, k) for k in range(len(size))]
    names = [", ".join(texts) for texts in found]
    names = [name or _by_lack(named, k) or _by_size(sizes, size, k) for k, name in enumerate(names)]
    names = [_told_apart(named, names, k) for k in range(len(names))]
    return numbered(names)


def numbered(names: Sequence[str]) -> list[str]:
    """The same names, with numbers behind those that come again."""
    taken, out = set(names), list[str]()
    for name in names:
        number, new = 1, name
        while new in out:  # not a name that another group has of its own
            number += 1
            new = f"{name} ({number})" if f"{name} ({number})" not in taken else name
        out.append(new)
    return out


# ---- what a group has, lacks, and how large it is -------------------------------------------------------------------


def _own(named: Named, k: int) -> list[str]:
    """The best phrases of a group that have no label in common."""
    score = named.contrast.ahead[k] * _simplicity(named)
    texts: list[str] = []
    spare: list[str] = []  # says nothing of labels, as "list of texts"
    used: set[int] = set()
    best = 0.0
    tried = np.argsort(-score, kind="stable")[:MOST_TRIED].tolist()
    for j in sorted(tried, key=lambda j: (-round(float(score[j]), 6), _codes(named, j))):
        if score[j] < max(LEAST_CONTRAST, AS_GOOD * best):
            break
        told = _phrase(named, j)
        if told is None or told[1] & used:
            continue
        if not told[1]:
            spare.append(told[0])
            continue
        best = best or float(score[j])
        texts.append(told[0])
        used |= told[1]
        if len(texts) == MOST_PHRASES:
            break
    return texts or spare[:1]


def _by_lack(named: Named, k: int) -> str:
    """A label that nearly all others have, and the group does not."""
    labels = named.keys[:, 0] == named.table.families.index("labels")
    if not labels.any():
        return ""
    lack = np.where(labels, named.contrast.coverage.mean(axis=0) - named.contrast.coverage[k], 0.0)
    j = int(lack.argmax())
    told = _phrase(named, j) if lack[j] >= LEAST_MISSING else None
    return "" if told is None else f"without {told[0]}"


def _by_size(sizes: Sequence[float], size: Ints, k: int) -> str:
    """How large its trees are, where they are much larger or smaller than those of others."""
    others = [sizes[g] for g in range(len(size)) if g != k and size[g]]
    if not size[k] or not others:
        return "all trees" if size[k] else "(no trees)"
    usual = float(np.median(others))
    nodes = f"about {sizes[k]:,.0f} nodes"
    if sizes[k] >= OTHER_SIZE * usual:
        return f"large, {nodes}"
    return f"small, {nodes}" if sizes[k] * OTHER_SIZE <= usual else f"mixed, {nodes}"


def _told_apart(named: Named, names: Sequence[str], k: int) -> str:
    """The name, with what sets the group apart from those of the same name."""
    rivals = [g for g in range(len(names)) if g != k and names[g] == names[k]]
    if not rivals:
        return names[k]
    gap = named.contrast.coverage[k] - named.contrast.coverage[rivals].max(axis=0)
    for j in np.argsort(-(gap * _simplicity(named)), kind="stable")[:MOST_TRIED].tolist():
        told = _phrase(named, j) if gap[j] >= LEAST_CONTRAST else None
        if told is not None:
            return f"{names[k]}, with {told[0]}"
    gap = named.contrast.coverage[rivals].min(axis=0) - named.contrast.coverage[k]
    for j in np.argsort(-(gap * _simplicity(named)), kind="stable")[:MOST_TRIED].tolist():
        told = _phrase(named, j) if gap[j] >= LEAST_CONTRAST else None
        if told is not None:
            return f"{names[k]}, without {told[0]}"
    return names[k]


def _simplicity(named: Named) -> Floats:
    by_family = np.array([SIMPLE.get(family, 0.0) for family in named.table.families])
    return np.asarray(by_family[named.keys[:, 0]])


# ---- words ----------------------------------------------------------------------------------------------------------


def _codes(named: Named, column: int) -> list[int]:
    """The labels of a column, by code; marks are below zero."""
    keys = named.table.keys[named.table.families[named.keys[column, 0]]]
    number = int(named.keys[column, 1])
    return [int(code) for code in keys.symbol[keys.start[number] : keys.start[number + 1]]]


def _phrase(named: Named, column: int) -> tuple[str, set[int]] | None:
    """A column in words, and the labels it names; None if it adds nothing to a simpler one."""
    family, codes = named.table.families[named.keys[column, 0]], _codes(named, column)
    if family not in SIMPLE or MISSING_CODE in codes or UNSEEN_CODE in codes:
        return None
    labels = {named.vocabulary[code - FIRST_LABEL] for code in codes if code >= FIRST_LABEL}
    json = is_json(named.vocabulary) and not labels.isdisjoint(JSON_WORDS)  # not so of XML beside JSON
    words = [_word(named.vocabulary, code, json) if code >= FIRST_LABEL else "" for code in codes]
    plain = [
        code >= FIRST_LABEL and not (json and named.vocabulary[code - FIRST_LABEL] in JSON_WORDS) for code in codes
    ]
    text = {"labels": _label, "pairs": _pair, "bigrams": _bigram, "rules": _rule}[family](codes, words, plain, json)
    return None if text is None else (text, {code for code, own in zip(codes, plain, strict=True) if own})


def _word(vocabulary: Sequence[str], code: int, json: bool) -> str:
    label = vocabulary[code - FIRST_LABEL]
    if json and label in JSON_WORDS:
        return JSON_WORDS[label]
    text = label if len(label) <= LONGEST_LABEL else label[: LONGEST_LABEL - 1] + "\u2026"
    return f'"{text}"' if not text.strip() or "," in text else text


def _label(codes: list[int], words: list[str], plain: list[bool], json: bool) -> str | None:
    return words[0] if plain[0] else None


def _pair(codes: list[int], words: list[str], plain: list[bool], json: bool) -> str | None:
    if codes[0] == START:
        return f"{words[1]} at the top" if plain[1] else None
    if not json:
        return f"{words[1]} in {words[0]}"
    if plain[0]:
        return f"{words[0]}: {words[1]}"  # a key and the kind of its value
    return None if plain[1] else f"{words[0]} of {words[1]}s" if words[0] == "list" else None


def _bigram(codes: list[int], words: list[str], plain: list[bool], json: bool) -> str | None:
    where = "" if json and not plain[0] else f" in {words[0]}"
    if codes[1] == START:
        return f"{words[2]} first{where}" if plain[2] else None
    if codes[2] == END:
        return f"{words[1]} last{where}" if plain[1] else None
    return f"{words[1]} before {words[2]}{where}" if plain[1] and plain[2] else None


def _rule(codes: list[int], words: list[str], plain: list[bool], json: bool) -> str | None:
    children = words[1:]
    if not 1 <= len(children) <= MOST_CHILDREN or not any(plain):
        return None
    if json and plain[0]:
        return None  # a key has one value, and the pair says which
    if len(set(children)) == 1 and len(children) > 1:
        return f"{words[0]} with only {len(children)} {children[0]}"
    return f"{words[0]} with only {enumerated(children)}"
