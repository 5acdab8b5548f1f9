"""Forest against a slow, obvious, recursive twin; its errors; its extremes; its life inside scikit-learn."""

import copy
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold, cross_val_score, train_test_split
from sklearn.pipeline import Pipeline
from sklearn.utils import resample, shuffle

from arbora import MISSING, UNSEEN, Forest, ForestError
from arbora.forest.forest import ForestArrays, as_forest
from arbora.forest.kernels import layout
from arbora.forest.node_columns import frozen
from tests import examples

COLUMNS = {"parent": np.int64, "slot": np.int32, "label": np.int32, "tree_start": np.int64}

# ---- the twin: trees as nested tuples (label, ((slot, child), ...)), by plain recursion ---------------------------


def twin_of_nested(item: Any) -> tuple[Any, tuple[Any, ...]]:
    if isinstance(item, dict):
        label, children = item["label"], item.get("children", [])
        if item.get("unseen"):
            label = UNSEEN
    elif isinstance(item, tuple):
        label, children = item
    else:
        label, children = item, []
    due = 0
    below = []
    for child in children:
        if isinstance(child, dict) and "slot" in child:
            due = child["slot"]
        below.append((due, twin_of_nested(child)))
        due += 1
    return label, tuple(sorted(below, key=lambda pair: pair[0]))


def twin_of_columns(forest: Forest, t: int) -> tuple[Any, tuple[Any, ...]]:
    def below(u: int) -> tuple[Any, tuple[Any, ...]]:
        m = int(forest.label[u])
        label = {UNSEEN: UNSEEN, MISSING: None}[m] if m < 0 else forest.vocabulary[m]
        children = [v for v in range(forest.n_nodes) if forest.parent[v] == u]
        return label, tuple(sorted(((int(forest.slot[v]), below(v)) for v in children), key=lambda pair: pair[0]))

    return below(int(forest.tree_start[t + 1]) - 1)


def twins(forest: Forest) -> list[Any]:
    return [twin_of_columns(forest, t) for t in range(len(forest))]


def assert_invariants(forest: Forest) -> None:
    """The page docs/data-model.md, by plain loops."""
    for column, dtype in COLUMNS.items():
        values = getattr(forest, column)
        assert values.dtype == dtype
        assert values.ndim == 1
        assert values.flags.c_contiguous
        assert not values.flags.writeable
    assert forest.tree_start[0] == 0
    assert forest.tree_start[-1] == forest.n_nodes == len(forest.slot) == len(forest.label)
    for t in range(len(forest)):
        lo, hi = forest.tree_start[t], forest.tree_start[t + 1]
        assert lo < hi
        assert forest.parent[hi - 1] == -1
        assert forest.slot[hi - 1] == -1
        seen = set()
        for u in range(lo, hi - 1):
            assert u < forest.parent[u] < hi
            assert forest.slot[u] >= 0
            assert (forest.parent[u], forest.slot[u]) not in seen
            seen.add((forest.parent[u], forest.slot[u]))
    assert all(MISSING <= m < forest.n_labels for m in forest.label)
    assert len(set(forest.vocabulary)) == forest.n_labels


def shuffled_parents(forest: Forest, seed: int) -> dict[str, Any]:
    """The arguments of from_parents for the same trees, nodes in random order."""
    new = np.random.default_rng(seed).permutation(forest.n_nodes)  # new[u]: where node u goes
    out = {key: np.empty(forest.n_nodes, np.int64) for key in ("parent", "slot", "tree")}
    out["parent"][new] = np.where(forest.parent < 0, -1, new[forest.parent])
    out["slot"][new] = forest.slot
    out["tree"][new] = np.repeat(np.arange(len(forest)), forest.sizes)
    label = np.empty(forest.n_nodes, object)
    label[new] = [forest.vocabulary[m] if m >= 0 else None for m in forest.label]
    return {**out, "label": label}


# ---- from nested trees --------------------------------------------------------------------------------------------


@given(st.lists(examples.trees(), max_size=5))
def test_from_nested_equals_twin(nested: list[Any]) -> None:
    forest = Forest.from_nested(nested)
    assert_invariants(forest)
    assert twins(forest) == [twin_of_nested(tree) for tree in nested]


@given(examples.forests(min_trees=0))
def test_nested_form_round_trips(forest: Forest) -> None:
    nested = list(forest)
    assert [twin_of_nested(tree) for tree in nested] == twins(forest)
    assert Forest.from_nested(nested) == forest


def test_awkward_forests_hold_and_round_trip(awkward: Forest) -> None:
    awkward.validate()
    again = Forest.from_nested(list(awkward), vocabulary=awkward.vocabulary, target=awkward.target, name=awkward.name)
    assert again == awkward
    assert again.vocabulary == awkward.vocabulary


def test_small_awkward_forests_equal_twin(awkward_small: Forest) -> None:
    assert_invariants(awkward_small)
    assert [twin_of_nested(tree) for tree in awkward_small] == twins(awkward_small)


def test_three_spellings_mean_the_same() -> None:
    short = Forest.from_nested([("a", ["b", ("c", ["d"])])])
    lists = Forest.from_nested([["a", ["b", ["c", ["d"]]]]])
    long = {"label": "c", "children": [{"label": "d"}]}
    assert short == lists == Forest.from_nested([{"label": "a", "children": [{"label": "b", "children": None}, long]}])


