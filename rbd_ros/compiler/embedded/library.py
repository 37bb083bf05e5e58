# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
The functions of the C library that a graph calls, as part of its own code.

Sine and cosine are those of other kernels up to ``LARGEST_ANGLE``, and NaN beyond, as on a GPU.
The others are found in double precision, so that a processor without doubles does not have them.
"""

from __future__ import annotations

from collections.abc import Sequence

from rbd_ros.compiler.gpu.angles import sine_cosine
from rbd_ros.compiler.gpu.functions import DECLARATIONS, FUNCTIONS, Lines
from rbd_ros.compiler.native.instructions import double, Lanes, sine_cosine_name
from rbd_ros.compiler.scalar import FLOAT32

_NAN = double(float('nan'))


class _Unfused(Lines):
    """Lines for processors that round products before they add."""

    def fma(self, a: str, b: str, c: str) -> str:
        """Return a b + c, rounded twice or once: the functions bear both."""
        return self.line(f'fadd contract double {self.line(f"fmul contract double {a}, {b}")}, '
                         f'{c}')


def library(text: str) -> list[str]:
    """
    Return the functions that a text calls and does not have.

    :param text: lines of functions.
    """
    lines: list[str] = []
    for op in ('sin', 'cos'):       # called for angles beyond all others
        if f'call double @{op}(' in text:
            lines += [f'define internal double @{op}(double %x) nounwind {{',
                      f'ret double {_NAN}', '}']
    for op, write in FUNCTIONS.items():
        if f'call double @{op}(' in text:
            names = ['%y', '%x'] if op == 'atan2' else ['%x']
            k = _Unfused('f')
            value = write(k, *names)
            lines += [f'define internal double @{op}({_listed("double", names)}) nounwind {{',
                      *k.lines, f'ret double {value}', '}']
    if f'@{sine_cosine_name(Lanes(1, scalar=FLOAT32))}(' in text:
        lines += _float_angle()
    return lines


def declarations() -> Sequence[str]:
    """Return what the functions of ``library`` need besides what kernels do."""
    return (*[line for line in DECLARATIONS if 'copysign' in line],
            'declare float @llvm.fma.f32(float, float, float)')


def floor_lines(lanes: Lanes) -> list[str]:
    """Return a function ``rbd_floor`` for processors that have no instruction for it."""
    real = lanes.real
    shift = lanes.constant(1.5 * 2.0 ** (52 if lanes.scalar.size == 8 else 23))
    whole = lanes.constant(2.0 ** (51 if lanes.scalar.size == 8 else 22))
    return [
        f'define internal {real} @rbd_floor({real} %x) nounwind {{',
        f'%t = fadd {real} %x, {shift}', f'%near = fsub {real} %t, {shift}',
        f'%less = fsub {real} %near, {lanes.constant(1.0)}',
        f'%over = fcmp ogt {real} %near, %x', lanes.choose('%down', '%over', '%less', '%near'),
        f'%signed = call {real} @llvm.copysign.{lanes.suffix}({real} %down, {real} %x)',
        f'%size = call {real} @llvm.fabs.{lanes.suffix}({real} %x)',
        f'%small = fcmp olt {real} %size, {whole}',
        lanes.choose('%y', '%small', '%signed', '%x'), f'ret {real} %y', '}',
        f'declare {real} @llvm.copysign.{lanes.suffix}({real}, {real})']


def _float_angle() -> list[str]:
    """Return sine and cosine of a float without a double in between."""
    lines, names = sine_cosine(FLOAT32, '%angle', 'a')
    return [f'define internal {{ float, float }} @{sine_cosine_name(Lanes(1, scalar=FLOAT32))}'
            '(float %angle) nounwind noinline {', *lines,
            f'%half = insertvalue {{ float, float }} undef, float {names["sin"]}, 0',
            f'%pair = insertvalue {{ float, float }} %half, float {names["cos"]}, 1',
            'ret { float, float } %pair', '}']


def _listed(kind: str, names: Sequence[str]) -> str:
    return ', '.join(f'{kind} {name}' for name in names)
