"""The pattern mixture: exact by enumeration, identities of its marginals, the search, and the estimator."""

import logging

import numpy as np
import pytest
from scipy import sparse
from scipy.special import gammaln
from sklearn.metrics import adjusted_rand_score

import arbora as ab
from arbora.datasets import load_demo
from arbora.errors import ArboraError, SettingError
from arbora.inference import diagnostics
from arbora.models.patterns import fitted as ft
from arbora.models.patterns import marginals as mg
from arbora.models.patterns import sampler as sp
from arbora.models.patterns import search as se
from arbora.models.patterns.kernels import group_merges, group_sweeps, log_marginals
from tests import examples
from tests.reference import infinite as enumeration
from tests.reference import patterns as reference

PRIORS = ["dp", "pitman-yor", "finite"]
STRENGTHS = np.array([2.0, 3.0])
POWER = 1.2  # 0.6 a family

# Six trees, two families, as sets of patterns.
SIX = ["abAB", "abB", "acAB", "deCD", "dC", "aeACD"]


def as_row(word):
    return frozenset((0 if x.islower() else 1, x.lower()) for x in word)


@pytest.fixture(scope="module")
def six():
    columns = sorted({key for word in SIX for key in as_row(word)})
    presence = np.array([[key in as_row(word) for key in columns] for word in SIX], float)
    return mg.corpus_of(sparse.csr_array(presence), np.array([family for family, _ in columns]), 2)


@pytest.fixture(scope="module")
def exact():
    rows, partitions = [as_row(word) for word in SIX], enumeration.set_partitions(6)
    assert len(partitions) == 203
    strengths = dict(enumerate(STRENGTHS))
    return {prior: reference.partition_posterior(rows, partitions, strengths, POWER, prior, 1.0) for prior in PRIORS}


def run(corpus, prior, n_sweeps, gibbs=True, n_split_merge=0, one_tree=False, seed=0, plant=lambda tables: tables):
    """How often each partition comes up."""
    rng = np.random.default_rng(seed)
    tables = plant(mg.make_tables(corpus, STRENGTHS, POWER, mg.PartitionPrior(prior, 1.0)))
    groups = mg.seat(corpus, tables, np.zeros(corpus.n_trees, np.int64))
    seen = {}
    for _ in range(n_sweeps):
        if gibbs:
            groups, _ = sp.sweep(rng, corpus, tables, groups)
        if one_tree:
            groups = mg.with_room(groups, tables)
            tree = rng.integers(0, corpus.n_trees, 1)
            group_sweeps.sweep(rng, corpus.rows, tables, groups, tree, (False, False, mg.in_use(groups) + 1))
        groups, _ = sp.split_merge(rng, corpus, tables, groups, n_split_merge)
        number = {}
        key = tuple(number.setdefault(int(k), len(number)) for k in groups.label)
        seen[key] = seen.get(key, 0) + 1
    return {key: n / n_sweeps for key, n in seen.items()}


def distance(found, exact):
    """Total variation."""
    return 0.5 * sum(abs(found.get(key, 0.0) - p) for key, p in exact.items())


KERNELS = {
    "gibbs": {},
    "gibbs and split-merge": {"n_split_merge": 1},
    "split-merge and one tree": {"gibbs": False, "n_split_merge": 1, "one_tree": True},
}


def other_concentration(tables):
    """A planted bug: new groups weigh twice what they should."""
    return tables._replace(log_part=tables.log_part + np.arange(len(tables.log_part)) * np.log(2.0))


def other_sizes(tables):
    """A planted bug: the weight of a group forgets one of its trees."""
    shifted = np.append(tables.log_weight[:1], tables.log_weight[:-1])
    return tables._replace(log_weight=shifted, size_shift=tables.size_shift + 1.0)


def other_power(tables):
    """A planted bug: patterns count by three tenths more."""
    return tables._replace(power=1.3 * tables.power)


def test_the_posterior_is_spread_over_many_partitions(exact):
    for prior in PRIORS:
        p = np.array(list(exact[prior].values()))
        assert np.exp(-(p * np.log(p)).sum()) > 20  # so that agreement means something
        assert p.sum() == pytest.approx(1.0)


