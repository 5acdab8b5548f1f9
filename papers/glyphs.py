"""Attributed shock trees of glyphs of the fonts that come with Matplotlib.

Class: the glyph; samples: fonts.  Each glyph is drawn, thinned to its medial axis, and cut into branches at junctions.
The branch of largest mean radius is the root, and branches that touch hang below it; loops are cut where a branch is
met twice.  A node holds the share of the border nearest to its branch, which is the attribute of Torsello and Hancock
2003, its mean radius, and how much the radius changes along it, from the end that touches the parent.
"""

from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage
from scipy.spatial import cKDTree

from arbora.forest.forest import Forest

Picture = NDArray[np.bool_]
Ints = NDArray[np.int64]

GLYPHS = "EFHKLTXY"  # without loops
FONTS = (
    *(f"DejaVuSans{style}" for style in ("", "-Bold", "-Oblique", "-BoldOblique")),
    *(f"DejaVuSansMono{style}" for style in ("", "-Bold", "-Oblique", "-BoldOblique")),
    *(f"DejaVuSerif{style}" for style in ("", "-Bold", "-Italic", "-BoldItalic")),
    *(f"STIXGeneral{style}" for style in ("", "Bol", "Italic", "BolIta")),
    *("cmb10", "cmr10", "cmss10", "cmti10", "cmtt10"),
)
SIZE = 96  # height of a drawing in pixels
LEAST = 0.02  # of the border: branches of less are noise of the thinning
COLUMNS = ("border", "radius", "change")
FULL = np.ones((3, 3), np.int64)


@cache
def glyph_trees(fonts: tuple[str, ...] = FONTS) -> Forest:
    """All glyphs of the fonts; the class is the glyph, the name is that of the font."""
    import matplotlib as mpl

    folder = Path(mpl.get_data_path()) / "fonts" / "ttf"
    trees = [shock_tree(draw_glyph(folder / f"{font}.ttf", glyph)) for font in fonts for glyph in GLYPHS]
    sizes = np.array([len(tree.parent) for tree in trees])
    shift = np.repeat(np.cumsum(sizes) - sizes, sizes)
    parent = np.concatenate([tree.parent for tree in trees])
    values = np.concatenate([tree.numbers for tree in trees])
    forest = Forest.from_parents(
        np.where(parent < 0, -1, parent + shift),
        np.zeros(len(parent), np.int64),
        tree=np.repeat(np.arange(len(trees)), sizes),
        vocabulary=["branch"],
    )
    content = {column: values[:, x] for x, column in enumerate(COLUMNS)}
    target = np.tile(np.arange(len(GLYPHS)), len(fonts))
    return forest.with_content(content).with_target(target).with_name([font for font in fonts for _ in GLYPHS])


