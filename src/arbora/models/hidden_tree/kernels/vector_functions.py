"""Logarithms and powers of rows of vectors (vectors.py), by polynomials."""

from numba.extending import intrinsic

from .vectors import _BITS, _VECTOR, FLAGS, VECTOR, _numbers, _parts, _whole

_LN2 = (6.93147180369123816490e-01, 1.90821492927058770002e-10)  # high and low part
# Of (log(1 + f) - log(1 - f)) / f - 2 with f = s^2, from fdlibm: odd and even coefficients apart.
_SERIES = (
    0.6666666666666735130,
    0.3999999999940941908,
    0.2857142874366239149,
    0.2222219843214978396,
    0.1818357216161805012,
    0.1531383769920937332,
    0.1479819860511658591,
)
_ONE, _ROOT, _MANTISSA = 0x3FF0000000000000, 0x3FE6A09E667F3BCD, 0x000FFFFFFFFFFFFF  # bits of 1 and of sqrt(1/2)


@intrinsic
def log(typingctx, vector):
    """Natural logarithm by the polynomial of fdlibm, to within a unit in the last place, of positive normal numbers.

    Of inf and nan it is nan.  Of other numbers it is some number, which `where_less` is there to replace.
    """

    def codegen(context, builder, sig, args):
        b, (x,) = builder, args
        add, subtract, times = (lambda p, q, f=f: f(p, q, flags=FLAGS) for f in (b.fadd, b.fsub, b.fmul))
        # x = 2^k (1 + f) with 1 + f between sqrt(1/2) and sqrt(2), by integers: the exponent counts from sqrt(1/2)
        bits = b.add(b.bitcast(x, _BITS), _numbers(_ONE - _ROOT))
        mantissa = b.add(b.and_(bits, _numbers(_MANTISSA)), _numbers(_ROOT))
        f = subtract(b.bitcast(mantissa, _VECTOR), _numbers(1.0))
        # The integer as the last bits of 2^52, which is how it becomes a double without an instruction of its own.
        power = b.or_(b.lshr(bits, _numbers(52)), _numbers(0x4330000000000000))
        k = subtract(b.bitcast(power, _VECTOR), _numbers(2.0**52 + 1023.0))
        s = b.fdiv(f, add(f, _numbers(2.0)), flags=FLAGS)
        z = times(s, s)
        w = times(z, z)

        def series(coefficients):
            value = _numbers(coefficients[-1])
            for c in coefficients[-2::-1]:
                value = add(_numbers(c), times(w, value))
            return value

        rest = add(times(w, series(_SERIES[1::2])), times(z, series(_SERIES[::2])))
        half = times(_numbers(0.5), times(f, f))
        value = add(times(s, add(half, rest)), times(k, _numbers(_LN2[1])))
        value = add(add(subtract(value, half), f), times(k, _numbers(_LN2[0])))
        return add(value, subtract(x, x))  # nan of inf and nan

    return VECTOR(VECTOR), codegen


_SHIFT = 1.5 * 2.0**52 + 1023.0  # what is added to it is rounded, and its last bits are an exponent
LEAST_POWER = -1023.0  # whose exponent is that of 0
# 2^x for |x| <= 1/2, with the least relative error: 2^-57.
_POWERS = (
    1.0,
    0.6931471805599453,
    0.24022650695910158,
    0.055504108664821625,
    0.009618129107587256,
    0.001333355814640647,
    0.00015403530463724353,
    1.5252733841556773e-05,
    1.3215432535912375e-06,
    1.0178057087733941e-07,
    7.074194297288521e-09,
    4.4558179083360645e-10,
)


@intrinsic
def power_of_two(typingctx, row):
    """2^x of numbers up to 1023, to within a unit in the last place or two; 0 below -1022.5."""

    def codegen(context, builder, sig, args):
        b = builder

        def power(x):
            add, subtract, times = (lambda p, q, f=f: f(p, q, flags=FLAGS) for f in (b.fadd, b.fsub, b.fmul))
            least = _numbers(LEAST_POWER)
            x = b.select(b.fcmp_ordered(">", x, least), x, least)
            shifted = b.fadd(x, _numbers(_SHIFT))
            factor = b.bitcast(b.shl(b.bitcast(shifted, _BITS), _numbers(52)), _VECTOR)
            rest = subtract(x, b.fsub(shifted, _numbers(_SHIFT)))
            value = _numbers(_POWERS[-1])
            for c in _POWERS[-2::-1]:
                value = add(_numbers(c), times(rest, value))
            return times(value, factor)

        return _whole(builder, [power(x) for x in _parts(builder, row, args[0])])

    return row(row), codegen
