"""Attributed shock trees of glyphs of free fonts: mixtures of unions against weighted edit distance and one union.

Class: the glyph; samples: fonts.  Each glyph is drawn, thinned to its medial axis by scikit-image, and cut into
branches at junctions.  The branch of largest mean radius is the root, and branches that touch hang below it.  A node
holds the share of the border nearest to its branch, its mean radius, and how much the radius changes along it, from the
end that touches the parent.  Loops are cut where a branch is met twice.

    python benchmarks/glyph_shock.py FOLDER_OF_FONTS [--glyphs EFHKLTXY] [--fonts 20]

needs scikit-image and Pillow.  Nothing is written; tables go to standard output.
"""

import argparse
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy import ndimage
from scipy.spatial import cKDTree
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score, rand_score

import arbora as ab
from arbora.forest.forest import Forest
from arbora.forest.kernels.tree_shape import make_shape
from arbora.models.edit import pairwise
from arbora.models.unions.kernels.tree_alignment import align

SIZE = 96  # height of a drawing in pixels
LEAST = 0.02  # of the border: branches of less are noise of the thinning
COLUMNS = ("border", "radius", "change")


def draw_glyph(path: Path, glyph: str) -> Any:
    """The glyph as a picture of zeros and ones."""
    from PIL import Image, ImageDraw, ImageFont

    font = ImageFont.truetype(str(path), SIZE)
    picture = Image.new("L", (3 * SIZE, 3 * SIZE))
    ImageDraw.Draw(picture).text((SIZE, SIZE // 2), glyph, fill=255, font=font)
    return np.array(picture) > 127


def shock_tree(picture: Any) -> tuple[list[int], list[list[float]]] | None:
    """Parents of the branches, children first, and their three numbers; None where there is nothing to see."""
    from skimage.morphology import medial_axis

    axis, radius = medial_axis(picture, return_distance=True, rng=0)  # it breaks ties by draws
    if axis.sum() < 5:
        return None
    full = np.ones((3, 3), int)
    junction = axis & (ndimage.convolve(axis.astype(int), full, mode="constant") >= 4)
    branch, n = ndimage.label(axis & ~junction, full)
    if not n:
        return None
    border = np.argwhere(picture & ~ndimage.binary_erosion(picture))
    where = np.argwhere(branch > 0)
    nearest = branch[tuple(where[cKDTree(where).query(border)[1]].T)]
    share = np.bincount(nearest, minlength=n + 1)[1:] / len(border)
    joint, n_joints = ndimage.label(junction, full)
    touch: dict[int, set[int]] = {}
    for j in range(1, n_joints + 1):
        near = np.unique(branch[ndimage.binary_dilation(joint == j, full)])
        touch[j] = {int(b) for b in near if b and share[b - 1] >= LEAST}
    kept = [b for b in range(1, n + 1) if share[b - 1] >= LEAST]
    if not kept:
        return None
    mean = {b: float(radius[branch == b].mean()) for b in kept}
    root = max(kept, key=lambda b: (mean[b], -b))
    order, above, seen = [root], {root: -1}, {root}
    entry = {root: 0}
    for b in order:  # breadth first: a branch hangs below the one that reaches it first
        for j, near in sorted(touch.items()):
            if b in near:
                for c in sorted(near - seen):
                    seen.add(c)
                    above[c], entry[c] = b, j
                    order.append(c)
    scale = SIZE / 10
    numbers = {b: [share[b - 1], mean[b] / scale, _change(branch == b, radius, joint, entry[b]) / scale] for b in order}
    place = {b: x for x, b in enumerate(reversed(order))}
    return [place.get(above[b], -1) for b in reversed(order)], [numbers[b] for b in reversed(order)]


def _change(here: Any, radius: Any, joint: Any, entry: int) -> float:
    """Radius at the far end of a branch less that at the end by its parent."""
    points = np.argwhere(here)
    if not entry or len(points) < 2:
        return 0.0
    far = cKDTree(np.argwhere(joint == entry)).query(points)[0]
    quarter = max(len(points) // 4, 1)
    rank = np.argsort(far, kind="stable")
    r = radius[tuple(points[rank].T)]
    return float(r[-quarter:].mean() - r[:quarter].mean())


def make_forest(fonts: list[Path], glyphs: str) -> Forest:
    """All glyphs of all fonts that have them."""
    parent: list[int] = []
    tree: list[int] = []
    rows: list[list[float]] = []
    target: list[int] = []
    font: list[str] = []
    for path in fonts:
        for y, glyph in enumerate(glyphs):
            found = shock_tree(draw_glyph(path, glyph))
            if found is not None:
                parent += _shift(found[0], len(tree))
                tree += [len(target)] * len(found[0])
                rows += found[1]
                target.append(y)
                font.append(path.stem)
    label = np.zeros(len(tree), np.int64)
    forest = Forest.from_parents(np.array(parent), label, tree=np.array(tree), vocabulary=["branch"])
    values = np.array(rows)
    return (
        forest.with_content({c: values[:, x] for x, c in enumerate(COLUMNS)})
        .with_target(np.array(target))
        .with_name(font)
    )


def _shift(parent: list[int], by: int) -> list[int]:
    return [p if p < 0 else p + by for p in parent]


def weighted_distances(forest: Forest) -> Any:
    """Edit distances with the share of the border as weight: a node costs its weight, a pair the difference."""
    start, weight = forest.tree_start, forest.content["border"].values
    n = forest.n_trees
    shapes, weights = [], []
    for t in range(n):
        lo, hi = int(start[t]), int(start[t + 1])
        shapes.append(make_shape(np.where(forest.parent[lo:hi] < 0, -1, forest.parent[lo:hi] - lo)))
        weights.append(weight[lo:hi])
    out = np.zeros((n, n))
    for s in range(n):
        for t in range(s + 1, n):
            gain = 2.0 * np.minimum.outer(weights[s], weights[t])
            value = align(shapes[s], shapes[t], np.ascontiguousarray(gain)).value
            out[s, t] = out[t, s] = max(weights[s].sum() + weights[t].sum() - value, 0.0)
    return out


def embedding_distances(forest: Forest) -> Any:
    """All trees in one attributed union; the vector of a tree holds the share of the border at each node."""
    model = ab.TreeUnionMixture(1, noise_cost=None, content=dict.fromkeys(COLUMNS, "gaussian"), search="greedy")
    model.fit(forest)
    vector = np.zeros((forest.n_trees, model.unions_[0].n_nodes))
    tree = np.repeat(np.arange(forest.n_trees), forest.sizes)
    np.add.at(vector, (tree, model.node_match_), forest.content["border"].values)
    return np.abs(vector[:, None] - vector[None]).sum(axis=2)


def _said(forest: Forest, found: Any, start: float) -> str:
    scores = [s(forest.target, found) for s in (rand_score, adjusted_rand_score, normalized_mutual_info_score)]
    scores.append(adjusted_rand_score([str(name) for name in forest.name], found))
    spent = time.process_time() - start
    return "{:.2f} | {:.2f} | {:.2f} | {:.2f} | {} | {:.1f}".format(*scores, len(np.unique(found)), spent)


def main() -> int:
    """Make the trees, cluster them every way, print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--glyphs", default="EFHKLTXY")
    parser.add_argument("--fonts", type=int, default=20)
    asked = parser.parse_args()
    fonts = sorted(p for kind in ("ttf", "otf") for p in asked.folder.rglob(f"*.{kind}"))
    fonts = [fonts[x] for x in np.linspace(0, len(fonts) - 1, asked.fonts).round().astype(int)]
    warnings.simplefilter("ignore")
    forest = make_forest(fonts, asked.glyphs)
    k = len(asked.glyphs)
    print(f"{forest.n_trees} trees, {forest.n_nodes} nodes, {k} glyphs of {len(fonts)} fonts\n")
    print("| method | pairs right | ARI | NMI | ARI with the font | clusters | CPU s |\n|" + " --- |" * 7 + "")
    every = dict.fromkeys(COLUMNS, "gaussian")
    for name, content in (("structure alone", None), ("border", {"border": "gaussian"}), ("all three", every)):
        for paper, settings in (("default", {}), ("paper's code and search", {"noise_cost": None, "search": "greedy"})):
            for number in (None, k):
                start = time.process_time()
                found = ab.TreeUnionMixture(number, content=content, **settings).fit(forest).labels_
                print(f"| mixture, {name}, {paper}, {number or 'free'} | {_said(forest, found, start)} |", flush=True)
    for name, measure in (
        ("unweighted edit distance", lambda f: ab.edit_distances(f, ordered=False, labels=False)),
        ("weighted edit distance", weighted_distances),
        ("one attributed union", embedding_distances),
    ):
        start = time.process_time()
        distance = measure(forest)
        for method in ("dominant", "spectral"):
            for number in (None, k):
                found = pairwise.cluster_distances(distance, method, number, 0)
                print(f"| {name}, {method}, {number or 'free'} | {_said(forest, found, start)} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