def test_columns_of_a_nested_tree() -> None:
    forest = Forest.from_nested([("a", ["b", ("c", ["d"])]), "a"])
    assert forest.vocabulary == ("a", "b", "c", "d")
    assert forest.parent.tolist() == [3, 2, 3, -1, -1]
    assert forest.slot.tolist() == [0, 0, 1, -1, -1]
    assert forest.label.tolist() == [1, 3, 2, 0, 0]
    assert forest.tree_start.tolist() == [0, 4, 5]
    assert forest.sizes.tolist() == [4, 1]
    assert forest.nbytes == 5 * (8 + 4 + 4) + 3 * 8


def test_a_slot_left_out_follows_the_sibling_before() -> None:
    forest = Forest.from_nested([("a", ["b", {"label": "c", "slot": 4}, "d", {"label": "e", "slot": 2}, "f"])])
    assert forest[0]["children"] == [
        {"label": "b"},
        {"label": "e", "slot": 2},
        {"label": "f", "slot": 3},
        {"label": "c", "slot": 4},
        {"label": "d", "slot": 5},
    ]


def test_a_slot_at_the_root_says_nothing() -> None:
    assert Forest.from_nested([{"label": "a", "slot": 7}]) == Forest.from_nested(["a"])


def test_iterators_are_read_once() -> None:
    assert Forest.from_nested(iter([("a", iter(["b"]))])) == Forest.from_nested([("a", ["b"])])


def test_missing_is_not_unseen() -> None:
    forest = Forest.from_nested([(None, ["a", "z"])], vocabulary=["a"])
    assert forest.label.tolist() == [0, UNSEEN, MISSING]
    assert (UNSEEN, MISSING) == (-1, -2)
    assert forest[0] == {"label": None, "children": [{"label": "a"}, {"label": None, "unseen": True}]}
    assert Forest.from_nested([None]) != Forest.from_nested([{"label": None, "unseen": True}])


@pytest.mark.parametrize("nothing", [None, float("nan")])
def test_none_and_nan_are_missing(nothing: Any) -> None:
    assert Forest.from_nested([("a", [{"label": nothing}])]).label.tolist() == [MISSING, 0]
    assert Forest.from_parents([-1, 0], ["a", nothing]).label.tolist() == [MISSING, 0]


def test_numbers_are_labels_sorted_as_numbers() -> None:
    assert Forest.from_nested([(10, [9, "b", np.int64(2)])]).vocabulary == ("2", "9", "10", "b")
    assert Forest.from_parents([-1, 0, 0], [10, 9, 2]).vocabulary == ("2", "9", "10")


def test_the_vocabulary_does_not_depend_on_reading_order() -> None:
    assert Forest.from_nested(["b", "a", "c"]).vocabulary == Forest.from_nested(["c", "b", "a"]).vocabulary


def test_a_given_vocabulary_is_kept() -> None:
    forest = Forest.from_nested([("b", ["q"])], vocabulary=["c", "b"])
    assert forest.vocabulary == ("c", "b")
    assert forest.label.tolist() == [UNSEEN, 1]


@pytest.mark.parametrize(
    ("trees", "message"),
    [
        (["a", {"children": []}], "tree 1, node 0: a nested node needs the key 'label'; found ['children']"),
        ([("a", ["b", ("c",)])], "tree 0, node 2: cannot read tuple as a node; wanted a label, (label, [children])"),
        ([("a", [3.5])], "tree 0, node 1: cannot read float as a node"),
        ([("a", "b")], "tree 0, node 0: children must be a list; found str"),
        ([("a", 3)], "tree 0, node 0: children must be a list; found int"),
        ([("a", {"label": "b"})], "tree 0, node 0: children must be a list; found dict"),
        ([(("a",), [])], "tree 0, node 0: label of type tuple; wanted text, a number or None"),
        ([("a", [{"label": "b", "slot": -1}])], "tree 0, below node 0: slot -1; wanted an integer of 0 or more"),
        ([("a", [{"label": "b", "slot": "1"}])], "tree 0, below node 0: slot '1'; wanted an integer"),
        ([("a", [{"label": "b", "slot": True}])], "tree 0, below node 0: slot True; wanted an integer"),
        ([("a", [{"label": "b", "slot": 2**31 - 1}, "c"])], "slot 2147483648; the largest allowed is 2147483647"),
        # by the number the caller can count to (from the root down), not by the place in post-order
        (
            ["a", ("a", [("b", ["c"]), {"label": "d", "slot": 0}])],
            "tree 1, node 3: two children in slot 0 of one parent; slots must differ",
        ),
        ("abc", "wanted a Forest or a list of nested trees, found str; "),
        ({"label": "a"}, "found dict; read files with arbora.read(...) and wrap a single tree in a list"),
        (3, "found int; "),
    ],
)
def test_bad_nested_trees(trees: Any, message: str) -> None:
    with pytest.raises(ForestError) as error:
        Forest.from_nested(trees)
    assert message in str(error.value)


def test_errors_name_the_document() -> None:
    with pytest.raises(ForestError, match=r'^tree 1 \("b\.xml"\), node 2: two children in slot 0'):
        Forest.from_nested(["a", ("a", ["b", {"label": "c", "slot": 0}])], name=["a.xml", "b.xml"])


