# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Nodes of a graph as LLVM assembly text, for one lane (``double``) or several (``<W x double>``).

The text is written directly: building the same module through llvmlite's object model takes ten
times longer, and a graph of fifty joints has twenty thousand nodes. Of the fast-math flags only
``contract`` (fusing a product into a sum) is ever set: the others let LLVM assume that there is no
NaN, and a limiter would then turn a broken sensor into full torque.
"""

from __future__ import annotations

from collections.abc import Sequence
import math
import struct

from rbd_ros.compiler.scalar import FLOAT32, FLOAT64, ScalarType

#: Largest angle for the inlined sine and cosine: products with the first two parts of pi/2 below
#: are exact for less than 2**20 quarter turns. Larger ones go to the C library.
LARGEST_ANGLE = 1.0e6
_TWO_OVER_PI = 0.6366197723675814
#: pi/2 in three parts; the first two have 33 bits each (Cody and Waite).
_HALF_PI = (1.5707963267341256, 6.077100506303966e-11, 2.0222662487959506e-21)
#: Adding and subtracting 1.5 * 2**52 rounds to the nearest integer, which stands in the low bits.
_ROUND = 6755399441055744.0
#: sin x = x + x z S(z), cos x = 1 - z/2 + z z C(z), z = x x, |x| <= pi/4: minimax coefficients
#: of relative error 2**-57 and 2**-63, found by the Remez exchange.
_SINE = (-0.1666666666666663, 0.008333333333322108, -0.00019841269829580166,
         2.7557313618017415e-06, -2.5050747218200633e-08, 1.5896197635747796e-10)
_COSINE = (0.041666666666666595, -0.001388888888887304, 2.4801587288841373e-05,
           -2.7557314176233445e-07, 2.0875700415237964e-09, -1.1358513909772738e-11)

_ARITHMETIC = {'add': 'fadd', 'sub': 'fsub', 'mul': 'fmul'}
_INTRINSIC = {'sqrt': 'sqrt', 'abs': 'fabs', 'floor': 'floor'}
_LIBRARY = {'tan': 1, 'asin': 1, 'acos': 1, 'exp': 1, 'log': 1, 'tanh': 1, 'atan2': 2}
#: Functions of the C library that the code may call, with the number of their arguments.
LIBRARY = {'sin': 1, 'cos': 1, **_LIBRARY}


def double(value: float) -> str:
    """Return a constant in LLVM's exact notation."""
    return f'0x{struct.unpack("<Q", struct.pack("<d", value))[0]:016X}'


