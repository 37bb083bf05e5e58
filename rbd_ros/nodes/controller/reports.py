# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
The dynamics as topics, the controller's state and the observed external forces.

The control thread leaves snapshots; here, in the other thread, a kernel of its own computes what
is published about them, so that publishing many messages never delays a torque.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
import time
from typing import TYPE_CHECKING

from builtin_interfaces.msg import Duration, Time
from control_msgs.msg import JointTrajectoryControllerState
from geometry_msgs.msg import PoseStamped, TwistStamped, WrenchStamped
import numpy as np
import numpy.typing as npt
from rbd_ros.control.observers.external import external_wrench, ExternalTorque
from rclpy.clock import Clock, ClockType
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, Header, MultiArrayDimension

if TYPE_CHECKING:
    from rbd_ros.compiler import Bound
    from rbd_ros.control.controller import Controller
    from rbd_ros.control.snapshots import Snapshot
    from rclpy.node import Node
    from rclpy.publisher import Publisher

__all__ = ['Reports', 'quaternion']

Array = npt.NDArray[np.float64]

#: s between two looks at the snapshots: while no topic needs them, and while one does
_PERIOD, _FAST_PERIOD = 0.1, 0.005
_MAX_TIME = 0.01  # s to spend on snapshots at once
#: topics of arrays, and what of the kernel each has
_MATRICES = {'dynamics/mass_matrix': 'H', 'dynamics/gravity': 'gravity',
             'dynamics/coriolis': 'coriolis', 'dynamics/jacobian': 'J',
             'operational_space/inertia': 'Lambda', 'operational_space/bias': 'task_bias',
             'operational_space/condition': 'condition', 'operational_space/lost': 'lost'}
#: what has a value wherever the robot's motion is determined
_DYNAMICS = ('H', 'gravity', 'coriolis', 'bias', 'J', 'R', 'p', 'velocity')
#: s that a message of a duration has room for
_LONGEST = 2.0**31


def quaternion(R: Array) -> tuple[float, float, float, float]:
    """
    Return x, y, z, w of a rotation matrix.

    :param R: axes of the frame as columns.
    """
    w = np.array([1.0 + R[0, 0] - R[1, 1] - R[2, 2], 1.0 - R[0, 0] + R[1, 1] - R[2, 2],
                  1.0 - R[0, 0] - R[1, 1] + R[2, 2], 1.0 + R[0, 0] + R[1, 1] + R[2, 2]])
    k = int(w.argmax())  # the largest part gives the others without loss
    x, y, z = R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]
    xy, xz, yz = R[0, 1] + R[1, 0], R[0, 2] + R[2, 0], R[1, 2] + R[2, 1]
    parts = ((w[0], xy, xz, x), (xy, w[1], yz, y), (xz, yz, w[2], z), (x, y, z, w[3]))[k]
    scaled = np.array(parts) / (2.0 * np.sqrt(w[k]))
    return tuple(scaled.tolist())


def labelled(values: Array, labels: Sequence[str]) -> Float64MultiArray:
    """
    Return an array message, row by row, with a label on every dimension.

    :param values: array.
    :param labels: one per dimension: what its entries are, separated by commas.
    """
    message = Float64MultiArray(data=values.ravel().tolist())
    stride = values.size
    for label, size in zip(labels, values.shape):
        message.layout.dim.append(MultiArrayDimension(label=label, size=size, stride=stride))
        stride //= size
    return message


def _duration(time: float) -> Duration:
    """Return a time as a message; one for which it has no room is zero, which is unknown."""
    if not 0.0 <= time < _LONGEST:
        return Duration()
    return Duration(sec=int(time), nanosec=int(1e9 * (time - int(time))))


