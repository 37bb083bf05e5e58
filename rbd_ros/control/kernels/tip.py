# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
The tip: its operational space, the law that moves it, and what is reported of it.

Traced and compiled as part of :mod:`rbd_ros.control.kernels.kernels`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TYPE_CHECKING

from rbd_ros.algorithms.handles import opspace
from rbd_ros.algorithms.linear import dense, ltl
from rbd_ros.algorithms.linear.jacobi import largest_and_smallest
from rbd_ros.compiler import clamp, less, sqrt, where
from rbd_ros.control.kernels import impedance
from rbd_ros.control.kernels import joint_space
from rbd_ros.control.kernels import operational_space as task_law
from rbd_ros.control.kernels import passive
from rbd_ros.control.kernels.terms import Terms

if TYPE_CHECKING:
    from rbd_ros.compiler import Scalar
    from rbd_ros.dynamics.state import State

    Vector = Sequence[Scalar]
    Inputs = Mapping[str, Sequence[Any]]

__all__ = ['AXES', 'LENGTH', 'Tip']

#: names of the directions of a frame, in the order of the rows of its Jacobian
AXES = ('rx', 'ry', 'rz', 'x', 'y', 'z')

#: m that a radian counts where the condition compares rotations and translations; without it
#: the light wrist of an ordinary arm looks like a singular pose
LENGTH = 0.1

#: speed towards a joint limit per room, in units of the damping that brakes it: no overshoot
_APPROACH = 0.25

#: what the posture may ask of a joint in addition to the frame, as a share of the frame's part
_REST = 0.5


