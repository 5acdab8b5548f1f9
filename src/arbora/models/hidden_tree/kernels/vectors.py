"""Rows of vectors as numba types: vectors of four doubles, one for each state, that stay in registers.

Loops over lanes in plain arrays leave the registers at every node, whatever their order.  A `Row` is a value, as a
number is: `a * b + c` of rows compiles to as many vector instructions as the row has states.  The number of states is
part of its type, so a kernel compiles once for each; it is given as the length of a tuple, `like`.

Operands of arithmetic have as many vectors as each other, or one of them is a single vector, which meets every state.
As in all kernels, a*b+c may be contracted and nothing else.
"""

import operator

from llvmlite import ir
from numba import types
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import intrinsic, lower_builtin, models, register_model

WIDTH = 4  # doubles of a vector
ONE = (0,)  # `like` of a single vector
FLAGS = ("contract",)

_VECTOR = ir.VectorType(ir.DoubleType(), WIDTH)
_BITS = ir.VectorType(ir.IntType(64), WIDTH)


class Row(types.Type):
    """`n_vectors` vectors of four doubles: one for each state, a double for each lane of a block.

    With another width it is what state_vectors.py makes of it.
    """

    def __init__(self, n_vectors, width=WIDTH):
        self.n_vectors, self.width = n_vectors, width
        super().__init__(name=f"Row({n_vectors} x {width})")


VECTOR = Row(1)


@register_model(Row)
class RowModel(models.PrimitiveModel):
    """A row is an array of LLVM vectors, a row of one is the vector itself."""

    def __init__(self, dmm, fe_type):
        n, vector = fe_type.n_vectors, ir.VectorType(ir.DoubleType(), fe_type.width)
        super().__init__(dmm, fe_type, vector if n == 1 else ir.ArrayType(vector, n))


def _parts(builder, row_type, value):
    """The vectors of a row."""
    if row_type.n_vectors == 1:
        return [value]
    return [builder.extract_value(value, i) for i in range(row_type.n_vectors)]


def _whole(builder, vectors):
    """A row of vectors."""
    if len(vectors) == 1:
        return vectors[0]
    value = ir.Constant(ir.ArrayType(_VECTOR, len(vectors)), ir.Undefined)
    for i, vector in enumerate(vectors):
        value = builder.insert_value(value, vector, i)
    return value


def _spread(builder, number, width=WIDTH):
    """A vector of one number, as often as it is wide."""
    nothing = ir.Constant(ir.VectorType(ir.DoubleType(), width), ir.Undefined)
    vector = builder.insert_element(nothing, number, ir.IntType(32)(0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), width), [0] * width)
    return builder.shuffle_vector(vector, nothing, zeros)


def _numbers(value):
    """A vector of doubles, or of 64-bit integers if the value is an integer."""
    return ir.Constant(_BITS if isinstance(value, int) else _VECTOR, [value] * WIDTH)


# ---- arithmetic -----------------------------------------------------------------------------------------------------


def _arithmetic(operation, instruction):
    """Let two rows meet in an operation, vector by vector."""

    @infer_global(operation)
    class Typing(AbstractTemplate):
        def generic(self, args, kws):
            if kws or len(args) != 2 or not all(isinstance(x, Row) for x in args):
                return None
            sizes = {x.n_vectors for x in args}
            if len(sizes - {1}) > 1 or args[0].width != args[1].width:
                return None
            return signature(max(args, key=lambda x: x.n_vectors), *args)

    @lower_builtin(operation, Row, Row)
    def lower(context, builder, sig, args):
        left, right = (_parts(builder, row, x) for row, x in zip(sig.args, args, strict=True))
        n = max(len(left), len(right))
        left, right = (x * n if len(x) == 1 else x for x in (left, right))
        emit = getattr(builder, instruction)
        return _whole(builder, [emit(x, y, flags=FLAGS) for x, y in zip(left, right, strict=True)])


for _operation, _instruction in (
    (operator.add, "fadd"),
    (operator.sub, "fsub"),
    (operator.mul, "fmul"),
    (operator.truediv, "fdiv"),
):
    _arithmetic(_operation, _instruction)


@intrinsic
def fill(typingctx, number, like):
    """A row of one number."""
    n = len(like)

    def codegen(context, builder, sig, args):
        return _whole(builder, [_spread(builder, args[0])] * n)

    return Row(n)(types.float64, like), codegen


@intrinsic
def total(typingctx, row):
    """Sum over the states."""

    def codegen(context, builder, sig, args):
        first, *others = _parts(builder, row, args[0])
        for x in others:
            first = builder.fadd(first, x, flags=FLAGS)
        return first

    return VECTOR(row), codegen


@intrinsic
def dot(typingctx, left, right):
    """Sum over the states of left * right."""

    def codegen(context, builder, sig, args):
        lefts, rights = (_parts(builder, left, x) for x in args)
        products = [builder.fmul(x, y, flags=FLAGS) for x, y in zip(lefts, rights, strict=True)]
        first = products[0]
        for x in products[1:]:
            first = builder.fadd(first, x, flags=FLAGS)
        return first

    return (VECTOR(left, right), codegen) if left == right else None


def _bounded(builder, relation, row, value, bound):
    """The numbers that stand in the relation to the bound, the bound in place of others, and of nan."""
    limit = _spread(builder, bound, row.width)
    vectors = _parts(builder, row, value)
    return _whole(builder, [builder.select(builder.fcmp_ordered(relation, x, limit), x, limit) for x in vectors])


