"""The passes of the bottom-up hidden tree against the same loops in C++, compiled in the run: ratios of CPU times.

    ARBORA_DATA=DATA python benchmarks/bench_passes.py
INEX 2005; skipped where there is no compiler or no data.  The number of states is a compile-time constant in C++, as in
our kernels for vectors, and arrays lie in blocks of four components.  Log-likelihoods and counts must be equal to
1e-12, relatively, before anything is timed.  Vectors, plain loops (ARBORA_NO_VECTORS=1) and C++ are timed by turns.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import ctypes
import shutil
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

import llvmlite.binding
import numpy as np
from measure import cpu_seconds, finish, judge

from arbora.datasets import load_inex2005
from arbora.errors import DataNotFoundError
from arbora.forest.sharing import share
from arbora.models.hidden_tree import lanes
from arbora.models.hidden_tree.lanes import Workspace
from arbora.models.hidden_tree.switching_tree import SwitchingTree

SOURCE = Path(__file__).parent / "cpp" / "passes.cpp"
FLAGS = ["-O3", "-march=native", "-ffp-contract=fast", "-fno-math-errno", "-std=c++17", "-shared", "-fPIC"]
SIZES = [(n_states, n_components) for n_components in (11, 22) for n_states in (2, 4, 8)]
WIDTH = 4  # components of a block, as in passes.cpp
ROUNDS, CALLS = 12, 3
BOUND = 1.1


def compiled(folder):
    """The library, or None where there is no compiler."""
    compiler = next((name for name in ("g++", "clang++") if shutil.which(name)), None)
    if compiler is None:
        print("skipped: neither g++ nor clang++ found")
        return None
    target = str(Path(folder) / "passes.so")
    done = subprocess.run([compiler, *FLAGS, str(SOURCE), "-o", target], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{compiler} could not compile {SOURCE}:\n{done.stderr[-2000:]}")
    version = subprocess.run([compiler, "--version"], capture_output=True, text=True).stdout.splitlines()[0]
    print(f"{version}, {' '.join(FLAGS[:4])}; {llvmlite.binding.get_host_cpu_name()}")
    return ctypes.CDLL(target)


def in_blocks(x):
    """[..., component] as [block, ..., 4], padded with zeros."""
    missing = -x.shape[-1] % WIDTH
    x = np.concatenate([x, np.zeros((*x.shape[:-1], missing))], axis=-1)
    x = x.reshape(*x.shape[:-1], -1, WIDTH)
    return np.ascontiguousarray(np.moveaxis(x, -2, 0))


def from_blocks(x, n_components):
    """Undo `in_blocks`."""
    x = np.moveaxis(x, 0, -2)
    return x.reshape(*x.shape[:-2], -1)[..., :n_components]


def pointers(*arrays):
    """A C structure of the addresses of arrays."""
    return (ctypes.c_void_p * len(arrays))(*(x.ctypes.data for x in arrays))


class Cpp:
    """Both passes in C++ over one shard."""

    def __init__(self, library, spec, params, shard):
        n_states, n_slots = spec.n_states, spec.n_slots
        flow = params.transition * params.switch[:, None, None, :]
        tail = np.zeros((n_slots + 1, *flow.shape[2:]))
        tail[:-1] = np.cumsum(flow[::-1, n_states], axis=0)[::-1]
        inputs = [in_blocks(x) for x in (params.leaf, params.emission, flow, tail)]
        self.n_components = flow.shape[-1]
        blocks = len(inputs[0])
        rows = (shard.n_units, n_states, WIDTH)
        self.messages = [np.zeros((blocks, *shape)) for shape in (rows, rows, rows[::2], rows[::2])]
        pair = np.zeros((blocks, n_slots, n_states, n_states, WIDTH))
        self.sums = [np.zeros_like(x) for x in (inputs[0], inputs[1])] + [pair]
        self.sums += [np.zeros_like(inputs[3]) for _ in range(2)]
        units = shard.units
        self.units = (
            (ctypes.c_int64 * 1)(shard.n_units),
            pointers(units.label, units.slot, units.child_start, units.child),
        )
        self.packed = bytes(self.units[0]) + bytes(self.units[1])
        self.sizes = (ctypes.c_int64 * 4)(blocks, n_slots, spec.n_labels, shard.n_distinct_trees)
        self.arrays, self.kept = pointers(*inputs, *self.messages, *self.sums), inputs
        self.shard = shard
        self.kernels = [getattr(library, f"{name}_{n_states}") for name in ("upward", "downward")]

    def upward(self):
        self.kernels[0](self.packed, self.sizes, self.arrays)

    def downward(self, weight):
        root = ctypes.c_void_p(self.shard.tree_root.ctypes.data)
        self.kernels[1](self.packed, self.sizes, self.arrays, root, ctypes.c_void_p(weight.ctypes.data))


class Ours:
    """Both passes of Arbora over the same shard."""

    def __init__(self, spec, params, shard):
        self.spec, self.params, self.shard = spec, params, shard
        self.flow, self.workspace = spec.prepare(params), Workspace()
        self.sums = spec.empty_sums(params.switch.shape[1])

    def upward(self):
        self.messages, self.log_prob = self.spec.upward(self.flow, self.params, self.shard, self.workspace)

    def downward(self, weight):
        self.spec.downward(self.flow, self.shard, self.messages, weight, self.sums)


class Plain(Ours):
    """The same in plain loops."""

    def upward(self):
        lanes.VECTORS = False
        super().upward()
        lanes.VECTORS = True


def farthest(found, wanted):
    """Largest difference, relative to the larger of both."""
    scale = np.maximum(np.abs(found), np.abs(wanted))
    return float((np.abs(found - wanted) / np.where(scale > 0, scale, 1.0)).max())


def compare(ours, cpp, weight, blocked):
    """Run both once, and leave with an error if their results differ."""
    for sums in cpp.sums:
        sums.fill(0.0)
    for one, own in ((ours, weight), (cpp, blocked)):
        one.upward()
        if one is cpp:  # before the downward pass uses the array again
            log_prob = from_blocks(cpp.messages[3], cpp.n_components)[cpp.shard.tree_root]
        one.downward(own)
    pairs = [("log P(tree)", ours.log_prob, log_prob)]
    n = cpp.n_components
    counts = ours.spec.counts(ours.flow, ours.sums, ours.spec.shape_counts(ours.params, ours.shard, weight), n)
    leaf, emission, pair, gap, tail = (from_blocks(x, n) for x in cpp.sums)
    flow = ours.params.transition * ours.params.switch[:, None, None, :]
    absent = gap[:-1] + np.cumsum(tail[:-1], axis=0)
    transition = flow * np.concatenate([pair, absent[:, None]], axis=1)
    pairs += [("leaf counts", counts.leaf, leaf), ("emission counts", counts.emission, emission)]
    pairs += [("transition counts", counts.transition, transition)]
    for name, found, wanted in pairs:
        apart = farthest(found, wanted)
        if not apart <= 1e-12:
            sys.exit(f"{name}: relative difference {apart:.1e} from C++, at most 1e-12 wanted")


def by_turns(actions):
    """Least CPU time of each action, all taken by turns."""
    best = [float("inf")] * len(actions)
    for _ in range(ROUNDS):
        for x, action in enumerate(actions):
            best[x] = min(best[x], cpu_seconds(action, CALLS))
    return best


def main():
    try:
        forest = load_inex2005("train")
    except DataNotFoundError as error:
        print(f"skipped: {error}")
        return
    (shard,) = share(forest.arrays, forest.n_slots)
    with tempfile.TemporaryDirectory() as folder:
        library = compiled(folder)
        if library is None:
            return
        print(f"INEX 2005 training set: {shard.n_units} units, {len(shard.units.child)} edges, one shard")
        worst = 0.0
        for n_states, n_components in SIZES:
            spec = SwitchingTree.of_labels(forest.n_slots, forest.n_labels, n_states)
            rng = np.random.default_rng(0)
            params = spec.draw(rng, n_components)
            ours, plain, cpp = (make(spec, params, shard) for make in (Ours, Plain, partial(Cpp, library)))
            weight = rng.dirichlet(np.ones(n_components), shard.n_distinct_trees)
            blocked = in_blocks(weight)
            compare(ours, cpp, weight, blocked)
            compare(plain, cpp, weight, blocked)

            each = ((ours, weight), (cpp, blocked), (plain, weight))
            up = by_turns([one.upward for one, _ in each])
            # The downward pass overwrites two arrays, so each one follows an upward pass, whose time is taken off.
            both = by_turns([lambda o=o, w=w: (o.upward(), o.downward(w)) for o, w in each])
            down = [b - a for a, b in zip(up, both, strict=True)]
            print(
                f"{n_states} states, {n_components} components: upward {1e3 * up[0]:.2f} ms, C++ {1e3 * up[1]:.2f}, "
                f"ratio {up[0] / up[1]:.2f}; downward {1e3 * down[0]:.2f} ms, C++ {1e3 * down[1]:.2f}, "
                f"ratio {down[0] / down[1]:.2f}; both {both[0] / both[1]:.2f}, in plain loops {both[2] / both[1]:.2f}"
            )
            worst = max(worst, both[0] / both[1])
        judge("CPU time of both passes, ours / C++, the largest", worst, BOUND, at_least=False)
    finish()


if __name__ == "__main__":
    main()
