"""Input-output hidden trees against enumeration in exact fractions, and the estimator's promises."""

import importlib.util
import re
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import arbora as ab
from arbora.models.hidden_tree.lanes import Workspace
from arbora.models.transducer import input_output_tree as iot
from arbora.models.transducer.coded_trees import CodedTrees, Sizes
from arbora.models.transducer.kernels import passes
from arbora.models.transducer.transducer import _new_model
from tests.reference import input_output as twin

TIES = [
    (),
    ("switch",),
    ("leaf", "output"),
    ("transition",),
    ("slot",),
    ("slot", "transition", "leaf", "switch", "output"),
]

# Two different roots above the same subtrees, gaps, a chain, one node, a label never seen.
TREES = [
    ("a", [("b", ["a", {"label": "b", "slot": 2}]), "a"]),
    ("b", [("b", ["a", {"label": "b", "slot": 2}]), "a"]),
    ("a", [{"label": "b", "slot": 1, "children": [("a", ["b"])]}]),
    ("b", [("c", ["a"]), "c"]),
    "b",
    "c",
]
FOREST = ab.Forest.from_nested(TREES, vocabulary=["a", "b"])
OUTPUTS = [0, 1, None, 1, 0, 0, 1, None, 1, 2, 2, None, 0, 2, 1, 0, None, 1, None, 1]


def code_of(outputs):
    return np.array([-1 if value is None else value for value in outputs], np.int32)


def setting(tie, forest=FOREST, outputs=OUTPUTS, n_slots=3, n_outputs=3, seed=0):
    """A model with random parameters in sixteenths, the trees in its codes, and the tables as the twin takes them."""
    coded = CodedTrees(forest, Sizes(n_slots, forest.n_labels, n_outputs), code_of(outputs))
    model = _new_model(coded.codes, 2, tie)
    rng = np.random.default_rng(seed)
    params = iot.Params(*(_sixteenths(rng, shape) for shape in model.shapes))
    return model, coded, params, theta_of(model, params)


def _sixteenths(rng, shape):
    """Distributions along the last axis whose entries are multiples of 1/16, none of them zero."""
    n = shape[-1]
    drawn = rng.multinomial(16 - n, np.full(n, 1 / n), size=shape[:-1]) + 1
    return (drawn / 16.0)[..., None]


def theta_of(model, params):
    """Untied tables of fractions, with a uniform row for inputs never seen unless they are tied."""
    n_slots, n_inputs, n, n_outputs = model.n_slots, model.n_inputs, model.n_states, model.n_outputs

    def row(table, tied, size, *at):
        x = at[-1]
        if x == n_inputs and not tied:
            return [Fraction(1, size)] * size
        return [Fraction(float(p)) for p in table[(*at[:-1], 0 if tied else x)][..., 0]]

    slot_tied, tied = "slot" in model.tie, {name: name in model.tie for name in iot.TIES}
    inputs = range(n_inputs + 1)
    leaf = [[row(params.leaf, tied["leaf"], n, 0 if slot_tied else l, x) for x in inputs] for l in range(n_slots + 1)]
    switch = [row(params.switch, tied["switch"], n_slots, x) for x in inputs]
    output = [[row(params.output[:, i], tied["output"], n_outputs, x) for i in range(n)] for x in inputs]
    absent = params.absent.transpose(1, 0, 2, 3)
    transition = []
    for l in range(n_slots):
        here = []
        for x in inputs:
            (at,) = model.pair_of(np.array([l]), np.array([x]))
            rows = np.full((n, n), 1 / n) if at == len(model.pair_key) else params.transition[at, :, :, 0]
            rows = [[Fraction(float(p)) for p in r] for r in rows]
            here.append([*rows, row(absent, tied["transition"], n, 0 if slot_tied else l, x)])
        transition.append(here)
    return twin.Theta(leaf, switch, transition, output)


def trees_of(forest, outputs):
    for t in range(forest.n_trees):
        lo, hi = forest.tree_start[t], forest.tree_start[t + 1]
        parent = [int(p - lo) if p >= 0 else -1 for p in forest.parent[lo:hi]]
        label = [forest.n_labels if m < 0 else int(m) for m in forest.label[lo:hi]]
        yield parent, forest.slot[lo:hi].tolist(), label, list(outputs[lo:hi])


