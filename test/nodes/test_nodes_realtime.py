# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""What the system and Python do for the loop, in a process of its own, with and without rights."""

import os
from pathlib import Path
import re
import resource
import subprocess
import sys

import pytest
from rbd_env.pace import patient

pytest.importorskip('rclpy', reason='ROS is not sourced')
ROOT = Path(__file__).parents[2]


def run(code):
    """Return what a fresh process prints; what it changes ends with it."""
    done = subprocess.run([sys.executable, '-c', code], cwd=ROOT, capture_output=True, text=True,
                          check=False, timeout=patient(60))
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_garbage_is_frozen():
    """What is alive when freezing is in no later collection."""
    assert run('import gc\nfrom rbd_ros.nodes.controller.realtime import freeze_garbage\n'
               'freeze_garbage()\nprint(gc.get_freeze_count() > 1000)') == 'True'


def test_switch_interval():
    """A busy thread gives way sooner; zero changes nothing."""
    assert run('import sys\nfrom rbd_ros.nodes.controller.realtime import switch_interval\n'
               'switch_interval(0.0)\nbefore = sys.getswitchinterval()\n'
               'found = switch_interval(0.0007)\n'
               'print(before, sys.getswitchinterval(), found)') == (
        "0.005 0.0007 {'realtime.switch_interval': '0.0007 s'}")


def without_rights(code):
    """Return what a process prints that may neither lock memory nor have a priority."""
    rights = ['setpriv', '--bounding-set=-all', '--inh-caps=-all'] * (os.geteuid() == 0)
    done = subprocess.run(
        [*rights, 'prlimit', '--rtprio=0', '--memlock=65536', '--', sys.executable, '-c', code],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=patient(60))
    assert done.returncode == 0, done.stderr
    return done.stdout.strip().splitlines()


def test_cores_that_are_not_there_are_refused():
    """The one that is missing is named, also among others; nothing is changed by halves."""
    said = run('import os\nfrom rbd_ros.nodes.controller.realtime import prepare_thread\n'
               'before = os.sched_getaffinity(0)\n'
               'print(prepare_thread(0, [sorted(before)[0], 4095], print))\n'
               'print(prepare_thread(0, 4095, print), os.sched_getaffinity(0) == before)\n'
               'print(prepare_thread(0, -1, print), prepare_thread(0, [], print))').splitlines()
    assert re.match(r'realtime.cores: \d+, 4095 refused [(]core 4095 is not there, or not for '
                    'this process[)]; continuing without it', said[0])
    refused = "{'realtime.cores': 'refused (core 4095 is not there, or not for this process)'}"
    assert said[1:] == [refused, f'{refused} True', '{} {}']


def test_cores_are_taken():
    """The thread runs on those of the list, and on the single one of the older name."""
    assert run('import os\nfrom rbd_ros.nodes.controller.realtime import prepare_thread\n'
               'cores = sorted(os.sched_getaffinity(0))\n'
               'print(prepare_thread(0, cores, print) == {"realtime.cores": "applied (%s)" % '
               '", ".join(map(str, cores))}, sorted(os.sched_getaffinity(0)) == cores)\n'
               'print(len(prepare_thread(0, cores[-1], print)),'
               ' os.sched_getaffinity(0) == {cores[-1]})\n'
               # as an isolated one, which no thread has before it asks
               'print(len(prepare_thread(0, [cores[0]], print)),'
               ' os.sched_getaffinity(0) == {cores[0]})') == 'True True\n1 True\n1 True'


def test_refusals_are_told_once_with_the_command_that_grants_them():
    """Priority and memory are refused without rights; the second time nothing is said."""
    said = without_rights(
        'from rbd_ros.nodes.controller.realtime import lock_memory, prepare_thread\n'
        'for _ in range(2):\n    done = prepare_thread(40, -1, print) | lock_memory(print)\n'
        'print(done)')
    assert len(said) == 3, said
    for line, name, command in zip(said, ('realtime.priority', 'realtime.lock_memory'), (
            '(docker run --cap-add SYS_NICE --ulimit rtprio=99|- rtprio 99" [|] sudo tee)',
            '(docker run --cap-add IPC_LOCK --ulimit memlock=-1|- memlock unlimited" [|] sudo)')):
        assert re.match(f'{name}: .* refused [(].*[)]; continuing without it; to allow it: .*'
                        + command, line), line
    assert said[2].count('refused (') == 2


PREFAULT = """
import ctypes, resource, threading
import numpy as np
from rbd_ros.nodes.controller.realtime import prefault
libc = ctypes.CDLL(None)
libc.malloc.restype = libc.pthread_self.restype = ctypes.c_void_p
PAGE = resource.getpagesize()

def faults(work):
    before = resource.getrusage(resource.RUSAGE_THREAD).ru_minflt
    work()
    return resource.getrusage(resource.RUSAGE_THREAD).ru_minflt - before

def heap():
    blocks = [ctypes.c_void_p(libc.malloc(ctypes.c_size_t(32768))) for _ in range(64)]
    for block in blocks:
        ctypes.memset(block, 1, 32768)
    for block in blocks:
        libc.free(block)

def stack():
    attributes = ctypes.create_string_buffer(256)
    begin, size = ctypes.c_void_p(), ctypes.c_size_t()
    libc.pthread_getattr_np(ctypes.c_void_p(libc.pthread_self()), attributes)
    libc.pthread_attr_getstack(attributes, ctypes.byref(begin), ctypes.byref(size))
    number = 2**20 // PAGE
    there = (ctypes.c_ubyte * number)()
    top = begin.value + size.value - number * PAGE
    assert libc.mincore(ctypes.c_void_p(top), ctypes.c_size_t(number * PAGE), there) == 0
    return sum(each & 1 for each in there) * PAGE / 2**20

def run():
    array = np.zeros(2**18)
    array[5] = 3.0
    if WANTED:
        print(prefault(print, [array]))
    first = array[5]
    print(faults(heap), faults(lambda: array.fill(1.0)), stack(), first)

thread = threading.Thread(target=run)
thread.start()
thread.join()
"""


def test_memory_is_there_before_it_is_used():
    """After it, two megabytes of heap, two of an array and one of stack fault no page in."""
    heap, array, stack, first = map(float, run('WANTED = False' + PREFAULT).split())
    page = resource.getpagesize()
    assert heap > 2**20 / page and array > 2**20 / page and stack < 0.9 and first == 3.0
    said = run('WANTED = True' + PREFAULT).splitlines()
    assert said[0] == "{'realtime.prefault': 'applied (stack and heap)'}"
    heap, array, stack, first = map(float, said[1].split())
    # Python itself may touch a page of its own in between
    assert heap < 16 and array < 16 and stack == 1.0 and first == 3.0


THAW = """
import gc, weakref
from rbd_ros.nodes.controller.realtime import freeze_garbage, thaw_garbage

class Robot:
    pass

robot = Robot()
robot.itself = robot
watched = weakref.ref(robot)
freeze_garbage()
del robot
gc.collect()
before = watched() is not None
thaw_garbage()
print(before, watched() is None)
"""


def test_thawed_garbage_is_released():
    """What was frozen and then forgotten goes when it is thawed, and not before."""
    assert run(THAW) == 'True True'
