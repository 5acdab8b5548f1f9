"""Unions of trees and the search for them: exact bookkeeping, legal orders, bounds, and never a longer description."""

from itertools import pairwise

import numpy as np
import pytest

from arbora import Forest
from arbora.datasets import make_prototype_trees, make_random_trees
from arbora.forest.kernels.tree_shape import make_shape
from arbora.models.unions.kernels import union_order
from arbora.models.unions.kernels.tree_alignment import align
from arbora.models.unions.moves import Refinement
from arbora.models.unions.node_codes import make_code
from arbora.models.unions.packed import UnionStore
from arbora.models.unions.search import Agglomeration, start_store
from arbora.models.unions.working_union import collect_samples, merge, remove, single, total_length
from tests.reference import tree_union as ref

SETTINGS = [(labels, code, noise) for labels in (False, True) for code in ("ml", "kt") for noise in (np.inf, 2.0)]


def start(forest, labels=False, code="ml", noise=np.inf):
    """Samples, and a store that holds each as a union."""
    samples = collect_samples(forest, labels)
    prior = None
    if labels:
        known = forest.label[forest.label >= 0]
        prior = np.bincount(known, minlength=forest.n_labels) / len(known)
    store = UnionStore(make_code(code, forest.n_trees, 1.0, noise, prior))
    start_store(samples, store.code, store)
    return samples, store


def some_trees(seed, n=9):
    """Random labelled trees, some of them more than once."""
    forest = make_random_trees(n, 3, 4, 8, missing=0.1, random_state=seed)
    return Forest.concat([forest, forest[:3]])


def recount(unions, samples, n_labels):
    """Sizes, counts and labels from the correspondences alone; also checks that every member is obtainable."""
    out = []
    for union in unions:
        above = ref.is_above(union.parent)
        count = np.zeros(union.n_nodes, int)
        labels = [{} for _ in range(union.n_nodes)]
        lo = 0
        for t in union.member:
            at = slice(samples.start[t], samples.start[t + 1])
            match = union.node_match[lo : lo + samples.size(t)]
            lo += samples.size(t)
            assert len(set(match.tolist())) == len(match)
            assert np.array_equal(above[np.ix_(match, match)], ref.is_above(samples.parent[at]))
            keep = np.zeros(union.n_nodes, bool)
            keep[match] = True
            obtained, number = union_order.restrict(union.parent, keep)
            assert np.array_equal(
                ref.is_above(obtained)[np.ix_(number[match], number[match])], ref.is_above(samples.parent[at])
            )
            count[match] += samples.weight[t]
            for u, m in zip(match, samples.label[at], strict=False):
                if m >= 0:
                    labels[u][int(m)] = labels[u].get(int(m), 0) + int(samples.weight[t])
        assert np.array_equal(count, union.node_count)
        out.append((int(samples.weight[union.member].sum()), list(zip(count.tolist(), labels, strict=True))))
        if n_labels:
            told = {u * n_labels + m: c for u, node in enumerate(labels) for m, c in node.items()}
            assert dict(zip(union.entry.tolist(), union.entry_count.tolist(), strict=True)) == told
    return out


