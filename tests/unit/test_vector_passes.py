"""The passes in vectors against those in plain loops: equal to rounding in every reading; and which of both run."""

import os
import subprocess
import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from arbora import Forest
from arbora.forest import sharing
from arbora.forest.sharing import share
from arbora.jit import jit
from arbora.models.hidden_tree import lanes, shard_passes
from arbora.models.hidden_tree import node_posteriors as nodes
from arbora.models.hidden_tree import switching_tree as st
from arbora.models.hidden_tree import top_down_tree as down
from arbora.models.hidden_tree.emissions import columns
from arbora.models.hidden_tree.emissions.choice import emission_for
from arbora.models.hidden_tree.kernels import content_vectors as content
from arbora.models.hidden_tree.kernels import vector_functions as functions
from arbora.models.hidden_tree.kernels import vectors
from arbora.models.hidden_tree.passes import Batch, MixtureParams
from arbora.models.hidden_tree.tree_model import named, split, wanted
from tests.unit.test_content import nested
from tests.unit.test_tree_model import READINGS, draw, random_forest

pytestmark = pytest.mark.compiled


@jit
def logs(x, out):
    for r in range(len(x) // 4):
        vectors.store(out, r, functions.log(vectors.load(x, r, vectors.ONE)))


def test_logarithms_are_those_of_numpy():
    rng = np.random.default_rng(0)
    x = np.concatenate(
        [10.0 ** rng.uniform(-307.0, 308.0, 4000), rng.uniform(0.5, 2.0, 4000), 1.0 + 1e-9 * rng.random(4)]
    )
    found = np.empty_like(x)
    logs(x, found)
    np.testing.assert_allclose(found, np.log(x), rtol=4e-16, atol=0.0)
    logs(np.array([1.0, np.inf, np.nan, 2.0]), found[:4])
    np.testing.assert_array_equal(found[:4], [0.0, np.nan, np.nan, np.log(2.0)])


@jit
def powers(x, out):
    for r in range(len(x) // 4):
        vectors.store(out, r, functions.power_of_two(vectors.load(x, r, vectors.ONE)))


def test_powers_are_those_of_numpy():
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.uniform(-1022.0, 0.0, 4000), rng.uniform(-2.0, 2.0, 4000), -np.arange(1024.0)])
    found = np.empty_like(x)
    powers(x, found)
    np.testing.assert_allclose(found[:-1], np.exp2(x[:-1]), rtol=4e-16, atol=0.0)
    powers(np.array([0.0, -np.inf, -1023.0, -1e300]), found[:4])
    np.testing.assert_array_equal(found[:4], [1.0, 0.0, 0.0, 0.0])


def results(monkeypatch, on, spec, params, forest, shared=True):
    """Everything that the passes say of a forest, in vectors or in plain loops."""
    monkeypatch.setattr(lanes, "VECTORS", on)
    n = params.transition.shape[-1]
    shards = share(forest.arrays, spec.n_slots, shared=shared, content=forest.rows(wanted(spec)))
    batch = Batch(spec, shards, None, 1)
    counts, total = batch.expected_counts(MixtureParams(np.full(n, 1.0 / n), params))
    given = batch.expected_counts(
        MixtureParams(np.full(n, 1.0 / n), params), np.random.default_rng(0).random((forest.n_trees, n))
    )[0]
    by_node = nodes.posterior(spec, params, forest, np.ones((forest.n_trees, n)))
    of_trees = (batch.log_likelihood(params), batch.root_posterior(params), by_node, np.array(total))
    return (*of_trees, counts.weight, *named(counts.tree).values(), *named(given.tree).values())


def farthest(found, wanted):
    """Largest difference, relative to the larger of both; what is not finite must be the same."""
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(np.isfinite(a), np.isfinite(b))
    with np.errstate(invalid="ignore"):
        apart = [
            np.abs(a - b) / np.maximum(np.maximum(np.abs(a), np.abs(b)), 1e-300)
            for a, b in zip(found, wanted, strict=True)
        ]
    return max(float(np.nan_to_num(x).max(initial=0.0)) for x in apart)


