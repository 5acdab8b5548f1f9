"""EM on hidden trees: identical subtrees computed once against every node on its own.

Ratios of times measured in one run on one machine; the script fails when one misses its bound.
    python benchmarks/bench_em.py
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")  # before numpy: one thread for everybody

import resource

import numpy as np
from measure import cpu_seconds, finish, judge

from arbora.datasets import load_inex2005
from arbora.errors import DataNotFoundError
from arbora.forest.sharing import share
from arbora.models.hidden_tree import switching_tree as tm
from arbora.models.hidden_tree.passes import Batch, MixtureParams


def one_iteration(batch, params, priors):
    counts, _ = batch.expected_counts(params)
    return MixtureParams(counts.weight / counts.weight.sum(), batch.model.m_step(counts.tree, params.tree, priors))


def iteration_seconds(forest, n_states, n_components, shared=True, max_units=None, repeat=3):
    """CPU time of one E and M step."""
    spec = tm.SwitchingTree.of_labels(forest.n_slots, forest.n_labels, n_states)
    batch = Batch(spec, share(forest.arrays, forest.n_slots, max_units, shared), None, 1)
    start = spec.draw(np.random.default_rng(0), n_components)
    params = MixtureParams(np.full(n_components, 1 / n_components), start)
    priors = tm.Priors(*[1.1] * 5)
    one_iteration(batch, params, priors)
    return cpu_seconds(lambda: one_iteration(batch, params, priors), repeat)


def sharing():
    """Shared against plain on INEX 2005."""
    try:
        forest = load_inex2005("train")
    except DataNotFoundError as error:
        print(f"sharing: skipped, {error}")
        return
    for n_states, n_components in ((2, 6), (4, 11), (8, 22)):
        plain = iteration_seconds(forest, n_states, n_components, shared=False, max_units=20_000)
        shared = iteration_seconds(forest, n_states, n_components)
        print(
            f"sharing: INEX 2005 training set, {n_states} states, {n_components} components: "
            f"plain {1e3 * plain:.0f} ms, shared {1e3 * shared:.0f} ms CPU per iteration"
        )
        if (n_states, n_components) == (8, 22):
            judge("plain / shared", plain / shared, 5)


def main():
    sharing()
    print(f"peak of this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10} MB")
    finish()


if __name__ == "__main__":
    main()
