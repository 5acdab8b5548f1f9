"""
Labelling nodes from a few annotated ones
=========================================

An article says of some of its nodes what role they play. A transducer learns from these nodes and gives all others a
role, with a probability. Nodes that are annotated change the probabilities of the nodes around them.
"""

import numpy as np

import arbora as ab

# Lists are navigation if they hold links, and content if they hold text; both are called "ul" and "li".
rng = np.random.default_rng(0)
menu = ("ul", [("li", ["a"])] * 3)
notes = ("ul", [("li", ["p"])] * 3)
pages = ab.Forest.from_nested([("body", [menu, notes] if rng.random() < 0.5 else [notes, menu]) for _ in range(40)])


def role(u: int) -> str:
    """What a person would say of a node."""
    word = pages.vocabulary[pages.label[u]]
    if word in ("a", "p"):
        return {"a": "navigation", "p": "content"}[word]
    return "page" if word == "body" else role(int(np.flatnonzero(pages.parent == u)[0]))


roles = np.array([role(u) for u in range(pages.n_nodes)])
annotated = [value if rng.random() < 0.2 else None for value in roles]

model = ab.TreeTransducer(4, n_init=3, random_state=0).fit(pages, annotated)
unknown = np.array([value is None for value in annotated])
found = model.predict(pages, known=annotated)
print(f"{unknown.sum()} nodes were not annotated; {np.mean(found[unknown] == roles[unknown]):.0%} get the right role")

# %%
# One page with the probability of "navigation" at each node.

column = model.outputs_.tolist().index("navigation")
ab.plot.tree(pages, 0, model.predict_proba(pages)[:, column])
