"""
A hierarchy of rows
===================

Rows of numbers sorted into a tree of groups, with the uncertainty of each level.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_iris

import arbora as ab

X, y = load_iris(return_X_y=True)
model = ab.RBHMC(n_iter=200, n_chains=2, random_state=0).fit(X)

fig, ax = plt.subplots(figsize=(7, 5))
ab.plot.hierarchy(model.hierarchy_, ax=ax)

# %%
# How often two flowers share a node of the first level.

fig, ax = plt.subplots(figsize=(5.5, 5))
ab.plot.co_occurrence(model.co_occurrence(0), model.labels_, ax=ax)
