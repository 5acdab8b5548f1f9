"""Groups within groups: components merged two by two, and what is read off the merges; shared by all mixtures."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ..errors import ArboraError, SettingError
from ..evaluate.hierarchy import Hierarchy
from ..inference.diagnostics import canonical
from .file_checks import check_array

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST_MERGED = 100  # components beyond which coarser groupings are not looked for unasked
MOST_LOSS = 1e9  # nats for a tree that the other component cannot produce


class Merges(NamedTuple):
    """Merges in their order: components by number, K, K + 1, ... for those that merges made."""

    pair: Ints  # [step, 2]
    gain: Floats  # [step], nats that log_posterior gains, mostly below zero
    log_posterior: Floats  # [step + 1], from all components to one


class GroupsWithinGroups:
    """Mixin of a mixture with `labels_` and `merges()`: the merges as a hierarchy, its cuts, and a linkage."""

    labels_: Ints

    def merges(self) -> Any:
        """Merges of components, best first."""
        raise NotImplementedError

    def _groupings(self) -> Ints:
        """The group of each component after 0, 1, ... merges, [step + 1, component]."""
        pair = self.merges().pair
        return groupings(pair, len(pair) + 1)

    def _n_mergeable(self) -> int:
        """Components that there are, or 0 if the model holds no merges."""
        return (
            0
            if getattr(self, "merge_loss_", 0) is None
            else int(getattr(self, "n_components_", getattr(self, "n_components", 0)))
        )

    @property
    def hierarchy_(self) -> Hierarchy:
        """The training trees in groups within groups: levels of 2, 3, ... groups, down to all components in use.

        Leaves have the names of the trees; a model from a file has numbers, unless the file holds the names.
        """
        check_is_fitted(self, "labels_")
        steps = self._groupings()[::-1][1:]  # coarse to fine, below the root
        levels = [group[self.labels_] for group in steps]
        kept = [x for x, level in enumerate(levels) if _n(level) > (1 if x == 0 else _n(levels[x - 1]))]
        table = np.stack([levels[x] for x in kept]) if kept else np.empty((0, len(self.labels_)), np.int64)
        names = getattr(self, "names_", None) or getattr(self, "_tree_names", None)
        return Hierarchy.from_levels(table, names if names is not None and len(names) == len(self.labels_) else None)

    def cut(self, n: int) -> Ints:
        """Groups of the training trees after merging down to n of them, 0, 1, ... by decreasing size.

        Parameters
        ----------
        n : int
            Number of groups.

        Returns
        -------
        ndarray of int
            Group of each tree.
        """
        check_is_fitted(self, "labels_")
        n_used = _n(self.labels_)
        if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or not 1 <= n <= n_used:
            raise SettingError(f"cut: n={n!r}; wanted a whole number from 1 to {n_used}, the components in use")
        for group in self._groupings():
            if _n(group[self.labels_]) <= n:
                return canonical(group[self.labels_])
        raise SettingError(f"cut: n={n!r}; there is no such level")

    def linkage(self) -> Floats:
        """SciPy's linkage matrix over components: the height is what all merges so far have lost, in nats.

        ``hierarchy_.to_linkage()`` is that over trees.  A merge that gains loses nothing, so heights never fall.
        """
        check_is_fitted(self, "labels_")
        steps = self._groupings()
        n = steps.shape[1]
        name = {int(group): k for k, group in enumerate(steps[0])}
        height = np.cumsum(np.maximum(-np.asarray(self.merges().gain), 0.0))
        rows = np.empty((n - 1, 4))
        for step in range(n - 1):
            joined = steps[step + 1]
            (new,) = (g for g in np.unique(joined).tolist() if _n(steps[step][joined == g]) == 2)
            a, b = sorted(name.pop(int(g)) for g in np.unique(steps[step][joined == new]))
            rows[step] = a, b, height[step], (joined == new).sum()
            name[new] = n + step
        return rows


class MergedByLoss(GroupsWithinGroups):
    """Hierarchy of a mixture without a closed marginal, by the expected loss of each merge.

    A group of several components is described by that one of them which describes the trees of all of them best.  A
    merge loses the expected log-likelihood of its trees, under the responsibilities of the fit, by this.  The merge
    that loses least comes first.  `merge_loss_[k, r]` is the loss of giving the trees of component k to component r.
    """

    merge_loss_: Floats | None
    history_: Sequence[float]

    def merges(self) -> Merges:
        """Merges of components, least expected loss of log-likelihood first."""
        check_is_fitted(self, "merge_loss_")
        if self.merge_loss_ is None:
            raise ArboraError(
                f"{type(self).__name__}: it holds no merges, as a single hidden tree or a file of an earlier version; "
                "fit a mixture"
            )
        return least_losses(self.merge_loss_, float(self.history_[-1]))


def groupings(pair: Ints, n_components: int) -> Ints:
    """The group of each component after 0, 1, ... merges, [step + 1, component]."""
    group = np.arange(n_components)
    steps = [group]
    for number, (a, b) in enumerate(pair.tolist()):
        group = np.where((group == a) | (group == b), n_components + number, group)
        steps.append(group)
    return np.stack(steps)


def expected_losses(log_joint: Floats, weight: Floats) -> Floats:
    """sum_n P(k | tree n) (log p(tree n | k) - log p(tree n | r)) for all k and r, [k, r].

    Trees that no component explains do not count.
    """
    joint = log_joint[np.isfinite(log_joint.max(axis=1))]
    top = joint.max(axis=1, keepdims=True)
    share = np.exp(joint - top)
    share /= share.sum(axis=1, keepdims=True)
    conditional = np.maximum(joint - np.log(np.maximum(weight, 1e-300)), top - MOST_LOSS)
    own = (share * conditional).sum(axis=0)
    return np.asarray(own[:, None] - share.T @ conditional)


def least_losses(loss: Floats, start: float) -> Merges:
    """Merge down to one group, the least loss first; loss(S) = min over r in S of sum over k in S of loss[k, r]."""
    n = len(loss)
    members = {k: [k] for k in range(n)}
    within = dict.fromkeys(range(n), 0.0)
    pairs, gained = [], []
    known: dict[tuple[int, int], float] = {}
    for step in range(n - 1):
        numbers = sorted(members)
        for x, a in enumerate(numbers):
            for b in numbers[x + 1 :]:
                if (a, b) not in known:
                    both = members[a] + members[b]
                    known[a, b] = float(loss[np.ix_(both, both)].sum(axis=0).min()) - within[a] - within[b]
        a, b = min(((a, b) for a, b in known if a in members and b in members), key=lambda p: (known[p], p))
        members[n + step] = members.pop(a) + members.pop(b)
        within[n + step] = within.pop(a) + within.pop(b) + known[a, b]
        pairs.append((a, b))
        gained.append(-known[a, b])
    gain = np.array(gained, np.float64)
    return Merges(np.array(pairs, np.int64).reshape(-1, 2), gain, start + np.append(0.0, np.cumsum(gain)))


class Level(NamedTuple):
    """A coarser grouping: which component is in which group, and the merge that made it."""

    n_groups: int  # that hold trees
    group: Ints  # [component]: 0, 1, ... in the order of their first components
    joined: tuple[tuple[int, ...], tuple[int, ...]]  # components of the two groups that were merged
    gain: float  # nats, mostly below zero


def coarser_levels(model: Any, labels: Ints) -> list[Level]:
    """Groupings of the components by merges, finest first, down to one group; none where there are too many.

    Merges of components without trees make no level.
    """
    if not isinstance(model, GroupsWithinGroups) or not 1 < model._n_mergeable() <= MOST_MERGED:
        return []
    steps, gain = model._groupings(), np.asarray(model.merges().gain)
    used = np.unique(labels[labels >= 0])
    found = []
    for step in range(len(gain)):
        before, after = steps[step], steps[step + 1]
        if _n(after[used]) == _n(before[used]):
            continue
        (new,) = (g for g in np.unique(after).tolist() if _n(before[after == g]) == 2)
        parts = [before == g for g in np.unique(before[after == new])]
        one, two = (tuple(int(k) for k in np.flatnonzero(part) if k in used) for part in parts)
        first = np.unique(after, return_index=True, return_inverse=True)
        rank = np.argsort(np.argsort(first[1]))
        joined = (one, two) if one[0] < two[0] else (two, one)
        found.append(Level(_n(after[used]), rank[first[2]], joined, float(gain[step])))
    return found


def check_losses(model: Any, n: int) -> None:
    """Raise unless labels and losses of a file are those of n components; files of old have no losses."""
    if model.merge_loss_ is not None:
        check_array("merge_loss_", model.merge_loss_, np.float64, (n, n), -1e250, 1e250)
        check_array("labels_", model.labels_, np.int64, (None,), -1, n - 1)
        if not model.history_:
            raise ValueError("there are merges, but no history to start from")


def _n(level: Ints) -> int:
    return len(np.unique(level))