@pytest.mark.compiled
@pytest.mark.parametrize("moves", KERNELS)
@pytest.mark.parametrize("prior", PRIORS)
def test_samplers_match_the_enumerated_posterior(six, exact, prior, moves):
    """Independent draws, as many, would be about 0.035 away."""
    assert distance(run(six, prior, 15_000, **KERNELS[moves]), exact[prior]) < 0.065


@pytest.mark.compiled
@pytest.mark.parametrize("moves", KERNELS)
@pytest.mark.parametrize("plant", [other_concentration, other_sizes, other_power])
def test_planted_bugs_are_found(six, exact, moves, plant):
    assert distance(run(six, "dp", 15_000, plant=plant, **KERNELS[moves]), exact["dp"]) > 0.08


@pytest.mark.compiled
@pytest.mark.parametrize("moves", ["gibbs and split-merge", "split-merge and one tree"])
def test_a_bug_in_split_merge_alone_is_found(six, exact, moves, monkeypatch):
    """Proposals judged by a prior that is not that of the sweeps."""
    right = group_merges.split_or_merge

    def wrong(rng, rows, tables, groups, n_slots):
        return right(rng, rows, other_concentration(other_concentration(tables)), groups, n_slots)

    monkeypatch.setattr(group_merges, "split_or_merge", wrong)
    assert distance(run(six, "dp", 15_000, **KERNELS[moves]), exact["dp"]) > 0.08


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("moves", KERNELS)
@pytest.mark.parametrize("prior", PRIORS)
def test_long_chains_match_the_enumerated_posterior(six, exact, prior, moves):
    """Independent draws, as many, would be about 0.018 away."""
    assert distance(run(six, prior, 60_000, seed=1, **KERNELS[moves]), exact[prior]) < 0.032


@pytest.mark.compiled
def test_closed_sweeps_sample_the_posterior_given_the_number(six, exact):
    """Two groups: partitions of two groups, renormalised."""
    rng = np.random.default_rng(0)
    tables = mg.make_tables(six, STRENGTHS, POWER, mg.PartitionPrior("dp", 1.0))
    groups = mg.seat(six, tables, np.array([0, 0, 0, 1, 1, 1]))
    seen = {}
    for _ in range(15_000):
        groups, _ = sp.sweep(rng, six, tables, groups, closed=True)
        key = tuple(int(k != groups.label[0]) for k in groups.label)
        seen[key] = seen.get(key, 0) + 1 / 15_000
    two = {key: p for key, p in exact["dp"].items() if max(key) == 1}
    assert len(two) == 31
    assert distance(seen, {key: p / sum(two.values()) for key, p in two.items()}) < 0.04


# ---- identities -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def some():
    """Random trees as rows of patterns."""
    patterns = ab.TreePatterns()
    presence = patterns.fit_transform(examples.random_forest(40, seed=3))
    return mg.corpus_of(presence, patterns.table.family_of_columns(), 3)


@pytest.fixture(scope="module")
def tables(some):
    return mg.make_tables(some, np.array([5.0, 2.0, 30.0]), 0.8, mg.PartitionPrior("dp", 1.5))


def joint(corpus, tables, label, prior=("dp", 1.5)):
    return mg.log_posterior(corpus, tables, mg.seat(corpus, tables, label), mg.PartitionPrior(*prior))


def test_marginals_are_those_of_the_twin(some, tables):
    label = np.arange(40) % 3
    groups = mg.seat(some, tables, label)
    share = dict(zip(zip(some.family.tolist(), range(len(some.share)), strict=True), some.share, strict=True))
    for k in range(3):
        rows = [some.rows.column[some.rows.start[n] : some.rows.start[n + 1]] for n in np.flatnonzero(label == k)]
        keys = [{(int(some.family[j]), int(j)) for j in row} for row in rows]
        wanted = reference.log_marginal(keys, share, {0: 5.0, 1: 2.0, 2: 30.0}, 0.8)
        assert tables.power * log_marginals.log_marginal(tables, groups, k) == pytest.approx(wanted, rel=1e-10)
    assert mg.log_prior(mg.PartitionPrior("dp", 1.5), np.bincount(label), 40) == pytest.approx(
        reference.log_prior(np.bincount(label).tolist(), "dp", 1.5)
    )


