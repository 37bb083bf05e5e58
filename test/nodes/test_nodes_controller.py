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

"""What the controller node connects to what, and the order of its transitions."""

from contextlib import nullcontext
import threading
from types import SimpleNamespace
from unittest.mock import Mock

import controller_rig
import pytest
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.parameters.settings import Settings
from rbd_ros.control.parameters.table import defaults
from rbd_ros.control.supervisor.states import STOP_LIMIT
from rbd_ros.errors import SettingError
from rbd_ros.loop.words import Starting
from rbd_ros.nodes.controller import node as controller
from rclpy.lifecycle import LifecycleNode
from rclpy.parameter import Parameter

SUCCESS, FAILURE, ERROR = controller.SUCCESS, controller.FAILURE, controller.ERROR


def calls(mock):
    """Return the names of what was called, in order."""
    return [name for name, _, _ in mock.mock_calls]


def test_a_mistyped_parameter_is_named():
    """The node is asked, not rclpy, which would say that [] is not declared."""
    asked = SimpleNamespace(has_parameter=lambda name: name == 'mode')
    changes = [Parameter('mode', value='hold'), Parameter('stifness', value=[3.0])]
    answer = controller.ControllerNode.set_parameters_atomically(asked, changes)
    assert not answer.successful
    assert answer.reason == 'there is no parameter "stifness"; did you mean "stiffness"?'


@pytest.fixture
def node(monkeypatch):
    """Return a controller that no middleware made; ``all`` notes what is done to its parts."""
    monkeypatch.setattr(controller, 'thaw_garbage', lambda: None)  # takes half a second here
    made = controller.ControllerNode.__new__(controller.ControllerNode)
    everything = Mock()
    made.all, made.logged = everything, []
    log = {level: lambda text, level=level: made.logged.append((level, text))
           for level in ('info', 'warning', 'error', 'fatal')}
    made.__dict__.update(
        lock=threading.RLock(), doing='', active=False, controller=None, robot=None,
        _activation=None, _parts=[], gravity_input=None, realtime={}, ending=threading.Event(),
        loop_node=everything.loop, action=everything.action, _announcer=everything.announcer,
        autostart=everything.autostart, _description=everything.description,
        _start_timer=everything.timer, _managed_entities=set(),
        _own_modes=SimpleNamespace(read=lambda: ()),
        get_logger=lambda: SimpleNamespace(**log),
        resolve_topic_name=lambda name: name.replace('~', '/arm'))
    everything.loop.simulated = False
    return made


# -- the node ---------------------------------------------------------------------------------


