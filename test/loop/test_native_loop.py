# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The native loop on a real middleware: its torques, its beginning, its end, what it leaves."""

from contextlib import suppress
import gc
import os
from pathlib import Path
import signal
import subprocess
import sys
import threading
import time

from native_rig import activate, make_controller, Q, Robot
import numpy as np
import pytest
from rbd_env.pace import patient
from rbd_ros.control import controller as controller_module
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.interface.results import GoalError
from rbd_ros.control.references.trajectory import Knots
from rbd_ros.control.step.requests import Starting
from rbd_ros.loop import native_loop, rcl
from rbd_ros.loop.native_loop import LoopSilent
from rbd_ros.loop.words import STOP_AND_END, Word
from rbd_ros.nodes.callback_guard import Guard
from rbd_ros.nodes.controller import attendant
from rbd_ros.nodes.controller.realtime import prefault
import rclpy
from sensor_msgs.msg import JointState
from std_msgs.msg import UInt64
from std_srvs.srv import Trigger

#: s without Python after which a loop stops, on a machine that may be busy
SUPERVISION = patient(1.0)
#: loops one after another
ROUNDS = 20
#: MB that they may leave; each has more than that
GROWTH = 5.0


@pytest.fixture
def robot():
    """Give handles and a driver."""
    made = Robot()
    yield made
    made.close()


def states_come(robot, loop):
    """Wait until the loop has taken some."""
    robot.wait(lambda: loop.count(Word.STATES) > 3)


def used():
    """Return threads, open files and MB of this process."""
    gc.collect()
    pages = int(Path('/proc/self/statm').read_text().split()[1])
    return (len(os.listdir('/proc/self/task')), len(os.listdir('/proc/self/fd')),
            pages * os.sysconf('SC_PAGE_SIZE') / 1e6)


def test_loops_leave_nothing(robot):
    """Loops begin and end while states arrive; threads, files and memory are what they were."""
    controller = make_controller()
    found = []
    for k in range(ROUNDS):
        loop = robot.loop(controller)
        loop.start()
        states_come(robot, loop)
        loop.look()
        assert loop.close(stop=k % 2 == 0)
        robot.received()
        robot.sent.clear()
        found.append(used())
    threads, files, megabytes = zip(*found)
    print(f'{threads[5]} threads, {files[5]} files, {megabytes[10]:.1f} MB; then {threads[-1]}, '
          f'{files[-1]}, {megabytes[-1]:.1f} MB')
    assert threads[-1] <= threads[5] and files[-1] <= files[5]
    assert megabytes[-1] - megabytes[10] < GROWTH
    assert not native_loop.running


def test_an_ended_loop_is_silent(robot):
    """Whoever asks a loop that has ended is told so at once, and nothing comes from it."""
    controller = make_controller()
    loop = robot.loop(controller)
    loop.start()
    activate(robot, controller, loop)
    assert loop.close(stop=True)
    time.sleep(0.1)
    commands = robot.received()
    assert not any(commands[-1].effort) and any(commands[0].effort)  # was released
    begin = time.monotonic()
    for _ in range(2):
        with pytest.raises(LoopSilent, match='has ended'):
            loop.ask()
    with pytest.raises(LoopSilent, match='has ended'):
        loop.look()
    assert time.monotonic() - begin < 4.0  # an answer is awaited for 5 s
    assert loop.ended and loop.close()
    assert robot.received() == []


def refuse(kind, handle, code, data, plain=rcl.set_callback):
    """Refuse the callback of a service."""
    if kind == 'service' and code:
        raise rcl.LoopUnavailable('refused')
    plain(kind, handle, code, data)


def raising(_):
    """Raise."""
    raise ValueError('cannot be prepared')


@pytest.mark.parametrize(('setter', 'prepare', 'error'), [
    (refuse, lambda _: None, rcl.LoopUnavailable), (rcl.set_callback, raising, ValueError)])
def test_a_loop_that_cannot_begin_leaves_nothing(robot, monkeypatch, setter, prepare, error):
    """The middleware calls nobody afterwards, no thread is left, and another loop can begin."""
    controller = make_controller()
    plain, threads = controller.run, threading.active_count()
    monkeypatch.setattr(rcl, 'set_callback', setter)
    loop = robot.loop(controller)
    with pytest.raises(error):
        loop.start(prepare)
    arrived, sent = loop.count(Word.STATES_ARRIVED), len(robot.sent)
    robot.wait(lambda: len(robot.sent) > sent + 20)
    assert loop.count(Word.STATES_ARRIVED) == arrived
    assert not native_loop.running and threading.active_count() == threads
    assert controller.run == plain
    monkeypatch.undo()
    other = robot.loop(controller)
    other.start()
    states_come(robot, other)
    assert other.close()


