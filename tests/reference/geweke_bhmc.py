"""Joint distribution tests of the hierarchical mixture: functionals under the prior and under chain-and-redraw.

With a regulariser the joint is proportional to prior x likelihood x exp(-2C hinges), so draws from the prior carry
that factor as a weight, and data are redrawn by rejection.
"""

import numpy as np

from arbora.models.bhmc.kernels import bhmc_weights
from arbora.models.bhmc.sampler import draw_paths


def functionals(path, component, X, variance, root_children):
    """Bounded numbers of a state and its data."""
    n = len(path)
    pairs = [(i, j) for i in range(n) for j in range(i)]
    values = [np.mean([path[i, l] == path[j, l] for i, j in pairs]) for l in range(path.shape[1])]
    values += [1.0 / len(set(path[:, l].tolist())) for l in range(path.shape[1])]
    values += [np.mean([component[i] == component[j] for i, j in pairs]), 1.0 / len(set(component.tolist()))]
    same_leaf = [component[i] == component[j] for i, j in pairs if path[i, -1] == path[j, -1]]
    values.append(np.mean(same_leaf) if same_leaf else 0.5)
    values += [np.tanh(X[0, 0]), np.tanh(0.3 * (X**2).mean()), np.mean([np.tanh(X[i] @ X[j]) for i, j in pairs])]
    values += [v / (1.0 + v) for v in variance] + [np.tanh(root_children)]
    return np.array(values)


def prior_draw(rng, n, n_features, depth, setting, variance):
    """Functionals of one draw of everything from the prior, and its log weight under the regulariser."""
    path = draw_paths(rng, n, depth, setting)
    # the franchise: tables of each restaurant, from the leaves up
    customers = {}
    for i, row in enumerate(path):
        customers.setdefault(tuple(row), []).append([i])
    for level in range(depth, -1, -1):
        concentration = setting.weight_concentration if level else setting.root_concentration
        above = {}
        for key, guests in customers.items():
            tables = []
            for guest in guests:
                weight = np.array([*(t[0] for t in tables), concentration])
                k = rng.choice(len(weight), p=weight / weight.sum())
                if k == len(tables):
                    tables.append([0, []])
                tables[k][0] += 1
                tables[k][1].extend(guest)
            above.setdefault(key[:-1], []).extend(t[1] for t in tables)
        customers = above
    component = np.zeros(n, int)
    (blocks,) = customers.values()
    for k, block in enumerate(blocks):
        component[block] = k
    variance = [
        scale / rng.standard_gamma(shape) if shape > 0 else v
        for v, (shape, scale) in zip(variance, (setting.within_prior, setting.between_prior), strict=True)
    ]
    mean = np.sqrt(variance[1]) * rng.standard_normal((len(blocks), n_features))
    X = mean[component] + np.sqrt(variance[0]) * rng.standard_normal((n, n_features))
    named = np.array([[hash(tuple(row[: l + 1])) for l in range(depth)] for row in path])
    hinge, scores = drawn_hinge(rng, X, path, setting)
    return functionals(named, component, X, variance, scores), -2.0 * setting.regularization * hinge


def drawn_hinge(rng, X, path, setting):
    """Sum of hinges under directions from the prior, and a number that shows how far they point at their data."""
    family = {}
    for row in path:
        for l in range(len(row)):
            family.setdefault(tuple(row[:l]), set()).add(int(row[l]))
    if setting.branching:
        family = {key: set(range(setting.branching)) for key in family}
    direction = {
        (*key, c): setting.direction_scale * rng.standard_normal(X.shape[1])
        for key, children in family.items()
        for c in children
    }
    total = 0.0
    for x, row in zip(X, path, strict=True):
        found = [
            setting.margin - (direction[(*row[:l], row[l])] - direction[(*row[:l], s)]) @ x
            for l in range(len(row))
            for s in family[tuple(row[:l])]
            if s != row[l]
        ]
        total += max(0.0, max(found, default=0.0))
    score = np.mean([direction[(int(row[0]),)] @ x for x, row in zip(X, path, strict=True)])
    return total, score


def chain_values(rng, sampler, n_sweeps):
    """Functionals of a chain that redraws its data after every sweep."""
    state = sampler.init(rng)
    values = []
    for _ in range(n_sweeps):
        state, _ = sampler.step(rng, state)
        mean = np.empty((state.n_components[0], sampler.X.shape[1]))
        bhmc_weights.draw_means(rng, state, mean)
        sampler.X[:] = redrawn(rng, sampler, state, mean)
        bhmc_weights.refresh_totals(sampler.X, state)
        score = np.mean([state.direction[state.path[i, 0]] @ x for i, x in enumerate(sampler.X)])
        values.append(functionals(state.path, state.component, sampler.X, state.variance, score))
    return np.array(values)


def redrawn(rng, sampler, state, mean):
    """New data given all else: the regulariser is at most one, so rejection does."""
    s = sampler.setting
    if s.regularization == 0:
        return mean[state.component] + np.sqrt(state.variance[0]) * rng.standard_normal(sampler.X.shape)
    rows = np.empty(sampler.X.shape)
    for n in range(len(rows)):
        gap = []
        for z in state.path[n]:
            sibling = state.first_child[state.parent[z]]
            while sibling >= 0:
                if sibling != z:
                    gap.append(state.direction[z] - state.direction[sibling])
                sibling = state.next_sibling[sibling]
        gap = np.array(gap).reshape(-1, rows.shape[1])
        while True:
            x = mean[state.component[n]] + np.sqrt(state.variance[0]) * rng.standard_normal(rows.shape[1])
            hinge = max(0.0, s.margin - (gap @ x).min()) if len(gap) else 0.0
            if rng.random() < np.exp(-2.0 * s.regularization * hinge):
                break
        rows[n] = x
    return rows


def z_scores(chain, prior, log_weight, n_batches=40):
    """Differences of means over their standard errors: batch means for the chain, weighted draws for the prior."""
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()
    expected = weight @ prior
    prior_var = (weight[:, None] ** 2 * (prior - expected) ** 2).sum(axis=0)
    batch = chain[len(chain) % n_batches :].reshape(n_batches, -1, chain.shape[1]).mean(axis=1)
    chain_var = batch.var(axis=0, ddof=1) / n_batches
    spread = np.sqrt(prior_var + chain_var)
    return np.divide(batch.mean(axis=0) - expected, spread, out=np.zeros(len(spread)), where=spread > 1e-12)
