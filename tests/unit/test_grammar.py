"""Label chains: closed forms against urns and enumeration, EM, sampling of trees, hierarchy, files."""

import pickle
from math import exp, log

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import arbora as ab
from arbora.datasets import make_asymmetric_trees, make_documents
from arbora.errors import ArboraError, ForestError, NotConvergedWarning, SettingError
from arbora.models.grammar import backoff, burstiness, component_curve, em, fitting
from arbora.models.grammar import events as ev
from arbora.models.grammar.curve import knee
from arbora.models.grammar.kernels import chains
from tests import examples
from tests.reference import grammar as twin

MIXED = [("a", ["b", "b"]), ("a", ["b", ("b", ["a"])]), ("c", ["a", "c"]), ("c", []), "a", ("a", ["b", "b", "b", "c"])]


def fitted(trees=MIXED, n_components=2, **settings):
    settings = {"random_state": 0, "max_iter": 20, "tol": 0.0, **settings}
    return ab.TreeGrammarMixture(n_components, **settings).fit(trees)


def plain_trees(forest):
    return [forest[t] for t in range(len(forest))]


# ---- events ---------------------------------------------------------------------------------------------------------


@given(examples.forests())
def test_events_are_those_of_the_recursion(forest):
    alphabet = ev.alphabet_of(forest)
    found = ev.count(forest, alphabet)
    names = [*forest.vocabulary, twin.STOP, twin.UNSEEN, twin.MISSING]
    for t, tree in enumerate(plain_trees(forest)):
        wanted = {}
        for event in twin.events(tree, set(forest.vocabulary), alphabet.positional):
            wanted[event] = wanted.get(event, 0) + 1
        mine = range(found.start[t], found.start[t + 1])
        rows = [twin._row_of(int(found.key[found.cell[x]]), forest.n_labels, alphabet.width, names) for x in mine]
        assert dict(zip(rows, found.times[found.start[t] : found.start[t + 1]].tolist(), strict=True)) == wanted


@given(examples.forests(max_trees=8))
def test_equal_trees_are_one_row_and_parts_join(forest):
    alphabet = ev.alphabet_of(forest)
    found = ev.count(forest, alphabet)
    once = ev.distinct(found)

    def bag(events, t):
        at = slice(events.start[t], events.start[t + 1])
        return tuple(zip(events.key[events.cell[at]].tolist(), events.times[at].tolist(), strict=True))

    bags = [bag(found, t) for t in range(len(forest))]
    assert [bag(once.events, row) for row in once.tree_row] == bags
    assert once.events.n_trees == len(set(bags))
    joined = ev.join([ev.count(forest[:2], alphabet), ev.count(forest[2:], alphabet)])
    assert [bag(joined, t) for t in range(len(forest))] == bags


def test_rows_with_equal_hashes_are_compared_in_full(monkeypatch):
    monkeypatch.setattr(ev, "_mixed", lambda x: x * np.uint64(0))  # all sums are equal
    forest = ab.Forest.from_nested([*MIXED, MIXED[0]])
    once = ev.distinct(ev.count(forest, ev.alphabet_of(forest)))
    bags = {t: once.tree_row[t] for t in range(len(forest))}
    assert bags[0] == bags[6]
    assert len({bags[t] for t in range(6)}) == 6


# ---- urns and rows --------------------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 2), min_size=1, max_size=7), st.sampled_from([0.0, 0.1, 1.0, 5.0]))
def test_the_closed_form_is_the_urn(draws, tau):
    prob = np.array([[0.5, 0.1], [0.3, 0.2], [0.2, 0.7]])
    count = np.bincount(draws, minlength=3)
    used = np.flatnonzero(count)
    rise, effective = chains.log_rises(prob, used, count[used], tau)
    closed = rise.sum(axis=0) - chains.row_rises(len(draws), tau)[len(draws)]
    for k in range(2):
        urn = twin.urn_log_prob([("row", o) for o in draws], lambda _, o, k=k: prob[o, k], tau)
        assert closed[k] == pytest.approx(urn, abs=1e-12)
    assert ((effective > 0) & (effective <= count[used][:, None] + 1e-12)).all()
    assert ((effective >= 1 - 1e-12) | (tau == 0)).all()


