# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Sine and cosine of one thread.

A GPU has no C library to fall back on for large angles: beyond ``LARGEST_ANGLE`` both are NaN,
which the status word of the kernel reports.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
import math
import re

from rbd_ros.compiler.native.instructions import Lanes, LARGEST_ANGLE, near_angle
from rbd_ros.compiler.scalar import FLOAT32, FLOAT64, ScalarType

_TWO_OVER_PI = 0.6366197723675814
#: pi/2 in three floats; a fused product and sum takes each away without rounding in between.
_HALF_PI = (1.5707963705062866, -4.371138828673793e-08, -1.7151245100058819e-15)
#: Adding and subtracting 1.5 * 2**23 rounds to the nearest integer, which stands in the low bits.
_ROUND = 12582912.0
#: sin x = x + x z S(z), cos x = 1 - z/2 + z z C(z), z = x x, |x| <= pi/4: minimax coefficients
#: of error 2**-28 and 2**-33, found by the Remez exchange.
_SINE = (-0.16666655242443085, 0.008332173340022564, -0.00019516656175255775)
_COSINE = (0.04166664555668831, -0.001388736185617745, 2.4437729734927416e-05)
_NAME = re.compile(r'%([a-z]\w*(?:\.\w+)*)')


def sine_cosine(scalar: ScalarType, x: str, tag: str) -> tuple[list[str], dict[str, str]]:
    """
    Return lines that find sine and cosine of an angle, and the names of both.

    :param x: name of the angle, or a constant.
    :param tag: begins every name in the lines.
    """
    def named(match: re.Match[str]) -> str:
        return x if match[1] == 'angle' else f'%{tag}.{match[1]}'
    lines = [_NAME.sub(named, line) for line in _lines(scalar)]
    return lines, {'sin': f'%{tag}.s', 'cos': f'%{tag}.c'}


@cache
def _lines(scalar: ScalarType) -> tuple[str, ...]:
    """Return the lines from %angle to %s and %c."""
    lanes = Lanes(1, scalar=scalar)
    guard = [f'%size = call {lanes.real} @llvm.fabs.{lanes.suffix}({lanes.real} %angle)',
             f'%near = fcmp ole {lanes.real} %size, {lanes.constant(LARGEST_ANGLE)}',
             lanes.choose('%x', '%near', '%angle', lanes.constant(math.nan))]
    return (*guard, *(near_angle(lanes) if scalar is FLOAT64 else _near_float()))


def _fma(name: str, a: str, b: str, c: str) -> str:
    return f'{name} = call float @llvm.fma.f32(float {a}, float {b}, float {c})'


def _horner(name: str, coefficients: Sequence[float]) -> list[str]:
    """Return the lines of a polynomial of %z, whose value is the name with a 0."""
    constant, value, lines = Lanes(1, scalar=FLOAT32).constant, '', []
    for k, coefficient in reversed(list(enumerate(coefficients))):
        if value:
            lines.append(_fma(f'{name}{k}', value, '%z', constant(coefficient)))
        value = f'{name}{k}' if value else constant(coefficient)
    return lines


def _near_float() -> list[str]:
    """Return the lines that find sine %s and cosine %c of floats %x up to LARGEST_ANGLE."""
    lanes = Lanes(1, scalar=FLOAT32)
    constant, choose = lanes.constant, lanes.choose
    lines = [
        f'%y = fmul float %x, {constant(_TWO_OVER_PI)}', f'%t = fadd float %y, {constant(_ROUND)}',
        f'%n = fsub float %t, {constant(_ROUND)}', '%m = fneg float %n',
        _fma('%r0', '%m', constant(_HALF_PI[0]), '%x'),
        _fma('%r1', '%m', constant(_HALF_PI[1]), '%r0'),
        _fma('%r', '%m', constant(_HALF_PI[2]), '%r1'), '%z = fmul float %r, %r',
        *_horner('%sp', _SINE), *_horner('%cp', _COSINE),
        '%rz = fmul float %r, %z', _fma('%s0', '%rz', '%sp0', '%r'),
        _fma('%ch', '%cp0', '%z', constant(-0.5)), _fma('%c0', '%ch', '%z', constant(1.0)),
        '%q = bitcast float %t to i32', '%odd = and i32 %q, 1', '%swap = icmp ne i32 %odd, 0',
        choose('%s1', '%swap', '%c0', '%s0'), choose('%c1', '%swap', '%s0', '%c0'),
        '%q1 = add i32 %q, 1']
    for name, quadrant in (('s', '%q'), ('c', '%q1')):
        lines += [f'%{name}two = and i32 {quadrant}, 2', f'%{name}sign = shl i32 %{name}two, 30',
                  f'%{name}bits = bitcast float %{name}1 to i32',
                  f'%{name}turned = xor i32 %{name}bits, %{name}sign',
                  f'%{name} = bitcast i32 %{name}turned to float']
    return lines
