"""Edit distances against the textbook recursion, enumeration, two other packages, and what a distance must obey."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import arbora as ab
from arbora import Forest, edit_distance, edit_distances, edit_mapping
from arbora.errors import InexactWarning, ModelFileError, SettingError
from tests import examples
from tests.reference import tree_edit as twin

UNIT = (lambda _: 1.0, lambda _: 1.0, lambda x, y: float(x != y))
COSTS = {
    "delete": {"a": 0.5, "b": 1.25},
    "insert": {"a": 0.75, "c": 2.0},
    "rename": {("a", "b"): 0.25, ("b", "a"): 0.75, ("a", "c"): 1.5},
}


def by_label(name):
    return lambda x: COSTS[name].get(x, 1.0)


def by_pair(x, y):
    if x == y:
        return 0.0
    return COSTS["rename"].get((x, y), COSTS["rename"].get((y, x), 1.0))


SPECIAL = (by_label("delete"), by_label("insert"), by_pair)


def small_trees(max_leaves=6):
    return examples.trees(max_leaves=max_leaves)


def tuples(nested):
    return twin.as_tuples(Forest.from_nested([nested])[0])


def random_trees(seed, n_trees, max_nodes, n_labels=3, max_children=4):
    return examples.random_forest(n_trees, max_nodes, n_labels, max_children, seed)


# ---- values ---------------------------------------------------------------------------------------------------------


@given(small_trees(), small_trees())
def test_ordered_distance_equals_the_recursion(a, b):
    one, two = tuples(a), tuples(b)
    assert edit_distance(a, b) == twin.ordered_distance(one, two, *UNIT)
    assert edit_distance(a, b, **COSTS) == pytest.approx(twin.ordered_distance(one, two, *SPECIAL), abs=1e-10)


@settings(max_examples=30)
@given(small_trees(4), small_trees(4))
def test_both_distances_equal_enumeration(a, b):
    one, two = tuples(a), tuples(b)
    if max(len(twin.preorder(tree)[0]) for tree in (one, two)) > 6:
        return
    for ordered in (True, False):
        assert edit_distance(a, b, ordered=ordered) == twin.distance_by_enumeration(one, two, *UNIT, ordered)
        wanted = twin.distance_by_enumeration(one, two, *SPECIAL, ordered)
        assert edit_distance(a, b, ordered=ordered, **COSTS) == pytest.approx(wanted, abs=1e-10)


@pytest.mark.compiled
def test_larger_ordered_trees_equal_the_recursion():
    forest = random_trees(1, 8, 18)
    found = edit_distances(forest)
    special = edit_distances(forest.with_vocabulary(["w0", "w1", "w2"]), rename=0.3, insert=2.0)
    trees = [twin.as_tuples(tree) for tree in forest]
    for i, one in enumerate(trees):
        for j, two in enumerate(trees):
            assert found[i, j] == twin.ordered_distance(one, two, *UNIT)
            wanted = twin.ordered_distance(one, two, lambda _: 1.0, lambda _: 2.0, lambda x, y: 0.3 * (x != y))
            assert special[i, j] == pytest.approx(wanted, abs=1e-10)


def to_adjacency(nested):
    """Labels and children by pre-order number, as edist takes them."""
    labels, above, _ = twin.preorder(twin.as_tuples(nested))
    children = [[] for _ in labels]
    for u, p in enumerate(above):
        if p >= 0:
            children[p].append(u)
    return labels, children


@pytest.mark.compiled
def test_ordered_distance_equals_apted_and_edist():
    apted, ted = pytest.importorskip("apted"), pytest.importorskip("edist.ted")
    forest = random_trees(2, 14, 40, n_labels=4, max_children=6)
    found = edit_distances(forest)

    class Node:
        def __init__(self, nested):
            self.name, self.children = nested["label"], [Node(child) for child in nested.get("children", [])]

    nodes, adjacency = [Node(tree) for tree in forest], [to_adjacency(tree) for tree in forest]
    for i in range(len(forest)):
        for j in range(len(forest)):
            assert found[i, j] == ted.standard_ted(*adjacency[i], *adjacency[j])
            if i <= j:
                assert found[i, j] == apted.APTED(nodes[i], nodes[j]).compute_edit_distance()


def test_order_and_slots():
    a, b = ("r", [("x", ["p", "q"]), "y"]), ("r", ["y", ("x", ["q", "p"])])
    assert edit_distance(a, b) > 0
    assert edit_distance(a, b, ordered=False) == 0
    gaps = ("r", [{"label": "x", "slot": 3, "children": ["p", "q"]}, {"label": "y", "slot": 9}])
    assert edit_distance(a, gaps) == 0  # only the order of siblings counts, not the slots between them


def test_awkward_trees_are_themselves(awkward_small):
    for ordered in (True, False):
        found = edit_distances(awkward_small, ordered=ordered)
        assert (np.diag(found) == 0).all()
        assert (found == found.T).all()


@pytest.mark.compiled
def test_deep_and_wide():
    deep, wide = examples.chain_of(1500), examples.star_of(1500)
    assert edit_distance(deep, deep) == 0
    assert edit_distance(wide, wide) == 0
    assert edit_distance(deep, wide, labels=False) == 1500 + 1501 - 2 * 2


def test_missing_and_unseen_labels_are_labels_of_their_own():
    forest = Forest.from_nested([None, "a", "z"], vocabulary=["a"])
    for ordered in (True, False):
        assert edit_distances(forest, ordered=ordered).tolist() == [[0, 1, 1], [1, 0, 1], [1, 1, 0]]


def test_without_labels_only_the_shape_counts():
    a, b = ("a", ["b", ("c", ["d"])]), ("x", ["y", "z"])
    for ordered in (True, False):
        assert edit_distance(a, b, ordered=ordered, labels=False) == 1
        assert edit_distance(a, b, ordered=ordered) == 4


# ---- properties -----------------------------------------------------------------------------------------------------


@pytest.mark.compiled
@pytest.mark.parametrize("ordered", [True, False])
def test_a_metric(ordered):
    forest = random_trees(3, 25, 14)
    d = edit_distances(forest, ordered=ordered)
    assert (d == d.T).all()
    assert (d[:, None, :] <= d[:, :, None] + d[None, :, :]).all()
    sizes = forest.sizes
    assert (d >= np.abs(sizes[:, None] - sizes)).all()
    assert (d <= sizes[:, None] + sizes).all()
    other = edit_distances(forest, ordered=not ordered)
    assert ((other >= d) if not ordered else (other <= d)).all()  # more mappings are legal in unordered trees


@given(small_trees(), small_trees(), st.booleans(), st.booleans())
def test_mappings_are_legal_and_cost_what_they_say(a, b, ordered, special):
    found = edit_mapping(a, b, ordered=ordered, **(COSTS if special else {}))
    one, two = tuples(a), tuples(b)
    # Nodes of a forest are in post-order; the twin counts in pre-order.
    to_pre = [np.argsort(twin.preorder(tree)[2]) for tree in (one, two)]
    pairs = [(int(to_pre[0][u]), int(to_pre[1][v])) for u, v in found.pairs]
    assert twin.is_mapping(one, two, pairs, ordered)
    cost = twin.mapping_cost(one, two, pairs, *(SPECIAL if special else UNIT))
    assert found.distance == pytest.approx(cost, abs=1e-10)
    assert found.exact
    n, m = len(to_pre[0]), len(to_pre[1])
    assert sorted([*found.pairs[:, 0], *found.deleted]) == list(range(n))
    assert sorted([*found.pairs[:, 1], *found.inserted]) == list(range(m))


def test_mapping_numbers_nodes_alike_however_they_are_stored():
    forest = examples.siblings_out_of_order()[[0]]
    again = Forest.from_nested([forest[0]])
    assert edit_mapping(forest, forest[0]).pairs.tolist() == edit_mapping(again, again).pairs.tolist()


# ---- many trees -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ordered", [True, False])
def test_all_pairs_equal_single_pairs_and_threads_change_nothing(ordered):
    forest = Forest.concat([random_trees(4, 9, 9), random_trees(4, 5, 9)])  # with repeated trees
    d = edit_distances(forest, ordered=ordered)
    for i in range(0, len(forest), 3):
        for j in range(len(forest)):
            assert d[i, j] == edit_distance(forest[i], forest[j], ordered=ordered)
    assert np.array_equal(d, edit_distances(forest, ordered=ordered, n_jobs=2))
    assert np.array_equal(d[:4], edit_distances(forest[:4], forest, ordered=ordered))
    uneven = edit_distances(forest, ordered=ordered, delete=2.0)
    assert np.array_equal(uneven, edit_distances(forest, ordered=ordered, insert=2.0).T)
    assert not np.array_equal(uneven, uneven.T)


def test_forests_of_other_vocabularies_meet_by_name():
    a, b = Forest.from_nested(["x", "y"], target=[0, 1]), Forest.from_nested(["z", "x"])
    assert edit_distances(a, b).tolist() == [[1, 0], [1, 1]]


def test_no_trees():
    none, some = Forest.from_nested([]), Forest.from_nested(["a", "b"])
    assert edit_distances(none).shape == (0, 0)
    assert edit_distances(none, some).shape == (0, 2)
    assert edit_distances(some, none).shape == (2, 0)


def test_progress_is_shown_when_asked(capsys):
    edit_distances(random_trees(5, 4, 5), progress=True)
    assert capsys.readouterr().err  # the bar wipes itself out, but leaves a line
    edit_distances(random_trees(5, 4, 5))
    assert not capsys.readouterr().err


# ---- bad input ------------------------------------------------------------------------------------------------------


def test_bad_costs_are_refused():
    for bad in (-1.0, np.nan, np.inf, "1", True, None):
        for name in ("delete", "insert", "rename"):
            with pytest.raises(SettingError, match=f"{name}=.*wanted a finite cost of 0 or more"):
                edit_distance("a", "b", **{name: bad})
    with pytest.raises(SettingError, match=r"delete\['a'\]=-1"):
        edit_distance("a", "b", delete={"a": -1})
    with pytest.raises(SettingError, match="wanted a pair of labels"):
        edit_distance("a", "b", rename={"ab": 1.0})
    with pytest.raises(SettingError, match="labels=False ignores labels"):
        edit_distance("a", "b", labels=False, delete={"a": 1.0})
    with pytest.raises(SettingError, match="budget=0"):
        edit_distance("a", "b", ordered=False, budget=0)


def test_forests_where_one_tree_is_wanted_are_refused():
    with pytest.raises(ab.ForestError, match="a forest of 2 trees; wanted one tree"):
        edit_distance(Forest.from_nested(["a", "b"]), "a")


@pytest.mark.compiled
def test_a_search_cut_short_is_said_and_gives_upper_bounds():
    forest = random_trees(6, 6, 30)
    exact = edit_distances(forest, ordered=False)
    with pytest.warns(InexactWarning, match="used up the search budget and are upper bounds"):
        rough = edit_distances(forest, ordered=False, budget=2)
    assert (rough >= exact).all()
    assert (rough > exact).any()
    with pytest.warns(InexactWarning, match="1 of 1"):
        assert not edit_mapping(*(forest[[t]] for t in np.argsort(forest.sizes)[-2:]), ordered=False, budget=1).exact


@pytest.mark.parametrize(("ordered", "n_jobs"), [(True, 1), (False, 1), (False, 2)])
def test_an_interrupted_matrix_goes_on_where_it_stopped(ordered, n_jobs, tmp_path, monkeypatch):
    from arbora.models.edit import distance as module

    forest = ab.datasets.make_random_trees(12, 3, 3, 7, random_state=0)
    whole = edit_distances(forest, ordered=ordered)
    asked, real = [], module._comparer

    def comparer(*args, stop_at=20):
        compare = real(*args)

        def counted(pairs):
            if len(asked) >= stop_at:
                raise KeyboardInterrupt
            asked.extend(map(tuple, pairs.tolist()))
            return compare(pairs)

        return counted

    monkeypatch.setattr(module, "_ORDERED_BLOCK", 4)
    monkeypatch.setattr(module, "_UNORDERED_BLOCK", 4)
    monkeypatch.setattr(module, "_comparer", comparer)
    part = tmp_path / "matrix.part"
    with pytest.raises(KeyboardInterrupt):
        edit_distances(forest, ordered=ordered, n_jobs=n_jobs, checkpoint=part)
    assert part.exists()
    monkeypatch.setattr(module, "_comparer", lambda *args: comparer(*args, stop_at=10**9))
    for other in ({"ordered": not ordered}, {"rename": 0.5, "ordered": ordered}, {"labels": False, "ordered": ordered}):
        with pytest.raises(ModelFileError, match="other trees, or by other settings"):
            edit_distances(forest, checkpoint=part, **other)
    with pytest.raises(ModelFileError, match="other trees"):
        edit_distances(forest[:-1], ordered=ordered, checkpoint=part)
    assert np.array_equal(edit_distances(forest, ordered=ordered, checkpoint=part), whole)
    n = module.kinds_of_trees(forest, ordered).max() + 1
    assert len(asked) == len(set(asked)) == n * (n - 1) // 2  # nothing twice
    assert not part.exists()


def test_a_matrix_is_saved_now_and_then(tmp_path, monkeypatch):
    from arbora.models.edit import matrix_filling

    saved, real = [], matrix_filling.write_container

    def write(path, kind, version, header, arrays):
        saved.append(int(np.isnan(arrays["value"]).sum()))
        real(path, kind, version, header, arrays)

    monkeypatch.setattr(matrix_filling, "write_container", write)
    monkeypatch.setattr(matrix_filling, "SAVE_EVERY", 0.0)
    monkeypatch.setattr(matrix_filling, "_WRITING_SHARE", np.inf)
    forest = ab.datasets.make_random_trees(6, 3, 3, 6, random_state=0)
    edit_distances(forest, [*forest, "z"], checkpoint=tmp_path / "part")  # not symmetric: every row is full
    assert saved == [7 * left for left in range(5, -1, -1)]
