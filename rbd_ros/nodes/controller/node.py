# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
The controller as others see it: lifecycle, parameters, description, announcements.

Transitions may block, in their own thread; everything else goes on meanwhile. No torque is
published from here: requests are posted to the control thread.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
import threading
import time
import traceback
from typing import Protocol

from rbd_ros.compiler import Bound
from rbd_ros.control.controller import Controller
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.laws.notices import notices
from rbd_ros.control.parameters.assembly import (
    build_robot, build_settings, check_values, compile_kernels, describe_end, describe_output)
from rbd_ros.control.parameters.settings import Settings
from rbd_ros.control.parameters.table import with_modes
from rbd_ros.control.robot import Robot
from rbd_ros.control.robot_now import ControlledRobot
from rbd_ros.control.step.requests import Starting
from rbd_ros.control.supervisor.states import STOP_LIMIT
from rbd_ros.errors import RbdError, SettingError
from rbd_ros.nodes import parameters
from rbd_ros.nodes.callback_guard import Guard, GuardedNode
from rbd_ros.nodes.compiling import telling_of_compiling
from rbd_ros.nodes.controller.action import TrajectoryAction
from rbd_ros.nodes.controller.activation import Activation
from rbd_ros.nodes.controller.announcer import Announcer
from rbd_ros.nodes.controller.autostart import Autostart, LifecycleActions
from rbd_ros.nodes.controller.bounded_services import bound_services
from rbd_ros.nodes.controller.description_source import DescriptionSource
from rbd_ros.nodes.controller.diagnostics import Diagnostics
from rbd_ros.nodes.controller.gravity_input import GravityInput
from rbd_ros.nodes.controller.inputs import ReferenceInputs
from rbd_ros.nodes.controller.loop_node import LoopNode
from rbd_ros.nodes.controller.loop_services import offered_services
from rbd_ros.nodes.controller.output_watch import OutputWatch
from rbd_ros.nodes.controller.outputs import command_qos, make_output, message_type
from rbd_ros.nodes.controller.parameter_changes import ParameterChanges
from rbd_ros.nodes.controller.path_planner import PathPlanner
from rbd_ros.nodes.controller.realtime import freeze_garbage, lock_memory, thaw_garbage
from rbd_ros.nodes.controller.reports import Reports
from rbd_ros.nodes.controller.transitions import TransitionNode
from rbd_ros.nodes.log import LogQueue, QueuedLogger
from rcl_interfaces.msg import SetParametersResult
from rclpy.clock import Clock, ClockType
from rclpy.impl.rcutils_logger import RcutilsLogger
from rclpy.lifecycle import LifecycleNode, State as LifecycleState, TransitionCallbackReturn
from rclpy.parameter import Parameter

__all__ = ['ControllerNode']

SUCCESS, FAILURE = TransitionCallbackReturn.SUCCESS, TransitionCallbackReturn.FAILURE
ERROR = TransitionCallbackReturn.ERROR

Transition = Callable[['ControllerNode', LifecycleState], TransitionCallbackReturn]

#: s that a deactivation may take on an overloaded machine before it fails
_DEACTIVATION_LIMIT = 10.0


def _transition(doing: str) -> Callable[[Transition], Transition]:
    """
    Return a decorator that records a transition and logs its exceptions: rclpy logs none.

    :param doing: what the controller is doing meanwhile.
    """
    def decorate(method: Transition) -> Transition:
        @wraps(method)
        def reported(self: ControllerNode, state: LifecycleState) -> TransitionCallbackReturn:
            with self.lock:  # a change of parameters is before it or after it
                self.doing = doing
            try:
                return method(self, state)
            except Exception:
                trace = traceback.format_exc()
                self.get_logger().fatal(f'exception while {doing}, the transition fails:\n{trace}')
                self.loop_node.fail(trace)
                return ERROR
            finally:
                self.doing = ''
        return reported
    return decorate


class Part(Protocol):
    """What belongs to one configured robot."""

    def destroy(self) -> None:
        """End it."""


