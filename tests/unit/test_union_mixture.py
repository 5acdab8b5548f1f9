"""TreeUnionMixture and TreeUnion as users meet them."""

import numpy as np
import pytest

import arbora as ab
from arbora.datasets import make_prototype_trees, make_random_trees
from arbora.errors import NotConvergedWarning, SettingError
from arbora.evaluate.metrics import slot_label_counts
from arbora.forest.kernels.tree_shape import find_kinds, make_shape
from tests.reference import tree_union as ref

pytestmark = pytest.mark.compiled  # dozens of searches

FITS = {
    "default": {},
    "paper": {"noise_cost": None, "search": "greedy"},
    "kt": {"noise_cost": None, "code": "kt"},
    "labels": {"labels": True},
    "three": {"n_components": 3},
}


@pytest.fixture(scope="module")
def forest():
    return make_prototype_trees(3, 8, 10, 0.2, separation=6, random_state=0)


@pytest.fixture(scope="module", params=sorted(FITS))
def model(request, forest):
    return ab.TreeUnionMixture(**FITS[request.param]).fit(forest)


@pytest.fixture(scope="module")
def fitted(forest):
    return ab.TreeUnionMixture().fit(forest)


def same_classes(a, b):
    return np.array_equal(np.equal.outer(a, a), np.equal.outer(b, b))


def test_classes_are_found(model, forest):
    if model.search == "full":
        assert same_classes(model.labels_, forest.target)
    assert model.weight_.sum() == pytest.approx(1.0)
    assert (np.diff(model.weight_) <= 0).all()
    assert model.exact_
    assert model.converged_


def test_description_length_never_rises(model):
    assert np.all(np.diff(model.history_) <= 1e-9)
    assert model.history_[0] == model.start_length_
    assert model.history_[-1] == model.description_length_
    np.testing.assert_allclose(-np.diff([model.start_length_, *model.merge_length_]), model.merge_gain_, atol=1e-9)
    n = len(set(model.merges_.reshape(-1).tolist()))
    assert n == 2 * len(model.merges_)  # nothing is merged twice


def check_obtainable(model, forest):
    """Every tree is what its union leaves when the nodes it does not have are taken out."""
    for c, union in enumerate(model.unions_):
        assert np.array_equal(union.tree, np.flatnonzero(model.labels_ == c))
        count = np.zeros(union.n_nodes, int)
        for t in union.tree:
            lo, hi = forest.tree_start[t : t + 2]
            match = union.node_match(t)
            assert np.array_equal(match, model.node_match_[lo:hi])
            parent = np.where(forest.parent[lo:hi] < 0, -1, forest.parent[lo:hi] - lo)
            assert np.array_equal(ref.is_above(union.parent)[np.ix_(match, match)], ref.is_above(parent))
            kinds = [find_kinds(make_shape(p), np.zeros(hi - lo, np.int64)) for p in (union.restrict(match), parent)]
            assert np.array_equal(np.sort(kinds[0][2]), np.sort(kinds[1][2]))  # sizes of the distinct subtrees
            count[match] += 1
        assert np.array_equal(count, union.node_count)


def test_every_tree_is_obtainable_from_its_union(model, forest):
    check_obtainable(model, forest)


def test_members_are_possible_and_others_mostly_not(fitted, forest):
    for c, union in enumerate(fitted.unions_):
        score = union.log_prob(forest)
        assert np.isfinite(score[fitted.labels_ == c]).all()
        assert not np.isfinite(score[fitted.labels_ != c]).all()
        smooth = union.log_prob(forest[fitted.labels_ == c], smoothing=0.5)
        assert (smooth < 0).all()


def test_log_prob_is_the_best_of_all_correspondences():
    """Enumerated on a small union: every way to place the tree's nodes."""
    from itertools import permutations

    union = ab.TreeUnion.of([("a", ["b", ("c", ["d"])]), ("a", ["b"]), ("a", [("c", ["d", "e"])])], noise_cost=None)
    above = ref.is_above(union.parent)
    theta = union.node_prob
    for tree in ("a", ("a", ["b"]), ("a", ["b", "b"]), ("a", [("b", ["c"])]), ("a", [("b", [("c", ["d"])])])):
        forest = ab.Forest.from_nested([tree])
        inside = ref.is_above(forest.parent)
        best = -np.inf
        for chosen in permutations(range(union.n_nodes), forest.n_nodes):
            if np.array_equal(above[np.ix_(chosen, chosen)], inside):
                keep = np.isin(np.arange(union.n_nodes), chosen)
                with np.errstate(divide="ignore"):
                    best = max(best, np.log(np.where(keep, theta, 1 - theta)).sum())
        assert union.log_prob(forest)[0] == pytest.approx(best)


