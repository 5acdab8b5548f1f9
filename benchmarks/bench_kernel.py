"""The upward and downward passes against what the machine can do: its peak in arithmetic and in memory traffic.

    python benchmarks/bench_kernel.py
Peaks are measured in the same run, on one core: a product of matrices (BLAS) and a triad over arrays beyond the caches.
Operations and bytes of the passes are counted from the trees, by the loops of kernels/upward_downward.py; a logarithm
counts as one operation, and a number that is read twice in a row comes from memory once.  Fails below a tenth of what
arithmetic and traffic together would allow.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numba
import numpy as np
from measure import cpu_seconds, finish, judge

from arbora.datasets import make_random_trees
from arbora.forest.sharing import share
from arbora.models.hidden_tree import switching_tree as tm
from arbora.models.hidden_tree.lanes import Workspace

N_NODES = 2_000_000
REPEAT = 7


@numba.njit
def triad(a, b, c):
    """The stream benchmark's triad."""
    for x in range(a.shape[0]):
        a[x] = b[x] + 3.0 * c[x]


@numba.njit(error_model="numpy")
def logarithms(x, out):
    """What the upward pass does with the probability of every label: its logarithm and its inverse."""
    for d in range(x.shape[0]):
        for k in range(x.shape[1]):
            out[d, k] = np.log(x[d, k])
            x[d, k] = 1.0 / x[d, k]


def machine():
    """Operations and bytes per second of one core."""
    a = np.random.default_rng(0).random((1024, 1024))
    flops = 2 * 1024**3 / cpu_seconds(lambda: a @ a, REPEAT)
    b, c, d = (np.ones(2**25) for _ in range(3))
    triad(b, c, d)
    rate = 3 * b.nbytes / cpu_seconds(lambda: triad(b, c, d), REPEAT)
    print(f"machine, one core: {flops / 1e9:.1f} GFLOP/s in a product of matrices, {rate / 1e9:.1f} GB/s in a triad")
    return flops, rate


def cost(shard, n_states):
    """Operations and numbers moved by each pass, a lane."""
    units, c = shard.units, n_states
    n, edges = shard.n_units, len(units.child)
    below = int((units.slot >= 0).sum())
    inner = int((np.diff(units.child_start) > 0).sum())
    gaps = absent_between(units)
    up = (edges + gaps) * c + n * (3 * c + 2) + edges + below * (2 * c * c - c)
    down = below * (4 * c * c + 2 * c) + n * 2 * c + (n - inner) * c + inner * 3 * c + edges * (c + 1) + gaps * c
    # up: states, messages, 1/z and log written.  down: two arrays cleared; each child's pull and mass read and written
    # by its parent, and read by itself, as its states and 1/z are.
    return (up, n * (2 * c + 2)), (down + inner * c, n * (c + 1) + 2 * edges * (c + 1) + n * (2 * c + 2))


def absent_between(units):
    """Absent slots between the children of a node, over all nodes."""
    first = units.child_start[:-1][np.diff(units.child_start) > 0]
    if not len(first):
        return 0
    last = units.slot[units.child[units.child_start[1:][np.diff(units.child_start) > 0] - 1]].astype(np.int64)
    present = np.diff(units.child_start)[np.diff(units.child_start) > 0]
    return int((last + 1 - present).sum())


def passes(forest, n_states, n_components, max_units, peaks):
    """CPU time of both passes over all shards, and what came of it."""
    spec = tm.SwitchingTree.of_labels(forest.n_slots, forest.n_labels, n_states)
    shards = share(forest.arrays, forest.n_slots, max_units, shared=False)
    params = spec.draw(np.random.default_rng(0), n_components)
    flow = spec.prepare(params)
    workspace, sums = Workspace(), spec.empty_sums(n_components)
    weights = [np.full((shard.n_distinct_trees, n_components), 1 / n_components) for shard in shards]

    def upward():
        for shard in shards:
            spec.upward(flow, params, shard, workspace)

    def both():
        for shard, weight in zip(shards, weights, strict=True):
            messages, _ = spec.upward(flow, params, shard, workspace)
            spec.downward(flow, shard, messages, weight, sums)

    both()  # compiles
    n_units = sum(shard.n_units for shard in shards)
    seconds = [cpu_seconds(upward, REPEAT), cpu_seconds(both, REPEAT)]
    seconds[1] -= seconds[0]
    z = np.full((max_units, n_components), 0.5)
    logarithms(z, np.empty_like(z))
    logs = cpu_seconds(lambda: logarithms(z, np.empty_like(z)), REPEAT) * n_units / max_units
    size = max_units * spec.unit_bytes(n_components) / 2**20
    print(f"{n_states} states, {n_components} components, {n_units} units in shards of {size:.1f} MB:")
    costs = [cost(shard, n_states) for shard in shards]
    shares = []
    for x, name in enumerate(("upward", "downward")):
        flops = n_components * sum(one[x][0] for one in costs)
        moved = 8 * n_components * sum(one[x][1] for one in costs)
        least = max(flops / peaks[0], moved / peaks[1])
        shares.append(least / seconds[x])
        print(
            f"  {name:8} {1e9 * seconds[x] / n_units:6.0f} ns per unit: {flops / seconds[x] / 1e9:5.2f} GFLOP/s "
            f"({flops / seconds[x] / peaks[0]:.0%} of the peak), {moved / seconds[x] / 1e9:5.2f} GB/s "
            f"({moved / seconds[x] / peaks[1]:.0%}); {flops / moved:.2f} FLOP per byte"
        )
    print(
        f"  of upward, logarithms and inverses alone: {1e9 * logs / n_units:.0f} ns per unit, {logs / seconds[0]:.0%}"
    )
    judge("share of what arithmetic and traffic allow, the smaller of both passes", min(shares), 0.1)


def main():
    peaks = machine()
    forest = make_random_trees(N_NODES // 25, 8, 3, 49, random_state=0)
    for n_states, n_components in ((4, 8), (8, 24)):
        spec = tm.SwitchingTree.of_labels(forest.n_slots, forest.n_labels, n_states)
        for size in (2**19, 2**26):  # half a megabyte fits into a core's own cache; the default shard into none
            passes(forest, n_states, n_components, size // spec.unit_bytes(n_components), peaks)
    finish()


if __name__ == "__main__":
    main()
