"""Pictures: what is drawn, that nothing is left behind, and that optional matplotlib is missed politely."""

import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

import arbora as ab
from arbora import plot
from arbora.datasets import make_random_trees
from arbora.errors import MissingDependencyError, SettingError
from arbora.evaluate.agreement import agree
from arbora.evaluate.projection import principal_plane
from arbora.evaluate.traits import tree_shapes
from arbora.inference.schedules import Schedule, Seed
from arbora.inference.traces import Trace

pytest.importorskip("matplotlib")

RNG = np.random.default_rng(0)
CODES = RNG.random((30, 12))
LABELS = np.arange(30) % 3
TREES = make_random_trees(20, 4, 3, 12, random_state=0)
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


@pytest.mark.parametrize("draw", [plot.history, plot.sizes, lambda values: plot.silhouette(values, values)])
def test_nothing_to_draw_is_said(draw) -> None:
    with pytest.raises(SettingError, match="is empty, and there is nothing to draw; wanted"):
        draw([])


def test_axes_of_the_caller_are_used() -> None:
    ax = plot.new_figure().add_subplot()
    assert plot.sizes(LABELS, ax) is ax
    assert plot.history([1.0], ax=ax) is ax


def test_silhouette_bars_are_the_values() -> None:
    values = RNG.uniform(-0.2, 0.9, 30)
    ax = plot.silhouette(values, LABELS)
    assert len(ax.collections) == 3
    for c, bars in enumerate(ax.collections):
        drawn = np.unique(bars.get_paths()[0].vertices[:, 0].round(12))
        np.testing.assert_allclose(drawn, np.unique(np.append(values[c == LABELS], 0.0).round(12)))
    (mean,) = ax.get_lines()
    assert mean.get_xdata()[0] == pytest.approx(values.mean())
    assert [text.get_text() for text in ax.get_yticklabels()] == ["0", "1", "2"]


def test_forest_shapes_puts_every_tree_at_its_size() -> None:
    ax = plot.forest_shapes(TREES, np.arange(20) % 2)
    place = np.concatenate([points.get_offsets() for points in ax.collections])
    assert sorted(place[:, 0]) == sorted(TREES.sizes)
    np.testing.assert_array_equal(np.sort(place[:, 1].round()), np.sort(tree_shapes(TREES)["depth"]))
    assert len(plot.forest_shapes(TREES).collections) == 1


def test_parameters_are_those_of_the_component() -> None:
    model = ab.HiddenTreeMixture(2, 3, max_iter=2, tol=0, random_state=0).fit(TREES)
    ax = plot.parameters(model, component=1)
    words = [text.get_text() for text in ax.get_xticklabels()]
    column = [model.vocabulary_.index(word) for word in words]
    np.testing.assert_allclose(ax.images[0].get_array(), model.emission_prob_[1][:, column])
    mean = np.einsum("l,lji->ji", model.switch_prob_[0], model.transition_prob_[0])
    np.testing.assert_allclose(plot.parameters(model, "transition_prob_").images[0].get_array(), mean)
    assert plot.parameters(model, "switch_prob_").images[0].get_array().shape == (1, model.n_slots_)
    with pytest.raises(SettingError, match="component=2; wanted 0 to 1"):
        plot.parameters(model, component=2)
    with pytest.raises(SettingError, match="what='weight_'"):
        plot.parameters(model, "weight_")


def trace() -> Trace:
    info = {"log_joint": RNG.normal(size=(2, 6)), "n_groups": np.arange(12.0).reshape(2, 6)}
    return Trace(info, [{}, {}], (6, 6), Schedule(2, 1), Seed(0, ()))


def test_traces_have_a_line_for_each_chain() -> None:
    draws = trace()
    *lines, burn_in = plot.trace(draws).get_lines()
    assert len(lines) == 2
    for chain, line in enumerate(lines):
        np.testing.assert_array_equal(line.get_xdata(), np.arange(1, 7))
        np.testing.assert_array_equal(line.get_ydata(), draws.info["log_joint"][chain])
    assert len({line.get_linestyle() for line in lines}) == 2  # not by colour alone
    assert burn_in.get_xdata()[0] == 2.5
    ax = plot.components_per_sweep(draws)
    np.testing.assert_array_equal(ax.get_lines()[1].get_ydata(), np.arange(6.0, 12.0))
    assert ax.get_ylabel() == "n groups"
    with pytest.raises(SettingError, match="the trace has log_joint, n_groups"):
        plot.trace(draws, "x")
    del draws.info["n_groups"]
    with pytest.raises(SettingError, match="no number of groups"):
        plot.components_per_sweep(draws)


def test_co_occurrence_is_sorted_and_framed() -> None:
    together = RNG.random((6, 6))
    ax = plot.co_occurrence(together, [1, 0, 1, 0, 0, 0])
    order = [1, 3, 4, 5, 0, 2]
    np.testing.assert_array_equal(ax.images[0].get_array(), together[np.ix_(order, order)])
    assert [(frame.get_x(), frame.get_width()) for frame in ax.patches] == [(-0.5, 4), (3.5, 2)]
    np.testing.assert_array_equal(plot.co_occurrence(together).images[0].get_array(), together)
    with pytest.raises(SettingError, match="a row and a column"):
        plot.co_occurrence(np.ones((2, 3)))


def test_a_hierarchy_is_as_high_as_its_groups() -> None:
    tree = ab.Hierarchy.from_levels([[0, 0, 0, 1], [0, 0, 1, 2]])
    ax = plot.hierarchy(tree)
    assert [bar.get_height() for bar in ax.patches] == tree.size.tolist()
    assert [bar.get_x() + bar.get_width() / 2 for bar in ax.patches] == pytest.approx(tree.level)


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
