# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The simulator node: a driver stand-in with real dynamics, torques in, joint states out."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import WrenchStamped
import numpy as np
from rbd_ros.errors import RbdError
from rbd_ros.model.urdf import load_urdf
from rbd_ros.nodes.compiling import telling_of_compiling
from rbd_ros.nodes.description import description_text
from rbd_ros.nodes.log import printable
from rbd_ros.nodes.simulator import parameters
from rbd_ros.nodes.simulator.contacts import ContactReports
from rbd_ros.nodes.simulator.messages import (
    Diagnosis, endpoint_node_name, time_message, with_built_in_pose)
from rbd_ros.nodes.simulator.poses import BaseReports, TransformReports
from rbd_ros.nodes.simulator.wire import motor_rows, read_array, StateWriter
from rbd_ros.sim import Frames, Sensors, SETTINGS, Settings, SimulatedRobot, Simulation
from rbd_ros.sim.floating import base_body
from rbd_ros.sim.motor_gains import GainCheck
from rbd_ros.wire.messages import MOTOR_WORDS
from rbd_ros.wire.reading import JointStateReader
from rcl_interfaces.msg import SetParametersResult
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.serialization import deserialize_message
from rosgraph_msgs.msg import Clock as ClockMessage
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from std_srvs.srv import SetBool, Trigger

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from rbd_ros.sim import Sample
    from rclpy.parameter import Parameter

#: After a reset, s: a stream of commands is ignored until it pauses so long, or for this time.
SILENCE, DEAF_TIME = 0.15, 3.0
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
BEST_EFFORT = QoSProfile(depth=10, reliability=ReliabilityPolicy.BEST_EFFORT)


