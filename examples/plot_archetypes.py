"""
Archetypes of shapes
====================

Trees without labels and without order: noisy copies of three prototypes, grouped by the shortest description. The area
of a node is how many trees of its class have it.
"""

import matplotlib.pyplot as plt

import arbora as ab

forest = ab.datasets.make_prototype_trees(3, 12, n_nodes=10, noise=0.3, separation=6, random_state=1)
model = ab.TreeUnionMixture().fit(forest)

fig, axes = plt.subplots(1, model.n_components_, figsize=(4 * model.n_components_, 4))
for union, ax in zip(model.unions_, axes, strict=True):
    ab.plot.union_archetype(union, ax=ax)

# %%
# Which trees were merged, in which order.

fig, ax = plt.subplots(figsize=(9, 4))
ab.plot.merges(model, ax=ax)