def test_pattern_vectors_average_to_node_probabilities(model, forest):
    code = model.transform(forest)
    names = model.get_feature_names_out()
    assert code.shape == (len(forest), len(names))
    assert np.array_equal(code.sum(axis=1), forest.sizes)
    at = 0
    for c, union in enumerate(model.unions_):
        block = code[model.labels_ == c]
        np.testing.assert_allclose(block[:, at : at + union.n_nodes].mean(axis=0), union.node_prob)
        at += union.n_nodes
    sparse = model.set_params(sparse_output=True).transform(forest)
    model.set_params(sparse_output=False)
    assert np.array_equal(sparse.toarray(), code)


def test_new_trees_and_new_classes(fitted, forest):
    assert np.array_equal(fitted.predict(forest), fitted.labels_)
    other = make_prototype_trees(3, 4, 10, 0.2, separation=6, random_state=0)  # same prototypes, first copies
    assert same_classes(fitted.predict(other), other.target)
    chain = ab.Forest.from_parents([-1, *range(39)], [None] * 40)
    assert fitted.predict(chain).tolist() == [-1]
    assert fitted.predict_proba(chain)[0, -1] > 0.99
    assert fitted.predict_proba(chain).sum() == pytest.approx(1.0)
    assert (fitted.merge_gains(chain) < 0).all()
    strict = ab.TreeUnionMixture(novelty=1e6).fit(forest)
    drawn = fitted.sample(40, random_state=1)
    known = np.isin(strict.predict(drawn), -1, invert=True)
    assert known.sum() < 40  # only trees seen in training are of a known class


def test_a_tree_that_costs_nothing_scores_zero():
    score = ab.TreeUnionMixture().fit([("a", ["b", "c"])] * 3).score_samples([("a", ["b", "c"])])
    assert str(score[0]) == "0.0"


def test_a_score_is_the_length_that_the_tree_adds(fitted, forest):
    """Refitting the same classes with the tree added, correspondences free, can only be shorter."""
    from arbora.models.unions.working_union import collect_samples, merge, single, total_length

    new = make_prototype_trees(2, 1, 9, 0.3, random_state=9)
    samples = collect_samples(new, labels=False)
    store = fitted._store_of_classes()
    for t in range(new.n_trees):
        alone = single(samples, int(samples.sample_id[t]), 0)
        tree = store.add(alone)
        best = total_length([*fitted._unions, alone], fitted._code)
        for c, union in enumerate(fitted._unions):
            others = [u for d, u in enumerate(fitted._unions) if d != c]
            joined = merge(union, alone, store.match(c, tree).pairs, 0)
            best = min(best, total_length([*others, joined], fitted._code))
        added = best - total_length(fitted._unions, fitted._code)
        assert fitted.score_samples(new[[t]])[0] == pytest.approx(-added, abs=1e-9)
        store.drop_last()
    assert fitted.score(forest) > fitted.score(new)


def test_samples_are_trees_of_their_class(fitted):
    drawn = fitted.sample(60, random_state=0)
    assert drawn.n_trees == 60
    assert drawn == fitted.sample(60, random_state=0)
    assert (fitted.predict(drawn) == drawn.target).mean() > 0.9
    union = fitted.unions_[0]
    sizes = union.sample(400, random_state=0).sizes
    assert sizes.mean() == pytest.approx(union.node_prob.sum(), abs=0.4)


def test_labels_count_when_asked():
    rng = np.random.default_rng(0)
    shape = make_prototype_trees(1, 20, 8, 0.0, random_state=0)
    label = np.where(np.repeat(np.arange(20) < 10, 8), "x", rng.choice(["y", "z"], 160)).tolist()
    forest = ab.Forest.from_parents(shape.parent, label, tree=np.repeat(np.arange(20), 8))
    assert ab.TreeUnionMixture().fit(forest).n_components_ == 1
    model = ab.TreeUnionMixture(labels=True).fit(forest)
    assert model.n_components_ > 1
    assert len(set(model.labels_[:10])) == 1
    assert not set(model.labels_[:10]) & set(model.labels_[10:])
    pure = model.unions_[model.labels_[0]]
    assert set(pure.label_names()) == {"x"}
    drawn = pure.sample(3, random_state=0)
    assert {drawn.vocabulary[m] for m in drawn.label} == {"x"}
    assert slot_label_counts(drawn).sum() == drawn.n_nodes
    unknown = ab.Forest.from_nested([("never", ["seen", "these"])])
    assert model.predict(unknown).shape == (1,)


