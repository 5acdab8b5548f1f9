"""Real trees that differ in what their nodes hold and not in their labels: hidden trees with and without content.

    python benchmarks/content_corpora.py [--only made_up|digits|forests] [--seeds 3]

digits and forests are made from data that scikit-learn brings along.

made_up: 240 trees of 25 to 44 nodes; labels say nothing, numbers come from two Gaussians (-1 and 1, deviation 0.6) with
the same distribution in all groups, a tenth missing.  Children are like their parent (0.92), unlike it (0.08), or
either.  Eight random starts, of which the likeliest is kept; the last column is that of the likeliest of all seeds.

digits: 1,797 handwritten digits as trees of parts of grey 3, 7, 11 and 15, connected by their sides, each inside its
parent, below a root for all ink.  The label is the number of children.  Area is a count; centre and second moments are
numbers, the moments missing below three pixels, where they are not defined; or, for comparison, all Gaussian with
moments of dots 0, or all cut into quarters.  Class: the digit.  Fits are the better of two starts from k-means.

forests: decision trees of depth 5 at most on bootstrap samples of iris, wine, breast cancer and digits, 60 each.
Labels say whether a node splits.  Nodes hold impurity, the logarithm of their share of the samples, and the threshold
as a quantile of its feature, missing at leaves.  Class: the data.

The baseline is k-means on rows of a tree: counts of labels by slot as shares, and of every column the mean, the
deviation and five quantiles, all standardised.  Figures are means over seeds of the adjusted Rand index and of
normalised mutual information.
"""

import argparse
import warnings
from typing import Any

import numpy as np
from scipy import ndimage
from sklearn import datasets
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from arbora import Column, Forest, HiddenTreeMixture
from arbora.evaluate.metrics import slot_label_counts

GREYS = (3, 7, 11, 15)
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
TREES_PER_DATA = 60


# ---- digits ---------------------------------------------------------------------------------------------------------


def parts_of(picture: Any) -> list[tuple[int, Any]]:
    """Connected parts, level by level: number of the parent, and pixels; the root comes first."""
    found = [(-1, np.argwhere(picture > 0))]
    inside = np.zeros(picture.shape, int)  # the part that each pixel is in
    for grey in GREYS:
        name, n = ndimage.label(picture >= grey)  # neighbours share a side
        deeper = inside.copy()
        parts = [(name == m) for m in range(1, n + 1)]
        for part in sorted(parts, key=lambda one: -one.sum()):
            deeper[part] = len(found)
            found.append((int(inside[part][0]), np.argwhere(part)))
        inside = deeper
    kept = {0: 0}
    children: dict[int, int] = {}
    pruned = [found[0]]
    for u in range(1, len(found)):  # at most three children, the largest
        above, pixels = found[u]
        if above in kept and children.get(above, 0) < 3:
            children[above] = children.get(above, 0) + 1
            kept[u] = len(pruned)
            pruned.append((kept[above], pixels))
    return pruned


def digits() -> tuple[Forest, dict[str, Any]]:
    """Component trees of all digits, and the contents to compare."""
    bunch = datasets.load_digits()
    parent: list[int] = []
    tree: list[int] = []
    rows: list[list[float]] = []
    for t, picture in enumerate(bunch.images):
        first = len(parent)
        for above, pixels in parts_of(picture):
            parent.append(-1 if above < 0 else first + above)
            tree.append(t)
            centre = pixels.mean(axis=0)
            spread = (pixels - centre).T @ (pixels - centre) / len(pixels)
            defined = [spread[0, 0], spread[1, 1], spread[0, 1]] if len(pixels) >= 3 else [np.nan] * 3
            rows.append([len(pixels), *centre, *defined])
    n_children = np.bincount(np.array(parent)[np.array(parent) >= 0], minlength=len(parent))
    values = np.array(rows)
    names = ("row", "column", "height", "width", "slant")
    content: dict[str, Any] = {name: values[:, x + 1] for x, name in enumerate(names)}
    content["area"] = Column.counts(values[:, 0].astype(int))
    zeros = {f"{name}, 0": np.nan_to_num(values[:, x + 1]) for x, name in enumerate(names)}
    content |= zeros | {"area, number": values[:, 0]}
    whole = dict(zip(("area", *names), np.nan_to_num(values).T, strict=True))
    codes = {
        f"{name}, quarter": Column.codes(np.searchsorted(np.quantile(x, (0.25, 0.5, 0.75)), x).astype(str).tolist())
        for name, x in whole.items()
    }
    content |= codes
    label = [str(n) for n in n_children]
    forest = Forest.from_parents(parent, label, tree=tree, content=content).with_target(bunch.target)
    gaussian = dict.fromkeys(names, "gaussian")
    trap = dict.fromkeys((*zeros, "area, number"), "gaussian")
    return forest, {
        "labels alone": None,
        "quarters, as codes": dict.fromkeys(codes, "categorical"),
        "all Gaussian, moments of dots 0": trap,
        "labels and content": {**gaussian, "area": "poisson"},
    }


