"""Unions with content: lengths against the families of hidden trees, gains against enumeration, fits, files, costs."""

from dataclasses import replace
from itertools import combinations, permutations

import numpy as np
import pytest

import arbora as ab
from arbora.errors import ContentWarning, SettingError
from arbora.forest.forest import Forest
from arbora.models.hidden_tree.emissions.flag import Flag, Hits
from arbora.models.hidden_tree.emissions.gaussian import Gaussian, Moments
from arbora.models.hidden_tree.emissions.poisson import Poisson, Totals
from arbora.models.unions.node_codes import make_code
from arbora.models.unions.packed import UnionStore
from arbora.models.unions.union_content import (
    ContentCode,
    ContentColumn,
    choose_content,
    content_code,
    content_values,
    shared_lengths,
    value_moments,
)
from arbora.models.unions.working_union import collect_samples, member_moments, merge, remove, single, total_length

SPREAD = 0.1
ALL = {"x": "gaussian", "k": "poisson", "f": "flag"}


def attributed(rng, n_trees, most=4):
    """Random trees with numbers, counts and flags, a fifth of the values missing."""
    trees = []
    for _ in range(n_trees):
        n = int(rng.integers(2, most + 1))
        nodes = [("a", []) for _ in range(n)]
        for u in range(1, n):
            nodes[int(rng.integers(u))][1].append(nodes[u])
        trees.append(nodes[0])
    forest = Forest.from_nested(trees)
    n = forest.n_nodes

    def some(values):
        return [None if rng.random() < 0.2 else v for v in values.tolist()]

    return forest.with_content(
        {
            "x": ab.Column.numbers(some(rng.normal(3.0, 2.0, n).round(3))),
            "k": ab.Column.counts(some(rng.poisson(2.0, n))),
            "f": ab.Column.flags(some(rng.random(n) < 0.4)),
        }
    )


def slow_length(values, columns):
    """Nats for the values of one node, by the marginals of the families of hidden trees."""
    total = 0.0
    for c, column in enumerate(columns):
        x = values[:, c]
        x = x[~np.isnan(x)]
        n = np.array(float(len(x)))
        if column.family == "gaussian":
            family = Gaussian(0.0, column.prior[0], column.prior[1])
            total -= family.log_marginal(Moments(n, x.sum(), (x * x).sum()), 1.0)
        elif column.family == "poisson":
            from scipy.special import gammaln

            total -= Poisson(column.prior[0]).log_marginal(Totals(n, x.sum(), gammaln(x + 1.0).sum()), 1.0)
        else:
            total -= Flag().log_marginal(Hits(n, x.sum()), 1.0)
    return float(total)


def prepared(forest, content=None, noise=2.0):
    columns = choose_content(ALL if content is None else content, SPREAD, forest)
    code = make_code("ml", forest.n_trees + 1, 1.0, noise, content=content_code(columns))
    values = content_values(columns, forest)
    return columns, code, values, collect_samples(forest, False, value_moments(content_code(columns), values))


def test_lengths_of_content_are_the_marginals_of_the_families():
    forest = attributed(np.random.default_rng(0), 8)
    columns, code, values, _ = prepared(forest)
    moment = value_moments(ContentCode(code.family, code.content_prior), values)
    for size in (1, 2, 5):
        together = shared_lengths(ContentCode(code.family, code.content_prior), moment[:size].sum(axis=0)[None])
        assert together[0] == pytest.approx(slow_length(values[:size], columns), abs=1e-10)
    alone = sum(slow_length(values[u : u + 1], columns) for u in range(5))
    assert moment[:5, :, 3].sum() == pytest.approx(alone, abs=1e-10)


def above(parent):
    """Pairs (ancestor, node)."""
    out, n = set(), len(parent)
    for u in range(n):
        p = parent[u]
        while p < n:
            out.add((int(p), u))
            p = parent[p]
    return out


def slow_union_length(one, two, pairs, values_1, values_2, columns, noise):
    """Length of the union of two trees with these nodes matched, node by node."""
    total = 0.0
    in_1, in_2 = {u for u, _ in pairs}, {v for _, v in pairs}
    groups = [np.array([values_1[u], values_2[v]]) for u, v in pairs]
    groups += [values_1[[u]] for u in range(one) if u not in in_1]
    groups += [values_2[[v]] for v in range(two) if v not in in_2]
    for held in groups:
        p = len(held)
        entropy = 2 * np.log(2.0) if p == 1 else 0.0
        kept = 1.0 + entropy + slow_length(held, columns)
        free = noise * p + sum(slow_length(held[[i]], columns) for i in range(p))
        total += min(kept, free)
    return total


def best_by_enumeration(a, b, values_1, values_2, columns, noise):
    """The shortest union of two small trees over all matchings that keep ancestry both ways."""
    up_1, up_2 = above(a.parent), above(b.parent)
    best = np.inf
    for k in range(min(a.n_nodes, b.n_nodes) + 1):
        for left in combinations(range(a.n_nodes), k):
            for right in permutations(range(b.n_nodes), k):
                pairs = list(zip(left, right, strict=True))
                legal = all(
                    ((u, s) in up_1) == ((v, t) in up_2) for u, v in pairs for s, t in pairs if (u, v) != (s, t)
                )
                if legal:
                    best = min(best, slow_union_length(a.n_nodes, b.n_nodes, pairs, values_1, values_2, columns, noise))
    return best


