"""The passes in vectors against those in plain loops: equal to rounding in every reading; and which of both run."""

import os
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from arbora import Forest
from arbora.forest.sharing import share
from arbora.jit import jit
from arbora.models.hidden_tree import lanes, shard_passes
from arbora.models.hidden_tree import node_posteriors as nodes
from arbora.models.hidden_tree import switching_tree as st
from arbora.models.hidden_tree import top_down_tree as down
from arbora.models.hidden_tree.kernels import vectors
from arbora.models.hidden_tree.passes import Batch, MixtureParams
from tests.unit.test_tree_model import READINGS, draw, random_forest

pytestmark = pytest.mark.compiled


@jit
def logs(x, out):
    for r in range(len(x) // 4):
        vectors.store(out, r, vectors.log(vectors.load(x, r, vectors.ONE)))


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


def results(monkeypatch, on, spec, params, forest, shared=True):
    """Everything that the passes say of a forest, in vectors or in plain loops."""
    monkeypatch.setattr(lanes, "VECTORS", on)
    n = params.transition.shape[-1]
    batch = Batch(spec, share(forest.arrays, spec.n_slots, shared=shared), None, 1)
    counts, total = batch.expected_counts(MixtureParams(np.full(n, 1.0 / n), params))
    given = batch.expected_counts(
        MixtureParams(np.full(n, 1.0 / n), params), np.random.default_rng(0).random((forest.n_trees, n))
    )[0]
    by_node = nodes.posterior(spec, params, forest, np.ones((forest.n_trees, n)))
    of_trees = (batch.log_likelihood(params), batch.root_posterior(params), by_node, np.array(total))
    return (*of_trees, counts.weight, *counts.tree, *given.tree)


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


def forget_crowds(kernels):
    def upward(units, *others):
        kernels.upward(units._replace(crowd=units.crowd[:0]), *others)

    return SimpleNamespace(upward=upward, downward=kernels.downward)


def forget_crowds_below(kernels):
    def downward(units, *others):
        kernels.downward(units._replace(crowd=units.crowd[:0]), *others)

    return SimpleNamespace(upward=kernels.upward, downward=downward)


def forget_last_lane(kernels):
    def downward(units, flow, messages, outputs, *others):
        (root, weight), *more = outputs
        weight[:, -1] = 0.0
        kernels.downward(units, flow, messages, ((root, weight), *more), *others)

    return SimpleNamespace(upward=kernels.upward, downward=downward)


def lose_a_digit(kernels):
    def downward(units, flow, messages, outputs, *others):
        kernels.downward(units, flow, messages, outputs, *others)
        outputs[2][2][...] *= 1.0 + 1e-11

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


def finds(monkeypatch, module, plant, case):
    """The comparison passes without the planted bug, and fails with it."""
    wanted = results(monkeypatch, False, *case)
    assert farthest(results(monkeypatch, True, *case), wanted) < 1e-12
    monkeypatch.setattr(module, "KERNELS", module.KERNELS._replace(vectors=plant(module.KERNELS.vectors)))
    assert farthest(results(monkeypatch, True, *case), wanted) > 1e-12


@pytest.mark.parametrize(("module", "of_labels"), [(st, st.SwitchingTree.of_labels), (down, down.of_labels)])
def test_vectors_run_for_several_components_of_few_states(monkeypatch, module, of_labels):
    ran = []
    spy = SimpleNamespace(upward=lambda units, *_: ran.append(len(units.label)), downward=None)
    monkeypatch.setattr(module, "KERNELS", module.KERNELS._replace(vectors=spy))
    forest = random_forest(np.random.default_rng(0), 5, 5)
    batch_of = share(forest.arrays, 3)
    for on, n_states, n_components, expected in (
        (True, 2, 2, 1),
        (True, 2, 1, 0),
        (False, 2, 2, 0),
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
