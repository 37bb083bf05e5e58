# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Equations of motion from energies: Lagrange's derivation, done by tracing and differentiating.

An energy is written once, as a function of positions and velocities; the compiler takes its
derivatives exactly, and what comes out is a graph, to be evaluated or compiled. For small robots
and for proofs: the algorithms of the other modules cost less. Equation numbers are those of Lynch
and Park (9.x) and of Liu and Jain (Liu x).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rbd_ros.algorithms import energy, kinematics
from rbd_ros.algorithms.crba import crba
from rbd_ros.algorithms.linear import dense
from rbd_ros.compiler import gradient, Graph, jacobian, jvp, Matrix, Scalar, trace, Values
from rbd_ros.errors import ModelError
from rbd_ros.model.model import Model
from rbd_ros.spatial import Vec3

Energy = Callable[[Values, Values], Scalar]


def euler_lagrange(lagrangian: Energy, n: int, *, name: str = 'lagrange') -> Graph:
    """
    Return tau = d/dt dL/dqd - dL/dq as a graph of q, qd, qdd (9.3; Liu 13).

    With the kinetic energy alone for L, tau is the whole generalised force Q, gravity included.

    :param lagrangian: L(q, qd), a scalar; q and qd are lists of n scalars.
    """
    L = trace(lambda q, qd: {'L': [lagrangian(q, qd)]}, {'q': n, 'qd': n}, name=f'{name}_energy')
    slope = gradient(L, 'L', 'q')
    momentum = gradient(L, 'L', 'qd')
    rate = jvp(momentum, 'dL_dqd', ['q', 'qd'])
    return trace(
        lambda q, qd, qdd: {'tau': dense.subtract(rate.evaluate(q, qd, qd, qdd),
                                                  slope.evaluate(q, qd))},
        {'q': n, 'qd': n, 'qdd': n}, name=name)


def inertia_from_energy(kinetic: Energy, n: int, *, name: str = 'inertia') -> Graph:
    """Return M(q), the second derivative of T = 1/2 qd' M qd by the velocities (9.10)."""
    T = trace(lambda q, qd: {'T': [kinetic(q, qd)]}, {'q': n, 'qd': n}, name=f'{name}_energy')
    hessian = jacobian(gradient(T, 'T', 'qd'), 'dT_dqd', 'qd')
    rest = [0.0] * n
    return trace(lambda q: {'M': _rows(hessian.evaluate(q, rest), n)}, {'q': n}, name=name)


def christoffel(M: Graph) -> Graph:
    """
    Return the Christoffel symbols of the first kind as a graph of q (9.13).

    Gamma[i][j][k] = 1/2 (dM_ij/dq_k + dM_ik/dq_j - dM_jk/dq_i).

    :param M: a graph with input q and output M, from :func:`inertia` or
        :func:`inertia_from_energy`.
    """
    n = M.inputs[M.input_index('q')].size
    slopes = jacobian(M, 'M', 'q')

    def symbols(q: Values) -> dict[str, list[Any]]:
        dM = [_rows(slopes.evaluate(q)[i * n * n:(i + 1) * n * n], n) for i in range(n)]
        return {'Gamma': [[[0.5 * (dM[i][j][k] + dM[i][k][j] - dM[j][k][i]) for k in range(n)]
                           for j in range(n)] for i in range(n)]}
    return trace(symbols, {'q': n}, name='christoffel')


def contract(Gamma: Sequence[Sequence[Values]], qd: Values) -> Matrix:
    """Return the Coriolis matrix of the symbols, C_ij = sum_k Gamma_ijk qd_k (9.87)."""
    return [[dense.dot(row, qd) for row in plane] for plane in Gamma]


def velocity_forces(M: Graph) -> Graph:
    """
    Return C(q, qd) = dM/dt qd - 1/2 (dM/dq qd)' qd as a graph (Liu 17); no gravity in it.

    Column j of the matrix dM/dq qd is (dM/dq_j) qd. It is not dM/dt, though times qd both give
    the same vector.
    """
    n = M.inputs[M.input_index('q')].size
    rate, slopes = jvp(M, 'M', 'q'), jacobian(M, 'M', 'q')

    def forces(q: Values, qd: Values) -> dict[str, list[Any]]:
        Md = _rows(rate.evaluate(q, qd), n)
        tensor = times_velocity(slopes.evaluate(q), qd)
        half = dense.apply(dense.transposed(tensor, n), qd)
        return {'C': [a - 0.5 * b for a, b in zip(dense.apply(Md, qd), half, strict=True)]}
    return trace(forces, {'q': n, 'qd': n}, name='velocity_forces')


def times_velocity(dM: Values, qd: Values) -> Matrix:
    """
    Return the matrix dM/dq qd, whose column j is (dM/dq_j) qd (Liu, note to 17).

    :param dM: the n^3 numbers dM_ik/dq_j, row-major in i, k, j.
    """
    n = len(qd)
    return [[dense.dot([dM[(i * n + k) * n + j] for k in range(n)], qd) for j in range(n)]
            for i in range(n)]