def passed(model, coded, params, shared=True):
    """Log-probabilities of trees and expected counts, with weights 1, 2, 3, ... of the trees."""
    bound = iot.BoundTree(model, coded.codes)
    flow = bound.prepare(params)
    (shard,) = coded.shards(10**6, shared)
    messages, log_prob = bound.upward(flow, params, shard, Workspace())
    log_prob = log_prob.copy()
    sums = bound.empty_sums(1)
    weight = shard.sum_by_tree(np.arange(1.0, shard.n_trees + 1))
    state = np.empty((shard.n_units, model.n_states))
    bound.downward(flow, shard, messages, weight[:, None], sums, state)
    return log_prob[shard.tree_id, 0], bound.counts(flow, sums, {}, 1), state


def exact_counts(model, forest, outputs, theta):
    """Expected counts by the twin in the tied shapes, with the weights of `passed`."""
    out = iot.Params(*(np.zeros(shape) for shape in model.shapes))
    slot_tied, tied = "slot" in model.tie, {name: name in model.tie for name in iot.TIES}
    n, unseen = model.n_states, model.n_inputs
    for weight, tree in enumerate(trees_of(forest, outputs), 1):
        found = twin.enumerate_tree(*tree, theta)

        def add(table, key, value, name, x, weight=weight, found=found):
            if x != unseen or tied[name]:
                table[key] += weight * float(value / found.prob)

        for (l, x, i), value in found.leaf.items():
            add(out.leaf, (0 if slot_tied else l, 0 if tied["leaf"] else x, i), value, "leaf", x)
        for (x, l), value in found.switch.items():
            add(out.switch, (0 if tied["switch"] else x, l), value, "switch", x)
        for (x, i, k), value in found.output.items():
            add(out.output, (0 if tied["output"] else x, i, k), value, "output", x)
        for (l, x, j, i), value in found.transition.items():
            if j == n:
                add(out.absent, (0 if tied["transition"] else x, 0 if slot_tied else l, i), value, "transition", x)
                continue
            (at,) = model.pair_of(np.array([l]), np.array([x]))
            if at < len(model.pair_key):
                out.transition[at, j, i] += weight * float(value / found.prob)
    return out


def same_as_enumeration(tie, shared=True, **more):
    """Whether log-probabilities and all counts are those of the twin, to rounding."""
    forest, outputs = more.get("forest", FOREST), more.get("outputs", OUTPUTS)
    model, coded, params, theta = setting(tie, **more)
    log_prob, counts, _ = passed(model, coded, params, shared)
    wanted = [float(twin.enumerate_tree(*tree, theta).prob) for tree in trees_of(forest, outputs)]
    if not np.allclose(log_prob, np.log(wanted), rtol=1e-13, atol=1e-13):
        return False
    every = zip(counts, exact_counts(model, forest, outputs, theta), strict=True)
    return all(np.allclose(a[..., 0], b, rtol=1e-12, atol=1e-13) for a, b in every)


@pytest.mark.parametrize("tie", TIES, ids=lambda tie: "+".join(tie) or "none")
@pytest.mark.parametrize("shared", [True, False])
def test_probabilities_and_counts_are_those_of_enumeration(tie, shared):
    assert same_as_enumeration(tie, shared)


def test_pooled_slots_are_those_of_enumeration():
    forest = ab.Forest.from_nested([("a", ["b", "a", "b", "a"]), ("b", ["a", "b", "b"])], vocabulary=["a", "b"])
    assert same_as_enumeration((), forest=forest, outputs=[0, 1, None, 2, 1, 0, 1, 1, None], n_slots=2)


def test_nodes_of_the_twin():
    model, coded, params, theta = setting(())
    state = passed(model, coded, params, shared=False)[2]
    node = 0
    for weight, tree in enumerate(trees_of(FOREST, OUTPUTS), 1):
        found = twin.enumerate_tree(*tree, theta)
        for u in range(len(tree[0])):
            wanted = [float(found.node[u, i] / found.prob) for i in range(2)]
            np.testing.assert_allclose(state[node + u] / weight, wanted, rtol=1e-12, atol=1e-14)
        node += len(tree[0])