def test_forest_error_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="cannot read set"):
        Forest.from_nested([{1}])


# ---- from parents -------------------------------------------------------------------------------------------------


@given(examples.forests(), st.integers(0, 2**32 - 1))
def test_from_parents_in_any_order_equals_from_nested(forest: Forest, seed: int) -> None:
    columns = shuffled_parents(forest, seed)
    again = Forest.from_parents(**columns)
    assert_invariants(again)
    assert again == forest
    assert again.vocabulary == forest.vocabulary
    lists = {key: values.tolist() for key, values in columns.items()}
    assert Forest.from_parents(**lists) == forest
    without = Forest.from_parents(**{key: values for key, values in columns.items() if key != "tree"})
    order = columns["tree"][columns["parent"] < 0]  # trees in the order of their roots
    assert without == forest.take(order)


def test_without_slots_siblings_are_numbered_as_they_come() -> None:
    forest = Forest.from_parents([-1, 0, 0, 1, 0], ["a", "b", "c", "d", "e"])
    assert forest == Forest.from_nested([("a", [("b", ["d"]), "c", "e"])])


def test_tree_numbers_decide_the_order_of_trees() -> None:
    forest = Forest.from_parents([-1, -1, 0], ["a", "b", "c"], tree=[1, 0, 1], name=["first", "second"])
    assert forest == Forest.from_nested(["b", ("a", ["c"])], name=["first", "second"])


def test_labels_by_number_need_a_vocabulary() -> None:
    by_number = Forest.from_parents([-1, 0, 0], [1, UNSEEN, MISSING], vocabulary=["a", "b"])
    assert by_number[0] == {"label": "b", "children": [{"label": None, "unseen": True}, {"label": None}]}
    # without one, numbers are names like any other
    assert Forest.from_parents([-1, 0], [3, -2])[0] == {"label": "3", "children": [{"label": "-2"}]}
    # None among the numbers is missing in both
    assert Forest.from_parents([-1, 0], [1, None], vocabulary=["a", "b"]).label.tolist() == [MISSING, 1]
    assert Forest.from_parents([-1, 0], [None, None], vocabulary=["a"]).label.tolist() == [MISSING, MISSING]


def test_names_outside_a_given_vocabulary_are_unseen() -> None:
    forest = Forest.from_parents([-1, 0, 0], ["b", "z", None], vocabulary=["a", "b"])
    assert forest.label.tolist() == [UNSEEN, MISSING, 1]


def test_all_sequences_serve() -> None:
    want = Forest.from_nested([("a", ["b"])])
    assert Forest.from_parents((-1, 0), ("a", "b"), slot=(-1, 0), tree=(0, 0)) == want
    assert Forest.from_parents(np.array([-1, 0], np.int8), np.array(["a", "b"])) == want
    assert Forest.from_parents(np.array([9, -1, 0])[1:], np.array(["a", "b"], object)) == want
    assert Forest.from_parents(range(-1, 1), ["a", "b"]) == want


def test_labels_that_fixed_width_text_would_spoil() -> None:
    forest = Forest.from_parents([-1, 0, 0], ["a", "a\0", "x" * 100_000])
    assert forest.n_labels == 3
    assert forest.label.tolist() == [1, 2, 0]


def test_the_slot_of_a_root_is_ignored() -> None:
    assert Forest.from_parents([-1, 0], ["a", "b"], slot=[5, 3]).slot.tolist() == [3, -1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"parent": [-1, 5]}, "node 1: parent 5 is not another node; wanted 0..1, or -1 at a root"),
        ({"parent": [-1, -2]}, "node 1: parent -2 is not another node"),
        ({"parent": [-1, 1]}, "node 1: parent 1 is not another node"),
        ({"parent": [-1, 10**12]}, "node 1: parent 1000000000000 is not another node"),
        ({"parent": [-1, 0, 3, 2], "label": list("abcd")}, "node 2: it never reaches a root; the parents form a cycle"),
        ({"parent": [1, 0]}, "node 0: it never reaches a root"),
        ({"parent": [-1.0, 0.0]}, "parent must hold integers; found float64"),
        ({"parent": [[-1], [0]]}, "parent must be one-dimensional; found shape (2, 1)"),
        ({"parent": -1}, "parent must be one-dimensional; found shape ()"),
        ({"parent": [-1]}, "parent has 1 nodes, label 2 and slot 1; they must be as long"),
        ({"slot": [0]}, "parent has 2 nodes, label 2 and slot 1"),
        ({"slot": [-1, -3]}, "tree 0, node 1: slot -3; wanted 0 or more"),
        ({"slot": [-1, 2**31]}, "slot holds 2147483648; wanted -2147483648..2147483647"),
        ({"slot": [-(2**31) - 1, 0]}, "slot holds -2147483649; wanted"),
        ({"tree": [0]}, "parent has 2 nodes and tree 1; they must be as long"),
        ({"tree": [0, -1]}, "node 1: tree number -1; wanted 0 or more"),
        ({"tree": [0, 9]}, "tree number 9 with only 2 nodes; number the trees 0, 1, ..."),
        ({"parent": [-1, -1], "tree": [0, 0]}, "tree 0: 2 roots; a tree has exactly one (parent -1)"),
        ({"parent": [-1, -1, 0], "label": list("abc"), "tree": [0, 2, 0]}, "tree 1: 0 roots"),
        (
            {"parent": [-1, 0, -1], "label": list("abc"), "tree": [0, 1, 1]},
            "node 1: it is of tree 1 and its parent, node 0, of tree 0; give both the same tree number",
        ),
        ({"label": [0, 2], "vocabulary": ["a", "b"]}, "tree 0, node 1: label 2; wanted -2 (missing), -1 (unseen) or a"),
        ({"label": [0, -3], "vocabulary": ["a", "b"]}, "tree 0, node 1: label -3"),
        ({"label": [0, 2**32], "vocabulary": ["a", "b"]}, "label holds 4294967296; wanted"),
        ({"label": np.array([0, 2**32]), "vocabulary": ["a", "b"]}, "label holds 4294967296; wanted"),
        ({"label": [["a"], ["b"]]}, "label must be one-dimensional; found shape (2, 1)"),
        ({"vocabulary": ["a", "a"]}, "the vocabulary names a label twice; names must differ"),
        ({"target": [1, 2]}, "target must have one entry per tree, 1; found shape (2,)"),
        ({"name": []}, "name must have one entry per tree, 1; found shape (0,)"),
    ],
)
def test_bad_parents(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ForestError) as error:
        Forest.from_parents(**{"parent": [-1, 0], "label": ["a", "b"], **arguments})
    assert message in str(error.value)