@pytest.mark.parametrize("labels", [False, True])
def test_edges(labels):
    one = ab.TreeUnionMixture(labels=labels).fit([("a", ["b", "c"])])
    assert one.n_components_ == 1
    if not labels:
        assert one.description_length_ == pytest.approx(3.0)
    same = ab.TreeUnionMixture(labels=labels).fit([("a", ["b", "c"]), ("a", ["c", "b"]), ("a", ["b", "c"])])
    assert same.n_components_ == 1
    assert same.unions_[0].node_prob.tolist() == [1.0, 1.0, 1.0]
    assert len(same.merges_) == 0
    points = ab.TreeUnionMixture(labels=labels).fit(["a", "a", "b"])
    assert points.labels_.shape == (3,)
    with pytest.raises(ab.ForestError):
        ab.TreeUnionMixture(labels=labels).fit([])
    assert one.predict([]).shape == (0,)
    assert one.transform([]).shape == (0, 3)


def test_very_different_sizes_are_never_merged():
    small, large = (
        ab.Forest.from_parents([-1, 0, 0, 1, 1], [None] * 5),
        ab.Forest.from_parents([-1, *range(49)], [None] * 50),
    )
    model = ab.TreeUnionMixture(noise_cost=None, search="greedy").fit(ab.Forest.concat([small, large]))
    assert model.n_components_ == 2
    assert model.n_matched_ == 0  # the bound decides


def test_number_of_classes_can_be_asked_for(forest):
    for k in (1, 2, 5):
        model = ab.TreeUnionMixture(n_components=k).fit(forest)
        assert model.n_components_ == k
        assert len(set(model.labels_)) == k
    assert ab.TreeUnionMixture(n_components=500).fit(forest).n_components_ <= len(forest)


def test_order_of_trees_nodes_and_threads_change_nothing(forest, fitted):
    order = np.random.default_rng(0).permutation(len(forest))
    again = ab.TreeUnionMixture().fit(forest[order])
    assert same_classes(again.labels_, fitted.labels_[order])
    assert again.description_length_ == pytest.approx(fitted.description_length_, rel=0.02)
    threaded = ab.TreeUnionMixture(n_jobs=2).fit(forest)
    assert np.array_equal(threaded.labels_, fitted.labels_)
    assert threaded.description_length_ == fitted.description_length_
    assert np.array_equal(threaded.node_match_, fitted.node_match_)


def test_blocks_find_the_same_classes(forest, fitted):
    blocks = ab.TreeUnionMixture(block_size=12).fit(forest)
    assert same_classes(blocks.labels_, fitted.labels_)
    assert np.all(np.diff(blocks.history_) <= 1e-9)
    parts = blocks.merges_.reshape(-1).tolist()
    n = len(blocks.arrays_["sample_weight"])
    assert len(set(parts)) == len(parts)
    for k, (a, b) in enumerate(blocks.merges_):
        assert max(a, b) < n + k  # only what is there is merged
    for k in (1, 2, 4):  # also where every tree has joined a union before
        assert ab.TreeUnionMixture(k, block_size=12).fit(forest).n_components_ == k
    assert blocks.description_length_ <= 1.05 * fitted.description_length_


@pytest.mark.parametrize("labels", [False, True])
def test_books_of_trees_that_join_are_exact(labels):
    """Every kind of step is there: merges in a block, trees that join, trees left over; each as long as it says."""
    forest = ab.Forest.concat(
        [
            make_prototype_trees(3, 12, 8, 0.3, separation=5, random_state=2).with_target(None),
            make_random_trees(10, 3, 4, 8, random_state=1),
        ]
    )
    model = ab.TreeUnionMixture(block_size=9, search="greedy", labels=labels).fit(forest)
    assert model.merge_length_[-1] == pytest.approx(model.description_length_, abs=1e-8)
    assert np.allclose(model.start_length_ - np.cumsum(model.merge_gain_), model.merge_length_, atol=1e-8)
    assert (model.merge_gain_ > 0).all()
    assert sorted(np.concatenate([u.tree for u in model.unions_])) == list(range(len(forest)))


@pytest.mark.parametrize("matching", ["edit", "relaxation"])
@pytest.mark.parametrize("search", ["full", "greedy"])
def test_other_matchings_make_legal_unions_and_never_say_they_are_exact(matching, search):
    small = make_prototype_trees(2, 4, 7, 0.3, separation=5, random_state=4)
    best = ab.TreeUnionMixture(search=search).fit(small)
    model = ab.TreeUnionMixture(matching=matching, search=search).fit(small)
    assert best.exact_
    assert not model.exact_
    assert model.n_inexact_ == model.n_matched_ > 0
    assert same_classes(best.labels_, small.target)
    assert np.all(np.diff(model.history_) <= 1e-9)
    assert model.merge_gain_[0] <= best.merge_gain_[0] + 1e-9  # the first pair of all is matched best by alignment
    check_obtainable(model, small)
    assert np.array_equal(model.predict(small), model.labels_)
    assert np.isfinite(model.score_samples(make_prototype_trees(1, 3, 7, 0.3, random_state=5))).all()
    assert model.transform(small).shape == (8, sum(u.n_nodes for u in model.unions_))