def fitted(model, params, forest=FOREST):
    """An estimator with these parameters."""
    out = ab.TreeTransducer(model.n_states, tie=model.tie)
    out.vocabulary_, out.n_slots_, out.outputs_ = forest.vocabulary, model.n_slots, np.arange(model.n_outputs)
    for name, table in zip(
        ("leaf_prob_", "switch_prob_", "transition_prob_", "absent_prob_", "output_prob_"), params, strict=True
    ):
        setattr(out, name, table[..., 0])
    width = 1 if "transition" in model.tie else model.n_inputs
    out.pairs_ = np.stack([model.pair_key // width, model.pair_key % width], axis=1)
    return out


@pytest.mark.parametrize("tie", [(), ("transition",)])
def test_predictions_are_those_of_enumeration(tie):
    model, _, params, theta = setting(tie)
    estimator = fitted(model, params)
    known = estimator.predict_proba(FOREST, OUTPUTS)
    alone = estimator.predict_proba(FOREST)
    decoded = estimator.decode(FOREST, OUTPUTS)
    joint, pool = estimator.tree_scores(FOREST), estimator.tree_scores(FOREST, "pool")
    root, vote = estimator.tree_scores(FOREST, "root"), estimator.tree_scores(FOREST, "vote")
    node = 0
    for t, (parent, slot, x, y) in enumerate(trees_of(FOREST, OUTPUTS)):
        mine = slice(node, node + len(y))
        np.testing.assert_allclose(alone[mine], twin.marginals(parent, slot, x, [None] * len(y), theta), rtol=1e-12)
        np.testing.assert_allclose(known[mine], twin.marginals(parent, slot, x, y, theta), rtol=1e-12)
        best = twin.enumerate_tree(parent, slot, x, y, theta).best
        again = twin.enumerate_tree(parent, slot, x, decoded[mine].tolist(), theta).best
        assert again[0] == best[0]  # an equal choice where two are equally likely
        everywhere = [twin.enumerate_tree(parent, slot, x, [k] * len(y), theta).prob for k in range(3)]
        np.testing.assert_allclose(joint[t], np.log(np.array(everywhere, float)), rtol=1e-12)
        np.testing.assert_allclose(pool[t], np.log(alone[mine]).sum(axis=0), rtol=1e-12)
        np.testing.assert_allclose(root[t], np.log(alone[mine][-1]), rtol=1e-12)
        assert vote[t].tolist() == np.bincount(alone[mine].argmax(axis=1), minlength=3).tolist()
        node += len(y)


def test_all_outputs_of_a_shape_sum_to_one():
    model, _, params, _ = setting(())
    estimator = fitted(model, params)
    every = np.stack(np.meshgrid(*[[0, 1, 2]] * 4, indexing="ij"), axis=-1).reshape(-1, 4)
    tree = [("a", [("b", ["c"]), "b"])]
    total = np.exp(estimator.score_samples(tree * len(every), every.tolist())).sum()
    assert total == pytest.approx(1.0, abs=1e-14)


def test_one_output_is_certain():
    forest = FOREST.take([0, 1])
    model = ab.TreeTransducer(2, random_state=0).fit(forest, ["only"] * forest.n_nodes)
    assert model.score_samples(forest, ["only"] * forest.n_nodes).tolist() == pytest.approx([0.0, 0.0], abs=1e-14)


# ---- other models ----------------------------------------------------------------------------------------------------


def test_with_one_input_it_is_the_hidden_tree():
    rng = np.random.default_rng(0)
    shapes = ab.Forest.from_nested([("x", [("x", ["x", "x"]), "x"]), ("x", ["x"]), "x"])
    labels = rng.integers(3, size=shapes.n_nodes)
    leaf, emission, switch = rng.dirichlet(np.ones(2), 3), rng.dirichlet(np.ones(3), 2), rng.dirichlet(np.ones(2))
    transition = rng.dirichlet(np.ones(2), (2, 3))
    plain = ab.HiddenTree.from_parameters(
        leaf_prob=leaf, emission_prob=emission, switch_prob=switch, transition_prob=transition
    )
    same = ab.TreeTransducer(2)
    same.vocabulary_, same.n_slots_, same.outputs_ = ("x",), 2, np.arange(3)
    same.leaf_prob_, same.switch_prob_, same.output_prob_ = leaf[:, None], switch[None], emission[None]
    same.transition_prob_, same.absent_prob_ = transition[:, :2], transition[None, :, 2]
    same.pairs_ = np.array([[0, 0], [1, 0]])
    forest = ab.Forest(shapes.parent, shapes.slot, labels.astype(np.int32), shapes.tree_start, ("0", "1", "2"))
    np.testing.assert_allclose(same.score_samples(shapes, labels), plain.score_samples(forest), rtol=1e-13)


def test_chains_are_those_of_hmmlearn():
    hmm = pytest.importorskip("hmmlearn.hmm")
    rng = np.random.default_rng(1)
    start, moves, emission = rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(3), 3), rng.dirichlet(np.ones(4), 3)
    other = hmm.CategoricalHMM(3)
    other.startprob_, other.transmat_, other.emissionprob_, other.n_features = start, moves, emission, 4
    chain = "x"
    for _ in range(7):
        chain = ("x", [chain])
    model = ab.TreeTransducer(3)
    model.vocabulary_, model.n_slots_, model.outputs_ = ("x",), 1, np.arange(4)
    model.leaf_prob_, model.switch_prob_ = np.stack([start, start])[:, None], np.ones((1, 1))
    model.transition_prob_, model.absent_prob_ = moves[None], np.full((1, 1, 3), 1 / 3)
    model.output_prob_, model.pairs_ = emission[None], np.array([[0, 0]])
    for _ in range(3):
        y = rng.integers(4, size=8)
        assert model.score_samples([chain], y)[0] == pytest.approx(other.score(y[:, None]), rel=1e-12)


# ---- planted bugs ----------------------------------------------------------------------------------------------------

BUGS = {
    "the other term of the downward pass is missing": ("outside[j] += rest", "outside[j] += 0.0"),
    "the posterior is conditioned on deciding": ("rest = max(rest, 0.0)  # rounding", "rest = 0.0"),
    "empty slots between children are left out": ("base[i] += absent[x, gap, i]", "pass"),
    "empty slots behind the last child are left out": ("base[i] = tail[x, due, i]", "base[i] = 0.0"),
    "gaps are not counted": ("gap_sum[x, gap, i] += outside[i]", "pass"),
    "empty ends are not counted": ("tail_sum[x, due, i] += outside[i]", "pass"),
    "a unit with two parents keeps the last one's message": (
        "pull[v, 0, i] += outside[i]",
        "pull[v, 0, i] = outside[i]",
    ),
    "a unit has the weight of one parent": ("mass[v, 0] += mass[d, 0]", "mass[v, 0] = mass[d, 0]"),
    "an occurrence weighs one": ("mass[tree_root[t], 0] += weight[t]", "mass[tree_root[t], 0] += 1.0"),
    "a root that is a leaf takes the first slot's prior": ("else leaf.shape[0] - 1", "else 0"),
    "messages are not normalised by their evidence": (
        "outside[i] * evidence[row[d], 0, i] * inverse",
        "outside[i] * inverse",
    ),
    "children's log-probabilities are dropped": ("np.log(z) + below", "np.log(z)"),
    "pairs are turned": ("pair_sum[f, j, i] += pull[d, 0, i] * a", "pair_sum[f, i, j] += pull[d, 0, i] * a"),
}


@pytest.mark.parametrize("bug", BUGS)
def test_planted_bugs_in_the_passes_are_found(bug, monkeypatch, tmp_path):
    right, wrong = BUGS[bug]
    source = Path(passes.__file__).read_text(encoding="utf-8")
    assert source.count(right) >= 1
    source = re.sub(r"^@jit\n", "", source.replace(right, wrong).replace("from ....jit import jit", ""), flags=re.M)
    (tmp_path / "planted.py").write_text(source, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("planted", tmp_path / "planted.py")
    planted = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(planted)
    monkeypatch.setattr(passes, "upward", planted.upward)
    monkeypatch.setattr(passes, "downward", planted.downward)
    with np.errstate(all="ignore"):
        assert not same_as_enumeration(())


def test_a_message_by_the_own_input_is_found(monkeypatch):
    right = CodedTrees._keys

    def own(self, number, forest):
        row, edge = right(self, number, forest)
        x = np.where(forest.label < 0, self.sizes.n_inputs, forest.label).astype(np.int64)
        wrong = ((x * self.sizes.n_slots + np.minimum(forest.slot, self.sizes.n_slots - 1)) << 24) | 1
        return row, np.where(edge < 0, -1, wrong)

    monkeypatch.setattr(CodedTrees, "_keys", own)
    assert not same_as_enumeration(())


# ---- EM --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tie", TIES, ids=lambda tie: "+".join(tie) or "none")
@pytest.mark.parametrize("prior", [1.0, 1.5])
@pytest.mark.parametrize("at_roots", [False, True])
def test_the_objective_never_falls(tie, prior, at_roots):
    forest = ab.Forest.concat([FOREST, FOREST])
    outputs = OUTPUTS * 2
    if at_roots:
        roots = set((forest.tree_start[1:] - 1).tolist())
        outputs = [t % 3 if u in roots else None for t, u in enumerate(range(forest.n_nodes))]
    model = ab.TreeTransducer(3, tie=tie, prior=prior, max_iter=15, random_state=0).fit(forest, outputs)
    assert np.diff(model.history_).min() >= -1e-9 * abs(model.history_[-1])
    assert model.history_[-1] > model.history_[0]


def test_a_fit_maximises_what_score_samples_says():
    model = ab.TreeTransducer(2, prior=1.0, max_iter=5, random_state=0).fit(FOREST, OUTPUTS)
    total = model.score_samples(FOREST, OUTPUTS).sum()
    assert model.history_[-1] == pytest.approx(total, rel=1e-12)
    other = ab.TreeTransducer(2, prior=1.0, max_iter=2, random_state=0).fit(FOREST, OUTPUTS)
    assert other.score_samples(FOREST, OUTPUTS).sum() < total


def test_what_is_planted_is_learnt():
    """The output of a leaf is that of its label, of an inner node whether a "b" lies below its first child's line."""
    rng = np.random.default_rng(0)

    def tree(depth):
        return str(rng.choice(["a", "b"])) if not depth else ("n", [tree(depth - 1) for _ in range(rng.integers(1, 3))])

    forest = ab.Forest.from_nested([tree(rng.integers(1, 4)) for _ in range(150)])
    outputs = [""] * forest.n_nodes
    for u in range(forest.n_nodes):
        below = np.flatnonzero((forest.parent == u) & (forest.slot == 0))
        outputs[u] = outputs[below[0]] if len(below) else forest.vocabulary[forest.label[u]]
    train, test = forest[:75], forest[75:]
    cut = train.n_nodes
    some = [value if rng.random() < 0.5 else None for value in outputs[:cut]]
    model = ab.TreeTransducer(4, n_init=3, random_state=0).fit(train, some)
    assert model.score(test, outputs[cut:]) == 1.0
    assert np.mean(model.decode(test) == np.array(outputs[cut:])) == 1.0
    drawn = model.sample(test, random_state=0)
    assert np.mean(drawn == np.array(outputs[cut:])) > 0.95


def test_draws_have_the_marginals():
    model, _, params, _ = setting(())
    estimator = fitted(model, params)
    trees = FOREST.take([0] * 4000)
    drawn = estimator.sample(trees, random_state=0).reshape(4000, -1)
    wanted = estimator.predict_proba(FOREST.take([0]))
    for u, row in enumerate(wanted):
        found = np.bincount(drawn[:, u], minlength=3) / 4000
        assert np.abs(found - row).max() < 4.5 * np.sqrt(0.25 / 4000)
    pair = np.mean((drawn[:, 1] == 0) & (drawn[:, 2] == 0))  # child and parent are not independent
    joint = [np.exp(estimator.score_samples(FOREST.take([0]), [None, 0, 0, None, None])[0])]
    assert abs(pair - joint[0]) < 4.5 * np.sqrt(0.25 / 4000)


# ---- what it is given ------------------------------------------------------------------------------------------------


def test_content_that_is_not_read_is_told(caplog):
    forest = ab.Forest.concat([FOREST, FOREST])
    outputs = np.arange(forest.n_nodes) % 2
    forest = forest.with_content({"role": outputs.astype(str).tolist(), "x": outputs * 0.5})
    model = ab.TreeTransducer(2, max_iter=1, random_state=0)
    model.fit(forest, "role")
    assert "TreeTransducer reads labels and shapes as inputs; the content of nodes in x is not read" in caplog.text
    caplog.clear()
    model.fit(forest.with_content({}), outputs)
    assert not caplog.records
    ab.TransducerClassifier(2, max_iter=1, random_state=0).fit(forest, np.arange(forest.n_trees) % 2)
    assert "TransducerClassifier reads labels and shapes; the content of nodes in role, x" in caplog.text


def test_outputs_come_in_many_forms(tmp_path):
    forest = FOREST.take([0, 2])
    flat = ["x", None, "y", "x", "x", "y", float("nan"), "x", "y"]
    lists, cuts = [], forest.tree_start.tolist()
    for lo, hi in pairwise(cuts):
        lists.append(flat[lo:hi])
    model = ab.TreeTransducer(2, max_iter=3, random_state=0)
    wanted = model.fit(forest, flat).output_prob_
    assert np.array_equal(model.fit(forest, lists).output_prob_, wanted)
    assert np.array_equal(model.fit(forest, np.array(flat, object)).output_prob_, wanted)
    label = [-2 if value not in ("x", "y") else "xy".index(value) for value in flat]
    trees = ab.Forest(forest.parent, forest.slot, np.array(label, np.int32), forest.tree_start, ("x", "y"))
    assert np.array_equal(model.fit(forest, trees).output_prob_, wanted)
    numbers = [float("nan") if m < 0 else float(m) for m in label]
    assert np.array_equal(model.fit(forest, np.array(numbers)).output_prob_, wanted)
    assert model.outputs_.tolist() == [0.0, 1.0]
    role = [None if m < 0 else "xy"[m] for m in label]
    with_columns = forest.with_content(
        {"role": role, "number": numbers, "flag": [None if m < 0 else m > 0 for m in label]}
    )
    assert np.array_equal(model.fit(with_columns, "role").output_prob_, wanted)
    assert model.outputs_.tolist() == ["x", "y"]
    assert np.array_equal(model.fit(with_columns, "number").output_prob_, wanted)
    assert np.array_equal(model.fit(with_columns, "flag").output_prob_, wanted)
    assert model.transduce(with_columns).content == {}
    stored = ab.ForestStore.write(with_columns, tmp_path / "c", shard_nodes=3)
    np.testing.assert_allclose(model.fit(stored, "role").output_prob_, wanted, rtol=1e-12)
    with pytest.raises(ab.ForestError, match=r"none of the columns of the nodes .role, number, flag."):
        model.fit(with_columns, "rule")
    store = ab.ForestStore.write(forest, tmp_path / "s", shard_nodes=3)
    np.testing.assert_allclose(model.fit(store, flat).output_prob_, wanted, rtol=1e-12)


def test_odd_outputs_are_refused():
    forest, model = FOREST.take([0]), ab.TreeTransducer(2, max_iter=2, random_state=0)
    for wrong, words in (
        (None, "no outputs"),
        ([None] * 5, "nothing to learn from"),
        (["x"] * 4, "wanted one per node"),
        ([["x"] * 4], "tree 0 has 5 nodes, and its list has 4 outputs"),
        ([["x"] * 5, ["x"]], "lists of outputs for 2 trees"),
        (3, "wanted a list"),
        (FOREST, "the same shapes"),
        (ab.Forest.from_nested([("x", ["x", "x", "x", "x"])]), "another shape"),
    ):
        with pytest.raises(ab.ForestError, match=words):
            model.fit(forest, wrong)
    model.fit(forest, ["x", "y", "x", None, "y"])
    with pytest.raises(ab.ForestError, match="node 2 has the output z, which training had not"):
        model.predict(forest, [None, "x", "z", None, None])
    with pytest.raises(ab.ForestError, match="learnt outputs of"):
        model.predict(forest, [1, 2, 3, 4, 5])
    for wrong in ({"tie": "slot"}, {"tie": ["bark"]}, {"prior": 0.5}, {"n_states": 0}, {"max_iter": 0}, {"tol": -1}):
        with pytest.raises(ab.ArboraError):
            ab.TreeTransducer(**wrong).fit(forest, ["x"] * 5)
    with pytest.raises(ab.ArboraError, match="rule="):
        model.tree_scores(forest, "mean")
    with pytest.raises(ab.ArboraError, match="no node has a known output"):
        model.score(forest, [None] * 5)


def test_awkward_trees_are_read(awkward_small):
    y = [u % 3 if u % 2 == 0 else None for u in range(awkward_small.n_nodes)]
    model = ab.TreeTransducer(2, max_iter=3, random_state=0).fit(awkward_small, y)
    proba = model.predict_proba(awkward_small, y)
    assert proba.shape == (awkward_small.n_nodes, len(model.outputs_))
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-12)
    assert len(model.decode(awkward_small)) == awkward_small.n_nodes
    assert np.isfinite(model.tree_scores(awkward_small)).all()
    plain = ab.TreeTransducer(2, max_iter=3, random_state=0, shared=False).fit(awkward_small, y)
    np.testing.assert_allclose(plain.history_, model.history_, rtol=1e-11)


def test_wider_trees_and_impossible_outputs_at_prediction():
    model = ab.TreeTransducer(2, prior=1.0, random_state=0).fit([("a", ["b", "b"])] * 3, [["x", "x", "y"]] * 3)
    wide = [("a", ["b"] * 5)]
    np.testing.assert_allclose(model.predict_proba(wide).sum(axis=1), 1.0)
    assert model.predict(wide).tolist() == ["x"] * 5 + ["y"]
    assert model.score_samples(wide, ["y"] * 6)[0] == -np.inf
    assert model.predict_proba(wide, ["y"] + [None] * 5)[-1].tolist() == [0.5, 0.5]  # the tree cannot be


def test_transduced_trees_have_the_shapes():
    model = ab.TreeTransducer(2, random_state=0).fit([("a", ["b", "b"])] * 3, [["x", "x", "y"]] * 3)
    out = model.transduce([("a", ["b"]), "a"])
    assert out[0] == {"label": "y", "children": [{"label": "x"}]}
    assert out.n_trees == 2


def test_stores_threads_and_shards_do_not_change_the_result(tmp_path):
    forest = ab.Forest.concat([FOREST] * 50)
    y = OUTPUTS * 50
    store = ab.ForestStore.write(forest, tmp_path / "s", shard_nodes=300)
    settings = {"max_iter": 4, "random_state": 0}
    whole = ab.TreeTransducer(2, **settings).fit(forest, y)
    stored = ab.TreeTransducer(2, n_jobs=2, **settings).fit(store, y)
    np.testing.assert_allclose(stored.history_, whole.history_, rtol=1e-11)
    np.testing.assert_allclose(stored.predict_proba(store, y), whole.predict_proba(forest, y), rtol=1e-9)
    np.testing.assert_allclose(stored.tree_scores(store), whole.tree_scores(forest), rtol=1e-9)
    assert np.array_equal(stored.predict(store), whole.predict(forest))
    assert stored.transduce(store) == whole.transduce(forest)


def test_dask_gives_the_same_bits(tmp_path):
    dask = pytest.importorskip("distributed")
    forest = ab.Forest.concat([FOREST] * 50)
    store = ab.ForestStore.write(forest, tmp_path / "s", shard_nodes=300)
    alone = ab.TreeTransducer(2, max_iter=3, random_state=0).fit(store, OUTPUTS * 50)
    with (
        dask.LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None) as cluster,
        dask.Client(cluster) as client,
        ab.distributed(client),
    ):
        far = ab.TreeTransducer(2, max_iter=3, random_state=0).fit(store, OUTPUTS * 50)
        scores = far.tree_scores(store)
    assert far.history_ == alone.history_
    assert np.array_equal(far.output_prob_, alone.output_prob_)
    assert np.array_equal(scores, alone.tree_scores(store))


