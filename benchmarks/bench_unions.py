"""Mixtures of tree-unions: time of a search, how much the bounds save, and agreement with the classes.

    python benchmarks/bench_unions.py [--quick] [--large]
CPU time; the script fails when a figure misses its bound.  --large clusters 2,000 trees of 30 nodes, for minutes, and
holds the search that compares some of 200 trees with each other to the one that compares all.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")  # before numpy: one thread for everybody

import argparse
import time

from measure import finish, judge
from sklearn.metrics import adjusted_rand_score

from arbora import TreeUnionMixture
from arbora.datasets import make_prototype_trees


def cluster(n_trees, n_classes, n_nodes, noise, search, most_seconds):
    """One search on noisy copies of prototypes."""
    forest = make_prototype_trees(n_classes, n_trees // n_classes, n_nodes, noise, separation=6, random_state=0)
    start = time.process_time()
    model = TreeUnionMixture(search=search).fit(forest)
    seconds = time.process_time() - start
    n = len(model.arrays_["sample_weight"])
    print(f"{n_trees} trees of {forest.sizes[0]} nodes, {n} distinct, {n_classes} classes, search={search!r}")
    print(f"  {model.n_components_} classes, {model.n_matched_} matchings, {model.n_inexact_} not exact")
    judge("CPU seconds", seconds, most_seconds, at_least=False)
    agreement = adjusted_rand_score(forest.target, model.labels_)
    if search == "full":
        judge("adjusted Rand index", agreement, 0.8)
    else:  # the paper's search, there to compare, splits classes
        print(f"  adjusted Rand index: {agreement:.2f}")
    judge("matchings for one of all pairs", model.n_matched_ / (n * (n - 1) / 2), 2.5, at_least=False)


def compare(noise, seed):
    """The same trees with every tree compared with every other, and a quarter of them at a time."""
    forest = make_prototype_trees(10, 20, 25, noise, separation=6, random_state=seed)
    print(f"200 trees of {forest.sizes[0]} nodes: all compared with each other, and 50 at a time")
    whole, parts = (TreeUnionMixture(block_size=size).fit(forest) for size in (200, 50))
    agreement = [adjusted_rand_score(forest.target, model.labels_) for model in (whole, parts)]
    print(f"  {whole.n_matched_} and {parts.n_matched_} matchings, ARI {agreement[0]:.2f} and {agreement[1]:.2f}")
    judge("description length for one", parts.description_length_ / whole.description_length_, 1.03, at_least=False)
    judge("adjusted Rand index, difference", agreement[1] - agreement[0], -0.05)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--large", action="store_true")
    options = parser.parse_args()
    TreeUnionMixture().fit(make_prototype_trees(2, 3, 5, 0.2, random_state=0))  # compile
    cluster(60 if options.quick else 200, 4, 12, 0.25, "greedy", 30)
    cluster(60 if options.quick else 200, 4, 12, 0.25, "full", 60)
    if options.large:
        compare(0.2, 0)
        cluster(2000, 10, 25, 0.2, "full", 600)
    finish()


if __name__ == "__main__":
    main()
