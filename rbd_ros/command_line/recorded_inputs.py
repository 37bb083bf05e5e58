# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Recorded messages that a controller got besides joint states, read as its node does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rbd_ros.control.controller import Controller
from rbd_ros.control.interface.payload import payload_vector, PayloadError, rotation
from rbd_ros.control.interface.words import LoadWord
from rbd_ros.control.joint_states.ages import gravity_age
from rbd_ros.control.load.load import find_down, Tilt
from rbd_ros.control.modes import Takes, taking
from rbd_ros.control.parameters.settings import Settings
from rbd_ros.control.payload_check import PayloadCheck
from rbd_ros.control.robot_now import ControlledRobot
from rbd_ros.errors import RbdError
from rbd_ros.nodes.controller.robot_frames import RobotFrames

__all__ = ['INPUTS', 'RecordedInputs']


class RecordedInputs:
    """
    Messages for one controller.

    :param controller: gets them.
    :param clocks: settings of a controller whose sensors may have a clock of their own.
    :param note: called with what cannot be fed, or is refused.
    """

    def __init__(self, controller: Controller, clocks: Settings,
                 note: Callable[[str], None]) -> None:
        self._controller, self._robot, self._note = controller, controller.settings.robot, note
        self._frames = RobotFrames(ControlledRobot(controller))
        self._age, self._tilt = gravity_age(clocks), Tilt({})
        self._payload_check = PayloadCheck(controller)
        #: position and turn of the last pose that came before the replay ran
        self._early: tuple[list[float], list[float]] | None = None
        if controller.settings.text('gravity_source') == 'tf':
            note('gravity_source tf is not replayed: without a gravity direction the replay does '
                 'not start')

    def take(self, topic: str, now: float, message: Any) -> None:
        """
        Take a message.

        :param topic: one of ``INPUTS``.
        :param now: s.
        """
        controller = self._controller
        if topic.startswith('target_') and controller.mode not in taking(
                Takes.TARGET, self._robot.own_modes):
            return  # the recorded controller has not used it either
        try:
            _TAKEN[topic](self, now, message)
        except (RbdError, ValueError) as error:
            self._note(f'~/{topic}: rejected, {error}')
            if topic.startswith('target_'):
                controller.refuse(now, now, str(error))

    def begin(self, now: float) -> None:
        """Let a controller that has begun to work go where the recorded one was sent."""
        if self._early is not None and self._controller.working:
            self._controller.take_pose(now, now, *self._early)
            self._early = None

    def _payload(self, now: float, message: Any) -> None:
        R, p = self._frames.in_payload(message.header.frame_id)
        load, com = message.inertia, message.inertia.com
        wanted = payload_vector(
            load.m, (com.x, com.y, com.z),
            (load.ixx, load.ixy, load.ixz, load.iyy, load.iyz, load.izz), R, p.tolist())
        self._payload_check.check(wanted)
        self._controller.take_payload(now, now, wanted)

    def _reading(self, now: float, message: Any) -> None:
        force, moment, stamp = (message.wrench.force, message.wrench.torque,
                                message.header.stamp)
        self._controller.take_reading(
            now, now, (moment.x, moment.y, moment.z, force.x, force.y, force.z),
            (stamp.sec, stamp.nanosec))

    def _dead_man(self, now: float, message: Any) -> None:
        self._controller.press(now, bool(message.data))

    def _pose(self, now: float, message: Any) -> None:
        from scipy.spatial.transform import Rotation  # slow to import, and seldom needed
        R, p = self._frames.pose(message.header.frame_id)
        there, turn = message.pose.position, message.pose.orientation
        wanted = Rotation.from_matrix(R @ rotation((turn.x, turn.y, turn.z, turn.w)))
        self._early = (p + R @ [there.x, there.y, there.z]).tolist(), wanted.as_quat().tolist()
        self.begin(now)

    def _twist(self, now: float, message: Any) -> None:
        self._controller.take_twist(now, now, self._six(
            message.header.frame_id, message.twist.angular, message.twist.linear))

    def _wrench(self, now: float, message: Any) -> None:
        self._controller.take_wrench(now, now, self._six(
            message.header.frame_id, message.wrench.torque, message.wrench.force))

    def _six(self, frame: str, angular: Any, linear: Any) -> list[float]:
        """Return two vectors in base axes."""
        R, _ = self._frames.pose(frame)
        return [number for each in (angular, linear)
                for number in (R @ [each.x, each.y, each.z]).tolist()]

    def _path(self, now: float, message: Any) -> None:
        """Say that a path is missing, unless what the joints follow tells it."""
        if not self._controller.tracks:
            self._note(f'a path of the tip in mode {self._controller.mode} is not replayed')

    def _imu(self, now: float, message: Any) -> None:
        if self._controller.settings.text('gravity_source') != 'imu':
            return
        tilt, q, stamp = self._tilt, message.orientation, message.header.stamp
        name = message.header.frame_id.lstrip('/')
        if name and self._robot.model.frame(name).body != 0:
            raise PayloadError(f'the IMU is in frame "{name}", which is not fixed to the base')
        tilt.axes[:] = self._frames.pose(name)[0]
        tilt.now, tilt.stamp_s, tilt.stamp_ns = now, stamp.sec, stamp.nanosec
        tilt.missing = message.orientation_covariance[0] == -1.0
        tilt.turn[:] = q.x, q.y, q.z, q.w
        find_down(tilt, *self._age.records)
        if tilt.word:
            raise PayloadError(LoadWord(int(tilt.word)).text('', tilt.a))
        if tilt.fresh:
            self._controller.take_gravity(now, now, tilt.down[3], tilt.down[:3].copy())


_TAKEN: Mapping[str, Callable[[RecordedInputs, float, Any], None]] = {
    'payload': RecordedInputs._payload, 'force_torque': RecordedInputs._reading,
    'dead_man': RecordedInputs._dead_man, 'target_pose': RecordedInputs._pose,
    'target_twist': RecordedInputs._twist, 'target_wrench': RecordedInputs._wrench,
    'cartesian_trajectory': RecordedInputs._path, 'imu': RecordedInputs._imu}

#: topics that are read, without the name of the controller
INPUTS = tuple(_TAKEN)