# ---- decision trees -------------------------------------------------------------------------------------------------


def forests() -> tuple[Forest, dict[str, Any]]:
    """Decision trees on four data sets, and the contents to compare."""
    rng = np.random.default_rng(0)
    parent: list[int] = []
    tree: list[int] = []
    label: list[str] = []
    rows: list[list[float]] = []
    target: list[str] = []
    for name in ("iris", "wine", "breast_cancer", "digits"):
        X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
        X = X.argsort(axis=0).argsort(axis=0) / len(X)  # quantiles: thresholds without units
        for _ in range(TREES_PER_DATA):
            some = rng.integers(len(y), size=len(y))
            seed = int(rng.integers(2**31))
            found = DecisionTreeClassifier(max_depth=5, max_features="sqrt", random_state=seed).fit(X[some], y[some])
            inner = found.tree_
            above = np.full(inner.node_count, -1)
            for side in (inner.children_left, inner.children_right):
                above[side[side >= 0]] = np.flatnonzero(side >= 0)
            first, splits = len(parent), inner.children_left >= 0
            parent += [-1 if u < 0 else first + int(u) for u in above]
            tree += [len(target)] * inner.node_count
            label += ["split" if split else "leaf" for split in splits]
            share = np.log(inner.n_node_samples / inner.n_node_samples[0])
            threshold = np.where(splits, inner.threshold, np.nan)
            rows += np.column_stack([inner.impurity, share, threshold]).tolist()
            target.append(name)
    values = np.array(rows)
    impure = values[:, 0] > 0
    content = {
        "impure": impure,  # a flag for the spike at 0
        "impurity": np.where(impure, values[:, 0], np.nan),
        "share": values[:, 1],
        "threshold": values[:, 2],
    }
    forest = Forest.from_parents(parent, label, tree=tree, content=content).with_target(np.array(target))
    families = {"impure": "flag", "impurity": "gaussian", "share": "gaussian", "threshold": "gaussian"}
    return forest, {"labels alone": None, "labels and content": families}


# ---- made up --------------------------------------------------------------------------------------------------------


def made_up() -> tuple[Forest, dict[str, Any]]:
    """Groups that differ in how numbers follow each other, and nothing else."""
    rng = np.random.default_rng(0)
    parent: list[int] = []
    tree: list[int] = []
    side: list[int] = []
    group = np.arange(240) % 3
    for t in range(240):
        first, alike = len(parent), (0.92, 0.08, 0.5)[group[t]]
        for u in range(int(rng.integers(25, 45))):
            above = -1 if u == 0 else int(rng.integers(max(0, u - 8), u))
            parent.append(-1 if u == 0 else first + above)
            tree.append(t)
            side.append(int(rng.integers(2)) if u == 0 else side[first + above] ^ int(rng.random() >= alike))
    x = rng.normal(2.0 * np.array(side) - 1.0, 0.6)
    x[rng.random(len(x)) < 0.1] = np.nan
    quarter = np.searchsorted(np.nanquantile(x, (0.25, 0.5, 0.75)), x)
    code = [None if np.isnan(v) else str(q) for v, q in zip(x, quarter, strict=True)]
    label = rng.choice(list("abc"), len(x)).tolist()
    forest = Forest.from_parents(parent, label, tree=tree, content={"x": x, "code": code}).with_target(group)
    contents = {
        "labels alone": None,
        "labels and numbers": {"x": "gaussian"},
        "labels and codes": {"code": "categorical"},
    }
    return forest, contents