def test_a_full_ring_counts_and_faults_stay(robot, monkeypatch):
    """Who does not listen for long misses sentences, and is told how many, but no fault."""
    monkeypatch.setattr(native_loop, 'WORDS_KEPT', 2)
    controller = make_controller()
    loop = robot.loop(controller)
    loop.start()
    activate(robot, controller, loop)
    robot.silent = True

    def finished():
        loop.look()
        return controller.state.value == 'fault'
    robot.wait(finished)
    loop.read()
    controller.attend()
    texts = [text for _, text in controller.events]
    assert any('sentences of the control loop were lost' in text for text in texts), texts
    assert Cause.STATE_STALE.name in controller.faults()
    controller.events.clear()
    loop.read()
    assert not controller.events  # told once
    assert loop.close()


def test_a_signal_is_no_silence(robot):
    """A handler of Python that interrupts the wait for an answer does not end it."""
    semaphore = rcl.semaphore()
    calls = []
    former = signal.signal(signal.SIGUSR1, lambda *_: calls.append(time.monotonic()))
    main = threading.main_thread().ident

    def disturb():
        for k in range(3):
            time.sleep(0.05)
            signal.pthread_kill(main, signal.SIGUSR1)
            robot.wait(lambda k=k: len(calls) > k)  # Python makes one of two that wait
        time.sleep(0.05)
        rcl.post_to(semaphore)
    thread = threading.Thread(target=disturb)
    thread.start()
    try:
        assert rcl.wait_for(semaphore, patient(10.0))
    finally:
        thread.join()
        signal.signal(signal.SIGUSR1, former)
    assert len(calls) == 3
    begin = time.monotonic()
    assert not rcl.wait_for(semaphore, 0.05) and time.monotonic() - begin >= 0.05


def test_python_that_comes_back(robot):
    """Nobody is stopped for a silence before the start; one while it runs is told and reset."""
    controller = make_controller(fault_action='release')
    loop = robot.loop(controller, SUPERVISION)
    loop.start()
    states_come(robot, loop)
    time.sleep(2.0 * SUPERVISION)
    beats = threading.Event()

    def beat():
        while not beats.wait(SUPERVISION / 20.0):
            loop.beat()

    def run():
        beats.clear()
        thread = threading.Thread(target=beat, daemon=True)
        thread.start()
        return thread
    thread = run()
    activate(robot, controller, loop)
    time.sleep(2.0 * SUPERVISION)
    loop.look()
    assert controller.state.value == 'running'
    beats.set()
    thread.join()
    begin = time.monotonic()

    def stopped():
        loop.look()
        return controller.state.value == 'fault'
    robot.wait(stopped)
    assert time.monotonic() - begin > 0.8 * SUPERVISION
    controller.attend()
    assert list(controller.faults()) == [Cause.SUPERVISION.name]
    thread = run()
    robot.wait(lambda: controller.reset(time.monotonic(), time.monotonic()) == '')

    def runs():
        loop.look()
        return controller.state.value == 'running'
    robot.wait(runs)
    beats.set()
    thread.join()
    assert loop.close(stop=True)


def test_threads_have_names(robot):
    """Tools of the system tell the threads of machine code from all others."""
    loop = robot.loop(make_controller())

    def names():
        found = []
        for file in Path('/proc/self/task').glob('*/comm'):
            with suppress(OSError):  # it has ended since
                found.append(file.read_text().strip())
        return found
    assert 'rbd_loop' not in names()
    loop.start()
    robot.wait(lambda: {'rbd_loop', 'rbd_answers'} <= set(names()))
    assert loop.close()
    # A thread that was joined is listed by the kernel for a little longer.
    robot.wait(lambda: not {'rbd_loop', 'rbd_answers'} & set(names()))