class ControllerNode(GuardedNode, LifecycleNode):
    """Lifecycle, parameters and everything else that may block."""

    def __init__(self, name: str = 'controller', *, signals: int = -1) -> None:
        """
        Declare parameters and the topics that exist in every state.

        :param name: name of the node unless launch gives another.
        :param signals: socket with the numbers of signals, for the loop; -1: none.
        :raises LoopUnavailable: if the control loop cannot run here.
        """
        self.lock = threading.RLock()  # held by callbacks, and while parts are made or destroyed
        self.log_queue = LogQueue()
        self._queued: QueuedLogger | None = None
        self.guard = Guard(lambda trace: self.loop_node.fail(trace),
                           lambda text: self.get_logger().fatal(text), self.lock)
        super().__init__(name)
        self._queued = QueuedLogger(super().get_logger().name, self.log_queue)
        parameters.declare(self)
        self.loop_node = LoopNode(
            self, simulated=bool(self.get_parameter('use_sim_time').value), signals=signals)
        self.loop_node.starting, self.loop_node.said = self._starting, self._announce_soon
        self.loop_node.cancel_start = self._cancel_start
        fatal = self.get_logger().fatal
        guard = Guard(self.loop_node.fail, lambda text: fatal(text))
        self.autostart = Autostart(LifecycleActions(
            label=lambda: self._state_machine.current_state[1],
            wanted=lambda: bool(self.get_parameter('autostart').value),
            has_description=lambda: self._description.is_known(),
            configure=lambda: self.trigger_configure() is SUCCESS,
            activate=lambda: self.trigger_activate() is SUCCESS,
            cancel=self._cancel_activation), self.get_logger().info, guard.timer)
        self.transitions = TransitionNode(self, guard, self.autostart)
        self.controller: Controller | None = None
        self.ending = threading.Event()  # the process ends: stop waiting for anything
        self.doing = ''  # transition under way
        self._activation: Activation | None = None  # while it waits
        self.active = False
        self.robot: Robot | None = None
        self._own_modes = parameters.OwnModes(self)
        self._announcer = Announcer(self)
        self._announcing = False  # a task of the executor will announce what has come up
        self._parts: list[Part] = []
        self.gravity_input: GravityInput | None = None
        self.realtime: dict[str, str] = {}  # what became of each setting
        self.action = TrajectoryAction(self, self.loop_node, self.lock)
        self._diagnostics = Diagnostics(self, parts=self)
        ParameterChanges(self, self, simulated=self.loop_node.simulated)
        self._description = DescriptionSource(self, in_use=lambda: self.active)
        bound_services(self, self.get_logger().warning)
        self._start_timer = self.transitions.create_timer(
            0.2, self._start, clock=Clock(clock_type=ClockType.STEADY_TIME))
        self.begin = time.monotonic()

    def _announce_soon(self) -> None:
        """Have the executor announce what has come up; from any thread."""
        executor = self.served_by
        if executor is None or self._announcing:
            return
        self._announcing = True
        executor.create_task(self._announce)

    def _announce(self) -> None:
        self._announcing = False  # what comes up from now on needs a task of its own
        self.guard.timer(self._announcer.drain)()

    def get_logger(self) -> RcutilsLogger:
        """Return the logger, whose lines go into a queue so that logging never blocks."""
        return self._queued or super().get_logger()

    def set_parameters_atomically(self, parameter_list: list[Parameter]) -> SetParametersResult:
        """Set all or none; what is not known is named, which rclpy does not do."""
        if reason := parameters.undeclared(self, parameter_list):
            return SetParametersResult(successful=False, reason=reason)
        return super().set_parameters_atomically(parameter_list)

    # -- transitions ----------------------------------------------------------------------------

    @_transition('configuring')
    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Load the robot, compile every kernel; inactive afterwards."""
        try:
            with telling_of_compiling(self):
                self._configure()
        except (RbdError, ValueError) as error:
            self.get_logger().error(f'cannot configure: {error}')
            self.discard_robot()
            return FAILURE
        return SUCCESS

    def _configure(self) -> None:
        log = self.get_logger()
        Controller.prepare()
        modes = self._own_modes.read()
        values = parameters.read(self, with_modes(modes))
        check_values(values, modes)
        message_type(str(values['command_type']))  # refuses one that is not installed
        text, origin = self._description.find()
        if not text:
            raise SettingError('there is no robot description: nothing on the topic '
                               f'{self.resolve_topic_name("robot_description")}, and neither '
                               'robot_description nor robot_description_file is given')
        robot = build_robot(values, text, log.warning, modes)
        log.info(f'robot "{robot.model.name}" from {origin}: controls '
                 f'{", ".join(robot.joints)}; tip {robot.tip}')
        settings = build_settings(robot, values, simulated=self.loop_node.simulated)
        begin = time.monotonic()
        kernels = compile_kernels(settings)
        log.info(f'compiled {len(kernels)} kernels in {time.monotonic() - begin:.2f} s')
        if settings.flag('realtime.lock_memory'):
            self.realtime |= lock_memory(log.warning)
        with self.lock:
            self.robot, self._description.configured = robot, text
            self._build(settings, kernels)
        log.info(describe_output(settings, self.resolve_topic_name('~/commands')))
        log.info(describe_end(settings))
        for text in notices(settings):
            log.warning(text)

    def _build(self, settings: Settings, kernels: dict[str, Bound]) -> None:
        """Make everything that belongs to one configured robot."""
        controller = self.controller = Controller(settings, kernels)
        qos = command_qos(settings.number('command_deadline'),
                          settings.number('liveliness_lease'))
        output = make_output(settings.text('command_type'), self.loop_node,
                             self.resolve_topic_name('~/commands'), qos)
        gravity = GravityInput(self, controller, self.loop_node.control_time)
        planner = PathPlanner(self, ControlledRobot(controller), kernels['report'])
        self._parts = [ReferenceInputs(self, controller, planner), planner,
                       Reports(self, controller, kernels['report']), gravity,
                       *offered_services(self, controller)]
        self.gravity_input = gravity
        self.action.attach(controller, planner)
        self._announcer.attach(controller)
        self.loop_node.attach(controller, output)
        self._parts.append(OutputWatch(self, controller, output))

    @_transition('activating')
    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Check the joint states, then ramp in; fails if a joint is missing."""
        controller = self.controller
        if controller is None:
            return FAILURE
        activation = Activation(self, controller, host=self)
        self._note_activation(activation)
        try:
            return self._activate(activation, controller, state)
        finally:
            self._note_activation(None)

    def _note_activation(self, activation: Activation | None) -> None:
        """Say what ~/stop cancels from now on."""
        self._activation = activation
        self.loop_node.note_start()

    def _activate(self, activation: Activation, controller: Controller,
                  state: LifecycleState) -> TransitionCallbackReturn:
        if self.autostart.is_own_thread and self.autostart.over:
            # cancelled before there was an activation
            activation.cancel('another request')
        begun = False
        if activation.output_is_free():
            if controller.settings.flag('realtime.freeze_gc'):
                freeze_garbage()
                self.realtime['realtime.freeze_gc'] = 'applied'
            begun = activation.run()
        if activation.latched:
            self.autostart.retire()
        if not begun:
            return FAILURE
        self.active = True
        return super().on_activate(state)

    def _cancel_activation(self, who: str) -> bool:
        """End an activation that still waits; from any thread."""
        activation = self._activation
        if activation is not None:
            activation.cancel(who)
        return activation is not None

    def _starting(self) -> Starting:
        """Return which start still waits, so that ~/stop would cancel it."""
        if self._activation is not None:
            return Starting.ACTIVATION
        waits = self.autostart.pending and not self.active
        return Starting.AUTOMATIC if waits else Starting.NOTHING

    def _cancel_start(self) -> Starting:
        """Cancel any start for ``~/stop``; returns what was cancelled."""
        pending = self.autostart.retire('~/stop')
        if self._cancel_activation('~/stop'):
            return Starting.ACTIVATION
        return Starting.AUTOMATIC if pending else Starting.NOTHING

    @_transition('deactivating')
    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Brake, ramp to the release torque, publish it several times; then nothing leaves."""
        if not self.stop(Cause.DEACTIVATED, _DEACTIVATION_LIMIT):
            self.get_logger().error(
                f'the control loop has not run for {_DEACTIVATION_LIMIT:g} s, in which a stop '
                'ends: still active. It will stop as soon as it runs again')
            return FAILURE
        self.active = False
        return super().on_deactivate(state)

    @_transition('cleaning up')
    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Discard the robot."""
        self.discard_robot()
        return SUCCESS

    @_transition('shutting down')
    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Stop as in deactivation, then discard the robot."""
        self.stop(Cause.DEACTIVATED)
        self.active = False
        self.discard_robot()
        return SUCCESS

    @_transition('ending after an exception')
    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Stop after an exception in a transition; unconfigured afterwards."""
        self.autostart.retire()
        if not self.stop(Cause.EXCEPTION):
            self.get_logger().fatal('the stop sequence did not end in time')
        self.active = False
        self.discard_robot()
        return SUCCESS

    def discard_robot(self) -> None:
        """Destroy everything that belongs to the configured robot."""
        with self.lock:
            self.loop_node.detach()
            self.action.detach()
            parts, self._parts, self.gravity_input = self._parts, [], None
            for part in parts:
                part.destroy()
            self._announcer.detach()
            self.controller = self.robot = None
            self._description.configured = ''
        thaw_garbage()  # kernels and buffers of the robot are in reference cycles

    def stop(self, cause: Cause, limit: float = STOP_LIMIT) -> bool:
        """
        Run the stop sequence and wait for its end; callable from any thread.

        :param cause: why.
        :param limit: s to wait at most.
        :returns: whether the sequence ended.
        """
        controller = self.controller
        if controller is None:
            return True
        done = threading.Event()

        def request(_: float, steady: float) -> None:
            controller.fault(steady, cause)
            done.set()
        controller.post(request)
        return self.wait(lambda: done.is_set() and controller.finished, limit,
                         always=True)

    def wait(self, condition: Callable[[], bool], limit: float, *,
             always: bool = False) -> bool:
        """
        Wait for the control thread.

        :param condition: to become true.
        :param limit: s to wait at most.
        :param always: also while the process ends.
        :returns: whether it became true.
        """
        end = time.monotonic() + limit
        while not condition():
            if time.monotonic() > end or (self.ending.is_set() and not always):
                return False
            time.sleep(0.005)
        return True

    def _start(self) -> None:
        """Continue the automatic start until it is over."""
        if self.autostart.over or self.ending.is_set():
            self._start_timer.cancel()
        else:
            self.autostart.step()
