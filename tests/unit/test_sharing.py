"""Sharing finds exactly the distinct subtrees, and nothing but identical ones."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given

from arbora import Forest
from arbora.forest.kernels import hash_consing
from arbora.forest.sharing import share
from tests import examples


def slow_units(forest, n_slots):
    """Distinct (label, slot, crowd, children) keys by Python dictionaries, and the key of every tree."""
    keys: dict[tuple, int] = {}
    roots = []
    for t in range(forest.n_trees):
        lo, hi = forest.tree_start[t], forest.tree_start[t + 1]
        unit = {}
        for u in range(lo, hi):
            below = [v for v in range(lo, hi) if forest.parent[v] == u]
            children = tuple(unit[v] for v in sorted(below, key=lambda v: forest.slot[v]))
            slot = min(int(forest.slot[u]), n_slots - 1)
            mates = [v for v in range(lo, hi) if forest.parent[v] == forest.parent[u] and forest.parent[u] >= 0]
            crowd = sum(min(int(forest.slot[v]), n_slots - 1) == slot for v in mates) or 1
            unit[u] = keys.setdefault((int(forest.label[u]), slot, crowd, children), len(keys))
        roots.append(unit[hi - 1])
    return keys, roots


def unit_keys(shard):
    """The same keys, read off a shard."""
    units = shard.units
    start = units.child_start
    return [
        (
            int(units.label[d]),
            int(units.slot[d]),
            int(units.crowd[d]) if len(units.crowd) else 1,
            tuple(units.child[start[d] : start[d + 1]].tolist()),
        )
        for d in range(shard.n_units)
    ]


@given(examples.forests())
def test_units_equal_the_slow_dictionary(forest):
    if forest.n_trees == 0:
        assert share(forest.arrays, 1) == []
        return
    for n_slots in {max(1, forest.n_slots), max(1, forest.n_slots - 1), 1}:
        (shard,) = share(forest.arrays, n_slots)
        keys, roots = slow_units(forest, n_slots)
        assert unit_keys(shard) == list(keys)  # numbered by first occurrence, so the hash seed cannot show
        assert shard.tree_root[shard.tree_id].tolist() == roots
        assert (shard.tree_id[shard.tree_first] == np.arange(shard.n_distinct_trees)).all()


@pytest.mark.parametrize("n_slots", [3, 2])  # with two, crowds of the last slot tell units apart
def test_subtrees_that_hash_alike_stay_apart(monkeypatch, n_slots):
    """With a hash that is the same for all, keys are compared in full: labels, slots, crowds and children."""
    trees = [
        ("a", ["b"]),
        ("a", ["c"]),
        {"label": "a", "children": [{"label": "b", "slot": 1}]},
        {"label": "a", "children": [{"label": "b", "slot": 1}, {"label": "b", "slot": 2}]},
        ("b", ["b", "c"]),
    ]
    forest = Forest.from_nested(trees)
    slot = np.minimum(forest.slot, n_slots - 1).astype(np.int32)
    crowd = hash_consing.crowding(forest.parent, slot, n_slots - 1)
    columns = (forest.parent, slot, forest.label, forest.tree_start)
    plain = getattr(hash_consing.hash_cons, "py_func", hash_consing.hash_cons)
    monkeypatch.setattr(hash_consing, "_hash_of", lambda seed, key, ids: np.uint64(7))
    label, slots, crowds, start, child, roots = plain(columns, crowd, 0, 1000, True, 0)
    children = [tuple(child[lo:hi].tolist()) for lo, hi in pairwise(start)]
    keys, wanted = slow_units(forest, n_slots)
    assert list(zip(label.tolist(), slots.tolist(), crowds.tolist(), children, strict=True)) == list(keys)
    assert roots.tolist() == wanted


def test_awkward_forests_share_as_the_slow_dictionary(awkward_small):
    n_slots = max(1, awkward_small.n_slots)
    (shard,) = share(awkward_small.arrays, n_slots)
    assert unit_keys(shard) == list(slow_units(awkward_small, n_slots)[0])


def test_without_sharing_every_node_is_a_unit_in_the_order_of_the_forest(awkward):
    (shard,) = share(awkward.arrays, max(1, awkward.n_slots), shared=False)
    assert shard.n_units == awkward.n_nodes
    assert np.array_equal(shard.units.label, awkward.label)
    assert np.array_equal(shard.units.slot, awkward.slot)
    parent = np.full(shard.n_units, -1)
    parent[shard.units.child] = np.repeat(np.arange(shard.n_units), np.diff(shard.units.child_start))
    assert np.array_equal(parent, awkward.parent)
    assert np.array_equal(shard.tree_root, awkward.tree_start[1:] - 1)


def test_shards_cover_all_trees_once_and_respect_the_limit():
    forest = examples.random_forest(n_trees=400, max_nodes=15, seed=4)
    shards = share(forest.arrays, forest.n_slots, max_units=100)
    assert sum(shard.n_trees for shard in shards) == 400
    assert len(shards) > 3
    assert all(shard.n_units < 100 + 15 for shard in shards)
    assert sum(shard.sum_by_tree(None).sum() for shard in shards) == 400


def test_structure_counts_equal_counting_by_hand(awkward_small):
    n_slots = max(1, awkward_small.n_slots)
    (shard,) = share(awkward_small.arrays, n_slots)
    s = shard.structure
    for t in range(awkward_small.n_trees):
        d = shard.tree_id[t]
        lo, hi = awkward_small.tree_start[t], awkward_small.tree_start[t + 1]
        slot = awkward_small.slot[lo : hi - 1]
        internal = np.unique(awkward_small.parent[lo : hi - 1])
        assert s.n_nodes[d] == hi - lo
        assert s.n_internal[d] == len(internal)
        by_slot = np.bincount(slot, minlength=n_slots)
        assert np.array_equal(s.in_slot.toarray()[d], by_slot)
        assert np.array_equal(s.with_slot.toarray()[d], by_slot)  # nothing is pooled here
        assert s.with_pattern.toarray()[d].sum() == len(internal)
    assert len(np.unique(s.pattern.toarray(), axis=0)) == s.pattern.shape[0]


def test_pooled_slots_are_counted_once_as_occupied():
    forest = Forest.from_nested([("a", ["b", "c", "d", "e"])])
    (shard,) = share(forest.arrays, 2)
    assert shard.units.crowd.tolist() == [1, 3, 3, 3, 1]
    assert shard.structure.in_slot.toarray().tolist() == [[1, 3]]
    assert shard.structure.with_slot.toarray().tolist() == [[1, 1]]


@pytest.mark.compiled
def test_repeated_trees_cost_no_units():
    forest = examples.random_forest(n_trees=50, max_nodes=10)
    (once,) = share(forest.arrays, forest.n_slots)
    (often,) = share(forest.take(np.tile(np.arange(50), 100)).arrays, forest.n_slots)
    assert often.n_units == once.n_units
    assert (often.sum_by_tree(None) == 100 * once.sum_by_tree(None)).all()