def test_urn_probabilities_of_all_sequences_sum_to_one():
    from itertools import product

    prob = [0.5, 0.3, 0.2]
    total = sum(
        exp(twin.urn_log_prob([("row", o) for o in draws], lambda _, o: prob[o], 0.7))
        for draws in product(range(3), repeat=4)
    )
    assert total == pytest.approx(1.0, abs=1e-12)


def test_a_cell_with_several_counts_goes_on_where_the_smaller_ended():
    prob = np.array([[0.3, 0.6]])
    both, effective = chains.log_rises(prob, np.zeros(3, np.int64), np.array([1, 3, 7]), 0.4)
    for x, n in enumerate((1, 3, 7)):
        steps = prob + 0.4 * np.arange(n)[:, None]
        np.testing.assert_allclose(both[x], np.log(steps).sum(axis=0), rtol=1e-13)
        np.testing.assert_allclose(effective[x], (prob / steps).sum(axis=0), rtol=1e-13)


@given(st.floats(1e-6, 1e4), st.floats(0, 1e5))
@example(0.3, 2.0)  # both below 6, where the series is not used
@example(0.3, 9.0)
@example(8.0, 1.5)
def test_digamma_rises(a, n):
    from scipy.special import digamma

    found = chains.total_terms(np.array([[n]]), np.zeros(1, np.int64), np.array([a]))[0]
    wanted = digamma(a + n) - digamma(a) if n > 0 else 0.0
    assert found == pytest.approx(wanted, rel=1e-9, abs=1e-9)


def test_the_fixed_point_is_the_strength_of_most_evidence():
    """Rows of a Dirichlet-multinomial around a given mean, against its log-likelihood on a fine grid."""
    from scipy.special import gammaln

    mean = np.array([0.5, 0.3, 0.2])
    count = np.array([[6.0, 1.0, 0.0], [0.0, 5.0, 2.0], [3.0, 3.0, 4.0]])
    one_kind, rows = np.zeros(9, np.int64), (count.sum(axis=1)[:, None], np.zeros(3, np.int64))
    cells = (count.reshape(-1, 1), np.tile(mean, 3)[:, None], one_kind)
    (found,) = backoff.fixed_point(cells, rows, np.ones(1), 500)
    s = np.exp(np.linspace(-2, 5, 4001))[:, None, None]
    evidence = (gammaln(count + s * mean) - gammaln(s * mean)).sum(axis=(1, 2))
    evidence += (gammaln(s) - gammaln(s + count.sum(axis=1)[:, None])).sum(axis=(1, 2))
    assert found == pytest.approx(s[evidence.argmax(), 0, 0], rel=0.005)


@pytest.mark.parametrize("positional", [False, True])
@pytest.mark.parametrize("n_components", [2, None])
def test_rows_sum_to_one_with_outcomes_never_seen(positional, n_components):
    trees = [*MIXED, ("a", [{"label": "b", "slot": 2}])] if positional else MIXED
    chain = {"number": "process", "n_iter": 3, "n_chains": 1} if n_components is None else {}
    model = fitted(trees, n_components, **chain)
    assert model.positional_ == positional
    alphabet = model._alphabet()
    levels = backoff.levels_of(model.cell_key_, alphabet)
    tables = backoff.tables_of(levels, model._model().counts, alphabet)
    contexts = [*range(alphabet.n_labels), alphabet.unseen, alphabet.missing, alphabet.root]
    contexts += [alphabet.root + 1, alphabet.root + 1 + alphabet.missing] if positional else []
    for context in contexts:
        kind = int(alphabet.kind(np.array([context]))[0])
        outcomes = {
            0: np.arange(alphabet.unseen + 1),
            1: np.append(np.arange(alphabet.n_labels), alphabet.unseen),
            2: np.arange(13),
        }[kind]
        for previous in range(4):
            key = (context * alphabet.width + previous) * alphabet.width + outcomes
            prob = backoff.probabilities(tables, backoff.places_of(key, levels, alphabet), model.strength_)
            np.testing.assert_allclose(prob.sum(axis=0), 1.0, rtol=1e-12)
            assert (prob > 0).all()


def test_likelihoods_are_those_of_the_recursion(awkward_small):
    model = fitted(awkward_small, 2, burstiness=0.4, max_iter=3)
    others = ab.Forest.from_nested([*MIXED, ("new", [None, "a", "newer"])])
    for known in (others, *([] if (awkward_small.label == ab.UNSEEN).any() else [awkward_small])):
        joint = model._log_joint(known)
        for t, tree in enumerate(plain_trees(known)):
            np.testing.assert_allclose(joint[t], twin.log_joint(model, tree), rtol=1e-10, atol=1e-10)