def test_node_is_connected(monkeypatch):
    """Who is told what: start, stop, exceptions, description, and the timer of the start."""
    everything = Mock()
    for name in ('LoopNode', 'Autostart', 'TransitionNode', 'Announcer', 'TrajectoryAction',
                 'Diagnostics', 'ParameterChanges', 'DescriptionSource', 'bound_services',
                 'QueuedLogger', 'Clock'):
        monkeypatch.setattr(controller, name, getattr(everything, name))
    monkeypatch.setattr(controller.parameters, 'declare', everything.declare)
    monkeypatch.setattr(LifecycleNode, '__init__', lambda self, name: everything.made(name))
    monkeypatch.setattr(LifecycleNode, 'get_logger', lambda _: SimpleNamespace(name='arm'))
    values = {'use_sim_time': True, 'autostart': True, 'loop': 'executor', 'fast_path': True,
              'executor': 'single'}
    monkeypatch.setattr(LifecycleNode, 'get_parameter',
                        lambda _, name: SimpleNamespace(value=values[name]))
    made = controller.ControllerNode()
    order = calls(everything)
    assert order.index('made') < order.index('declare') < order.index('LoopNode')
    everything.made.assert_called_once_with('controller')
    assert everything.LoopNode.call_args == ((made,), {'simulated': True})
    assert everything.TrajectoryAction.call_args[0] == (made, made.loop_node, made.lock)
    # all services of the node are bounded: nothing is made afterwards
    assert order.index('bound_services') > max(order.index(name) for name in (
        'TrajectoryAction', 'Diagnostics', 'ParameterChanges', 'DescriptionSource'))
    everything.bound_services.assert_called_once_with(made, made.get_logger().warning)
    (period, start), more = made.transitions.create_timer.call_args
    assert (period, start) == (0.2, made._start)
    assert more == {'clock': everything.Clock.return_value}
    everything.Clock.assert_called_once_with(clock_type=controller.ClockType.STEADY_TIME)
    assert made.loop_node.cancel_start == made._cancel_start
    # the queue of the log, which never blocks
    everything.QueuedLogger.assert_called_once_with('arm', made.log_queue)
    made.log_queue.close()

    # an automatic start is a transition like any other
    starter, info, wrap = everything.Autostart.call_args[0]
    assert info == made.get_logger().info and starter.cancel == made._cancel_activation
    made._state_machine = SimpleNamespace(current_state=(2, 'inactive'))
    assert starter.label() == 'inactive' and starter.wanted() is True
    values['autostart'] = False
    assert starter.wanted() is False
    assert starter.has_description() is made._description.is_known.return_value
    for answer, succeeded in ((SUCCESS, True), (FAILURE, False), (ERROR, False)):
        made.trigger_configure = made.trigger_activate = lambda answer=answer: answer
        assert (starter.configure(), starter.activate()) == (succeeded, succeeded)
    _, in_use = everything.DescriptionSource.call_args
    assert in_use['in_use']() is False
    made.active = True
    assert in_use['in_use']() is True

    # exceptions of any thread stop the robot; only those of this node hold its lock
    wrap(lambda: 1 / 0)()
    made.guard.timer(lambda: {}['none'])()
    assert [trace.splitlines()[-1] for (trace,), _ in made.loop_node.fail.call_args_list] == [
        'ZeroDivisionError: division by zero', "KeyError: 'none'"]
    assert len(made.get_logger().fatal.mock_calls) == 2
    assert made.guard._lock is made.lock
    owner, guard, autostart = everything.TransitionNode.call_args[0]
    assert owner is made and guard is wrap.__self__ and autostart is made.autostart
    assert isinstance(guard._lock, nullcontext)  # a transition may wait for callbacks


def test_logger_before_and_after_the_queue(monkeypatch):
    """While rclpy makes the node there is its own logger, afterwards the queue."""
    made = controller.ControllerNode.__new__(controller.ControllerNode)
    monkeypatch.setattr(LifecycleNode, 'get_logger', lambda _: 'rclpy')
    made._queued = None
    assert made.get_logger() == 'rclpy'
    made._queued = 'queue'
    assert made.get_logger() == 'queue'


def test_announcements_run_in_the_executor(node):
    """One task announces all that has come up until it runs; an exception stops the robot."""
    node._announcing, node.served_by = False, None
    node.guard = controller.Guard(node.all.failed, node.all.fatal, node.lock)
    node._announce_soon()  # nobody spins: the timer will do it
    node.served_by = node.all.executor
    node._announce_soon()
    node._announce_soon()
    (task,), _ = node.all.executor.create_task.call_args
    assert calls(node.all) == ['executor.create_task']
    node.all.announcer.drain.side_effect = [ZeroDivisionError, None]
    task()
    assert calls(node.all) == ['executor.create_task', 'announcer.drain', 'fatal', 'failed']
    node._announce_soon()
    assert calls(node.all)[-1] == 'executor.create_task'


# -- configuring ------------------------------------------------------------------------------


