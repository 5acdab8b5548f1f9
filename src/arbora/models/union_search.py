"""The search for a mixture of unions of least description length: best merge first, then moves that shorten it.

`agglomerate` is the paper's search: the pair of unions whose merge gains most is merged until no merge gains.  Gains
of pairs never change while both unions live, so they are computed once, and only where an upper bound says they may
matter.  `refine` goes on where the paper stops: each tree is taken out of its union and put where it fits best, its own
union included; unions are merged and re-aligned as a whole; until nothing shortens the description.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .node_codes import Code, mixing_length
from .union import Samples, Union, merge, remove, union_length
from .union_store import UnionStore

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

TOLERANCE = 1e-9  # nats; a shorter description by less than this is rounding
_LAZY_BATCH = 32  # pairs, and one more for 20 unions, whose bounds are replaced by gains at a time


class Merge(NamedTuple):
    """One step of the agglomeration: numbers below n_samples are trees, others the merge that made them."""

    first: int
    second: int
    gain: float
    description_length: float  # after the merge


Tell = Callable[[str], None]


def _quiet(_: str) -> None:
    pass


class Agglomeration:
    """Unions of a store, merged best first; `unions` and `history` are complete after every step.

    `names` are those of the unions in the history, 0, 1, ... if left out; merges are named from `next_name` on.
    """

    def __init__(
        self,
        store: UnionStore,
        numbers: list[int],
        length: float,
        names: list[int] | None = None,
        next_name: int | None = None,
    ) -> None:
        n = len(numbers)
        self.store = store
        self.number = np.array(numbers, np.int64)  # union in the store, by place
        self.name = np.arange(n) if names is None else np.array(names, np.int64)  # in the history
        self.next_name = n if next_name is None else next_name
        self.alive = np.ones(n, bool)
        self.length = length
        self.history: list[Merge] = []
        self.gain = np.full((n, n), -np.inf)  # bound, or gain where exact
        self.exact = np.zeros((n, n), bool)
        for x in range(n - 1):
            self._bound(x, np.arange(x + 1, n))
        self.best = self.gain.max(axis=1, initial=-np.inf)
        self.partner = self.gain.argmax(axis=1) if n else np.zeros(0, np.int64)
        self.unions = [store.unions[c] for c in numbers]  # replaced as a whole, so that Ctrl-C finds it complete

    def _bound(self, x: int, others: Ints) -> None:
        pairs = np.column_stack([np.full(len(others), self.number[x]), self.number[others]])
        bound = self.store.bounds(pairs)
        self.gain[x, others] = self.gain[others, x] = bound
        self.exact[x, others] = self.exact[others, x] = False

    def _refresh(self, rows: Ints) -> None:
        self.partner[rows] = self.gain[rows].argmax(axis=1)
        self.best[rows] = self.gain[rows, self.partner[rows]]

    def step(self, at_least: float) -> bool:
        """Make the best merge if it gains more than `at_least`; False if there is none."""
        while True:
            x = int(self.best.argmax())
            if not self.best[x] > at_least:
                return False
            if self.exact[x, self.partner[x]]:
                self._merge(x, int(self.partner[x]))
                return True
            self._look_closer(at_least)

    def _look_closer(self, at_least: float) -> None:
        """Replace the largest bounds by gains; only pairs that are the best of a row can be next."""
        rows = np.flatnonzero((self.best > at_least) & ~self.exact[np.arange(len(self.best)), self.partner])
        rows = rows[np.argsort(-self.best[rows], kind="stable")[: _LAZY_BATCH + len(self.best) // 20]]
        one, two = np.minimum(rows, self.partner[rows]), np.maximum(rows, self.partner[rows])
        keys = np.unique(one * len(self.best) + two)
        one, two = keys // len(self.best), keys % len(self.best)
        found = self.store.gains(np.column_stack([self.number[one], self.number[two]]))
        self.gain[one, two] = self.gain[two, one] = found.gain
        self.exact[one, two] = self.exact[two, one] = True
        self._refresh(np.unique(np.concatenate([one, two])))

    def _merge(self, x: int, y: int) -> None:
        x, y = min(x, y), max(x, y)
        gain = float(self.gain[x, y])
        a, b = int(self.number[x]), int(self.number[y])
        match = self.store.match(a, b)
        union = merge(self.store.unions[a], self.store.unions[b], match.pairs, self.store.n_labels)
        self.length -= gain
        names = int(self.name[x]), int(self.name[y])
        self.number[x] = self.store.add(union)
        self.name[x] = self.next_name + len(self.history)
        self.alive[y] = False
        self.gain[y, :] = self.gain[:, y] = -np.inf
        others = np.flatnonzero(self.alive & (np.arange(len(self.alive)) != x))
        if len(others):
            self._bound(x, others)
        self.best[y] = -np.inf
        stale = others[(self.partner[others] == x) | (self.partner[others] == y)]
        self._refresh(np.append(stale, x))
        risen = others[self.gain[others, x] > self.best[others]]
        self.partner[risen], self.best[risen] = x, self.gain[risen, x]
        unions = [self.store.unions[c] for c in self.number[self.alive]]
        self.history, self.unions = [*self.history, Merge(*names, gain, self.length)], unions


class Merging:
    """Agglomeration of every union of a store, block by block where there are many, then of what the blocks left.

    Time and memory of an agglomeration grow with the square of the number of unions.  Blocks take every so manyth tree,
    so that each sees all classes, and stop at a quarter of their trees: the last merges are for all trees together.
    """

    def __init__(self, store: UnionStore, length: float) -> None:
        self.store, self.length = store, length
        self.unions = list(store.unions)
        self.history: list[Merge] = []

    def run(self, block_size: int, n_components: int | None, advance: Callable[[], None]) -> None:
        """Merge while that gains, or until `n_components` are left."""
        n = len(self.store)
        n_blocks = max(-(-n // block_size), 1)
        at_least = n_components or 1
        numbers, names = list(range(n)), list(range(n))
        if n_blocks > 1:
            blocks = [list(range(b, n, n_blocks)) for b in range(n_blocks)]
            numbers, names = [], []
            for b, block in enumerate(blocks):
                others = [self.store.unions[c] for c in numbers]
                others += [self.store.unions[t] for later in blocks[b + 1 :] for t in later]
                part = Agglomeration(self.store, block, self.length, block, n + len(self.history))
                self._go(part, 0.0, max(at_least, len(block) // 4), others, advance)
                numbers += part.number[part.alive].tolist()
                names += part.name[part.alive].tolist()
        last = Agglomeration(self.store, numbers, self.length, names, n + len(self.history))
        self._go(last, 0.0 if n_components is None else -np.inf, at_least, [], advance)

    def _go(
        self, part: Agglomeration, lowest: float, at_least: int, others: list[Union], advance: Callable[[], None]
    ) -> None:
        before = self.history
        while len(part.unions) > at_least and part.step(lowest):
            self.history, self.unions, self.length = [*before, *part.history], [*part.unions, *others], part.length
            advance()


# ---- moves ----------------------------------------------------------------------------------------------------------


def mixing_gain(n_1: int, n_2: int) -> float:
    """What merging n_1 and n_2 samples saves of the code of memberships."""
    return mixing_length(n_1 + n_2) - mixing_length(n_1) - mixing_length(n_2)


class _TakenOut(NamedTuple):
    """A tree out of its union."""

    alone: Union
    alone_length: float
    rest: Union | None  # None if it was alone before
    rest_length: float
    gain: float  # of being in the union it was taken out of


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
        """Put one tree where it fits best; returns what that saved and the unions that changed."""
        c = int(self.place[t])
        if self.fixed and len(self.unions[c].member) == 1:
            return 0.0, []
        out = self._take_out(t)
        mark = len(store)
        tree = store.add(out.alone)
        homes = [d for d in range(len(self.unions)) if d != c and self.unions[d].n_assigned]
        places = [numbers[d] for d in homes]
        if out.rest is not None:
            homes, places = [c, *homes], [store.add(out.rest), *places]
        best, x = self._best_home(store, tree, places, out.gain)
        pairs = store.match(places[x], tree).pairs if x >= 0 else None
        while len(store) > mark:
            store.drop_last()
        if max(best, out.gain) < -TOLERANCE and not self.fixed and out.rest is not None:
            self._set(c, out.rest, out.rest_length)
            self._append(out.alone, out.alone_length)  # better off alone
            numbers.append(-1)
            return -out.gain, [c, len(self.unions) - 1]
        if pairs is None:
            return 0.0, []
        changed = self._join(c, homes[x], out, pairs)
        return best - out.gain, changed

    def _take_out(self, t: int) -> _TakenOut:
        c = int(self.place[t])
        alone, mine = self.source.unions[t], self.unions[c]
        own = union_length(alone, self.code)
        if len(mine.member) == 1:
            return _TakenOut(alone, own, None, 0.0, 0.0)
        rest = remove(mine, int(np.flatnonzero(mine.member == t)[0]), self.samples, self.n_labels)
        length = union_length(rest, self.code)
        gain = length + own + mixing_gain(rest.n_assigned, alone.n_assigned) - self.length[c]
        return _TakenOut(alone, own, rest, length, gain)

    def _join(self, c: int, d: int, out: _TakenOut, pairs: Ints) -> list[int]:
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

    def _best_home(self, store: UnionStore, tree: int, others: list[int], current: float) -> tuple[float, int]:
        """Largest gain above the current one and its place in `others`; -1 if there is none."""
        if not others:
            return current, -1
        pairs = np.column_stack([np.array(others, np.int64), np.full(len(others), tree, np.int64)])
        bound = store.bounds(pairs)
        likely = np.flatnonzero(bound > current + TOLERANCE)
        likely = likely[np.argsort(-bound[likely], kind="stable")]
        best, target = current + TOLERANCE, -1
        for lo in range(0, len(likely), 8):
            part = likely[lo : lo + 8]
            if bound[part[0]] <= best:
                break
            gain = store.gains(pairs[part]).gain
            x = int(gain.argmax())
            if gain[x] > best:
                best, target = float(gain[x]), int(part[x])
        return (best, target) if target >= 0 else (current, -1)

    def _nothing(self, like: Union) -> Union:
        none = np.zeros(0, np.int64)
        return like._replace(
            parent=none, node_count=none, n_assigned=0, entry=none, entry_count=none, member=none, node_match=none
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
            shorter, new_length = self.realign(made, length)
            step = length - new_length
            made, length, missing = shorter, new_length, missing - step
            if step <= TOLERANCE or missing > 3.0 * step:  # nothing more to come, or not nearly enough
                return made, length

    def realign(self, union: Union, length: float) -> tuple[Union, float]:
        """Take out every tree of one union, match it again, and keep what is shorter."""
        for t in union.member.tolist():
            if len(union.member) == 1:
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
            saved = self.sweep()
            while saved > TOLERANCE and (more := self.sweep()) > TOLERANCE:
                saved += more
            if not self.fixed:
                saved += self.deep_merges(per_union)
            if saved <= TOLERANCE:
                return True
        return False


def start_store(samples: Samples, code: Code, store: UnionStore) -> None:
    """Put every distinct tree into an empty store, tree t as union t."""
    from .union import single

    for t in range(len(samples.weight)):
        store.add(single(samples, t, len(code.label_prior)))