def test_auto_says_when_it_was_not_exact():
    def comb(extra):  # a root with ten children that all differ, too many to pack exactly
        def chain(n):
            return ("a", [chain(n - 1)] + ["a"] * extra) if n else "a"

        return ("a", [chain(n) for n in range(10)])

    model = ab.TreeUnionMixture().fit([comb(0), comb(1)])
    assert not model.exact_
    assert 0 < model.n_inexact_ <= model.n_matched_
    assert ab.TreeUnionMixture().fit([("a", ["b"] * 3), ("a", ["b"] * 4)]).exact_


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("n_components", 0),
        ("node_cost", 0.0),
        ("noise_cost", 0.5),
        ("code", "mdl"),
        ("search", "best"),
        ("matching", "guess"),
        ("max_rounds", 0),
        ("block_size", 0),
        ("label_strength", -1.0),
        ("novelty", "high"),
        ("n_jobs", 0),
    ],
)
def test_impossible_settings_are_refused(setting, value, forest):
    with pytest.raises(SettingError, match=setting):
        ab.TreeUnionMixture(**{setting: value}).fit(forest)


def test_an_interrupt_keeps_the_trees_that_joined(forest, monkeypatch):
    from arbora.models.unions import search as union_search

    calls, real = [], union_search.best_partner

    def interrupted(*args):
        calls.append(1)
        if len(calls) == 5:
            raise KeyboardInterrupt
        return real(*args)

    monkeypatch.setattr(union_search, "best_partner", interrupted)
    with pytest.warns(NotConvergedWarning):
        model = ab.TreeUnionMixture(block_size=6).fit(forest)
    assert not model.converged_
    assert sorted(np.concatenate([u.tree for u in model.unions_])) == list(range(len(forest)))
    assert model.merge_length_[-1] == pytest.approx(model.description_length_)
    check_obtainable(model, forest)


@pytest.mark.parametrize("stage", ["merging", "moving"])
def test_an_interrupt_keeps_the_mixture_found_so_far(stage, forest, monkeypatch):
    from arbora.models.unions import moves as union_moves
    from arbora.models.unions import search as union_search

    calls, last = [], 3 if stage == "merging" else 1
    owner, name = (union_search.Agglomeration, "_merge") if stage == "merging" else (union_moves.Refinement, "_join")
    real = getattr(owner, name)

    def interrupted(self, *args):
        calls.append(1)
        done = real(self, *args)
        if len(calls) == last:
            raise KeyboardInterrupt
        return done

    noisy = make_prototype_trees(3, 8, 10, 0.4, separation=6, random_state=3)
    monkeypatch.setattr(owner, name, interrupted)
    with pytest.warns(NotConvergedWarning):
        model = ab.TreeUnionMixture(noise_cost=None).fit(noisy)
    assert not model.converged_
    assert len(calls) == last
    assert sorted(np.concatenate([u.tree for u in model.unions_])) == list(range(len(noisy)))
    assert np.isfinite(model.score(noisy))
    assert len(model.merges_) == 2 or stage == "moving"  # the last that was finished
    assert model.description_length_ <= model.history_[-2] + 1e-9


def test_progress_is_shown_when_asked(forest, capsys):
    ab.TreeUnionMixture(verbose=1).fit(forest)
    assert capsys.readouterr().err != ""
    ab.TreeUnionMixture().fit(forest)
    assert capsys.readouterr().err == ""


def test_pictures(fitted):
    pytest.importorskip("matplotlib")
    from arbora import plot
    from arbora.plot import unions

    assert plot.png_bytes(plot.archetypes(fitted)).startswith(b"\x89PNG")
    axis = fitted.unions_[0].draw()
    areas = axis.collections[0].get_sizes()
    np.testing.assert_allclose(areas, unions.MAX_AREA * fitted.unions_[0].node_prob)
    lines = plot.merges(fitted).lines
    assert len(lines) == len(fitted.merges_)
    x, y = plot.layout_union(fitted.unions_[0].parent)
    assert len(set(zip(x, y, strict=True))) == len(x)  # nobody on top of another