@pytest.mark.parametrize(("labels", "code", "noise"), SETTINGS)
def test_search_keeps_exact_books(labels, code, noise):
    """Gain = fall of the length; incremental = from scratch = recounted; bounds hold; members are obtainable."""
    for seed in range(3):
        samples, store = start(some_trees(seed), labels, code, noise)
        n = len(store)
        pairs = np.column_stack(np.triu_indices(n, 1))
        gain = store.gains(pairs).gain
        assert (store.bounds(pairs) >= gain - 1e-9).all()
        for (a, b), expected in zip(pairs[::5], gain[::5], strict=True):
            both = merge(store.unions[a], store.unions[b], store.match(a, b).pairs, store.n_labels)
            apart = total_length([store.unions[a], store.unions[b]], store.code)
            assert apart - total_length([both], store.code) == pytest.approx(expected, abs=1e-9)
        search = Agglomeration(store, list(range(n)), total_length(store.unions, store.code))
        lengths = [search.length]
        while search.step(0.0):
            assert search.length == pytest.approx(total_length(search.unions, store.code), abs=1e-9)
            lengths.append(search.length)
        assert all(after < before for before, after in pairwise(lengths))
        refinement = Refinement(search.unions, samples, store, fixed=False)
        refinement.run(10)
        found = total_length(refinement.unions, store.code)
        assert found <= lengths[-1] + 1e-9
        assert sum(refinement.length) == pytest.approx(found - sum(_mixing(refinement.unions)), abs=1e-9)
        prior = dict(enumerate(store.code.label_prior))
        books = recount(refinement.unions, samples, store.n_labels)
        assert ref.description_length(books, code, prior, noise_cost=noise) == pytest.approx(found, abs=1e-9)


def _mixing(unions):
    n = sum(u.n_assigned for u in unions)
    return [n * np.log(n), *(-u.n_assigned * np.log(u.n_assigned) for u in unions)]


def test_the_lazy_search_merges_as_computing_every_gain_does():
    for seed in range(4):
        _, store = start(some_trees(seed, 12), code="kt")
        n = len(store)
        search = Agglomeration(store, list(range(n)), 0.0)
        while search.step(0.0):
            pass
        live = {x: store.unions[x] for x in range(n)}
        gains = []
        while True:
            best = max(((gain_of(store, a, b), a, b) for a in live for b in live if a < b), default=(-1.0, 0, 0))
            if best[0] <= 0:
                break
            gains.append(best[0])
            a, b = best[1:]
            made = merge(live.pop(a), live.pop(b), store.match(a, b).pairs, 0)
            live[store.add(made)] = made
        assert search.history[0].gain == pytest.approx(gains[0])
        assert search.length == pytest.approx(-sum(gains), rel=0.02, abs=1e-6)  # ties may fall differently


def gain_of(store, a, b):
    return float(store.gains(np.array([[a, b]])).gain[0])


def test_gain_of_two_single_trees_is_the_closed_form():
    """G = l k - 2 log 2 (u - 1), with k matched and u unmatched nodes."""
    rng = np.random.default_rng(0)
    forest = make_random_trees(12, 1, 4, 10, random_state=1)
    samples, store = start(forest)
    for _ in range(20):
        a, b = rng.choice(len(store), 2, replace=False)
        k = align(
            *(make_shape(store.unions[x].parent) for x in (a, b)), np.ones((samples.size(a), samples.size(b)))
        ).value
        u = samples.size(a) + samples.size(b) - 2 * k
        if samples.weight[a] == samples.weight[b] == 1:
            assert gain_of(store, a, b) == pytest.approx(k - 2 * np.log(2) * (u - 1), abs=1e-9)


def test_removal_undoes_a_merge():
    samples, store = start(some_trees(0), labels=True)
    for a, b in [(0, 1), (2, 5), (3, 4)]:
        both = merge(store.unions[a], store.unions[b], store.match(a, b).pairs, store.n_labels)
        for which, left in ((1, a), (0, b)):
            rest = remove(both, which, samples, store.n_labels)
            assert rest.member.tolist() == [left]
            recount([rest], samples, store.n_labels)
            assert total_length([rest], store.code) == pytest.approx(total_length([store.unions[left]], store.code))


def test_copies_together_cost_no_more_than_apart():
    """Dedupe is lossless: searching copies one by one never finds a shorter description than all together."""
    for seed in range(3):
        forest = make_random_trees(6, 1, 3, 6, random_state=seed)
        forest = Forest.concat([forest, forest, forest[:2]])
        samples, store = start(forest)
        search = Agglomeration(store, list(range(len(store))), total_length(store.unions, store.code))
        while search.step(0.0):
            pass
        each = [int(samples.sample_id[t]) for t in range(forest.n_trees)]
        one = samples._replace(weight=np.ones_like(samples.weight))
        apart = UnionStore(store.code)
        for t in each:
            apart.add(single(one, t, 0))
        slow = Agglomeration(apart, list(range(len(apart))), total_length(apart.unions, store.code))
        while slow.step(0.0):
            pass
        assert search.length <= slow.length + 1e-9