@pytest.mark.parametrize("prior", PRIORS)
def test_priors_sum_to_one(prior):
    sizes = [np.bincount(labels) for labels in enumeration.set_partitions(5)]
    ours = [mg.log_prior(mg.PartitionPrior(prior, 0.7), size, 5) for size in sizes]
    assert np.exp(ours).sum() == pytest.approx(1.0)
    np.testing.assert_allclose(ours, [reference.log_prior(size.tolist(), prior, 0.7) for size in sizes], rtol=1e-9)


def test_predictives_tree_by_tree_add_to_the_marginal(some, tables):
    rows, label = some.rows, np.zeros(40, np.int64)
    whole = log_marginals.log_marginal(tables, mg.seat(some, tables, label), 0)
    total = 0.0
    for n in range(40):  # the score of tree n in the group of those before it
        part = mg.Rows(rows.start[: n + 2], rows.column[: rows.start[n + 1]], rows.size[: n + 1])
        groups = mg.Groups(*group_sweeps.seat(part, tables, label[: n + 1], 2))
        total += group_sweeps.score_all(part, tables, groups, 1)[n, 0]
    assert total == pytest.approx(whole, rel=1e-10)


def test_scores_of_new_trees_are_those_of_the_sweep(some, tables):
    label = np.arange(40) % 3
    model = ft.Model(
        ft.sums_of(some, label), some.share, some.family, tables.strength, 0.8, mg.PartitionPrior("dp", 1.5)
    )
    groups = mg.seat(some, tables, label)
    inside, outside = group_sweeps.score_all(some.rows, tables, groups, 4), ft.log_predictive(model, some.rows)
    others = np.arange(4)[None] != label[:, None]
    np.testing.assert_allclose(outside[others], inside[others], rtol=1e-10)
    assert (outside[~others] > inside[~others]).all()  # a tree fits a group better that it is in
    assert ft.log_posterior_of(model) == pytest.approx(joint(some, tables, label), rel=1e-10)


def test_a_merge_is_the_inverse_of_a_split(some, tables):
    label = np.arange(40) % 4
    groups = mg.seat(some, tables, label)
    pair, gain = group_merges.merge_best(tables, groups, 4, 1, True)
    assert len(gain) == 3
    now = label.copy()
    for (stays, goes), g in zip(pair, gain, strict=True):
        before = joint(some, tables, now)
        now[now == goes] = stays
        assert joint(some, tables, now) - before == pytest.approx(g, rel=1e-8)
    fresh = mg.seat(some, tables, np.zeros(40, np.int64))
    assert np.array_equal(groups.count[:, pair[-1, 0]], fresh.count[:, 0])
    np.testing.assert_allclose(groups.logs[:, pair[-1, 0]], fresh.logs[:, 0])


def test_moves_leave_the_sums_right(some, tables):
    """After many sweeps, splits and merges the groups are what seating the labels anew gives."""
    rng = np.random.default_rng(0)
    groups = mg.seat(some, tables, np.arange(40))
    for _ in range(10):
        groups, _ = sp.sweep(rng, some, tables, groups)
        groups, _ = sp.split_merge(rng, some, tables, groups, 10)
    fresh = mg.Groups(*group_sweeps.seat(some.rows, tables, groups.label, len(groups.size)))
    for name in ("count", "total", "size"):
        assert np.array_equal(getattr(groups, name), getattr(fresh, name))
    np.testing.assert_allclose(groups.logs, fresh.logs)


def test_logs_are_those_of_the_counts_with_and_without_a_table(some, tables):
    label = np.random.default_rng(2).integers(0, 5, 40)
    groups = mg.seat(some, tables, label)
    np.testing.assert_allclose(groups.logs, np.log(tables.alpha[:, None] + groups.count), rtol=1e-14)
    none = tables._replace(log_start=np.zeros_like(tables.log_start), log_at=np.zeros(0))
    assert np.array_equal(mg.seat(some, none, label).logs, groups.logs)
    slots = mg.in_use(groups)
    scores = [group_sweeps.score_all(some.rows, each, groups, slots) for each in (tables, none)]
    assert np.array_equal(*scores)