class Lanes:
    """
    Text of values that are computed on a number of lanes at once.

    :param count: number of lanes; 1 gives plain scalars.
    :param fused: whether a product may be fused into a sum, which rounds once instead of twice;
        without it arithmetic gives the reference's results to the last bit.
    :param scalar: type of the number on a lane.
    """

    def __init__(self, count: int, fused: bool = True, scalar: ScalarType = FLOAT64) -> None:
        self.count, self.scalar = count, scalar
        self._flags = 'contract ' if fused else ''
        self.real = self.type(scalar.c)
        self.mask = self.type('i1')
        self.bits = self.type('i64')
        kind = f'f{8 * scalar.size}'
        self.suffix = kind if count == 1 else f'v{count}{kind}'
        self.align = scalar.size * count

    def type(self, scalar: str) -> str:
        """Return the type that holds one scalar type on all lanes."""
        return scalar if self.count == 1 else f'<{self.count} x {scalar}>'

    def splat(self, scalar: str, text: str) -> str:
        """Return a constant of the given scalar type, the same on all lanes."""
        if self.count == 1:
            return text
        return '<' + ', '.join([f'{scalar} {text}'] * self.count) + '>'

    def constant(self, value: float) -> str:
        """Return a floating-point constant; LLVM writes those of every type as doubles."""
        return self.splat(self.scalar.c, double(self.scalar.rounded(value)))

    def doubles(self) -> Lanes:
        """Return as many lanes of doubles, on which angles and library functions are found."""
        return Lanes(self.count)

    def integer(self, value: int) -> str:
        """Return an integer constant of 64 bits."""
        return self.splat('i64', str(value))

    def node(self, target: str, op: str, args: Sequence[str], alone: bool = False) -> list[str]:
        """
        Return the lines that compute one node, sine and cosine excepted.

        :param target: name of the result, for example ``%n7``.
        :param op: operation of the node.
        :param args: names or constants of the operands.
        :param alone: not to be fused into the sum that uses it.
        """
        real = self.real
        if op in _ARITHMETIC:
            flags = '' if alone else self._flags
            return [f'{target} = {_ARITHMETIC[op]} {flags}{real} {args[0]}, {args[1]}']
        if op == 'div':
            return [f'{target} = fdiv {real} {args[0]}, {args[1]}']
        if op == 'neg':
            return [f'{target} = fneg {real} {args[0]}']
        if op in _INTRINSIC:
            name = f'llvm.{_INTRINSIC[op]}.{self.suffix}'
            return [f'{target} = call {real} @{name}({real} {args[0]})']
        if op in _LIBRARY:
            listed = ', '.join(f'{real} {a}' for a in args)
            return [f'{target} = call {real} @{self.library(op)}({listed})']
        return _SELECTIONS[op](self, target, *args)

    def library(self, op: str) -> str:
        """Return the name of the function that calls the C library on every lane."""
        if self.count == 1 and self.scalar is FLOAT64:
            return op
        return f'lanes{self.count}{self.scalar.suffix}_{op}'

    def choose(self, target: str, condition: str, yes: str, no: str) -> str:
        """Return the line that selects by a mask, lane by lane."""
        real = self.real
        return f'{target} = select {self.mask} {condition}, {real} {yes}, {real} {no}'

    def _extreme(self, comparison: str, target: str, a: str, b: str) -> list[str]:
        """Return a's or b's smaller or larger one; an unordered pair gives the NaN of it."""
        return [f'{target}.c = fcmp {comparison} {self.real} {a}, {b}',
                self.choose(f'{target}.o', f'{target}.c', a, b),
                f'{target}.u = fcmp uno {self.real} {a}, {a}',
                self.choose(target, f'{target}.u', a, f'{target}.o')]

    def _compare(self, comparison: str, target: str, a: str, b: str) -> list[str]:
        """Return 1.0, 0.0 or NaN."""
        return [f'{target}.c = fcmp {comparison} {self.real} {a}, {b}',
                *self._known(target, f'{target}.c', a, b)]

    def _known(self, target: str, truth: str, a: str, b: str) -> list[str]:
        """Return a truth as number, NaN where an operand is."""
        return [self.choose(f'{target}.o', truth, self.constant(1.0), self.constant(0.0)),
                f'{target}.n = fcmp uno {self.real} {a}, {b}',
                self.choose(target, f'{target}.n', self.constant(math.nan), f'{target}.o')]

    def _logic(self, operation: str, target: str, a: str, b: str) -> list[str]:
        """Return whether both are, or one is, not zero."""
        zero = self.constant(0.0)
        return [f'{target}.a = fcmp une {self.real} {a}, {zero}',
                f'{target}.b = fcmp une {self.real} {b}, {zero}',
                f'{target}.c = {operation} {self.mask} {target}.a, {target}.b',
                *self._known(target, f'{target}.c', a, b)]

    def _finite(self, target: str, a: str) -> list[str]:
        return [f'{target}.s = call {self.real} @llvm.fabs.{self.suffix}({self.real} {a})',
                f'{target}.c = fcmp olt {self.real} {target}.s, {self.constant(math.inf)}',
                self.choose(target, f'{target}.c', self.constant(1.0), self.constant(0.0))]

    def _select(self, target: str, c: str, a: str, b: str) -> list[str]:
        return [f'{target}.c = fcmp une {self.real} {c}, {self.constant(0.0)}',
                self.choose(f'{target}.o', f'{target}.c', a, b),
                f'{target}.u = fcmp uno {self.real} {c}, {c}',
                self.choose(target, f'{target}.u', c, f'{target}.o')]


