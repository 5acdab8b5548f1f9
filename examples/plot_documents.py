"""
Clusters of documents
=====================

Five kinds of documents that share most of their tags, grouped by a mixture of hidden trees.
"""

import matplotlib.pyplot as plt

import arbora as ab

forest = ab.datasets.load_demo()
model = ab.HiddenTreeMixture(n_components=5, random_state=0).fit(forest)

# %%
# Every mark is a document; its colour is the cluster, its shape the kind, which the model did not see.

fig, ax = plt.subplots(figsize=(7, 5))
ab.plot.clusters_map(model.transform(forest), model.labels_, forest.target, ax=ax)

# %%
# How clusters and kinds agree, and how near each tree is to its own cluster.

fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5))
ab.plot.confusion(ab.summary.agree(forest.target, model.labels_), ax=left)
values = ab.metrics.silhouette_samples(ab.metrics.slot_label_counts(forest), model.labels_)
ab.plot.silhouette(values, model.labels_, ax=right)
fig.tight_layout()