def test_log_posterior_ignores_numbers_order_and_duplicate_columns(some, tables):
    label = np.random.default_rng(0).integers(0, 4, 40)
    base = joint(some, tables, label)
    assert joint(some, tables, (label + 2) % 4) == pytest.approx(base, rel=1e-12)
    order = np.random.default_rng(1).permutation(40)
    start, column, _ = some.rows
    lengths = np.diff(start)[order]
    moved = sparse.csr_array(
        (
            np.ones(len(column)),
            np.concatenate([column[start[n] : start[n + 1]] for n in order]),
            np.append(0, np.cumsum(lengths)),
        ),
        shape=(40, len(some.share)),
    )
    other = mg.corpus_of(moved, some.family, 3)
    assert joint(other, mg.make_tables(other, tables.strength, 0.8, mg.PartitionPrior("dp", 1.5)), label[order]) == (
        pytest.approx(base, rel=1e-12)
    )
    # All families twice: an average of log marginals does not change.
    twice = sparse.csr_array(sparse.hstack([_matrix(some), _matrix(some)], format="csr"))
    double = mg.corpus_of(twice, np.append(some.family, some.family + 3), 6)
    doubled = mg.make_tables(double, np.tile(tables.strength, 2), 0.8, mg.PartitionPrior("dp", 1.5))
    assert joint(double, doubled, label) == pytest.approx(base, rel=1e-12)


def _matrix(corpus):
    start, column, _ = corpus.rows
    return sparse.csr_array((np.ones(len(column)), column, start), shape=(corpus.n_trees, len(corpus.share)))


@pytest.mark.parametrize("kinds", [False, True])
def test_strengths_are_the_best_of_the_grid(some, six, kinds):
    """Random groups want a strength at the end of the grid, trees of different kinds one within it."""
    corpus = six if kinds else some
    tables = mg.make_tables(corpus, np.ones(corpus.n_families), 0.8, mg.PartitionPrior("dp", 1.5))
    label = np.array([0, 0, 0, 1, 1, 2]) if kinds else np.arange(40) % 3
    groups = mg.seat(corpus, tables, label)
    found = mg.best_strengths(corpus, groups, np.array([0, 20, 39])[: corpus.n_families])
    assert (found.min() > 0 and found.max() < 39) == kinds
    for f in range(corpus.n_families):
        own = corpus.family == f
        count = groups.count[own].astype(float)
        s, m = mg.STRENGTHS[:, None, None], corpus.share[own][None, :, None]
        evidence = (gammaln(s * m + count) - gammaln(s * m)).sum(axis=(1, 2))
        total = groups.total[f][None]
        evidence += (gammaln(mg.STRENGTHS[:, None]) - gammaln(mg.STRENGTHS[:, None] + total)).sum(axis=1)
        assert found[f] == evidence.argmax()


def test_the_power_makes_log_ratios_those_of_calibrated_odds(some, tables):
    """Of log odds that tell the truth the mean is half the variance; of two groups only one is large enough here."""
    label = (np.arange(40) >= 35).astype(np.int64)
    groups = mg.seat(some, tables, label)
    power = mg.calibrated_power(some, tables, groups)
    score = group_sweeps.score_all(some.rows, tables, groups, 2)[label == 0] / some.n_families
    d = power * (score[:, 0] - score[:, 1])
    assert d.mean() == pytest.approx(d.var() / 2)


