"""Sums of fitted pattern mixtures: equal to the fit on all trees where the groups are given; best pairs of groups."""

import itertools

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

import arbora as ab
from arbora.errors import SettingError
from arbora.forest.concat import concatenated
from arbora.models.patterns import adding
from arbora.models.patterns import fitted as ft
from arbora.models.patterns.families import FAMILIES

pytestmark = pytest.mark.compiled


@pytest.fixture(scope="module")
def halves():
    demo = ab.datasets.load_demo()[::4]
    one = np.arange(demo.n_trees) % 3 == 0
    return [alone(demo.take(np.flatnonzero(side))) for side in (one, ~one)]


def alone(forest):
    """A forest with its own vocabulary, as one that was read alone."""
    return ab.Forest.from_nested(list(forest)), [str(c) for c in forest.target]


def short(**settings):
    return ab.PatternMixture(n_chains=1, n_iter=2, random_state=0, **settings)


def by_pattern(model):
    """Counts by the text of the pattern, so that the order of columns does not matter."""
    names = model.patterns_.get_feature_names_out().tolist()
    return {name: (model.pattern_count_[:, j].tolist(), model.share_[j]) for j, name in enumerate(names)}


@pytest.mark.parametrize(
    "settings",
    [{}, {"families": ("sets", "slots", "paths", "pairs")}, {"prior": "finite"}, {"n_components": 6}],
    ids=["default", "families", "finite", "number"],
)
def test_the_sum_is_the_fit_on_both_where_all_classes_are_known(halves, settings):
    (one, y), (two, z) = halves
    a, b = (short(min_trees=1, **settings).fit(x, known=c) for x, c in halves)
    both = concatenated([one, two])
    whole, total = short(min_trees=1, **settings).fit(both, known=y + z), a + b
    assert by_pattern(total) == by_pattern(whole)
    for name in ("labels_", "group_size_", "strengths_", "fitted_trees_"):
        assert np.array_equal(getattr(total, name), getattr(whole, name)), name
    assert total.concentration_ == whole.concentration_
    assert total.log_posterior_ == pytest.approx(whole.log_posterior_, rel=1e-12)
    assert total.class_groups_ == whole.class_groups_
    assert np.abs(total.predict_log_proba(both) - whole.predict_log_proba(both)).max() < 1e-7
    assert total.patterns_.without_column_ == pytest.approx(whole.patterns_.without_column_, abs=1e-12)
    example = dict(zip(total.patterns_.get_feature_names_out(), total.patterns_.example_[:, 0], strict=True))
    has = total.patterns_.transform(both)
    column = {name: j for j, name in enumerate(total.patterns_.get_feature_names_out())}
    assert all(has[[tree], [column[name]]] == 1 for name, tree in list(example.items())[::50])


def test_rare_patterns_lack_less_than_min_trees_on_each_side(halves):
    (one, y), (two, z) = halves
    a, b = (short(min_trees=3).fit(x, known=c) for x, c in halves)
    both = concatenated([one, two])
    whole, total = by_pattern(short(min_trees=3).fit(both, known=y + z)), by_pattern(a + b)
    lacks = [np.subtract(whole[name][0], total[name][0]) for name in total]
    assert set(total) <= set(whole)
    assert min(x.min() for x in lacks) == 0
    assert 0 < max(x.sum() for x in lacks) <= 2 * (3 - 1)


def test_groups_that_are_one_kind_are_found(halves):
    a, b = (short().fit(x) for x, _ in halves)
    total = a + b
    assert total.n_components_ < len(a.group_size_) + len(b.group_size_)
    assert total.group_size_.sum() == len(total.labels_) == sum(x.n_trees for x, _ in halves)
    target = [c for _, y in halves for c in y]
    alone = np.mean([adjusted_rand_score(y, m.labels_) for m, (_, y) in zip((a, b), halves, strict=True)])
    assert adjusted_rand_score(target, total.labels_) > alone - 0.1
    mirrored = b + a
    assert mirrored.log_posterior_ == pytest.approx(total.log_posterior_, rel=1e-12)
    assert total.provenance_["n_trees"] == len(target)


def test_groups_of_two_classes_never_become_one():
    """Though their trees are the same."""
    trees = [("a", ["b", "c"])] * 6 + [("d", ["e"])] * 6
    a, b = (short(min_trees=1).fit(trees, known=[name, *[None] * 11]) for name in ("x", "y"))
    total = a + b
    assert set(total.class_groups_) == {"x", "y"}
    assert len(set(total.class_groups_.values())) == 2
    assert total.group_size_.tolist() == [12, 6, 6]


def every_pairing(n_a, n_b):
    for m in range(min(n_a, n_b) + 1):
        for chosen in itertools.combinations(range(n_a), m):
            for others in itertools.permutations(range(n_b), m):
                yield np.array(list(zip(chosen, others, strict=True)), np.int64).reshape(-1, 2)


