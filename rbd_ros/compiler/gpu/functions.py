# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
The functions of the C library, which a GPU does not have, out of sums, products and quotients.

They are found in double precision, also for floats, to two or three units in the last place. NaN
goes through all of them; outside of its domain a function is NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
import math

from rbd_ros.compiler.gpu.angles import sine_cosine
from rbd_ros.compiler.native.instructions import double
from rbd_ros.compiler.scalar import FLOAT64

#: ln 2 in two parts, the first with 21 bits less: its products with small integers are exact.
_LN2 = (0.6931471803691238, 1.9082149292705877e-10)
#: Adding and subtracting 1.5 * 2**52 rounds to the nearest integer, which stands in the low bits.
_ROUND = 6755399441055744.0
#: Beyond these the exponential function is infinite or zero.
_LARGEST, _SMALLEST = 709.782712893384, -745.1332191019412
_TAN_EIGHTH = math.sqrt(2.0) - 1.0
#: Bits of a mantissa, of one, and of the root of one half.
_MANTISSA, _ONE, _ROOT = 0x000fffffffffffff, 0x3ff0000000000000, 0x3fe6a09e667f3bcd
#: Terms of the series, whose arguments are at most 0.35, 0.03 and 0.172: the rest is below 2**-56.
_EXPONENTIAL = [1.0 / math.factorial(k) for k in range(14)]
_LOGARITHM = [2.0 / (2 * k + 1) for k in range(12)]
_ARCTANGENT = [(-1.0) ** k / (2 * k + 1) for k in range(23)]


class Lines:
    """
    Lines of text that compute with doubles; every method returns the name of its value.

    :param tag: begins every name.
    """

    def __init__(self, tag: str) -> None:
        self.lines: list[str] = []
        self.tag = tag

    def line(self, text: str) -> str:
        """Add a line that gives a value."""
        name = f'%{self.tag}.{len(self.lines)}'
        self.lines.append(f'{name} = {text}')
        return name

    def add(self, a: str, b: str) -> str:
        """Return a + b."""
        return self.line(f'fadd double {a}, {b}')

    def sub(self, a: str, b: str) -> str:
        """Return a - b."""
        return self.line(f'fsub double {a}, {b}')

    def mul(self, a: str, b: str) -> str:
        """Return a b."""
        return self.line(f'fmul double {a}, {b}')

    def div(self, a: str, b: str) -> str:
        """Return a / b."""
        return self.line(f'fdiv double {a}, {b}')

    def fma(self, a: str, b: str, c: str) -> str:
        """Return a b + c, rounded once."""
        return self.line(f'call double @llvm.fma.f64(double {a}, double {b}, double {c})')

    def size(self, a: str) -> str:
        """Return |a|."""
        return self.line(f'call double @llvm.fabs.f64(double {a})')

    def root(self, a: str) -> str:
        """Return the square root."""
        return self.line(f'call double @llvm.sqrt.f64(double {a})')

    def test(self, comparison: str, a: str, b: str) -> str:
        """Return the truth of a comparison in LLVM's words, such as 'olt'."""
        return self.line(f'fcmp {comparison} double {a}, {b}')

    def choose(self, truth: str, yes: str, no: str) -> str:
        """Return one of two values."""
        return self.line(f'select i1 {truth}, double {yes}, double {no}')

    def bits(self, a: str) -> str:
        """Return the bits of a number as an integer."""
        return self.line(f'bitcast double {a} to i64')

    def number(self, bits: str) -> str:
        """Return the number that has these bits."""
        return self.line(f'bitcast i64 {bits} to double')

    def power_of_two(self, exponent: str) -> str:
        """Return 2 to the power of an integer, from -1022 to 1023."""
        biased = self.line(f'add i64 {exponent}, 1023')
        return self.number(self.line(f'shl i64 {biased}, 52'))

    def series(self, coefficients: Sequence[float], x: str) -> str:
        """Return a polynomial by Horner's rule."""
        value = double(coefficients[-1])
        for coefficient in reversed(coefficients[:-1]):
            value = self.fma(value, x, double(coefficient))
        return value


def _reduced(k: Lines, x: str) -> tuple[str, str]:
    """Return n and r of x = n ln 2 + r, n an integer and |r| at most half of ln 2."""
    t = k.fma(x, double(1.0 / math.log(2.0)), double(_ROUND))
    n = k.sub(t, double(_ROUND))
    r = k.fma(n, double(-_LN2[0]), x)
    whole = k.line(f'trunc i64 {k.bits(t)} to i32')
    return k.line(f'sext i32 {whole} to i64'), k.fma(n, double(-_LN2[1]), r)


def exponential(k: Lines, x: str) -> str:
    """Return e to the power of x."""
    n, r = _reduced(k, x)
    half = k.line(f'ashr i64 {n}, 1')       # in two steps: results may be smaller than 2**-1022
    rest = k.line(f'sub i64 {n}, {half}')
    value = k.mul(k.mul(k.series(_EXPONENTIAL, r), k.power_of_two(half)), k.power_of_two(rest))
    value = k.choose(k.test('ogt', x, double(_LARGEST)), double(math.inf), value)
    return k.choose(k.test('olt', x, double(_SMALLEST)), double(0.0), value)


