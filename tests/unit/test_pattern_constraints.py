"""Known classes, must-links and cannot-links: the enumerated posterior given them, and planted bugs."""

import numpy as np
import pytest

import arbora as ab
from arbora.errors import ForestError, SettingError
from arbora.models.patterns import marginals as mg
from arbora.models.patterns import sampler as sp
from arbora.models.patterns.constraints import make_blocks, read_constraints
from tests.unit.test_pattern_mixture import POWER, PRIORS, STRENGTHS, distance, exact, six  # noqa: F401

pytestmark = pytest.mark.compiled

CASES = {
    "pairs": (None, {"must_link": [(0, 3)], "cannot_link": [(1, 2), (4, 5), (0, 4)]}),
    "classes": (["x", None, "y", "x", None, None], None),
    "both": ([np.nan, None, 1, None, None, 2], {"must_link": [(0, 2)], "cannot_link": [(1, 3)]}),
}


def keeps(label, known, constraints):
    """Whether a partition keeps the constraints, pair by pair."""
    label = np.asarray(label)
    pairs = constraints or {}
    if any(label[a] != label[b] for a, b in pairs.get("must_link", [])):
        return False
    if any(label[a] == label[b] for a, b in pairs.get("cannot_link", [])):
        return False
    classes = [(t, c) for t, c in enumerate(known if known is not None else []) if c is not None and c == c]
    return all((label[s] == label[t]) == (c == d) for s, c in classes for t, d in classes)


def conditioned(posterior, case, number=None):
    left = {z: p for z, p in posterior.items() if keeps(z, *CASES[case]) and number in (None, max(z) + 1)}
    return {z: p / sum(left.values()) for z, p in left.items()}


def constrained(corpus, case):
    given = read_constraints(*CASES[case], corpus.n_trees)
    return corpus._replace(blocks=make_blocks(given, corpus.rows, np.arange(corpus.n_trees)))


def run(corpus, prior, n, closed=False, start=None, plant=lambda tables: tables, seed=0, swaps=1):
    rng = np.random.default_rng(seed)
    start = np.zeros(6, np.int64) if start is None else start
    sampler = sp.PartitionSampler(
        corpus, STRENGTHS, POWER, mg.PartitionPrior(prior, 1.0), starts=lambda rng: start, closed=closed,
        learn_concentration=False, n_split_merge=1, n_shared_out=swaps,
    )  # fmt: skip
    sampler.tables = plant(sampler.tables)
    state, seen = sampler.init(rng), {}
    for _ in range(n):
        state, _ = sampler.step(rng, state)
        number = {}
        key = tuple(number.setdefault(int(k), len(number)) for k in state.label)
        seen[key] = seen.get(key, 0) + 1
    return {key: m / n for key, m in seen.items()}


def test_a_chain_matches_the_enumerated_posterior_given_the_constraints(six, exact):  # noqa: F811
    wanted = conditioned(exact["dp"], "pairs")
    assert distance(run(constrained(six, "pairs"), "dp", 1500), wanted) < 0.07
    assert (
        distance(run(constrained(six, "pairs"), "dp", 500, plant=lambda t: t._replace(alpha=3 * t.alpha)), wanted) > 0.1
    )


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("prior", PRIORS)
def test_chains_match_the_enumerated_posterior_given_the_constraints(six, exact, prior, case):  # noqa: F811
    found = run(constrained(six, case), prior, 5000)
    assert all(keeps(z, *CASES[case]) for z in found)
    assert distance(found, conditioned(exact[prior], case)) < 0.04


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_chains_with_the_number_given_match_it_too(six, exact, case):  # noqa: F811
    found = run(constrained(six, case), "dp", 5000, closed=True, start=np.array([0, 1, 2, 0, 1, 2]))
    assert all(keeps(z, *CASES[case]) and max(z) == 2 for z in found)
    assert distance(found, conditioned(exact["dp"], case, number=3)) < 0.04


@pytest.mark.slow
def test_without_exchanges_pairs_cannot_change_places(six, exact):  # noqa: F811
    """The chain of two groups and two pairs that stay apart is stuck: a bug that the enumeration finds."""
    case = {"cannot_link": [(0, 1), (2, 3), (4, 5)]}
    given = read_constraints(None, case, 6)
    corpus = six._replace(blocks=make_blocks(given, six.rows, np.arange(6)))
    left = {z: p for z, p in exact["dp"].items() if keeps(z, None, case) and max(z) == 1}
    wanted = {z: p / sum(left.values()) for z, p in left.items()}
    start = np.array([0, 1, 0, 1, 0, 1])
    assert distance(run(corpus, "dp", 5000, closed=True, start=start, swaps=3), wanted) < 0.04
    assert distance(run(corpus, "dp", 500, closed=True, start=start, swaps=0), wanted) > 0.3


@pytest.mark.slow
@pytest.mark.parametrize("plant", [lambda t: t._replace(power=2 * t.power), lambda t: t._replace(alpha=3 * t.alpha)])
def test_planted_bugs_are_found(six, exact, plant):  # noqa: F811
    assert distance(run(constrained(six, "pairs"), "dp", 5000, plant=plant), conditioned(exact["dp"], "pairs")) > 0.1


# ---- the estimator --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def demo():
    return ab.datasets.load_demo()[::4]


def partial(target, step=7):
    return [str(c) if t % step == 0 else None for t, c in enumerate(target)]


