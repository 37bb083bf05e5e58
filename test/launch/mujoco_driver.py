# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
The driver of an arm that MuJoCo simulates: a ROS process without any code of rbd_ros.

It publishes ``joint_states`` and takes torques on ``commands``, as joint states. The brakes hold
until the first command; when none comes any more the last torque is kept. Beside what a robot
tells it publishes the truth, every ``truth_divider`` states: ``~/truth`` (JointState: without
noise, the velocity being the largest since the last truth), ``~/tip`` (PoseStamped) and
``~/force`` (WrenchStamped: what the tip exerts on the plate), all in the base. Every parameter is
a field of ``Options`` or of ``PlantOptions``; an empty list means the default.

Its time is that of ``/clock`` and of the stamps. It waits for the command that has the stamp of
the state, for ``answer_wait`` s at most as long as the last one came within ``command_timeout``,
and goes on as soon as that has come: the motion is the same on any machine. It never runs faster
than real time without an answer.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from pathlib import Path
import signal
import threading
import time
from typing import get_type_hints

from benchmark.mujoco_plant import Plant, PlantOptions
from builtin_interfaces.msg import Time
from geometry_msgs.msg import PoseStamped, WrenchStamped
import mujoco
import numpy as np
import rclpy
from rclpy.executors import ExternalShutdownException
from rclpy.experimental.events_executor import EventsExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.signals import SignalHandlerOptions
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState

_SECOND = 1_000_000_000  # ns
_ALL = 5000  # messages that are kept for who is held up


@dataclass(frozen=True)
class Options:
    """What the driver does with the robot."""

    urdf: str = ''  # file
    rate: float = 500.0  # Hz of joint_states
    truth_divider: int = 5  # states per truth
    position_noise: float = 0.0  # rad
    position_resolution: float = 0.0  # rad
    velocity_noise: float = 0.0  # rad/s
    effort: str = 'joint'  # what sensors at the links feel; motor: zero behind brakes
    effort_noise: float = 0.0  # N.m
    brake_delay: float = 0.0  # s from the first command until the brakes open
    command_timeout: float = 0.1  # s
    answer_wait: float = 0.0  # s
    seed: int = 0


