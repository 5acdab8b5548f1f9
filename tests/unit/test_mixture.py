"""HiddenTreeMixture and HiddenTree: what the estimators promise beyond the equations."""

import numpy as np
import pytest

import arbora as ab
import arbora.datasets
from arbora.errors import ArboraError, ForestError, NotConvergedWarning, UnexplainedTreesWarning
from arbora.models.hidden_tree import draw_trees, fitting, novelty
from arbora.models.hidden_tree import switching_tree as tm
from tests import examples
from tests.reference import hidden_tree as twin

READINGS = [(absent, structure) for absent in tm.ABSENT for structure in (None, "branching")]
reading = pytest.mark.parametrize(("absent", "structure"), READINGS)


@pytest.fixture(scope="module")
def forest():
    return examples.random_forest(n_trees=80, max_nodes=12, n_labels=3, seed=1)


@pytest.fixture(scope="module")
def model(forest):
    return ab.HiddenTreeMixture(3, 2, max_iter=5, tol=0, random_state=0).fit(forest)


def theta(model, k):
    """Parameters of one component for the twin."""
    branching = model.branching_prob_[k] if model.structure else None
    arrays = (model.leaf_prob_[k], model.emission_prob_[k], model.switch_prob_[k], model.transition_prob_[k])
    return twin.Theta(*arrays, branching, model.absent)


def test_scores_and_posteriors_equal_enumeration(model, forest):
    small = forest[forest.sizes <= 7]
    parts = [
        [twin.enumerate_tree(twin.nodes_of(small, t), theta(model, k)) for k in range(3)] for t in range(len(small))
    ]
    joint = np.array([[part.log_prob for part in row] for row in parts]) + np.log(model.weight_)
    total = np.logaddexp.reduce(joint, axis=1)
    np.testing.assert_allclose(model.score_samples(small), total, rtol=1e-10)
    proba = np.exp(joint - total[:, None])
    np.testing.assert_allclose(model.predict_proba(small), proba, rtol=1e-10, atol=1e-12)
    assert (model.predict(small) == proba.argmax(axis=1)).all()
    expected = np.concatenate(
        [
            np.stack([p * part.node for p, part in zip(row_p, row, strict=True)], axis=1)
            for row_p, row in zip(proba, parts, strict=True)
        ]
    )
    np.testing.assert_allclose(model.posterior(small), expected, rtol=1e-10, atol=1e-12)
    assert model.score(small) == pytest.approx(total.mean())


@pytest.mark.parametrize("n_slots", [3, 2])  # with two, children crowd in the last
@reading
def test_decode_finds_the_best_joint_states(absent, structure, n_slots):
    rng = np.random.default_rng(0)
    small = examples.random_forest(n_trees=25, max_nodes=6, n_labels=3, seed=3)
    spec = tm.SwitchingTree.of_labels(n_slots, 3, 2, absent, structure)
    params = spec.draw(rng, 1)
    model = ab.HiddenTree.from_parameters(
        leaf_prob=params.leaf[..., 0],
        emission_prob=params.emission[..., 0].T,
        switch_prob=params.switch[:, 0],
        transition_prob=params.transition[..., 0],
        branching_prob=params.branching[:, 0] if structure else None,
        vocabulary=small.vocabulary,
        absent=absent,
    )
    states = model.decode(small)
    branching = model.branching_prob_ if structure else None
    one = twin.Theta(
        model.leaf_prob_, model.emission_prob_, model.switch_prob_, model.transition_prob_, branching, absent
    )
    for t in range(small.n_trees):
        tree = twin.nodes_of(small, t)
        found = states[small.tree_start[t] : small.tree_start[t + 1]]
        best, _ = twin.best_assignment(tree, one)
        assert twin.joint_with_best_switches(tree, one, tuple(found), n_slots, 2) == pytest.approx(best, rel=1e-10)


@pytest.mark.parametrize(("last", "deciding"), [(0.7, 0), (0.9, 1)])
def test_children_that_crowd_in_the_last_slot_share_its_weight_when_decoded(last, deciding):
    """A child alone in slot 0 against four in slot 1: each of the four has a quarter of the weight of the slot."""
    tree = ab.Forest.from_nested([("r", [("a", []), ("b", []), ("b", []), ("b", []), ("b", [])])])
    copies = np.array([[0.98, 0.02], [0.02, 0.98]])  # a parent takes the state of the child that decides
    model = ab.HiddenTree.from_parameters(
        leaf_prob=np.array([[0.99, 0.01], [0.01, 0.99], [0.5, 0.5]]),  # state 0 in slot 0, state 1 in slot 1
        emission_prob=np.full((2, 3), 1.0 / 3.0),
        switch_prob=np.array([1.0 - last, last]),
        transition_prob=np.stack([copies, copies]),
        vocabulary=tree.vocabulary,
        absent="literal",
    )
    states = model.decode(tree)
    assert states[tree.slot < 0] == deciding
    np.testing.assert_array_equal(states[tree.slot >= 0], tree.slot[tree.slot >= 0] > 0)