def test_weights_are_copies():
    forest = FOREST.take([0, 1, 2])
    y = OUTPUTS[: forest.n_nodes]
    weighted = ab.TreeTransducer(2, max_iter=3, random_state=0).fit(forest, y, sample_weight=[2.0, 1.0, 1.0])
    size = int(forest.sizes[0])
    twice = ab.TreeTransducer(2, max_iter=3, random_state=0).fit(FOREST.take([0, 0, 1, 2]), y[:size] + y)
    np.testing.assert_allclose(weighted.history_, twice.history_, rtol=1e-12)


def test_files_hold_the_model_and_damaged_ones_are_refused(tmp_path):
    model = ab.TreeTransducer(2, tie=("switch", "slot"), max_iter=3, random_state=0).fit(FOREST, OUTPUTS)
    model.save(tmp_path / "m.arbora")
    loaded = ab.load(tmp_path / "m.arbora")
    assert {**loaded.get_params(), "tie": None} == {**model.get_params(), "tie": None}
    assert np.array_equal(loaded.predict_proba(FOREST, OUTPUTS), model.predict_proba(FOREST, OUTPUTS))
    header, arrays = model._pack()
    for name, wrong in (
        ("output_prob_", arrays["output_prob_"] * 1.5),
        ("output_prob_", arrays["output_prob_"][:, :, :2]),
        ("leaf_prob_", arrays["leaf_prob_"][:, :1]),
        ("transition_prob_", arrays["transition_prob_"][:1]),
        ("pairs_", arrays["pairs_"][::-1].copy()),
        ("pairs_", arrays["pairs_"] + 7),
        ("outputs_", arrays["outputs_"][::-1].copy()),
        ("switch_prob_", arrays["switch_prob_"] * np.nan),
    ):
        with pytest.raises(ValueError, match=r"_|outputs"):
            ab.TreeTransducer(**header["params"])._restore(header, {**arrays, name: wrong})


