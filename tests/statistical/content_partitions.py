"""Three chains of two nodes with five columns: the posterior of their partition by enumeration, and Geweke's test."""

from itertools import product

import numpy as np

from arbora import Forest
from arbora.forest.content import Column
from arbora.forest.content_rows import plain_values
from arbora.forest.sharing import share
from arbora.models.hidden_tree import tree_model as tm
from arbora.models.hidden_tree.dp_samplers import Partition, ProcessPrior
from arbora.models.hidden_tree.emissions.bag import Bag
from arbora.models.hidden_tree.emissions.categorical import Categorical
from arbora.models.hidden_tree.emissions.columns import Columns
from arbora.models.hidden_tree.emissions.flag import Flag
from arbora.models.hidden_tree.emissions.gaussian import Gaussian
from arbora.models.hidden_tree.emissions.poisson import Poisson
from arbora.models.hidden_tree.passes import Batch
from arbora.models.hidden_tree.switching_params import Priors as UpPriors
from arbora.models.hidden_tree.switching_tree import SwitchingTree
from arbora.models.hidden_tree.top_down_params import Priors as DownPriors
from arbora.models.hidden_tree.top_down_tree import TopDownTree
from tests.statistical.content_posterior import log_dirichlet

N_STATES, FIRST, EMISSION, TRANSITION = 2, 0.8, 0.7, 0.6
# Leaf, root of each tree; a value of each column is missing.
VALUES = {
    "x": Column.numbers([0.2, None, 1.9, 2.4, -0.3, 0.4]),
    "n": Column.counts([0, 1, 5, None, 1, 0]),
    "kind": Column.codes(["p", "q", None, "q", "p", "p"]),
    "on": Column.flags([True, False, None, False, True, True]),
    "words": Column.bags([{"a": 2}, {"b": 1}, {"b": 1, "a": 1}, None, {"a": 1}, {}]),
}
FAMILIES = {
    "x": Gaussian(1.0, 0.5, 0.4, 3.0),
    "n": Poisson(0.5),
    "kind": Categorical(2, ("p", "q")),
    "on": Flag(),
    "words": Bag(2, ("a", "b")),
}
PARTITIONS = [(0, 0, 0), (0, 0, 1), (0, 1, 0), (0, 1, 1), (0, 1, 2)]


def setting(direction, content=VALUES, families=FAMILIES):
    """Model, priors and trees as passes take them."""
    forest = Forest.from_nested([("a", ["a"])] * 3).with_content(dict(content))
    columns = Columns(tuple((name, families[name]) for name in content), 1)
    if direction == "up":
        model, priors = SwitchingTree(1, columns, N_STATES, "literal"), UpPriors(FIRST, EMISSION, 1.0, TRANSITION, 1.0)
    else:
        model, priors = TopDownTree(1, columns, N_STATES), DownPriors(FIRST, EMISSION, TRANSITION, 1.0)
    return model, priors, Batch(model, share(forest.arrays, 1, content=forest.rows(tm.wanted(model))), None, 1)


def sampler(kind, direction, content=VALUES, families=FAMILIES, **given):
    """A chain of these trees."""
    _, priors, batch = setting(direction, content, families)
    return kind(batch, ProcessPrior(priors, n_auxiliary=2, n_split_merge=2, **given), None, 1)


def log_joint(direction, states, rows):
    """Log P(states, content) of the chains of one group, parameters integrated out; states[tree, 2], leaf first."""
    hard = np.eye(N_STATES)[states]  # [tree, node, state]
    first, second = (0, 1) if direction == "up" else (1, 0)
    total = log_dirichlet(hard[:, first].sum(axis=0), FIRST)
    for j in range(N_STATES):
        total += log_dirichlet(hard[states[:, first] == j, second].sum(axis=0), TRANSITION)
    for column, family in FAMILIES.items():
        made = tm.mapped(lambda table: np.zeros((*table.shape, 1)), family.statistics_tables(N_STATES))
        family.add_statistics(rows[column], hard.reshape(-1, N_STATES, 1), made)
        total += family.log_marginal(made, EMISSION).sum()
    return total


