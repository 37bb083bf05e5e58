# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Quotients without a branch.

A GPU has no instruction for them. What its compiler makes of a quotient that is rounded correctly
is a call for numbers near the ends of the range; in a kernel that is a straight line, such calls
cost registers and more time than the quotient.
"""

from __future__ import annotations

from rbd_ros.compiler.gpu.dialect import Dialect
from rbd_ros.compiler.scalar import FLOAT64, ScalarType


def quotient(scalar: ScalarType, dialect: Dialect, name: str, a: str, b: str) -> list[str]:
    """
    Return lines that find a / b, in double to a unit in the last place.

    Two steps of Newton's rule mend the processor's 20 bits of 1 / b, a third one the quotient.
    Where a step meets what is not finite, the plain product is right: zero, infinite or NaN.
    Quotients by a subnormal number are infinite.

    :param dialect: words of the processor.
    :param name: of the result.
    """
    if scalar is not FLOAT64:
        if dialect.ratio:
            return [f'{name} = call float @{dialect.ratio}(float {a}, float {b})']
        return [f'{name} = fdiv float {a}, {b}']

    def fma(end: str, x: str, y: str, z: str) -> str:
        return f'{name}{end} = call double @llvm.fma.f64(double {x}, double {y}, double {z})'
    rough, minus, inverse = f'{name}.r', f'{name}.n', f'{name}.i'
    return [
        *dialect.about_inverse(rough, b), f'{minus} = fneg double {b}',
        fma('.e', minus, rough, '1.0'), fma('.s', rough, f'{name}.e', rough),
        fma('.u', minus, f'{name}.s', '1.0'), fma('.i', f'{name}.s', f'{name}.u', f'{name}.s'),
        f'{name}.q = fmul double {a}, {inverse}', fma('.d', minus, f'{name}.q', a),
        fma('.t', f'{name}.d', inverse, f'{name}.q'), f'{name}.p = fmul double {a}, {rough}',
        f'{name}.o = fcmp ord double {name}.t, {name}.t',
        f'{name} = select i1 {name}.o, double {name}.t, double {name}.p']
