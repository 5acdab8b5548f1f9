"""Blocks of lanes: tables of parameters and sums for four lanes at a time, each block together in memory."""

from ....jit import inlined, jit
from .vectors import ONE, WIDTH, fill, load, load_apart, store, store_apart


@jit
def take_block(x, b, table_out, at):
    """Copy block b of x[row, lane] into the rows of single vectors from `at` on; where the next ones go."""
    n_rows, n_lanes = x.shape
    for r in range(n_rows):
        store(table_out, at + r, load_apart(x, r * n_lanes + WIDTH * b, 0, ONE))
    return at + n_rows


@jit
def give_block(table, at, b, x_out):
    """Add the rows of single vectors from `at` on to block b of x[row, lane]; where the next ones are."""
    n_rows, n_lanes = x_out.shape
    for r in range(n_rows):
        place = r * n_lanes + WIDTH * b
        store_apart(x_out, place, 0, load_apart(x_out, place, 0, ONE) + load(table, at + r, ONE))
    return at + n_rows


@inlined
def clear(table_out, first, end, like):
    """Set rows to zero."""
    for r in range(first, end):
        store(table_out, r, fill(0.0, like))
