# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Operational-space inertia by the projection method (RBDA 7.2.1).

A handle is a frame of the robot together with the directions of its motion that matter: all six,
the three of a point, or any others. The handle accelerates as a = Phi f + b under a force f upon
it; Phi = J H^-1 J^T always exists, its inverse Lambda only where the handle can move every way.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rbd_ros.algorithms.kinematics import (
    accelerations, jacobian, links, velocities, velocity_products)
from rbd_ros.algorithms.linear import dense, ltl
from rbd_ros.algorithms.linear.jacobi import largest_and_smallest, symmetric_eigen
from rbd_ros.compiler import Matrix, maximum, minimum, Rows, Scalar, Values
from rbd_ros.errors import RbdError
from rbd_ros.model.model import Frame, Model
from rbd_ros.spatial import Motion

#: Rows that pick all of a frame's motion, or that of its origin, angular part first.
FULL = tuple(tuple(1.0 if i == j else 0.0 for j in range(6)) for i in range(6))
POINT = FULL[3:]


class Handle(NamedTuple):
    """
    A frame and the directions of its motion that are controlled.

    :param rows: directions in the coordinates of the frame, each of six numbers, angular first.
    :param mask: 1 for each direction that counts now, 0 for one that does not; None for all.
    """

    frame: Frame
    rows: tuple[tuple[Scalar, ...], ...] = FULL
    mask: tuple[Scalar, ...] | None = None


def as_handles(
    model: Model, frames: str | Handle | Sequence[str | Handle] | None,
) -> tuple[Handle, ...]:
    """
    Return handles for frames by name, in all directions, and for handles as they are.

    :param frames: one name or handle, or several.
    """
    items = [frames] if isinstance(frames, (str, Handle)) else list(frames or ())
    handles = tuple(
        item if isinstance(item, Handle) else Handle(model.frame(item)) for item in items)
    for handle in handles:
        frame = handle.frame
        if frame.body > model.nb or model.frames.get(frame.name, frame).body != frame.body:
            raise RbdError(f'the handle at "{frame.name}" is not of "{model.name}": it is on body '
                           f'{frame.body} of another robot; make it with handle() of this one')
    if not any(any(handle.rows if handle.mask is None else handle.mask) for handle in handles):
        raise RbdError(f'an operational space needs at least one frame or handle with a '
                       f'direction, got {frames!r}')
    return handles


class Projection(NamedTuple):
    """
    What the projection method knows of some handles, stacked.

    :param J: task Jacobian, m x n.
    :param Phi: inverse operational-space inertia J H^-1 J^T, m x m.
    :param b: acceleration of the handles when neither joints nor handles are pushed.
    :param HinvJT: H^-1 J^T, n x m.
    """

    J: Matrix
    Phi: Matrix
    b: list[Scalar]
    HinvJT: Matrix


def task_rows(handle: Handle, columns: Sequence[Motion]) -> Matrix:
    """Return the handle's directions dotted with each motion vector, a row per direction."""
    parts = [column.to_list() for column in columns]
    return [[dense.dot(row, part) for part in parts] for row in handle.rows]


def task_jacobian(model: Model, q: Values, handles: Sequence[Handle], t: Scalar = 0.0) -> Matrix:
    """Return the stacked Jacobian of the handles in tree coordinates."""
    tree = links(model, q, t)
    return [row for handle in handles
            for row in task_rows(handle, jacobian(model, tree, handle.frame))]


def task_bias(
    model: Model, q: Values, qd: Values, handles: Sequence[Handle],
    t: Scalar = 0.0, g: Values | None = None,
) -> list[Scalar]:
    """
    Return J-dot q-dot of the handles: their acceleration without qdd and without gravity.

    :param g: tree accelerations that gears of changing ratio have all the same.
    """
    tree = links(model, q, t)
    v, v_J = velocities(model, tree, q, qd, t)
    c = velocity_products(model, q, qd, v, v_J, t)
    a = accelerations(model, tree, c, g, Motion.zero())
    return [row[0] for handle in handles
            for row in task_rows(handle, [handle.frame.placement @ a[handle.frame.body]])]


