"""The passes of the top-down hidden tree against those of the bottom-up one: ratios of CPU times in one run.

    ARBORA_DATA=DATA python benchmarks/bench_top_down.py
INEX 2005 if it is there, else trees drawn at random; 8 states, 22 components, and one component.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np
from measure import cpu_seconds, finish, judge

from arbora.datasets import load_inex2005, make_random_trees
from arbora.errors import DataNotFoundError
from arbora.forest.sharing import share
from arbora.models.hidden_tree.lanes import Workspace
from arbora.models.hidden_tree.switching_tree import SwitchingTree
from arbora.models.hidden_tree.top_down_tree import of_labels

ROUNDS = 5


def both_passes(spec, shard, n_components):
    """A function that runs both passes of a model once."""
    params = spec.draw(np.random.default_rng(0), n_components)
    flow, workspace, sums = spec.prepare(params), Workspace(), spec.empty_sums(n_components)
    weight = np.full((shard.n_distinct_trees, n_components), 1 / n_components)

    def run():
        messages, _ = spec.upward(flow, params, shard, workspace)
        spec.downward(flow, shard, messages, weight, sums)

    run()  # compiles
    return run


def compare(forest, n_states, n_components):
    (shard,) = share(forest.arrays, forest.n_slots)
    sizes = (forest.n_slots, forest.n_labels, n_states)
    up = both_passes(SwitchingTree.of_labels(*sizes), shard, n_components)
    down = {
        structure: both_passes(of_labels(*sizes, structure=structure), shard, n_components)
        for structure in (None, "state")
    }
    ratios = {structure: [] for structure in down}
    for _ in range(ROUNDS):  # in turn, because the machine has other work
        base = cpu_seconds(up, 3)
        for structure, run in down.items():
            ratios[structure].append(cpu_seconds(run, 3) / base)
    for structure, found in ratios.items():
        what = f"{n_states} states, {n_components} components, {shard.n_units} units, structure {structure}"
        ratio, bound = float(np.median(found)), 1.1 if structure is None else 1.5
        judge(f"CPU time of both passes, top-down over bottom-up; {what}", ratio, bound, at_least=False)


def main():
    try:
        forest = load_inex2005("train")
    except DataNotFoundError:
        forest = make_random_trees(5000, 8, 3, 49, random_state=0)
    compare(forest, 8, 22)
    compare(forest, 8, 1)
    finish()


if __name__ == "__main__":
    main()