def test_errors_of_from_parents_name_the_node_as_given() -> None:
    with pytest.raises(ForestError, match=r'^tree 1 \("q"\), node 3: two children in slot 3'):
        Forest.from_parents([2, -1, -1, 2], list("abcd"), slot=[3, -1, -1, 3], name=["p", "q"], tree=[1, 0, 1, 1])


# ---- the constructor ----------------------------------------------------------------------------------------------

GOOD = {"parent": [1, -1, 3, -1], "slot": [0, -1, 2, -1], "label": [0, 1, -1, -2], "tree_start": [0, 2, 4]}


def build(**changes: Any) -> Forest:
    return Forest(**{**GOOD, "vocabulary": ("a", "b"), "name": ["p", "q"], **changes})


def test_the_constructor_takes_columns_in_order() -> None:
    forest = build()
    assert_invariants(forest)
    assert forest[1] == {"label": None, "children": [{"label": None, "unseen": True, "slot": 2}]}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"parent": [1, -1, 2, -1]}, 'tree 1 ("q"), node 0: its parent is 0; wanted a later node of the same tree'),
        ({"parent": [3, -1, 3, -1]}, 'tree 0 ("p"), node 0: its parent is 3; wanted a later node of the same tree'),
        ({"parent": [1, -1, -1, -1]}, 'tree 1 ("q"), node 0: its parent is -3'),
        ({"parent": [1, -1, 9, -1]}, "(children come before parents; Forest.from_parents takes any order)"),
        ({"parent": [1, -1, 3, 2]}, 'tree 1 ("q"), node 1: the last node of a tree must be its root (parent -1)'),
        ({"slot": [0, -1, -1, -1]}, 'tree 1 ("q"), node 0: slot -1; wanted 0 or more'),
        ({"slot": [0, 0, 2, -1]}, 'tree 0 ("p"), node 1: slot 0; wanted -1 at the root'),
        (
            {"label": [0, 2, 0, 0]},
            'tree 0 ("p"), node 1: label 2; wanted -2 (missing), -1 (unseen) or a number below 2',
        ),
        ({"label": [0, 1, -3, 0]}, 'tree 1 ("q"), node 0: label -3; wanted'),
        ({"label": [0, 1]}, "parent has 4 nodes, slot 4, label 2; want as many each"),
        ({"slot": [0, -1]}, "parent has 4 nodes, slot 2, label 4; want as many each"),
        (
            {"tree_start": [0, 2, 2, 4], "name": None},
            "tree 1: it has no nodes; a tree has at least a root, leave empty",
        ),
        ({"tree_start": [0, 3, 2, 4], "name": None}, "tree 1: tree_start falls; offsets must increase"),
        ({"tree_start": [0, 2], "name": None}, "tree_start must run from 0 to the number of nodes, 4; it is 0..2"),
        ({"tree_start": [1, 4], "name": None}, "it is 1..4"),
        ({"tree_start": [], "name": None}, "tree_start must run from 0 to the number of nodes, 4; it is empty"),
        ({"parent": [1.0, -1, 3, -1]}, "parent must hold integers; found float64"),
        ({"parent": [[1, -1, 3, -1]]}, "parent must be one-dimensional; found shape (1, 4)"),
        ({"slot": [2**40, -1, 2, -1]}, "slot holds 1099511627776; wanted -2147483648..2147483647"),
        ({"vocabulary": ("a", "a")}, "the vocabulary names a label twice; names must differ"),
        ({"name": ["p"]}, "name must have one entry per tree, 2; found shape (1,)"),
        ({"target": [[1, 2]]}, "target must have one entry per tree, 2; found shape (1, 2)"),
    ],
)
def test_broken_columns(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ForestError) as error:
        build(**changes)
    assert message in str(error.value)


@pytest.mark.parametrize("slots", [[5, 2, 5, -1], [5, 5, 2, -1], [2, 5, 5, -1]])
def test_one_slot_twice_is_found_in_any_stored_order(slots: list[int]) -> None:
    with pytest.raises(ForestError, match=r"^tree 1, node \d: two children in slot 5 of one parent; slots must differ"):
        Forest([-1, 4, 4, 4, -1], [-1, *slots], [0] * 5, [0, 1, 5], ("a",))


