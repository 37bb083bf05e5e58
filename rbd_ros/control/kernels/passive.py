# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
The equations of the controlled joints where others are passive: hybrid dynamics (RBDA 9.1).

A passive joint has a known force and no given acceleration. With c for the controlled joints and p
for the passive ones, its acceleration is that of H_pp qdd_p = tau_p - C_p - H_pc qdd_c (9.2); put
into the equations of the controlled joints and of a frame, it leaves equations of the same form
with less inertia. Generic over scalars.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rbd_ros.algorithms.linear import dense, ltl
from rbd_ros.compiler import Scalar

__all__ = ['ControlledEquations', 'controlled_equations']

Vector = Sequence[Scalar]
Matrix = Sequence[Vector]


class ControlledEquations(NamedTuple):
    """
    What controlled joints feel: H qdd_c + bias = tau_c, and a frame a = J qdd_c + rate.

    :param H: H_cc - H_cp H_pp^-1 H_pc.
    :param bias: C_c + H_cp H_pp^-1 (tau_p - C_p).
    :param J: J_c - J_p H_pp^-1 H_pc.
    :param rate: J-dot qd + J_p H_pp^-1 (tau_p - C_p).
    """

    H: list[list[Scalar]]
    bias: list[Scalar]
    J: list[list[Scalar]]
    rate: list[Scalar]


def controlled_equations(H: Matrix, C: Vector, J: Matrix, rate: Vector, force: Vector, *,
                         controlled: Sequence[int],
                         passive: Sequence[int]) -> ControlledEquations:
    """
    Return the equations of the controlled joints; other joints have no acceleration.

    :param H: inertia matrix of all joints.
    :param C: bias force of all joints.
    :param J: Jacobian of a frame, by all joints.
    :param rate: J-dot qd.
    :param force: tau_p on the passive joints.
    :param controlled: places of the controlled joints.
    :param passive: places of the passive ones.
    """
    Hpp = ltl.Dense([[H[i][j] for j in passive] for i in passive])
    free = Hpp.solve([f - C[i] for f, i in zip(force, passive, strict=True)])
    follow = [Hpp.solve([H[i][c] for i in passive]) for c in controlled]

    def yields(row: Vector) -> tuple[list[Scalar], Scalar]:
        """Return a row of the controlled joints, and what the passive ones add to its sum."""
        others = [row[i] for i in passive]
        return [row[c] - dense.dot(others, x) for c, x in zip(controlled, follow, strict=True)
                ], dense.dot(others, free)
    joints = [yields(H[c]) for c in controlled]
    frame = [yields(row) for row in J]
    return ControlledEquations(
        [row for row, _ in joints],
        [C[c] + more for c, (_, more) in zip(controlled, joints, strict=True)],
        [row for row, _ in frame],
        [r + more for r, (_, more) in zip(rate, frame, strict=True)])
