"""Ordered edit distance of pairs of 30 nodes: ours against apted, zss and edist, in one run and one thread.

Prints CPU time per pair and the ratios, checks that all values agree, and fails below 100 times as fast as apted or
zss, or below the speed of edist.  Trees are handed to each package in the form it takes, outside the clock; ours is
timed over the whole forest, and shown pair by pair, with conversion from nested lists, and unordered.
"""

import argparse
import os
import sys
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from apted import APTED
from edist import ted
from measure import peer

from arbora import Forest, edit_distance, edit_distances

N_NODES = 30
WANTED_APTED, WANTED_EDIST = 100.0, 1.0


class Node:
    """A tree as apted takes it, and zss with a little help."""

    def __init__(self, nested):
        self.name, self.children = nested["label"], [Node(child) for child in nested.get("children", [])]


def adjacency(nested):
    """Labels and children by pre-order number, as edist takes them."""
    labels, children = [], []

    def visit(node):
        u = len(labels)
        labels.append(node["label"])
        children.append([])
        for child in node.get("children", []):
            children[u].append(visit(child))
        return u

    visit(nested)
    return labels, children


def zss_distance(zss, a, b):
    """Unit costs, as everybody's."""
    return zss.simple_distance(
        a, b, lambda node: node.children, lambda node: node.name, lambda x, y: 0 if x == y else 1
    )


def make_trees(n_trees, rng):
    """Trees of 30 nodes and 4 labels: half attach nodes to any node before, half to one of the last four."""
    parent = []
    for t in range(n_trees):
        low = np.zeros(N_NODES, int) if t % 2 else np.maximum(np.arange(N_NODES) - 4, 0)
        base = len(parent)
        parent += [-1] + [base + int(rng.integers(low[u], u)) for u in range(1, N_NODES)]
    return Forest.from_parents(parent, rng.integers(0, 4, len(parent)), vocabulary=list("abcd"))


def cpu(function, *args):
    start = time.process_time()
    value = function(*args)
    return value, time.process_time() - start


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer pairs, to see it works")
    quick = parser.parse_args().quick
    forest = make_trees(30 if quick else 80, np.random.default_rng(0))
    n = len(forest)
    pairs = [(i, j) for i in range(n) for j in range(i + 1, n)]
    few = pairs[:: max(1, len(pairs) // (20 if quick else 100))]
    for ordered in (True, False):  # compiling, once, is not what is measured
        edit_distances(forest[:3], ordered=ordered)
        edit_distance(forest[0], forest[1], ordered=ordered)

    runs = [cpu(edit_distances, forest) for _ in range(5)]
    found, ours = runs[0][0], float(np.median([seconds for _, seconds in runs])) / len(pairs)
    nested, alone = list(forest), [forest[[t]] for t in range(n)]
    single = float(np.median([cpu(edit_distance, alone[i], alone[j])[1] for i, j in pairs]))
    converted = cpu(lambda: [edit_distance(nested[i], nested[j]) for i, j in few])[1] / len(few)
    unordered = cpu(lambda: edit_distances(forest[:20], ordered=False))[1] / 190

    lists = [adjacency(tree) for tree in forest]
    theirs, seconds = cpu(lambda: [ted.standard_ted(*lists[i], *lists[j]) for i, j in pairs])
    edist_pair = seconds / len(pairs)
    agree = all(found[pair] == value for pair, value in zip(pairs, theirs, strict=True))

    nodes = [Node(tree) for tree in forest]
    slow, seconds = cpu(lambda: [APTED(nodes[i], nodes[j]).compute_edit_distance() for i, j in few])
    apted_pair = seconds / len(few)
    agree &= all(found[pair] == value for pair, value in zip(few, slow, strict=True))

    zss, zss_pair = peer("zss"), np.inf
    if zss is not None:
        slow, seconds = cpu(lambda: [zss_distance(zss, nodes[i], nodes[j]) for i, j in few])
        zss_pair = seconds / len(few)
        agree &= all(found[pair] == value for pair, value in zip(few, slow, strict=True))

    print(f"{len(pairs)} pairs of {N_NODES} nodes (apted, zss: {len(few)}); CPU time per pair")
    print(f"arbora, all pairs of a forest      {ours * 1e6:10.1f} us")
    print(f"arbora, pair by pair               {single * 1e6:10.1f} us")
    print(f"arbora, converting nested lists    {converted * 1e6:10.1f} us")
    print(f"arbora, unordered and exact        {unordered * 1e6:10.1f} us")
    print(f"edist                              {edist_pair * 1e6:10.1f} us, {edist_pair / ours:8.2f} times ours")
    print(f"apted                              {apted_pair * 1e6:10.1f} us, {apted_pair / ours:8.0f} times ours")
    if zss is not None:
        print(f"zss                                {zss_pair * 1e6:10.1f} us, {zss_pair / ours:8.0f} times ours")
    print(f"wanted: edist {WANTED_EDIST}, apted and zss {WANTED_APTED:.0f}; values {'agree' if agree else 'DIFFER'}")
    fast = min(apted_pair, zss_pair) >= WANTED_APTED * ours
    return 0 if agree and fast and edist_pair >= WANTED_EDIST * ours else 1


if __name__ == "__main__":
    sys.exit(main())