def test_two_threads_end_it(robot, monkeypatch):
    """What the loop uses is released once, and who wants no stop does not cut one short."""
    released, release, set_callback = [], rcl.release, rcl.set_callback
    monkeypatch.setattr(rcl, 'release', lambda struct: (released.append(1), release(struct)))
    monkeypatch.setattr(rcl, 'set_callback', lambda kind, handle, code, data: (
        time.sleep(0.0 if code else 0.1), set_callback(kind, handle, code, data)))
    controller = make_controller()
    loop = robot.loop(controller)
    loop.start()
    activate(robot, controller, loop)
    ended = []
    threads = [threading.Thread(target=lambda stop=stop: ended.append(loop.close(stop=stop)))
               for stop in (True, False)]
    threads[0].start()
    robot.wait(lambda: loop.count(Word.END) == STOP_AND_END)
    threads[1].start()
    for thread in threads:
        thread.join()
    assert ended == [True, True] and released == [1]
    time.sleep(0.1)
    commands = robot.received()
    assert any(commands[0].effort) and not any(commands[-1].effort)


def test_the_loop_tells_its_arrays(robot):
    """Who prepares its thread gets all that it works on: state, message, rings, times."""
    given = []
    loop = robot.loop(controller := make_controller())
    loop.start(given.extend)
    try:
        found = {each.ctypes.data for each in given}
        for each in (*loop.times, loop.words.memory):
            assert each.ctypes.data in found
        # of the loop, twice, and as given or seen
        sizes = [each.nbytes for each in given]
        for record, count in ((controller.x, 3), (controller.p, 3), (controller.u, 3),
                              (controller.ring, 2), (controller.y, 3)):
            assert sizes.count(record.memory.nbytes) >= count
        assert prefault(pytest.fail, given, thread=False)['realtime.prefault'].startswith('appl')
    finally:
        assert loop.close()


def test_a_clock_that_stands(robot):
    """A loop that begins while simulated time stands still knows the time, and does not jump."""
    controller = make_controller()
    loop = robot.loop(controller, simulated_time=1234.5)
    loop.start()
    loop.look()
    assert controller.u.now == 1234.5
    assert loop.close()


def test_a_state_that_nobody_tells(robot, monkeypatch):
    """Whoever needs the present state and does not get it is told so."""
    controller = make_controller()
    loop = robot.loop(controller)
    loop.start()
    beside = attendant.Attendant(Guard(pytest.fail, pytest.fail), lambda: (0.0, 0.0),
                                 lambda: Starting.NOTHING, lambda: None, lambda: None)
    beside.attach(controller, loop)
    try:
        controller.refresh()
        monkeypatch.setattr(attendant, 'REFRESH', 0.05)
        assert beside.end(patient(10.0))
        with pytest.raises(LoopSilent, match='has not told its present state within 0.05 s'):
            controller.refresh()
    finally:
        beside.detach()
        assert loop.close()


CHILD = """
import atexit, os, signal, sys, time
sys.path[:0] = {paths!r}
from native_rig import activate, make_controller, Robot, Word
from rbd_ros.nodes.process_end import SignalEvent
robot = Robot()
robot.signals = event = SignalEvent()
event.take(signal.SIGTERM, lambda *_: event.set())
controller = make_controller()
loop = robot.loop(controller)
loop.start()
activate(robot, controller, loop)
child = os.fork()
if child == 0:
    os.write(1, b'child\\n')
    input()  # the parent stands still now
    os.kill(os.getpid(), signal.SIGTERM)
    loop.stop()
    assert event.wait(20.0)
    assert not loop.close(stop=True)  # is not ours
    passes = loop.count(Word.PASSES)
    time.sleep(0.3)
    os.write(1, b'passes of the child: %d\\n' % (loop.count(Word.PASSES) - passes))
    atexit._run_exitfuncs()
    os._exit(0)  # as multiprocessing does: what the middleware does at exit needs its threads
_, status = os.waitpid(child, 0)
print('child:', status)
states = loop.count(Word.STATES)
robot.wait(lambda: loop.count(Word.STATES) > states + 50)
loop.look()
controller.attend()
print('parent:', event.is_set(), 'SIGNAL' in controller.faults(), flush=True)
input()
sys.exit(5)
"""


