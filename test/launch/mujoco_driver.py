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

"""
The driver of an arm that MuJoCo simulates: a ROS process without any code of rbd_ros.

It publishes ``joint_states`` and takes torques on ``commands``. The brakes hold until the first
command, and do again what ``after_commands`` says when none has come for ``command_timeout``:
'brake' closes them, 'zero' lets go, 'last' keeps the last torque. Beside what a robot tells it
publishes the truth, every ``truth_divider`` states: ``~/truth`` (JointState: without noise, the
velocity being the largest since the last truth, the effort that of the motors), ``~/tip``
(PoseStamped) and ``~/force`` (WrenchStamped: what the tip exerts on the plate), all in the base.
``~/brake`` (SetBool) closes the brakes until told otherwise, ``~/push`` (WrenchStamped, in the
base, at the tip) pushes until the next one. Every parameter is a field of ``Options`` or of
``PlantOptions``; an empty list means the default.

Simulated time never runs faster than real time, and a late step is not made up for: where the
machine stalls, the robot stands still. With ``answer_wait`` the robot also waits for a command to
each state, for so many seconds at most, as long as the last one came: then the load of the
machine does not look like a slow controller. With ``lockstep`` its time is that of ``/clock`` and
of the stamps, it waits for the command that has the stamp of the state, and goes on as soon as
that has come: the motion is the same on any machine.
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
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool

Array = np.ndarray

_SECOND = 1_000_000_000  # ns
_ALL = 5000  # messages that are kept for who is held up


@dataclass(frozen=True)
class Options:
    """What the driver does with the robot."""

    urdf: str = ''  # file
    rate: float = 500.0  # Hz of joint_states
    truth_divider: int = 5  # states per truth
    command_type: str = 'float64_multi_array'  # or joint_state
    adds: str = 'none'  # or gravity, of the robot as described
    effort: str = 'joint'  # what sensors at the links feel; motor: zero behind brakes; none
    position_noise: float = 0.0  # rad
    position_resolution: float = 0.0  # rad
    velocity_noise: float = 0.0  # rad/s
    effort_noise: float = 0.0  # N.m
    publish_locked: bool = True  # whether joints that are not commanded are in joint_states
    brake_delay: float = 0.0  # s from the first command until the brakes open
    command_timeout: float = 0.1  # s
    after_commands: str = 'brake'  # or zero, last
    answer_wait: float = 0.0  # s
    lockstep: bool = False  # commands are joint states then
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
        self._names = list(plant.joints)
        if self.options.publish_locked:
            self._names += self.plant.locked
        self._arrived = threading.Condition()
        self._command, self._commanded_at, self._fresh = np.zeros(n), 0.0, False
        self._opens_at = np.inf
        self._brake_requested, self._push = False, np.zeros(6)
        self._peak, self._ended = np.zeros(n), False
        depth = _ALL if self.options.lockstep else 100
        self._states = self.create_publisher(
            JointState, 'joint_states', _ALL if self.options.lockstep else 10)
        self._truth = self.create_publisher(JointState, '~/truth', depth)
        self._tip = self.create_publisher(PoseStamped, '~/tip', depth)
        self._force = self.create_publisher(WrenchStamped, '~/force', depth)
        self._ticks = self.create_publisher(
            Clock, '/clock', 10) if self.options.lockstep else None
        self._stamp = Time()
        kind = JointState if self.options.command_type == 'joint_state' else Float64MultiArray
        self.create_subscription(kind, 'commands', self._on_command, 1)
        self.create_subscription(WrenchStamped, '~/push', self._on_push, 1)
        self.create_service(SetBool, '~/brake', self._on_brake)

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

    def _on_command(self, message: Float64MultiArray | JointState) -> None:
        if isinstance(message, JointState):
            by_name = dict(zip(message.name, message.effort, strict=True))
            torque = np.array([by_name[name] for name in self.plant.options.joints])
            if self.options.lockstep and message.header.stamp != self._stamp:
                return  # it answers a state of the past
        else:
            torque = np.array(message.data)
        if torque.shape != self._command.shape or not np.isfinite(torque).all():
            self.get_logger().error(f'a command that no driver takes: {torque}')
            return
        with self._arrived:
            now = time.monotonic()
            if self._opens_at == np.inf:
                self._opens_at = now + self.options.brake_delay
            self._command, self._commanded_at, self._fresh = torque, now, True
            self._arrived.notify()

    def _on_push(self, message: WrenchStamped) -> None:
        f, m = message.wrench.force, message.wrench.torque
        self._push = np.array([f.x, f.y, f.z, m.x, m.y, m.z])

    def _on_brake(self, request: SetBool.Request, answer: SetBool.Response) -> SetBool.Response:
        self._brake_requested, answer.success = request.data, True
        return answer

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
            answered = self._wait_for_answer(due)
            if answered and self.options.lockstep:
                due = time.monotonic()
            time.sleep(max(due - time.monotonic(), 0.0))
            self._advance(answered)

    def end(self) -> None:
        """End after this step."""
        self._ended = True

    def _wait_for_answer(self, due: float) -> bool:
        """Wait for a command until the state's time is over, and longer if that is asked for."""
        with self._arrived:
            flowing = self.options.answer_wait > 0.0 and self._flows(time.monotonic())
            end = due + (self.options.answer_wait if flowing else 0.0)
            while not (self._fresh or self._ended) and (left := end - time.monotonic()) > 0.0:
                self._arrived.wait(min(left, 0.1))  # a signal that ends the driver wakes nobody
            answered, self._fresh = self._fresh, False
            return answered

    def _flows(self, now: float) -> bool:
        return now - self._commanded_at < self.options.command_timeout

    def _advance(self, answered: bool) -> None:
        now = time.monotonic()
        with self._arrived:
            torque, flows = self._command, answered or self._flows(now)
            if not flows and self.options.after_commands == 'brake':
                self._opens_at = np.inf  # the next command opens them again
            opened = now >= self._opens_at
        if not flows and self.options.after_commands == 'zero':
            torque = np.zeros_like(torque)
        if self.options.adds == 'gravity':
            torque = torque + self.plant.described_gravity()
        self.plant.brake(self._brake_requested or not opened)
        for _ in range(self._substeps):
            self.plant.step(torque, self._push)
            self._peak = np.maximum(self._peak, np.abs(self.plant.velocity))

    # -- what it sends --------------------------------------------------------------------------

    def _publish_state(self) -> None:
        o, draw = self.options, self._random.standard_normal
        q, qd = self.plant.position, self.plant.velocity
        effort = {'joint': self.plant.joint_torque, 'motor': self.plant.motor_torque,
                  'none': lambda: np.zeros(0)}[o.effort]()
        q += o.position_noise * draw(q.shape)
        if o.position_resolution > 0.0:
            q = o.position_resolution * np.round(q / o.position_resolution)
        qd += o.velocity_noise * draw(qd.shape)
        effort = effort + o.effort_noise * draw(effort.shape)
        rest = [0.0] * (len(self._names) - len(q))
        message = JointState(name=self._names, position=[*q.tolist(), *rest],
                             velocity=[*qd.tolist(), *rest])
        if o.effort != 'none':
            message.effort = [*effort.tolist(), *rest]
        message.header.stamp = self._stamp = self._now()
        if self._ticks is not None:
            self._ticks.publish(Clock(clock=self._stamp))
        self._states.publish(message)

    def _now(self) -> Time:
        if not self.options.lockstep:
            return self.get_clock().now().to_msg()
        seconds, rest = divmod(_SECOND + round(_SECOND * self.plant.data.time), _SECOND)
        return Time(sec=seconds, nanosec=rest)

    def _publish_truth(self) -> None:
        stamp, tip = self._stamp, self.plant.tip()
        truth = JointState(name=self._names[:len(self._peak)], velocity=self._peak.tolist(),
                           position=self.plant.position.tolist(),
                           effort=self.plant.motor_torque().tolist())
        self._peak[:] = 0.0
        pose, force, turn = PoseStamped(), WrenchStamped(), np.zeros(4)
        mujoco.mju_mat2Quat(turn, tip.rotation.ravel())
        at, q, f = pose.pose.position, pose.pose.orientation, force.wrench.force
        at.x, at.y, at.z = tip.position.tolist()
        q.w, q.x, q.y, q.z = turn.tolist()
        f.x, f.y, f.z = tip.force.tolist()
        for message, publisher in ((truth, self._truth), (pose, self._tip), (force, self._force)):
            message.header.stamp = stamp
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
