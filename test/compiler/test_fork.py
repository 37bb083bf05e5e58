# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""A process may fork while its threads compile: the child is not left with closed locks."""

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, 'fork'), reason='this machine cannot fork')
pytest.importorskip('llvmlite', reason='llvmlite is not installed')

COMMON = """
import os, signal, sys, threading, time, warnings
import numpy as np
import rbd_ros
from rbd_ros.compiler import compile, sin, trace
from rbd_ros.samples import families as samples
warnings.simplefilter('ignore')

def child_of(work, seconds=60.0):
    child = os.fork()
    if child == 0:
        signal.alarm(int(seconds))      # a child that hangs ends by this signal
        try:
            work()
        except BaseException as error:
            print(repr(error), file=sys.stderr)
            os._exit(1)
        os._exit(0)
    return child

def ended_well(child):
    status = os.waitpid(child, 0)[1]
    assert status == 0, f'the child ended with status {status} (14: it hung)'
"""

COMPILING = COMMON + """
robot = rbd_ros.Dynamics(samples.regular_tree(2), cache=False, backend='llvm')
inside, go_on = threading.Event(), threading.Event()
def rule(state):
    inside.set()
    go_on.wait(100)
    return {'x': [2.0 * state.q[0]]}
slow = robot.define('slow', inputs=['q'], rule=rule)
thread = threading.Thread(target=lambda: slow(np.ones(2)), daemon=True)
thread.start()
assert inside.wait(100)         # the thread holds the lock of the robot
def work():
    go_on.set()
    expected = rbd_ros.gravity(robot.model, np.array([0.3, 0.4]))
    assert np.allclose(robot.gravity(np.array([0.3, 0.4])), expected)
    assert slow(np.ones(2)) == 2.0
    grandchild = child_of(lambda: robot.mass_matrix(np.zeros(2)))
    ended_well(grandchild)
ended_well(child_of(work, 60.0))
go_on.set()
thread.join()
assert slow(np.ones(2)) == 2.0
"""

INSIDE_LLVM = COMMON + """
done = threading.Event()
def compile_all_the_time():
    n = 20
    while not done.is_set():
        n += 1
        compile(trace(lambda x: [sin(a * b) for a in x for b in x], {'x': n % 40 + 1}),
                backend='llvm', cache=False)
def work():
    kernel = compile(trace(lambda x: [a + 1.0 for a in x], {'x': 3}), backend='llvm', cache=False)
    assert kernel(np.zeros(3)).tolist() == [1.0] * 3
work()
thread = threading.Thread(target=compile_all_the_time, daemon=True)
thread.start()
for k in range(8):
    time.sleep(0.01 * k)
    ended_well(child_of(work, 60.0))
done.set()
thread.join()
"""

SEARCHING = COMMON + """
from rbd_ros.dynamics.families.reaching.search import Search
robot = rbd_ros.Dynamics(samples.regular_tree(2), cache=False, backend='llvm')
frame, q = list(robot.model.frames)[-1], np.array([0.3, 0.4])
target, far = {frame: robot.pose(q, frame)}, {frame: robot.pose(q, frame)}
far[frame][:3, 3] += 100.0
inside, go_on, starts = threading.Event(), threading.Event(), Search.starts
def slow_starts(*arguments):            # of another attempt, where the first has not arrived
    if threading.current_thread() is thread:
        inside.set()
        go_on.wait(100)
    return starts(*arguments)
Search.starts = slow_starts
thread = threading.Thread(target=lambda: robot.inverse_kinematics(far, q), daemon=True)
thread.start()
assert inside.wait(100)         # the thread holds the lock of the search
def work():
    assert robot.inverse_kinematics(target, q).success
ended_well(child_of(work, 60.0))
go_on.set()
thread.join()
"""

HELD = COMMON + """
from rbd_ros.compiler.fork_lock import ForkLock
lock, other = ForkLock(), ForkLock()
def work():
    with lock:
        pass
def work_inside():
    with lock, other:
        pass
    entered = threading.Event()
    def attempt():
        with lock:
            entered.set()
    threading.Thread(target=attempt, daemon=True).start()
    assert not entered.wait(0.2), 'the thread that forked no longer held its lock'
with lock:
    ended_well(child_of(work_inside, 60.0))
    with lock:
        pass
ended_well(child_of(work, 60.0))
"""


@pytest.mark.parametrize('program', [COMPILING, INSIDE_LLVM, SEARCHING, HELD], ids=[
    'compiling', 'inside LLVM', 'searching', 'held by the thread that forks'])
def test_a_child_does_not_hang(program, tmp_path):
    """It computes and compiles, whatever other threads did in the moment of the fork."""
    done = subprocess.run([sys.executable, '-c', program], timeout=300, text=True,
                          capture_output=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