def gain_gaps(seed, noise, change=None):
    """Gains of merging pairs of small trees, less those by enumeration; trees of 4 nodes have no conflicts."""
    forest = attributed(np.random.default_rng(seed), 6)
    columns, code, _, samples = prepared(forest, noise=noise)
    store = UnionStore(code if change is None else change(code))
    for t in range(len(samples.weight)):
        store.add(single(samples, t, 0))
    values = np.where(samples.moment[:, :, 0] > 0, samples.moment[:, :, 1], np.nan)
    out = []
    for s, t in combinations(range(len(samples.weight)), 2):
        a, b = store.unions[s], store.unions[t]
        if a.n_assigned != 1 or b.n_assigned != 1:
            continue
        held = [values[samples.start[x] : samples.start[x + 1]] for x in (s, t)]
        together = best_by_enumeration(a, b, *held, columns, noise)
        apart = total_length([a, b], code)
        out.append(store.gains(np.array([[s, t]])).gain[0] - (apart - together))
        assert store.bounds(np.array([[s, t]]))[0] >= store.gains(np.array([[s, t]])).gain[0] - 1e-9
    return np.abs(out)


@pytest.mark.parametrize("noise", [2.0, np.inf])
def test_gains_are_those_of_enumeration(noise):
    assert gain_gaps(1, noise).max() < 1e-9


def test_enumeration_finds_a_planted_bug():
    # The strength of the prior of means taken for another: too small to see in any picture.
    wrong = gain_gaps(1, 2.0, lambda code: code._replace(content_prior=code.content_prior * [1.0, 1.05]))
    assert wrong.max() > 1e-4


def test_taking_out_undoes_merging():
    forest = attributed(np.random.default_rng(3), 12, most=6)
    _, code, _, samples = prepared(forest)
    store = UnionStore(code)
    for t in range(3):
        store.add(single(samples, t, 0))
    union = store.unions[0]
    for t in (1, 2):
        number = store.add(union)
        union = merge(union, store.unions[t], store.match(number, t).pairs, 0)
    assert np.allclose(union.moment, member_moments(union.member, union.node_match, union.n_nodes, samples))
    back = remove(union, 2, samples, 0)
    assert np.allclose(back.moment, member_moments(back.member, back.node_match, back.n_nodes, samples))


def two_classes(seed=0, n=12, gap=4.0):
    """Trees of one structure whose second child is long in one class and short in the other."""
    rng = np.random.default_rng(seed)
    forest = Forest.from_nested([("r", ["a", ("b", ["c"])])] * (2 * n))
    target = np.repeat([0, 1], n)
    is_root = forest.parent < 0
    x = rng.normal(0.0, 0.3, forest.n_nodes) + np.where(np.repeat(target, 4) & is_root, gap, 0.0)
    return forest.with_content({"x": x}).with_target(target)


def test_content_tells_classes_of_one_structure_apart():
    forest = two_classes()
    assert ab.TreeUnionMixture().fit(forest).n_components_ == 1
    model = ab.TreeUnionMixture(content={"x": "gaussian"}).fit(forest)
    assert model.n_components_ == 2
    assert (model.labels_ == forest.target).all() or (model.labels_ == 1 - forest.target).all()
    assert model.description_length_ == pytest.approx(total_length(model._unions, model._code))
    means = [u.content_mean["x"][-1] for u in model.unions_]
    assert sorted(np.round(means)) == [0.0, 4.0]
    new = two_classes(seed=1)
    agree = model.predict(new) == new.target
    assert agree.all() or not agree.any()


def test_units_do_not_matter():
    forest = two_classes()
    other = forest.with_content({"x": 1e6 + 1e3 * forest.content["x"].values})
    one, two = (ab.TreeUnionMixture(content="auto").fit(f) for f in (forest, other))
    assert np.array_equal(one.labels_, two.labels_)
    assert one.description_length_ == pytest.approx(two.description_length_, abs=1e-4)


def test_files_keep_content(tmp_path):
    forest = two_classes()
    for content in ({"x": "gaussian"}, "auto"):
        model = ab.TreeUnionMixture(content=content).fit(forest)
        model.save(tmp_path / "m.model")
        back = ab.load(tmp_path / "m.model")
        assert back.content == content
        new = two_classes(seed=2)
        assert np.array_equal(back.predict(new), model.predict(new))
        assert np.allclose(back.score_samples(new), model.score_samples(new))


def test_draws_have_the_content_of_their_class():
    model = ab.TreeUnionMixture(content={"x": "gaussian"}).fit(two_classes())
    drawn = model.sample(200, random_state=0)
    roots = drawn.content["x"].values[drawn.parent < 0]
    assert np.median(roots[drawn.target == 1]) - np.median(roots[drawn.target == 0]) == pytest.approx(
        model.unions_[1].content_mean["x"][-1] - model.unions_[0].content_mean["x"][-1], abs=0.3
    )
    own = [u.log_prob(drawn[drawn.target == c]).mean() for c, u in enumerate(model.unions_)]
    others = [model.unions_[1 - c].log_prob(drawn[drawn.target == c]).mean() for c in (0, 1)]
    assert min(own) > max(others)