def test_concentration_follows_its_posterior():
    """Draws of a given 5 groups of 50 trees against the density a^5 Gamma(a) / Gamma(a + 50) exp(-a) on a grid."""
    rng = np.random.default_rng(0)
    a, drawn = 1.0, []
    for _ in range(20_000):
        a = mg.draw_concentration(rng, a, 5, 50)
        drawn.append(a)
    grid = np.linspace(1e-3, 12, 20_000)
    log_density = 5 * np.log(grid) + gammaln(grid) - gammaln(grid + 50) - grid
    weight = np.exp(log_density - log_density.max())
    mean = (grid * weight).sum() / weight.sum()
    assert np.mean(drawn) == pytest.approx(mean, rel=0.03)
    assert abs(np.mean(drawn) - mean) < 0.1 * abs(mean - 5 / np.log(50))  # which is not what a rule of thumb gives


# ---- the search and the estimator -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def demo():
    forest = load_demo()
    return forest[np.random.default_rng(0).permutation(len(forest))]  # it comes class by class


@pytest.fixture(scope="module")
def fitted(demo):
    return ab.PatternMixture(random_state=0).fit(demo)


def test_the_demo_is_found(demo, fitted):
    assert adjusted_rand_score(demo.target, fitted.labels_) > 0.9
    given = ab.PatternMixture(len(np.unique(demo.target)), n_iter=4, n_chains=1, random_state=0).fit(demo)
    assert adjusted_rand_score(demo.target, given.labels_) > 0.9
    assert given.power_ == 1.0
    assert np.all(given.n_groups_posterior().n_groups == given.n_components_)


def test_the_search_ends_at_a_mode(demo, fitted):
    """No tree and no merge raises the log posterior, so predict gives the labels back."""
    assert fitted.converged_
    assert np.array_equal(fitted.predict(demo), fitted.labels_)
    merges = fitted.merges()
    assert (merges.gain < 0).all()
    assert merges.log_posterior[0] == fitted.log_posterior_ == pytest.approx(ft.log_posterior_of(fitted.model_))


def test_fitted_attributes(demo, fitted):
    k = fitted.n_components_
    assert fitted.group_size_.tolist() == np.bincount(fitted.labels_).tolist() == sorted(fitted.group_size_)[::-1]
    assert fitted.weight_.sum() == pytest.approx(1.0)
    assert fitted.pattern_count_.shape == (k, fitted.patterns_.n_features_out_)
    assert np.array_equal(fitted.pattern_count_.sum(axis=0), fitted.patterns_.document_frequency_)
    assert fitted.strengths_.shape == (3,)
    assert fitted.power_ == 1.0
    assert fitted.concentration_ > 0
    assert fitted.trace_.n_chains == 4
    assert fitted.draws().shape == (4, 10, 300)
    assert fitted.co_clustering().shape == (300, 300)
    assert fitted.n_groups_posterior().probability.sum() == pytest.approx(1.0)
    assert isinstance(fitted.chain_report().verdict, str)


def test_probabilities(demo, fitted):
    proba, logs = fitted.predict_proba(demo), fitted.predict_log_proba(demo)
    assert proba.shape == (300, fitted.n_components_)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    np.testing.assert_allclose(np.exp(logs), proba)
    assert np.isfinite(logs).all()
    assert logs.min() < np.log(1e-6)
    assert np.array_equal(proba.argmax(axis=1), fitted.labels_)
    assert np.isfinite(fitted.score_samples(demo)).all()
    assert fitted.score(demo) == pytest.approx(fitted.score_samples(demo).mean())


def test_novel_trees_are_told(demo, fitted):
    inside = fitted.novelty(demo)
    assert inside.unseen_share.mean() < 0.2
    assert ((inside.p_value > 0) & (inside.p_value <= 1)).all()
    # Of trees that are left out of their groups p-values would be uniform; those in a group fit it a little better.
    assert 0.5 < inside.p_value.mean() < 0.75
    strange = ab.Forest.from_nested([("x", [("y", ["z"])]), ("document", ["price", ("price", ["meta"]), "x"])])
    found = fitted.novelty(strange)
    assert found.unseen_share[0] == 1.0
    assert found.unseen_share[1] > 0.5
    assert found.p_value[0] < 0.05
    assert fitted.predict(strange).min() >= 0