class Tip:
    """Traces what the task law and the report know of the tip."""

    def __init__(self, terms: Terms, axes: Sequence[str]) -> None:
        """
        Choose the directions.

        :param terms: of the equation of motion.
        :param axes: directions under motion control; a wrench acts along all.
        """
        self._terms, self._robot = terms, terms.robot
        self._axes = tuple(axes)
        self._rows = [*map(AXES.index, axes), *(  # those under motion control come first
            i for i, axis in enumerate(AXES) if axis not in axes)]

    def law(self, s: State) -> tuple[list[Scalar], dict[str, Sequence[Any]]]:
        """Return the torque of the operational-space law, and what is known besides."""
        x, tip = s.inputs, self._yielding(s, self._seen(s))
        R, H, q, qd = tip['R'], tip['H'], self._terms.pick(x['q']), self._terms.pick(x['qd'])
        error = task_law.pose_error(R, tip['p'], x['R_ref'], x['p_ref'])
        k, wanted = self._wanted(x, tip, error)
        posture = task_law.posture_speed(
            joint_space.tracking_error(q, x['posture'], self._robot.continuous), x['joint_speed'],
            task_law.Gains(x['posture_stiffness'], x['posture_damping']))
        posture = [u + v for u, v in zip(posture, x['drift'])]
        projection = self._project(tip, H)
        guess = self._scaled(opspace.damped_inverse(
            self._scaled(projection.Phi), x['max_condition'][0]))
        wish = _scaled_to(task_law.joint_speed(_space(projection, guess), wanted),
                          x['joint_speed'])
        free = task_law.approach_speeds(q, x['barrier_lower'], x['barrier_upper'],
                                        x['barrier_margin'], _APPROACH * k)
        yields = task_law.yielding(wish, free)
        heavy, force = task_law.with_heavy_joints(H, yields), _to_frame(R, x['wrench'])
        projection = self._project(tip, heavy)
        spectrum = self._conditioned(x, projection.Phi)
        space = _space(projection, spectrum.Lambda)
        motion = _scaled_to(task_law.joint_speed(space, wanted), x['joint_speed'])
        rest = _scaled_to(
            task_law.null_space_speed(
                self._with_wrench_directions(x, tip, heavy, space, force),
                task_law.yielded_speed(posture, wish, free, yields)),
            [_REST * speed for speed in x['joint_speed']])
        sought = task_law.slowed_near_limits([a + b for a, b in zip(motion, rest)], free)
        qdd = [k * (u - v) for u, v in zip(sought, qd)]
        push = task_law.faded_wrench(force, tip['velocity'], x['task_speed'], qd,
                                     x['barrier_speed'])
        law = [c + dense.dot(row, qdd)
               + dense.dot([line[j] for line in tip['J']], push)
               for j, (c, row) in enumerate(zip(tip['bias'], H))]
        return law, self._known(tip, spectrum, error)

    def impedance(self, s: State) -> tuple[list[Scalar], dict[str, Sequence[Any]]]:
        """
        Return the torque of springs and dampers at the tip, and what is known besides.

            tau = J^T (F + D (v_ref - v) + f) + g + N^T tau_posture - d

        F is the gradient of the springs. Neither accelerations nor Coriolis torques are fed
        forward: near a singular pose a reference asks for any of them. Damping of a ratio is made
        for Lambda, bounded as in the operational-space law: near a singular pose no force grows,
        and where the frame loses a direction J^T takes the force away smoothly. A spring that
        pulls an arm out of such a pose moves a joint far by a little way: d damps what a joint is
        faster than the frame may ask of it.

        With a sensor and an inertia to be felt, F and D are those of that inertia, and what shapes
        it is added: see ``impedance.shaped_force``.
        """
        x, tip = s.inputs, self._yielding(s, self._seen(s))
        R, H, chosen = tip['R'], tip['H'], tip['chosen']
        q, qd = self._terms.pick(x['q']), self._terms.pick(x['qd'])
        error = task_law.pose_error(R, tip['p'], x['R_ref'], x['p_ref'])
        projection = self._project(tip, H)
        spectrum = self._conditioned(x, projection.Phi)
        pull = impedance.spring_wrench(error, [
            k if axis in self._axes else 0.0 for axis, k in zip(AXES, x['spring'])])
        press = task_law.faded_wrench(_to_frame(R, x['wrench']), tip['velocity'],
                                      x['task_speed'], qd, x['barrier_speed'])
        force = [f + p for f, p in zip(pull, press)]
        # what the posture would accelerate, and what of it would move the tip
        rest = [kp * e + kd * (drift - v) for kp, e, kd, drift, v in zip(
            x['posture_stiffness'],
            joint_space.tracking_error(q, x['posture'], self._robot.continuous),
            x['posture_damping'], x['drift'], qd)]
        moved = [dense.dot(tip['J'][i], rest) for i in chosen]
        damped = self._damped(x, tip, spectrum.Lambda)
        shaping = self._shaping(x, tip, spectrum.Lambda, force, damped)
        for i, damps, held, shapes in zip(
                chosen, damped, dense.apply(spectrum.Lambda, moved), shaping):
            force[i] = force[i] + damps - held + shapes
        excess = [d * (v - clamp(v, -most, most)) for d, v, most in zip(
            x['barrier_speed_damping'], qd, x['joint_speed'])]
        law = [g + dense.dot(row, rest) + dense.dot([line[j] for line in tip['J']], force) - d
               for j, (g, row, d) in enumerate(zip(self._terms.gravity(s), H, excess))]
        return law, self._known(tip, spectrum, error)

    def _damped(self, x: Inputs, tip: Mapping[str, Sequence[Any]],
                Lambda: Sequence[Vector]) -> list[Scalar]:
        """Return the force of the dampers along the controlled directions."""
        chosen, v_ref = tip['chosen'], _to_frame(tip['R'], x['velocity_ref'])
        critical = impedance.critical_damping(
            ltl.inverse([list(row) for row in Lambda], range(-1, len(chosen) - 1)),
            [x['spring'][i] for i in chosen])
        lag = [v_ref[i] - tip['velocity'][i] for i in chosen]
        return [x['damping_ratio'][0] * made + x['damper'][i] * v
                for i, made, v in zip(chosen, dense.apply(critical, lag), lag)]

    def _shaping(self, x: Inputs, tip: Mapping[str, Sequence[Any]], Lambda: Sequence[Vector],
                 force: Vector, damped: Vector) -> Vector:
        """Return what is added for another inertia to be felt; nothing without a sensor."""
        chosen, v_ref = tip['chosen'], _to_frame(tip['R'], x['velocity_ref'])
        if not self._robot.sensor:
            return [0.0] * len(chosen)
        _, least = largest_and_smallest([x['inertia'][i] for i in chosen])
        is_shaped = less(0.0, least)
        inertia = [where(is_shaped, x['inertia'][i], 1.0) for i in chosen]
        z = x['damping_ratio'][0]
        wanted = [force[i] + (2.0 * z * sqrt(x['spring'][i] * mass) + x['damper'][i])
                  * (v_ref[i] - tip['velocity'][i]) for i, mass in zip(chosen, inertia)]
        shaped = impedance.shaped_force(
            Lambda, inertia, wanted, [x['external'][i] for i in chosen])
        return [where(is_shaped, new - force[i] - old, 0.0)
                for i, new, old in zip(chosen, shaped, damped)]

    def _known(self, tip: Mapping[str, Sequence[Any]], spectrum: opspace.Spectrum,
               error: Vector) -> dict[str, Sequence[Any]]:
        """Return what the reference and whoever watches get to know."""
        R = tip['R']
        lead = [e if axis in self._axes else 0.0 for axis, e in zip(AXES, error)]
        return {
            'R': R, 'p': tip['p'], 'velocity': tip['velocity'],
            'condition': [spectrum.condition], 'lost': spectrum.lost, 'lead': _to_base(R, lead),
            'error': [sqrt(dense.dot(part, part)) for part in (lead[:3], lead[3:])]}

    def _with_wrench_directions(
        self, x: Inputs, tip: Mapping[str, Sequence[Any]], H: Sequence[Vector],
        space: task_law.Operational, force: Vector,
    ) -> task_law.Operational:
        """Return the space that the posture must leave alone: where the tip moves or presses."""
        others = self._rows[len(self._axes):]
        if not others:
            return space
        shares = [*[1.0] * len(self._axes), *task_law.wrench_shares(force, others)]
        whole = opspace.project([list(row) for row in H], range(-1, len(H) - 1), tip['bias'],
                                [tip['J'][i] for i in self._rows], [0.0] * len(self._rows))
        Lambda = self._conditioned(x, task_law.decoupled(whole.Phi, shares)).Lambda
        return task_law.Operational(
            [[share * value for value in row] for share, row in zip(shares, whole.J)],
            [[share * value for share, value in zip(shares, row)] for row in whole.HinvJT],
            Lambda)

    def _wanted(self, x: Inputs, tip: Mapping[str, Sequence[Any]],
                error: Vector) -> tuple[Scalar, list[Scalar]]:
        """Return a damping, and the velocity of the tip that it should lead to."""
        chosen, R, v = tip['chosen'], tip['R'], tip['velocity']
        kp, kd = x['task_stiffness'], x['task_damping']
        a = task_law.spatial_acceleration(
            [a_ref + d * (v_ref - speed) + p * e + z for a_ref, d, v_ref, speed, p, e, z in zip(
                _to_frame(R, x['acceleration_ref']), kd, _to_frame(R, x['velocity_ref']), v,
                kp, error, _to_frame(R, x['task_integral']))], v)
        k, _ = largest_and_smallest(task_law.Gains(
            [kp[i] for i in chosen], [kd[i] for i in chosen]).rates())
        qd = self._terms.pick(x['qd'])
        return k, [(a[i] - rate) / k + dense.dot(tip['J'][i], qd)
                   for i, rate in zip(chosen, tip['rate'])]

    def report(self, s: State) -> dict[str, Sequence[Any]]:
        """Return what is published about the dynamics."""
        tip = self._seen(s)
        projection = self._project(tip, tip['H'])
        spectrum = self._conditioned(s.inputs, projection.Phi)
        task_bias = [-dense.dot(row, projection.b) for row in spectrum.Lambda]             # 7.13
        # Without gravity, not as a difference with it: that loses digits at low speeds.
        coriolis = self._terms.bias(s, gravity=[0.0, 0.0, 0.0])
        return {'gravity': self._terms.gravity(s), 'coriolis': coriolis, 'task_bias': task_bias,
                'Lambda': spectrum.Lambda, 'condition': [spectrum.condition],
                'lost': spectrum.lost, **{name: tip[name] for name in (
                    'H', 'bias', 'J', 'R', 'p', 'velocity')}}

    def _seen(self, s: State) -> dict[str, Sequence[Any]]:
        """Return what both the law and the report know of the tip."""
        tip = self._robot.tip
        rate, pose = self._terms.jacobian_rate(s, tip), s.compute('pose', tip)
        chosen = [AXES.index(axis) for axis in self._axes]
        return {
            'H': self._terms.inertia(s), 'bias': self._terms.bias(s),
            'J': self._terms.jacobian(s, tip),
            'rate': [rate[i] for i in chosen], 'chosen': chosen,
            'R': [row[:3] for row in pose[:3]], 'p': [row[3] for row in pose[:3]],
            'velocity': self._terms.velocity(s, tip)}

    def _yielding(self, s: State, tip: dict[str, Sequence[Any]]) -> dict[str, Sequence[Any]]:
        """Return the same as felt where passive joints give way."""
        robot, chosen = self._robot, tip['chosen']
        if not robot.passive:
            return tip
        rate = s.compute('jacobian_rate', robot.tip)
        H, bias, J, rate = passive.controlled_equations(
            s.compute('mass_matrix'), s.compute('bias', method='3d'),
            s.compute('jacobian', robot.tip), rate, self._terms.passive_force(s),
            controlled=robot.index, passive=robot.passive_index)
        return tip | {'H': H, 'bias': bias, 'J': J, 'rate': [rate[i] for i in chosen]}

    def _project(self, tip: Mapping[str, Sequence[Any]],
                 H: Sequence[Vector]) -> opspace.Projection:
        """Return the operational space of the tip."""
        return opspace.project([list(row) for row in H], range(-1, len(H) - 1), tip['bias'],
                               [tip['J'][i] for i in tip['chosen']], tip['rate'])

    def _conditioned(self, x: Inputs, Phi: Sequence[Vector]) -> opspace.Spectrum:
        spectrum = opspace.conditioned_inverse(self._scaled(Phi), x['max_condition'][0])
        return spectrum._replace(Lambda=self._scaled(spectrum.Lambda))

    def _scaled(self, matrix: Sequence[Vector]) -> list[list[Scalar]]:
        """Measure rotations of the tip by the path of a point next to it, for the condition."""
        scale = [LENGTH if i < 3 else 1.0 for i in self._rows]
        return [[scale[i] * scale[j] * value for j, value in enumerate(row)]
                for i, row in enumerate(matrix)]


def _space(projection: opspace.Projection,
           Lambda: Sequence[Vector]) -> task_law.Operational:
    return task_law.Operational(projection.J, projection.HinvJT, Lambda)


def _scaled_to(speeds: Vector, most: Vector) -> list[Scalar]:
    """Scale joint velocities so that none is larger than it may be."""
    share = task_law.speed_share(speeds, most)
    return [share * speed for speed in speeds]


def _to_frame(R: Sequence[Vector], six: Vector) -> list[Scalar]:
    """Turn a pair of vectors from base axes to those of the frame."""
    return [dense.dot([R[k][i] for k in range(3)], part)
            for part in (six[:3], six[3:]) for i in range(3)]


def _to_base(R: Sequence[Vector], six: Vector) -> list[Scalar]:
    """Turn a pair of vectors from the axes of the frame to those of the base."""
    return [dense.dot(row, part) for part in (six[:3], six[3:]) for row in R]
