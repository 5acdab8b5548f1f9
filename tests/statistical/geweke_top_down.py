"""Geweke's joint test of the exact sampler for trees whose states go from the root down.

Where shapes depend on states, the skeleton says something about the states.  Labels are then drawn given the skeleton:
a sum over the states below each node, in plain loops, then states from the root down.
"""

import numpy as np

from arbora.models.hidden_tree.dp_samplers import ProcessPrior
from arbora.models.hidden_tree.exact_gibbs import ExactGibbs
from arbora.models.hidden_tree.top_down_params import Priors
from arbora.models.hidden_tree.top_down_tree import of_labels
from tests.reference.hidden_tree import children_of, nodes_of
from tests.statistical import geweke as up


class Game(up.Game):
    """A top-down model on the fixed skeleton; labels, partition, parameters and priors are drawn as bottom-up."""

    def __init__(self, structure, tied=False, kind=ExactGibbs):
        self.spec = of_labels(up.N_SLOTS, up.N_LABELS, up.N_STATES, structure=structure, tied=tied)
        self.kind = kind
        self.trees = [nodes_of(up.SKELETON, t) for t in range(len(up.SKELETON))]
        self.setting = ProcessPrior(
            Priors(), 1.0, up.CONCENTRATION, n_auxiliary=2, n_split_merge=2, hyperprior=up.HYPER
        )

    def below(self, tree, params, k, label=None):
        """P(shape and, if given, labels of the subtree of each node | its state)."""
        out = []
        for u in range(len(tree)):
            children = {l: v[0] for l, v in children_of(tree, u, up.N_SLOTS).items()}
            p = np.ones(up.N_STATES) if label is None else params.emission[label[u], :, k].copy()
            for l in range(up.N_SLOTS):
                if self.spec.structure:
                    chance = params.branching[l, ..., k]
                    p = p * (chance if l in children else 1.0 - chance)
                if l in children:
                    p = p * (params.transition[0 if self.spec.tied else l, :, :, k] @ out[children[l]])
            out.append(p)
        return out

    def shape_mass(self, tree, params, k):
        """P(shape), states summed out."""
        return params.root[:, k] @ self.below(tree, params, k)[-1]

    def draw_labels(self, rng, state):
        """Labels of all nodes given partition, parameters and shapes."""
        params, labels = state.params, []
        for tree, k in zip(self.trees, state.label, strict=True):
            below, states = self.below(tree, params, k), [0] * len(tree)
            for u in range(len(tree) - 1, -1, -1):
                parent, slot, _ = tree[u]
                row = params.root[:, k]
                if parent >= 0:
                    row = params.transition[0 if self.spec.tied else slot, states[parent], :, k]
                states[u] = up.draw(rng, row * below[u])
            labels += [up.draw(rng, params.emission[:, i, k]) for i in states]
        return np.array(labels, np.int32)

    def log_prob_of_labels(self, state, labels):
        """log P(labels | shapes, partition, parameters)."""
        total, at = 0.0, 0
        for tree, k in zip(self.trees, state.label, strict=True):
            root = state.params.root[:, k]
            both = root @ self.below(tree, state.params, k, labels[at : at + len(tree)])[-1]
            total += np.log(both) - np.log(self.shape_mass(tree, state.params, k))
            at += len(tree)
        return total

    def statistics(self, state, labels):
        """Functions of partition, parameters and labels that notice errors in any of the updates."""
        params, k = state.params, state.label
        root = labels[up.SKELETON.tree_start[1:] - 1]
        first = labels[up.SKELETON.tree_start[:-1]]
        same = [(k[a] == k[b]) * (root[a] == root[b]) for a in range(3) for b in range(a)]
        values = [k.max() + 1, state.concentration, *np.log(state.priors), k[0] == k[1], (labels == 0).mean()]
        values += [(root == first).mean(), np.mean(same), (params.emission[0, :, k] ** 2).mean()]
        values += [(params.root[0, k] ** 2).mean(), (params.transition[0, 0, 0, k] ** 2).mean()]
        # What parents say of their children: the difference has little of the labels' own spread.
        even = np.full_like(params.transition, 1 / up.N_STATES)
        says = self.log_prob_of_labels(state, labels)
        values += [
            says,
            says - self.log_prob_of_labels(state._replace(params=params._replace(transition=even)), labels),
        ]
        values.append(np.mean(params.emission[root, :, k].max(axis=1)))
        if self.spec.structure:
            values.append((params.branching[..., k] ** 2).mean())
        return np.array(values, float)