def compare_made_up(seeds: int) -> None:
    """The table of the trees that were made up."""
    forest, contents = made_up()
    print(f"\nmade up: {forest.n_trees} trees, {forest.n_nodes} nodes, 3 groups\n")
    print("| method | ARI, mean | ARI, likeliest |\n|---|---|---|")
    for what, content in contents.items():
        for direction in ("up", "down"):
            given = {"direction": direction, "structure": None, "content": content, "init": "random", "n_init": 8}
            models = [HiddenTreeMixture(3, 2, random_state=s, **given).fit(forest) for s in range(seeds)]
            rand = [adjusted_rand_score(forest.target, model.labels_) for model in models]
            best = int(np.argmax([model.history_[-1] for model in models]))
            print(f"| hidden trees, {direction}, {what} | {np.mean(rand):.2f} | {rand[best]:.2f} |", flush=True)
    rows = plain_rows(forest, ["x"])
    found = [KMeans(3, n_init=10, random_state=s).fit_predict(rows) for s in range(seeds)]
    print(f"| k-means | {np.mean([adjusted_rand_score(forest.target, one) for one in found]):.2f} | |")


# ---- methods --------------------------------------------------------------------------------------------------------


def plain_rows(forest: Forest, columns: Any) -> Any:
    """A row per tree: shares of labels by slot, and figures of each column."""
    counts = np.asarray(slot_label_counts(forest).todense(), np.float64)
    blocks = [counts / np.maximum(counts.sum(axis=1, keepdims=True), 1.0)]
    tree = np.repeat(np.arange(forest.n_trees), forest.sizes)
    for name in columns or ():
        column = forest.content[name]
        x = np.where(column.missing, np.nan, column.values.astype(np.float64))
        parts = np.split(x, np.flatnonzero(np.diff(tree)) + 1)
        figures = []
        for part in parts:
            known = part[~np.isnan(part)]
            known = known if len(known) else np.array([np.nanmean(x)])
            figures.append([known.mean(), known.std(), *np.quantile(known, QUANTILES)])
        blocks.append(np.array(figures))
    return StandardScaler().fit_transform(np.concatenate(blocks, axis=1))


def told(what: str, target: Any, found: list[Any]) -> None:
    """One row of the table."""
    rand = [adjusted_rand_score(target, one) for one in found]
    mutual = [normalized_mutual_info_score(target, one) for one in found]
    print(f"| {what} | {np.mean(rand):.2f} ({np.std(rand):.2f}) | {np.mean(mutual):.2f} |", flush=True)


def compare(name: str, forest: Forest, contents: dict[str, Any], seeds: int) -> None:
    """The table of one corpus."""
    start: dict[str, Any] = {"init": "kmeans", "n_init": 2} if name == "digits" else {}
    k = len(np.unique(forest.target))
    print(f"\n{name}: {forest.n_trees} trees, {forest.n_nodes} nodes, {k} classes\n")
    print("| method | ARI (deviation) | NMI |\n|---|---|---|")
    for what, content in contents.items():
        rows = plain_rows(forest, content)
        told(
            f"k-means, {what}",
            forest.target,
            [KMeans(k, n_init=10, random_state=s).fit_predict(rows) for s in range(seeds)],
        )
        for direction in ("up", "down"):
            found = []
            for seed in range(seeds):
                model = HiddenTreeMixture(
                    k, 4, direction=direction, structure=None, content=content, max_iter=40, random_state=seed, **start
                )
                found.append(model.fit(forest).labels_)
            told(f"hidden trees, {direction}, {what}", forest.target, found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=("made_up", "digits", "forests"))
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    if options.only in (None, "made_up"):
        compare_made_up(options.seeds)
    for name, make in (("forests", forests), ("digits", digits)):
        if options.only in (None, name):
            compare(name, *make(), options.seeds)


if __name__ == "__main__":
    main()
