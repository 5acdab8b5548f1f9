"""
Clusters of sub-clusters
========================

Two bananas are no Gaussians: NHCM covers each with sub-clusters of one shape. Colours are clusters, marks sub-clusters.
"""

import matplotlib.pyplot as plt

import arbora as ab

rows = ab.datasets.make_bananas(100, random_state=0)
model = ab.NHCM(n_iter=60, n_chains=2, random_state=0).fit(rows.X)

fig, ax = plt.subplots(figsize=(6.5, 5))
ab.plot.groups_map(rows.X, model.level_labels_, ax=ax, ellipses=True)