def test_isomorphic_trees_are_found_whatever_their_order():
    trees = [("a", ["b", ("c", ["d", "e"])]), ("a", [("c", ["e", "d"]), "b"]), ("a", [("b", ["d", "e"]), "c"])]
    plain = collect_samples(Forest.from_nested(trees), labels=False)
    assert plain.sample_id.tolist() == [0, 0, 0]
    assert plain.weight.tolist() == [3]
    told = collect_samples(Forest.from_nested(trees), labels=True)
    assert told.sample_id.tolist() == [0, 0, 1]
    forest = Forest.from_nested(trees)
    for t in range(3):  # positions are isomorphisms
        lo, hi = forest.tree_start[t : t + 2]
        place = plain.position[lo:hi]
        assert sorted(place) == list(range(hi - lo))
        parent = forest.parent[lo:hi] - lo
        for u in range(hi - lo - 1):
            assert plain.parent[place[u]] == place[parent[u]]
    assert [forest.label[forest.tree_start[1] + u] for u in np.argsort(told.position[5:10])] == forest.label[
        :5
    ].tolist()


def test_shared_order_never_exceeds_the_bound_on_matches():
    """The profile bound on the number of matches holds for the edit matching, which is the larger."""
    rng = np.random.default_rng(5)
    for _ in range(60):
        p, q = (ref.random_parents(rng, int(rng.integers(2, 7))) for _ in range(2))
        profile = [union_order.profiles(make_shape(x).parent) for x in (p, q)]
        n_flat, n_deep = (min(len(profile[0][k]), len(profile[1][k])) for k in (0, 1))
        flat, deep = (np.minimum(profile[0][k][:n], profile[1][k][:n]) for k, n in ((0, n_flat), (1, n_deep)))
        bound = min(
            flat[i] + deep[j] + (n_flat - 1 - i) * (n_deep - 1 - j) for i in range(n_flat) for j in range(n_deep)
        )
        assert ref.best_by_enumeration(p, q, np.ones((len(p), len(q))), union=False) <= bound


def check_bounds(bound, gain):
    assert (bound >= gain - 1e-9).all()


@pytest.mark.parametrize(("labels", "code", "noise"), SETTINGS)
def test_bounds_of_gains_hold_and_a_tighter_one_would_not(labels, code, noise):
    """On random pairs of trees and of unions; a bound less by half a node must be caught."""
    bounds, gains = [], []
    for seed in range(6):
        _, store = start(some_trees(seed, 12), labels, code, noise)
        search = Agglomeration(store, list(range(len(store))), 0.0)
        for _ in range(4):
            search.step(0.0)
        pairs = np.column_stack(np.triu_indices(len(store), 1))
        bounds.append(store.bounds(pairs))
        gains.append(store.gains(pairs).gain)
    bound, gain = np.concatenate(bounds), np.concatenate(gains)
    assert len(gain) > 500
    check_bounds(bound, gain)
    with pytest.raises(AssertionError):
        check_bounds(bound - 0.5, gain)


def test_a_planted_error_in_the_books_is_caught():
    """The recount is able to fail: a correspondence moved by one node, and a count off by one."""
    samples, store = start(make_prototype_trees(1, 3, 6, 0.2, random_state=0))
    union = merge(store.unions[0], store.unions[1], store.match(0, 1).pairs, 0)
    recount([union], samples, 0)
    wrong = union.node_match.copy()
    wrong[0], wrong[-1] = wrong[-1], wrong[0]
    for broken in (union._replace(node_match=wrong), union._replace(node_count=union.node_count + 1)):
        with pytest.raises(AssertionError):
            recount([broken], samples, 0)