_SELECTIONS = {
    'min': lambda lanes, *names: lanes._extreme('olt', *names),
    'max': lambda lanes, *names: lanes._extreme('ogt', *names),
    'lt': lambda lanes, *names: lanes._compare('olt', *names),
    'le': lambda lanes, *names: lanes._compare('ole', *names),
    'eq': lambda lanes, *names: lanes._compare('oeq', *names),
    'and': lambda lanes, *names: lanes._logic('and', *names),
    'or': lambda lanes, *names: lanes._logic('or', *names),
    'not': lambda lanes, target, a: [
        f'{target}.c = fcmp oeq {lanes.real} {a}, {lanes.constant(0.0)}',
        *lanes._known(target, f'{target}.c', a, a)],
    'finite': lambda lanes, *names: lanes._finite(*names),
    'select': lambda lanes, *names: lanes._select(*names),
}


def _polynomial(lanes: Lanes, name: str, z: str, coefficients: Sequence[float]) -> list[str]:
    """Evaluate a polynomial of z by Horner's rule into the given name."""
    lines, value = [], lanes.constant(coefficients[-1])
    for k, coefficient in reversed(list(enumerate(coefficients[:-1]))):
        lines.append(f'{name}.p{k} = fmul contract {lanes.real} {value}, {z}')
        value = name if k == 0 else f'{name}.s{k}'
        lines.append(f'{value} = fadd contract {lanes.real} {name}.p{k}, '
                     f'{lanes.constant(coefficient)}')
    return lines


def _reduce(lanes: Lanes) -> list[str]:
    """Reduce %x to %r in [-pi/4, pi/4] and the number of quarter turns in the bits of %t."""
    real = lanes.real
    lines = [f'%y = fmul contract {real} %x, {lanes.constant(_TWO_OVER_PI)}',
             f'%t = fadd contract {real} %y, {lanes.constant(_ROUND)}',
             f'%n = fsub {real} %t, {lanes.constant(_ROUND)}']
    lines += [f'%w{k} = fmul contract {real} %n, {lanes.constant(part)}'
              for k, part in enumerate(_HALF_PI)]
    # The first two differences are exact but for the rounding of the second, which is found and
    # taken along with the third part.
    return [*lines,
            f'%r0 = fsub contract {real} %x, %w0', f'%r1 = fsub contract {real} %r0, %w1',
            f'%lost = fsub {real} %r0, %r1', f'%rest = fsub contract {real} %lost, %w1',
            f'%low = fsub contract {real} %rest, %w2', f'%r = fadd {real} %r1, %low']


def _turn(lanes: Lanes) -> list[str]:
    """Move %s0 and %c0, taken at the reduced angle, into the quadrant of the whole one."""
    bits, real = lanes.bits, lanes.real
    lines = [f'%q = bitcast {real} %t to {bits}',
             f'%odd = and {bits} %q, {lanes.integer(1)}',
             f'%swap = icmp ne {bits} %odd, {lanes.integer(0)}',
             lanes.choose('%s1', '%swap', '%c0', '%s0'),
             lanes.choose('%c1', '%swap', '%s0', '%c0'),
             f'%q1 = add {bits} %q, {lanes.integer(1)}']
    for name, quadrant in (('s', '%q'), ('c', '%q1')):
        lines += [f'%{name}two = and {bits} {quadrant}, {lanes.integer(2)}',
                  f'%{name}sign = shl {bits} %{name}two, {lanes.integer(62)}',
                  f'%{name}bits = bitcast {real} %{name}1 to {bits}',
                  f'%{name}turned = xor {bits} %{name}bits, %{name}sign',
                  f'%{name} = bitcast {bits} %{name}turned to {real}']
    return lines


def _per_lane(lanes: Lanes, op: str, args: Sequence[str], result: str) -> list[str]:
    """Call the C library, in double precision, for every lane and gather the results."""
    if lanes.scalar is FLOAT32:
        wide = [f'{result}.w{i} = fpext {lanes.real} {a} to {lanes.doubles().real}'
                for i, a in enumerate(args)]
        names = [f'{result}.w{i}' for i in range(len(args))]
        return [*wide, *_per_lane(lanes.doubles(), op, names, f'{result}.d'),
                f'{result} = fptrunc {lanes.doubles().real} {result}.d to {lanes.real}']
    if lanes.count == 1:
        return [f'{result} = call double @{op}(' + ', '.join(f'double {a}' for a in args) + ')']
    lines, value = [], 'undef'
    for k in range(lanes.count):
        tag = f'{result}.{k}'
        lines += [f'{tag}.{i} = extractelement {lanes.real} {a}, i32 {k}'
                  for i, a in enumerate(args)]
        listed = ', '.join(f'double {tag}.{i}' for i in range(len(args)))
        name = result if k == lanes.count - 1 else f'{tag}.v'
        lines += [f'{tag}.y = call double @{op}({listed})',
                  f'{name} = insertelement {lanes.real} {value}, double {tag}.y, i32 {k}']
        value = name
    return lines


