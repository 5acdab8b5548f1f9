"""Trees scored without their own counts."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....jit import jit


class Table(NamedTuple):
    """Counts of cells and rows, and what rows lean on."""

    row: NDArray[np.int64]  # [cell]
    cell_count: NDArray[np.float64]  # [cell, component]
    row_count: NDArray[np.float64]  # [row, component]
    base: NDArray[np.float64]  # [cell, component]
    strength: NDArray[np.float64]  # [cell]


@jit
def left_out(urns, table, effective, own, tau):
    """Sum of log(p + j tau) of every tree, p without the share `own` of the tree's effective counts."""
    start, pair, pair_cell, times = urns
    n_components = own.shape[1]
    out = np.zeros((len(start) - 1, n_components))  # log P(tree | component), rows' terms left out
    in_row = np.zeros((len(table.row_count), n_components))  # effective counts of this tree
    for t in range(len(start) - 1):
        for x in range(start[t], start[t + 1]):
            e = pair[x]
            r = table.row[pair_cell[e]]
            for k in range(n_components):
                in_row[r, k] += effective[e, k]
        for x in range(start[t], start[t + 1]):
            e = pair[x]
            c = pair_cell[e]
            r = table.row[c]
            s = table.strength[c]
            for k in range(n_components):
                cell = max(table.cell_count[c, k] - own[t, k] * effective[e, k], 0.0)
                row = max(table.row_count[r, k] - own[t, k] * in_row[r, k], 0.0)
                prob = min((cell + s * table.base[c, k]) / (row + s), 1.0)
                for j in range(times[e]):
                    out[t, k] += math.log(prob + j * tau)
        for x in range(start[t], start[t + 1]):
            r = table.row[pair_cell[pair[x]]]
            for k in range(n_components):
                in_row[r, k] = 0.0
    return out
