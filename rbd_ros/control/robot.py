# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The robot as the controller sees it: a model, and which of its joints are controlled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
import math
from typing import TypeVar

import numpy as np
import numpy.typing as npt
from rbd_ros.algorithms.loops.closure import closed_positions
from rbd_ros.control.interface.sentences import JointName
from rbd_ros.control.modes import all_modes, Mode
from rbd_ros.control.throttle import short_list
from rbd_ros.dynamics.robot import Dynamics
from rbd_ros.dynamics.uncompiled import (
    inverse_dynamics_derivatives, jacobian, mass_matrix)
from rbd_ros.errors import LoopError, ModelError, UnknownName
from rbd_ros.model.model import Model
from rbd_ros.model.positions import neutral
from rbd_ros.model.reach_bound import reach_bound

__all__ = ['last_frame', 'Robot', 'make_robot']

Entry = TypeVar('Entry')
Array = npt.NDArray[np.float64]

_POSES = 10  # at which inertias are sampled


@dataclass(frozen=True)
class Robot:
    """
    A model and its controlled joints, in the order of the commands.

    :param index: position of each controlled joint in the vectors of the model.
    :param fixed: joints that nobody publishes, with their positions.
    :param tip: the frame that operational-space control moves.
    :param payload_frame: the frame that carries the payload.
    :param passive: joints that are not controlled and that no motor moves.
    :param assembly: of a robot with closed loops whose passive joints are solved from the driven
        ones, a closed position from which they are followed; else none.
    :param own_modes: modes of the user.
    :param sensor: frame of the force-torque sensor; empty: there is none.
    """

    model: Model
    joints: tuple[str, ...]
    index: tuple[int, ...]
    fixed: Mapping[str, float]
    tip: str
    payload_frame: str
    passive: tuple[str, ...] = ()
    assembly: tuple[float, ...] = ()
    own_modes: tuple[Mode, ...] = ()
    sensor: str = ''

    @property
    def modes(self) -> dict[str, Mode]:
        """Return every mode in which it can be driven, by name."""
        return all_modes(self.own_modes)

    @property
    def passive_index(self) -> list[int]:
        """Return the positions of the passive joints in the vectors of the model."""
        return [self.model.independent_joint_names.index(name) for name in self.passive]

    def pick(self, values: Sequence[Entry]) -> list[Entry]:
        """
        Return the entries of the controlled joints.

        :param values: one entry per independent joint of the model.
        """
        return [values[i] for i in self.index]

    @cached_property
    def damped_inertia(self) -> tuple[float, ...]:
        """
        Inertias M, one per controlled joint, such that a damper D = M / T is stable when sampled.

        A torque -D qd that is held for T diverges where an eigenvalue of T D H^-1 exceeds 2; with
        these none exceeds 1, at any of some poses. A joint feels less than H_ii if others give.
        """
        try:
            return _together([np.linalg.inv(H) for H in self.sampled])
        except np.linalg.LinAlgError:  # a joint that moves nothing
            return (0.0,) * len(self.index)

    @cached_property
    def weight_time(self) -> float:
        """
        Time in s by which positions are late when the weight of the robot can't be held any more.

        What stands upright falls as x'' = k x, with the stiffness of gravity over the inertia that
        feels it. A position that has moved on for T by its velocity is wrong by x'' T^2 / 2, and
        so is the weight that is held: from k T^2 = 2 on nothing is left of the inertia. The
        largest k at any of the same poses counts, whatever its sign: gravity may turn. Infinite
        for closed loops, where positions are not moved on.
        """
        if self.model.loops:
            return math.inf
        still, index = np.zeros(self.model.nv), np.ix_(self.index, self.index)
        try:
            most = max(np.abs(np.linalg.eigvals(np.linalg.solve(H, inverse_dynamics_derivatives(
                self.model, q, still, still).dtau_dq[index]))).max()
                for H, q in zip(self.sampled, self._poses(), strict=True))
        except np.linalg.LinAlgError:  # a joint that moves nothing
            return math.inf
        return math.sqrt(2.0 / most) if most > 0.0 else math.inf

    @cached_property
    def usual_inertia(self) -> tuple[float, ...]:
        """Mean inertia of each controlled joint while the others stand, over the same poses."""
        return tuple(np.mean([np.diag(H) for H in self.sampled], axis=0).tolist())

    @cached_property
    def sampled(self) -> list[Array]:
        """Inertia matrices of the controlled joints at these poses."""
        return self._looped_inertias() if self.model.loops else self._inertias()

    @cached_property
    def tip_inertia(self) -> tuple[float, ...]:
        """
        The same for the directions of the tip, in the order of its Jacobian: kg.m^2 and kg.

        A direction in which it does not move at any of the poses has none.
        """
        try:
            return _together([J @ np.linalg.solve(H, J.T) for H, J in zip(
                self.sampled, self.sampled_jacobians)])
        except np.linalg.LinAlgError:
            return (0.0,) * 6

    @cached_property
    def sampled_jacobians(self) -> list[Array]:
        """Jacobians of the tip at these poses, in its own axes, angular rows first."""
        if self.model.loops:
            return self._looped_jacobians()
        return [jacobian(self.model, q, self.tip)[:, list(self.index)] for q in self._poses()]

    def _poses(self) -> list[Array]:
        model, rng = self.model, np.random.default_rng(0)
        lower = np.maximum(model.lower, -np.pi)
        upper = np.minimum(model.upper, np.pi)
        return [rng.uniform(lower, upper) for _ in range(_POSES)]

    def _inertias(self) -> list[Array]:
        """Return inertia matrices of the controlled joints at some poses."""
        return [mass_matrix(self.model, q)[np.ix_(self.index, self.index)]
                for q in self._poses()]

    def _looped_inertias(self) -> list[Array]:
        """Return G^T H G at some closed positions."""
        dynamics, still = Dynamics(self.model, progress=lambda *_: None), np.zeros(self.model.nv)
        order = np.argsort(np.argsort(self.index))      # of the commands among those of the model
        return [dynamics.independent_equations(q, still, self.joints).H[np.ix_(order, order)]
                for q in closed_positions(dynamics.mechanism, dynamics.loop_report.q, _POSES)]

    def _looped_jacobians(self) -> list[Array]:
        """Return J G of the tip at the same positions, in the order of the commands."""
        dynamics = Dynamics(self.model, progress=lambda *_: None)
        order = np.argsort(np.argsort(self.index))
        return [(dynamics.jacobian(q, self.tip) @ dynamics.loop_map(
            q, independent=self.joints).G)[:, order]
                for q in closed_positions(dynamics.mechanism, dynamics.loop_report.q, _POSES)]

    @cached_property
    def reach(self) -> float:
        """Distance from the base that no posture takes the tip beyond, m; infinity: any."""
        return reach_bound(self.model, self.tip, self.fixed)

    @property
    def continuous(self) -> list[bool]:
        """Return which controlled joints turn without end."""
        model = self.model
        return [math.isinf(model.lower[i]) and math.isinf(model.upper[i])
                and model.joint[model.joint_index(name)].type_name == 'revolute'
                for i, name in zip(self.index, self.joints, strict=True)]

    @property
    def units(self) -> list[str]:
        """Return the unit of position of each controlled joint: rad, or m if it slides."""
        return [name.unit for name in self.spoken()]

    def spoken(self, names: Sequence[str] = ()) -> tuple[JointName, ...]:
        """
        Return names of joints that know their units, for sentences.

        :param names: of joints of the model; none: the controlled ones.
        """
        joint, place = self.model.joint, self.model.joint_index
        return tuple(
            JointName(name, 'm' if joint[place(name)].type_name == 'prismatic' else 'rad')
            for name in names or self.joints)