@pytest.mark.parametrize(("absent", "structure"), READINGS)
@pytest.mark.parametrize(("n_slots", "n_components"), [(4, 5), (2, 4), (2, 11)])  # with two, slots are pooled
def test_results_equal_those_of_plain_loops(monkeypatch, absent, structure, n_slots, n_components):
    rng = np.random.default_rng(n_components)
    forest = random_forest(rng, 40, 30, n_slots=4)
    spec = st.SwitchingTree.of_labels(n_slots, 3, 3, absent, structure, pooled=n_slots < 4)
    params = draw(rng, spec, n_components)
    params.emission[0, :, 0] = 0.0  # the first component knows no trees with the first label
    found = results(monkeypatch, True, spec, params, forest)
    assert np.isinf(found[0]).any()  # impossible trees are among them
    assert np.isfinite(found[0]).any()
    assert farthest(found, results(monkeypatch, False, spec, params, forest)) < 1e-12
    plain = results(monkeypatch, True, spec, params, forest, shared=False)
    assert farthest(plain, results(monkeypatch, False, spec, params, forest, shared=False)) < 1e-12


def wide_trees(rng, vocabulary):
    """Trees of 600 to 1,500 children, whose products need logarithms where labels are not nearly certain."""
    labels = [rng.integers(0, 3, int(rng.integers(600, 1500))) for _ in range(4)] + [np.zeros(1200, np.int64)]
    tree = np.repeat(np.arange(len(labels)), [len(x) + 1 for x in labels])
    root = np.concatenate([np.append(np.full(len(x), len(x)), -1) for x in labels])
    parent = np.where(root < 0, -1, root + np.searchsorted(tree, tree))
    slot = np.concatenate([np.append(np.arange(len(x)), -1) for x in labels])
    label = np.concatenate([np.append(x, 0) for x in labels]).astype(np.int32)
    return Forest.from_parents(parent, label, slot=slot, tree=tree, vocabulary=vocabulary)


def top_down_case(structure, tied, n_slots, n_components, wide=False):
    """A model, parameters with zeros among them, and trees; wide ones need logarithms in some components."""
    rng = np.random.default_rng(n_components)
    forest = random_forest(rng, 40, 30, n_slots=4)
    if wide:
        forest = Forest.concat([forest, wide_trees(rng, forest.vocabulary)])
    spec = down.of_labels(n_slots, 3, 3, structure=structure, tied=tied, pooled=wide)  # else crowds are of new trees
    params = spec.draw(rng, n_components)
    params.emission[0, :, 0] = 0.0  # the first component knows no trees with the first label
    params.emission[..., 1] = np.array([0.9999, 5e-5, 5e-5])[:, None]  # the second has no need of logarithms
    params.transition[0, 0, :, 2] = [1.0, 0.0, 0.0]
    params.root[:, 3] = [0.0, 1.0, 0.0]
    return spec, params, forest


@pytest.mark.parametrize(
    ("structure", "tied"), [(None, False), (None, True), ("branching", False), ("state", False), ("state", True)]
)
@pytest.mark.parametrize(
    ("n_slots", "n_components", "wide", "bound"), [(4, 5, False, 1e-12), (2, 11, False, 1e-12), (2, 4, True, 1e-10)]
)  # of a thousand logarithms, the sum has no more digits
def test_top_down_results_equal_those_of_plain_loops(monkeypatch, structure, tied, n_slots, n_components, wide, bound):
    spec, params, forest = top_down_case(structure, tied, n_slots, n_components, wide)
    found = results(monkeypatch, True, spec, params, forest)
    assert np.isinf(found[0]).any()
    assert np.isfinite(found[0]).any()
    assert farthest(found, results(monkeypatch, False, spec, params, forest)) < bound
    plain = results(monkeypatch, True, spec, params, forest, shared=False)
    assert farthest(plain, results(monkeypatch, False, spec, params, forest, shared=False)) < bound


def one_by_one(monkeypatch, spec, params, forest, bound):
    """Each component alone: in vectors over its states and in plain loops; log P(tree) of all."""
    found = []
    for one in split(params).values():
        for shared in (True, False):
            ours, plain = (results(monkeypatch, on, spec, one, forest, shared) for on in (True, False))
            ours, plain = ((x[0] - 1.0, *x[1:]) for x in (ours, plain))  # trees without labels have a logarithm near 0
            assert farthest(ours, plain) < bound
        found.append(plain[0])
    return np.concatenate(found, axis=1)