@given(examples.forests(), st.data())
def test_any_damage_is_refused_or_harmless(forest: Forest, data: st.DataObject) -> None:
    """Change one entry of one column: either a ForestError, or columns that hold every invariant."""
    columns: dict[str, Any] = {key: values.copy() for key, values in zip(COLUMNS, forest.arrays, strict=True)}
    column = columns[data.draw(st.sampled_from(sorted(COLUMNS)))]
    column[data.draw(st.integers(0, len(column) - 1))] = data.draw(st.integers(-3, forest.n_nodes + 2))
    try:
        damaged = Forest(**columns, vocabulary=forest.vocabulary)
    except ForestError:
        return
    assert_invariants(damaged)


# ---- layout that kernels rely on ----------------------------------------------------------------------------------


def test_columns_cannot_be_written(awkward_small: Forest) -> None:
    for column in awkward_small.arrays:
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 0
    with pytest.raises(AttributeError):
        awkward_small.parent = np.zeros(1)  # type: ignore[misc, assignment]


def test_the_caller_cannot_change_a_forest_through_its_arrays() -> None:
    mine = np.array([1, -1])
    forest = Forest(mine, [0, -1], [0, 0], [0, 2], ("a",))
    view = mine.view()
    view.flags.writeable = False
    of_view = Forest(view, [0, -1], [0, 0], [0, 2], ("a",))
    target = np.array([3])
    with_target = forest.with_target(target)
    mine[0] = 7
    target[0] = 7
    assert forest.parent.tolist() == of_view.parent.tolist() == [1, -1]
    assert with_target.target is not None
    assert with_target.target.tolist() == [3]
    assert mine.flags.writeable


def test_columns_of_a_forest_are_shared_not_copied() -> None:
    forest = examples.star()
    assert Forest(*forest.arrays, forest.vocabulary).parent is forest.parent
    assert forest.with_name(["x"]).parent is forest.parent


def test_every_way_to_make_a_forest_gives_the_same_layout(awkward_small: Forest) -> None:
    odd_numbers = np.arange(len(awkward_small), dtype=np.int16)[::-1]
    for made in (
        pickle.loads(pickle.dumps(awkward_small)),
        copy.deepcopy(awkward_small),
        awkward_small.take(odd_numbers),
        awkward_small[:],
        awkward_small[[]],
        Forest.concat([awkward_small, awkward_small]),
        awkward_small.canonical(),
        awkward_small.with_vocabulary(["q", *awkward_small.vocabulary[::-1]]),
        awkward_small.with_target(None).with_name(None),
        as_forest(list(awkward_small)),
    ):
        assert_invariants(made)


_ONE_SIGNATURE = """
import numpy as np
from arbora import Forest
from arbora.forest.kernels import layout
from tests import examples

for make in examples.AWKWARD.values():
    forest = make()
    frozen = np.arange(len(forest))
    frozen.flags.writeable = False
    Forest.from_nested(list(forest))
    Forest.from_parents([-1, 0], ["a", "b"]), Forest.from_parents(np.array([9, -1, 0], np.int32)[1:], [1, 2])
    forest[::-1], forest[[0]], forest.take(frozen), forest.take([0]), forest.describe(), forest.canonical()
    Forest.concat([forest, forest])
kernels = [getattr(layout, k) for k in ("check", "post_order", "sibling_rank", "depth", "take_trees")]
print([len(kernel.signatures) for kernel in kernels])
"""


@pytest.mark.compiled
def test_each_kernel_compiles_once() -> None:
    # In a process of its own, so that a second signature is the fault of forest.py and of nobody else.
    root = Path(__file__).parents[2]
    code = f"import sys; sys.path[:0] = [{str(root)!r}, {str(root / 'src')!r}]\n" + _ONE_SIGNATURE
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[1, 1, 1, 1, 1]"


def test_arrays_are_the_node_columns() -> None:
    forest = examples.gaps()
    assert isinstance(forest.arrays, ForestArrays)
    assert forest.arrays._fields == tuple(COLUMNS)


# ---- choosing trees -----------------------------------------------------------------------------------------------


@given(examples.forests(), st.data())
def test_take_equals_twin(forest: Forest, data: st.DataObject) -> None:
    chosen = data.draw(st.lists(st.integers(0, len(forest) - 1), max_size=6))
    taken = forest.with_name([f"n{t}" for t in range(len(forest))]).take(chosen)
    assert_invariants(taken)
    assert twins(taken) == [twins(forest)[t] for t in chosen]
    assert taken.name is not None
    assert taken.name.tolist() == [f"n{t}" for t in chosen]
    assert taken.vocabulary == forest.vocabulary


def test_brackets() -> None:
    forest = Forest.from_nested(["a", "b", "c", "d"], target=[0, 1, 2, 3])
    assert forest[1] == forest[-3] == forest[np.int64(1)] == forest[np.array(1)] == {"label": "b"}
    assert forest[1:3] == forest.take([1, 2]) == forest[[1, 2]] == forest[np.array([1, 2])] == forest[[-3, -2]]
    assert forest[[False, True, True, False]] == forest[np.array([0, 1, 1, 0], bool)] == forest.take([1, 2])
    assert forest[::-1] == forest.take([3, 2, 1, 0])
    assert forest[[2, 2]] == forest.take([2, 2])
    assert forest[np.array([1, 2]), ...] == forest.take([1, 2])  # as scikit-learn asks
    assert len(forest[[]]) == len(forest[4:]) == len(forest[np.zeros(4, bool)]) == 0


