"""Known classes and pairs in the exact sampler of hidden trees: enumeration, planted bugs, every draw keeps them."""

import numpy as np
import pytest
from scipy.special import gammaln

import arbora as ab
from arbora.errors import ModelFileError, SettingError
from arbora.models.hidden_tree import conditioned_gibbs as cg
from arbora.models.patterns.constraints import read_constraints
from tests.reference import hidden_tree as twin
from tests.reference import infinite as reference
from tests.unit.test_infinite import distance, five, partition_frequencies, sampler  # noqa: F401
from tests.unit.test_pattern_constraints import keeps

pytestmark = [pytest.mark.compiled, pytest.mark.filterwarnings("ignore")]

CASES = {
    "pairs": (None, {"must_link": [(0, 3)], "cannot_link": [(1, 2), (0, 4)]}),
    "classes": (["x", None, "y", "x", None], None),
    "both": ([None, None, "y", None, "x"], {"must_link": [(0, 2)], "cannot_link": [(1, 3)]}),
}


def truth(forest, case):
    """The enumerated posterior of those partitions that keep what is known."""
    trees = [twin.nodes_of(forest, t) for t in range(5)]
    exact = reference.partition_posterior(trees, 2, 2, 3, "literal", 1.0, 1.0, branching=True)
    kept = {z: p for z, p in exact.items() if keeps(z, *CASES[case])}
    return {z: p / sum(kept.values()) for z, p in kept.items()}


def frequencies(forest, case, n=800):
    kind = cg.conditioned(cg.ExactGibbs, read_constraints(*CASES[case], 5))
    return partition_frequencies(sampler(kind, forest, "literal", "branching", concentration=1.0), n, 0)


@pytest.mark.parametrize("case", CASES)
def test_the_sampler_matches_the_enumerated_posterior(five, case):  # noqa: F811
    wanted = truth(five, case)
    found = frequencies(five, case)
    assert set(found) <= set(wanted)
    assert 5 <= len(wanted) <= 20
    assert distance(found, wanted) < 0.06


def test_splits_that_break_conditions_are_refused(five, monkeypatch):  # noqa: F811
    monkeypatch.setattr(cg.ConditionedGibbs, "_propose", cg.ExactGibbs._propose)
    assert not set(frequencies(five, "pairs", 200)) <= set(truth(five, "pairs"))


def test_seating_follows_sizes_of_blocks(five):  # noqa: F811
    """With likelihoods all alike, a block of b trees joins one of m by G(m + b) / G(m)."""
    kind = cg.conditioned(cg.ExactGibbs, read_constraints(None, {"must_link": [(0, 1), (2, 3)]}, 5))
    chain = sampler(kind, five, "literal", "branching", concentration=0.7, n_auxiliary=2)
    rng, joined, n = np.random.default_rng(0), 0, 2000
    for _ in range(n):
        seats = cg.Seats(np.array([0, 0, 1, 1, 1]), np.zeros((5, 4)), n_empty=2)
        chain._seat_block(rng, seats, 0, float(np.log(0.7 / 2)))
        joined += seats.label[0] == 1
    weight = np.exp(gammaln(5) - gammaln(3))
    share = weight / (weight + 0.7 * np.exp(gammaln(2)))
    assert abs(joined / n - share) < 4 * np.sqrt(share * (1 - share) / n)
    assert abs(joined / n - 3 / (3 + 0.7)) > 0.1  # a planted bug: the block weighed as one tree


@pytest.fixture(scope="module")
def demo():
    return ab.datasets.load_demo()[::10]


LINKS = {"must_link": [(1, 2), (2, 3)], "cannot_link": [(4, 5), (5, 6)]}


@pytest.mark.parametrize("n_states", [2, "infer"])
def test_every_draw_keeps_what_is_known_and_so_does_the_file(demo, tmp_path, n_states):
    y = [str(c) if t % 7 == 0 else None for t, c in enumerate(demo.target)]
    model = ab.InfiniteHiddenTreeMixture(n_states, max_states=3, n_iter=4, n_chains=1, n_start=3, random_state=0)
    model.fit(demo, known=y, constraints=LINKS)
    for label in model.trace_.stack("label").reshape(-1, demo.n_trees):
        assert keeps(label, y, LINKS)
    assert keeps(model.labels_, y, LINKS)
    for name, group in model.class_groups_.items():
        assert {model.labels_[t] for t, c in enumerate(y) if c == name} == {group}
    model.save(tmp_path / "m")
    again = ab.load(tmp_path / "m")
    assert again.class_groups_ == model.class_groups_
    model.provenance_["known_classes"] = ["one"]
    model.save(tmp_path / "m")
    with pytest.raises(ModelFileError):
        ab.load(tmp_path / "m")


def test_the_papers_procedure_takes_no_conditions():
    with pytest.raises(SettingError, match="exact sampler"):
        ab.InfiniteHiddenTreeMixture(2, update="em").fit(["a", "b", "c"], known=["x", None, None])
