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

"""The controller process from its start to its end, without a middleware."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
from types import SimpleNamespace
from unittest.mock import ANY, Mock

import pytest
from rbd_ros.control.interface.causes import Cause
from rbd_ros.errors import SettingError
from rbd_ros.loop.rcl import LoopUnavailable
from rbd_ros.nodes.controller import process
from rbd_ros.nodes.process_end import SignalEvent


def calls(mock):
    """Return the names of what was called, in order."""
    return [name for name, _, _ in mock.mock_calls]


class Process:
    """The controller process with everything but its main function replaced."""

    def __init__(self, monkeypatch):
        self.all = Mock()
        self.event, self.taken, self.ends_with = self.all.event, {}, lambda: None
        self.event.take.side_effect = self.taken.__setitem__
        self.event.wait.side_effect = lambda: (  # the loop begins meanwhile
            self.node.loop_node.prepare(()), self.ends_with())
        self.node = self.all.node
        self.node.realtime = {'realtime.lock_memory': 'applied'}
        self.node.loop_node.failure = ''
        self.node.stop.return_value = self.node.autostart.join.return_value = True
        values = {'executor': 'events', 'realtime.priority': 80, 'realtime.cpu': -1,
                  'realtime.cores': [3, 4], 'realtime.prefault': True,
                  'realtime.switch_interval': 0.01}
        self.values = values
        self.node.get_parameter.side_effect = lambda name: SimpleNamespace(value=values[name])
        self.executors, self.threads = [], {}
        self.hup = signal.SIG_DFL
        monkeypatch.setattr(process, 'SignalEvent', lambda: self.event)
        monkeypatch.setattr(process, 'ControllerNode', lambda signals: (
            self.all.ControllerNode(), self.node)[1])
        self.node.loop_node.end.return_value = True
        monkeypatch.setattr(process, 'make_executor', self.make_executor)
        monkeypatch.setattr(process, 'spin_in_thread', self.spin)
        monkeypatch.setattr(process.signal, 'getsignal', lambda _: self.hup)
        for name in ('console', 'initialise', 'rclpy', 'prefault', 'prepare_thread',
                     'switch_interval', 'time'):
            monkeypatch.setattr(process, name, getattr(self.all, name))
        monkeypatch.setattr(process.os, '_exit', self.all.exit)
        self.all.prepare_thread.return_value = {'realtime.priority': 'applied'}
        self.all.prefault.return_value = {'realtime.prefault': 'applied'}
        self.all.switch_interval.return_value = {'realtime.switch_interval': 'applied'}

    def make_executor(self, kind):
        """Note an executor: that of the services, of the transitions."""
        assert kind == 'events'
        self.executors.append(getattr(self.all, ('slow', 'changes')[len(self.executors)]))
        return self.executors[-1]

    def spin(self, executor, name, failed):
        """Note a thread."""
        thread = self.threads[name] = getattr(self.all, f'thread_{name}')
        thread.executor, thread.failed = executor, failed
        thread.is_alive.return_value = False
        return thread

    def run(self):
        """Run it; returns its code."""
        return process.main(['--some'])

    def printed(self):
        """Return what was printed."""
        return [text for (text,), _ in self.all.console.print_line.call_args_list]


@pytest.fixture
def program(monkeypatch):
    """Return the process; it ends with SIGTERM."""
    made = Process(monkeypatch)
    made.ends_with = lambda: made.taken[signal.SIGTERM](signal.SIGTERM, None)
    return made


def test_process_from_its_start_to_its_end(program):
    """Each node in its thread; the robot is stopped before anything is shut down."""
    assert program.run() == 0
    assert set(program.taken) == {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
    program.all.initialise.assert_called_once_with(['--some'])
    node, served = program.node, {}
    for name, each in (('services', node), ('transitions', node.transitions)):
        served[name] = program.threads[name].executor
        served[name].add_node.assert_called_once_with(each)
    assert [served[name] for name in ('services', 'transitions')] == program.executors
    program.all.prepare_thread.assert_called_once_with(80, [3, 4], node.get_logger().warning)
    program.all.switch_interval.assert_called_once_with(0.01)
    program.all.prefault.assert_called_once_with(node.get_logger().warning, (), thread=True)
    assert node.realtime == {f'realtime.{name}': 'applied' for name in (
        'lock_memory', 'priority', 'prefault', 'switch_interval')}
    order = [name for name in calls(program.all) if name.split('.')[-1] in (
        'make_nonblocking', 'initialise', 'ControllerNode', 'wait', 'set', 'retire', 'stop',
        'sleep', 'shutdown', 'join', 'close', 'discard_robot', 'destroy_node', 'try_shutdown')]
    assert order == [
        'console.make_nonblocking', 'initialise', 'ControllerNode', 'event.wait', 'event.set',
        'node.loop_node.stop', 'node.ending.set', 'node.autostart.retire', 'node.stop',
        'time.sleep', 'changes.shutdown', 'slow.shutdown', 'thread_services.join',
        'thread_transitions.join', 'node.autostart.join', 'node.log_queue.close',
        'node.discard_robot', 'node.loop_node.destroy_node', 'node.transitions.destroy_node',
        'node.destroy_node', 'rclpy.try_shutdown']
    node.stop.assert_called_once_with(Cause.SIGNAL)
    program.all.time.sleep.assert_called_once_with(0.05)
    assert node.served_by is node.loop_node.served_by is node.transitions.served_by is None
    info, = node.get_logger().info.call_args[0]
    assert info == 'ending (SIGTERM): stopping the robot first'
    assert not program.printed() and not program.all.exit.mock_calls
    assert not node.get_logger().error.mock_calls
    for executor in program.executors:
        executor.shutdown.assert_called_once_with(timeout_sec=0.5)
    for thread in program.threads.values():
        thread.join.assert_called_once_with(0.5)


def test_process_with_the_older_name_of_a_core(program):
    """One core counts where no list is given, and memory is left alone where that is wanted."""
    program.values.update({'realtime.cores': [], 'realtime.cpu': 3, 'realtime.prefault': False})
    assert program.run() == 0
    program.all.prepare_thread.assert_called_once_with(80, 3, ANY)
    program.all.prefault.assert_not_called()


def test_nodes_know_their_executors_while_they_run(program):
    """What is destroyed meanwhile is destroyed by the executor that may be using it."""
    node, seen = program.node, []
    end = program.ends_with
    program.ends_with = lambda: (end(), seen.extend((
        node.served_by, node.transitions.served_by)))
    program.run()
    assert seen == program.executors


def test_first_reason_counts(program):
    """A second signal changes nothing, as when launch repeats Ctrl-C."""
    def end():
        program.taken[signal.SIGINT](signal.SIGINT, None)
        program.taken[signal.SIGHUP](signal.SIGHUP, None)
    program.ends_with = end
    assert program.run() == 0
    assert '(SIGINT)' in program.node.get_logger().info.call_args[0][0]


def test_nohup_outlives_the_terminal(program):
    """Whoever ignores SIGHUP wants the controller to go on; other signals still end it."""
    program.hup = signal.SIG_IGN
    program.run()
    assert set(program.taken) == {signal.SIGINT, signal.SIGTERM}


@pytest.mark.parametrize('name', ['services', 'transitions'])
def test_thread_that_dies_stops_the_robot(program, name):
    """The process ends with an error, and its last line says why."""
    program.ends_with = lambda: program.threads[name].failed('Traceback\nValueError: bad')
    assert program.run() == 1
    program.node.stop.assert_called_once_with(Cause.EXCEPTION)
    assert program.printed() == ['Traceback\nValueError: bad']
    assert '(ValueError: bad)' in program.node.get_logger().info.call_args[0][0]
    assert program.all.event.set.mock_calls


def test_exception_of_a_callback_is_the_result_of_the_process(program):
    """The loop kept the first one; the robot was stopped then, the process ends later."""
    program.node.loop_node.failure = 'Traceback\nKeyError: 1'
    program.node.stop.return_value = False
    assert program.run() == 1
    assert program.printed() == ['Traceback\nKeyError: 1']
    program.node.get_logger().error.assert_called_once_with(
        'the stop sequence did not end in time')


@pytest.mark.parametrize('name', ['loop', 'transitions', 'autostart'])
def test_thread_that_does_not_end_keeps_no_process(program, name):
    """For instance a compilation: the robot is stopped, so the process leaves at once."""
    class Left(Exception):
        pass
    end = program.ends_with

    def hang():
        end()
        if name == 'autostart':
            program.node.autostart.join.return_value = False
        elif name == 'loop':
            program.node.loop_node.end.return_value = False
        else:
            program.threads[name].is_alive.return_value = True
    program.ends_with, program.all.exit.side_effect = hang, Left
    with pytest.raises(Left):
        program.run()
    program.all.exit.assert_called_once_with(0)
    assert calls(program.node.log_queue) == ['close']      # its lines are out
    assert not program.node.destroy_node.mock_calls


@pytest.mark.parametrize(('what', 'error'), [
    ('initialise', SettingError), ('ControllerNode', SettingError),
    ('ControllerNode', LoopUnavailable)])
def test_start_that_is_refused(program, what, error):
    """The reason is one line, without a traceback."""
    getattr(program.all, what).side_effect = error('no such file')
    assert program.run() == 1
    assert program.printed() == ['controller: no such file']
    assert calls(program.all)[-1] == 'rclpy.try_shutdown' and not program.executors


def test_a_process_leaves_with_its_code_and_its_last_words():
    """What was printed is not lost, and threads that do not end are not waited for."""
    done = subprocess.run(
        [sys.executable, '-c', 'import threading, time\n'
         'from rbd_ros.nodes.process_end import leave\n'
         'threading.Thread(target=time.sleep, args=(600.0,)).start()\n'
         'print("last words")\nleave(3)'],
        capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 3 and done.stdout == 'last words\n'


def test_the_number_of_a_signal_stays_for_the_loop():
    """Whoever waits for the event leaves the byte, which machine code looks at without Python."""
    former, wakeup = signal.getsignal(signal.SIGUSR1), signal.set_wakeup_fd(-1)
    event = SignalEvent()
    try:
        event.take(signal.SIGUSR1, lambda *_: event.set())
        assert not event.wait(0.01)
        threading.Timer(0.05, signal.pthread_kill, (
            threading.main_thread().ident, signal.SIGUSR1)).start()
        assert event.wait(20.0) and event.wait()
        with socket.socket(fileno=os.dup(event.fileno())) as look:
            assert signal.SIGUSR1 in look.recv(64, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    finally:
        signal.signal(signal.SIGUSR1, former)
        signal.set_wakeup_fd(-1)
        with contextlib.suppress(OSError):  # what an earlier test set may be closed by now
            signal.set_wakeup_fd(wakeup)