def draw_glyph(path: Path, glyph: str) -> Picture:
    """The glyph, black on white."""
    from PIL import Image, ImageDraw, ImageFont

    picture = Image.new("L", (3 * SIZE, 3 * SIZE))
    ImageDraw.Draw(picture).text((SIZE, SIZE // 2), glyph, fill=255, font=ImageFont.truetype(str(path), SIZE))
    return np.asarray(picture) > 127


@cache
def _needed() -> Picture:
    """Whether the middle pixel must stay, by the pixels of its 3 by 3 window as bits."""
    bits = (np.arange(512)[:, None] >> np.arange(9)) & 1
    stays = np.empty(512, np.bool_)
    for n, window in enumerate(bits.reshape(512, 3, 3)):
        without = window.copy()
        without[1, 1] = 0
        stays[n] = window.sum() < 3 or ndimage.label(window, FULL)[1] != ndimage.label(without, FULL)[1]
    return stays


def medial_axis(picture: Picture) -> tuple[Picture, NDArray[np.float64]]:
    """Its medial axis, and the distance of each pixel to the border.

    Pixels go from the border inwards, those on edges before those on corners, and ties by a fixed draw, if what is left
    stays in one piece and no line gets shorter.
    """
    radius = ndimage.distance_transform_edt(picture)
    here = np.argwhere(picture)
    near = ndimage.convolve(picture.astype(np.int64), FULL, mode="constant")[tuple(here.T)]
    ties = np.random.default_rng(0).permutation(len(here))
    order = here[np.lexsort((ties, -near, radius[tuple(here.T)]))]
    left, power = np.pad(picture, 1).astype(np.int64), 1 << np.arange(9).reshape(3, 3)
    stays = _needed()
    for y, x in order:
        if not stays[int((left[y : y + 3, x : x + 3] * power).sum())]:
            left[y + 1, x + 1] = 0
    return left[1:-1, 1:-1] > 0, radius


class ShockTree(NamedTuple):
    """Parents of the branches, children first, and their three numbers."""

    parent: Ints
    numbers: NDArray[np.float64]


class _Branches(NamedTuple):
    """The medial axis in pieces: pixels by branch and by junction, and the share of the border of each branch."""

    branch: Ints
    joint: Ints
    share: NDArray[np.float64]  # [branch - 1]
    touch: list[list[int]]  # [junction - 1]: branches


def shock_tree(picture: Picture) -> ShockTree:
    """The tree of one drawing; branches of hardly any border are left out, and what hangs below them moves up."""
    axis, radius = medial_axis(picture)
    parts = _cut(axis, picture)
    mean = ndimage.mean(radius, parts.branch, np.arange(1, len(parts.share) + 1))
    kept = np.flatnonzero(parts.share >= LEAST) + 1
    root = int(kept[mean[kept - 1].argmax()])
    order, above, entry = [root], {root: -1}, {root: 0}
    for b in order:  # breadth first: a branch hangs below the one that reaches it first
        for joint, near in enumerate(parts.touch, 1):
            for c in near if b in near else ():
                if c not in above:
                    above[c], entry[c] = (b if parts.share[b - 1] >= LEAST else above[b]), joint
                    order.append(c)
    order = [b for b in reversed(order) if parts.share[b - 1] >= LEAST]
    place = {b: x for x, b in enumerate(order)}
    change = [_change(parts.branch == b, radius, parts.joint == entry[b], entry[b]) for b in order]
    numbers = [[parts.share[b - 1], mean[b - 1], c] for b, c in zip(order, change, strict=True)]
    unit = [1.0, SIZE / 10, SIZE / 10]
    return ShockTree(np.array([place.get(above[b], -1) for b in order]), np.array(numbers) / unit)


def _cut(axis: Picture, picture: Picture) -> _Branches:
    """Branches between junctions, which are pixels with more than two neighbours on the axis."""
    junction = axis & (ndimage.convolve(axis.astype(np.int64), FULL, mode="constant") >= 4)
    branch, n = ndimage.label(axis & ~junction, FULL)
    joint, n_joints = ndimage.label(junction, FULL)
    border = np.argwhere(picture & ~ndimage.binary_erosion(picture))
    where = np.argwhere(branch > 0)
    nearest = branch[tuple(where[cKDTree(where).query(border)[1]].T)]
    share = np.bincount(nearest, minlength=n + 1)[1:] / len(border)
    around = [branch[ndimage.binary_dilation(joint == j, FULL)] for j in range(1, n_joints + 1)]
    touch = [[int(b) for b in np.unique(near) if b] for near in around]
    return _Branches(branch, joint, share, touch)


def _change(here: Picture, radius: Any, joint: Picture, entry: int) -> float:
    """Radius at the far end of a branch less that at the end by its parent, means of a quarter of it."""
    points = np.argwhere(here)
    if not entry or len(points) < 2:
        return 0.0
    far = cKDTree(np.argwhere(joint)).query(points)[0]
    quarter = max(len(points) // 4, 1)
    r = radius[tuple(points[np.argsort(far, kind="stable")].T)]
    return float(r[-quarter:].mean() - r[:quarter].mean())
