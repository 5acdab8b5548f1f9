"""The search for a mixture of unions of least description length: best merge first.

`Agglomeration` is the paper's search: the pair of unions whose merge gains most is merged until no merge gains.  Gains
of pairs never change while both unions live, so they are computed once, and only where an upper bound says they may
matter.  `Merging` does the same for more trees than can be compared with each other.  `union_moves` continues where the
paper stops.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .node_codes import Code
from .packed import UnionStore, best_partner
from .working_union import Samples, Union, merge, single, take_out, union_length

Ints = NDArray[np.int64]

_LAZY_BATCH = 32  # pairs, and one more for 20 unions, whose bounds are replaced by gains at a time


class Merge(NamedTuple):
    """One step of the agglomeration: numbers below n_samples are trees, others the merge that made them."""

    first: int
    second: int
    gain: float
    description_length: float  # after the merge


class Agglomeration:
    """Unions of a store, merged best first; `unions` and `history` are complete after every step.

    `names` are those of the unions in the history, 0, 1, ... if left out; merges are named from `next_name` on.  The
    first `n_settled` are known to gain nothing by merging with each other.
    """

    def __init__(
        self,
        store: UnionStore,
        numbers: list[int],
        length: float,
        names: list[int] | None = None,
        next_name: int | None = None,
        n_settled: int = 0,
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
            self._bound(x, np.arange(max(x + 1, n_settled if x < n_settled else 0), n))
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
    """Agglomeration of every union of a store; where there are many, of some at a time, which then take in others.

    Time and memory of an agglomeration grow with the square of the number of unions.  Of more than `block_size` trees,
    every so manyth is merged first, best merge first.  Then each of the others joins the union that gains most by it,
    if that is no less than all but a tenth of the union's own members bring.  Trees that fit nowhere are merged in the
    same way, together with the unions, until none is left.
    """

    def __init__(self, store: UnionStore, samples: Samples, length: float) -> None:
        self.store, self.samples, self.length = store, samples, length
        self.unions = list(store.unions)
        self.history: list[Merge] = []
        self.n_trees = len(store)

    def run(self, block_size: int, n_components: int | None, advance: Callable[[], None]) -> None:
        """Merge while that gains, or until `n_components` are left."""
        at_least = n_components or 1
        numbers: list[int] = []
        names: list[int] = []
        n_settled = 0  # the first so many unions are known to gain nothing by merging with each other
        waiting = list(range(self.n_trees))
        while True:
            n_blocks = max(-(-len(waiting) // block_size), 1)
            block = waiting[::n_blocks]
            waiting = [t for x, t in enumerate(waiting) if x % n_blocks]
            if not waiting and n_components is not None:
                n_settled = 0
            part = Agglomeration(
                self.store, numbers + block, self.length, names + block, self.n_trees + len(self.history), n_settled
            )
            lowest = 0.0 if waiting or n_components is None else -np.inf
            self._go(part, lowest, at_least, [self.store.unions[t] for t in waiting], advance)
            if not waiting:
                return
            numbers, names = part.number[part.alive].tolist(), part.name[part.alive].tolist()
            numbers, names, n_settled, waiting = self._take_in(numbers, names, waiting, advance)

    def _go(
        self, part: Agglomeration, lowest: float, at_least: int, others: list[Union], advance: Callable[[], None]
    ) -> None:
        before = self.history
        while len(part.unions) > at_least and part.step(lowest):
            self.history, self.unions, self.length = [*before, *part.history], [*part.unions, *others], part.length
            advance()

    def _take_in(
        self, numbers: list[int], names: list[int], waiting: list[int], advance: Callable[[], None]
    ) -> tuple[list[int], list[int], int, list[int]]:
        """Let trees join unions; returns the unions, unchanged ones first, how many these are, and the trees left."""
        lowest = [self._usual_gain(self.store.unions[c]) for c in numbers]
        grown: set[int] = set()
        left: list[int] = []
        for at, t in enumerate(waiting):
            gain, x = best_partner(self.store, t, numbers, 0.0)
            if x < 0 or gain < lowest[x]:
                left.append(t)
                continue
            match = self.store.match(numbers[x], t)
            union = merge(self.store.unions[numbers[x]], self.store.unions[t], match.pairs, self.store.n_labels)
            step = Merge(names[x], t, gain, self.length - gain)
            numbers[x], names[x] = self.store.add(union), self.n_trees + len(self.history)
            grown.add(x)
            unions = [self.store.unions[c] for c in (*numbers, *left, *waiting[at + 1 :])]
            self.history, self.unions, self.length = [*self.history, step], unions, step.description_length
            advance()
        order = sorted(range(len(numbers)), key=lambda x: x in grown)
        return [numbers[x] for x in order], [names[x] for x in order], len(order) - len(grown), left

    def _usual_gain(self, union: Union) -> float:
        """What all but a tenth of a union's members bring at least; infinite for a tree alone."""
        if len(union.member) == 1:
            return np.inf
        length, trees = union_length(union, self.store.code), self.store.unions
        brought = [take_out(union, length, trees[t], self.samples, self.store.code).gain for t in union.member]
        return float(np.quantile(brought, 0.1))


def start_store(samples: Samples, code: Code, store: UnionStore) -> None:
    """Put every distinct tree into an empty store, tree t as union t."""
    for t in range(len(samples.weight)):
        store.add(single(samples, t, len(code.label_prior)))
