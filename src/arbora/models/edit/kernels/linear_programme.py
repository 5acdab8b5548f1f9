"""The linear programme that bounds a set of pairs, by the simplex method."""

import numpy as np

from ....jit import jit
from .pair_cliques import NONE


@jit
def leaf_range(order, node, live):
    """First leaf below these nodes, and how many there are from it to the last."""
    low, high = order.leaf[-1], 0
    for c in live:
        low = min(low, order.leaf[order.first[node[c]]])
        high = max(high, order.leaf[node[c] + 1])
    return low, high - low


@jit
def set_up(a, b, pairs, live, table_out):
    """Tableau of: the most weight of the pairs listed in `live`, with at most one on the way up from every leaf.

    Row r is a leaf of either tree, column x the pair live[x], the last row the objective, the last column the bounds.
    """
    a_leaf, n_a = leaf_range(a, pairs.u, live)
    b_leaf, n_b = leaf_range(b, pairs.v, live)
    n_rows, n_columns = n_a + n_b, live.shape[0]
    table = table_out[: (n_rows + 1) * (n_columns + 1)].reshape(n_rows + 1, n_columns + 1)
    for r in range(n_rows + 1):
        for x in range(n_columns):
            table[r, x] = 0.0
        table[r, n_columns] = 1.0
    table[n_rows, n_columns] = 0.0
    for x in range(n_columns):
        u, v = pairs.u[live[x]], pairs.v[live[x]]
        for r in range(a.leaf[a.first[u]] - a_leaf, a.leaf[u + 1] - a_leaf):
            table[r, x] = 1.0
        for r in range(b.leaf[b.first[v]] - b_leaf + n_a, b.leaf[v + 1] - b_leaf + n_a):
            table[r, x] = 1.0
        table[n_rows, x] = -pairs.weight[live[x]]
    return table


@jit
def _pivot(table, r, x):
    """Exchange the variable of row r with that of column x."""
    inverse = 1.0 / table[r, x]
    table[r, x] = 1.0
    for y in range(table.shape[1]):
        table[r, y] *= inverse
    for s in range(table.shape[0]):
        factor = table[s, x]
        if s == r or factor == 0.0:
            continue
        table[s, x] = 0.0
        for y in range(table.shape[1]):
            table[s, y] -= factor * table[r, y]


@jit
def simplex(table, basis_out, outside_out):
    """Solve the tableau in place; the number of pivots, and False if it takes too long.

    basis_out[r] and outside_out[x] are the variables of rows and columns: a pair if below the number of columns, else
    the slack of a row.  The largest fall is taken until many steps in a row gain nothing; then the lowest numbers are,
    which cannot go round in circles.
    """
    n_rows, n_columns = table.shape[0] - 1, table.shape[1] - 1
    scale = 0.0
    for x in range(n_columns):
        outside_out[x] = x
        scale = max(scale, -table[n_rows, x])
    for r in range(n_rows):
        basis_out[r] = n_columns + r
    idle = 0
    most = 50 * (n_rows + 10)
    for step in range(most):
        enter, least = NONE - 1, -1e-11 * scale
        for x in range(n_columns):
            if table[n_rows, x] < least:
                if idle < 20:
                    enter, least = x, table[n_rows, x]
                elif enter < 0 or outside_out[x] < outside_out[enter]:
                    enter = x
        if enter < 0:
            return step, True
        leave, ratio = NONE - 1, np.inf
        for r in range(n_rows):
            if table[r, enter] > 1e-9:
                here = max(table[r, n_columns], 0.0) / table[r, enter]
                if leave < 0 or here < ratio - 1e-12 or (here < ratio + 1e-12 and basis_out[r] < basis_out[leave]):
                    leave, ratio = r, here
        if leave < 0:  # cannot be: every pair is bounded; rounding has spoilt the table
            return step, False
        idle = idle + 1 if ratio < 1e-12 else 0
        _pivot(table, leave, enter)
        basis_out[leave], outside_out[enter] = outside_out[enter], basis_out[leave]
    return most, False
