"""Assignment of children to children, as many of a kind at once as fit."""

import numpy as np

from ....jit import jit


@jit
def transport(weight, supply, demand):
    """How many of each row go to each column, so that the sum of weights is greatest; weights are 0 or more.

    Shortest augmenting paths with potentials, one row after the other.  A path carries as many as fit at once, so that
    work grows with the numbers of rows and columns, and not with what is in them.
    """
    if supply.sum() > demand.sum():  # all of the smaller side finds a place
        return _transport_all(weight.T.copy(), demand, supply).T.copy()
    return _transport_all(weight, supply, demand)


@jit
def _transport_all(weight, supply, demand):
    """As `transport`, where there is a place for every row."""
    n, m = weight.shape
    flow = np.zeros((n, m), np.int64)
    spare = demand.copy()
    high, low = np.zeros(n), np.zeros(m)  # potentials: -weight - high - low is 0 or more, and 0 where there is flow
    row_far, far = np.empty(n), np.empty(m)  # length of the shortest path to a row, to a column
    row_from, column_from = np.empty(n, np.int64), np.empty(m, np.int64)
    for x in range(n):
        left = supply[x]
        high[x] = np.inf
        for c in range(m):
            high[x] = min(high[x], -weight[x, c] - low[c])
        while left > 0:
            row_from[:] = -2  # not reached
            used = np.zeros(m, np.bool_)
            far[:] = np.inf
            row_from[x], row_far[x] = -1, 0.0
            _relax(x, weight, (high, low), used, row_far, (far, column_from))
            while True:
                end = -1
                for c in range(m):
                    if not used[c] and (end < 0 or far[c] < far[end]):
                        end = c
                used[end] = True
                if spare[end] > 0:
                    break
                for r in range(n):
                    if flow[r, end] > 0 and row_from[r] == -2:
                        row_from[r], row_far[r] = end, far[end]
                        _relax(r, weight, (high, low), used, row_far, (far, column_from))
            for r in range(n):
                if row_from[r] != -2:
                    high[r] += far[end] - row_far[r]
            for c in range(m):
                if used[c]:
                    low[c] -= far[end] - far[c]
            left -= _push(end, left, row_from, column_from, spare, flow)
    return flow


@jit
def _relax(r, weight, potentials, used, row_far, paths_out):
    """Lengths of paths to the columns by way of row r, and that they come from it, where these are shorter."""
    high, low = potentials
    far_out, column_from_out = paths_out
    for c in range(used.shape[0]):
        if not used[c]:
            length = row_far[r] + max(-weight[r, c] - high[r] - low[c], 0.0)
            if length < far_out[c]:
                far_out[c], column_from_out[c] = length, r


@jit
def _push(end, most, row_from, column_from, spare_out, flow_out):
    """Send as many as fit along the path that ends at a column; returns how many."""
    amount = min(most, spare_out[end])
    r = column_from[end]
    while row_from[r] >= 0:
        amount = min(amount, flow_out[r, row_from[r]])
        r = column_from[row_from[r]]
    spare_out[end] -= amount
    c = end
    while True:
        r = column_from[c]
        flow_out[r, c] += amount
        if row_from[r] < 0:
            return amount
        c = row_from[r]
        flow_out[r, c] -= amount


@jit
def _counts(side, k, only_rest):
    """Children of kind k by their kind; with only_rest, of those outside the core."""
    lo, hi = side.kid_start[k], side.kid_start[k + 1]
    out = np.empty(hi - lo, np.int64)
    for e in range(lo, hi):
        out[e - lo] = side.kid_count[e] - (side.core[e] if only_rest else 0)
    return out


@jit
def assign_children(i, j, one, two, tree, only_rest):
    """Best one-to-one assignment of the children of i and j: its value, and how many of each kind go to each."""
    lo_1, lo_2 = one.kid_start[i], two.kid_start[j]
    supply, demand = _counts(one, i, only_rest), _counts(two, j, only_rest)
    weight = np.empty((supply.shape[0], demand.shape[0]))
    for r in range(weight.shape[0]):
        for c in range(weight.shape[1]):
            weight[r, c] = tree[one.kid[lo_1 + r], two.kid[lo_2 + c]]
    flow = transport(weight, supply, demand)
    return (weight * flow).sum(), flow


@jit
def deal(nodes_1, nodes_2, place_1, place_2, flow):
    """The node of the second list that each of the first is assigned to, or -1; place_* are the rows and columns."""
    n_1, n_2 = flow.shape
    start = np.zeros(n_2 + 1, np.int64)
    for y in range(nodes_2.shape[0]):
        start[place_2[y] + 1] += 1
    for c in range(n_2):
        start[c + 1] += start[c]
    by_kind = np.empty(nodes_2.shape[0], np.int64)
    fill = start.copy()
    for y in range(nodes_2.shape[0]):
        by_kind[fill[place_2[y]]] = nodes_2[y]
        fill[place_2[y]] += 1
    left = flow.copy()
    at = np.zeros(n_1, np.int64)  # columns before this one are served
    out = np.full(nodes_1.shape[0], -1, np.int64)
    for x in range(nodes_1.shape[0]):
        r = place_1[x]
        while at[r] < n_2 and left[r, at[r]] == 0:
            at[r] += 1
        if at[r] < n_2:
            c = at[r]
            left[r, c] -= 1
            out[x] = by_kind[start[c]]
            start[c] += 1
    return out


@jit
def places_of(nodes, kind, side, k):
    """Place of the kind of each of these nodes among the kinds of the children of k."""
    place = np.empty(side.row.shape[0], np.int64)
    for e in range(side.kid_start[k], side.kid_start[k + 1]):
        place[side.kid[e]] = e - side.kid_start[k]
    out = np.empty(nodes.shape[0], np.int64)
    for x in range(nodes.shape[0]):
        out[x] = place[kind[nodes[x]]]
    return out
