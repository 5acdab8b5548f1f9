"""Counts of data in cells, as kernels take them: bags, rows and priors of cells, and where each kind of count is."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .number_marginals import N_MOMENTS, N_PRIOR


class Moments(NamedTuple):
    """Numbers of every datum: entries start[t] to stop[t] of cell and value, cells of a datum unique."""

    start: NDArray[np.int64]
    stop: NDArray[np.int64]
    cell: NDArray[np.int32]  # column * n_states + state
    value: NDArray[np.float64]  # [entry, 3]: how many numbers, their sum, and a third sum by their family
    n_cells: int


NO_MOMENTS = Moments(
    np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros((0, N_MOMENTS), np.float64), 0
)


class Bags(NamedTuple):
    """Counts of every datum: entries start[t] to stop[t] of cell and times; and its numbers."""

    start: NDArray[np.int64]
    stop: NDArray[np.int64]
    cell: NDArray[np.int32]
    times: NDArray[Any]  # whole, but for words of long bags that are weighed down
    moments: Moments = NO_MOMENTS


class CellTable(NamedTuple):
    """The row of every cell, and the Dirichlet parameters of cells and, summed, of rows; and priors of numbers."""

    row: NDArray[np.int64]
    prior: NDArray[np.float64]
    row_prior: NDArray[np.float64]
    numbers: NDArray[np.float64] = np.zeros((0, N_PRIOR))  # [cell of moments]: see `number_marginal`


class Layout(NamedTuple):
    """Where in the cells of a hidden tree each kind of count starts, and how it is shaped."""

    leaf: int  # [slot + root, leaf_width]
    emission: int  # [label, state]
    switch: int  # [slot]
    transition: int  # [slot, n_pairs, state]
    shape: int  # counts that know no states: hits and misses of the branching
    end: int
    leaf_width: int  # states, and "nothing there" in the slot reading
    n_pairs: int  # child states, and the absent child where it is one
    n_states: int