@pytest.mark.parametrize("key", [4, -5, np.int64(4), [4], [True, False], "a", 1.0, ([0], [0])])
def test_brackets_beyond_the_forest(key: Any) -> None:
    with pytest.raises(IndexError):
        Forest.from_nested(["a", "b", "c", "d"])[key]


@pytest.mark.parametrize("key", [True, None, np.zeros((2, 2), int)])
def test_brackets_that_mean_nothing(key: Any) -> None:
    with pytest.raises(ForestError, match="take: wanted a list of tree numbers; found shape"):
        Forest.from_nested(["a", "b", "c", "d"])[key]


def test_take_refuses_what_is_not_a_tree_number() -> None:
    forest = Forest.from_nested(["a", "b"])
    with pytest.raises(ForestError, match=r"take: tree numbers must lie in 0\.\.1; found -1\.\.2"):
        forest.take([2, 0, -1])
    with pytest.raises(ForestError, match=r"found shape \(2,\) of bool \(a mask goes in \[\]\)"):
        forest.take([True, False])
    with pytest.raises(ForestError, match="of float64"):
        forest.take([0.0])
    with pytest.raises(ForestError, match=r"found shape \(\)"):
        forest.take(0)


def test_iteration_gives_nested_trees() -> None:
    forest = examples.duplicates()
    assert list(forest) == [forest[t] for t in range(len(forest))]


# ---- putting together ---------------------------------------------------------------------------------------------


@given(st.lists(examples.forests(min_trees=0), min_size=1, max_size=4))
def test_concat_equals_twin(parts: list[Forest]) -> None:
    whole = Forest.concat(parts)
    assert_invariants(whole)
    assert twins(whole) == [twin for part in parts for twin in twins(part)]
    assert whole.vocabulary[: parts[0].n_labels] == parts[0].vocabulary


@given(examples.forests(max_trees=6), st.integers(0, 6))
def test_a_forest_is_the_sum_of_its_parts(forest: Forest, cut: int) -> None:
    assert Forest.concat([forest[:cut], forest[cut:]]) == forest


def test_concat_unites_vocabularies_targets_and_names() -> None:
    a = Forest.from_nested([("b", ["z"])], vocabulary=["b", "a"], target=["x"], name=["1"])
    b = Forest.from_nested(["c", "a"], target=["long", "y"], name=["2", "3"])
    whole = Forest.concat(iter([a, b]))
    assert whole.vocabulary == ("b", "a", "c")
    assert whole.target is not None
    assert whole.name is not None
    assert whole.target.tolist() == ["x", "long", "y"]
    assert whole.name.tolist() == ["1", "2", "3"]
    assert whole.label.tolist() == [UNSEEN, 0, 2, 1]


def test_concat_refuses_nothing_and_halves() -> None:
    with pytest.raises(ForestError, match="nothing to concatenate; give at least one forest"):
        Forest.concat([])
    with pytest.raises(ForestError, match="some of the forests have a target and some have none; give it to all"):
        Forest.concat([Forest.from_nested(["a"], target=[1]), Forest.from_nested(["a"])])
    with pytest.raises(ForestError, match="have a name"):
        Forest.concat([Forest.from_nested(["a"], name=["n"]), Forest.from_nested(["a"])])


# ---- vocabulary, target and name ----------------------------------------------------------------------------------


def test_with_vocabulary_renumbers() -> None:
    forest = Forest.from_nested([("a", ["b", None, "c"])], vocabulary=["a", "b"])
    other = forest.with_vocabulary(["x", "b"])
    assert other.label.tolist() == [1, MISSING, UNSEEN, UNSEEN]
    assert forest.with_vocabulary(["a", "b"]) is forest
    # what was forgotten does not come back
    assert other.with_vocabulary(["a", "b", "c"]).label.tolist() == [1, MISSING, UNSEEN, UNSEEN]
    with pytest.raises(ForestError, match="names a label twice"):
        forest.with_vocabulary(["x", "x"])


@pytest.mark.parametrize("target", [[1, 2], ["x", "y"], [0.5, np.nan], [True, False], np.array([3, 4], np.uint8)])
def test_targets_keep_their_kind(target: Any) -> None:
    forest = Forest.from_nested(["a", "b"]).with_target(target)
    assert forest.target is not None
    assert forest.target.dtype == np.asarray(target).dtype
    assert not forest.target.flags.writeable
    assert pickle.loads(pickle.dumps(forest)) == forest


def test_other_targets_become_text() -> None:
    forest = Forest.from_nested(["a", "b"], target=[1, "x"])
    assert forest.target is not None
    assert forest.target.tolist() == ["1", "x"]
    assert Forest.from_nested(["a"], target=np.array([("t",)], object)[:, 0]).target is not None


