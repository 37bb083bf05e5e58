# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""A robot that planned motions are sent to; on the way its joint states can be recorded."""

from __future__ import annotations

import math
import os
from pathlib import Path
import signal
import threading
import time
from typing import Any, Protocol, TYPE_CHECKING

from builtin_interfaces.msg import Duration
from control_msgs.action import FollowJointTrajectory
import numpy as np
import numpy.typing as npt
from rbd_ros.errors import RbdError
from rbd_ros.nodes.goal_signs import ClientSigns
from rbd_ros.nodes.own_node import OwnNode
from rbd_ros.signals import halts_noted, noted
from rclpy.action import ActionClient
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ['DrivenRobot']

Array = npt.NDArray[np.float64]

WAIT = 10.0  # s for the robot and its controller to be there
SPARE = 20.0  # s after the end of a motion within which its result must come
#: s to wait for the answer to a goal that is to be cancelled, and to its cancelling
_WITHDRAWAL, _CANCELLING = 5.0, 2.0
_CANCELLED = 'the motion was cancelled'
#: what a motion that failed by a tolerance means, and what to do, of the name of the controller
_OFF = {
    FollowJointTrajectory.Result.GOAL_TOLERANCE_VIOLATED:
        '; the motion is over, and the robot is held near its end. If friction or a load keeps it '
        'away, raise tolerance.goal_time, tolerance.goal or integral of {}',
    FollowJointTrajectory.Result.PATH_TOLERANCE_VIOLATED:
        '; the robot was brought to rest and is held. If nothing is in its way, raise '
        'tolerance.path of {}'}
_KIND = 'sensor_msgs/msg/JointState'


class _Motion(Protocol):

    @property
    def t(self) -> Array: ...
    @property
    def q(self) -> Array: ...
    @property
    def qd(self) -> Array: ...
    @property
    def qdd(self) -> Array: ...


class _Lost(RbdError):
    """A motion of which nobody knows what has become of it; it is cancelled."""