def test_jumps_and_their_tails_are_those_of_the_recursion():
    trees = [("a", [{"label": "b", "slot": 3}, {"label": "a", "slot": 40}]), ("a", [{"label": "b", "slot": 1}]), "b"]
    model = fitted(trees, 2)
    for t, tree in enumerate(plain_trees(ab.Forest.from_nested(trees))):
        np.testing.assert_allclose(model._log_joint(trees)[t], twin.log_joint(model, tree), rtol=1e-12)
    tails = np.exp(ev.log_tail(np.arange(12, 20_000)))
    assert tails.sum() == pytest.approx(1.0, abs=1e-4)


@pytest.mark.parametrize("tau", [0.0, 0.3])
def test_total_probability_of_all_trees_rises_to_one(tau):
    """A subcritical chain with all events seen; trees with unseen labels have the rest, which is small."""
    trees = ["a"] * 600 + [("a", ["b"])] * 200 + [("b", ["a"])] * 100 + ["b"] * 100
    model = fitted(trees, 1, burstiness=tau, max_iter=2)
    mass = []
    for n in range(1, 7):
        forest = ab.Forest.from_nested(list(twin.all_trees(["a", "b"], n)), vocabulary=["a", "b"])
        mass.append(np.exp(model.score_samples(forest)).sum())
    assert (np.array(mass) > 0).all()
    assert 0.98 < sum(mass) < 1.0 + 1e-9
    assert (np.diff(mass) < 0).all()
    assert mass[-1] < 0.02 * mass[0]


def test_without_context_and_burstiness_it_is_a_mixture_of_multinomials():
    """One-node trees have the root's row alone: weights and rows of a plain mixture of categoricals."""
    trees = list("aaabbc")
    model = fitted(trees, 2, burstiness=0.0)
    probs = twin.components(model)
    for t, label in enumerate(trees):
        share = [
            w * p((twin.ROOT, twin.ROOT, 0), label) * p(("chain", label, twin.START), twin.STOP)
            for w, p in zip(model.weight_, probs, strict=True)
        ]
        assert model.score_samples(trees)[t] == pytest.approx(log(sum(share)), rel=1e-12)
    data = fitting.trees_of(ab.Forest.from_nested(MIXED), ev.Alphabet(3, False), None).data
    prob = np.random.default_rng(0).uniform(0.1, 0.9, (len(data.levels.cell_key), 3))
    joint, effective = burstiness.log_likelihood(data.urns, prob, 0.0)
    counts = np.zeros((data.urns.n_trees, len(prob)))
    for t in range(data.urns.n_trees):
        for x in range(data.urns.start[t], data.urns.start[t + 1]):
            counts[t, data.urns.cell[data.urns.pair[x]]] = data.urns.times[data.urns.pair[x]]
    np.testing.assert_allclose(joint, counts @ np.log(prob), rtol=1e-12)
    np.testing.assert_allclose(effective, np.repeat(data.urns.times[:, None], 3, axis=1))


# ---- EM -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("burst", ["learn", 0.0, 0.5])
@pytest.mark.parametrize("start", ["patterns", "communities", "random"])
@pytest.mark.parametrize("make", [make_documents, make_asymmetric_trees])
def test_the_objective_never_falls(make, start, burst):
    forest = make(20, random_state=1)
    model = fitted(forest, 4, start=start, burstiness=burst, max_iter=30)
    assert model.n_iter_ == 30
    assert np.diff(model.history_).min() >= -1e-9 * abs(model.history_[-1])


@given(examples.forests(min_trees=2, max_trees=8), st.integers(1, 4))
def test_the_objective_never_falls_on_odd_trees(forest, n_components):
    model = fitted(forest, n_components, max_iter=6)
    assert np.isfinite(model.history_).all()
    assert np.diff(model.history_).min() >= -1e-9 * abs(model.history_[-1])