def _rows(values: Values, columns: int) -> Matrix:
    return [list(values[k:k + columns]) for k in range(0, len(values), columns)]


# --- of a model -----------------------------------------------------------------------------


def refuse_quasi_velocities(model: Model) -> None:
    """
    Raise an error where velocities are not the rates of positions: Lagrange needs them to be.

    :raises ModelError: which names the joint.
    """
    model.refuse_loops()
    for name, joint in zip(model.joint_names, model.joint[1:], strict=True):
        if not joint.additive or joint.time_dependent:
            raise ModelError(
                f'joint "{name}" ({joint.type_name}) has velocities that are not the rates of '
                'its positions, which the equations of Lagrange need; use RotationVector or '
                'RollPitchYaw for a ball joint')


def kinetic_energy(model: Model) -> Energy:
    """
    Return T(q, qd) of a model, rotors included, over any scalars (9.59; Liu 25).

    :param model: where joints follow others, q and qd are the independent coordinates.
    """
    refuse_quasi_velocities(model)

    def T(y: Values, yd: Values) -> Scalar:
        q, qd = model.expand_q(y), model.expand_v(yd, y)
        tree = kinematics.links(model, q)
        total = energy.kinetic_energy(model, kinematics.velocities(model, tree, q, qd)[0])
        for rotor, rate in zip(model.rotor_inertia, yd, strict=True):
            total = total + 0.5 * rotor * rate * rate
        return total
    return T


def lagrangian(model: Model) -> Energy:
    """Return L = T - P of a model under its own gravity."""
    T, g = kinetic_energy(model), Vec3(*model.gravity)

    def L(y: Values, yd: Values) -> Scalar:
        weight = energy.composite(model, kinematics.links(model, model.expand_q(y))).h.dot(g)
        return T(y, yd) + weight                            # P = -h . g
    return L


def equations(model: Model) -> Graph:
    """Return tau(q, qd, qdd) of a model by Lagrange's equations."""
    return euler_lagrange(lagrangian(model), model.nv)


def inertia(model: Model) -> Graph:
    """Return M(q) of a model, traced from its composite bodies, rotors included."""
    refuse_quasi_velocities(model)

    def M(y: Values) -> dict[str, Matrix]:
        H = crba(model, kinematics.links(model, model.expand_q(y)))
        if model.coupling is not None:
            H = model.coupling.reduce_symmetric(H, y)                                      # 9.26
        for k, rotor in enumerate(model.rotor_inertia):
            H[k][k] = H[k][k] + rotor
        return {'M': H}
    return trace(M, {'q': model.nq}, name='inertia')


# --- particles ------------------------------------------------------------------------------


def particle_jacobian(position: Callable[[Values], Sequence[Values]], n: int) -> Graph:
    """
    Return J = dr/dq of particles as a graph, shape (particles, 3, n) (Liu 1, 2).

    :param position: r(q), a list of points of three scalars each.
    """
    r = trace(lambda q: {'r': position(q)}, {'q': n}, name='particles')
    return jacobian(r, 'r', 'q')


def particle_jacobian_rate(J: Graph) -> Graph:
    """
    Return dJ/dt as a graph of q and q_dot; also the derivative of the velocities by q (Liu 8).

    :param J: from :func:`particle_jacobian`.
    """
    return jvp(J, 'dr_dq', 'q')


def particle_inertia(masses: Values, J: Sequence[Sequence[Values]]) -> Matrix:
    """Return M = sum mu_i J_i' J_i (Liu 15, 16)."""
    n = len(J[0][0])
    M = dense.zeros(n, n)
    for mu, rows in zip(masses, J, strict=True):
        for row in rows:
            for i in range(n):
                for k in range(n):
                    M[i][k] = M[i][k] + mu * row[i] * row[k]
    return M


def particle_force(J: Sequence[Sequence[Values]], f: Sequence[Values]) -> list[Scalar]:
    """Return Q = sum J_i' f_i, the generalised force of forces on particles (Liu 3)."""
    n = len(J[0][0])
    Q: list[Scalar] = [0.0] * n
    for rows, force in zip(J, f, strict=True):
        Q = dense.add(Q, dense.apply(dense.transposed(rows, n), force))
    return Q


def body_points(model: Model, points: Sequence[tuple[int, Vec3]]) -> Callable[[Values], Matrix]:
    """
    Return r(q) of points fixed in bodies, in base coordinates.

    :param points: body and place in its coordinates.
    """
    def r(q: Values) -> Matrix:
        X = kinematics.placements(model, kinematics.links(model, q))
        return [X[body].inv_point(place).to_list() for body, place in points]
    return r
