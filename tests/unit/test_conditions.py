"""Known classes and pairs in EM of hidden trees: the E-step against enumeration, planted bugs, a monotone objective."""

import itertools

import numpy as np
import pytest
from scipy.special import logsumexp

import arbora as ab
from arbora.errors import ModelFileError, SettingError
from arbora.models.hidden_tree import conditions as cd
from arbora.models.hidden_tree.conditions import ConditionedBatch, conditions_of
from arbora.models.hidden_tree.passes import Batch, log_joint
from arbora.models.patterns.constraints import read_constraints
from tests.unit.test_pattern_constraints import keeps, partial

pytestmark = [pytest.mark.compiled, pytest.mark.filterwarnings("ignore")]

CASES = {
    "none of it": (["x", *[None] * 5], None),
    "pairs": (None, {"must_link": [(0, 3)], "cannot_link": [(1, 2), (4, 5), (0, 4)]}),
    "classes": (["x", None, "y", "x", None, None], None),
    "both": ([None, None, "y", None, None, "x"], {"must_link": [(0, 2), (1, 4)], "cannot_link": [(1, 3), (2, 3)]}),
    "a triangle": (None, {"cannot_link": [(0, 1), (1, 2), (0, 2), (3, 4)], "must_link": [(2, 5)]}),
}


def numbered(known):
    classes = dict.fromkeys(c for c in known or [] if c is not None)
    return {c: k for k, c in enumerate(classes)}


def enumerated(joint, known, constraints):
    """P(components | trees, conditions) tree by tree, log P(trees, conditions), and the best way, one by one."""
    n, k = joint.shape
    number, score, ways = numbered(known), [], []
    for z in itertools.product(range(k), repeat=n):
        pinned = all(z[t] == number[c] for t, c in enumerate(known or []) if c is not None)
        if pinned and keeps(z, None, constraints):
            ways.append(z)
            score.append(joint[np.arange(n), z].sum())
    ways, score = np.array(ways), np.array(score)
    share = np.exp(score - logsumexp(score))
    resp = np.stack([[share[ways[:, t] == j].sum() for j in range(k)] for t in range(n)])
    return resp, logsumexp(score), ways[score.argmax()]


def conditioned(case, n_components=3):
    return conditions_of(read_constraints(*CASES[case], 6), 6, n_components)


@pytest.fixture(scope="module")
def joint():
    return np.random.default_rng(0).normal(-8.0, 2.0, (6, 3))


@pytest.mark.parametrize("case", CASES)
def test_the_posterior_is_that_of_the_enumeration(joint, case):
    conditions = conditioned(case)
    resp, log_prob = conditions.posterior(joint)
    wanted, total, best = enumerated(joint, *CASES[case])
    assert np.abs(resp - wanted).max() < 1e-13
    assert log_prob == pytest.approx(total, abs=1e-12)
    assert conditions.best(joint).tolist() == best.tolist()


def without_ties(conditions):
    return conditions._replace(tied=())


def with_a_tie_less(conditions):
    (one, *rest) = conditions.tied
    ways = np.array(list(itertools.product(range(3), repeat=len(one.block))))
    return conditions._replace(tied=(one._replace(way=ways), *rest))


def with_free_classes(conditions):
    return conditions._replace(allowed=np.ones_like(conditions.allowed))


def with_trees_alone(conditions):
    """Each tree of a block counts by itself."""
    n = len(conditions.tree)
    return conditions._replace(block=np.arange(n), allowed=conditions.allowed[conditions.block], tied=())


@pytest.mark.parametrize(
    ("plant", "case"),
    [
        (without_ties, "pairs"),
        (with_a_tie_less, "a triangle"),
        (with_free_classes, "classes"),
        (with_trees_alone, "both"),
    ],
)
def test_planted_bugs_are_found(joint, plant, case):
    resp, log_prob = plant(conditioned(case)).posterior(joint)
    wanted, total, _ = enumerated(joint, *CASES[case])
    assert np.abs(resp - wanted).max() > 1e-3
    assert abs(log_prob - total) > 1e-3


def test_trees_without_a_component_are_left_out(joint):
    joint = joint.copy()
    joint[4] = -np.inf
    joint[1, 0] = -np.inf
    resp, log_prob = conditioned("pairs").posterior(joint)
    assert (resp[4] == 0).all()
    assert resp[1, 0] == 0
    assert np.isfinite(log_prob)
    assert resp[[0, 1, 2, 3, 5]].sum(axis=1) == pytest.approx(np.ones(5))


def test_starts_give_classes_the_clusters_of_their_trees():
    conditions = conditions_of(read_constraints(["x", "x", "y", None, None, None], {"must_link": [(3, 5)]}, 6), 6, 3)
    assert conditions.start(np.array([1, 1, 0, 2, 2, 0]), np.arange(6)).tolist() == [0, 0, 1, 1, 2, 1]
    some = np.array([0, 2, 4])
    assert conditions.start(np.array([2, 0, 1]), some).tolist() == [0, 1, 2]


def trees_of_six():
    return [("a", ["b", "c"]), ("a", ["b"]), ("d", ["e"]), ("a", ["c", "c"]), ("d", ["e", "f"]), ("a", ["b", "c"])]