def project(H: Matrix, parent: Sequence[int], C: Values, J: Matrix, Jdqd: Values) -> Projection:
    """
    Project the joint-space equation of motion on the handles (7.5 to 7.12).

    :param H: inertia matrix, branch-sparse after ``parent``.
    :param C: all that opposes qdd besides the handle force: bias force minus joint forces.
    """
    L, D = ltl.ltdl(H, parent)
    Y = [ltl.solve_transposed(L, parent, row) for row in J]           # rows of (L^-T J^T)^T
    w = ltl.solve_transposed(L, parent, C)
    scaled = [[y / d for y, d in zip(row, D, strict=True)] for row in Y]
    m = len(J)
    Phi: Matrix = [[0.0] * m for _ in range(m)]
    for i in range(m):
        for j in range(i + 1):
            Phi[i][j] = Phi[j][i] = dense.dot(scaled[i], Y[j])                             # 7.9
    b = [rate - dense.dot(row, w) for rate, row in zip(Jdqd, scaled, strict=True)]         # 7.10
    columns = [ltl.solve_lower(L, parent, row) for row in scaled]
    return Projection(J, Phi, b, [list(row) for row in zip(*columns, strict=True)])


class Spectrum(NamedTuple):
    """
    Eigenvalues of Phi and what follows from them.

    :param Lambda: operational-space inertia, bounded.
    :param condition: largest over smallest eigenvalue.
    :param eigenvalues: of Phi.
    :param lost: per direction, the share of it that the bound has taken, 0 to 1.
    """

    Lambda: Matrix
    condition: Scalar
    eigenvalues: list[Scalar]
    lost: list[Scalar]


def conditioned_inverse(Phi: Matrix, max_condition: Scalar) -> Spectrum:
    """
    Return the operational-space inertia, bounded where the handle is near a singular pose.

    Policy: an eigenvalue of Phi below 1/max_condition of the largest one is raised to that value.
    Within the bound the result is Phi^-1; beyond it the inertia felt along the singular
    directions stays finite and continuous, and ``condition`` shows that it happened.
    """
    w, V = symmetric_eigen(Phi)
    high, low = largest_and_smallest(w)
    floor = high / max_condition
    inverse = [1.0 / maximum(value, floor) for value in w]
    share = [1.0 - minimum(value, floor) / floor for value in w]
    lost = [dense.dot([x * x for x in row], share) for row in V]
    m = len(w)
    Lambda: Matrix = [[0.0] * m for _ in range(m)]
    for i in range(m):
        weighted = [V[i][k] * inverse[k] for k in range(m)]
        for j in range(i + 1):
            Lambda[i][j] = Lambda[j][i] = dense.dot(weighted, V[j])
    return Spectrum(Lambda, high / maximum(low, high * 1e-16), w, lost)


def masked(rows: Rows, mask: Values) -> Matrix:
    """Return rows of a matrix, those that do not count now as zeros."""
    return [[m * value for value in row] for m, row in zip(mask, rows, strict=True)]


def without_masked(Phi: Matrix, mask: Values) -> Matrix:
    """
    Return Phi with a diagonal where directions do not count now, so that it has an inverse.

    They get the mean eigenvalue of those that count, which lies between the largest and the
    smallest: the condition number, and what is bounded by it, do not change.

    :param Phi: with zeros in the rows and columns that do not count.
    """
    size: Scalar = 0.0
    count: Scalar = 0.0
    for i, m in enumerate(mask):
        size, count = size + Phi[i][i], count + m
    mean = size / count
    return [[value + (1.0 - mask[i]) * mean if i == j else value for j, value in enumerate(row)]
            for i, row in enumerate(Phi)]


def damped_inverse(Phi: Matrix, max_condition: Scalar) -> Matrix:
    """
    Return the operational-space inertia with every eigenvalue of Phi raised by a little.

    That is what damped least squares do, at a tenth of the cost of ``conditioned_inverse``: good
    enough for a first guess, not for a law, because it is never exact.
    """
    m = len(Phi)
    little: Scalar = 0.0
    for i in range(m):
        little = little + Phi[i][i] / max_condition
    raised = [[value + little if i == j else value for j, value in enumerate(row)]
              for i, row in enumerate(Phi)]
    return ltl.inverse(raised, range(-1, m - 1))


def inverse_with_damping(Phi: Matrix, damping: Scalar) -> Matrix:
    """
    Return (Phi + damping 1)^-1, Lambda itself for zero damping.

    It exists where handles are redundant and Phi^-1 does not: forces that would only push handles
    against one another are shared out.
    """
    raised = [[x + damping if i == j else x for j, x in enumerate(row)]
              for i, row in enumerate(Phi)]
    return ltl.inverse(raised, range(-1, len(Phi) - 1))