@pytest.mark.parametrize(("absent", "structure"), READINGS)
@pytest.mark.parametrize("n_slots", [4, 2])  # with two, slots are pooled
def test_results_of_one_component_equal_those_of_plain_loops(monkeypatch, absent, structure, n_slots):
    rng = np.random.default_rng(n_slots)
    forest = random_forest(rng, 40, 30, n_slots=4)
    spec = st.SwitchingTree.of_labels(n_slots, 3, 3, absent, structure, pooled=n_slots < 4)
    params = draw(rng, spec, 2)
    params.emission[0, :, 0] = 0.0
    log_prob = one_by_one(monkeypatch, spec, params, forest, 1e-12)
    assert np.isinf(log_prob).any()
    assert np.isfinite(log_prob[:, 1]).all()


@pytest.mark.parametrize(
    ("structure", "tied"), [(None, False), (None, True), ("branching", False), ("state", False), ("state", True)]
)
@pytest.mark.parametrize("wide", [False, True])
def test_top_down_results_of_one_component_equal_those_of_plain_loops(monkeypatch, structure, tied, wide):
    case = top_down_case(structure, tied, 2 if wide else 4, 4, wide)
    log_prob = one_by_one(monkeypatch, *case, 1e-10 if wide else 1e-12)
    assert np.isinf(log_prob).any()
    assert np.isfinite(log_prob).any()


@pytest.mark.parametrize("n_states", [1, 2, 5, 8, 13, lanes.MOST_STATES])
@pytest.mark.parametrize("of_labels", [st.SwitchingTree.of_labels, down.of_labels])
def test_any_number_of_states_of_one_component_is_a_vector(monkeypatch, of_labels, n_states):
    rng = np.random.default_rng(n_states)
    forest = random_forest(rng, 30, 20, n_slots=4)
    spec = of_labels(4, 3, n_states)
    one_by_one(monkeypatch, spec, spec.draw(rng, 1), forest, 1e-12)


@pytest.mark.parametrize("window", [1, 7, sharing.WINDOW])
def test_units_in_layers_are_the_same_trees(monkeypatch, window):
    monkeypatch.setattr(sharing, "WINDOW", window)
    rng = np.random.default_rng(window)
    forest = random_forest(rng, 40, 30, n_slots=4)
    spec = st.SwitchingTree.of_labels(2, 3, 3, structure="branching", pooled=True)
    (shard,) = share(forest.arrays, 2)
    layered = shard.in_layers()
    units = layered.units
    assert (units.child < np.repeat(np.arange(layered.n_units), np.diff(units.child_start))).all()
    assert (window == 1) == np.array_equal(units.label, shard.units.label)
    given = MixtureParams(np.ones(1), spec.draw(rng, 1))
    one, two = (Batch(spec, [x], None, 1) for x in (shard, layered))
    np.testing.assert_allclose(one.log_likelihood(given.tree), two.log_likelihood(given.tree), rtol=1e-13)
    counts = [named(batch.expected_counts(given)[0].tree).values() for batch in (one, two)]
    assert farthest(*counts) < 1e-12


def test_improbable_labels_meet_floor_and_ceiling_alike(monkeypatch):
    """Ratios of posterior to prior that would overflow are cut, and labels below the floor are impossible."""
    forest = Forest.from_nested([("x", [("x", [("x", ["x"])])]), "y", ("z", ["z"])])
    spec = st.SwitchingTree.of_labels(1, 3, 2)
    params = spec.draw(np.random.default_rng(0), 3)
    leaf, transition = np.zeros_like(params.leaf), np.zeros_like(params.transition)
    leaf[:, 0] = transition[0, 0, 0] = transition[0, 1, 1] = transition[0, 2, 0] = 1.0  # nothing is in the second state
    emission = np.ones_like(params.emission)
    emission[:, 0] = np.array([1e-190, 1e-210, 1e-199])[:, None]
    params = params._replace(leaf=leaf, transition=transition, emission=emission)
    found, wanted = (results(monkeypatch, on, spec, params, forest) for on in (True, False))
    assert np.isfinite(found[0]).all(axis=1).tolist() == [True, False, True]
    assert not any(np.isnan(x).any() for x in found)
    assert farthest(found, wanted) < 1e-12
    one_by_one(monkeypatch, spec, params, forest, 1e-12)