def test_draws_have_content_at_the_right_nodes():
    # The value of a node says its label; subtrees of siblings are interleaved in unions of such trees.
    value = {"r": 0.0, "a": 10.0, "b": 20.0, "c": 30.0, "d": 40.0, "e": 50.0}
    forest = Forest.from_nested([("r", [("a", ["b"]), ("c", ["d"])]), ("r", [("a", ["b"]), ("c", ["d", "e"])])] * 6)
    forest = forest.with_content({"x": [value[forest.vocabulary[m]] for m in forest.label]})
    union = ab.TreeUnion.of(forest, labels=True, content={"x": "gaussian"}, content_spread=1e-6)
    for order in permutations(range(union.n_nodes)):  # any order of nodes, children before parents
        if all(union.parent[u] < 0 or order[u] < order[union.parent[u]] for u in range(union.n_nodes)):
            place = np.argsort(order)
            parent = np.array([order[p] if p >= 0 else -1 for p in union.parent[place]])
            moved = replace(
                union,
                parent=parent,
                node_count=union.node_count[place],
                label_count=union.label_count[place],
                moment=union.moment[place],
            )
            drawn = moved.sample(2, random_state=0)
            wanted = [value[drawn.vocabulary[m]] for m in drawn.label]
            assert np.allclose(drawn.content["x"].values, wanted, atol=1.0)


@pytest.mark.parametrize("content", [{"x": "bag"}, {"y": "gaussian"}, {"label": "categorical"}, 3])
def test_content_that_unions_do_not_take_is_refused(content):
    with pytest.raises(SettingError):
        ab.TreeUnionMixture(content=content).fit(two_classes())


def test_prediction_needs_the_columns_of_the_fit():
    model = ab.TreeUnionMixture(content={"x": "gaussian"}).fit(two_classes())
    with pytest.raises(SettingError, match="no column 'x'"):
        model.predict([("r", ["a"])])


# ---- costs learnt from the same entropies ---------------------------------------------------------------------------


def test_values_beyond_all_measure_are_told_of():
    forest = Forest.from_nested(["a"] * 4).with_content({"x": [1.0, 2.0, None, 1e9]})
    column = ContentColumn("x", "gaussian", 1.5, 0.5, (0.5, 1.0))
    with pytest.warns(ContentWarning, match="column 'x': 1 values lie more than 1,000,000 standard deviations"):
        values = content_values((column,), forest)
    np.testing.assert_allclose(values[:, 0], [-1.0, 1.0, np.nan, 1e6])


def test_distances_by_union_are_those_of_enumeration():
    forest = attributed(np.random.default_rng(5), 5, most=3)
    columns, _, values, samples = prepared(forest)
    start = forest.tree_start
    assert len(samples.weight) == forest.n_trees
    unions = [single(samples, t, 0) for t in range(forest.n_trees)]
    held = [values[start[t] : start[t + 1]] for t in range(forest.n_trees)]

    def together(s, t):
        return best_by_enumeration(unions[s], unions[t], held[s], held[t], columns, np.inf)

    found = ab.union_distances(forest, labels=False, content=ALL)
    for s, t in combinations(range(forest.n_trees), 2):
        assert found[s, t] == pytest.approx(together(s, t) - (together(s, s) + together(t, t)) / 2.0, abs=1e-9)
    assert (found[~np.eye(len(found), dtype=bool)] > 0).all()
    assert (np.diag(found) == 0).all()


def test_distances_by_union_see_content_and_labels():
    forest = two_classes(n=4)
    bare = ab.union_distances(forest, labels=False)
    assert bare.max() == 0.0
    told = ab.union_distances(forest, labels=False, content="auto")
    same = forest.target[:, None] == forest.target
    assert told[same].max() < told[~same].min()
    words = ab.union_distances([("a", ["b"]), ("a", ["c"])])
    assert words[0, 1] > 0.0


# ---- modes ----------------------------------------------------------------------------------------------------------


def test_modes_are_principal_components_of_pattern_vectors():
    from sklearn.decomposition import PCA

    from arbora.plot import modes, union_modes

    trees = [("a", ["b", "b", ("b", ["c", "c"])])] * 5 + [("a", ["b", "b", "b"])] * 4 + [("a", ["b", "b"])] * 3
    model = ab.TreeUnionMixture(1).fit(trees)
    union = model.unions_[0]
    share, mode = union_modes(union)
    known = PCA(len(share)).fit(model.transform(trees))
    assert np.allclose(share, known.explained_variance_ratio_)
    assert np.allclose(np.abs((mode * known.components_).sum(axis=1)), 1.0)
    assert len(modes(union).axes) == len(share)
    assert len(modes(ab.TreeUnion.of([("a", ["b"])] * 3)).axes) == 1  # nothing varies
