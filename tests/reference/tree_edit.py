"""Slow, obvious twins of edit distances: the textbook recursion on ordered forests, and enumeration of mappings."""

from functools import cache
from itertools import combinations


def as_tuples(nested):
    """A nested tree as (label, (children, ...)), siblings by slot."""
    return nested["label"], tuple(as_tuples(child) for child in nested.get("children", []))


def ordered_distance(a, b, delete, insert, rename):
    """Edit distance of two trees of tuples: take the last root of either forest off, or match the two."""

    @cache
    def forests(f, g):
        if not f and not g:
            return 0.0
        if not g:
            label, children = f[-1]
            return forests(f[:-1] + children, g) + delete(label)
        if not f:
            label, children = g[-1]
            return forests(f, g[:-1] + children) + insert(label)
        (one, below), (two, under) = f[-1], g[-1]
        return min(
            forests(f[:-1] + below, g) + delete(one),
            forests(f, g[:-1] + under) + insert(two),
            forests(f[:-1], g[:-1]) + forests(below, under) + rename(one, two),
        )

    return forests((a,), (b,))


def preorder(tree):
    """Labels, the node above each node, and post-order numbers, all by pre-order number."""
    labels, above, post = [], [], []
    done = 0

    def visit(node, parent):
        nonlocal done
        u = len(labels)
        labels.append(node[0])
        above.append(parent)
        post.append(0)
        for child in node[1]:
            visit(child, u)
        post[u] = done
        done += 1

    visit(tree, -1)
    return labels, above, post


def is_mapping(a, b, pairs, ordered):
    """Whether these pairs of pre-order numbers are one to one and keep ancestry and, if ordered, left and right."""
    post_a, post_b = preorder(a)[2], preorder(b)[2]
    for (u, v), (x, y) in combinations(pairs, 2):
        if u == x or v == y:
            return False
        if (u < x and post_a[u] > post_a[x]) != (v < y and post_b[v] > post_b[y]):
            return False
        if (x < u and post_a[x] > post_a[u]) != (y < v and post_b[y] > post_b[v]):
            return False
        if ordered and (u < x) != (v < y):
            return False
    return True


def mapping_cost(a, b, pairs, delete, insert, rename):
    """Sum of renames over the pairs, deletions of the rest of a and insertions of the rest of b."""
    one, two = preorder(a)[0], preorder(b)[0]
    left, right = {u for u, _ in pairs}, {v for _, v in pairs}
    total = sum(rename(one[u], two[v]) for u, v in pairs)
    total += sum(delete(label) for u, label in enumerate(one) if u not in left)
    return total + sum(insert(label) for v, label in enumerate(two) if v not in right)


def distance_by_enumeration(a, b, delete, insert, rename, ordered):
    """The cheapest of all mappings."""
    n, m = len(preorder(a)[0]), len(preorder(b)[0])
    best = float("inf")

    def extend(u, pairs):
        nonlocal best
        if u == n:
            best = min(best, mapping_cost(a, b, pairs, delete, insert, rename))
            return
        extend(u + 1, pairs)
        for v in range(m):
            if is_mapping(a, b, [*pairs, (u, v)], ordered):
                extend(u + 1, [*pairs, (u, v)])

    extend(0, [])
    return best
