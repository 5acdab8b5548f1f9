"""Patterns of nested trees and the mixture of them, slow and obvious."""

import itertools
import json
from collections import Counter

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


def patterns(tree, families=FAMILIES):
    """How often each pattern of a nested tree occurs, by "family:text"."""
    found = Counter()
    for node, slot, path in walk(tree):
        own, children = label_of(node), [label_of(child) for child in node.get("children", [])]
        inside = ", ".join(sorted(set(children)))
        marked = ["^", *children, "$"]
        texts = {
            "labels": [own],
            "pairs": [" > ".join(["^", *path][-2:])],
            "slots": [f"slot {slot}: {own}" if slot >= 0 else f"root: {own}"],
            "paths": ["/".join(path if len(path) <= 8 else ["...", *path[-8:]])],
            "rules": [rule(node, 1)],
            "rules2": [rule(node, 2)],
            "rules3": [rule(node, 3)],
            "sets": [f"{own}{{{inside}}}" if children else own],
            "bigrams": [f"{own}: {a} {b}" for a, b in itertools.pairwise(marked)] if children else [],
        }
        found.update(f"{family}:{text}" for family in families for text in texts[family])
    return found