class DrivenRobot(OwnNode):
    """
    A robot that planned motions are sent to, by the action of its controller.

    :param joints: names, in the order of the motions.
    :param action: name of the action.
    :param topic: of the joint states.
    :param wait: s for the robot and its controller to be there.
    :param spare: s after the end of a motion within which its result must come.
    """

    def __init__(self, joints: Sequence[str], action: str, topic: str,
                 wait: float = WAIT, spare: float = SPARE) -> None:
        super().__init__('rbd_drive')
        self._joints, self._topic = list(joints), topic
        self._patience, self._spare = wait, spare
        self._states: list[JointState] = []
        self._recording = False
        #: whether somebody wants a motion to be cancelled
        self.ended: Callable[[], bool] = lambda: False
        self._last: JointState | None = None  # since when all joints are known
        self._here: dict[str, float] = {}
        self._lasts = self._end = 0.0  # s of the motion; stamp by which it must have ended
        self._sent = False  # whether it was asked to move
        self._confirmed = True  # whether the controller has answered that it cancels
        self._subscription = self._subscribe()
        self._action, self._client = action, ActionClient(
            self._node, FollowJointTrajectory, action)
        self._signs = ClientSigns(self._node, action)
        self._pause = self._node.create_client(SetBool, f'{action.rpartition("/")[0]}/pause')
        self._halt = threading.Event()  # whether this program shall stand still

    def _subscribe(self) -> Any:
        return self._node.create_subscription(JointState, self._topic, self._take, QoSProfile(
            depth=10000, reliability=ReliabilityPolicy.BEST_EFFORT))

    def _hear(self) -> None:
        """Take a state of now: others may have waited to be read since somebody was asked."""
        self._node.destroy_subscription(self._subscription)
        self._last, self._here, self._subscription = None, {}, self._subscribe()
        self._wait(lambda: self._last is not None, self._patience,
                   f'no joint states of {", ".join(self._joints)} on {self._topic} within '
                   f'{self._patience:g} s; start the driver, or give --topic')

    def _take(self, message: JointState) -> None:
        """Take what is known of the joints; several drivers may publish some of them each."""
        told = {name: place for name, place in zip(message.name, message.position)
                if name in self._joints and math.isfinite(place)}
        self._here |= told
        if told and len(self._here) == len(self._joints):
            self._last = message
        if told and self._recording:
            self._states.append(message)

    def _wait(self, done: Callable[[], bool], seconds: float, what: str,
              kind: type[RbdError] = RbdError) -> None:
        end = time.monotonic() + seconds
        while not done():
            if self.ended():
                raise RbdError(_CANCELLED)
            if time.monotonic() > end:
                raise kind(what)
            self._executor.spin_once(timeout_sec=0.1)

    def position(self) -> Array:
        """Return where the robot is, in the order of the joints."""
        self._hear()
        return np.array([self._here[name] for name in self._joints], float)

    def follow(self, motion: _Motion, record: Path | None = None) -> None:
        """
        Follow a motion to its end.

        An interruption, such as Ctrl-C, cancels it, also one that comes before the controller has
        answered: it then stops and holds. Ctrl-Z has it come to rest on its path; it goes on with
        the program. If the program ends or stands still without a word, the controller cancels it.

        :param record: folder of a bag that gets the joint states, also of a motion that failed.
        :raises RbdError: if the controller refuses or aborts it, with its reason.
        """
        self._wait(self._client.server_is_ready, self._patience,
                   f'no action server at {self._action}; start the controller, or give --action')
        self._wait(self._signs.are_heard, self._patience,
                   f'{self._action} does not hear that this program is alive')
        goal = FollowJointTrajectory.Goal(trajectory=self._message(motion))
        self._hear()
        self._states = []
        self._sent = True
        self._lasts, self._end = float(motion.t[-1]), -math.inf
        sent = None
        try:
            with noted() as interrupted:  # what is sent must be known here, or nobody cancels it
                sent = self._client.send_goal_async(goal, feedback_callback=self._on_feedback,
                                                    goal_uuid=self._signs.promise())
            if interrupted.is_set():
                raise KeyboardInterrupt
            self._wait(sent.done, self._patience, f'{self._action} does not answer', _Lost)
            if not sent.result().accepted:
                raise RbdError(f'{self._action} rejected the motion; is the controller active?')
            result = sent.result().get_result_async()
            self._recording = record is not None
            begin = self._stamp()
            self._end = max(self._end, begin + self._lasts + self._spare)
            with halts_noted() as self._halt:
                self._wait_for_end(result.done)
            if result.result().result.error_code == FollowJointTrajectory.Result.SUCCESSFUL:
                # states that came before the result may still wait to be read
                self._wait_for_end(lambda: self._stamp() >= begin + self._lasts)
        except BaseException as error:
            if sent is not None:
                self._withdraw(sent)
            if isinstance(error, _Lost) or (
                    isinstance(error, RbdError) and not self._confirmed):
                raise RbdError(f'{error}; {self.ending()}') from None
            raise
        finally:
            self._recording = False
            if record is not None and self._states:
                write_states(record, self._topic, self._states)
        answer = result.result().result
        if answer.error_code != FollowJointTrajectory.Result.SUCCESSFUL:
            node = self._action.rpartition('/')[0]
            todo = f'; {node}/reset: ros2 service call {node}/reset std_srvs/srv/Trigger' if (
                '~/reset' in answer.error_string) else _OFF.get(answer.error_code, '').format(node)
            raise RbdError(f'the controller ended the motion: {answer.error_string} (code '
                           f'{answer.error_code}){todo}')

    def _on_feedback(self, message: FollowJointTrajectory.Impl.FeedbackMessage) -> None:
        """Have more time where a motion is paused, or slowed down: it is behind its times."""
        self._signs.answer(message)
        since = message.feedback.desired.time_from_start
        left = self._lasts - (since.sec + 1e-9 * since.nanosec)
        if 0.0 < left < self._lasts:  # others tell no time
            self._end = max(self._end, self._stamp() + left + self._spare)

    def _wait_for_end(self, done: Callable[[], bool]) -> None:
        """Wait for the end of a motion, by the stamps of the states: a simulation may be slow."""
        heard, last = time.monotonic(), self._stamp()
        while not done():
            self._executor.spin_once(timeout_sec=0.1)
            if self.ended():
                raise RbdError(_CANCELLED)
            if self._halt.is_set():
                self._stand_still()
                heard = time.monotonic()
            if self._stamp() > last:  # a driver that repeats its last state is no news
                last, heard = self._stamp(), time.monotonic()
            if time.monotonic() > heard + self._patience:
                raise _Lost(f'no joint states on {self._topic} for {self._patience:g} s')
            if self._stamp() > self._end:
                raise _Lost('the motion has not ended in time')

    def _stand_still(self) -> None:
        """Halt as after Ctrl-Z, with the robot at rest on its path; later let it go on."""
        self._halt.clear()
        if not self._ask_to_pause(True):
            raise RbdError(f'{_CANCELLED}: {self._action} has no pause for Ctrl-Z')
        os.kill(os.getpid(), signal.SIGSTOP)
        if not self._ask_to_pause(False):
            raise _Lost('the motion does not go on')

    def _ask_to_pause(self, paused: bool) -> bool:
        if not self._pause.service_is_ready():
            return False
        answer = self._pause.call_async(SetBool.Request(data=paused))
        return self._spin_until(answer.done, _CANCELLING) and bool(answer.result().success)

    def _stamp(self) -> float:
        """Return the time of the last state, s; that of this machine where states have none."""
        stamp = None if self._last is None else self._last.header.stamp
        if stamp is None or (stamp.sec == 0 and stamp.nanosec == 0):
            return time.monotonic()
        return float(stamp.sec + 1e-9 * stamp.nanosec)

    def ending(self) -> str:
        """Return what becomes of a motion that was interrupted."""
        if not self._sent:
            return 'the robot has not moved'
        if self._confirmed:
            return 'cancelled: the controller brings the robot to rest and holds it'
        node = self._action.rpartition('/')[0]
        return (f'{self._action} has not confirmed that it cancels the motion: the robot may '
                f'still move. Stop it: ros2 service call {node}/stop std_srvs/srv/Trigger')

    def _withdraw(self, sent: Any) -> None:
        """Cancel a goal, also one that is not answered yet: accepted later, it would move."""
        self._confirmed = self._spin_until(sent.done, _WITHDRAWAL)
        if self._confirmed and sent.result().accepted:
            cancelled = sent.result().cancel_goal_async()
            self._confirmed = self._spin_until(cancelled.done, _CANCELLING)
            if self._confirmed and not cancelled.result().goals_canceling:  # is it over?
                over = sent.result().get_result_async()
                self._confirmed = self._spin_until(over.done, _CANCELLING)

    def _spin_until(self, done: Callable[[], bool], seconds: float) -> bool:
        """Return whether it came to pass; a second Ctrl-C leaves no goal behind either."""
        end = time.monotonic() + seconds
        while True:
            try:
                while not done() and time.monotonic() < end:
                    self._executor.spin_once(timeout_sec=0.1)
                return done()
            except KeyboardInterrupt:
                continue

    def _message(self, motion: _Motion) -> JointTrajectory:
        points = []
        for t, q, qd, qdd in zip(motion.t, motion.q, motion.qd, motion.qdd):
            if t > 0.0:
                sec, nanosec = divmod(round(1e9 * t), 10**9)
                points.append(JointTrajectoryPoint(
                    positions=q.tolist(), velocities=qd.tolist(), accelerations=qdd.tolist(),
                    time_from_start=Duration(sec=sec, nanosec=nanosec)))
        return JointTrajectory(joint_names=self._joints, points=points)


def write_states(folder: Path, topic: str, states: Sequence[JointState]) -> None:
    """
    Write joint states as a bag.

    :param folder: which does not exist yet.
    """
    from rosbags.rosbag2 import Writer

    from rbd_ros.identification.bag import typestore
    with Writer(folder, version=9) as writer:
        connection = writer.add_connection(topic, _KIND, typestore=typestore())
        for state in states:
            stamp = state.header.stamp
            writer.write(connection, stamp.sec * 10**9 + stamp.nanosec, serialize_message(state))