def test_encoding_sums_node_posteriors_by_slot(model, forest):
    some = forest.take([0, 5, 0, 7])
    dense = model.transform(some)
    blocks = dense.reshape(4, 3, model.n_slots_ + 1, 2)
    for x, t in enumerate([0, 5, 0, 7]):
        tree = twin.nodes_of(forest, t)
        for k in range(3):
            expected = np.zeros((model.n_slots_ + 1, 2))
            for (_, slot, _), eps in zip(tree, twin.upward_downward(tree, theta(model, k)).node, strict=True):
                expected[slot] += eps  # the root's slot, -1, is the last row
            np.testing.assert_allclose(blocks[x, k], expected, rtol=1e-10, atol=1e-12)
    assert len(model.get_feature_names_out()) == dense.shape[1]
    assert model.get_feature_names_out()[-1] == "component2_root_state1"


def test_sparse_encoding_equals_dense_and_holds_used_slots_only(model, forest):
    dense = model.transform(forest)
    sparse = ab.HiddenTreeMixture.from_parameters(
        weight=model.weight_,
        leaf_prob=model.leaf_prob_,
        emission_prob=model.emission_prob_,
        switch_prob=model.switch_prob_,
        transition_prob=model.transition_prob_,
        branching_prob=model.branching_prob_,
        vocabulary=model.vocabulary_,
    )
    out = sparse.set_params(sparse_output=True).transform(forest)
    assert np.array_equal(out.toarray(), dense)
    used = sum(
        len(np.unique(forest.slot[a:b])) for a, b in zip(forest.tree_start[:-1], forest.tree_start[1:], strict=True)
    )
    assert out.nnz == used * 3 * 2


@reading
@pytest.mark.parametrize("n_slots", [3, 1])  # with one, both children are pooled into it
def test_drawn_labels_follow_the_model(absent, structure, n_slots):
    """Frequencies of all labellings of one shape against their exact probabilities."""
    rng = np.random.default_rng(4)
    shape = ab.Forest.from_nested([("x", ["x", {"label": "x", "slot": 2}])] * 40_000, vocabulary=["x", "y"])
    spec = tm.SwitchingTree.of_labels(n_slots, 2, 2, absent, structure)
    params = spec.draw(rng, 2)
    model = ab.HiddenTreeMixture.from_parameters(
        weight=[0.3, 0.7],
        leaf_prob=params.leaf.transpose(2, 0, 1),
        emission_prob=params.emission.transpose(2, 1, 0),
        switch_prob=params.switch.T,
        transition_prob=params.transition.transpose(3, 0, 1, 2),
        branching_prob=params.branching.T if structure else None,
        vocabulary=["x", "y"],
        absent=absent,
    )
    drawn = model.sample(skeleton=shape, random_state=1)
    code = drawn.label.reshape(-1, 3) @ [4, 2, 1]
    frequency = np.bincount(code, minlength=8) / len(shape)
    every = np.array(np.unravel_index(np.arange(8), (2, 2, 2))).T
    exact = np.zeros(8)
    for k, weight in enumerate(model.weight_):
        places = [(a, b) for a, b, _ in twin.nodes_of(shape, 0)]
        labelled = [[(a, b, int(m)) for (a, b), m in zip(places, row, strict=True)] for row in every]
        p = np.exp([twin.enumerate_tree(tree, theta(model, k)).log_prob for tree in labelled])
        exact += weight * p  # the shape says something of the component
    exact /= exact.sum()
    np.testing.assert_allclose(frequency, exact, atol=5 * 0.5 / np.sqrt(len(shape)))