@pytest.fixture
def parts(monkeypatch, node):
    """Return what a configuration makes; the robot is that of the rig."""
    made = Mock()
    robot, _ = controller_rig.robot_and_dynamics()
    values = defaults() | {'driver_adds': 'none', 'command_deadline': 0.3,
                           'liveliness_lease': 0.4, 'heartbeat_rate': 17.0}
    made.settings = Settings(robot, values, simulated=False)
    made.build_robot.return_value, made.build_settings.return_value = robot, made.settings
    made.compile_kernels.return_value = {'joint': 1, 'report': 'report kernel'}
    made.Controller.return_value.settings = made.settings
    made.offered_services.return_value = ['a service']
    for name in ('build_robot', 'build_settings', 'compile_kernels', 'check_values',
                 'Controller', 'make_output', 'GravityInput', 'ReferenceInputs', 'Reports',
                 'PathPlanner', 'OutputWatch', 'offered_services', 'lock_memory'):
        monkeypatch.setattr(controller, name, getattr(made, name))
    monkeypatch.setattr(controller.parameters, 'read', lambda *_: values)
    node._description.find.return_value = ('<robot/>', 'a file')
    made.lock_memory.return_value = {'realtime.lock_memory': 'applied'}
    made.values = values
    return made


def test_memory_is_locked_where_it_is_asked_for(node, parts):
    """What became of it is kept for the diagnostics."""
    parts.build_settings.return_value = Settings(
        controller_rig.robot_and_dynamics()[0], parts.values | {'realtime.lock_memory': True},
        simulated=False)
    node.realtime['realtime.cpu'] = 'applied'
    assert node.on_configure(None) is SUCCESS
    assert node.realtime == {'realtime.cpu': 'applied', 'realtime.lock_memory': 'applied'}


def test_configuration_that_fails_leaves_nothing(node, parts):
    """A wrong setting is an error with its reason; anything else is an exception."""
    node._description.find.return_value = ('', '')
    assert node.on_configure(None) is FAILURE
    (level, text), = node.logged
    assert level == 'error' and text.startswith('cannot configure: there is no robot description')
    assert '/' not in text.split(':')[0] and 'the topic robot_description' in text
    assert calls(node.all)[-3:] == ['loop.detach', 'action.detach', 'announcer.detach']
    assert not parts.build_robot.mock_calls and node.robot is None
    node._description.find.return_value = ('<robot/>', 'a file')
    parts.build_robot.side_effect = SettingError('no such joint')
    assert node.on_configure(None) is FAILURE
    assert node.logged[-1] == ('error', 'cannot configure: no such joint')
    assert not node.loop_node.fail.mock_calls
    parts.build_robot.side_effect = KeyError('a mistake')
    assert node.on_configure(None) is ERROR
    level, text = node.logged[-1]
    assert level == 'fatal' and 'exception while configuring' in text and 'a mistake' in text
    assert "KeyError: 'a mistake'" in node.loop_node.fail.call_args[0][0]
    assert node.doing == ''


# -- activating -------------------------------------------------------------------------------


@pytest.fixture
def activation(monkeypatch, node):
    """Return an activation that succeeds, of a node with a controller."""
    made = Mock(latched=False)
    made.output_is_free.return_value = made.run.return_value = True
    monkeypatch.setattr(controller, 'Activation', lambda *given, **more: (
        made.created(given, more), made)[1])
    monkeypatch.setattr(controller, 'freeze_garbage', made.freeze)
    node.controller = SimpleNamespace(settings=SimpleNamespace(flag=lambda name: made.flags[name]))
    made.flags = {'realtime.freeze_gc': False}
    node.autostart.is_own_thread, node.autostart.over = True, False
    return made


def test_activation(node, activation):
    """It needs a free output, then runs; the node says meanwhile what it is doing."""
    doing = []
    node.loop_node.note_start.side_effect = lambda: doing.append(node._starting())
    activation.run.side_effect = lambda: (doing.append(node.doing), True)[1]
    assert node.on_activate(None) is SUCCESS and node.active
    assert doing == [Starting.ACTIVATION, 'activating', Starting.NOTHING] and node.doing == ''
    assert activation.created.call_args[0] == ((node, node.controller), {'host': node})
    assert calls(activation) == ['created', 'output_is_free', 'run'] and not node.realtime
    assert node._activation is None and not node.autostart.retire.mock_calls
    activation.flags['realtime.freeze_gc'] = True
    activation.reset_mock()
    assert node.on_activate(None) is SUCCESS
    assert calls(activation) == ['created', 'output_is_free', 'freeze', 'run']
    assert node.realtime == {'realtime.freeze_gc': 'applied'}