def _return_pair(lanes: Lanes, sine: str, cosine: str) -> list[str]:
    pair = f'{{ {lanes.real}, {lanes.real} }}'
    return [f'{sine}.half = insertvalue {pair} undef, {lanes.real} {sine}, 0',
            f'{sine}.pair = insertvalue {pair} {sine}.half, {lanes.real} {cosine}, 1',
            f'ret {pair} {sine}.pair']


def near_angle(lanes: Lanes) -> list[str]:
    """Return the lines that find sine %s and cosine %c of doubles %x up to LARGEST_ANGLE."""
    real = lanes.real
    return [
        *_reduce(lanes),
        f'%z = fmul {real} %r, %r',
        *_polynomial(lanes, '%sp', '%z', _SINE), *_polynomial(lanes, '%cp', '%z', _COSINE),
        f'%rz = fmul {real} %r, %z', f'%sq = fmul contract {real} %rz, %sp',
        f'%s0 = fadd contract {real} %sq, %r',
        f'%cz = fmul contract {real} %cp, %z',
        f'%ch = fsub contract {real} %cz, {lanes.constant(0.5)}',
        f'%cq = fmul contract {real} %ch, %z',
        f'%c0 = fadd contract {real} %cq, {lanes.constant(1.0)}', *_turn(lanes)]


def sine_cosine(lanes: Lanes) -> list[str]:
    """
    Return the function ``sine_cosine`` that gives both of an angle with one range reduction.

    Its error is below 1.5 units in the last place up to LARGEST_ANGLE; if an angle of any lane
    is beyond, all lanes are taken by the C library. NaN and infinity give NaN; the sine of -0.0
    is 0.0.
    """
    real, pair = lanes.real, f'{{ {lanes.real}, {lanes.real} }}'
    beyond = ['%big = fcmp ogt ' + f'{real} %a, {lanes.constant(LARGEST_ANGLE)}']
    if lanes.count > 1:
        word = f'i{lanes.count}'
        beyond += [f'%word = bitcast {lanes.mask} %big to {word}',
                   f'%any = icmp ne {word} %word, 0']
    body = [
        f'%a = call {real} @llvm.fabs.{lanes.suffix}({real} %x)', *beyond,
        f'br i1 {"%big" if lanes.count == 1 else "%any"}, label %far, label %near',
        'near:', *near_angle(lanes), *_return_pair(lanes, '%s', '%c'),
        'far:', *_per_lane(lanes, 'sin', ['%x'], '%fs'), *_per_lane(lanes, 'cos', ['%x'], '%fc'),
        *_return_pair(lanes, '%fs', '%fc')]
    head = f'define internal {pair} @{sine_cosine_name(lanes)}({real} %x) nounwind noinline {{'
    return [head, *body, '}']


def sine_cosine_name(lanes: Lanes) -> str:
    """Return the name of the function of ``sine_cosine``."""
    return f'sine_cosine_{lanes.count}{lanes.scalar.suffix}'


def library_loop(lanes: Lanes, op: str) -> str:
    """Return the function that applies one function of the C library to every lane."""
    names = [f'%x{k}' for k in range(LIBRARY[op])]
    listed = ', '.join(f'{lanes.real} {name}' for name in names)
    head = f'define internal {lanes.real} @{lanes.library(op)}({listed}) nounwind noinline {{'
    return '\n'.join([head, *_per_lane(lanes, op, names, '%y'), f'ret {lanes.real} %y', '}'])


def declarations(lanes: Sequence[Lanes]) -> list[str]:
    """Return what the text of nodes refers to outside of its module."""
    lines = [f'declare double @{op}(' + ', '.join(['double'] * n) + ') nounwind'
             for op, n in LIBRARY.items()]
    for width in lanes:
        lines += [f'declare {width.real} @llvm.{name}.{width.suffix}({width.real})'
                  for name in _INTRINSIC.values()]
    return lines