@reading
def test_the_component_of_a_given_shape_is_drawn_from_its_posterior(absent, structure):
    """P(component | shape) by the sum over all labellings; with the mixing weights alone both would be drawn evenly."""
    params = tm.SwitchingTree.of_labels(2, 2, 2, absent, structure).draw(np.random.default_rng(6), 2)
    model = ab.HiddenTreeMixture.from_parameters(
        weight=[0.5, 0.5],
        leaf_prob=params.leaf.transpose(2, 0, 1),
        emission_prob=params.emission.transpose(2, 1, 0),
        switch_prob=params.switch.T,
        transition_prob=params.transition.transpose(3, 0, 1, 2),
        branching_prob=[[0.9, 0.01], [0.05, 0.5]] if structure else None,
        absent=absent,
    )
    shapes = ab.Forest.from_nested([("0", [("0", ["0"])]), ("0", ["0", "0"])] * 1500, vocabulary=["0", "1"])
    exact = np.zeros((2, 2))
    for t in range(2):
        places = [(a, b) for a, b, _ in twin.nodes_of(shapes, t)]
        for labels in np.ndindex(2, 2, 2):
            tree = [(a, b, m) for (a, b), m in zip(places, labels, strict=True)]
            exact[t] += [np.exp(twin.enumerate_tree(tree, theta(model, k)).log_prob) for k in range(2)]
    exact /= exact.sum(axis=1, keepdims=True)
    found = draw_trees.shape_posterior(model.spec_, model._fitted_params(), shapes)
    np.testing.assert_allclose(found[:2], exact, rtol=1e-10)
    drawn = model.sample(skeleton=shapes, random_state=0)
    np.testing.assert_allclose([drawn.target[t::2].mean() for t in range(2)], exact[:, 1], atol=0.06)
    if structure:
        assert exact[0, 0] > 0.97  # a chain has the first component's branching


def test_shapes_that_no_component_can_produce_get_the_mixing_weights():
    model = ab.HiddenTreeMixture.from_parameters(
        weight=[0.2, 0.8],
        leaf_prob=np.ones((2, 2, 1)),
        emission_prob=np.ones((2, 1, 1)),
        switch_prob=np.ones((2, 1)),
        transition_prob=np.ones((2, 1, 2, 1)),
        branching_prob=np.zeros((2, 1)),
    )
    shapes = ab.Forest.from_nested([("0", ["0"])] * 2000)
    assert model.sample(skeleton=shapes, random_state=0).target.mean() == pytest.approx(0.8, abs=0.04)


def test_a_switch_without_weight_on_present_slots_chooses_among_them():
    model = ab.HiddenTree.from_parameters(
        leaf_prob=[[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]],
        emission_prob=[[1.0, 0.0], [0.0, 1.0]],
        switch_prob=[1.0, 0.0],
        transition_prob=[[[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]]],
        absent="renormalised",
    )
    shape = ab.Forest.from_nested([("0", [{"label": "1", "slot": 1}])] * 50, vocabulary=["0", "1"])
    drawn = model.sample(skeleton=shape, random_state=0)
    assert (drawn.label == 1).all()  # the only child is in state 1, and its state is handed on
    assert np.isfinite(model.score_samples(drawn)).all()


def test_pooled_shapes_are_drawn_as_they_are_scored():
    model = ab.HiddenTree(1, n_slots=1, prior=1.0, max_iter=2, tol=0, random_state=0)
    model.fit(ab.Forest.from_nested([("a", ["a", "a"]), "a", ("a", ["a"]), "a", "a"]))
    rho = model.branching_prob_[0]
    assert rho == pytest.approx(3 / (3 + 8))
    drawn = model.sample(20_000, random_state=0)
    children = np.bincount(drawn.parent[drawn.parent >= 0], minlength=drawn.n_nodes)
    assert children.mean() == pytest.approx(rho / (1 - rho), rel=0.05)
    for m in range(4):
        assert (children == m).mean() == pytest.approx(rho**m * (1 - rho), abs=0.01)


def test_drawn_shapes_follow_the_branching_and_refit_recovers_the_parameters():
    rng = np.random.default_rng(0)
    spec = tm.SwitchingTree.of_labels(2, 3, 1, "bottom", "branching")
    params = spec.draw(rng, 1)
    model = ab.HiddenTree.from_parameters(
        leaf_prob=params.leaf[..., 0],
        emission_prob=params.emission[..., 0].T,
        switch_prob=params.switch[:, 0],
        transition_prob=params.transition[..., 0],
        branching_prob=[0.5, 0.2],
    )
    drawn = model.sample(20_000, random_state=2)
    again = ab.HiddenTree(1, prior=1.0, max_iter=2, tol=0, random_state=0).fit(drawn)
    np.testing.assert_allclose(again.branching_prob_, [0.5, 0.2], atol=0.01)
    np.testing.assert_allclose(again.emission_prob_, model.emission_prob_, atol=0.01)
    assert drawn.sizes.mean() == pytest.approx(1 / 0.3, rel=0.1)  # a node has 0.7 children on average