@pytest.mark.parametrize(('free', 'run', 'latched', 'asked'), [
    (False, True, False, ['created', 'output_is_free']),
    (True, False, False, ['created', 'output_is_free', 'run']),
    (True, False, True, ['created', 'output_is_free', 'run'])])
def test_activation_that_fails(node, activation, free, run, latched, asked):
    """The node stays inactive; after a fault nobody tries again by himself."""
    activation.output_is_free.return_value, activation.run.return_value = free, run
    activation.latched = latched
    assert node.on_activate(None) is FAILURE and not node.active
    assert calls(activation) == asked
    assert calls(node.autostart) == (['retire'] if latched else [])


@pytest.mark.parametrize(('own', 'over', 'cancelled'), [
    (True, True, True), (False, True, False), (True, False, False)])
def test_start_that_was_cancelled_before_its_activation(node, activation, own, over, cancelled):
    """Somebody may ask for something else between the decision and the activation."""
    node.autostart.is_own_thread, node.autostart.over = own, over
    node.on_activate(None)
    assert (activation.cancel.mock_calls != []) is cancelled
    if cancelled:
        activation.cancel.assert_called_once_with('another request')
        assert calls(activation).index('cancel') < calls(activation).index('output_is_free')


def test_activation_needs_a_robot(node):
    """Without a configured robot there is nothing to activate."""
    assert node.on_activate(None) is FAILURE and not node.active


@pytest.mark.parametrize(('activates', 'pending', 'answer'), [
    (True, False, 'the activation is cancelled'), (True, True, 'the activation is cancelled'),
    (False, True, 'the automatic start is cancelled'), (False, False, '')])
def test_stop_cancels_a_start(node, activates, pending, answer):
    """``~/stop`` says what it cancelled."""
    activation = Mock()
    node._activation = activation if activates else None
    node.autostart.retire.return_value = pending
    assert node._cancel_start() == answer
    node.autostart.retire.assert_called_once_with('~/stop')
    assert activation.cancel.call_args_list == ([(('~/stop',),)] if activates else [])


def test_an_activation_that_raises_is_over(node, activation):
    """Nothing is left for ``~/stop`` to cancel."""
    activation.run.side_effect = RuntimeError('no')
    node.on_activate(None)
    assert node._activation is None and node._starting() is not Starting.ACTIVATION
    assert node.loop_node.note_start.call_count == 2


# -- ending -----------------------------------------------------------------------------------


def test_deactivation(node):
    """The stop sequence has 10 s; if the loop did not end it, the controller is still active."""
    asked = []
    node.active = True
    node.stop = lambda *given: (asked.append(given), False)[1]
    assert node.on_deactivate(None) is FAILURE and node.active
    assert 'not run for 10 s, in which a stop ends: still active' in node.logged[-1][1]
    node.stop = lambda *given: (asked.append(given), True)[1]
    assert node.on_deactivate(None) is SUCCESS and not node.active
    assert asked == [(Cause.DEACTIVATED, 10.0)] * 2


@pytest.mark.parametrize(('transition', 'ended', 'cause', 'level'), [
    ('on_cleanup', True, None, None), ('on_shutdown', True, Cause.DEACTIVATED, None),
    ('on_shutdown', False, Cause.DEACTIVATED, None), ('on_error', True, Cause.EXCEPTION, None),
    ('on_error', False, Cause.EXCEPTION, 'fatal')])
