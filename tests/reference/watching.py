"""The posterior of the groups of a stream, given the groups of a fit, by enumeration; slow and obvious.

A tree is {family: (known patterns, patterns without a column)}; buckets are given by a function of a pattern.
"""

from collections import Counter
from math import exp, lgamma, log


def log_urn(alpha, counts):
    """Dirichlet-multinomial of distinct draws from one urn: log G(sum a) / G(sum a + n) prod G(a + c) / G(a)."""
    total, n = alpha["all"], sum(counts.values())
    out = lgamma(total) - lgamma(total + n)
    return out + sum(lgamma(alpha[key] + c) - lgamma(alpha[key]) for key, c in counts.items())


def log_group(model, members, fitted):
    """Weighted log marginal of the trees of a group, given what the fit has put into it (None: nothing)."""
    out = 0.0
    for f, s in enumerate(model["strengths"]):
        share = {j: s * m for j, m in model["share"][f].items()} | {"all": s}
        known, rest, buckets = Counter(), 0, Counter()
        for tree in members:
            known.update(tree[f][0])
            rest += len(tree[f][1])
            buckets.update({model["bucket"](x) for x in tree[f][1]})
        before = Counter() if fitted is None else Counter(fitted["known"][f])
        out += log_urn(share, before + known) - log_urn(share, before)
        if model["rare"] is None:
            continue
        e, had = model["rare"][f], 0 if fitted is None else fitted["rest"][f]
        two = {"known": s * (1 - e), "rest": s * e, "all": s}
        n = sum(before.values())
        out += log_urn(two, {"known": n + sum(known.values()), "rest": had + rest})
        out -= log_urn(two, {"known": n, "rest": had})
        flat = dict.fromkeys(buckets, s / model["n_buckets"]) | {"all": s}
        out += log_urn(flat, buckets)
    return out * model["weight"]


def log_prior(sizes, fitted, a, d):
    """Log prior of seating trees one after another beside the groups of the fit; sizes of these come first."""
    out, seated = 0.0, sum(fitted)
    n_groups = len(fitted)
    for k, m in enumerate(sizes):
        had = fitted[k] if k < len(fitted) else 0
        for x in range(m):
            out += log(a + d * n_groups) if had + x == 0 else log(had + x - d)
            n_groups += had + x == 0
    return out - sum(log(a + seated + x) for x in range(sum(sizes)))


def assignments(n, n_fitted):
    """Every assignment of n trees to groups of the fit, 0, 1, ..., and to new ones, numbered as they are opened."""
    found = [()]
    for _ in range(n):
        found = [(*z, k) for z in found for k in range(max([*z, n_fitted - 1]) + 2)]
    return found


def posterior(model, trees, groups):
    """Posterior of every assignment, and the log of its sum before it was normalised."""
    logs = {}
    fitted = [group["size"] for group in groups]
    for z in assignments(len(trees), len(groups)):
        n = max([*z, len(groups) - 1]) + 1
        sizes = [z.count(k) for k in range(n)]
        joint = log_prior(sizes, fitted, model["concentration"], model["discount"])
        for k in range(n):
            members = [tree for tree, g in zip(trees, z, strict=True) if g == k]
            joint += log_group(model, members, groups[k] if k < len(groups) else None)
        logs[z] = joint
    top = max(logs.values())
    total = sum(exp(x - top) for x in logs.values())
    return {z: exp(x - top) / total for z, x in logs.items()}, top + log(total)