def test_names_become_text() -> None:
    forest = Forest.from_nested(["a", "b"], name=[1, "x" * 1000])
    assert forest.name is not None
    assert forest.name.tolist() == ["1", "x" * 1000]
    with pytest.raises(ForestError, match="name must have one entry per tree, 2"):
        forest.with_name(["x"])
    with pytest.raises(ForestError, match="target must have one entry per tree, 2"):
        forest.with_target([1])


# ---- equality, repr, copying --------------------------------------------------------------------------------------


def test_equality_ignores_stored_order_and_spare_words() -> None:
    forest = examples.siblings_out_of_order()
    assert forest == Forest.from_nested(list(forest))
    assert examples.breadth_first() == Forest.from_nested(list(examples.breadth_first()))
    assert examples.spare_vocabulary() == Forest.from_nested([("b", ["d", "b"])])


@pytest.mark.parametrize(
    "other",
    [
        [("a", ["b", "c"]), "a"],
        [("a", ["c", "b"])],
        [("a", ["b", {"label": "c", "slot": 2}])],
        [("a", [("b", ["c"])])],
        [("a", ["b", None])],
        [("a", ["b"])],
        [],
    ],
)
def test_inequality(other: list[Any]) -> None:
    assert Forest.from_nested([("a", ["b", "c"])]) != Forest.from_nested(other)


def test_inequality_of_target_name_and_kind() -> None:
    forest = Forest.from_nested(["a"])
    assert forest != forest.with_target([0])
    assert forest.with_target([0]) != forest.with_target([1])
    assert forest.with_target([0]) == forest.with_target([0])
    assert forest.with_name(["x"]) != forest.with_name(["y"])
    assert forest != ["a"]
    with pytest.raises(TypeError, match="unhashable"):
        hash(forest)


@given(examples.forests())
def test_canonical_is_a_fixed_point_in_post_order(forest: Forest) -> None:
    canonical = forest.canonical()
    assert canonical == forest
    assert twins(canonical) == twins(forest)
    again = canonical.canonical()
    assert canonical.vocabulary == again.vocabulary == tuple(sorted(canonical.vocabulary))
    assert all(np.array_equal(a, b) for a, b in zip(canonical.arrays, again.arrays, strict=True))


def test_pickle_keeps_everything(awkward: Forest) -> None:
    again = pickle.loads(pickle.dumps(awkward))
    assert again == awkward
    assert again.vocabulary == awkward.vocabulary
    assert all(np.array_equal(a, b) for a, b in zip(again.arrays, awkward.arrays, strict=True))


def test_repr() -> None:
    assert repr(examples.gaps()) == "Forest(2 trees, 6 nodes, 3 labels, 8 slots)"


def test_as_forest() -> None:
    forest = examples.star()
    assert as_forest(forest) is forest
    assert as_forest(list(forest)) == forest
    with pytest.raises(ForestError, match=r"found str; read files with arbora\.read"):
        as_forest("corpus.xml")


# ---- describe -----------------------------------------------------------------------------------------------------


def test_describe_exactly() -> None:
    trees = [("a", ["b", ("c", ["d", None, "z"])]), "a", ("a", [{"label": "b", "slot": 4}]), "b", ("c", ["a", "a"])]
    forest = Forest.from_nested(trees, vocabulary=["a", "b", "c", "d", "e"], target=["x", "y", "x", "x", "y"])
    assert forest.describe() == {
        "n_trees": 5,
        "n_nodes": 13,
        "n_labels": 5,
        "n_slots": 5,
        "tree_size_quartiles": [1, 1, 2, 3, 6],
        "max_depth": 2,
        "max_children": 3,
        "leaf_fraction": 9 / 13,
        "n_missing_labels": 1,
        "n_unseen_labels": 1,
        "top_labels": {"a": 5, "b": 3, "c": 2, "d": 1},
        "n_classes": 2,
    }


def test_describe_depth_and_width() -> None:
    assert examples.deep_chain().describe()["max_depth"] == 9_999
    assert examples.wide_node().describe()["max_children"] == 5_000
    assert examples.far_slot().n_slots == 10_000
    assert examples.single_nodes().n_slots == 0


# ---- no trees at all ----------------------------------------------------------------------------------------------


def test_a_forest_without_trees_is_legal() -> None:
    empty = examples.empty()
    assert_invariants(empty)
    assert empty == Forest.from_parents([], []) == Forest([], [], [], [0], ())
    assert empty == Forest.from_parents(np.zeros(0, int), [], slot=[], tree=[], vocabulary=["a"])
    assert len(empty) == empty.n_slots == empty.n_nodes == 0
    assert empty.shape == (0,)
    assert list(empty) == []
    assert empty == empty.take([]) == empty[:] == empty.canonical() == Forest.concat([empty, empty])
    assert Forest.concat([empty, examples.star()]) == examples.star()
    assert pickle.loads(pickle.dumps(empty)) == empty
    assert repr(empty) == "Forest(0 trees, 0 nodes, 0 labels, 0 slots)"
    with pytest.raises(IndexError):
        empty[0]


def test_describe_has_the_same_keys_without_trees() -> None:
    told = examples.empty().describe()
    assert told.keys() == examples.star().describe().keys()
    assert told == {
        "n_trees": 0,
        "n_nodes": 0,
        "n_labels": 0,
        "n_slots": 0,
        "tree_size_quartiles": [0, 0, 0, 0, 0],
        "max_depth": 0,
        "max_children": 0,
        "leaf_fraction": 0.0,
        "n_missing_labels": 0,
        "n_unseen_labels": 0,
        "top_labels": {},
        "n_classes": None,
    }


