"""Shock trees of glyphs, distances between them, and the verdicts of their table."""

import numpy as np
import pytest
from scipy import ndimage

import arbora as ab
from papers.glyphs import FULL, GLYPHS, LEAST, glyph_trees, medial_axis, shock_tree
from papers.judges import judge
from papers.table import Table
from papers.unions_glyphs import weighted_distances


def bars(*boxes, size=60):
    """A picture of rectangles: rows and columns from, to."""
    picture = np.zeros((size, size), bool)
    for top, bottom, left, right in boxes:
        picture[top:bottom, left:right] = True
    return picture


def test_an_axis_is_thin_in_one_piece_and_in_the_middle():
    picture = bars((10, 50, 20, 30), (10, 20, 20, 50))
    axis, radius = medial_axis(picture)
    assert ndimage.label(axis, FULL)[1] == 1
    assert not (axis & ~picture).any()
    inside = axis[25:40]  # of the upright bar, ten pixels wide
    assert inside.sum(axis=1).max() <= 2
    assert set(np.argwhere(inside)[:, 1]) <= {24, 25}
    assert radius[30, 24] == 5.0


def test_a_bar_with_two_arms_has_a_branch_for_each_arm():
    tree = shock_tree(bars((5, 55, 10, 24), (5, 15, 10, 50), (45, 55, 10, 50)))  # the upright bar is the thickest
    above = tree.parent
    assert (above[:-1] > np.arange(len(above) - 1)).all()
    assert above[-1] == -1
    share, mean, _ = tree.numbers.T
    assert share.min() >= LEAST
    assert share.sum() == pytest.approx(1.0, abs=0.2)
    assert mean.argmax() == len(above) - 1
    arms = np.sort(share[:-1])[-2:]
    assert arms == pytest.approx([0.25, 0.25], abs=0.08)  # each about a quarter of the outline
    assert (share > 0.15).sum() >= 3


def test_a_taper_is_a_change_of_radius():
    picture = np.zeros((60, 100), bool)
    picture[10:50, 5:35] = True
    for x in range(35, 95):
        half = round(12 - 10 * (x - 35) / 60)
        picture[30 - half : 30 + half, x] = True
    tree = shock_tree(picture)
    arm = tree.numbers[:-1, 0].argmax()
    assert tree.numbers[arm, 2] < -0.5  # in tenths of the height of a drawing: the arm gets thinner


def test_glyphs_of_a_font_are_trees_with_a_class_and_content():
    forest = glyph_trees(("DejaVuSans",))
    assert forest.n_trees == len(GLYPHS)
    assert list(forest.target) == list(range(len(GLYPHS)))
    assert (np.asarray(forest.parent) < 0).sum() == len(GLYPHS)
    assert set(forest.content) == {"border", "radius", "change"}
    sizes = dict(zip(GLYPHS, forest.sizes, strict=True))
    assert sizes["E"] > sizes["F"] > sizes["L"]


def test_weighted_distances_are_the_least_weight_to_change():
    parent = np.array([1, -1, 3, -1, -1])
    forest = ab.Forest.from_parents(parent, np.zeros(5, int), tree=np.array([0, 0, 1, 1, 2]), vocabulary=["branch"])
    forest = forest.with_content({"border": np.array([0.5, 0.5, 0.3, 0.7, 1.0])})
    expected = [[0.0, 0.4, 1.0], [0.4, 0.0, 0.6], [1.0, 0.6, 0.0]]
    assert weighted_distances(forest) == pytest.approx(np.array(expected))


def test_glyphs_are_judged_by_differences_and_their_errors():
    alone = "mixture, structure alone, the paper's code and search"
    gaps = {
        "mixture, structure alone": "+0.500 (0.010)",
        "mixture, border": "+0.050 (0.010)",
        "unweighted edit distance, spectral": "-0.050 (0.030)",
        "weighted edit distance, spectral": "+0.050 (0.030)",
        "one attributed union, spectral": "+0.070 (0.030)",
    }
    cell = "0.80 / 0.20 / 0.40 (8)"
    table = Table("Glyphs", ["method", "all 8", "sets of 25"], [[name, cell, cell] for name in (alone, *gaps)])
    part = Table("Beside the mixture", ["method", "adjusted Rand index"], [[name, gap] for name, gap in gaps.items()])
    table.more = [part]
    judge("unions-glyphs", table)
    words = {row[0].split()[-1]: [] for row in table.more[-1].rows}
    for claim, _, word in table.more[-1].rows:
        words[claim.split()[-1]].append(word)
    assert words == {
        "distances": ["differs: level with it"],
        "geometry": ["matches: level with it", "differs"],
        "further": ["matches"],
    }