# ---- classes of trees -----------------------------------------------------------------------------------------------


def documents():
    from arbora.datasets import make_documents

    forest = make_documents(12, noise=0.3, random_state=0)
    return forest[::2], forest[1::2]


@pytest.mark.parametrize("rule", ["joint", "pool", "root", "vote"])
def test_classes_of_trees_by_every_rule(rule):
    train, test = documents()
    model = ab.TransducerClassifier(3, rule=rule, calibration=None, random_state=0).fit(train)
    assert model.score(test) > {"joint": 0.8, "pool": 0.8, "root": 0.3, "vote": 0.5}[rule]  # chance is 0.2
    scores = model.transducer_.tree_scores(test, rule)
    assert np.array_equal(model.predict(test), model.classes_[scores.argmax(axis=1)])


def test_the_class_everywhere_is_a_better_target_than_at_the_root():
    train, test = documents()
    settings = {"calibration": None, "random_state": 0}
    everywhere = ab.TransducerClassifier(3, **settings).fit(train)
    at_root = ab.TransducerClassifier(3, rule="root", at="root", **settings).fit(train)
    assert everywhere.transducer_.history_[-1] != at_root.transducer_.history_[-1]
    assert everywhere.score(test) >= at_root.score(test) > 0.3
    for wrong in ({"rule": "mean"}, {"at": "leaves"}, {"calibration": "isotonic"}, {"tie": ["x"]}):
        with pytest.raises(ab.ArboraError):
            ab.TransducerClassifier(**wrong).fit(train)


def test_calibrated_probabilities_predict_better():
    from sklearn.metrics import log_loss

    train, test = documents()
    raw = ab.TransducerClassifier(3, max_iter=10, calibration=None, random_state=0).fit(train)
    calm = ab.TransducerClassifier(3, max_iter=10, random_state=0).fit(train)
    assert raw.temperature_ == 1.0 < calm.temperature_
    before = log_loss(test.target, raw.predict_proba(test))
    raw.temperature_ = calm.temperature_
    assert log_loss(test.target, raw.predict_proba(test)) < before


def test_a_classifier_on_a_store(tmp_path):
    train, test = documents()
    store = ab.ForestStore.write(train, tmp_path / "s", shard_nodes=200)
    model = ab.TransducerClassifier(2, max_iter=5, random_state=0)
    proba = model.fit(train).predict_proba(test)
    np.testing.assert_allclose(model.fit(store).predict_proba(test), proba, rtol=1e-8)
    with pytest.raises(ab.ArboraError, match="no probability"):
        model.surprise(test)