@pytest.mark.parametrize("number", [None, 6])
def test_every_draw_and_the_groups_found_keep_to_what_is_known(demo, number):
    y, links = partial(demo.target), {"must_link": [(1, 2), (2, 3)], "cannot_link": [(4, 5)]}
    model = ab.PatternMixture(number, n_iter=6, n_chains=2, random_state=0).fit(demo, known=y, constraints=links)
    assert keeps(model.labels_, y, links)
    for label in model.draws().reshape(-1, demo.n_trees):
        assert keeps(label, y, links)
    assert model.class_groups_ == {c: model.labels_[y.index(c)] for c in dict.fromkeys(y) if c is not None}
    assert number is None or model.n_components_ == number
    assert keeps(model.labels_ * 2 + model.split_side_, None, {"must_link": links["must_link"]})


def test_a_sample_holds_all_trees_with_constraints(demo):
    y = partial(demo.target, 5)
    model = ab.PatternMixture(n_iter=4, n_chains=1, fit_on=60, random_state=0).fit(demo, known=y)
    assert len(model.fitted_trees_) == 60
    assert keeps(model.labels_, y, None)


def test_the_file_keeps_what_was_known(demo, tmp_path):
    model = ab.PatternMixture(n_iter=2, n_chains=1, random_state=0)
    model.fit(demo, known=partial(demo.target), constraints={"cannot_link": [(1, 2)]}).save(tmp_path / "m.arbora")
    again = ab.load(tmp_path / "m.arbora")
    assert again.class_groups_ == model.class_groups_ != {}
    assert again.constraints_["cannot_link"].tolist() == [[1, 2]]
    assert np.array_equal(again.constraints_["known_tree"], np.arange(0, demo.n_trees, 7))
    model.fit(demo)
    assert model.class_groups_ == {}
    assert not hasattr(model, "constraints_")


def test_y_is_ignored_and_missing_values_are_unknown(demo):
    model = ab.PatternMixture(n_iter=2, n_chains=1, random_state=0)
    free = model.fit(demo).labels_
    assert np.array_equal(model.fit(demo, demo.target).labels_, free)
    assert np.array_equal(model.fit(demo, known=[None] * demo.n_trees).labels_, free)
    assert np.array_equal(model.fit_predict(demo, known=np.full(demo.n_trees, np.nan)), free)
    assert model.class_groups_ == {}


@pytest.mark.parametrize(
    ("number", "y", "links", "says"),
    [
        (None, None, {"must_link": [(0, 1), (1, 2)], "cannot_link": [(2, 0)]}, r"cannot_link \(2, 0\)"),
        (None, "a..a..", {"cannot_link": [(0, 3)]}, r"cannot_link \(0, 3\)"),
        (None, "a..b..", {"must_link": [(0, 1), (1, 3)]}, "class 'a' .tree 0. to trees of class 'b' .tree 3."),
        (2, "a.b.c.", None, "3 classes are known"),
        (2, None, {"cannot_link": [(0, 1), (1, 2), (0, 2)]}, "no way was found"),
        (None, None, {"must_link": [(0, 6)]}, "tree 6; wanted numbers from 0 to 5"),
        (None, None, {"must": []}, "wanted a dict with must_link and cannot_link"),
        (None, "ab", None, "known has 2 entries"),
        (None, None, {"must_link": [(0.7, 1)]}, "pairs of whole numbers"),
        (None, None, {"must_link": np.array([[0.0, 1.9]])}, "pairs of whole numbers"),
        (None, None, {"must_link": ["01"]}, "pairs of whole numbers"),
        (None, None, {"cannot_link": [(True, 2)]}, "pairs of whole numbers"),
        (None, None, {"cannot_link": [(2**70, 1)]}, "wanted numbers from 0 to 5"),
    ],
)
def test_contradictions_are_refused(number, y, links, says):
    trees = [("a", ["b"]), ("a", ["c"]), ("a", ["b", "c"]), ("d", ["e"]), ("d", ["f"]), ("d", ["e", "f"])]
    known = None if y is None else [None if c == "." else c for c in y]
    with pytest.raises(SettingError, match=says):
        ab.PatternMixture(number, n_iter=2, n_chains=1, random_state=0).fit(trees, known=known, constraints=links)


def test_minus_one_is_neither_a_class_nor_unknown():
    with pytest.raises(SettingError, match="-1 for tree 1; write None"):
        ab.PatternMixture(n_iter=2, n_chains=1).fit([("a", ["b"])] * 3, known=np.array([0, -1, 0]))


@pytest.mark.parametrize(("a", "b"), [(1, "1"), (True, "True"), (b"a", "a"), ("x", "x\0")])
def test_classes_that_differ_and_look_alike_are_refused(a, b):
    with pytest.raises(ForestError):
        ab.PatternMixture(n_iter=2, n_chains=1).fit([("a", ["b"])] * 3, known=[a, b, None])


def test_equal_classes_are_one():
    model = ab.PatternMixture(n_iter=2, n_chains=1, random_state=0).fit([("a", ["b"])] * 3, known=[1, 1.0, None])
    assert list(model.class_groups_) == ["1.0"]


def test_trees_alike_in_all_patterns_are_parted_by_classes_alone():
    model = ab.PatternMixture(n_iter=4, n_chains=1, random_state=0)
    label = model.fit_predict([("a", ["b", "c"])] * 6, known=["x", None, None, "y", None, "x"])
    assert label[0] == label[5] != label[3]
