"""Geweke's joint test of the exact sampler: drawing data and latents together must agree with sampling both in turn.

The marginal draws come from the prior and plain loops; the successive ones from the sampler, with labels redrawn given
partition and parameters.  Skeletons are fixed, so draws from the prior weigh what their parameters say of the shapes.
"""

import numpy as np

from arbora import Forest
from arbora.forest.sharing import share
from arbora.models.hidden_tree import switching_tree as tm
from arbora.models.hidden_tree.dp_samplers import Partition, ProcessPrior
from arbora.models.hidden_tree.exact_gibbs import ExactGibbs
from arbora.models.hidden_tree.passes import Batch
from tests.reference.hidden_tree import children_of, nodes_of

SKELETON = Forest.from_nested([("0", ["0", "0"]), ("0", [("0", ["0"])]), {"label": "0", "children": [("0", ["0"])]}])
N_STATES, N_LABELS, N_SLOTS = 2, 2, 2
CONCENTRATION, HYPER = (3.0, 2.0), (6.0, 4.0)


def draw(rng, weight):
    """Index in proportion to the weights; `Generator.choice` is ten times slower."""
    edge = np.cumsum(weight)
    return int(np.searchsorted(edge, rng.random() * edge[-1], side="right"))


class Game:
    """A reading of the model on the fixed skeleton."""

    def __init__(self, absent, structure, kind=ExactGibbs, rates=()):
        self.spec = tm.SwitchingTree.of_labels(N_SLOTS, N_LABELS, N_STATES, absent, structure, rates=rates)
        self.kind = kind
        self.trees = [nodes_of(SKELETON, t) for t in range(len(SKELETON))]
        self.setting = ProcessPrior(tm.Priors(), 1.0, CONCENTRATION, n_auxiliary=2, n_split_merge=2, hyperprior=HYPER)

    def prior(self, rng):
        """A draw of everything but the labels from the prior, and the weight of the shapes."""
        concentration = rng.gamma(CONCENTRATION[0]) / CONCENTRATION[1]
        kind = type(self.setting.priors)
        priors = kind(*(rng.gamma(HYPER[0], size=len(kind._fields)) / HYPER[1]))
        label = [0]
        for _ in self.trees[1:]:
            weight = np.append(np.bincount(label), concentration)
            label.append(draw(rng, weight))
        label = np.array(label)
        params = self.spec.draw(rng, label.max() + 1, priors)
        state = Partition(label, params, concentration, priors)
        return state, np.prod([self.shape_mass(tree, params, k) for tree, k in zip(self.trees, label, strict=True)])

    def shape_mass(self, tree, params, k):
        """Sum over all labellings of what the model says of a tree."""
        mass = 1.0
        for u, (_, slot, _) in enumerate(tree):
            present = sorted(children_of(tree, u, N_SLOTS))
            absent = sorted(set(range(N_SLOTS)) - set(present))
            if self.spec.structure:
                mass *= params.branching[present, k].prod() * (1.0 - params.branching[absent, k]).prod()
            if self.spec.absent == "literal" and present:
                mass *= params.switch[present, k].sum()
            if self.spec.absent == "slot":
                if present:
                    mass *= params.leaf[absent, N_STATES, k].prod()
                else:
                    mass *= params.leaf[slot, :N_STATES, k].sum()
        return mass

    def draw_labels(self, rng, state):
        """Labels of all nodes given partition and parameters, leaves first."""
        params, labels = state.params, []
        for tree, k in zip(self.trees, state.label, strict=True):
            states = []
            for u, (_, slot, _) in enumerate(tree):
                children = children_of(tree, u, N_SLOTS)
                if not children:
                    p = params.leaf[slot, :N_STATES, k]
                else:
                    slots = list(range(N_SLOTS)) if self.spec.absent_is_state else sorted(children)
                    l = slots[draw(rng, params.switch[slots, k])]
                    p = params.transition[l, states[children[l][0]] if l in children else N_STATES, :, k]
                states.append(draw(rng, p))
                labels.append(draw(rng, params.emission[:, states[-1], k]))
        return np.array(labels, np.int32)

    def log_prob_of_labels(self, state, labels):
        """What the parameters say of the labels given the shapes, by sums over the states from the leaves up."""
        params, total, label = state.params, 0.0, iter(labels)
        for tree, k in zip(self.trees, state.label, strict=True):
            upward = []
            for u, (parent, slot, _) in enumerate(tree):
                children = children_of(tree, u, N_SLOTS)
                if not children:
                    p = params.leaf[slot, :N_STATES, k] / params.leaf[slot, :N_STATES, k].sum()
                else:
                    slots = list(range(N_SLOTS)) if self.spec.absent_is_state else sorted(children)
                    switch = params.switch[slots, k] / params.switch[slots, k].sum()
                    # What a child's labels say of its state; an absent child is in the state of its own.
                    child = [upward[children[l][0]] if l in children else np.eye(N_STATES + 1)[-1] for l in slots]
                    mass = np.prod([c.sum() for c in child])
                    p = sum(
                        f * mass / c.sum() * (c @ params.transition[l, : len(c), :, k])
                        for l, f, c in zip(slots, switch, child, strict=True)
                    )
                upward.append(p * params.emission[next(label), :, k])
                if parent < 0:
                    total += np.log(upward[-1].sum())
        return total

    def statistics(self, state, labels):
        """Functions of partition, parameters and labels that notice errors in any of the updates."""
        params, k = state.params, state.label
        size = np.bincount(k)
        ends = SKELETON.tree_start[1:]
        root, first = labels[ends - 1], labels[SKELETON.tree_start[:-1]]
        same = [(k[a] == k[b]) * (root[a] == root[b]) for a in range(3) for b in range(a)]
        values = [len(size), state.concentration, *np.log(state.priors), k[0] == k[1], (labels == 0).mean()]
        values += [(root == first).mean(), np.mean(same), (params.emission[0, :, k] ** 2).mean()]
        values += [(params.switch[0, k] ** 2).mean(), (params.transition[0, 0, 0, k] ** 2).mean()]
        # What the switches add: the difference has none of the labels' own spread, and so a small standard error.
        even = state._replace(params=params._replace(switch=np.full_like(params.switch, 1 / N_SLOTS)))
        says = self.log_prob_of_labels(state, labels)
        values += [says, says - self.log_prob_of_labels(even, labels)]
        values += [(params.leaf[0, 0, k] ** 2).mean(), np.mean(params.emission[root, :, k].max(axis=1))]
        if self.spec.structure:
            values.append((params.branching[:, k] ** 2).mean())
        return np.array(values, float)

    def marginal(self, rng, n):
        """Weighted mean and standard error of the statistics under the prior."""
        values, weights = [], []
        for _ in range(n):
            state, weight = self.prior(rng)
            values.append(self.statistics(state, self.draw_labels(rng, state)))
            weights.append(weight)
        values, weights = np.array(values), np.array(weights) / np.sum(weights)
        mean = weights @ values
        return mean, np.sqrt((weights[:, None] ** 2 * (values - mean) ** 2).sum(axis=0))

    def successive(self, rng, n):
        """Mean and standard error, from batches, of the statistics under the sampler."""
        state, _ = self.prior(rng)
        labels = self.draw_labels(rng, state)
        values = []
        for _ in range(n):
            forest = Forest(SKELETON.parent, SKELETON.slot, labels, SKELETON.tree_start, ("0", "1"))
            chain = self.kind(Batch(self.spec, share(forest.arrays, N_SLOTS), None, 1), self.setting, None, 1)
            label, params = chain._seat(rng, state)
            state, _ = chain._refresh(rng, state._replace(label=label, params=params))
            drawn = chain._draw_concentration(rng, state.concentration, state.label.max() + 1)
            state = state._replace(concentration=drawn)
            # Before the labels are drawn anew: those would forgive parameters drawn without regard to the old ones.
            values.append(self.statistics(state, labels))
            labels = self.draw_labels(rng, state)
        means = np.array([part.mean(axis=0) for part in np.array_split(np.array(values), 20)])
        return means.mean(axis=0), means.std(axis=0, ddof=1) / np.sqrt(len(means))

    def largest_z(self, seed, n):
        """How many standard errors the two means are apart, at most."""
        rng = np.random.default_rng(seed)
        mean, error = self.marginal(rng, 4 * n)
        other, other_error = self.successive(rng, n)
        spread = np.sqrt(error**2 + other_error**2)
        return float(np.max(np.abs(mean - other)[spread > 0] / spread[spread > 0]))