def test_a_new_group_only_where_asked():
    forest = ab.Forest.from_nested([("a", ["b"])] * 30 + [("c", ["d", "d"])] * 30 + [("e", ["f", "g"])] * 2)
    model = ab.PatternMixture(concentration=1.0, power=1.0, n_iter=4, random_state=0).fit(forest)
    model.remove(forest[-2:-1], labels=model.labels_[-2:-1])
    assert (model.predict(forest) >= 0).all()
    assert set(model.predict(forest, new_groups=True)[:60].tolist()) <= {0, 1, 2}
    few = ab.PatternMixture(2, n_iter=4, random_state=0).fit(forest)
    assert few.n_components_ == 2
    assert few.predict([("e", [("f", ["a"])])] * 1, new_groups=True).shape == (1,)


def test_counts_are_added_and_taken_out_again(demo):
    model = ab.PatternMixture(random_state=0, n_iter=4).fit(demo[:200])
    before = model.pattern_count_.copy(), model.group_size_.copy(), model.log_posterior_
    model.partial_fit(demo[200:])
    assert model.group_size_.sum() == 300
    assert np.array_equal(np.bincount(model.labels_, minlength=model.n_components_), model.group_size_ - before[1])
    assert adjusted_rand_score(demo[200:].target, model.labels_) > 0.8
    added = before[0].shape[1] < model.pattern_count_.shape[1]
    model.remove(demo[200:], model.labels_)
    assert added
    assert np.array_equal(model.group_size_, before[1])
    assert model.pattern_count_.sum() == before[0].sum()  # columns that came with the trees are empty
    few = ab.PatternMixture(random_state=0, n_iter=4).fit(demo[:200])
    few.partial_fit(demo[200:201]).remove(demo[200:201])  # no column comes with one tree
    assert np.array_equal(few.pattern_count_, before[0])
    assert np.array_equal(few.group_size_, before[1])
    assert few.log_posterior_ == pytest.approx(before[2])
    with pytest.raises(ArboraError, match="left without trees"):
        model.remove(demo[:200])
    assert ab.PatternMixture(random_state=0, n_iter=4).partial_fit(demo[:200]).n_components_ == model.n_components_


def test_groups_within_groups(demo, fitted):
    k = fitted.n_components_
    assert np.array_equal(fitted.cut(k), fitted.labels_)
    assert fitted.cut(1).max() == 0
    for n in range(1, k + 1):
        assert fitted.cut(n).max() == n - 1
    tree = fitted.hierarchy_
    assert tree.n_levels == k - 1
    for level in range(1, k):
        assert np.array_equal(tree.labels(level), diagnostics.canonical(fitted.cut(level + 1)))
    assert tree.to_linkage().shape == (299, 4)
    with pytest.raises(SettingError, match="n_groups"):
        fitted.cut(2 * k + 1)


def test_the_seed_decides_and_threads_do_not(demo):
    one = ab.PatternMixture(random_state=3, n_iter=6).fit(demo)
    two = ab.PatternMixture(random_state=3, n_iter=6, n_jobs=2).fit(demo)
    assert np.array_equal(one.labels_, two.labels_)
    assert np.array_equal(one.draws(), two.draws())
    assert one.log_posterior_ == two.log_posterior_
    other = ab.PatternMixture(random_state=4, n_iter=6).fit(demo)
    assert not np.array_equal(one.draws(), other.draws())


def test_many_trees_are_fitted_on_some(demo, tmp_path):
    store = ab.ForestStore.write(demo, tmp_path / "s", shard_nodes=2000)
    one = ab.PatternMixture(random_state=0, fit_on=150, n_iter=4).fit(demo)
    two = ab.PatternMixture(random_state=0, fit_on=150, n_iter=4).fit(store)
    assert len(one.fitted_trees_) == 150
    assert one.group_size_.sum() == 150
    assert len(one.labels_) == 300
    assert np.array_equal(one.labels_, two.labels_)
    assert np.array_equal(one.predict(store), one.predict(demo))
    assert adjusted_rand_score(demo.target, one.labels_) > 0.8
    whole = ab.PatternMixture(random_state=0, n_iter=4)
    assert np.array_equal(whole.fit(store).labels_, whole.fit(demo).labels_)