def test_choosing_no_tree_keeps_vocabulary_and_target() -> None:
    none = Forest.from_nested(["a", "b"], target=[1, 2], name=["x", "y"])[[]]
    assert none.vocabulary == ("a", "b")
    assert none.target is not None
    assert none.target.shape == (0,)


# ---- inside scikit-learn ------------------------------------------------------------------------------------------


class BySize(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """The smallest estimator that takes a Forest: two groups, by a threshold on the number of nodes."""

    def __init__(self, threshold: int = 1) -> None:
        self.threshold = threshold

    def fit(self, X: Forest, y: Any = None) -> "BySize":
        assert isinstance(X, Forest)
        self.labels_ = self.predict(X)
        return self

    def predict(self, X: Forest) -> Any:
        return (X.sizes > self.threshold).astype(int)

    def score(self, X: Forest, y: Any = None) -> float:
        return float((self.predict(X) == y).mean())


@pytest.fixture
def sized() -> tuple[Forest, Any]:
    forest = Forest.from_nested([("a", ["b"] * (t % 4)) for t in range(40)])
    target = (forest.sizes > 2).astype(int)
    return forest.with_target(target).with_name([f"t{t}" for t in range(40)]), target


def test_train_test_split(sized: tuple[Forest, Any]) -> None:
    forest, target = sized
    train, test, y_train, y_test = train_test_split(forest, target, test_size=0.25, random_state=0, stratify=target)
    assert (len(train), len(test)) == (30, 10)
    assert_invariants(train)
    assert sorted([*train.name, *test.name]) == sorted(forest.name)
    assert train.target.tolist() == y_train.tolist()
    assert test.target.tolist() == y_test.tolist()


def test_grid_search(sized: tuple[Forest, Any]) -> None:
    forest, target = sized
    for cv in (KFold(4), StratifiedKFold(4)):
        search = GridSearchCV(BySize(), {"threshold": [0, 1, 2, 3]}, cv=cv).fit(forest, target)
        assert search.best_params_ == {"threshold": 2}
        assert search.best_score_ == 1
    pipeline = Pipeline([("group", BySize(2))])
    assert cross_val_score(pipeline, forest, target, cv=4).tolist() == [1, 1, 1, 1]


def test_shuffle_and_resample(sized: tuple[Forest, Any]) -> None:
    forest, target = sized
    mixed, mixed_target = shuffle(forest, target, random_state=0)
    assert mixed.target.tolist() == mixed_target.tolist()
    assert sorted(mixed.name) == sorted(forest.name)
    drawn = resample(forest, n_samples=100, random_state=0)
    assert len(drawn) == 100
    assert_invariants(drawn)


# ---- extremes -----------------------------------------------------------------------------------------------------


@pytest.mark.compiled
def test_a_chain_of_a_million_nodes() -> None:
    n = 1_000_000
    forest = examples.chain_of(n)
    assert forest.describe()["max_depth"] == n - 1
    assert forest.parent[:3].tolist() == [1, 2, 3]
    assert forest.label[-2:].tolist() == [1, 0]
    backwards = Forest.from_parents(np.append(np.arange(1, n), -1), np.arange(n)[::-1] % 2, vocabulary=["a", "b"])
    assert backwards == forest
    assert forest[[0, 0]].n_nodes == 2 * n


@pytest.mark.compiled
def test_a_nested_chain_of_100_000_nodes() -> None:
    n = 100_000
    tree: Any = "a"
    for _ in range(n - 1):
        tree = ("a", [tree])
    forest = Forest.from_nested([tree])
    assert forest.describe()["max_depth"] == n - 1
    assert Forest.from_nested(list(forest)) == forest


@pytest.mark.compiled
def test_a_node_with_100_000_children() -> None:
    forest = examples.star_of(100_000)
    assert forest.describe()["max_children"] == forest.n_slots == 100_000
    assert len(forest[0]["children"]) == 100_000
    assert Forest.from_nested([("a", ["b"] * 100_000)]).n_slots == 100_000
    reverse = np.append(np.arange(100_000)[::-1], -1).astype(np.int32)
    columns = (np.append(np.full(100_000, 100_000), -1), reverse, np.zeros(100_001, int), [0, 100_001])
    assert Forest(*columns, ("a",)).n_slots == 100_000  # type: ignore[arg-type]


def test_the_largest_slot() -> None:
    forest = Forest.from_nested([("a", [{"label": "b", "slot": 2**31 - 1}])])
    assert forest.n_slots == 2**31
    assert Forest.from_nested(list(forest)) == forest


def test_layout_kernels_directly() -> None:
    # read-only, as a forest's columns are: anything else would compile a second signature
    assert layout.depth(frozen([2, 2, -1, 4, -1], np.int64)).tolist() == [1, 1, 0, 1, 0]
    assert layout.sibling_rank(frozen([-1, 0, 0, 1, 0], np.int64)).tolist() == [-1, 0, 1, 0, 2]
    node, start = layout.post_order(frozen([-1, 0, 0, 1], np.int64), np.array([0, 1, 2, 3]), np.array([0]))
    assert node.tolist() == [3, 1, 2, 0]
    assert start.tolist() == [0, 4]