def _together(inverses: Sequence[Array]) -> tuple[float, ...]:
    """Return the largest share of what is felt that may be damped everywhere at once."""
    most = np.max([np.diag(inverse) for inverse in inverses], axis=0)
    root = np.sqrt(np.divide(1.0, most, out=np.zeros(len(most)), where=most > 0.0))
    worst = max(np.linalg.eigvalsh(root[:, None] * inverse * root).max() for inverse in inverses)
    return tuple((root * root / worst).tolist())


def make_robot(model: Model, joints: Sequence[str] = (), *,
               fixed: Mapping[str, float] | None = None, tip: str = '',
               payload_frame: str = '', passive: Sequence[str] = (),
               assembly: Mapping[str, float] | None = None, sensor: str = '') -> Robot:
    """
    Choose the controlled joints of a model.

    :param model: the described robot.
    :param joints: controlled joints in the order of the commands; none: all that are not fixed.
    :param fixed: joints that nobody publishes, with their positions.
    :param tip: frame of operational-space control; empty: the last one of the chain.
    :param payload_frame: frame that carries the payload; empty: the same.
    :param passive: joints that no motor moves; they are not controlled, unless named in joints.
    :param assembly: positions, by joint, that say in which way closed loops are assembled; their
        passive joints are then solved from the driven ones, which need not be published.
    :param sensor: frame of the force-torque sensor; empty: there is none.
    :raises LoopError: for closed loops of which the chosen joints do not determine the others.
    """
    independent = model.independent_joint_names
    fixed = dict(fixed or {})
    for name in independent:
        part = model.position_slice(name)
        if part.stop - part.start != 1 or model.joint[model.joint_index(name)].nv != 1:
            raise ModelError(f'joint "{name}" has more than one coordinate: this controller '
                             f'drives revolute, continuous and prismatic joints')
    for name in fixed:
        if name not in independent:
            raise UnknownName('joint', name, independent)
    if not independent:
        raise ModelError(f'robot "{model.name}" has no movable joint: the controller needs one or '
                         f'more that are revolute, continuous or prismatic')
    chosen = tuple(joints) or tuple(
        name for name in independent if name not in fixed and name not in passive)
    for name in chosen:
        if name not in independent:
            if name in model.joint_names:
                raise ModelError(f'joint "{name}" mimics another and cannot be controlled')
            raise UnknownName('joint', name, independent)
    if not chosen:
        raise ModelError(f'fixed_positions holds every movable joint of robot "{model.name}": '
                         f'leave at least one to be controlled')
    _check_passive(passive, independent, chosen, fixed)
    closed: tuple[float, ...] = ()
    if model.loops:
        closed = _check_loops(model, chosen, fixed, assembly or {})
        passive = ()  # all that are not driven are
    elif assembly:
        raise ModelError(f'robot "{model.name}" has no closed loops: leave assembly.joints empty')
    tip = tip or last_frame(model, chosen)
    model.frame(tip)
    model.frame(payload_frame or tip)
    index = tuple(independent.index(name) for name in chosen)
    if sensor:
        _check_sensor(model, sensor, payload_frame or tip)
    return Robot(model, chosen, index, fixed, tip, payload_frame or tip, tuple(passive),
                 closed, sensor=sensor)


