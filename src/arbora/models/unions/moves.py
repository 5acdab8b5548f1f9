"""Moves that shorten the description of a mixture of unions, where the paper's search stops.

Each tree is taken out of its union and put where it fits best, its own union included; unions are merged and re-aligned
as a whole; until nothing shortens the description.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from .packed import UnionStore, best_partner
from .working_union import Samples, TakenOut, Union, merge, mixing_gain, remove, take_out, union_length

Ints = NDArray[np.int64]

TOLERANCE = 1e-9  # nats; a shorter description by less than this is rounding
_PROBE = 32  # trees after which a hopeless re-alignment ends
_HOPE = 3.0  # times what a pass saved is what further ones are trusted to save

Tell = Callable[[str], None]


def _quiet(_: str) -> None:
    pass


class Refinement:
    """A mixture that is changed tree by tree and union by union, never to a longer description."""

    def __init__(self, unions: list[Union], samples: Samples, store: UnionStore, fixed: bool, tell: Tell = _quiet):
        self.samples, self.code, self.n_labels = samples, store.code, store.n_labels
        self.source = store  # of single trees: tree t is union t
        self.fixed = fixed  # keep the number of unions
        self.tell = tell
        self.unions = list(unions)
        self.complete = list(unions)  # after the last finished change; what Ctrl-C keeps
        self.length = [union_length(u, self.code) for u in unions]
        self.place = np.empty(len(samples.weight), np.int64)  # union of each distinct tree
        for c, union in enumerate(unions):
            self.place[union.member] = c
        self.version = list(range(len(unions)))
        self.n_versions = len(unions)
        self.failed: set[tuple[int, int]] = set()
        self.looked = np.zeros(len(samples.weight), np.int64)  # versions there were when a tree was left where it is

    def _set(self, c: int, union: Union, length: float) -> None:
        self.unions[c], self.length[c] = union, length
        self.place[union.member] = c
        self.version[c] = self.n_versions
        self.n_versions += 1

    def sweep(self) -> float:
        """Take out every tree once and put it where it fits best; returns what that saved."""
        store = self.source.like()
        numbers = [store.add(u) for u in self.unions]
        saved = 0.0
        for t in range(len(self.samples.weight)):
            gained, changed = self._move(t, store, numbers)
            saved += gained
            if changed:
                self.complete = [u for u in self.unions if u.n_assigned]
            for c in changed:
                numbers[c] = store.add(self.unions[c])
            if len(store) > 4 * len(self.unions) + 64:  # forget unions that are no more
                store = self.source.like()
                numbers = [store.add(u) for u in self.unions]
            self.tell("moving trees")
        self._drop_empty()
        return saved

    def _move(self, t: int, store: UnionStore, numbers: list[int]) -> tuple[float, list[int]]:
        """Put one tree where it fits best; returns what that saved and the unions that changed.

        Only unions that are not as they were when the tree was last left in place are looked at, all if its own is not.
        """
        c = int(self.place[t])
        moved_on = self.version[c] >= self.looked[t]
        homes = [d for d in self._others(c) if moved_on or self.version[d] >= self.looked[t]]
        if (self.fixed and len(self.unions[c].member) == 1) or not (moved_on or homes):
            return 0.0, []
        out = take_out(self.unions[c], self.length[c], self.source.unions[t], self.samples, self.code)
        mark = len(store)
        tree = store.add(out.alone)
        places = [numbers[d] for d in homes]
        if moved_on and out.rest is not None:
            homes, places = [c, *homes], [store.add(out.rest), *places]
        best, x = best_partner(store, tree, places, out.gain + TOLERANCE)
        pairs = store.match(places[x], tree).pairs if x >= 0 else None
        while len(store) > mark:
            store.drop_last()
        if best < -TOLERANCE and not self.fixed and out.rest is not None:
            self._set(c, out.rest, out.rest_length)
            self._append(out.alone, out.alone_length)  # better off alone
            numbers.append(-1)
            return -out.gain, [c, len(self.unions) - 1]
        if pairs is None:
            self.looked[t] = self.n_versions
            return 0.0, []
        changed = self._join(c, homes[x], out, pairs)
        return best - out.gain, changed

    def _others(self, c: int) -> list[int]:
        return [d for d, union in enumerate(self.unions) if d != c and union.n_assigned]

    def _join(self, c: int, d: int, out: TakenOut, pairs: Ints) -> list[int]:
        """Put a tree taken out of union c into union d; returns the unions that changed and are not empty."""
        base = out.rest if d == c and out.rest is not None else self.unions[d]
        joined = merge(base, out.alone, pairs, self.n_labels)
        mine = self.unions[c]
        self._set(d, joined, union_length(joined, self.code))
        if d == c:
            return [c]
        if out.rest is None:
            self._set(c, self._nothing(mine), 0.0)
            return [d]
        self._set(c, out.rest, out.rest_length)
        return [c, d]

    def _nothing(self, like: Union) -> Union:
        none = np.zeros(0, np.int64)
        return like._replace(
            parent=none,
            node_count=none,
            n_assigned=0,
            entry=none,
            entry_count=none,
            member=none,
            node_match=none,
            moment=like.moment[:0],
        )

    def _append(self, union: Union, length: float) -> None:
        self.unions.append(union)
        self.length.append(length)
        self.version.append(self.n_versions)
        self.n_versions += 1
        self.place[union.member] = len(self.unions) - 1

    def _drop_empty(self) -> None:
        keep = [c for c, union in enumerate(self.unions) if union.n_assigned]
        self.unions = [self.unions[c] for c in keep]
        self.length = [self.length[c] for c in keep]
        self.version = [self.version[c] for c in keep]
        for c, union in enumerate(self.unions):
            self.place[union.member] = c

    # ---- deep merges ----------------------------------------------------------------------------------------------

    def deep_merges(self, per_union: int) -> float:
        """Merge two unions and re-align all their trees, if that shortens the description; returns what it saved."""
        saved = 0.0
        again = True
        while again and len(self.unions) > 1:
            again = False
            for c, d, gain in self._likely_merges(per_union):
                key = (self.version[c], self.version[d])
                if key in self.failed:
                    continue
                made, length = self._merge_deeply(c, d, gain)
                self.tell("merging unions")
                gained = self.length[c] + self.length[d] - length
                gained += mixing_gain(self.unions[c].n_assigned, self.unions[d].n_assigned)
                if gained > TOLERANCE:
                    self._set(c, made, length)
                    self._set(d, self._nothing(made), 0.0)
                    self._drop_empty()
                    self.complete = list(self.unions)
                    saved += gained
                    again = True
                    break
                self.failed.add(key)
        return saved

    def _likely_merges(self, per_union: int) -> list[tuple[int, int, float]]:
        """Pairs of unions by decreasing gain, at most `per_union` for each."""
        k = len(self.unions)
        store = self.source.like()
        for union in self.unions:
            store.add(union)
        first, second = np.triu_indices(k, 1)
        gain = store.gains(np.column_stack([first, second]).astype(np.int64)).gain
        seen = np.zeros(k, np.int64)
        out = []
        for x in np.argsort(-gain, kind="stable"):
            c, d = int(first[x]), int(second[x])
            if min(seen[c], seen[d]) < per_union:
                seen[c] += 1
                seen[d] += 1
                out.append((c, d, float(gain[x])))
        return out

    def _merge_deeply(self, c: int, d: int, gain: float) -> tuple[Union, float]:
        store = self.source.like()
        match = store.match(store.add(self.unions[c]), store.add(self.unions[d]))
        made = merge(self.unions[c], self.unions[d], match.pairs, self.n_labels)
        length = union_length(made, self.code)
        missing = -gain
        while True:
            shorter, new_length = self.realign(made, length, missing)
            step = length - new_length
            made, length, missing = shorter, new_length, missing - step
            if step <= TOLERANCE or missing > _HOPE * step:  # nothing more to come, or not nearly enough
                return made, length

    def realign(self, union: Union, length: float, missing: float = 0.0) -> tuple[Union, float]:
        """Take out every tree of one union, match it again, and keep what is shorter.

        Of many trees, some from all over come first: if so much would be `missing` at their rate, the others are left.
        """
        member, n = union.member, len(union.member)
        if n >= 2 * _PROBE:
            member = member[np.argsort(np.arange(n) % (n // _PROBE), kind="stable")]
        start = length
        for tried, t in enumerate(member.tolist()):
            if n == 1 or (tried >= _PROBE and missing > _HOPE * (start - length) * n / tried):
                break
            which = int(np.flatnonzero(union.member == t)[0])
            rest = remove(union, which, self.samples, self.n_labels)
            store = self.source.like()
            match = store.match(store.add(rest), store.add(self.source.unions[t]))
            again = merge(rest, self.source.unions[t], match.pairs, self.n_labels)
            new_length = union_length(again, self.code)
            if new_length < length - TOLERANCE:
                union, length = again, new_length
        return union, length

    def run(self, max_rounds: int, per_union: int = 4) -> bool:
        """Sweeps and deep merges until neither saves anything; True if it ended by itself."""
        for _ in range(max_rounds):
            while self.sweep() > TOLERANCE:
                pass
            if self.fixed or self.deep_merges(per_union) <= TOLERANCE:
                return True
        return False