def test_sampling_says_what_it_cannot_do(model, forest):
    with pytest.raises(ArboraError, match="skeleton"):
        ab.HiddenTreeMixture(2, 2, structure=None, max_iter=2, tol=0, random_state=0).fit(forest).sample(3)
    endless = ab.HiddenTree.from_parameters(
        leaf_prob=np.ones((3, 1)),
        emission_prob=[[1.0]],
        switch_prob=[0.5, 0.5],
        transition_prob=np.ones((2, 2, 1)),
        branching_prob=[0.9, 0.9],
    )
    with pytest.raises(ArboraError, match="never end"):
        endless.sample(3)


def test_history_is_the_objective_of_the_parameters_returned(forest):
    model = ab.HiddenTreeMixture(3, 2, prior=1.3, max_iter=7, tol=0, random_state=0).fit(forest)
    assert len(model.history_) == model.n_iter_ == 7
    params = model._fitted_params().tree
    objective = model.score_samples(forest).sum() + model.spec_.log_prior(params, tm.Priors(*[1.3] * 5)).sum()
    assert model.history_[-1] == pytest.approx(objective, rel=1e-12)
    assert np.diff(model.history_).min() >= 0


def test_converged_is_true_only_when_the_rule_was_met(forest):
    with pytest.warns(NotConvergedWarning, match="max_iter=2"):
        model = ab.HiddenTreeMixture(3, 2, max_iter=2, tol=1e-9, tol_per_node=0, random_state=0).fit(forest)
    assert not model.converged_
    model = ab.HiddenTreeMixture(3, 2, max_iter=500, tol=1e-3, tol_per_node=0, random_state=0).fit(forest)
    assert model.converged_
    assert model.history_[-1] - model.history_[-2] < 1e-3 * len(forest)


def test_a_warning_names_the_line_that_called_arbora(forest):
    with pytest.warns(NotConvergedWarning) as caught:
        ab.HiddenTreeMixture(2, n_states=2, max_iter=2, tol=1e-9, tol_per_node=0, random_state=0).fit(forest)
    assert {each.filename for each in caught} == {__file__}


def test_components_come_by_decreasing_weight(model):
    assert (np.diff(model.weight_) <= 0).all()


def test_more_starts_never_end_worse(forest):
    one = ab.HiddenTreeMixture(4, 2, init="random", max_iter=10, tol=0, random_state=3).fit(forest)
    many = ab.HiddenTreeMixture(4, 2, init="random", n_init=5, max_iter=10, tol=0, random_state=3).fit(forest)
    assert many.history_[-1] >= one.history_[-1]


def test_weights_are_repetitions(forest):
    weight = np.arange(len(forest)) % 3
    settings = {"init": "random", "max_iter": 5, "tol": 0, "random_state": 0}
    weighted = ab.HiddenTreeMixture(2, 2, **settings).fit(forest, sample_weight=weight)
    repeated = ab.HiddenTreeMixture(2, 2, **settings).fit(forest.take(np.repeat(np.arange(len(forest)), weight)))
    np.testing.assert_allclose(weighted.history_, repeated.history_, rtol=1e-9)
    np.testing.assert_allclose(weighted.emission_prob_, repeated.emission_prob_, rtol=1e-7, atol=1e-10)
    for bad in ([1.0], [-1.0] * len(forest), [np.nan] * len(forest), [0.0] * len(forest)):
        with pytest.raises(ValueError, match="sample_weight"):
            ab.HiddenTreeMixture(2, 2).fit(forest, sample_weight=bad)


def test_unseen_labels_are_summed_out_and_extra_slots_pooled(model):
    known = ab.Forest.from_nested([("w0", ["w1", None])])
    unseen = ab.Forest.from_nested([("w0", ["w1", "never met"])])
    assert model.score_samples(unseen) == pytest.approx(model.score_samples(known))
    wide = ab.Forest.from_nested([("w0", ["w1"] * 9)])
    assert np.isfinite(model.score_samples(wide)).all()
    assert model.transform(wide).shape[1] == len(model.get_feature_names_out())
    assert model.posterior(wide).sum() == pytest.approx(10)