@intrinsic
def at_most(typingctx, row, bound):
    """The smaller of each number and the bound."""

    def codegen(context, builder, sig, args):
        return _bounded(builder, "<", row, *args)

    return row(row, types.float64), codegen


@intrinsic
def at_least(typingctx, row, bound):
    """The larger of each number and the bound."""

    def codegen(context, builder, sig, args):
        return _bounded(builder, ">", row, *args)

    return row(row, types.float64), codegen


def _best(builder, relation, row, value):
    """The number of each lane that stands in the relation to those of all other states."""
    first, *others = _parts(builder, row, value)
    for x in others:
        first = builder.select(builder.fcmp_ordered(relation, x, first), x, first)
    return first


@intrinsic
def smallest(typingctx, row):
    """Least number over the states."""

    def codegen(context, builder, sig, args):
        return _best(builder, "<", row, args[0])

    return VECTOR(row), codegen


@intrinsic
def largest(typingctx, row):
    """Largest number over the states."""

    def codegen(context, builder, sig, args):
        return _best(builder, ">", row, args[0])

    return VECTOR(row), codegen


@intrinsic
def some_below(typingctx, left, left_bound, right, right_bound):
    """Whether in some lane both vectors are below their bounds."""

    def codegen(context, builder, sig, args):
        x, x_bound, y, y_bound = args
        low, high = (builder.fcmp_ordered("<", v, _spread(builder, b)) for v, b in ((x, x_bound), (y, y_bound)))
        bits = builder.bitcast(builder.and_(low, high), ir.IntType(WIDTH))
        return builder.icmp_unsigned("!=", bits, bits.type(0))

    return types.boolean(VECTOR, types.float64, VECTOR, types.float64), codegen


@intrinsic
def where_less(typingctx, row, bound, number, other):
    """The number where the row is below the bound, else the other row."""

    def codegen(context, builder, sig, args):
        value, limit, low, high = args
        limit, low = (_spread(builder, x, row.width) for x in (limit, low))
        pairs = zip(_parts(builder, row, value), _parts(builder, row, high), strict=True)
        return _whole(builder, [builder.select(builder.fcmp_ordered("<", x, limit), low, y) for x, y in pairs])

    return (row(row, types.float64, types.float64, other), codegen) if row == other else None


# ---- memory ---------------------------------------------------------------------------------------------------------
# Any contiguous array of doubles is taken as its numbers one after another; nothing is aligned to more than 8 bytes.


def _address(context, builder, array_type, array, offset):
    data = context.make_array(array_type)(context, builder, array).data
    return builder.gep(data, [offset], inbounds=True)


def _addresses(builder, start, step, n):
    """Where the vectors of a row are: `step` doubles apart, which is a number or an integer of LLVM."""
    integer = ir.IntType(64)
    steps = [builder.mul(step, integer(i)) if isinstance(step, ir.Value) else integer(i * step) for i in range(n)]
    places = [builder.gep(start, [x], inbounds=True) for x in steps]
    return [builder.bitcast(x, _VECTOR.as_pointer()) for x in places]


def _loaded(builder, place):
    vector = builder.load(place)
    vector.align = 8
    return vector


def _stored(builder, vector, place):
    builder.store(vector, place).align = 8


def _places(context, builder, sig, args, n):
    """Where the vectors of row args[1] of array args[0] are."""
    offset = builder.mul(args[1], args[1].type(n * WIDTH))
    return _addresses(builder, _address(context, builder, sig.args[0], args[0], offset), WIDTH, n)


@intrinsic
def load(typingctx, x, number, like):
    """Row `number` of x[row, vector, 4], for as many vectors as `like` is long."""
    n = len(like)

    def codegen(context, builder, sig, args):
        return _whole(builder, [_loaded(builder, place) for place in _places(context, builder, sig, args, n)])

    return Row(n)(x, types.intp, like), codegen


@intrinsic
def store(typingctx, x, number, row):
    """x[number] = row."""
    n = row.n_vectors

    def codegen(context, builder, sig, args):
        places = _places(context, builder, sig, args, n)
        for place, vector in zip(places, _parts(builder, row, args[2]), strict=True):
            _stored(builder, vector, place)

    return types.void(x, types.intp, row), codegen


@intrinsic
def add_to(typingctx, x, number, row):
    """x[number] += row."""
    n = row.n_vectors

    def codegen(context, builder, sig, args):
        places = _places(context, builder, sig, args, n)
        for place, vector in zip(places, _parts(builder, row, args[2]), strict=True):
            _stored(builder, builder.fadd(_loaded(builder, place), vector, flags=FLAGS), place)

    return types.void(x, types.intp, row), codegen


@intrinsic
def load_apart(typingctx, x, start, step, like):
    """The row whose vectors begin at the doubles start, start + step, ... of x."""
    n = len(like)

    def codegen(context, builder, sig, args):
        first = _address(context, builder, sig.args[0], args[0], args[1])
        return _whole(builder, [_loaded(builder, place) for place in _addresses(builder, first, args[2], n)])

    return Row(n)(x, types.intp, types.intp, like), codegen


@intrinsic
def store_apart(typingctx, x, start, step, row):
    """Write a row whose vectors begin at the doubles start, start + step, ... of x."""
    n = row.n_vectors

    def codegen(context, builder, sig, args):
        first = _address(context, builder, sig.args[0], args[0], args[1])
        places = _addresses(builder, first, args[2], n)
        for place, vector in zip(places, _parts(builder, row, args[3]), strict=True):
            _stored(builder, vector, place)

    return types.void(x, types.intp, types.intp, row), codegen
