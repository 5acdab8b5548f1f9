"""Silhouette of INEX 2005 test trees: ours against a dense Bray-Curtis matrix and scikit-learn, in one run.

Prints CPU seconds, their ratio, the difference of the values and our peak memory; fails below 200 times as fast, or
when the values differ by more than 1e-9.  The dense side takes minutes; ``--quick`` uses a subsample and asks for less.
"""

import argparse
import sys
import time
import tracemalloc

import numpy as np
from scipy.spatial.distance import pdist, squareform
from sklearn.metrics import silhouette_score as sklearn_silhouette_score

from arbora import Forest
from arbora.datasets import load_inex2005
from arbora.evaluate import metrics

QUICK_TREES = 1000


def dense_peer(forest: Forest, drop_unused: bool) -> float:
    """Dense counts, all pairwise Bray-Curtis distances, d_R = 2 bc / (1 + bc), scikit-learn's silhouette."""
    counts = metrics.slot_label_counts(forest).toarray()
    if drop_unused:
        counts = np.ascontiguousarray(counts[:, counts.any(axis=0)])
    bray_curtis = pdist(counts, "braycurtis")
    distance = squareform(2.0 * bray_curtis / (1.0 + bray_curtis))
    return float(sklearn_silhouette_score(distance, forest.target, metric="precomputed"))


def cpu(function, *args):
    start = time.process_time()
    value = function(*args)
    return value, time.process_time() - start


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_TREES} trees and a ratio of 50, to see it works")
    parser.add_argument("--drop-unused", action="store_true", help="help the peer: drop the columns nobody uses")
    options = parser.parse_args()
    forest = load_inex2005("test")
    wanted = 200.0
    if options.quick:
        forest = forest[np.sort(np.random.default_rng(0).choice(len(forest), QUICK_TREES, replace=False))]
        wanted = 50.0
        print(f"quick: a subsample of {QUICK_TREES} trees; the ratio grows with the number of trees")
    print(forest)
    metrics.silhouette_score(forest[:50], forest.target[:50])  # compiling, once, is not what is measured

    runs = [cpu(metrics.silhouette_score, forest, forest.target) for _ in range(5)]
    ours, ours_seconds = runs[0][0], float(np.median([seconds for _, seconds in runs]))
    tracemalloc.start()
    metrics.silhouette_score(forest, forest.target)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    print(f"arbora  silhouette {ours:.12f}  cpu {ours_seconds:9.4f} s  peak {peak / 1e6:.1f} MB")

    theirs, their_seconds = cpu(dense_peer, forest, options.drop_unused)
    n_square = len(forest) ** 2 * 8 / 1e6
    print(f"dense   silhouette {theirs:.12f}  cpu {their_seconds:9.4f} s  its square matrix alone {n_square:.1f} MB")
    ratio, difference = their_seconds / ours_seconds, abs(ours - theirs)
    print(f"ratio {ratio:.0f} (wanted {wanted:.0f}), difference {difference:.1e} (wanted 1e-9)")
    return 0 if ratio >= wanted and difference <= 1e-9 else 1


if __name__ == "__main__":
    sys.exit(main())
