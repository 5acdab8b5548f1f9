"""Pictures: what is drawn, that nothing is left behind, and that optional matplotlib is missed politely."""

import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

from arbora import plot
from arbora.errors import MissingDependencyError
from arbora.projection import principal_plane
from arbora.summary import agree

pytest.importorskip("matplotlib")

RNG = np.random.default_rng(0)
CODES = RNG.random((30, 12))
LABELS = np.arange(30) % 3
TARGET = np.array(["x", "y$1", "<z>"])[LABELS]


def test_every_tree_is_on_the_map() -> None:
    ax = plot.clusters_map(CODES, LABELS, TARGET)
    assert sum(len(points.get_offsets()) for points in ax.collections) == 30
    legends = [child for child in ax.get_children() if type(child).__name__ == "Legend"]
    texts = {one.get_title().get_text(): [text.get_text() for text in one.get_texts()] for one in legends}
    assert texts == {"cluster": ["0", "1", "2"], "class": ["<z>", "x", r"y\$1"]}
    assert "of the encoding" in ax.get_xlabel()
    assert "need not overlap in the model" in ax.get_xlabel()
    assert "of the encoding" in ax.get_ylabel()


def test_a_few_trees_far_out_do_not_stretch_the_map(monkeypatch: pytest.MonkeyPatch) -> None:
    place = RNG.random((300, 2))
    monkeypatch.setattr(plot.clusters, "principal_plane", lambda _: (place, np.ones(2)))
    assert "not shown" not in plot.clusters_map(None, np.zeros(300, int)).get_title()
    place[7] = 1e6, 0.5
    ax = plot.clusters_map(None, np.zeros(300, int))
    assert ax.get_xlim()[1] < 2.0
    assert ax.get_title().endswith("; 1 far out, not shown")


def test_a_long_legend_is_cut() -> None:
    ax = plot.clusters_map(RNG.random((40, 5)), np.arange(40))
    assert len(ax.get_legend().get_texts()) == plot.MAX_LISTED + 1


def test_clusters_have_markers_of_their_own_without_classes() -> None:
    ax = plot.clusters_map(CODES, LABELS)
    shapes = {tuple(points.get_paths()[0].vertices.ravel()) for points in ax.collections}
    assert len(shapes) == 3


def test_sparse_and_dense_give_one_plane() -> None:
    dense, explained = principal_plane(CODES)
    sparse, also = principal_plane(sp.csr_array(CODES))
    np.testing.assert_allclose(sparse, dense, atol=1e-8)
    np.testing.assert_allclose(also, explained, atol=1e-10)
    rows = CODES / np.linalg.norm(CODES, axis=1, keepdims=True)
    rows = rows - rows.mean(axis=0)
    scale = np.linalg.svd(rows, compute_uv=False)
    np.testing.assert_allclose(explained, (scale**2 / (scale**2).sum())[:2], atol=1e-10)


@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (2, 5), (5, 1), (3, 3), (5, 4)])
def test_few_trees_or_columns(shape: tuple[int, int]) -> None:
    place, explained = principal_plane(RNG.random(shape))
    assert place.shape == (shape[0], 2)
    assert np.isfinite(place).all()
    assert np.isfinite(explained).all()


def test_equal_trees_are_one_point() -> None:
    place, explained = principal_plane(sp.csr_array(np.ones((10, 6))))
    np.testing.assert_allclose(place, 0.0, atol=1e-7)
    assert np.isfinite(explained).all()


def test_two_kinds_of_trees_are_two_points() -> None:
    place, explained = principal_plane(sp.csr_array(np.repeat(np.eye(6)[:2], 5, axis=0)))
    assert np.abs(place[0, 0] - place[-1, 0]) == pytest.approx(np.sqrt(2))
    assert explained[0] == pytest.approx(1.0)


def test_confusion_shows_the_table() -> None:
    ax = plot.confusion(agree(TARGET, LABELS))
    assert sorted(text.get_text() for text in ax.texts) == ["10", "10", "10"]
    assert "ARI 1.00" in ax.get_title()


def test_history_and_sizes() -> None:
    (line,) = plot.history([-3.0, -2.0, -1.5]).get_lines()
    np.testing.assert_array_equal(line.get_ydata(), [-3.0, -2.0, -1.5])
    assert [bar.get_width() for bar in plot.sizes([0, 0, 2]).patches] == [2, 1]


def test_axes_of_the_caller_are_used() -> None:
    ax = plot.new_figure().add_subplot()
    assert plot.sizes(LABELS, ax) is ax
    assert plot.history([1.0], ax=ax) is ax


def test_overview_has_its_parts_and_the_same_bytes_twice() -> None:
    def draw(target):
        agreement = None if target is None else agree(target, LABELS)
        return plot.overview(CODES, LABELS, [-2.0, -1.0], target, agreement)

    assert len(draw(TARGET).axes) == 4
    assert len(draw(None).axes) == 3
    first = plot.png_bytes(draw(TARGET))
    assert first.startswith(b"\x89PNG")
    assert first == plot.png_bytes(draw(TARGET))
    assert first != plot.png_bytes(draw(None))


def test_pyplot_is_never_loaded() -> None:
    code = "import sys\nfrom arbora import plot\nplot.sizes([0, 1])\nprint('matplotlib.pyplot' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_missing_matplotlib_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingDependencyError, match=r"arbora\[plot\]"):
        plot.sizes([0, 1])
