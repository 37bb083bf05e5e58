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

"""The laws of the modes: each object fills the inputs of its kernel and runs it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TYPE_CHECKING, TypeVar

import numpy as np
import numpy.typing as npt
from rbd_ros.compiler import Bound
from rbd_ros.control.former.laws.bumpless import smooth_step
from rbd_ros.control.kernels.joint_space import integrate_error
from rbd_ros.control.former.references.joint_space import JointReference
from rbd_ros.control.former.references.operational_space import TaskReference

if TYPE_CHECKING:
    from rbd_ros.control.former.joint_states.joint_map import JointMap
    from rbd_ros.control.parameters.settings import Settings

__all__ = ['JointLaw', 'Law', 'TaskLaw']

Array = npt.NDArray[np.float64]
Reference = TypeVar('Reference', JointReference, TaskReference)

_FREE = [0.0] * 6  # the directions of a frame have no torque limit of their own

#: rad or m by which a position is extrapolated at most: velocities may be absurd
_FARTHEST = 0.3

#: rad/s or m/s below which a reference counts as at rest
_REST = 1e-3


class Law:
    """A kernel that gets the state: gravity alone, or the law of a mode."""

    tracks = False  # whether there is a tracking error of the joints to be watched
    leads = False  # whether there is one of the tip
    error: Array

    def __init__(self, name: str, bound: Bound, joints: JointMap) -> None:
        """
        Take a kernel.

        :param name: of the kernel.
        :param bound: the kernel with its buffers.
        :param joints: source of positions and velocities.
        """
        self.name, self.bound, self._joints = name, bound, joints
        self.inputs, self.outputs = bound.inputs, bound.outputs
        self.run = bound.run
        # Copies between memoryviews take a fraction of what NumPy takes.
        self._q, self._qd = memoryview(bound.inputs['q']), memoryview(bound.inputs['qd'])
        self._from_q, self._from_qd = memoryview(joints.q), memoryview(joints.qd)

    @property
    def rests(self) -> bool:
        """Return whether it wants the robot to stay where it is."""
        return True

    def enter(self, now: float) -> None:
        """
        Begin at the present state.

        :param now: control time, s.
        """

    def rest(self, now: float) -> None:
        """
        Come to rest from the present reference, when another mode has the same law.

        :param now: control time, s.
        """

    def apply(self, settings: Settings) -> None:
        """
        Take new gains.

        :param settings: valid set.
        """
        for name, value in settings.kernel_inputs()[self.name].items():
            self.inputs[name][...] = value

    def compute(self, now: float, ahead: float = 0.0) -> None:
        """
        Evaluate the kernel at the present state.

        :param now: control time, s.
        :param ahead: s by which positions are extrapolated, because they are late.
        """
        self.prepare(now)
        self.read_state()
        if ahead:
            self.extrapolate(ahead)
        self.run()
        self.finish(now)

    def prepare(self, now: float) -> None:
        """
        Fill the inputs that are not measured.

        :param now: control time, s.
        """

    def read_state(self) -> None:
        """Copy the present state into the inputs."""
        self._q[:] = self._from_q
        self._qd[:] = self._from_qd

    def extrapolate(self, ahead: float) -> None:
        """
        Let the positions among the inputs move on.

        :param ahead: s for which they do so.
        """
        self.inputs['q'] += np.clip(ahead * self.inputs['qd'], -_FARTHEST, _FARTHEST)

    def finish(self, now: float) -> None:
        """
        Use the results.

        :param now: control time, s.
        """


class ReferenceLaw(Law, Generic[Reference]):
    """A law that follows a reference, with an integral term that does not wind up."""

    integral_name = ''  # of the kernel's input

    def __init__(self, name: str, bound: Bound, joints: JointMap,
                 reference: Reference, saturation: Callable[[], Array]) -> None:
        """
        Take a kernel and a reference.

        :param name: of the kernel.
        :param bound: the kernel with its buffers.
        :param joints: source of positions and velocities.
        :param reference: what to follow.
        :param saturation: gives per joint 1 or -1 at a torque limit, else 0.
        """
        super().__init__(name, bound, joints)
        self.reference: Reference = reference
        self.error = bound.outputs['error']
        self._saturation = saturation
        self._integral = bound.inputs[self.integral_name]
        self._gain = self._limit = np.zeros_like(self._integral)
        self._integrates = False
        self._rest_time = 0.0
        self._time: float | None = None
        self._connect()

    def _connect(self) -> None:
        """Take the buffers that this law alone has."""

    def _apply_integral(self, gain: Array, limit: Array) -> None:
        self._gain, self._limit = gain, limit
        self._integrates = bool(gain.any())
        if not self._integrates:
            self._integral[:] = 0.0

    def _elapsed(self, now: float) -> float:
        """Return the time since the last cycle, which is zero in the first."""
        dt = 0.0 if self._time is None else now - self._time
        self._time = now
        return dt

    def _integrate(self, dt: float, error: Array, saturation: Sequence[float]) -> None:
        self._integral[:] = integrate_error(
            self._integral.tolist(), error.tolist(), gain=self._gain.tolist(), dt=dt,
            limit=self._limit.tolist(), saturation=saturation)


class JointLaw(ReferenceLaw[JointReference]):
    """Computed torque along a joint reference."""

    tracks = True
    integral_name = 'integral'

    def _connect(self) -> None:
        inputs = self.inputs
        self._reference = memoryview(inputs['reference'].reshape(-1))
        self._from_reference = memoryview(self.reference.state.reshape(-1))
        # observed torque that is compensated, N.m; the law of a user knows none
        self.external = inputs.get('external', np.zeros_like(self._integral))

    def enter(self, now: float) -> None:
        """Begin at the present state, and come to rest."""
        self.begin(now, self._joints.qd[self._joints.controlled])

    def begin(self, now: float, qd: Array) -> None:
        """
        Begin at the present position with a given velocity, and come to rest.

        :param now: control time, s.
        :param qd: of the controlled joints.
        """
        self.reference.start(self._joints.q[self._joints.controlled], qd)
        self.reference.rest(now, self._rest_time)
        self._integral[:] = 0.0
        self.external[:] = 0.0
        self.error[:] = 0.0
        self._time = None

    @property
    def rests(self) -> bool:
        """Return whether the reference stands still."""
        return not np.abs(self.reference.state[1]).max() > _REST

    def rest(self, now: float) -> None:
        """Come to rest from the present reference."""
        self.reference.rest(now, self._rest_time)

    def apply(self, settings: Settings) -> None:
        """Take new gains."""
        super().apply(settings)
        self._apply_integral(settings.joints('integral'), settings.joints('integral_limit'))
        self._rest_time = settings.number('switch_time')

    def prepare(self, now: float) -> None:
        """Advance the reference."""
        self.reference.update(now)
        self._reference[:] = self._from_reference

    def finish(self, now: float) -> None:
        """Advance the integral."""
        if self._integrates:
            self._integrate(self._elapsed(now), self.error, self._saturation().tolist())


class TaskLaw(ReferenceLaw[TaskReference]):
    """Operational-space law of the tip."""

    leads = True
    integral_name = 'task_integral'

    def _connect(self) -> None:
        self._lead, self._drift = self.outputs['lead'], self.inputs['drift']
        self._posture: Array | None = None
        self._entered = 0.0
        self._start_speed: Array | None = None  # of the joints, until they rest

    def enter(self, now: float) -> None:
        """Begin at the present pose and posture, and come to rest."""
        self._drift[:] = self._integral[:] = 0.0
        self._time = None
        self.read_state()  # for the pose; the torque is not used
        self.run()
        self.error[:] = 0.0  # it was that of another reference
        R, velocity = self.outputs['R'], self.outputs['velocity']
        self.reference.start(R, self.outputs['p'], np.concatenate([
            R @ velocity[:3], R @ velocity[3:]]), self._rest_time)
        here = self._joints.q[self._joints.controlled]
        self.inputs['posture'][:] = here if self._posture is None else self._posture
        self._entered = now
        self._start_speed = self._joints.qd[self._joints.controlled].copy()

    @property
    def rests(self) -> bool:
        """Return whether the reference stands still and no posture is sought."""
        return (self._posture is None and self._start_speed is None
                and not np.abs(self.reference.velocity).max() > _REST
                and not self.reference.wrench.any())

    def apply(self, settings: Settings) -> None:
        """Take new gains."""
        super().apply(settings)
        self._rest_time = settings.number('switch_time')
        self._apply_integral(settings.six('integral'), settings.six('integral_limit'))
        given = settings.numbers('posture.position')
        self._posture = settings.joints('posture.position') if given else None
        if self._posture is not None:
            self.inputs['posture'][:] = self._posture

    def prepare(self, now: float) -> None:
        """Advance the reference."""
        reference, inputs = self.reference, self.inputs
        reference.update(now)
        if self._start_speed is not None:
            self._come_to_rest(self._start_speed, now)
        inputs['R_ref'][:] = reference.R
        inputs['p_ref'][:] = reference.p
        inputs['velocity_ref'][:] = reference.velocity
        inputs['acceleration_ref'][:] = reference.acceleration
        inputs['wrench'][:] = reference.wrench

    def finish(self, now: float) -> None:
        """Give the reference its lead over the robot, and advance the integral."""
        self.reference.set_lead(self._lead)
        if self._integrates:
            dt = self._elapsed(now)
            if not self._saturation().any():
                self._integrate(dt, self._lead, _FREE)

    def _come_to_rest(self, speed: Array, now: float) -> None:
        """Let joint motion that does not move the frame fade like the motion of the frame."""
        share = 1.0 - smooth_step((now - self._entered) / self._rest_time)
        np.multiply(speed, share, out=self._drift)
        if share == 0.0:
            self._start_speed = None