def test_a_fork_and_the_end_of_the_interpreter(tmp_path):
    """
    A child sends nothing, and leaves its parent alone; a parent that ends releases first.

    While the child does what it can, its parent is halted: whatever comes then is the child's.
    """
    script = tmp_path / 'script.py'
    script.write_text(CHILD.format(paths=[str(Path(__file__).parent), *sys.path]))
    errors = (tmp_path / 'errors').open('w+')
    parent = subprocess.Popen([sys.executable, str(script)], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=errors, text=True, bufsize=1)

    def read():
        line = parent.stdout.readline()
        assert line, Path(errors.name).read_text()[-3000:]
        return line.strip()
    rclpy.init()
    try:
        watcher = rclpy.create_node('watcher')
        came = []
        for kind, name in ((JointState, 'commands'), (UInt64, 'heartbeat')):
            watcher.create_subscription(kind, f'/tested_by_{parent.pid}/{name}',
                                        lambda message: came.append(message), 1000)

        def watch(seconds):
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                rclpy.spin_once(watcher, timeout_sec=0.02)

        def hear(kind, count):
            before, end = len(came), time.monotonic() + patient(20.0)
            while sum(isinstance(each, kind) for each in came[before:]) < count:
                assert time.monotonic() < end, f'{kind} not in time'
                watch(0.05)
        assert read() == 'child'
        hear(JointState, 20)
        hear(UInt64, 3)
        parent.send_signal(signal.SIGSTOP)
        Robot.wait(lambda: Path(f'/proc/{parent.pid}/stat').read_text().split()[2] == 'T')
        heard = -1
        while len(came) > heard:  # what was on its way, or waits to be taken here
            heard = len(came)
            watch(0.5)
        came.clear()
        parent.stdin.write('go\n')
        assert read() == 'passes of the child: 0'
        watch(1.0)  # while the child ends
        assert came == []
        parent.send_signal(signal.SIGCONT)
        assert read() == 'child: 0'
        assert read() == 'parent: False False'
        hear(UInt64, 3)  # for others, too, the parent is still there
        parent.stdin.write('end\n')
        watch(1.0)
        assert parent.wait(patient(20.0)) == 5
        watch(0.2)
        # Either at the end, or because its driver was halted, too.
        assert not any([each for each in came if isinstance(each, JointState)][-1].effort)
    finally:
        parent.send_signal(signal.SIGCONT)
        parent.kill()
        parent.communicate()
        errors.close()
        watcher.destroy_node()
        rclpy.shutdown()


def test_a_stop_outranks_what_was_asked_before(robot):
    """A reset that was posted before ~/stop and runs after it does nothing; a later one does."""
    controller = make_controller(mode='gravity_compensation')
    loop = robot.loop(controller)
    loop.start()
    client = robot.driver.create_client(Trigger, 'stop')
    answers = []

    def reset():
        controller.post(lambda now, steady: answers.append(controller.reset(now, steady)))

    def stop():
        before = loop.count(Word.STOPS)
        client.call_async(Trigger.Request())
        robot.wait(lambda: loop.count(Word.STOPS) == before + 1)

    def state():
        loop.look()
        return controller.state.value
    try:
        activate(robot, controller, loop)
        robot.wait(client.service_is_ready)
        stop()
        robot.wait(lambda: state() == 'fault')
        reset()
        stop()
        controller.serve(time.monotonic(), time.monotonic())
        assert answers == ['~/stop was called meanwhile'] and state() == 'fault'
        reset()
        controller.serve(time.monotonic(), time.monotonic())
        assert answers[1:] == [''] and state() != 'fault'
    finally:
        assert loop.close(stop=True)
        robot.driver.destroy_client(client)


@pytest.mark.parametrize(('late', 'allowed', 'taken'), [(0.06, 0.02, True), (0.01, 1e-4, False)])
def test_a_slow_planner(robot, monkeypatch, late, allowed, taken):
    """A late trajectory is made anew of the present reference, or refused: no exception."""
    monkeypatch.setattr(controller_module, 'LATE', allowed)
    controller = make_controller(mode='computed_torque')
    loop = robot.loop(controller)
    loop.start()
    try:
        activate(robot, controller, loop)
        loop.look()
        made, plain = [], controller.joint_intake.follow

        def slowly(*given):
            made.append(controller.x.references.joint.time)
            plain(*given)
            before = loop.count(Word.STATES)
            time.sleep(late)
            robot.wait(lambda: loop.count(Word.STATES) > before)
        monkeypatch.setattr(controller.joint_intake, 'follow', slowly)
        now, steady = controller.u.now, controller.u.steady
        goal = (Knots(np.array([5.0]), Q[None], None, None), None, 'goal',
                controller.accepted.tolerances())
        if taken:
            controller.pursue(now, steady, *goal)
            assert controller.goal == 'goal' and len(made) >= 3
            assert controller.ring.end - controller.ring.start == pytest.approx(5.0)  # all of it
        else:
            with pytest.raises(GoalError, match='machine is too busy: 6 times'):
                controller.pursue(now, steady, *goal)
            assert controller.goal is None and len(made) == 6
        assert (np.diff(made) > 0.0).all()
        loop.look()
        assert controller.state.value == 'running'
    finally:
        assert loop.close(stop=True)
