"""What learnt numbers of hidden states buy on real corpora: held-out log-likelihood, and groups.

    python benchmarks/learnt_states.py FOLDER CORPUS ...
FOLDER is that of `python -m benchmarks.corpora make`.  Of each corpus 300 trees, 200 of them to learn from.  One tree
model: log P per held-out tree by EM with 4, 8 and 16 states, and with `n_states="infer"`.  Mixtures with as many
components as classes: adjusted mutual information of all trees with these, with 4 states and with "infer".
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import sys
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.metrics import adjusted_mutual_info_score

import arbora as ab

N_TREES, N_TRAIN, SEEDS, MOST_STATES = 300, 200, (0, 1), 16
MANY_LABELS = 100  # above this the page advises an emission prior of .1
STATES = (4, 8, 16, "infer")


def settings_of(n_states, forest):
    """Settings of a model with so many states."""
    if n_states != "infer":
        return {}
    return {"max_states": MOST_STATES} | ({"emission_prior": 0.1} if forest.n_labels > MANY_LABELS else {})


def one_model(forest, direction, n_states, seed):
    """Log P per held-out tree, states in use, CPU seconds."""
    order = np.random.default_rng(seed).permutation(forest.n_trees)
    train, test = forest.take(np.sort(order[:N_TRAIN])), forest.take(np.sort(order[N_TRAIN:]))
    own = settings_of(n_states, forest) | ({"n_sweeps": 200} if n_states == "infer" else {})
    begin = time.process_time()
    model = ab.HiddenTree(n_states, direction=direction, structure=None, random_state=seed, **own).fit(train)
    seconds = time.process_time() - begin
    used = model.n_states_ if n_states == "infer" else n_states
    return float(model.score_samples(test).mean()), used, seconds


def mixture(forest, direction, n_states, seed):
    """Adjusted mutual information with the classes, mean number of states, CPU seconds."""
    own = settings_of(n_states, forest)
    begin = time.process_time()
    n = len(set(forest.target))
    model = ab.HiddenTreeMixture(n, n_states, direction=direction, structure=None, random_state=seed, **own)
    found = model.fit_predict(forest)
    seconds = time.process_time() - begin
    used = float(np.mean(model.n_states_)) if n_states == "infer" else n_states
    return adjusted_mutual_info_score(forest.target, found), used, seconds


def main():
    warnings.simplefilter("ignore")
    folder, *names = sys.argv[1:]
    for name in names:
        whole = ab.load_forest(Path(folder) / f"{name}.forest")
        forest = whole.take(np.sort(np.random.default_rng(0).permutation(whole.n_trees)[:N_TREES]))
        print(
            f"{name}: {forest.n_nodes} nodes, {forest.n_labels} labels, {len(set(forest.target))} classes", flush=True
        )
        for what, function, states in (("log P", one_model, STATES), ("AMI", mixture, STATES[::3])):
            for direction in ("up", "down"):
                for n_states in states:
                    runs = np.array([function(forest, direction, n_states, seed) for seed in SEEDS])
                    value, used, seconds = runs.mean(axis=0)
                    each = ", ".join(f"{x:.3f}" for x in runs[:, 0])
                    print(
                        f"  {what}, {direction}, {n_states}: {value:.3f} ({each}); {used:.1f} states; {seconds:.1f} s"
                    )
                    sys.stdout.flush()


if __name__ == "__main__":
    main()