def enumerated(direction, concentration=1.0):
    """Posterior of the five partitions, by sums over all states."""
    logs = []
    for partition in PARTITIONS:
        total = 0.0
        for group in range(max(partition) + 1):
            trees = np.flatnonzero(np.array(partition) == group)
            nodes = np.ravel([[2 * t, 2 * t + 1] for t in trees])
            rows = {column: plain_values(values.take(nodes)) for column, values in VALUES.items()}
            every = product(range(N_STATES), repeat=2 * len(trees))
            parts = [log_joint(direction, np.array(states).reshape(-1, 2), rows) for states in every]
            total += np.log(concentration) + np.logaddexp.reduce(parts)
            total += np.log(float(np.prod(np.arange(1, len(trees)))))
        logs.append(total)
    weight = np.exp(np.array(logs) - max(logs))
    return dict(zip(PARTITIONS, weight / weight.sum(), strict=True))


# Geweke's joint test, on three columns whose moments are bounded.

PRIOR = {"x": Gaussian(0.0, 1.0, 1.0, 12.0), "n": Poisson(2.0, 4.0), "on": Flag()}
CONCENTRATION = (3.0, 2.0)


def drawn_content(rng, model, direction, state):
    """Values of all nodes given partition and parameters, by plain draws."""
    params, k = state.params, np.repeat(state.label, 2)
    start = params.leaf[0] if direction == "up" else params.root
    first, second = (0, 1) if direction == "up" else (1, 0)
    states = np.empty((3, 2), np.int64)
    for t, group in enumerate(state.label):
        states[t, first] = rng.random() > start[0, group]
        states[t, second] = rng.random() > params.transition[0, states[t, first], 0, group]
    made = {
        name: family.sample(rng, params.emission[f"c{x}"], states.ravel(), k)
        for x, (name, family) in enumerate(model.emission.families)
    }
    return {"x": Column.numbers(made["x"]), "n": Column.counts(made["n"]), "on": Column.flags(made["on"])}


def statistics(state, content):
    """Functions of partition, parameters and content that notice errors in any of the updates."""
    k, emission = state.label, state.params.emission
    x, n, on = (content[name].values.astype(float).reshape(3, 2) for name in ("x", "n", "on"))
    same = k[0] == k[1]
    values = [k.max() + 1, state.concentration, same, (x**2).mean(), n.mean(), on.mean()]
    values += [same * (x[0] * x[1]).mean(), same * (n[0] * n[1]).mean(), (x[:, 0] * x[:, 1]).mean()]
    values += [(emission["c0"].mean[:, k] ** 2).mean(), np.log(emission["c0"].variance[:, k]).mean()]
    values += [emission["c1"][:, k].mean(), (emission["c2"][:, k] ** 2).mean()]
    values += [(emission["c0"].mean[:, k] * x.mean(axis=1)).mean(), (emission["c1"][:, k] * n.mean(axis=1)).mean()]
    return np.array(values, float)


def from_prior(rng, model, priors):
    """Everything but the content from the prior."""
    concentration = rng.gamma(CONCENTRATION[0]) / CONCENTRATION[1]
    label = [0]
    for _ in range(2):
        weight = np.append(np.bincount(label), concentration)
        label.append(int(rng.choice(len(weight), p=weight / weight.sum())))
    params = model.draw(rng, max(label) + 1, priors)
    return Partition(np.array(label), params, concentration, priors)


def geweke(kind, direction, n, seed=0, families=PRIOR):
    """z of each statistic: draws from the prior against content and the rest in turn."""
    rng = np.random.default_rng(seed)
    model, priors, _ = setting(direction, {name: VALUES[name] for name in PRIOR}, PRIOR)
    straight = []
    for _ in range(n):
        state = from_prior(rng, model, priors)
        straight.append(statistics(state, drawn_content(rng, model, direction, state)))
    state = from_prior(rng, model, priors)
    turns = []
    for _ in range(n):
        content = drawn_content(rng, model, direction, state)
        chain = sampler(kind, direction, content, families, concentration=1.0, concentration_prior=CONCENTRATION)
        label, params = chain._seat(rng, state)
        state, _ = chain._refresh(rng, state._replace(label=label, params=params))
        drawn = chain._draw_concentration(rng, state.concentration, state.label.max() + 1)
        state = state._replace(concentration=drawn)
        turns.append(statistics(state, content))
    means = np.array(turns)[: n // 40 * 40].reshape(40, -1, len(turns[0])).mean(axis=1)
    error = np.sqrt(np.var(straight, axis=0) / n + means.var(axis=0, ddof=1) / 40)
    return (np.mean(turns, axis=0) - np.mean(straight, axis=0)) / error