def test_chains_go_on_from_a_checkpoint(demo, tmp_path):
    settings = {"random_state": 5, "n_chains": 2, "burn_in": 2}
    whole = ab.PatternMixture(n_iter=8, **settings).fit(demo[:60])
    ab.PatternMixture(n_iter=4, checkpoint=tmp_path / "c", **settings).fit(demo[:60])
    longer = ab.PatternMixture(n_iter=8, checkpoint=tmp_path / "c", **settings).fit(demo[:60])
    assert np.array_equal(longer.draws(), whole.draws())
    with pytest.raises(SettingError, match="whole number"):
        ab.PatternMixture(checkpoint=tmp_path / "c").fit(demo[:60])


@pytest.mark.parametrize("prior", PRIORS)
def test_every_prior_finds_the_demo(demo, prior):
    model = ab.PatternMixture(prior=prior, random_state=0, n_iter=4, n_chains=2).fit(demo)
    assert adjusted_rand_score(demo.target, model.labels_) > 0.8
    assert np.isfinite(model.score_samples(demo)).all()
    assert np.array_equal(model.predict(demo), model.labels_)
    assert (model.merges().gain < 0).all()


def test_power_is_obeyed(demo):
    assert ab.PatternMixture(power=0.7, random_state=0, n_iter=2).fit(demo).power_ == 0.7
    free = ab.PatternMixture(power="calibrated", random_state=0, n_iter=2).fit(demo).power_
    assert 0.02 <= free <= 1.0
    strong = ab.PatternMixture(power=3.0, random_state=0, n_iter=2).fit(demo).n_components_
    assert ab.PatternMixture(power=0.05, random_state=0, n_iter=2).fit(demo).n_components_ < strong


EDGE = {
    "one tree": ["a"],
    "one-node trees": ["a", "b", "a", "a", "b", None],
    "the same tree": [("a", ["b", "c"])] * 9,
    "no labels": [(None, [None, None]), (None, [None]), None, (None, [None])],
    "nothing in common": [(f"r{n}", [f"c{n}"]) for n in range(7)],
}


@pytest.mark.parametrize("n_components", [None, 1, 3, 20])
@pytest.mark.parametrize("name", EDGE)
def test_edges(name, n_components, caplog):
    with caplog.at_level(logging.ERROR):
        model = ab.PatternMixture(n_components, n_iter=4, n_chains=2, random_state=0).fit(EDGE[name])
    n = len(EDGE[name])
    assert model.labels_.shape == (n,)
    assert model.n_components_ == len(np.unique(model.labels_)) <= min(n, n_components or n)
    assert np.isfinite(model.score_samples(EDGE[name])).all()
    assert np.isfinite(model.predict_log_proba([("z", ["a"]), "a"])).all()
    assert np.isfinite(model.novelty(["a", "q"]).p_value).all()
    assert model.hierarchy_.n_data == n
    assert model.predict([]).shape == (0,)


def test_identical_trees_make_one_group():
    assert ab.PatternMixture(random_state=0, n_iter=4).fit([("a", ["b", "c"])] * 40).n_components_ == 1


def test_no_trees():
    with pytest.raises(ab.ForestError, match="0 trees"):
        ab.PatternMixture().fit([])


@pytest.mark.parametrize(
    "settings",
    [
        {"n_components": 0},
        {"families": ["rulez"]},
        {"power": "other"},
        {"power": -1.0},
        {"prior": "crp"},
        {"concentration": 0.0},
        {"n_iter": 0},
        {"burn_in": 99},
        {"fit_on": 0},
    ],
)
def test_impossible_settings_are_refused(settings):
    with pytest.raises(SettingError, match=next(iter(settings))):
        ab.PatternMixture(**settings).fit(["a", "b"])


def test_starts_do_not_ask_for_more_groups_than_trees():
    features = np.zeros((5, 3))
    rng = np.random.default_rng(0)
    assert se.kmeans_start(features, 9, rng).tolist() == [0, 1, 2, 3, 4]
    assert se.kmeans_start(features, 3, rng).tolist() == [0] * 5