def with_content(kind=st.SwitchingTree, n_components=5):
    """Trees with five columns, a part of whose contents and subtrees are equal, a model, and impossible words."""
    few = [{**tree, "content": {"ok": True}} if t % 3 else tree for t, tree in enumerate(nested(3, 30))] * 2
    forest = Forest.from_nested(few)
    forest = forest.with_content({**forest.content, "x": forest.content["x"].values * 30.0})
    spec = kind(forest.n_slots, emission_for("auto", forest), 3, structure="branching")
    params = spec.draw(np.random.default_rng(0), n_components)
    for key, (column, family) in zip(params.emission, spec.emission.families, strict=True):
        if family.name == "categorical":
            params.emission[key][0, :2] = 0.0
            params.emission[key][0, :, 0] = 0.0 if column == "label" else params.emission[key][0, :, 0]
        elif family.name == "poisson":
            params.emission[key][0] = 0.0
    return forest, spec, params


@pytest.mark.parametrize("kind", [st.SwitchingTree, down.TopDownTree])
@pytest.mark.parametrize("shared", [True, False])
def test_results_with_content_equal_those_of_plain_loops(monkeypatch, shared, kind):
    forest, spec, params = with_content(kind)
    found = results(monkeypatch, True, spec, params, forest, shared)
    assert np.isinf(found[0]).any()  # impossible trees are among them
    assert np.isfinite(found[0]).any()
    assert farthest(found, results(monkeypatch, False, spec, params, forest, shared)) < 1e-11
    one_by_one(monkeypatch, spec, params, forest, 1e-11)


def test_rows_in_any_order_give_the_same(monkeypatch):
    forest, spec, params = with_content()
    (shard,) = share(forest.arrays, spec.n_slots, content=forest.rows(wanted(spec)))
    order = np.random.default_rng(1).permutation(shard.contents.columns["label"].shape[0])
    mixed = {name: values[order] for name, values in shard.contents.columns.items()}
    units = shard.units._replace(label=np.argsort(order).astype(np.int32)[shard.units.label])
    other = replace(shard, units=units, contents=shard.contents._replace(columns=mixed))
    given = MixtureParams(np.full(5, 0.2), params)
    one, two = (Batch(spec, [x], None, 1).expected_counts(given) for x in (shard, other))
    assert one[1] == two[1]
    assert farthest(named(one[0].tree).values(), named(two[0].tree).values()) < 1e-12


def changed(column, change):
    """A bug: one column of what rows hold is changed."""

    def plant(rows):
        rows.held[:, column] = change(rows.held[:, column])
        return rows

    return plant


def constant_forgotten(rows):
    rows.numbers[:, 0] = 0.0
    return rows


def moments_lost(rows):
    rows.numbers[:, content.N_NUMBERS :: content.N_NUMBERS] *= 0.999
    return rows


PLANTS = [
    changed(content.ROOM, np.zeros_like),
    changed(content.ROOM, lambda room: np.minimum(room, 1)),
    changed(content.END_WORD, lambda end: end - 1),
    changed(-1, lambda kind: 1 - kind),
    constant_forgotten,
    moments_lost,
]


@pytest.mark.parametrize("plant", PLANTS)
def test_a_planted_bug_with_content_is_found(monkeypatch, plant):
    forest, spec, params = with_content()
    wanted_results = results(monkeypatch, False, spec, params, forest)
    rows = columns.in_vectors
    monkeypatch.setattr(columns, "in_vectors", lambda *given: plant(rows(*given)))
    with np.errstate(all="ignore"):
        found = results(monkeypatch, True, spec, params, forest)
    same = all(np.array_equal(np.isfinite(a), np.isfinite(b)) for a, b in zip(found, wanted_results, strict=True))
    assert not same or farthest(found, wanted_results) > 1e-6


def forget_crowds(kernels):
    def upward(units, *others):
        kernels.upward(units._replace(crowd=units.crowd[:0]), *others)

    return SimpleNamespace(upward=upward, downward=kernels.downward)


def forget_crowds_below(kernels):
    def downward(units, *others):
        kernels.downward(units._replace(crowd=units.crowd[:0]), *others)

    return SimpleNamespace(upward=kernels.upward, downward=downward)


def forget_last_lane(kernels):
    def downward(*given):
        (_, weight), *_ = given[-2]
        weight[:, -1] = 0.0
        kernels.downward(*given)

    return SimpleNamespace(upward=kernels.upward, downward=downward)


def lose_a_digit(kernels):
    def downward(*given):
        kernels.downward(*given)
        given[-2][2][2][...] *= 1.0 + 1e-11

    return SimpleNamespace(upward=kernels.upward, downward=downward)