def test_impossible_trees_are_reported_and_keep_the_mixing_weights():
    model = ab.HiddenTreeMixture.from_parameters(
        weight=[0.6, 0.4],
        leaf_prob=np.ones((2, 2, 1)),
        emission_prob=[[[1.0, 0.0]], [[1.0, 0.0]]],
        switch_prob=np.ones((2, 1)),
        transition_prob=np.ones((2, 1, 2, 1)),
    )
    two = ab.Forest.from_nested([("0", ["0"]), ("0", ["1"])])
    assert model.score_samples(two)[1] == -np.inf
    np.testing.assert_allclose(model.predict_proba(two)[1], [0.6, 0.4])
    model.set_params(warm_start=True, prior=1.0, max_iter=2, tol=0)
    with pytest.warns(UnexplainedTreesWarning, match="1 of 2 trees"):
        model.fit(two)
    assert model.n_unexplained_ == 1


def test_warm_start_goes_on_where_the_last_fit_ended(forest):
    settings = {"init": "random", "tol": 0, "random_state": 0}
    straight = ab.HiddenTreeMixture(3, 2, max_iter=12, **settings).fit(forest)
    staged = ab.HiddenTreeMixture(3, 2, max_iter=5, **settings).fit(forest)
    staged.set_params(warm_start=True, max_iter=7).fit(forest)
    np.testing.assert_allclose(staged.history_[-1], straight.history_[-1], rtol=1e-12)
    np.testing.assert_allclose(staged.emission_prob_, straight.emission_prob_, rtol=1e-8, atol=1e-12)


def test_partial_fit_approaches_what_fit_finds():
    forest = ab.datasets.make_asymmetric_trees(60, random_state=0)
    whole = ab.HiddenTreeMixture(3, 2, init="kmeans", prior=1.1, max_iter=40, tol=0, random_state=0).fit(forest)
    rng = np.random.default_rng(0)
    online = ab.HiddenTreeMixture(3, 2, init="kmeans", prior=1.1, random_state=0)
    scores = []
    for _ in range(15):
        order = rng.permutation(len(forest))
        for lo in range(0, len(forest), 45):
            online.partial_fit(forest.take(order[lo : lo + 45]))
        scores.append(online.score(forest))
    assert online.n_batches_ == 60
    assert scores[-1] > scores[0]
    assert scores[-1] == pytest.approx(whole.score(forest), abs=2.0)  # nats a tree; a single batch is 8 short
    again = ab.HiddenTreeMixture(3, 2, random_state=0).partial_fit(forest[:50]).fit(forest)
    assert again.n_batches_ == 1
    assert again.seen_weight_ == len(forest)


def test_hidden_tree_has_no_component_axis_and_groups_by_root_state(forest):
    model = ab.HiddenTree(3, max_iter=5, tol=0, random_state=0).fit(forest)
    assert model.leaf_prob_.shape == (4, 3)
    assert model.transition_prob_.shape == (3, 4, 3)
    assert model.posterior(forest).shape == (forest.n_nodes, 3)
    root = model.posterior(forest)[forest.tree_start[1:] - 1]
    np.testing.assert_allclose(model.predict_proba(forest), root, atol=1e-12)
    assert (model.predict(forest) == root.argmax(axis=1)).all()
    assert (model.labels_ == model.predict(forest)).all()
    assert (np.diff(np.bincount(model.labels_, minlength=3)) <= 0).all()


def test_one_component_is_the_hidden_tree(forest):
    single = ab.HiddenTree(2, max_iter=5, tol=0, random_state=0).fit(forest)
    mixture = ab.HiddenTreeMixture(1, 2, prior=1.1, max_iter=5, tol=0, random_state=0).fit(forest)
    np.testing.assert_allclose(single.history_, mixture.history_, rtol=1e-12)


def test_drawn_labels_have_posterior_frequencies(model, forest):
    proba = model.predict_proba(forest)
    drawn = np.stack([model.draw_labels(forest, random_state=s) for s in range(300)])
    frequency = np.stack([(drawn == k).mean(axis=0) for k in range(3)], axis=1)
    np.testing.assert_allclose(frequency, proba, atol=5 * 0.5 / np.sqrt(300))


