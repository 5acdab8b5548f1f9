"""Patterns of nested trees and the mixture of them, slow and obvious."""

import itertools
import json
from collections import Counter
from math import exp, lgamma, log

FAMILIES = ("labels", "pairs", "slots", "paths", "rules", "rules2", "rules3", "sets", "bigrams")


def label_of(node):
    if node["label"] is None:
        return "*" if node.get("unseen") else "?"
    text = node["label"]
    odd = text in ("", "^", "$", "...", "?", "*") or text.endswith(":")
    if odd or any(c in '(),{}"/' or c.isspace() or not c.isprintable() for c in text):
        return json.dumps(text, ensure_ascii=False)
    return text


def walk(tree):
    """Every node with its slot and the labels from the root down to it."""
    stack = [(tree, -1, (label_of(tree),))]
    while stack:
        node, slot, path = stack.pop()
        yield node, slot, path
        due = 0
        for child in node.get("children", []):
            due = child.get("slot", due)
            stack.append((child, due, (*path, label_of(child))[-10:]))
            due += 1


def rule(node, depth):
    """The rule of a node, `depth` levels deep."""
    children = node.get("children", [])
    inside = [rule(child, depth - 1) if depth > 1 else label_of(child) for child in children]
    return f"{label_of(node)}({', '.join(inside)})" if children else label_of(node)


def bigrams(own, children):
    """Each two adjacent children, the first, and the last."""
    if not children:
        return []
    pairs = [f"{own}(..., {a}, {b}, ...)" for a, b in itertools.pairwise(children)]
    return [f"{own}({children[0]}, ...)", *pairs, f"{own}(..., {children[-1]})"]


def patterns(tree, families=FAMILIES):
    """How often each pattern of a nested tree occurs, by "family:text"."""
    found = Counter()
    for node, slot, path in walk(tree):
        own, children = label_of(node), [label_of(child) for child in node.get("children", [])]
        inside = ", ".join(sorted(set(children)))
        texts = {
            "labels": [own],
            "pairs": [" > ".join(["^", *path][-2:])],
            "slots": [f"slot {slot}: {own}" if slot >= 0 else f"root: {own}"],
            "paths": ["/".join(path if len(path) <= 8 else ["...", *path[-8:]])],
            "rules": [rule(node, 1)],
            "rules2": [rule(node, 2)],
            "rules3": [rule(node, 3)],
            "sets": [f"{own}{{{inside}}}" if children else own],
            "bigrams": bigrams(own, children),
        }
        found.update(f"{family}:{text}" for family in families for text in texts[family])
    return found


# ---- the mixture: rows are sets of (family, pattern) ----------------------------------------------------------------


def background(rows):
    """Share of each pattern among all of its family."""
    times = Counter(key for row in rows for key in row)
    total = Counter()
    for (family, _), n in times.items():
        total[family] += n
    return {key: n / total[key[0]] for key, n in times.items()}


def log_marginal(group, share, strengths, power):
    """Weighted log probability of the rows of one group, parameters integrated out."""
    out = 0.0
    for family, s in strengths.items():
        count = Counter(key for row in group for key in row if key[0] == family)
        out += lgamma(s) - lgamma(s + sum(count.values()))
        out += sum(lgamma(s * share[key] + n) - lgamma(s * share[key]) for key, n in count.items())
    return out * power / len(strengths)


def log_prior(sizes, prior, a):
    """Log prior of a partition by its sizes, tree after tree for the processes; by the sum for finite mixtures."""
    n = sum(sizes)
    if prior == "finite":
        # sum over the number of components k of p(k) k! / (k - t)! Gamma(k) / Gamma(k + n) prod n_i!, uniform weights
        t = len(sizes)
        terms = [
            log(0.1) + (k - 1) * log(0.9) + lgamma(k + 1) - lgamma(k - t + 1) + lgamma(k) - lgamma(k + n)
            for k in range(t, 2001)
        ]
        top = max(terms)
        return top + log(sum(exp(x - top) for x in terms)) + sum(lgamma(m + 1) for m in sizes)
    d = 0.5 if prior == "pitman-yor" else 0.0
    out, seated, n_groups = 0.0, 0, 0
    for m in sizes:
        for x in range(m):
            out += log(a + d * n_groups if x == 0 else x - d) - log(a + seated)
            n_groups += x == 0
            seated += 1
    return out


def partition_posterior(rows, partitions, strengths, power, prior, a):
    """Exact posterior of every partition in the list."""
    share = background(rows)
    logs = []
    for labels in partitions:
        groups = [[row for row, k in zip(rows, labels, strict=True) if k == g] for g in range(max(labels) + 1)]
        joint = log_prior([len(group) for group in groups], prior, a)
        logs.append(joint + sum(log_marginal(group, share, strengths, power) for group in groups))
    top = max(logs)
    weight = [exp(x - top) for x in logs]
    return {labels: w / sum(weight) for labels, w in zip(partitions, weight, strict=True)}


def surprise(trees, label, tree, group, families, strength, share):
    """Surprise of every node of a nested tree, children first: the log ratio of background and group, by texts.

    `share` is the background of each pattern that has a column, by "family:text".
    """
    inside = [set(patterns(one, families)) for one, k in zip(trees, label, strict=True) if k == group]
    count = Counter(text for one in inside for text in one if text in share)
    total = {f: sum(n for text, n in count.items() if text.startswith(f + ":")) for f in families}
    out = []

    def visit(node):
        for child in node.get("children", []):
            visit(child)
        means = []
        for family in families:
            values = []
            for text in _own_texts(node, family):
                s, key = strength[family], f"{family}:{text}"
                m, c = (share[key], count[key]) if key in share else (1.0, 0)
                values.append(log(m) - log((s * m + c) / (s + total[family])))
            if values:
                means.append(sum(values) / len(values))
        out.append(sum(means) / len(means))

    visit(tree)
    return out


def _own_texts(node, family):
    """Patterns that start at a node."""
    children = [label_of(child) for child in node.get("children", [])]
    if family == "bigrams":
        return bigrams(label_of(node), children)
    return [rule(node, {"rules": 1, "rules2": 2}[family])]