def test_the_objective_is_that_of_the_parameters():
    """Log-likelihood, logs of weights, and s0 KL(shorter context || row) with outcomes never seen, one by one."""
    model = fitted(MIXED, 2, burstiness=0.2, max_iter=4)
    value = model.score_samples(MIXED).sum() + np.log(model.weight_).sum()
    names = [*model.vocabulary_, twin.STOP, twin.UNSEEN]
    for prob in twin.components(model):
        for row in prob.cell:
            kind = row[0]
            outcomes = names if kind == "chain" else [o for o in names if o != twin.STOP]
            lean = [prob((kind, row[1], "nowhere"), o) for o in outcomes]
            here = [prob(row, o) for o in outcomes]
            value -= prob.strength[kind][0] * sum(q * log(q / p) for q, p in zip(lean, here, strict=True))
    assert model.history_[-1] == pytest.approx(value / len(MIXED), rel=1e-10)


def test_a_step_that_halves_the_counts_would_be_seen_to_fall():
    """The planted bug: effective counts taken at the wrong burstiness break the rise."""
    forest = make_documents(20, random_state=1)
    trees = fitting.trees_of(forest, ev.alphabet_of(forest), None)
    starts = fitting.starts_of(forest, trees, "random")
    model = fitting.started(trees, starts(np.random.default_rng(0), 4), 0.5)
    prior = em.prior_of(trees.data, model)
    state = em.evaluate(trees.data, prior, model)
    history = []
    for _ in range(25):
        wrong = np.repeat(trees.data.urns.times[:, None].astype(float), 4, axis=1)
        state = em.fixed_step(trees.data, prior, state._replace(effective=wrong), False)
        history.append(state.objective)
    assert np.diff(history).min() < -1e-9 * abs(history[-1])


def test_weights_are_copies_and_order_of_trees_does_not_matter():
    forest = make_documents(8, random_state=0)
    twice = fitted(ab.Forest.concat([forest, forest]), 3)
    heavy = fitted(forest, 3).set_params()
    weighted = ab.TreeGrammarMixture(3, random_state=0, max_iter=20, tol=0.0).fit(
        forest, sample_weight=np.full(len(forest), 2.0)
    )
    assert heavy.n_components_ == 3
    np.testing.assert_allclose(weighted.cell_count_.sum(), twice.cell_count_.sum(), rtol=1e-6)
    order = np.random.default_rng(0).permutation(len(forest))
    other = fitted(forest[order], 3)
    assert other.history_ == fitted(forest, 3).history_
    assert np.array_equal(other.labels_, fitted(forest, 3).labels_[order])


def test_it_finds_planted_groups_and_says_when_it_has_not_converged():
    from sklearn.metrics import adjusted_rand_score

    forest = make_asymmetric_trees(40, random_state=0)
    model = ab.TreeGrammarMixture(3, random_state=0).fit(forest)
    assert adjusted_rand_score(forest.target, model.labels_) > 0.9
    assert model.converged_
    with pytest.warns(NotConvergedWarning, match="raise max_iter"):
        ab.TreeGrammarMixture(3, max_iter=1, random_state=0).fit(forest)
    assert model.aic(forest) < model.bic(forest)
    assert model.leave_one_out_ < model.score(forest)


def test_positions_matter_where_training_trees_have_gaps():
    trees = [("a", [{"label": "b", "slot": 1}]), ("a", ["b"]), ("a", [{"label": "b", "slot": 1}])]
    model = fitted(trees, 1)
    at_0, at_1 = model.score_samples([trees[1], trees[0]])
    assert at_1 > at_0
    without = fitted([("a", ["b"]), "a"], 1)
    assert not without.positional_
    assert len(set(without.score_samples(trees[:2]).tolist())) == 1


def test_missing_labels_are_no_events_and_unseen_ones_are_charged():
    model = fitted(MIXED, 2)
    score = model.score_samples([("a", ["b"]), ("a", [None]), ("a", ["never met"])])
    assert score[2] < score[0]
    assert np.isfinite(score).all()
    assert model.score_samples(["never met"])[0] < model.score_samples(["a"])[0]


def test_burstiness_is_learnt_from_repetition():
    rng = np.random.default_rng(0)
    words = ["b", "c", "d"]
    bursty = [("r", [("a", [rng.choice(words)] * 1)] * int(rng.integers(4, 9))) for _ in range(60)]
    even = [("r", [("a", [rng.choice(words)]) for _ in range(int(rng.integers(4, 9)))]) for _ in range(60)]
    assert fitted(bursty, 1).burstiness_ > 3 * fitted(even, 1).burstiness_ + 0.5
    assert fitted(bursty, 1, burstiness=0.0).burstiness_ == 0.0


