"""What a numeric column costs per unit: an iteration of EM with labels and a number against one with labels alone.

    ARBORA_DATA=DATA python benchmarks/bench_content.py
Trees of INEX 2005 if they are there, else trees drawn at random, with a number drawn for every node; 8 states, 22
components.  Numbers make all subtrees different, so both models get every node on its own: the same units.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np
from measure import cpu_seconds, finish, judge

from arbora.datasets import load_inex2005, make_random_trees
from arbora.errors import DataNotFoundError
from arbora.models.hidden_tree import tree_model as tm
from arbora.models.hidden_tree.emissions.choice import emission_for
from arbora.models.hidden_tree.passes import Batch, MixtureParams, shards_of
from arbora.models.hidden_tree.switching_tree import Priors, SwitchingTree

N_STATES, N_COMPONENTS = 8, 22
N_TREES = 500
ROUNDS = 7
KINDS = {
    "a number": ({"x": "gaussian"}, 1.5),
    "a number, a fifth missing": ({"y": "gaussian"}, 1.5),
    "a count": ({"n": "poisson"}, 1.5),
    "four numbers": ({"x": "gaussian", "y": "gaussian", "z": "gaussian", "w": "gaussian"}, 2.0),
}


def iteration(forest, content):
    """A function that runs one E-step and M-step."""
    model = SwitchingTree(forest.n_slots, emission_for(content, forest), N_STATES)
    batch = Batch(model, shards_of(forest, model, 2**30, shared=False), None, 1)
    start = model.start(np.random.default_rng(0), N_COMPONENTS, forest, None)
    params, priors = MixtureParams(np.full(N_COMPONENTS, 1 / N_COMPONENTS), start), Priors(*[1.1] * 5)

    def run():
        counts, _ = batch.expected_counts(params)
        return model.m_step(counts.tree, params.tree, priors)

    tm.check_names(model.tables)
    run()  # compiles
    return run


def main():
    try:
        forest = load_inex2005("train")[:N_TREES]
    except DataNotFoundError:
        forest = make_random_trees(N_TREES, 8, 3, 49, random_state=0)
    rng = np.random.default_rng(1)
    n = forest.n_nodes
    columns = {name: rng.normal(size=n) for name in "xyzw"} | {"n": rng.poisson(3.0, n)}
    columns["y"][rng.random(n) < 0.2] = np.nan
    forest = forest.with_content(columns)
    plain = iteration(forest, None)
    runs = {what: iteration(forest, content) for what, (content, _) in KINDS.items()}
    ratios = {what: [] for what in runs}
    for _ in range(ROUNDS):  # in turn, because the machine has other work
        base = cpu_seconds(plain, 3)
        for what, run in runs.items():
            ratios[what].append(cpu_seconds(run, 3) / base)
    for what, (_, bound) in KINDS.items():
        text = f"CPU time of an iteration, label and {what} over label; {n} units, {N_STATES} states, {N_COMPONENTS}"
        judge(f"{text} components", float(np.median(ratios[what])), bound, at_least=False)
    finish()


if __name__ == "__main__":
    main()