class Driver(Node):
    """One arm behind topics."""

    def __init__(self) -> None:
        super().__init__('driver')
        self.options = Options(**self._declare(Options))
        plant = PlantOptions(**self._declare(PlantOptions, joints=[], start=[], tip=''))
        self.plant = Plant(Path(self.options.urdf).read_text(), plant)
        self._substeps = max(1, round(1.0 / (self.options.rate * plant.step)))
        self._random = np.random.default_rng(self.options.seed)
        n = len(plant.joints)
        self._names = [*plant.joints, *self.plant.locked]
        self._arrived = threading.Condition()
        self._command, self._commanded_at, self._fresh = np.zeros(n), 0.0, False
        self._opens_at = np.inf
        self._peak, self._ended, self._stamp = np.zeros(n), False, Time()
        self._states, self._truth = (self.create_publisher(JointState, name, _ALL)
                                     for name in ('joint_states', '~/truth'))
        self._tip = self.create_publisher(PoseStamped, '~/tip', _ALL)
        self._force = self.create_publisher(WrenchStamped, '~/force', _ALL)
        self._ticks = self.create_publisher(Clock, '/clock', 10)
        self.create_subscription(JointState, 'commands', self._on_command, 1)

    def _declare(self, kind: type, **required: object) -> dict[str, object]:
        """Return the parameters of a dataclass; those that are not given keep their defaults."""
        given = {}
        for each in fields(kind):
            hint = str(get_type_hints(kind)[each.name])
            form = next(form for word, form in (
                ('Sequence[str]', Parameter.Type.STRING_ARRAY),
                ('Sequence[float]', Parameter.Type.DOUBLE_ARRAY), ('bool', Parameter.Type.BOOL),
                ('int', Parameter.Type.INTEGER), ('float', Parameter.Type.DOUBLE),
                ('str', Parameter.Type.STRING)) if word in hint)
            value = self.declare_parameter(each.name, form).value
            if value is not None:
                given[each.name] = list(value) if 'Sequence' in hint else value
            elif each.name in required:
                raise ValueError(f'the driver needs the parameter {each.name}')
        return given

    # -- what comes -----------------------------------------------------------------------------

    def _on_command(self, message: JointState) -> None:
        by_name = dict(zip(message.name, message.effort, strict=True))
        torque = np.array([by_name[name] for name in self.plant.options.joints])
        if message.header.stamp != self._stamp:
            return  # it answers a state of the past
        if torque.shape != self._command.shape or not np.isfinite(torque).all():
            self.get_logger().error(f'a command that no driver takes: {torque}')
            return
        with self._arrived:
            now = time.monotonic()
            if self._opens_at == np.inf:
                self._opens_at = now + self.options.brake_delay
            self._command, self._commanded_at, self._fresh = torque, now, True
            self._arrived.notify()

    # -- what the robot does --------------------------------------------------------------------

    def run(self) -> None:
        """Step the robot and publish, until told to end."""
        period, count, due = 1.0 / self.options.rate, 0, time.monotonic()
        self.get_logger().info(f'MuJoCo {mujoco.__version__}: {len(self._command)} joints at '
                               f'{self.options.rate:g} Hz, {asdict(self.options)}')
        while not self._ended:
            self._publish_state()
            if count % self.options.truth_divider == 0:
                self._publish_truth()
            count += 1
            due = max(due + period, time.monotonic() - period)  # no bursts
            if self._wait_for_answer(due):
                due = time.monotonic()
            time.sleep(max(due - time.monotonic(), 0.0))
            self._advance()

    def end(self) -> None:
        """End after this step."""
        self._ended = True

    def _wait_for_answer(self, due: float) -> bool:
        """Wait for a command until the state's time is over, and longer while commands come."""
        with self._arrived:
            flows = time.monotonic() - self._commanded_at < self.options.command_timeout
            end = due + (self.options.answer_wait if flows else 0.0)
            while not (self._fresh or self._ended) and (left := end - time.monotonic()) > 0.0:
                self._arrived.wait(min(left, 0.1))  # a signal that ends the driver wakes nobody
            answered, self._fresh = self._fresh, False
            return answered

    def _advance(self) -> None:
        with self._arrived:
            torque = self._command
            self.plant.brake(time.monotonic() < self._opens_at)
        for _ in range(self._substeps):
            self.plant.step(torque, np.zeros(6))
            self._peak = np.maximum(self._peak, np.abs(self.plant.velocity))

    # -- what it sends --------------------------------------------------------------------------

    def _publish_state(self) -> None:
        o, draw = self.options, self._random.standard_normal
        q, qd = self.plant.position, self.plant.velocity
        effort = (self.plant.motor_torque() if o.effort == 'motor' else
                  self.plant.joint_torque())
        q += o.position_noise * draw(q.shape)
        if o.position_resolution > 0.0:
            q = o.position_resolution * np.round(q / o.position_resolution)
        qd += o.velocity_noise * draw(qd.shape)
        effort = effort + o.effort_noise * draw(effort.shape)
        rest = [0.0] * (len(self._names) - len(q))
        message = JointState(name=self._names, position=[*q.tolist(), *rest],
                             velocity=[*qd.tolist(), *rest], effort=[*effort.tolist(), *rest])
        seconds, ns = divmod(_SECOND + round(_SECOND * self.plant.data.time), _SECOND)
        message.header.stamp = self._stamp = Time(sec=seconds, nanosec=ns)
        self._ticks.publish(Clock(clock=self._stamp))
        self._states.publish(message)

    def _publish_truth(self) -> None:
        tip = self.plant.tip()
        truth = JointState(name=self._names[:len(self._peak)], velocity=self._peak.tolist(),
                           position=self.plant.position.tolist())
        self._peak[:] = 0.0
        pose, force, turn = PoseStamped(), WrenchStamped(), np.zeros(4)
        mujoco.mju_mat2Quat(turn, tip.rotation.ravel())
        at, q, f = pose.pose.position, pose.pose.orientation, force.wrench.force
        at.x, at.y, at.z = tip.position.tolist()
        q.w, q.x, q.y, q.z = turn.tolist()
        f.x, f.y, f.z = tip.force.tolist()
        for message, publisher in ((truth, self._truth), (pose, self._tip), (force, self._force)):
            message.header.stamp = self._stamp
            publisher.publish(message)


def main() -> None:
    """Run the driver until it is told to end."""
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    driver = Driver()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: driver.end())
    executor = EventsExecutor()
    executor.add_node(driver)
    thread = threading.Thread(target=_spin, args=[executor], daemon=True)
    thread.start()
    driver.run()
    rclpy.shutdown()
    thread.join()


def _spin(executor: EventsExecutor) -> None:
    try:
        executor.spin()
    except ExternalShutdownException:
        pass


if __name__ == '__main__':
    main()