@pytest.mark.parametrize(
    ("setting", "value", "message"),
    [
        ("n_components", 0, "n_components=0"),
        ("n_states", 2.5, "n_states=2.5"),
        ("absent", "gone", "absent='gone'"),
        ("structure", "tree", "structure='tree'"),
        ("init", "magic", "init='magic'"),
        ("prior", 0.5, "prior=0.5"),
        ("prior", [1.1], "prior="),
        ("leaf_prior", 0.9, "leaf_prior=0.9"),
        ("tol", "a", "tol='a'"),
        ("shard_bytes", -1, "shard_bytes=-1"),
        ("random_state", -1, "random_state=-1"),
        ("tol", -1.0, "tol=-1.0"),
        ("n_slots", 0, "n_slots=0"),
        ("learning_decay", 0.4, "learning_decay=0.4"),
        ("n_jobs", 0, "n_jobs=0"),
    ],
)
def test_bad_settings_are_named(forest, setting, value, message):
    with pytest.raises(ValueError, match=message):
        ab.HiddenTreeMixture(2, 2).set_params(**{setting: value}).fit(forest)


def test_no_trees_and_monstrous_slots_are_refused_in_a_sentence():
    with pytest.raises(ForestError, match="0 trees"):
        ab.HiddenTree().fit(ab.Forest.from_nested([]))
    far = ab.Forest.from_nested([("a", [{"label": "b", "slot": 2_000_000_000}])])
    with pytest.raises(ForestError, match="set n_slots"):
        ab.HiddenTree().fit(far)
    for model in (
        ab.HiddenTree(n_slots=4, max_iter=2, tol=0),
        ab.HiddenTreeMixture(2, 2, n_slots=4, max_iter=2, tol=0),
    ):
        assert np.isfinite(model.fit(far).score(far))


def test_the_fitted_model_does_not_follow_later_settings(forest, tmp_path):
    model = ab.HiddenTreeMixture(3, 2, max_iter=5, tol=0, random_state=0).fit(forest)
    score, names = model.score(forest), list(model.get_feature_names_out())
    for change in ({"absent": "slot"}, {"structure": None}, {"n_components": 5}, {"n_states": 4}):
        changed = ab.HiddenTreeMixture(3, 2, max_iter=5, tol=0, random_state=0).fit(forest).set_params(**change)
        assert changed.score(forest) == score
        assert list(changed.get_feature_names_out()) == names
        with pytest.raises(ValueError, match=f"{next(iter(change))}=.*fitted with"):
            changed.partial_fit(forest)
        with pytest.raises(ValueError, match=f"{next(iter(change))}=.*fitted with"):
            changed.set_params(warm_start=True).fit(forest)
        with pytest.raises(ValueError, match=f"save: {next(iter(change))}=.*fitted with"):
            changed.save(tmp_path / "m.arbora")  # which could not be read
    assert not (tmp_path / "m.arbora").exists()


def test_a_refused_fit_leaves_the_old_model_alone(forest):
    model = ab.HiddenTreeMixture(3, 2, max_iter=5, tol=0, random_state=0).fit(forest)
    score = model.score(forest)
    other = ab.Forest.from_nested([("x", [{"label": "y", "slot": 1_999_999_999}])])
    for bad in ({"random_state": "seed"}, {"n_jobs": 0}, {"random_state": 0, "n_jobs": None}):
        with pytest.raises((ValueError, ForestError)):
            model.set_params(**bad).fit(other)
        assert model.set_params(n_jobs=None).score(forest) == score
        assert model.vocabulary_ == forest.vocabulary


def test_partial_fit_goes_on_from_fit_and_from_a_file(forest, tmp_path):
    model = ab.HiddenTreeMixture(3, 2, max_iter=30, tol=0, random_state=0).fit(forest)
    model.save(tmp_path / "m.arbora")
    before = model.score(forest)
    model.partial_fit(forest[:2])
    assert model.score(forest) > before - 0.1  # two trees among eighty do not overturn the model
    assert model.n_batches_ == 2
    loaded = ab.load(tmp_path / "m.arbora").partial_fit(forest[:2])
    assert np.array_equal(loaded.emission_prob_, model.emission_prob_)
    halves = ab.HiddenTreeMixture(3, 2, learning_decay=1.0, random_state=0).partial_fit(forest[:40])
    assert halves.counts_["weight"].sum() == pytest.approx(40)
    assert halves.partial_fit(forest[40:]).counts_["weight"].sum() == pytest.approx(80)


def test_trees_of_weight_zero_do_not_touch_the_fit(forest):
    settings = {"max_iter": 5, "tol": 0, "random_state": 0}
    weight = np.where(np.arange(len(forest)) < 60, 1.0, 0.0)
    weighted = ab.HiddenTreeMixture(3, 2, **settings).fit(forest, sample_weight=weight)
    without = ab.HiddenTreeMixture(3, 2, **settings).fit(forest[:60])
    np.testing.assert_allclose(weighted.history_, without.history_, rtol=1e-10)


