"""Slow, obvious twin of arbora.models.grammar: recursion over nested trees, dictionaries, one draw at a time."""

from collections import Counter
from itertools import product
from math import lgamma, log

START, STOP, UNSEEN, MISSING, ROOT = "<start>", "<stop>", "<unseen>", "<missing>", "<root>"
MOST = 12


def events(tree, words, positional):
    """(row, outcome) of everything that happens in a nested tree as `Forest.__getitem__` gives it."""
    found = []

    def named(node):
        label = node.get("label")
        return MISSING if label is None else label if label in words else UNSEEN

    def visit(node):
        a, before, slot = named(node), START, 0
        children = node.get("children", [])
        at = -1
        for child in children:
            at = child.get("slot", at + 1)
            if positional:
                jump = at - slot
                found.append((("jump", a, min(slot, MOST)), min(jump, MOST)))
                slot = at + 1
            if named(child) != MISSING:
                found.append((("chain", a, before), named(child)))
            before = named(child)
        found.append((("chain", a, before), STOP))
        for child in children:
            visit(child)

    if named(tree) != MISSING:
        found.append(((ROOT, ROOT, 0), named(tree)))
    visit(tree)
    return found


def urn_log_prob(draws, prob, tau):
    """One draw after the other: a row that was drawn from before repeats each earlier draw with weight tau."""
    total, in_row, in_cell = 0.0, Counter(), Counter()
    for row, outcome in draws:
        share = (prob(row, outcome) + in_cell[row, outcome] * tau) / (1 + in_row[row] * tau)
        total += log(share)
        in_row[row] += 1
        in_cell[row, outcome] += 1
    return total


class Backoff:
    """Three levels of one component, from dictionaries of counts; pool has counts of all components."""

    def __init__(self, cell, base, pool, strength, n_outcomes):
        self.cell, self.strength, self.n_outcomes = cell, strength, n_outcomes  # cell[row][outcome]
        self.base = base  # base[kind, a][outcome]
        self.pool = pool  # pool[kind][outcome]

    def __call__(self, row, outcome):
        kind, a, _ = row
        s0, s1, s2 = self.strength[kind]
        total = sum(self.pool[kind].values()) + self.n_outcomes[kind] / 2
        pool = (self.pool[kind].get(outcome, 0) + 0.5) / total
        mine = Counter()
        for (other, _), counts in self.base.items():
            if other == kind:
                mine.update(counts)
        lowest = (mine.get(outcome, 0) + s2 * pool) / (sum(mine.values()) + s2)
        there = self.base.get((kind, a), {})
        middle = (there.get(outcome, 0) + s1 * lowest) / (sum(there.values()) + s1)
        here = self.cell.get(row, {})
        return (here.get(outcome, 0) + s0 * middle) / (sum(here.values()) + s0)


def components(model):
    """The components of a fitted model, each as a function of row and outcome."""
    words = list(model.vocabulary_)
    n = len(words)
    names = [*words, STOP, UNSEEN, MISSING]
    width = max(n + 3, MOST + 1)
    cells = [_row_of(int(key), n, width, names) for key in model.cell_key_]
    kinds = ("chain", ROOT, "jump")
    strength = {kind: [model.strength_[level][x] for level in range(3)] for x, kind in enumerate(kinds)}
    n_outcomes = {"chain": n + 2, ROOT: n + 1, "jump": MOST + 1}
    pairs = sorted({(int(key) // width**2, int(key) % width) for key in model.cell_key_})
    bases = []
    for counts in model.base_count_:
        base = {}
        for (context, outcome), count in zip(pairs, counts, strict=True):
            (kind, a, _), o = _row_of((context * width + 0) * width + outcome, n, width, names)
            base.setdefault((kind, a), {})[o] = count
        bases.append(base)
    pool = {kind: Counter() for kind in kinds}
    for base in bases:
        for (kind, _), counts in base.items():
            pool[kind].update(counts)
    found = []
    for k in range(len(model.weight_)):
        cell = {}
        for (row, outcome), count in zip(cells, model.cell_count_[k], strict=True):
            cell.setdefault(row, {})[outcome] = count
        found.append(Backoff(cell, bases[k % len(bases)], pool, strength, n_outcomes))
    return found


def _row_of(key, n, width, names):
    """The row and outcome of a key."""
    context, previous, outcome = key // width**2, key // width % width, key % width
    if context < n + 3:
        return ("chain", names[context], START if previous == n else names[previous]), names[outcome]
    if context == n + 3:
        return (ROOT, ROOT, 0), names[outcome]
    return ("jump", names[context - n - 4], previous), outcome


def tail_log_prob(tree):
    """Log-probability of what jumps exceed MOST by."""
    total, slot, at = 0.0, 0, -1
    for child in tree.get("children", []):
        at = child.get("slot", at + 1)
        excess = at - slot - MOST
        total -= log((excess + 1) * (excess + 2)) if excess >= 0 else 0.0
        slot = at + 1
        total += tail_log_prob(child)
    return total


def log_joint(model, tree):
    """log P(tree, component) of each component."""
    draws = events(tree, set(model.vocabulary_), model.positional_)
    tail = tail_log_prob(tree) if model.positional_ else 0.0
    return [
        log(weight) + urn_log_prob(draws, prob, model.burstiness_) + tail
        for weight, prob in zip(model.weight_, components(model), strict=True)
    ]


def all_trees(words, n_nodes):
    """Every ordered tree of exactly so many nodes, nested."""
    for label in words:
        for children in _sequences(words, n_nodes - 1):
            yield {"label": label, "children": children} if children else {"label": label}


def _sequences(words, n_nodes):
    """Every sequence of trees of so many nodes in all."""
    if n_nodes == 0:
        yield []
        return
    for first in range(1, n_nodes + 1):
        for head, rest in product(list(all_trees(words, first)), list(_sequences(words, n_nodes - first))):
            yield [head, *rest]


def log_partition(labels, bags, prior, row_prior, rows, concentration):
    """log of P(partition) x P(bags | partition) under a Dirichlet process with Dirichlet-multinomial rows."""
    total = 0.0
    for group in set(labels):
        members = [bags[t] for t in range(len(bags)) if labels[t] == group]
        counts, in_row = Counter(), Counter()
        for bag in members:
            for cell, times in bag.items():
                counts[cell] += times
                in_row[rows[cell]] += times
        total += log(concentration) + lgamma(len(members))
        total += sum(lgamma(prior[c] + n) - lgamma(prior[c]) for c, n in counts.items())
        total -= sum(lgamma(row_prior[r] + n) - lgamma(row_prior[r]) for r, n in in_row.items())
    return total