@pytest.mark.parametrize("n_components", [1, 3, 20, None])
def test_awkward_forests_fit(awkward, n_components):
    chain = {"number": "process", "n_iter": 2, "n_chains": 1} if n_components is None else {}
    model = fitted(awkward, n_components, max_iter=3, **chain)
    assert np.isfinite(model.score_samples(awkward)).all()
    assert np.array_equal(model.predict(awkward), model.labels_) or n_components is None
    np.testing.assert_allclose(model.predict_proba(awkward).sum(axis=1), 1.0, rtol=1e-9)
    assert model.hierarchy_.n_data == len(awkward)
    assert len(set(model.cut(1))) == 1


def test_identical_trees_share_a_component_and_an_empty_forest_is_refused():
    model = fitted([("a", ["b"])] * 7, 3)
    assert len(set(model.labels_)) == 1
    with pytest.raises(ForestError, match="0 trees"):
        ab.TreeGrammarMixture().fit([])
    assert model.predict(ab.Forest.from_nested([])).shape == (0,)
    assert model.score_samples(ab.Forest.from_nested([])).shape == (0,)


@pytest.mark.compiled
@pytest.mark.parametrize("n", [100_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_a_very_long_chain_of_nodes(n):
    forest = examples.chain_of(n)
    model = fitted(ab.Forest.concat([forest, examples.chain_of(10)]), 2, max_iter=3)
    assert np.isfinite(model.score_samples(forest)).all()


def test_settings_are_checked():
    bad = {
        "n_components": [0, 1.5, "all"],
        "burstiness": [-1, "often", True],
        "start": ["best"],
        "number": ["aic"],
        "n_init": [0],
        "tol": [-1.0],
        "concentration": [0],
        "concentration_prior": [3, (1, -1)],
        "n_split_merge": [-1, 0.5],
        "burn_in": [60],
    }
    for name, values in bad.items():
        for value in values:
            with pytest.raises(SettingError, match=name):
                ab.TreeGrammarMixture().set_params(**{name: value}).fit(MIXED)
    with pytest.raises(SettingError, match="sample_weight"):
        ab.TreeGrammarMixture(None, number="process").fit(MIXED, sample_weight=np.ones(len(MIXED)))


# ---- batches, stores, files -----------------------------------------------------------------------------------------


def test_batches_reach_what_a_fit_reaches():
    forest = make_asymmetric_trees(60, random_state=0)
    order = np.random.default_rng(0).permutation(len(forest))
    model = ab.TreeGrammarMixture(3, random_state=0)
    for part in np.array_split(order, 6):
        model.partial_fit(forest[part])
    whole = ab.TreeGrammarMixture(3, random_state=0).fit(forest)
    assert model.n_batches_ == 6
    assert model.seen_weight_ == len(forest)
    assert model.score(forest) > whole.score(forest) - 0.05 * abs(whole.score(forest))
    with pytest.raises(SettingError, match="it was fitted with 3"):
        model.set_params(n_components=2).partial_fit(forest)
    with pytest.raises(SettingError, match="partial_fit"):
        ab.TreeGrammarMixture(None).partial_fit(forest)


def test_a_store_gives_the_same_model(tmp_path):
    forest = make_documents(20, random_state=0)
    store = ab.ForestStore.write([forest[:13], forest[13:]], tmp_path / "store")
    a = ab.TreeGrammarMixture(3, random_state=0).fit(store)
    b = ab.TreeGrammarMixture(3, random_state=0).fit(store.to_forest())
    assert a.history_ == b.history_
    assert np.array_equal(a.labels_, b.labels_)
    np.testing.assert_array_equal(a.score_samples(store), b.score_samples(forest))


# ---- sampling -------------------------------------------------------------------------------------------------------


def test_drawn_trees_have_the_probabilities_of_the_model():
    """Frequencies of small trees against their likelihood, with burstiness and gaps."""
    trees = [("a", [{"label": "b", "slot": 1}, "b"])] * 3 + ["a"] * 6 + [("a", ["b"])] * 3 + ["b"] * 2
    model = fitted(trees, 2, burstiness=0.5, start="random", random_state=1)
    drawn = model.sample(20_000, random_state=0, max_nodes=1000, redraw=True)  # hardly any is larger
    texts = [repr(tree) for tree in plain_trees(drawn)]
    for text in sorted(set(texts), key=texts.count)[-6:]:
        share = texts.count(text) / len(texts)
        chance = exp(model.score_samples([eval(text)])[0])  # noqa: S307, it is a repr of our own
        assert abs(share - chance) < 5 * np.sqrt(chance / len(texts))


def test_the_mean_log_likelihood_of_draws_is_minus_the_entropy_of_small_trees():
    model = fitted(["a"] * 6 + [("a", ["b"])] * 2 + ["b"] * 2, 1, burstiness=1.0)
    drawn = model.sample(4000, random_state=1)
    assert set(drawn.target.tolist()) == {0}
    assert abs((drawn.sizes == 1).mean() - np.exp(model.score_samples(["a", "b"])).sum()) < 0.04


def test_large_trees_are_refused_or_drawn_again_and_never_cut(caplog):
    model = fitted([("a", [("a", ["a", "a"]), ("a", ["a", "a"])])] * 4, 1)
    with pytest.raises(ArboraError, match="grew beyond max_nodes=3"):
        model.sample(200, random_state=0, max_nodes=3)
    drawn = model.sample(50, random_state=0, max_nodes=3, redraw=True)
    assert drawn.sizes.max() <= 3
    assert "drawn again" in caplog.text
    assert model.sample(5, random_state=3, max_nodes=10**5, redraw=True) == model.sample(
        5, random_state=3, max_nodes=10**5, redraw=True
    )
    with pytest.raises(ArboraError, match="no labels"):
        fitted([(None, [None])], 1).sample()


def test_rows_of_drawn_trees_are_those_of_the_model():
    """One component: a refit has the model's rows within their standard errors; rows of another model are far off."""
    model = fitted(MIXED, 1, burstiness=0.0)
    drawn = model.sample(3000, random_state=0, redraw=True, max_nodes=200).with_vocabulary(model.vocabulary_)
    again = fitted(drawn, 1, burstiness=0.0)
    (wanted,), (found,) = twin.components(model), twin.components(again)

    def largest_z(prob):
        z = [0.0]
        for row, counts in found.cell.items():
            n = sum(counts.values())
            for outcome in counts if n >= 200 else ():
                p = prob(row, outcome)
                z.append(abs(found(row, outcome) - p) / np.sqrt(p * (1 - p) / n + 1e-12))
        assert len(z) > 10
        return max(z)

    assert largest_z(wanted) < 5.0
    (other,) = twin.components(fitted([*MIXED, ("a", ["c", "c", "a"])], 1, burstiness=0.0))
    assert largest_z(other) > 8.0


@pytest.mark.slow
def test_drawn_trees_refit_to_their_parameters():
    forest = make_documents(60, random_state=0)
    model = ab.TreeGrammarMixture(3, burstiness=0.2, random_state=0).fit(forest)
    drawn = model.sample(3000, random_state=0, redraw=True, max_nodes=2000)
    again = ab.TreeGrammarMixture(3, random_state=0).fit(drawn)
    assert abs(again.burstiness_ - 0.2) < 0.1
    fresh = model.sample(1000, random_state=1, redraw=True, max_nodes=2000)
    assert abs(again.score(fresh) - model.score(fresh)) < 0.05 * abs(model.score(fresh))


# ---- groups within groups, number of components ---------------------------------------------------------------------


def test_merges_cut_and_hierarchy():
    forest = make_documents(20, random_state=0)
    model = fitted(forest, 5)
    merges = model.merges()
    assert merges.pair.shape == (4, 2)
    np.testing.assert_allclose(np.diff(merges.log_posterior), merges.gain, rtol=1e-9, atol=1e-9)
    n_used = len(set(model.labels_))
    for n in range(1, n_used + 1):
        assert len(set(model.cut(n).tolist())) == n
    tree = model.hierarchy_
    assert tree.n_data == len(forest)
    assert np.array_equal(tree.labels(tree.n_levels), model.cut(n_used))
    with pytest.raises(SettingError, match="cut"):
        model.cut(6)


def test_best_merge_first_is_that_of_all_pairs():
    from arbora.models.grammar.merging import Marginal, merge_all

    model = fitted(make_documents(10, random_state=0), 4)
    parts = model._model()
    marginal = Marginal(parts, model.cell_key_, model._alphabet())
    size = np.bincount(model.labels_, minlength=4)
    merges = merge_all(parts, marginal, size)
    from math import lgamma

    def score(groups):
        counts = [parts.counts.cell[:, list(g)].sum(axis=1) for g in groups]
        return sum(
            marginal(c[:, None])[0] + lgamma(max(size[list(g)].sum(), 1)) for c, g in zip(counts, groups, strict=True)
        )

    alone = [(0,), (1,), (2,), (3,)]
    gains = {
        (i, j): score([g for g in alone if g[0] not in (i, j)] + [(i, j)]) - score(alone)
        for i in range(4)
        for j in range(i + 1, 4)
    }
    best = max(gains, key=gains.get)
    assert tuple(merges.pair[0]) == best
    assert merges.gain[0] == pytest.approx(gains[best], rel=1e-9)


@pytest.mark.parametrize("n_components", [1, 2])
def test_leave_one_out_is_the_score_without_the_tree(n_components):
    """No burstiness: the shares of a tree, which have settled, taken out of counts and weights by hand."""
    trees = [*MIXED, ("a", ["b"])]
    model = fitted(trees, n_components, burstiness=0.0, max_iter=1 if n_components == 1 else 300)
    values = []
    for t in range(len(trees)):
        twin_model = pickle.loads(pickle.dumps(model))
        forest = ab.Forest.from_nested([trees[t]]).with_vocabulary(model.vocabulary_)
        mine = ev.count(forest, model._alphabet())
        at = np.searchsorted(model.cell_key_, mine.key[mine.cell])
        twin_model.cell_count_ = model.cell_count_.copy()
        share = model.predict_proba([trees[t]])[0]
        twin_model.cell_count_[:, at] -= np.multiply.outer(share, mine.times)
        size = model.weight_ * (len(trees) + n_components) - share
        twin_model.weight_ = size / size.sum()
        values.append(twin_model.score_samples([trees[t]])[0])
    assert model.leave_one_out_ == pytest.approx(np.mean(values), rel=1e-10)


def test_the_curve_and_its_knee():
    forest = make_asymmetric_trees(30, random_state=0)
    found = component_curve(ab.TreeGrammarMixture(random_state=0), forest, (1, 2, 3, 4, 8))
    assert found.knee in (2, 3, 4)
    assert found.leave_one_out[2] > found.leave_one_out[0]
    with pytest.raises(SettingError, match="three different"):
        component_curve(ab.TreeGrammarMixture(), forest, (1, 2))


def test_the_knee_of_known_curves():
    n = np.array([1.0, 2.0, 4.0, 8.0])
    assert knee(n, np.array([0.0, 9.0, 10.0, 10.5])) == 1
    assert (
        knee(n, np.array([0.0, -2.0, -2.0, -9.0])) == 0
    )  # highest at one: one group, although a point is above the line
    assert knee(n, np.array([0.0, 0.1, 1.0, 8.0])) == 3  # no bend: the highest
    assert knee(n[:1], np.array([3.0])) == 0


def test_the_number_is_found_at_the_knee():
    from sklearn.metrics import adjusted_rand_score

    forest = make_asymmetric_trees(30, random_state=0)
    model = ab.TreeGrammarMixture(None, random_state=0).fit(forest)
    assert model.n_components_ == model.curve_.knee == 3
    assert adjusted_rand_score(forest.target, model.labels_) > 0.9
    at = model.curve_.n_components.tolist().index(3)
    assert model.curve_.leave_one_out[at] == model.leave_one_out_
    weighted = ab.TreeGrammarMixture(None, random_state=0).fit(forest, sample_weight=np.full(len(forest), 2.0))
    assert weighted.n_components_ == 3
    assert not hasattr(model.set_params(n_components=2).fit(forest), "curve_")


def test_trees_of_one_kind_and_very_few_trees_are_one_group():
    one = fitted(make_documents(60, random_state=0), 1, burstiness=0.0)
    forest = one.sample(150, random_state=0, redraw=True, max_nodes=300)
    assert ab.TreeGrammarMixture(None, random_state=0).fit(forest).n_components_ == 1
    assert ab.TreeGrammarMixture(None, random_state=0).fit([("a", ["b"])] * 5).n_components_ == 1
    assert ab.TreeGrammarMixture(None, random_state=0).fit(MIXED).curve_.n_components.tolist() == [1, 2, 3, 4, 6]
