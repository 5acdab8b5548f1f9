"""With one slot a tree is a chain, and the model a hidden Markov model: hmmlearn is the judge."""

import numpy as np
import pytest

import arbora as ab

hmmlearn = pytest.importorskip("hmmlearn.hmm", reason="hmmlearn is not installed; it is in the `peers` group")


def chains(rng, n_chains, n_labels):
    """Label sequences of two symbols or more, and the forest whose root is the last symbol."""
    sequences = [rng.integers(0, n_labels, int(rng.integers(2, 30))) for _ in range(n_chains)]
    parent = np.concatenate(
        [np.append(np.arange(1, len(s)), -1) + (np.arange(len(s)) < len(s) - 1) * 0 for s in sequences]
    )
    shift = np.repeat(np.cumsum([0] + [len(s) for s in sequences[:-1]]), [len(s) for s in sequences])
    parent = np.where(parent < 0, -1, parent + shift)
    forest = ab.Forest.from_parents(parent, np.concatenate(sequences), vocabulary=[str(m) for m in range(n_labels)])
    return sequences, forest


@pytest.fixture(params=["bottom", "literal", "renormalised"])
def pair(request):
    """The same model in both libraries."""
    rng = np.random.default_rng(0)
    n_states, n_labels = 3, 4
    start, transition, emission = (
        rng.dirichlet(np.ones(n), k) for n, k in ((n_states, 1), (n_states, n_states), (n_labels, n_states))
    )
    peer = hmmlearn.CategoricalHMM(n_states, n_features=n_labels, n_iter=1, init_params="", tol=-np.inf)
    peer.startprob_, peer.transmat_, peer.emissionprob_ = start[0], transition, emission
    extra = [np.full((1, n_states), 1 / n_states)] if request.param == "bottom" else []
    ours = ab.HiddenTree.from_parameters(
        leaf_prob=np.stack([start[0], np.full(n_states, 1 / n_states)]),
        emission_prob=emission,
        switch_prob=[1.0],
        transition_prob=np.concatenate([transition, *extra])[None],
        absent=request.param,
    )
    return ours, peer, chains(rng, 60, n_labels)


def test_likelihood_equals_hmmlearn(pair):
    ours, peer, (sequences, forest) = pair
    expected = [peer.score(s[:, None]) for s in sequences]
    np.testing.assert_allclose(ours.score_samples(forest), expected, rtol=1e-9)


def test_node_posteriors_equal_hmmlearn(pair):
    ours, peer, (sequences, forest) = pair
    # The root comes last in a forest as the last symbol does in a sequence, so the nodes line up.
    expected = np.concatenate([peer.predict_proba(s[:, None]) for s in sequences])
    np.testing.assert_allclose(ours.posterior(forest), expected, rtol=1e-9, atol=1e-12)


def test_one_em_step_equals_hmmlearn(pair):
    ours, peer, (sequences, forest) = pair
    before = peer.transmat_.copy()
    peer.fit(np.concatenate(sequences)[:, None], [len(s) for s in sequences])
    ours.set_params(warm_start=True, max_iter=1, tol=0, prior=1.0).fit(forest)
    # hmmlearn's states keep their order; ours are sorted by their number of roots
    order = [int(np.argmin(np.abs(ours.emission_prob_ - row).sum(axis=1))) for row in peer.emissionprob_]
    assert sorted(order) == [0, 1, 2]
    np.testing.assert_allclose(ours.emission_prob_[order], peer.emissionprob_, rtol=1e-9)
    np.testing.assert_allclose(ours.leaf_prob_[0, order], peer.startprob_, rtol=1e-9)
    found = ours.transition_prob_[0][:3][order][:, order]
    np.testing.assert_allclose(found, peer.transmat_, rtol=1e-9)
    assert np.abs(found - before).max() > 0.01  # the step did move


def test_decoding_equals_hmmlearn(pair):
    ours, peer, (sequences, forest) = pair
    expected = np.concatenate([peer.predict(s[:, None]) for s in sequences])
    assert (ours.decode(forest) == expected).all()
