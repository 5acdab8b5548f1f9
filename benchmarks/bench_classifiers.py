"""Test error of the default classifier beside linear support vector machines on counts of subtrees up to height 3.

Each FILE is a forest with classes (`Forest.save`); half of its trees, by class, train and half test, once per
seed.  Without files, INEX 2005 and 2006 with their own halves (``--quick``: INEX 2005, every fourth tree).  ``--codes``
adds the codes of the mixture with their network, and patterns and codes together.  Fails if the default has a larger
error than the machine on plain counts of whole subtrees, or than 3.2 % and 55.5 % on the whole of INEX.
"""

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.svm import LinearSVC

import arbora as ab
from arbora import datasets
from arbora.forest.forest import Forest
from arbora.models.classifiers.encoders import make_encoder

HEIGHT = 3
BOUND = {"inex2005": 3.2, "inex2006": 55.5}  # test error in per cent


def subtrees(forest: Forest) -> Any:
    """Counts of whole subtrees up to a height: all below their root belongs to them."""
    order = np.argsort(forest.slot, kind="stable").tolist()
    below: list[list[int]] = [[] for _ in range(forest.n_nodes)]
    for u in order:
        if forest.parent[u] >= 0:
            below[forest.parent[u]].append(u)
    tree = np.repeat(np.arange(forest.n_trees), forest.sizes).tolist()
    names: dict[Any, int] = {}
    height, number, found = [0] * forest.n_nodes, [-1] * forest.n_nodes, []
    for u, label in enumerate(forest.label.tolist()):
        height[u] = 1 + max((height[v] for v in below[u]), default=-1)
        if height[u] <= HEIGHT:
            number[u] = names.setdefault((label, *(number[v] for v in below[u])), len(names))
            found.append((tree[u], number[u]))
    row, column = np.array(found, np.int32).T
    return sparse.coo_array((np.ones(len(row)), (row, column)), shape=(forest.n_trees, len(names))).tocsr()


def cut_subtrees(forest: Forest) -> Any:
    """Counts of what is seen below every node, cut at each height up to the highest."""
    families = ["labels", "rules", "rules2", "rules3"]
    return ab.TreePatterns(families, values="counts", min_trees=1).fit_transform(forest)


def machine(counts: Callable[[Forest], Any], values: str, cost: float) -> Callable[[Forest, Forest], float]:
    """A linear support vector machine on plain counts, or on logs or tf-idf weighted logs of them, of length one."""

    def error(train: Forest, test: Forest) -> float:
        rows, n = sparse.csr_array(counts(Forest.concat([train, test]))), train.n_trees
        with_it = np.bincount(rows[:n].indices, minlength=rows.shape[1])
        rows.data *= (with_it > 0)[rows.indices]  # what only test trees have is not known
        if values != "counts":
            rows.data = np.log1p(rows.data)
            if values == "tf-idf":
                rows.data *= (np.log((1 + n) / (1 + with_it)) + 1)[rows.indices]
            rows = of_length_one(rows)
        model = LinearSVC(C=cost, random_state=0).fit(rows[:n], train.target)
        return float(np.mean(model.predict(rows[n:]) != test.target))

    return error


def of_length_one(rows: Any) -> Any:
    """Every row divided by its length."""
    length = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
    rows.data /= np.repeat(np.where(length > 0, length, 1.0), np.diff(rows.indptr))
    return rows


def classifier(**settings: Any) -> Callable[[Forest, Forest], float]:
    """A TreeClassifier."""

    def error(train: Forest, test: Forest) -> float:
        return 1.0 - ab.TreeClassifier(novelty=None, random_state=0, **settings).fit(train).score(test)

    return error


def both(train: Forest, test: Forest) -> float:
    """Patterns of the default beside codes of the mixture, every row of either of length one."""
    rows = []
    for given in (None, "mixture"):
        encoder = make_encoder(given, len(np.unique(train.target)), 0).fit(train)
        rows.append([of_length_one(sparse.csr_array(encoder.transform(forest))) for forest in (train, test)])
    learnt, new = (sparse.csr_array(sparse.hstack(parts)) for parts in zip(*rows, strict=True))
    model = LogisticRegression(C=30.0, max_iter=300, tol=1e-3).fit(learnt, train.target)
    return float(np.mean(model.predict(new) != test.target))


WAYS = {
    f"machine, {name} subtrees, {values}, C={cost:g}": machine(counts, values, cost)
    for name, counts in (("whole", subtrees), ("cut", cut_subtrees))
    for values, cost in (("counts", 1.0), ("log", 10.0), ("tf-idf", 1.0), ("tf-idf", 10.0))
} | {
    "TreeClassifier()": classifier(),
}
SLOW = {
    'TreeClassifier("mixture")': classifier(encoder="mixture"),
    "patterns and codes, logistic": both,
}


def halves(path: Path, n_seeds: int) -> Iterator[tuple[Forest, Forest]]:
    """Training and test trees, once per seed."""
    forest = ab.load_forest(path)
    for seed in range(n_seeds):
        split = StratifiedShuffleSplit(1, test_size=0.5, random_state=seed)
        train, test = next(split.split(forest.target, forest.target))
        yield forest.take(train), forest.take(test)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="*", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--codes", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # of machines that stop early
    corpora = {path.stem: list(halves(path, options.seeds)) for path in options.file}
    if not corpora:
        step = 4 if options.quick else 1
        for name, load in (("inex2005", datasets.load_inex2005), ("inex2006", datasets.load_inex2006)):
            corpora[name] = [(load("train")[::step], load("test")[::step])]
            if options.quick:
                break
    failed = False
    for name, pairs in corpora.items():
        error = {}
        for way, function in (WAYS | SLOW if options.codes else WAYS).items():
            start = time.process_time()
            found = [100.0 * function(train, test) for train, test in pairs]
            error[way] = float(np.mean(found))
            seconds = (time.process_time() - start) / len(pairs)
            print(f"{name:12s} {way:40s} {error[way]:6.2f} %  {seconds:7.1f} s", flush=True)
        failed |= error["TreeClassifier()"] > error["machine, whole subtrees, counts, C=1"]
        failed |= not options.quick and error["TreeClassifier()"] > BOUND.get(name, 100.0)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