def test_counts_of_pooled_slots_are_never_below_zero(tmp_path):
    """Absent slots are a difference of two sums: rounding made it negative, and the file of the model was refused."""
    gaps = arbora.datasets.make_random_trees(30, 4, 5, 12, missing=0.2, random_state=1)
    reading = {"absent": "slot", "prior": 1.0, "n_slots": 2}
    model = ab.HiddenTreeMixture(5, 3, **reading, max_iter=6, tol=0, random_state=0).fit(gaps)
    assert model.counts_["leaf"].min() >= 0.0
    model.counts_["leaf"][0, 0, 0] = -1e-15  # as earlier versions saved it
    model.save(tmp_path / "m.arbora")
    assert ab.load(tmp_path / "m.arbora").counts_["leaf"][0, 0, 0] == 0.0
    model.counts_["leaf"][0, 0, 0] = -1e-3
    model.save(tmp_path / "m.arbora")
    with pytest.raises(ab.ModelFileError, match="leaf holds values"):
        ab.load(tmp_path / "m.arbora")


def test_a_model_of_missing_labels_only_survives_a_file(tmp_path):
    blank = ab.Forest.from_nested([(None, [None, None]), None, (None, [None])])
    model = ab.HiddenTreeMixture(2, 2, max_iter=3, tol=0, random_state=0).fit(blank)
    model.save(tmp_path / "m.arbora")
    assert ab.load(tmp_path / "m.arbora").score(blank) == model.score(blank)


def test_information_criteria_by_their_formulas(model, forest):
    # 3 components: 4 leaf rows of 2 states, 2 states of 3 labels, 3 slots, 3 x 3 transition rows of 2 states, 3 chances
    free = 3 * (4 * 1 + 2 * 2 + 2 + 9 * 1 + 3) + 2
    assert model.n_parameters() == free
    total = model.score_samples(forest).sum()
    assert model.aic(forest) == pytest.approx(-2 * total + 2 * free)
    assert model.bic(forest) == pytest.approx(-2 * total + np.log(len(forest)) * free)


def test_every_awkward_forest_fits_without_nan(awkward):
    for absent in tm.ABSENT:
        model = ab.HiddenTreeMixture(2, 2, absent=absent, max_iter=3, tol=0, random_state=0, n_slots=50).fit(awkward)
        assert np.isfinite(model.history_).all()
        assert np.isfinite(model.transform(awkward)).all()
        assert np.isfinite(model.predict_proba(awkward)).all()
        assert len(model.decode(awkward)) == awkward.n_nodes


def test_prediction_on_an_empty_forest_is_empty(model):
    empty = ab.Forest.from_nested([])
    assert model.predict(empty).shape == (0,)
    with pytest.raises(ForestError, match="0 trees"):
        model.score(empty)
    assert model.predict_proba(empty).shape == (0, 3)
    assert model.transform(empty).shape == (0, len(model.get_feature_names_out()))
    assert model.posterior(empty).shape == (0, 3, 2)


def test_from_parameters_checks_what_it_is_given(model):
    good = {
        "weight": model.weight_,
        "leaf_prob": model.leaf_prob_,
        "emission_prob": model.emission_prob_,
        "switch_prob": model.switch_prob_,
        "transition_prob": model.transition_prob_,
    }
    for name, value, message in (
        ("weight", [0.5, 0.5, 0.5], "weight.*sum to one"),
        ("leaf_prob", model.leaf_prob_[:, :-1], "leaf_prob has shape"),
        ("emission_prob", model.emission_prob_ * np.nan, "not probabilities"),
        ("transition_prob", -model.transition_prob_, "not probabilities"),
    ):
        with pytest.raises(ValueError, match=message):
            ab.HiddenTreeMixture.from_parameters(**{**good, name: value})


def test_interrupted_fit_keeps_the_last_finished_iteration(forest, monkeypatch):
    from arbora.models.hidden_tree.passes import Batch

    calls = []
    original = Batch.expected_counts

    def interrupting(self, params, fixed=None):
        calls.append(1)
        if len(calls) == 5:
            raise KeyboardInterrupt
        return original(self, params, fixed)

    monkeypatch.setattr(Batch, "expected_counts", interrupting)
    model = ab.HiddenTreeMixture(2, 2, init="random", max_iter=50, tol=0, random_state=0).fit(forest)
    assert model.n_iter_ == 3
    assert not model.converged_
    monkeypatch.undo()
    straight = ab.HiddenTreeMixture(2, 2, init="random", max_iter=3, tol=0, random_state=0).fit(forest)
    np.testing.assert_allclose(model.history_, straight.history_, rtol=1e-12)