def hyperbolic_tangent(k: Lines, x: str) -> str:
    """Return tanh x = 1 - 2 / (e^2x + 1), near zero by e^2x - 1 without a difference."""
    twice = k.add(x, x)
    small = k.mul(twice, k.series(_EXPONENTIAL[1:], twice))
    near = k.div(small, k.add(small, double(2.0)))
    far = k.sub(double(1.0), k.div(double(2.0), k.add(exponential(k, twice), double(1.0))))
    return k.choose(k.test('olt', k.size(x), double(0.17)), near, far)


def logarithm(k: Lines, x: str) -> str:
    """Return the natural logarithm, by log m = 2 artanh((m - 1) / (m + 1))."""
    tiny = k.test('olt', x, double(2.0 ** -1022))
    bits = k.bits(k.choose(tiny, k.mul(x, double(2.0 ** 54)), x))
    # the exponent grows by one where the mantissa is above the root of two
    shifted = k.line(f'add i64 {bits}, {_ONE - _ROOT}')
    e = k.line(f'sub i64 {k.line(f"ashr i64 {shifted}, 52")}, 1023')
    below = k.line(f'and i64 {shifted}, {_MANTISSA}')
    m = k.number(k.line(f'add i64 {below}, {_ROOT}'))
    exponent = k.line(f'sitofp i32 {k.line(f"trunc i64 {e} to i32")} to double')
    exponent = k.choose(tiny, k.sub(exponent, double(54.0)), exponent)
    s = k.div(k.sub(m, double(1.0)), k.add(m, double(1.0)))
    own = k.mul(s, k.series(_LOGARITHM, k.mul(s, s)))
    value = k.fma(exponent, double(_LN2[0]), k.fma(exponent, double(_LN2[1]), own))
    value = k.choose(k.test('oeq', x, double(math.inf)), x, value)
    value = k.choose(k.test('oeq', x, double(0.0)), double(-math.inf), value)
    return k.choose(k.test('uge', x, double(0.0)), k.choose(
        k.test('uno', x, x), x, value), double(math.nan))


def arctangent(k: Lines, y: str, x: str) -> str:
    """Return the angle of (x, y), from -pi to pi."""
    across, up = k.size(x), k.size(y)
    steep = k.test('ogt', up, across)
    low, high = k.choose(steep, across, up), k.choose(steep, up, across)
    ratio = k.div(low, high)
    ratio = k.choose(k.test('oeq', high, double(0.0)), double(0.0), ratio)
    ratio = k.choose(k.test('oeq', low, double(math.inf)), double(1.0), ratio)
    large = k.test('ogt', ratio, double(_TAN_EIGHTH))
    # tan(a - pi/4) = (tan a - 1) / (tan a + 1)
    turned = k.div(k.sub(ratio, double(1.0)), k.add(ratio, double(1.0)))
    t = k.choose(large, turned, ratio)
    angle = k.mul(t, k.series(_ARCTANGENT, k.mul(t, t)))
    angle = k.choose(large, k.add(angle, double(math.pi / 4.0)), angle)
    angle = k.choose(steep, k.sub(double(math.pi / 2.0), angle), angle)
    left = k.line(f'icmp slt i64 {k.bits(x)}, 0')
    angle = k.choose(left, k.sub(double(math.pi), angle), angle)
    angle = k.line(f'call double @llvm.copysign.f64(double {angle}, double {y})')
    unknown = k.test('uno', x, y)
    return k.choose(unknown, k.add(x, y), angle)


def arcsine(k: Lines, x: str) -> str:
    """Return the angle whose sine is x."""
    return arctangent(k, x, _complement(k, x))


def arccosine(k: Lines, x: str) -> str:
    """Return the angle whose cosine is x."""
    return arctangent(k, _complement(k, x), x)


def _complement(k: Lines, x: str) -> str:
    """Return the root of 1 - x x, without a loss of digits near one."""
    return k.root(k.mul(k.sub(double(1.0), x), k.add(double(1.0), x)))


def tangent(k: Lines, x: str) -> str:
    """Return the tangent."""
    lines, names = sine_cosine(FLOAT64, x, f'{k.tag}.angle')
    k.lines += lines
    return k.div(names['sin'], names['cos'])


#: By the names of operations.
FUNCTIONS: dict[str, Callable[..., str]] = {
    'exp': exponential, 'log': logarithm, 'tanh': hyperbolic_tangent, 'atan2': arctangent,
    'asin': arcsine, 'acos': arccosine, 'tan': tangent}
DECLARATIONS = ('declare double @llvm.fma.f64(double, double, double)',
                'declare double @llvm.copysign.f64(double, double)')