@pytest.mark.parametrize("case", CASES)
def test_counts_and_objective_of_a_batch_are_those_of_the_enumeration(case):
    model = ab.HiddenTreeMixture(3, 2, max_iter=1, tol=0, random_state=0).fit(trees_of_six())
    params = model._fitted_params()
    with model._batch(model._in_training_terms(trees_of_six()), model.spec_) as plain:
        batch = ConditionedBatch.of(plain, conditioned(case))
        joint = log_joint(plain.log_likelihood(params.tree), params.weight)
        resp, total, best = enumerated(joint, *CASES[case])
        counts, objective = batch.expected_counts(params)
        wanted, _ = Batch.expected_counts(plain, params, resp)
    assert objective == pytest.approx(total, rel=1e-12)
    assert batch.evaluate(params) == pytest.approx(total, rel=1e-12)
    assert np.abs(counts.weight - wanted.weight).max() < 1e-12
    for mine, theirs in zip(counts.tree, wanted.tree, strict=True):
        if isinstance(mine, np.ndarray):
            assert np.abs(mine - theirs).max(initial=0.0) < 1e-10
    assert batch.labels_of(joint).tolist() == best.tolist()


@pytest.fixture(scope="module")
def demo():
    return ab.datasets.load_demo()[::4]


LINKS = {"must_link": [(1, 2), (2, 3)], "cannot_link": [(4, 5), (5, 6), (10, 70)]}


@pytest.mark.parametrize("init", ["patterns", "kmeans", "random"])
def test_em_is_monotone_and_its_labels_keep_what_is_known(demo, init):
    y = partial(demo.target)
    settings = {"n_states": 2, "init": init, "max_iter": 25, "tol": 0.0, "tol_per_node": 0.0, "random_state": 0}
    model = ab.HiddenTreeMixture(6, **settings).fit(demo, known=y, constraints=LINKS)
    assert np.diff(model.history_).min() > -1e-9 * abs(model.history_[-1])
    assert keeps(model.labels_, y, LINKS)
    assert set(model.class_groups_) == {c for c in y if c is not None}
    for name, group in model.class_groups_.items():
        assert {model.labels_[t] for t, c in enumerate(y) if c == name} == {group}


def test_the_objective_is_that_of_the_parameters_and_the_file_keeps_what_was_known(demo, tmp_path):
    y = partial(demo.target)
    model = ab.HiddenTreeMixture(5, 2, max_iter=6, tol=0.0, random_state=0).fit(demo, known=y, constraints=LINKS)
    model.save(tmp_path / "m")
    again = ab.load(tmp_path / "m")
    assert again.class_groups_ == model.class_groups_
    assert again.constraints_["must_link"].tolist() == [[1, 2], [2, 3]]
    model.provenance_["known_classes"] = ["one"]
    model.save(tmp_path / "m")
    with pytest.raises(ModelFileError):
        ab.load(tmp_path / "m")
    model.fit(demo)
    assert model.class_groups_ == {}
    assert not hasattr(model, "constraints_")


def test_known_classes_help_the_others(demo):
    y = [str(c) if t % 4 == 0 else None for t, c in enumerate(demo.target)]
    rest = [t for t, c in enumerate(y) if c is None]
    told = ab.HiddenTreeMixture(5, 2, init="random", random_state=1, max_iter=30).fit(demo, known=y)
    name = {group: c for c, group in told.class_groups_.items()}
    right = np.mean([name[told.labels_[t]] == str(demo.target[t]) for t in rest])
    assert right > 0.8  # one in five by chance


@pytest.mark.parametrize(
    ("settings", "what", "says"),
    [
        ({"n_components": 2}, {"known": ["a", "b", "c", None, None, None]}, "3 classes"),
        ({"n_components": 2}, {"constraints": {"cannot_link": [(0, 1), (1, 2), (0, 2)]}}, "no way"),
        ({"n_components": 3, "n_states": "infer"}, {"known": ["a", *[None] * 5]}, "infer"),
        ({"n_components": 3}, {"known": ["a", *[None] * 5], "sample_weight": np.ones(6)}, "sample_weight"),
        ({"n_components": 3}, {"constraints": {"must_link": [(0, 1)], "cannot_link": [(0, 1)]}}, "cannot_link"),
    ],
)
def test_what_em_cannot_take_is_refused(settings, what, says):
    with pytest.raises(SettingError, match=says):
        ab.HiddenTreeMixture(**{"n_states": 2, **settings}, random_state=0).fit(trees_of_six(), **what)


def test_large_sets_of_tied_trees_are_refused_and_chains_of_them_with_classes_are_not(monkeypatch):
    chain = [(t, t + 1) for t in range(39)]
    with pytest.raises(SettingError, match="more than 100,000 ways"):
        conditions_of(read_constraints(None, {"cannot_link": chain}, 40), 40, 3)
    two = conditions_of(read_constraints(None, {"cannot_link": chain}, 40), 40, 2)
    assert [len(tied.way) for tied in two.tied] == [2]
    zigzag = [(t, 20 + t) for t in range(20)] + [(20 + t, t + 1) for t in range(19)]
    star = [(t, 39) for t in range(39)]
    for pairs in (zigzag, star):  # trees that are tied to late ones only
        two = conditions_of(read_constraints(None, {"cannot_link": pairs}, 40), 40, 2)
        assert [len(tied.way) for tied in two.tied] == [2]
    every = ["a" if t % 2 else "b" for t in range(40)]
    assert conditions_of(read_constraints(every, {"cannot_link": chain}, 40), 40, 3).tied == ()
    monkeypatch.setattr(cd, "MOST_WAYS", 10)
    with pytest.raises(SettingError, match="more than 10 ways"):
        conditions_of(read_constraints(None, {"cannot_link": chain[:4]}, 40), 40, 3)


def test_a_map_takes_no_classes():
    with pytest.raises(SettingError, match="points"):
        ab.TopographicMap(2, basis=2, max_iter=1).fit(trees_of_six(), known=["a", *[None] * 5])