@pytest.mark.parametrize("plant", [forget_crowds, forget_last_lane, lose_a_digit])
def test_a_planted_bug_is_found(monkeypatch, plant):
    rng = np.random.default_rng(4)
    forest = random_forest(rng, 40, 30, n_slots=4)
    spec = st.SwitchingTree.of_labels(2, 3, 3, pooled=True)
    finds(monkeypatch, st, plant, (spec, spec.draw(rng, 4), forest))


@pytest.mark.parametrize("plant", [forget_crowds_below, forget_last_lane, lose_a_digit])
def test_a_planted_top_down_bug_is_found(monkeypatch, plant):
    finds(monkeypatch, down, plant, top_down_case("state", False, 2, 4))


def forget_rest(kernels):
    def downward(units, flow, messages, outputs, states):
        kernels.downward(units, flow, messages, outputs, states)
        outputs[2].leaf[-2] *= 1.0 - 1e-11

    return SimpleNamespace(upward=kernels.upward, downward=downward)


def mix_up_rows(kernels):
    def downward(units, flow, *others):
        kernels.downward(units, flow._replace(edge=flow.edge.transpose(0, 2, 1).copy()), *others)

    return SimpleNamespace(upward=kernels.upward, downward=downward)


@pytest.mark.parametrize("plant", [forget_crowds, forget_crowds_below, forget_rest])
def test_a_planted_bug_of_one_component_is_found(monkeypatch, plant):
    rng = np.random.default_rng(4)
    forest = random_forest(rng, 40, 30, n_slots=4)
    spec = st.SwitchingTree.of_labels(2, 3, 3, pooled=True)
    finds(monkeypatch, st, plant, (spec, spec.draw(rng, 1), forest), "states")


@pytest.mark.parametrize("plant", [forget_crowds_below, mix_up_rows])
def test_a_planted_top_down_bug_of_one_component_is_found(monkeypatch, plant):
    spec, params, forest = top_down_case("state", False, 2, 4)
    finds(monkeypatch, down, plant, (spec, split(params)[2], forest), "states")


def finds(monkeypatch, module, plant, case, kind="vectors"):
    """The comparison passes without the planted bug, and fails with it."""
    wanted = results(monkeypatch, False, *case)
    assert farthest(results(monkeypatch, True, *case), wanted) < 1e-12
    kernels = {kind: plant(getattr(module.KERNELS, kind))}
    monkeypatch.setattr(module, "KERNELS", module.KERNELS._replace(**kernels))
    assert farthest(results(monkeypatch, True, *case), wanted) > 1e-12


@pytest.mark.parametrize(("module", "of_labels"), [(st, st.SwitchingTree.of_labels), (down, down.of_labels)])
def test_vectors_run_for_few_states(monkeypatch, module, of_labels):
    ran = []
    spy = SimpleNamespace(upward=lambda units, *_: ran.append(len(units.label)), downward=None)
    one = SimpleNamespace(upward=lambda *_: ran.extend("one"), downward=None)
    monkeypatch.setattr(module, "KERNELS", module.KERNELS._replace(vectors=spy, states=one))
    forest = random_forest(np.random.default_rng(0), 5, 5)
    batch_of = share(forest.arrays, 3)
    for on, n_states, n_components, expected in (
        (True, 2, 2, 1),
        (True, 2, 1, 3),
        (False, 2, 2, 0),
        (False, 2, 1, 0),
        (True, lanes.MOST_STATES + 1, 2, 0),
    ):
        ran.clear()
        monkeypatch.setattr(lanes, "VECTORS", on)
        spec = of_labels(3, 3, n_states)
        Batch(spec, batch_of, None, 1).log_likelihood(spec.draw(np.random.default_rng(0), n_components))
        assert len(ran) == expected


def test_the_environment_turns_vectors_off():
    code = "from arbora.models.hidden_tree import lanes; print(lanes.in_vectors(2, 2), lanes.in_vectors(2, 1))"
    for value, expected in (("1", "False False"), ("0", "True False")):
        env = {**os.environ, "ARBORA_NO_VECTORS": value}
        assert (
            subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True).stdout.strip()
            == expected
        )


def test_sums_are_never_added_to_a_copy():
    with pytest.raises(ValueError, match="contiguous"):
        shard_passes._flat([np.zeros((3, 2, 8))[..., :4]])