def most_probable(a, b):
    """log P of the most probable pairing, of all, with the strengths of the sum."""
    total = a + b
    patterns, from_a, from_b = adding.join_patterns(a.patterns_, b.patterns_)
    count = adding.add_columns([(a.pattern_count_, from_a), (b.pattern_count_, from_b)], patterns.table.n_columns)
    n_a, n_b = len(a.group_size_), len(b.group_size_)
    model = total.model_._replace(sums=ft.Sums(count, np.append(a.group_size_, b.group_size_)))
    return max(
        ft.log_posterior_of(adding._joined(model, adding._numbered(pairs, n_a, n_b)))
        for pairs in every_pairing(n_a, n_b)
    )


@pytest.mark.parametrize("prior", ["dp", "pitman-yor", "finite"])
def test_no_pairing_of_groups_is_more_probable(prior):
    rng = np.random.default_rng(0)
    kinds = [(c, [c + "1", c + "2"]) for c in "abcd"]
    for seed in range(3):
        trees = [[kinds[rng.integers(4)] for _ in range(12)] + [("x", [str(rng.integers(3))])] for _ in range(2)]
        a, b = (short(min_trees=1, prior=prior, concentration=1.0).fit(t) for t in trees)
        assert (a + b).log_posterior_ == pytest.approx(most_probable(a, b), rel=1e-12), seed


def two_parts(rng):
    """Trees of two kinds that differ little, and links that make groups of the first and of the rest."""
    kinds = ([0.5, 0.3, 0.2], [0.2, 0.3, 0.5])
    trees = [("r", list(rng.choice(list("abc"), 2, p=p))) for p in kinds for _ in range(rng.integers(2, 9))]
    at = int(rng.integers(1, len(trees)))
    must = [(first, t) for first, end in ((0, at), (at, len(trees))) for t in range(first + 1, end)]
    return trees, {"must_link": must, "cannot_link": [(0, at)]}


@pytest.mark.parametrize("prior", ["dp", "pitman-yor", "finite"])
def test_no_pairing_is_more_probable_where_sizes_decide(prior):
    """Patterns alone would pair fewer groups."""
    rng = np.random.default_rng(0)
    for _ in range(4):
        a, b = (
            short(min_trees=1, prior=prior, concentration=1.0).fit(trees, constraints=links)
            for trees, links in (two_parts(rng), two_parts(rng))
        )
        assert (a + b).log_posterior_ == pytest.approx(most_probable(a, b), rel=1e-12)


def test_files_keep_the_sum_and_sums_of_sums(halves, tmp_path):
    a, b = (short().fit(x) for x, _ in halves)
    total = (a + b) + a
    total.save(tmp_path / "m")
    again = ab.load(tmp_path / "m")
    assert np.array_equal(again.predict(halves[0][0]), total.predict(halves[0][0]))
    assert [part["n_trees"] for part in again.provenance_["sum_of"]] == [x.n_trees for x, _ in (*halves, halves[0])]


def in_order(name):
    """Sets are written in the order of the vocabulary, which differs."""
    return sorted(name) if name.startswith("sets") else name


def test_words_and_keys_of_all_families_are_renamed():
    one = ab.TreePatterns(FAMILIES, min_trees=1).fit([("r", ["z", ("m", ["k", "z"])]), ("only", ["k"])])
    two = ab.TreePatterns(FAMILIES, min_trees=1).fit([("r", ["a", "z", ("m", ["k", "a", "b"])]), ("r", ["z"])])
    both, from_a, from_b = adding.join_patterns(one, two)
    names = both.get_feature_names_out()
    assert names[from_a].tolist() == one.get_feature_names_out().tolist()
    assert [in_order(name) for name in names[from_b]] == [in_order(name) for name in two.get_feature_names_out()]
    trees = [("r", ["z", ("m", ["k", "z"])]), ("only", ["k"]), ("r", ["a", "z", ("m", ["k", "a", "b"])]), ("r", ["z"])]
    whole = ab.TreePatterns(FAMILIES, min_trees=1).fit(trees)
    place = {str(in_order(name)): j for j, name in enumerate(whole.get_feature_names_out())}
    order = [place[str(in_order(name))] for name in names]
    assert whole.n_features_out_ == both.n_features_out_
    assert (whole.transform(trees).toarray()[:, order] == both.transform(trees).toarray()).all()
    assert (whole.document_frequency_[order] == both.document_frequency_).all()


@pytest.mark.parametrize(
    "other", [{"families": ("labels",)}, {"min_trees": 3}, {"power": 0.5}, {"prior": "finite"}, {"n_components": 2}]
)
def test_models_of_other_settings_are_refused(other):
    trees = [("a", ["b", "c"])] * 4 + [("d", ["e"])] * 4
    with pytest.raises(SettingError, match=next(iter(other))):
        short().fit(trees) + short(**other).fit(trees)
    with pytest.raises(TypeError):
        short().fit(trees) + 1


def test_a_model_of_labels_by_size_is_loaded_and_added(tmp_path):
    one = short(labels="sizes").fit([("a", ["b", "c"])] * 4 + [("d", [("e", ["f"] * 5)])] * 4)
    one.save(tmp_path / "m")
    total = ab.load(tmp_path / "m") + one
    assert total.group_size_.tolist() == [8, 8]