class Simulator(Node):
    """
    Simulate the described robot and stand in for its driver.

    :raises RbdError: with the reason why it does not start.
    """

    def __init__(self) -> None:
        super().__init__('simulator')
        parameters.declare(self, SETTINGS)
        self._settings = Settings(with_built_in_pose(parameters.values(self, SETTINGS)))
        self._refuse_second_publisher()
        text = description_text(self._settings.text('robot_description'),
                                self._settings.text('robot_description_file'))
        with telling_of_compiling(self):
            self._simulation = self._build(text)
        self.last_command = -math.inf  # steady time of the last command, s
        self._deaf_until = -math.inf  # steady time until which a stream of commands is ignored, s
        self._sim_stamps = self._settings.flag('lockstep') or self._settings.flag('publish_clock')
        self._make_publishers(text)
        self._make_inputs()
        schedule = self._settings.schedule()
        period = schedule.period_ns * 1e-9 / schedule.speed
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._ticks = self.create_timer(period, self._on_tick, clock=steady)
        self.create_timer(1.0, self._on_second, clock=steady)
        self.add_on_set_parameters_callback(self._check_changes)
        self.add_post_set_parameters_callback(self._apply)

    # --- start --------------------------------------------------------------------------------

    def _refuse_second_publisher(self) -> None:
        """Look for another publisher of joint_states as long as discovery may take."""
        topic = self.resolve_topic_name('joint_states')
        end = time.monotonic() + self._settings.number('discovery_time')
        while True:
            others = self.get_publishers_info_by_topic(topic)
            if others:
                time.sleep(0.5)         # the name of a node is discovered after its topics
                others = self.get_publishers_info_by_topic(topic) or others
                names = ', '.join(sorted(endpoint_node_name(info) for info in others))
                raise RbdError(
                    f'{topic} already has a publisher ({names}): a simulated robot next to '
                    'another driver would mix two robots; stop it, use another namespace, or '
                    'wait about 20 s if it was killed')
            if time.monotonic() >= end:
                return
            time.sleep(0.02)

    def _build(self, text: str) -> Simulation:
        settings, begin = self._settings, time.monotonic()
        model = settings.model(load_urdf(text, settings.flag('floating_base'),
                                         limits_optional=True))
        world = settings.world(text, model)
        robot = SimulatedRobot(model, physics=settings.physics(model), world=world)
        robot.place(settings.start_position(model, robot.q, world),
                    fixed=settings.placed_joints(model))
        frames = Frames(model)
        self._frames = frames
        self._gains = None if model.loops or not settings.motors_close_loops else GainCheck(
            model, settings.joints(model), settings.integer('substeps'),
            1.0 / (settings.number('state_rate') * settings.integer('substeps')))
        simulation = Simulation(
            robot, Sensors(robot, settings.imperfections()), settings.joints(model),
            settings.schedule(), frames=frames, motors=settings.motors_close_loops,
            start_ns=0 if self._settings.flag('publish_clock') else time.time_ns())
        self.get_logger().info(
            f'simulating "{model.name}" ({model.nv} degrees of freedom) at '
            f'{settings.number("state_rate"):g} Hz with {settings.text("integrator")}, '
            f'{settings.integer("substeps")} step(s) per state; ready in '
            f'{time.monotonic() - begin:.2f} s')
        braked = 'held by brakes until the first command'
        state = braked if settings.flag('brakes') else 'not braked'
        self.get_logger().info(f'commands for {", ".join(simulation.joints)}; {state}')
        return simulation

    def _make_publishers(self, text: str) -> None:
        self._states = self.create_publisher(JointState, 'joint_states', 10)
        self._make_writer()
        self._diagnostics = self.create_publisher(DiagnosticArray, '/diagnostics', 10)
        self._diagnosis = Diagnosis(self.get_fully_qualified_name(), self._simulation)
        self._clock_message, self._clock_publisher = ClockMessage(), None
        if self._settings.flag('publish_clock'):
            self._clock_publisher = self.create_publisher(ClockMessage, '/clock', 10)
        if self._settings.flag('publish_description'):
            self._description = self.create_publisher(String, 'robot_description', LATCHED)
            self._description.publish(String(data=text))
        robot = self._simulation.robot
        self._base = BaseReports(self, robot.model) if base_body(robot.model) else None
        self._reports: list[TransformReports | ContactReports] = []
        if robot.world is not None:
            self._reports.append(
                ContactReports(self, robot, self._frames, self._states_per_report('contact_rate')))
        if self._settings.flag('publish_tf'):
            self._reports.append(TransformReports(
                self, robot, self._frames, self._states_per_report('tf_rate'), self._now()))

    def _states_per_report(self, name: str) -> int:
        """Return how many states there are between two reports at a rate."""
        return max(1, round(self._settings.number('state_rate') / self._settings.number(name)))

    def _make_writer(self) -> None:
        x = self._settings.imperfections()
        self._writer = StateWriter(self._simulation.sensors.names,
                                   velocity=x.velocity != 'none', effort=x.effort != 'none')

    def _make_inputs(self) -> None:
        # Best effort takes commands of any publisher; lockstep cannot afford to lose one.
        quality = QoSProfile(depth=10) if self._settings.flag('lockstep') else BEST_EFFORT
        self._reader = JointStateReader()
        kind, callback = {
            'float64_multi_array': (Float64MultiArray, self._on_array_command),
            'joint_state': (JointState, self._on_joint_command),
            'motor_array': (Float64MultiArray, self._on_motor_array),
            'motor_joint_state': (JointState, self._on_motor_state),
        }[self._settings.text('command_type')]
        self._subscribe(kind, callback, quality)
        self.create_subscription(WrenchStamped, '~/wrench', self._on_wrench, 10)
        self.create_service(SetBool, '~/pause', self._on_pause)
        self.create_service(Trigger, '~/step', self._on_step)
        self.create_service(Trigger, '~/reset', self._on_reset)

    def _subscribe(self, kind: type, callback: Callable[[bytes], None], quality: QoSProfile,
                   ) -> None:
        """Have commands brought to a callback."""
        self.create_subscription(kind, 'controller/commands', callback, quality, raw=True)

    # --- time ---------------------------------------------------------------------------------

    def _on_tick(self) -> None:
        self._publish(self._simulation.tick(time.monotonic()))

    def _publish(self, sample: Sample | None) -> None:
        if sample is None:
            return
        simulation = self._simulation
        if self._clock_publisher is not None:
            clock = self._clock_message.clock
            clock.sec, clock.nanosec = divmod(simulation.time_ns, 1_000_000_000)
            self._clock_publisher.publish(self._clock_message)
        stamp = sample.time_ns
        if not self._sim_stamps:
            stamp += time.time_ns() - simulation.time_ns
        if self._base is not None:
            self._base.report(stamp, sample)
        self._states.publish(self._writer.write(stamp, sample))
        for reports in self._reports:
            reports.report(stamp)

    def _now(self) -> Time:
        return time_message(self._simulation.time_ns if self._sim_stamps else time.time_ns())

    # --- inputs -------------------------------------------------------------------------------

    def _on_array_command(self, data: bytes) -> None:
        self._command(read_array(data), None)

    def _on_motor_array(self, data: bytes) -> None:
        values = read_array(data)
        if len(values) == len(MOTOR_WORDS) * len(self._simulation.joints):
            values = values.reshape(-1, len(MOTOR_WORDS))
            self._look_at_gains(values)
        self._command(values, None)

    def _on_motor_state(self, data: bytes) -> None:
        message = deserialize_message(data, JointState)
        rows, missing = motor_rows(message, self._simulation.joints)
        if missing:
            self._simulation.counters.refused += 1
            self._warn(f'a command without {", ".join(missing)} is ignored; for motors each joint '
                       'has an entry with position, velocity and effort, and one <joint>/gains '
                       'with Kp and Kd as position and velocity')
            return
        self._look_at_gains(np.array(rows))
        stamp = message.header.stamp
        self._command(rows, stamp.sec * 1_000_000_000 + stamp.nanosec)

    def _look_at_gains(self, rows: NDArray[np.float64]) -> None:
        """Say which gains of the motors cannot be held in the steps of the integrator."""
        if self._gains is not None:
            for text in self._gains.look(self._simulation.robot.q, *rows[:, 2:4].T):
                self.get_logger().warning(text)

    def _on_joint_command(self, data: bytes) -> None:
        read = self._reader.read(data)
        if read is None or not len(read.effort):
            message = deserialize_message(data, JointState)
            names, efforts, stamp = tuple(message.name), message.effort, message.header.stamp
            stamp_ns = stamp.sec * 1_000_000_000 + stamp.nanosec
        else:
            names, efforts = read.names, read.effort
            stamp_ns = read.seconds * 1_000_000_000 + read.nanoseconds
        joints = self._simulation.joints
        if names != joints:
            named = dict(zip(names, efforts))
            missing = [name for name in joints if name not in named]
            if missing:
                self._simulation.counters.refused += 1
                self._warn(without_effort(missing))
                return
            efforts = [named[name] for name in joints]
        self._command(efforts, stamp_ns)

    def _command(
        self, efforts: Sequence[float] | Sequence[Sequence[float]] | NDArray[np.float64],
        stamp_ns: int | None,
    ) -> None:
        before, silence = self._simulation.released, time.monotonic() - self.last_command
        self.last_command = time.monotonic()
        if self.last_command < self._deaf_until:
            # These commands are for the pose before the reset: they would throw the robot.
            if silence < SILENCE:
                return
            self._deaf_until = -math.inf
        if not self._sim_stamps and stamp_ns is not None:
            # States carry the stamps of the wall clock; here they are simulated time.
            stamp_ns += self._simulation.time_ns - time.time_ns()
        try:
            self._publish(self._simulation.command(efforts, stamp_ns, time.monotonic()))
        except RbdError as error:
            self._warn(str(error))
        if not before and self._simulation.released:
            self.get_logger().info('the brakes are open')

    def _warn(self, text: str) -> None:
        self.get_logger().warning(printable(text), throttle_duration_sec=1.0)

    def _on_wrench(self, message: WrenchStamped) -> None:
        torque, force = message.wrench.torque, message.wrench.force
        seconds = self._settings.number('wrench_timeout') or float('inf')
        try:
            self._simulation.push(
                message.header.frame_id,
                [torque.x, torque.y, torque.z, force.x, force.y, force.z], seconds)
        except RbdError as error:
            self._warn(f'a wrench is ignored: {error}')

    def _on_pause(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        if request.data:
            self._simulation.pause(True)
        else:
            self._publish(self._simulation.resume(time.monotonic()))
        response.success = True
        response.message = 'paused' if request.data else 'running'
        return response

    def _on_step(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        try:
            periods = self._settings.integer('steps_per_call')
            sample = self._simulation.step(periods, time.monotonic())
        except RbdError as error:
            response.success, response.message = False, str(error)
            return response
        self._publish(sample)
        response.success = True
        response.message = f'at {self._simulation.time_ns * 1e-9:.6f} s'
        return response

    def _on_reset(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self._simulation.reset()
        if not self._settings.flag('lockstep'):  # where each state waits for its answer
            self._deaf_until = time.monotonic() + DEAF_TIME
        response.success, response.message = True, 'initial state, brakes closed'
        return response

    # --- parameters and reports ---------------------------------------------------------------

    def _check_changes(self, changes: list[Parameter]) -> SetParametersResult:
        """Refuse a set of changes with the reason, before any of them is applied."""
        try:
            settings = self._changed_settings(changes)
            settings.physics(self._simulation.robot.model)
            Sensors(self._simulation.robot, settings.imperfections())
        except RbdError as error:
            return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)

    def _apply(self, changes: list[Parameter]) -> None:
        """Apply a set of changes at once, between two steps."""
        settings = self._changed_settings(changes)
        simulation = self._simulation
        simulation.robot.physics = settings.physics(simulation.robot.model)
        if settings.imperfections() != self._settings.imperfections():
            simulation.sensors = Sensors(simulation.robot, settings.imperfections())
        self._settings = settings
        self._make_writer()

    def _changed_settings(self, changes: list[Parameter]) -> Settings:
        return Settings(self._settings.values | parameters.changed(changes, SETTINGS))

    def _on_second(self) -> None:
        """Report what was counted."""
        self._diagnostics.publish(self._diagnosis.message(self._now()))
        if self.count_publishers('joint_states') > 1:
            self._warn('joint_states has another publisher, and readers see two robots: stop one '
                       'of them, or start it in a namespace')

    def summary(self) -> str:
        """Return what happened, for the last line of the log."""
        counters, pacer = self._simulation.counters, self._simulation.pacer
        return (f'{counters.periods} periods, {counters.commands} commands, {pacer.late} late '
                f'wake-ups, {pacer.skipped} periods skipped, {counters.superseded} states '
                'superseded')


def without_effort(missing: Sequence[str]) -> str:
    """Return what is said of a command that lacks joints."""
    return f'a command has no effort for {", ".join(missing)}; it is ignored'
