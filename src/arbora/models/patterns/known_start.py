"""Where the search starts if classes of some trees are known: at groups of alike trees, or at a classifier's classes.

The posterior does not choose between the two: few known trees weigh little in it beside all others.  The known trees
choose, by what tells the class of each better: the other known trees of its group, or a classifier of the other known
trees (note.md, section 9).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold
from sklearn.svm import LinearSVC

Ints = NDArray[np.int64]

FOLDS = 10
LEAST_CLASSES = 0.75  # of the number of groups: with fewer known classes a classifier leaves out too many groups


def has_most(code: Ints, n_groups: int) -> bool:
    """Whether most groups have a known class."""
    return len(np.unique(code)) >= max(2.0, LEAST_CLASSES * n_groups)


def from_known(rows: Any, label: Ints, known: Ints, code: Ints) -> Ints:
    """The groups given, or as many that begin with the classes that a classifier gives; `code` has those of `known`.

    Groups beyond the classes are the largest of those given that have no known tree, or else single trees.
    """
    if told_by_groups(label[known], code) >= told_by_classifier(rows[known], code):
        return label
    code = np.unique(code, return_inverse=True)[1].astype(np.int64)
    out = _classified(rows[known], code, rows)
    out[known] = code
    n, wanted = int(code.max()) + 1, int(label.max()) + 1
    strange = np.setdiff1d(label, label[known])
    for group in strange[np.argsort(-np.bincount(label)[strange], kind="stable")][: wanted - n]:
        out[label == group] = n
        n += 1
    free = np.setdiff1d(np.flatnonzero(~np.isin(label, strange)), known)
    alone = free[len(free) - (wanted - n) :]
    out[alone] = n + np.arange(len(alone))
    return out


def told_by_groups(label: Ints, code: Ints) -> float:
    """Share of trees whose class is the most frequent among the others of their group."""
    times = np.zeros((int(label.max()) + 1, int(code.max()) + 1))
    np.add.at(times, (label, code), 1.0)
    others = times[label]
    others[np.arange(len(code)), code] -= 1.0
    return float(np.mean((others.argmax(axis=1) == code) & (others.sum(axis=1) > 0)))


def told_by_classifier(rows: Any, code: Ints) -> float:
    """Share of trees whose class a classifier of the others tells, cross-validated."""
    right = 0
    for others, own in KFold(min(FOLDS, len(code)), shuffle=True, random_state=0).split(code):
        right += int((_classified(rows[others], code[others], rows[own]) == code[own]).sum())
    return right / len(code)


def _classified(known: Any, code: Ints, rows: Any) -> Ints:
    """The class of each row by a linear classifier of the known ones."""
    if len(np.unique(code)) < 2:
        return np.full(rows.shape[0], code[0])
    return np.asarray(LinearSVC(random_state=0).fit(known, code).predict(rows), np.int64)
