"""All states of one component as one vector: a `Row` (vectors.py) of one vector that is as wide as there are states.

LLVM cuts it into what the machine has: five states are a vector of four and a number.  Arrays are contiguous and hold
the numbers of a row one after another.  The number of states is the length of a tuple, `like`.
"""

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from .vectors import FLAGS, Row, _address, _loaded, _spread, _stored


def _places(context, builder, sig, args, n_rows, width):
    """Where rows args[1], args[1] + 1, ... of array args[0] are."""
    start = _address(context, builder, sig.args[0], args[0], builder.mul(args[1], args[1].type(width)))
    vector = ir.VectorType(ir.DoubleType(), width).as_pointer()
    steps = [ir.IntType(64)(width * i) for i in range(n_rows)]
    return [builder.bitcast(builder.gep(start, [step], inbounds=True), vector) for step in steps]


def _picked(builder, row, numbers):
    """A vector of the entries of `row` with these numbers; the one past the end is zero."""
    zeros = ir.Constant(row.type, [0.0] * row.type.count)
    return builder.shuffle_vector(row, zeros, ir.Constant(ir.VectorType(ir.IntType(32), len(numbers)), numbers))


def _folded(builder, vector, n, join, spare):
    """One number of a vector, by joining its halves; of an odd number, entry `spare` meets the last one."""
    while n > 1:
        half = (n + 1) // 2
        low = _picked(builder, vector, list(range(half)))
        high = _picked(
            builder, vector, [x if x < n else (n if spare is None else spare) for x in range(half, 2 * half)]
        )
        vector, n = join(low, high), half
    return builder.extract_element(vector, ir.IntType(32)(0))


@intrinsic
def spread(typingctx, number, like):
    """One number for every state."""
    n = len(like)

    def codegen(context, builder, sig, args):
        return _spread(builder, args[0], n)

    return Row(1, n)(types.float64, like), codegen


@intrinsic
def load(typingctx, x, number, like):
    """Row `number` of x[row, state]."""
    n = len(like)

    def codegen(context, builder, sig, args):
        return _loaded(builder, *_places(context, builder, sig, args, 1, n))

    return Row(1, n)(x, types.intp, like), codegen


@intrinsic
def store(typingctx, x, number, row):
    """x[number] = row."""

    def codegen(context, builder, sig, args):
        _stored(builder, args[2], *_places(context, builder, sig, args, 1, row.width))

    return types.void(x, types.intp, row), codegen


@intrinsic
def add_to(typingctx, x, number, row):
    """x[number] += row."""

    def codegen(context, builder, sig, args):
        (place,) = _places(context, builder, sig, args, 1, row.width)
        _stored(builder, builder.fadd(_loaded(builder, place), args[2], flags=FLAGS), place)

    return types.void(x, types.intp, row), codegen


@intrinsic
def total(typingctx, row):
    """Sum over the states, by halves."""

    def codegen(context, builder, sig, args):
        return _folded(builder, args[0], row.width, lambda x, y: builder.fadd(x, y, flags=FLAGS), None)

    return types.float64(row), codegen


def _extreme(relation):
    def codegen(context, builder, sig, args):
        def join(x, y):
            return builder.select(builder.fcmp_ordered(relation, x, y), x, y)

        return _folded(builder, args[0], sig.args[0].width, join, 0)

    return codegen


@intrinsic
def smallest(typingctx, row):
    """Least number over the states."""
    return types.float64(row), _extreme("<")


@intrinsic
def largest(typingctx, row):
    """Largest number over the states."""
    return types.float64(row), _extreme(">")


@intrinsic
def product(typingctx, x, number, row):
    """Sum over j of row[j] * x[number + j]: rows of a matrix, each times an entry of the row."""
    n = row.width

    def codegen(context, builder, sig, args):
        places = _places(context, builder, sig, args, n, n)
        sums = []  # several, because one would wait for itself
        for j, place in enumerate(places):
            times = builder.fmul(_loaded(builder, place), _picked(builder, args[2], [j] * n), flags=FLAGS)
            if j < _n_sums(n):
                sums.append(times)
            else:
                sums[j % _n_sums(n)] = builder.fadd(sums[j % _n_sums(n)], times, flags=FLAGS)
        while len(sums) > 1:
            last = sums.pop()
            sums[len(sums) // 2] = builder.fadd(sums[len(sums) // 2], last, flags=FLAGS)
        return sums[0]

    return row(x, types.intp, row), codegen


def _n_sums(n):
    """In how many sums `product` adds for so many states: more would leave the registers."""
    return min(n, 4) if n <= 8 else 2 if n <= 16 else 1


@intrinsic
def add_outer(typingctx, x, number, column, row):
    """x[number + j] += column[j] * row for all states j."""
    n = row.width

    def codegen(context, builder, sig, args):
        for j, place in enumerate(_places(context, builder, sig, args, n, n)):
            times = builder.fmul(args[3], _picked(builder, args[2], [j] * n), flags=FLAGS)
            _stored(builder, builder.fadd(_loaded(builder, place), times, flags=FLAGS), place)

    return (types.void(x, types.intp, column, row), codegen) if column == row else None
