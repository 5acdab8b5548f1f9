"""A chain of four nodes with content: the posterior of its states by enumeration, and by blocked Gibbs."""

from itertools import pairwise, product

import numpy as np
from scipy.special import gammaln

from arbora import Forest
from arbora.forest.content import Column
from arbora.forest.sharing import share
from arbora.models.hidden_tree import tree_model as tm
from arbora.models.hidden_tree.completed_counts import counts_by_component
from arbora.models.hidden_tree.emissions.categorical import Categorical
from arbora.models.hidden_tree.emissions.columns import Columns
from arbora.models.hidden_tree.emissions.gaussian import Gaussian
from arbora.models.hidden_tree.emissions.poisson import Poisson
from arbora.models.hidden_tree.passes import Batch
from arbora.models.hidden_tree.switching_tree import Priors, SwitchingTree
from arbora.models.hidden_tree.top_down_params import Priors as DownPriors
from arbora.models.hidden_tree.top_down_tree import TopDownTree

N_STATES = 2
FIRST, EMISSION, TRANSITION = 0.8, 0.7, 0.6
PRIORS = {
    "up": Priors(leaf=FIRST, emission=EMISSION, switch=1.0, transition=TRANSITION, branching=1.0),
    "down": DownPriors(FIRST, EMISSION, TRANSITION, 1.0),
}
X, KIND, N = [0.2, None, 1.9, 2.4], ["p", "q", None, "q"], [0, 3, 4, None]


def setting(direction, family=None):
    """The chain, its model, and its trees as passes take them; each node has a row of its own."""
    tree = ("a", [("a", [("a", ["a"])])])
    content = {"x": Column.numbers(X), "kind": Column.codes(KIND), "n": Column.counts(N)}
    forest = Forest.from_nested([tree]).with_content(content)
    gaussian = family or Gaussian(1.0, 0.5, 0.4, 3.0)
    families = (("x", gaussian), ("kind", Categorical(2, ("p", "q"))), ("n", Poisson(0.5)))
    columns = Columns(families, 1)
    up = direction == "up"
    model = SwitchingTree(1, columns, N_STATES, "literal") if up else TopDownTree(1, columns, N_STATES)
    batch = Batch(model, share(forest.arrays, 1, content=forest.rows(tm.wanted(model))), None, 1)
    return forest, model, batch


def log_dirichlet(counts, alpha):
    """Log P(sequence) of counts with a symmetric Dirichlet integrated out."""
    counts = np.asarray(counts, float)
    n = len(counts)
    return gammaln(n * alpha) - gammaln(n * alpha + counts.sum()) + (gammaln(alpha + counts) - gammaln(alpha)).sum()


def enumerated(direction):
    """P(states | content), parameters integrated out; nodes from the leaf up."""
    _, model, _ = setting(direction)
    values = {
        "x": np.array([np.nan if v is None else v for v in X]),
        "kind": np.array([-1 if v is None else "pq".index(v) for v in KIND]),
        "n": np.array([np.nan if v is None else v for v in N], float),
    }
    logs = {}
    for states in product(range(N_STATES), repeat=4):
        hard = np.eye(N_STATES)[list(states)][:, :, None]
        path = states if direction == "up" else states[::-1]
        total = log_dirichlet(np.bincount(path[:1], minlength=N_STATES), FIRST)
        for j in range(N_STATES):
            after = [b for a, b in pairwise(path) if a == j]
            total += log_dirichlet(np.bincount(after, minlength=N_STATES), TRANSITION)
        for column, family in model.emission.families:
            made = tm.mapped(lambda table: np.zeros((*table.shape, 1)), family.statistics_tables(N_STATES))
            family.add_statistics(values[column], hard, made)
            total += family.log_marginal(made, EMISSION).sum()
        logs[states] = total
    whole = np.logaddexp.reduce(list(logs.values()))
    return {states: float(np.exp(value - whole)) for states, value in logs.items()}


def distance(direction, n_draws, seed=0, family=None):
    """Total variation between the partitions by state that the sampler draws and their posterior."""
    _, model, batch = setting(direction, family)
    exact, priors = enumerated(direction), PRIORS[direction]
    rng = np.random.default_rng(seed)
    bags = model.completed(batch)
    shard = batch.shards[0]
    row = [int(np.asarray(shard.units.label)[u]) for u in range(4)]  # the chain: units from the leaf up
    params = model.draw(rng, 1, priors)
    seen = dict.fromkeys(exact, 0)
    zero = np.zeros(1, np.int64)
    width = shard.n_units * N_STATES
    held = {}
    parted = bags.content.parted

    def spy(s, shard, drawn):
        cell = drawn[1]
        first = bags.layout.emission
        mine = cell[(cell >= first) & (cell < first + width)] - first
        held["states"] = dict(zip((mine // N_STATES).tolist(), (mine % N_STATES).tolist(), strict=True))
        return parted(s, shard, drawn)

    bags.content.parted = spy
    for _ in range(n_draws):
        drawn = bags.draw(rng, zero, params)
        cells = counts_by_component(drawn, zero, 1, bags.layout.end)
        params = model.draw(rng, 1, priors, bags.counts(cells))
        seen[tuple(held["states"][r] for r in row)] += 1
    found, wanted = _partitions(seen), _partitions(exact)
    return 0.5 * sum(abs(found[one] / n_draws - wanted[one]) for one in wanted)


def _partitions(by_states):
    """Sums over the two ways to number the states, between which a chain seldom goes."""
    total = {}
    for states, value in by_states.items():
        key = tuple(state ^ states[0] for state in states)
        total[key] = total.get(key, 0) + value
    return total