def test_robot_is_stopped_before_it_is_discarded(node, transition, ended, cause, level):
    """Whatever ends the robot stops it first."""
    node.active = cause is not None
    node.stop = lambda *given: (node.all.stop(*given), ended)[1]
    node.discard_robot = node.all.discard
    assert getattr(node, transition)(None) is SUCCESS and not node.active
    order = [name for name in calls(node.all) if 'retire' not in name]
    assert order == (['stop'] if cause else []) + ['discard']
    if cause:
        node.all.stop.assert_called_once_with(cause)
    assert [found for found, _ in node.logged] == ([level] if level else [])
    assert calls(node.autostart) == (['retire'] if transition == 'on_error' else [])


def test_robot_is_discarded_in_order(node, monkeypatch):
    """The loop lets go first; the memory is freed when nothing refers to it any more."""
    monkeypatch.setattr(controller, 'thaw_garbage', lambda: node.all.thaw(
        node.lock._is_owned(), node.controller, node.robot))
    node._parts, node.gravity_input = [node.all.first, node.all.second], node.all.second
    node.controller = node.robot = object()
    node._description.configured = '<robot/>'
    node.discard_robot()
    assert calls(node.all) == ['loop.detach', 'action.detach', 'first.destroy', 'second.destroy',
                               'announcer.detach', 'thaw']
    node.all.thaw.assert_called_once_with(False, None, None)
    assert node._parts == [] and node.gravity_input is None
    assert node._description.configured == ''


class Clock:
    """A clock that sleeping moves."""

    def __init__(self, each=lambda: None):
        self.now, self.each = 10.0, each

    def monotonic(self):
        """Return it."""
        return self.now

    def sleep(self, seconds):
        """Let time pass."""
        self.now += seconds
        self.each()


def test_stop_waits_for_the_release(node, monkeypatch):
    """It returns when the last torque is sent, also while the process ends."""
    arm = controller_rig.Arm(ramp_time=0.02, brake_time=0.1)
    arm.activate()
    arm.run(0.1)
    clock = Clock(lambda: arm.run(0.005))
    monkeypatch.setattr(controller, 'time', clock)
    node.controller = arm.controller
    node.ending.set()
    assert node.stop(Cause.SIGNAL) and arm.controller.finished
    assert list(arm.controller.faults()) == [Cause.SIGNAL.name]
    assert 10.1 < clock.now < 10.0 + STOP_LIMIT
    sent = len(arm.sent)
    arm.run(0.1)
    assert len(arm.sent) == sent
    node.controller = None
    assert node.stop(Cause.SIGNAL)                      # nothing was configured


def test_stop_ends_without_a_loop(node, monkeypatch):
    """A loop that hangs does not keep the process: after the longest stop it goes on to end."""
    arm = controller_rig.Arm()
    clock = Clock()
    monkeypatch.setattr(controller, 'time', clock)
    node.controller = arm.controller
    assert arm.controller.finished               # but the request was never taken
    assert node.stop(Cause.SIGNAL) is False
    assert clock.now == pytest.approx(10.0 + STOP_LIMIT, abs=0.011)


def test_waiting(node, monkeypatch):
    """Until it is true, until the limit, or until the process ends unless it must go on."""
    clock = Clock()
    monkeypatch.setattr(controller, 'time', clock)
    assert node.wait(lambda: clock.now > 10.1, 1.0) and clock.now == pytest.approx(10.105, abs=.01)
    assert not node.wait(lambda: False, 0.5) and clock.now == pytest.approx(10.61, abs=0.02)
    node.ending.set()
    before = clock.now
    assert not node.wait(lambda: False, 1.0) and clock.now == before
    assert node.wait(lambda: True, 1.0)
    assert not node.wait(lambda: False, 0.2, always=True) and clock.now > before + 0.19


@pytest.mark.parametrize(('over', 'ending', 'done'), [
    (False, False, 'autostart.step'), (True, False, 'timer.cancel'),
    (False, True, 'timer.cancel')])
def test_timer_of_the_start_ends_with_it(node, over, ending, done):
    """It looks until there is nothing to start any more."""
    node.autostart.over = over
    if ending:
        node.ending.set()
    node._start()
    assert calls(node.all) == [done]