class Reports:
    """Publish what is known of the robot at a divided rate."""

    def __init__(self, node: Node, controller: Controller, bound: Bound) -> None:
        """
        Create the topics.

        :param node: the lifecycle node.
        :param controller: leaves the snapshots.
        :param bound: kernel 'report'.
        """
        self._node, self._controller, self._bound = node, controller, bound
        robot = controller.settings.robot
        self._names = list(controller.intake.joints)
        self._joints = list(robot.joints)
        self._index = list(robot.index)
        self._continuous = np.array(robot.continuous, dtype=bool)
        self._base, self._tip = robot.model.body_names[0], robot.tip
        self._observer = ExternalTorque(bound, len(self._joints))
        self._time: float | None = None
        self._heard: set[Publisher] = set()  # to what somebody listened, and when that was seen
        self._looked = -_PERIOD
        self._states = 0
        self._ended = False
        create = node.create_publisher
        self._state = create(JointState, '~/dynamics/joint_state', 10)
        self._arrays = {name: create(Float64MultiArray, f'~/{name}', 10) for name in _MATRICES}
        self._pose = create(PoseStamped, '~/frame_pose', 10)
        self._twist = create(TwistStamped, '~/frame_twist', 10)
        self._torque = create(JointState, '~/external_torque', 10)
        self._wrench = create(WrenchStamped, '~/external_wrench', 10)
        self._measured = (create(WrenchStamped, '~/measured_wrench', 10) if robot.sensor else None)
        self._control = create(JointTrajectoryControllerState, '~/controller_state', 10)
        self._publishers = [self._state, *self._arrays.values(), self._pose, self._twist,
                            self._torque, self._wrench, self._control]
        if self._measured is not None:
            self._publishers.append(self._measured)
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._timer = node.create_timer(_PERIOD, self.drain, clock=steady)
        self._fast_timer = node.create_timer(_FAST_PERIOD, self.drain, clock=steady,
                                             autostart=False)
        joints = ','.join(self._joints)
        axes = ','.join(controller.settings.task_axes)
        six = 'rx,ry,rz,x,y,z'
        self._labels = {
            'dynamics/mass_matrix': (joints, joints), 'dynamics/gravity': (joints,),
            'dynamics/coriolis': (joints,), 'dynamics/jacobian': (six, joints),
            'operational_space/inertia': (axes, axes), 'operational_space/bias': (axes,),
            'operational_space/condition': ('condition',), 'operational_space/lost': (axes,)}

    def destroy(self) -> None:
        """End publishing."""
        self._ended = True
        for timer in (self._timer, self._fast_timer):
            self._node.destroy_timer(timer)
        for publisher in self._publishers:
            self._node.destroy_publisher(publisher)

    def drain(self) -> None:
        """Publish what the snapshots ask for."""
        if self._ended:  # the executor may still call a timer that is destroyed
            return
        snapshots = self._controller.snapshots.kept
        settings = self._controller.settings
        dynamics, state = settings.integer('dynamics_divider'), settings.integer('state_divider')
        step = settings.report_divider
        state = state if self._control.get_subscription_count() else 0
        if dynamics and not self._is_heard():
            dynamics = 0
            self._forget()
        wanted = self._controller.snapshots.watched = bool(state or dynamics)
        if wanted is self._fast_timer.is_canceled():
            (self._fast_timer.reset if wanted else self._fast_timer.cancel)()
        if not wanted:
            snapshots.clear()
        end = time.monotonic() + _MAX_TIME
        # States may arrive faster than they can be reported: leave time for other callbacks.
        for _ in range(len(snapshots)):
            if time.monotonic() > end:
                break
            snapshot = snapshots.popleft()
            before, self._states = self._states, self._states + step
            header = Header(stamp=Time(sec=snapshot.stamp[0], nanosec=snapshot.stamp[1]))
            if state and before // state != self._states // state:
                self._control.publish(self._controller_state(snapshot, header))
            if dynamics and before // dynamics != self._states // dynamics:
                self._publish_dynamics(snapshot, header)

    def _is_heard(self) -> bool:
        """Return whether somebody listens to the dynamics."""
        now = time.monotonic()
        if now - self._looked >= _PERIOD:
            self._looked = now
            self._heard = {each for each in self._publishers if each.get_subscription_count()}
        return bool(self._heard - {self._control})

    def _say(self, publisher: Publisher, make: Callable[[], object]) -> None:
        """Publish a message that somebody listens to."""
        if publisher in self._heard:
            publisher.publish(make())

    def _publish_dynamics(self, snapshot: Snapshot, header: Header) -> None:
        """Publish one state and what somebody wants of all that follows, the state first."""
        inputs, out = self._bound.inputs, self._bound.outputs
        sensed = snapshot.wrench
        if self._measured is not None and sensed is not None:
            self._say(self._measured, lambda: self._message_of(header, sensed))
        inputs['q'][:], inputs['qd'][:] = snapshot.q, snapshot.qd
        inputs['gravity'][:], inputs['payload'][:] = snapshot.gravity, snapshot.payload
        inputs['max_condition'][:] = self._controller.settings.number('task.max_condition')
        self._bound()
        self._say(self._state, lambda: JointState(
            header=header, name=self._names, position=snapshot.q.tolist(),
            velocity=snapshot.qd.tolist()))
        if not all(np.isfinite(out[name]).all() for name in _DYNAMICS):
            self._forget()  # such as closed loops at a singular position
            return
        for name, key in _MATRICES.items():
            self._say(self._arrays[name], partial(labelled, out[key], self._labels[name]))
        self._say(self._pose, lambda: self._pose_of(header, out))
        self._say(self._twist, lambda: self._twist_of(header, out))
        self._publish_external(snapshot, header, out['J'])

    def _pose_of(self, header: Header, out: dict[str, Array]) -> PoseStamped:
        pose = PoseStamped(header=Header(stamp=header.stamp, frame_id=self._base))
        position, turn = pose.pose.position, pose.pose.orientation
        position.x, position.y, position.z = out['p'].tolist()
        turn.x, turn.y, turn.z, turn.w = quaternion(out['R'])
        return pose

    def _twist_of(self, header: Header, out: dict[str, Array]) -> TwistStamped:
        twist = TwistStamped(header=Header(stamp=header.stamp, frame_id=self._tip))
        angular, linear = twist.twist.angular, twist.twist.linear
        (angular.x, angular.y, angular.z,
         linear.x, linear.y, linear.z) = out['velocity'].tolist()
        return twist

    def _publish_external(self, snapshot: Snapshot, header: Header, J: Array) -> None:
        """Observe the external torque; without commands there is nothing to compare with."""
        before, self._time = self._time, snapshot.now
        if snapshot.torque is None:
            self._observer.reset()
            return
        dt = 0.0 if before is None else snapshot.now - before
        torque = self._observer.update(snapshot.qd[self._index], snapshot.torque, dt,
                                       self._controller.settings.joints('observer_gain'))
        self._say(self._torque, lambda: JointState(
            header=header, name=self._joints, effort=torque.tolist()))
        self._say(self._wrench, lambda: self._wrench_of(header, J, torque))

    def _wrench_of(self, header: Header, J: Array, torque: Array) -> WrenchStamped:
        return self._message_of(header, external_wrench(J, torque)[0])

    def _message_of(self, header: Header, wrench: Array) -> WrenchStamped:
        message = WrenchStamped(header=Header(stamp=header.stamp, frame_id=self._tip))
        moment, force = message.wrench.torque, message.wrench.force
        moment.x, moment.y, moment.z, force.x, force.y, force.z = wrench.tolist()
        return message

    def _forget(self) -> None:
        """Begin the observation anew after a gap."""
        self._observer.reset()
        self._time = None

    def _controller_state(self, snapshot: Snapshot,
                          header: Header) -> JointTrajectoryControllerState:
        message = JointTrajectoryControllerState(header=header, joint_names=self._joints)
        q, qd = snapshot.q[self._index], snapshot.qd[self._index]
        message.feedback.positions, message.feedback.velocities = q.tolist(), qd.tolist()
        # The control time at which the state was taken: a late one has an older stamp, and rbd
        # replay goes by this clock.
        message.feedback.time_from_start = _duration(snapshot.now)
        message.output.effort = snapshot.sent.tolist()
        if snapshot.reference is not None:
            reference = snapshot.reference
            message.reference.positions = reference[0].tolist()
            message.reference.velocities = reference[1].tolist()
            message.reference.accelerations = reference[2].tolist()
            error = reference[0] - q
            turns = self._continuous
            error[turns] = np.remainder(error[turns] + np.pi, 2 * np.pi) - np.pi
            message.error.positions = error.tolist()
            message.error.velocities = (reference[1] - qd).tolist()
        return message