def _check_sensor(model: Model, sensor: str, carrier: str) -> None:
    """Refuse a sensor that is not fixed to what carries the payload."""
    if model.frame(sensor).body != model.frame(carrier).body:
        raise ModelError(f'force_torque.frame "{sensor}" moves relative to payload.frame '
                         f'"{carrier}": both must be fixed to one link, the payload is behind '
                         'the sensor')


def _check_passive(passive: Sequence[str], independent: Sequence[str], chosen: Sequence[str],
                   fixed: Mapping[str, float]) -> None:
    """Refuse passive joints that are not there, come twice, are driven or do not move."""
    for k, name in enumerate(passive):
        if name not in independent:
            raise UnknownName('joint', name, independent)
        if name in passive[:k]:
            raise ModelError(f'joint "{name}" is named twice in passive_joints')
        if name in chosen:
            raise ModelError(f'joint "{name}" is controlled and in passive_joints: choose one')
        if name in fixed:
            raise ModelError(f'joint "{name}" is in fixed_positions and in passive_joints: '
                             'choose one')


def _check_loops(model: Model, driven: Sequence[str], fixed: Mapping[str, float],
                 assembly: Mapping[str, float]) -> tuple[float, ...]:
    """Refuse joints that do not move all others; return a closed position where it is named."""
    for name in fixed:
        raise LoopError(f'"{model.name}" has closed loops: "{name}" cannot be in fixed_positions; '
                        'passive joints are measured, or solved where assembly.joints is given')
    near = None
    if assembly:
        near = np.array(neutral(model), float)
        for name, position in assembly.items():
            if name not in model.independent_joint_names:
                raise UnknownName('joint', name, model.independent_joint_names)
            near[model.position_slice(name)] = position
    dynamics = Dynamics(model, progress=lambda *_: None, closed_near=near)
    mobility = dynamics.loop_report.mobility
    if len(driven) > mobility:
        raise LoopError(
            f'the closed loops of "{model.name}" leave {mobility} freedom(s), but '
            f'{len(driven)} joint(s) are controlled ({short_list(driven)}): name {mobility} in '
            'joints, and the others are passive. Drives that work against each other need '
            'Dynamics.actuator_forces in a controller of your own')
    if len(driven) < mobility:
        raise LoopError(
            f'the closed loops of "{model.name}" leave {mobility} freedom(s), but '
            f'{len(driven)} joint(s) are controlled ({", ".join(driven)}): name as many driven '
            'joints in joints as there are freedoms')
    dynamics.loop_map(dynamics.loop_report.q, independent=driven)
    if near is None:
        return ()
    named = [name for name in driven if name in assembly]
    return tuple(dynamics.assemble(near, named).require().tolist())


def last_frame(model: Model, joints: Sequence[str]) -> str:
    """Return the last frame that the last controlled joint carries."""
    body = model.joint_index(joints[-1])
    names = [name for name, frame in model.frames.items() if frame.body == body]
    return names[-1]
