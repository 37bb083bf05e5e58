# Copyright 2026 the rbd_ros developers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""The robot as the controller sees it: a model, and which of its joints are controlled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
import math
from typing import TypeVar

import numpy as np
from rbd_ros.control.joint_states.joint_map import JointMap
from rbd_ros.control.joint_states.layout import AgeLimits
from rbd_ros.dynamics.uncompiled import mass_matrix
from rbd_ros.errors import ModelError, UnknownName
from rbd_ros.model.model import Model

__all__ = ['last_frame', 'Robot', 'make_robot']

Entry = TypeVar('Entry')

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
    """

    model: Model
    joints: tuple[str, ...]
    index: tuple[int, ...]
    fixed: Mapping[str, float]
    tip: str
    payload_frame: str
    passive: tuple[str, ...] = ()

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
        model, rng = self.model, np.random.default_rng(0)
        lower = np.maximum(model.lower, -np.pi)
        upper = np.minimum(model.upper, np.pi)
        poses = [mass_matrix(model, rng.uniform(lower, upper))[np.ix_(self.index, self.index)]
                 for _ in range(_POSES)]
        try:
            inverses = [np.linalg.inv(H) for H in poses]
        except np.linalg.LinAlgError:  # a joint that moves nothing
            return (0.0,) * len(self.index)
        felt = np.min([1.0 / np.diag(inverse) for inverse in inverses], axis=0)
        root = np.sqrt(np.maximum(felt, 0.0))
        worst = max(np.linalg.eigvalsh(root[:, None] * inverse * root).max()
                    for inverse in inverses)
        return tuple((root * root / worst).tolist())

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
        model = self.model
        return ['m' if model.joint[model.joint_index(name)].type_name == 'prismatic' else 'rad'
                for name in self.joints]

    def joint_map(self, limits: AgeLimits) -> JointMap:
        """
        Return what sorts incoming joint states into the vectors of the model.

        :param limits: ages and rates.
        """
        model = self.model
        followers = () if model.coupling is None else tuple(
            model.joint_names[i - 1] for i in model.coupling.followers)
        continuous = [name for name, endless in zip(self.joints, self.continuous) if endless]
        return JointMap(model.independent_joint_names, self.joints, limits=limits,
                        fixed_positions=self.fixed, followers=followers, continuous=continuous)


def make_robot(model: Model, joints: Sequence[str] = (), *,
               fixed: Mapping[str, float] | None = None, tip: str = '',
               payload_frame: str = '', passive: Sequence[str] = ()) -> Robot:
    """
    Choose the controlled joints of a model.

    :param model: the described robot.
    :param joints: controlled joints in the order of the commands; none: all that are not fixed.
    :param fixed: joints that nobody publishes, with their positions.
    :param tip: frame of operational-space control; empty: the last one of the chain.
    :param payload_frame: frame that carries the payload; empty: the same.
    :param passive: joints that no motor moves; they are not controlled, unless named in joints.
    :raises LoopError: for a robot with closed loops.
    """
    model.refuse_loops('the controller')
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
    tip = tip or last_frame(model, chosen)
    model.frame(tip)
    model.frame(payload_frame or tip)
    index = tuple(independent.index(name) for name in chosen)
    return Robot(model, chosen, index, fixed, tip, payload_frame or tip, tuple(passive))


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


def last_frame(model: Model, joints: Sequence[str]) -> str:
    """Return the last frame that the last controlled joint carries."""
    body = model.joint_index(joints[-1])
    names = [name for name, frame in model.frames.items() if frame.body == body]
    return names[-1]
