"""
How many groups?
================

The infinite mixture learns the number of groups, and several chains show whether to trust it.
"""

import matplotlib.pyplot as plt

import arbora as ab

forest = ab.datasets.make_asymmetric_trees(40, random_state=0)
model = ab.InfiniteHiddenTreeMixture(n_states=4, n_chains=4, n_iter=40, random_state=0).fit(forest)
print(model.chain_report().verdict)

# %%
# All chains come down from ten groups within a few sweeps.

fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4))
ab.plot.components_per_sweep(model.trace_, ax=left)
ab.plot.trace(model.trace_, ax=right)
fig.tight_layout()

# %%
# How often two trees share a group, over all draws of all chains.

fig, ax = plt.subplots(figsize=(5.5, 5))
ab.plot.co_occurrence(model.co_clustering(), model.labels_, ax=ax)
