"""Other numbers for the states of some data: their numbers mean nothing."""

from ....jit import inlined, jit


@inlined
def renumbered(c, new, layout):
    """The cell that c becomes when each state j is called new[j]."""
    n_states, n_pairs, width = layout.n_states, layout.n_pairs, layout.leaf_width
    if c < layout.emission:
        l, i = divmod(c - layout.leaf, width)
        return layout.leaf + l * width + new[i] if i < n_states else c
    if c < layout.switch:
        m, i = divmod(c - layout.emission, n_states)
        return layout.emission + m * n_states + new[i]
    if layout.transition <= c < layout.shape:
        pair, i = divmod(c - layout.transition, n_states)
        l, j = divmod(pair, n_pairs)
        child = new[j] if j < n_states else j
        return layout.transition + (l * n_pairs + child) * n_states + new[i]
    return c


@jit
def renumber_states(bags, trees, new, layout):
    """Call state j of these trees new[j], in place."""
    n_states, cell, numbers = layout.n_states, bags.cell, bags.moments
    for t in trees:
        for x in range(bags.start[t], bags.stop[t]):
            cell[x] = renumbered(cell[x], new, layout)
        if numbers.n_cells > 0:
            for x in range(numbers.start[t], numbers.stop[t]):
                column, i = divmod(numbers.cell[x], n_states)
                numbers.cell[x] = column * n_states + new[i]