def test_clusters_of_patterns_start_components_that_the_trees_alone_make_differ():
    forest = ab.datasets.make_documents(12, noise=0.0, random_state=0)
    priors, rng = tm.Priors(1.01, 1.01, 1.01, 1.01, 1.01), np.random.default_rng(0)
    spec = ab.HiddenTreeMixture(2, 3)._new_model(forest)
    drawn = fitting.random_start(rng, forest, None, spec, 2)
    # A random half of the trees in either cluster: without differences between trees there must be none of components.
    twice = ab.Forest.concat([forest, forest])
    halves = np.repeat([0, 1], forest.n_trees)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fitting, "pattern_start", lambda *_: halves)
        patch.setattr(fitting, "cluster_start", lambda *_: halves)
        alike = fitting.clustered_start(rng, twice, None, drawn, spec, priors, by_patterns=True)
        apart = fitting.clustered_start(rng, twice, None, drawn, spec, priors, by_patterns=False)
    np.testing.assert_allclose(alike.tree.emission[..., 0], alike.tree.emission[..., 1], atol=1e-9)
    assert np.abs(apart.tree.emission[..., 0] - apart.tree.emission[..., 1]).max() > 0.01


def test_em_from_patterns_ends_at_small_gains_per_node(forest):
    settings = {"tol": 1e-3, "max_iter": 500, "random_state": 0}
    early = ab.HiddenTreeMixture(3, 2, tol_per_node=5e-4, **settings).fit(forest)
    late = ab.HiddenTreeMixture(3, 2, tol_per_node=0.0, **settings).fit(forest)
    assert early.converged_
    assert early.n_iter_ < late.n_iter_
    assert late.history_[: early.n_iter_] == early.history_
    gains = np.diff(late.history_)
    assert early.n_iter_ > 2
    assert gains[early.n_iter_ - 2] < 5e-4 * forest.n_nodes  # the last gain of the early one
    assert (gains[: early.n_iter_ - 2] >= 5e-4 * forest.n_nodes).all()
    random = ab.HiddenTreeMixture(3, 2, init="random", tol_per_node=1e9, **settings).fit(forest)
    assert random.n_iter_ > 2  # only from clusters of patterns


def test_trees_without_a_common_pattern_start_from_slots():
    forest = ab.Forest.from_nested([(a, [b]) for a, b in ("ab", "cd", "ef", "gh")])
    model = ab.HiddenTreeMixture(2, 2, random_state=0).fit(forest)
    assert len(model.labels_) == 4


def test_novelty_ranks_left_out_trees_evenly_and_finds_strange_ones():
    forest = ab.datasets.make_documents(40, noise=0.1, random_state=0)
    order = np.random.default_rng(0).permutation(forest.n_trees)
    train, test = forest.take(np.sort(order[:120])), forest.take(np.sort(order[120:]))
    model = ab.HiddenTreeMixture(5, random_state=0).fit(train)
    found = model.novelty(test, train)
    assert found.p_value.shape == found.unseen_share.shape == (test.n_trees,)
    assert 0.3 < found.p_value.mean() < 0.7  # uniform: 0.5
    assert not found.unseen_share.any()
    odd = [("zebra", ["gnu", test.vocabulary[0]])]
    strange, (group,) = model.novelty(odd, train), model.predict(odd)
    assert strange.p_value[0] == 1.0 / (1.0 + (model.labels_ == group).sum())  # last of its group
    assert strange.unseen_share[0] == pytest.approx(2 / 3)


def test_novelty_judges_training_trees_by_parameters_without_them():
    # Each tree has a label of its own, which the model has seen: trees like these are as usual as the training trees.
    words = [f"w{i}" for i in range(60)]
    forest = ab.Forest.from_nested([("a", [word]) for word in words])
    model = ab.HiddenTreeMixture(1, 1, random_state=0).fit(forest[:40])
    with model._batch(model._in_training_terms(forest[:40]), model.spec_) as batch:
        left_out = novelty.fit_left_out(batch, model._fitted_params(), forest[:40], model._check_params())
        inside = batch.log_likelihood(model._fitted_params().tree)[:, 0] / 2
    assert (left_out.score < inside - 1.0).all()
