# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
The simulator node whose periods run in a thread of machine code.

Python takes the simulation back for what the thread does not know: a request, a parameter, and as
long as it is paused, pushed or has noisy readings. A timer of the executor runs it meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rbd_ros.loop.rcl import LoopUnavailable
from rbd_ros.nodes.simulator.node import SILENCE, Simulator, without_effort
from rbd_ros.nodes.simulator.poses import TransformReports
from rbd_ros.sim.native.loop import Endpoints, interruption, obstacle, SimulatorLoop
from rbd_ros.sim.native.records import Defect, Look
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState

if TYPE_CHECKING:
    from geometry_msgs.msg import WrenchStamped
    from rclpy.subscription import Subscription
    from std_srvs.srv import SetBool, Trigger

__all__ = ['NativeSimulator']

#: s between two looks at what the thread does
_ATTEND = 0.05


class NativeSimulator(Simulator):
    """
    A simulator whose periods run without the interpreter's lock, where they can.

    :raises RbdError: with the reason why it does not start.
    """

    def __init__(self) -> None:
        #: the thread; None: the executor runs the simulation
        self.loop: SimulatorLoop | None = None
        self._refused = self._sent = 0
        self._owner: Node | None = None  # of what the thread takes
        super().__init__()
        if self.loop is None:
            return
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(_ATTEND, self._attend, clock=steady)
        if self._reports:
            self.create_timer(1.0 / self._settings.number('tf_rate'), self._report_poses,
                              clock=steady)
        self.loop.start()
        self.get_logger().info('a thread of machine code runs the simulation')
        self._hand_over()

    def _subscribe(self, kind: type, callback: Callable[[bytes], None], quality: QoSProfile,
                   ) -> None:
        """Have commands taken by the thread; by the executor where there cannot be one."""
        why = obstacle(self._simulation)
        if self._settings.text('loop') != 'native':
            why = 'loop is executor'
        elif not self._simulation.sensors.names:
            why = why or 'no joint is measured'
        if not why:
            try:
                self._make_loop(kind, callback, quality)
            except (LoopUnavailable, OSError, TypeError) as error:
                why = str(error)
        if why:
            self.get_logger().info(f'the executor runs the simulation: {why}')
            super()._subscribe(kind, callback, quality)

    def _make_loop(self, kind: type, callback: Callable[[bytes], None], quality: QoSProfile,
                   ) -> None:
        """Subscribe where no executor takes what is for the thread: at a node that has none."""
        self._owner = Node(
            f'{self.get_name()}_loop', namespace=self.get_namespace(),
            use_global_arguments=False, start_parameter_services=False, enable_rosout=False,
            parameter_overrides=[Parameter('start_type_description_service', value=False)])
        self._commands: Subscription = self._owner.create_subscription(
            kind, self.resolve_topic_name('controller/commands'), callback, quality, raw=True)
        self._on_command = callback
        clock = self._clock_publisher
        try:
            self.loop = SimulatorLoop(
                self._simulation, Endpoints(
                    self._commands.handle.pointer, self._states.handle.pointer,
                    0 if clock is None else clock.handle.pointer),
                joint_states=kind is JointState, simulated=self._sim_stamps, silence=SILENCE)
        except BaseException:
            self._owner.destroy_node()
            self._owner = None
            raise

    # -- whose the simulation is --------------------------------------------------------------

    def _hand_over(self) -> None:
        """Give the simulation to the thread, unless it does not know what happens next."""
        assert self.loop is not None
        if interruption(self._simulation):
            if self._ticks.is_canceled():   # to reset one that runs would put its tick off
                self._ticks.reset()
            return
        self._ticks.cancel()
        self._refused = self._simulation.counters.refused
        self.loop.give(self._writer.message, self.last_command, self._deaf_until)

    def _take_back(self) -> None:
        if self.loop is not None and self.loop.away:
            self.loop.take()
            self.last_command, self._deaf_until = self.loop.last_command, self.loop.deaf_until

    @contextmanager
    def _held(self) -> Iterator[None]:
        """Have the simulation for a while, after the commands that came before."""
        self._take_back()
        if self.loop is not None:
            self._take_commands()
        try:
            yield
        finally:
            if self.loop is not None:
                self._hand_over()

    # -- callbacks ----------------------------------------------------------------------------

    def _on_tick(self) -> None:
        if self.loop is None:
            super()._on_tick()
        elif not self.loop.away:
            self._take_commands()
            super()._on_tick()
            if not interruption(self._simulation):
                self._hand_over()

    def _take_commands(self) -> None:
        """Take what nobody has taken meanwhile."""
        while True:
            with self._commands.handle:
                taken = self._commands.handle.take_message(self._commands.msg_type, True)
            if taken is None:
                return
            self._on_command(taken[0])

    def _attend(self) -> None:
        """Say what the thread has seen, and go on where it cannot."""
        if self.loop is None or not self.loop.away:
            return
        seen = self.loop.look().tolist()
        if seen[Look.LAST_COMMAND] > 0.0:
            self.last_command = seen[Look.LAST_COMMAND]
        if seen[Look.REFUSED] > self._refused:
            self._refused = int(seen[Look.REFUSED])
            self._warn(self._reason(int(seen[Look.DEFECT]), int(seen[Look.ABOUT])))
        if seen[Look.FAILED]:
            self._take_back()
            self._simulation.robot.look()

    def _reason(self, defect: int, about: int) -> str:
        """Return why a command was refused."""
        simulation = self._simulation
        if defect == Defect.SIZE:
            return simulation.wrong_size(about)
        if defect == Defect.NOT_FINITE:
            return simulation.not_finite(about)
        if defect == Defect.MISSING:
            return without_effort([name for j, name in enumerate(simulation.joints)
                                   if about >> j & 1])
        return f'a command of {about} bytes is no {self._commands.msg_type.__name__}'

    def _report_poses(self) -> None:
        """Publish the poses of the state that was shown last."""
        if self.loop is None or not self.loop.away:
            return
        seen = self.loop.look()
        if seen[Look.PERIODS] == self._sent or not seen[Look.PERIODS]:
            return
        self._sent = int(seen[Look.PERIODS])
        self.loop.note(seen)
        stamp = self._simulation.time_ns + round(seen[Look.STAMP])
        for each in self._reports:
            if isinstance(each, TransformReports):
                each.send(stamp, seen[len(Look):].copy(), float(seen[Look.ROBOT_TIME]))

    def _on_second(self) -> None:
        if self.loop is not None and self.loop.away:
            self.loop.note(self.loop.look())
        super()._on_second()

    def _on_wrench(self, message: WrenchStamped) -> None:
        with self._held():
            super()._on_wrench(message)

    def _on_pause(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        with self._held():
            return super()._on_pause(request, response)

    def _on_step(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        with self._held():
            return super()._on_step(request, response)

    def _on_reset(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        with self._held():
            return super()._on_reset(request, response)

    def _apply(self, changes: list[Parameter]) -> None:
        with self._held():
            super()._apply(changes)

    def destroy_node(self) -> None:
        """Destroy all handles, unless the thread still uses them."""
        if self.loop is None:
            if self._owner is not None:
                self._owner.destroy_node()
            super().destroy_node()

    def summary(self) -> str:
        """End the thread, and return what happened."""
        if self.loop is not None and self.loop.close():
            self.loop = None
        return super().summary()
