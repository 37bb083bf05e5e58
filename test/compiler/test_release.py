# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Machine code and memory of kernels that nobody uses any more are given back."""

import gc
import subprocess
import sys
import weakref

import numpy as np
import pytest
from rbd_env.pace import patient
import rbd_ros
from rbd_ros.compiler import compile as compile_graph, sin, trace
from rbd_ros.control.kernels.kernels import LawKernels
from rbd_ros.control.robot import make_robot
from rbd_ros.samples.families import regular_tree

pytestmark = pytest.mark.slow

pytest.importorskip('llvmlite', reason='llvmlite is not installed')
from rbd_ros.compiler.native import loader  # noqa: E402, I100

#: What kernels of ``waves`` give for 1: their sine and NumPy's may differ in the last place.
SINE = pytest.approx(np.sin(1.0), rel=1e-15, abs=0.0)

#: Makes and drops kernels of about 100 kB, bound and in batches, and prints the memory in use.
ROUNDS = """
import gc, os, sys
import numpy as np
from rbd_ros.compiler import compile, sin, trace

def big(x):
    return [sin(a * (k + 0.5)) + a * a / (k + 1.5) for k in range(120) for a in x]

graph = trace(big, {'x': 7}, name='big')

def resident():
    with open('/proc/self/statm') as file:
        return int(file.read().split()[1]) * os.sysconf('SC_PAGE_SIZE')

def round():
    kernel = compile(lambda: graph, keys='big', backend='llvm')
    bound = kernel.bind()
    bound.inputs['x'][:] = 0.1
    bound()
    kernel(np.ones(7))
    kernel.batch(np.ones((64, 7)))

for _ in range(30):
    round()
gc.collect()
before = resident()
for _ in range(120):
    round()
gc.collect()
print((resident() - before) / 120)
"""


def waves(n=5):
    """Return a kernel of its own."""
    graph = trace(lambda x: [sin(a) for a in x], {'x': n}, name='waves')
    return compile_graph(graph, backend='llvm', cache=False)


@pytest.fixture
def engines():
    """Return a function that counts the engines made since, and those not freed."""
    gc.collect()
    loader.free_retired()
    before = set(loader.engines)

    def count():
        return len(set(loader.engines) - before), len(loader.retired)
    return count


def test_a_dropped_kernel_is_gone_at_once(engines):
    """No cycle holds a kernel, what it is bound to, or its calls: counting references frees it."""
    gc.disable()
    try:
        kernel = waves()
        bound, call, x = kernel.bind(), kernel.caller(), np.ones(5)
        kernel.batch(np.ones((100, 5)))
        assert engines() == (2, 0)      # with that of the batch
        dead = [weakref.ref(each) for each in (kernel, bound.inputs['x'].base)]
        del kernel
        bound()
        assert call(x)[0] == SINE and engines() == (2, 0)    # both keep the code
        del bound
        assert call(x)[0] == SINE and engines() == (2, 0)
        del call
        assert engines() == (0, 2) and all(ref() is None for ref in dead)
        loader.free_retired()
        assert engines() == (0, 0)
    finally:
        gc.enable()


def test_the_next_collection_frees(engines):
    """What was dropped is freed at the end of a collection, without other code being loaded."""
    callbacks = list(gc.callbacks)
    waves()
    assert engines() == (0, 1) and len(gc.callbacks) == len(callbacks) + 1
    gc.collect()
    assert engines() == (0, 0) and gc.callbacks == callbacks


def test_the_next_code_frees(engines):
    """Without garbage collection, loading other code frees what was dropped before."""
    gc.disable()
    try:
        for _ in range(5):
            waves()
            assert engines() == (0, 1)
    finally:
        gc.enable()


def test_robots_and_ticks(engines):
    """Dropping a robot, or the kernels of a configured node, releases every engine."""
    model = regular_tree(3)
    robot = rbd_ros.Dynamics(model, backend='llvm')
    q = np.ones(3)
    robot.compile()
    robot.gravity(np.ones((50, 3)))
    robot.operational_space(q, q, robot.handle(
        model.frame_names[-1], rows=[(0, 0, 0, 1.0, 0, 0)]))
    bound = robot.bind('inverse_dynamics')
    ticks = LawKernels(make_robot(model), driver_adds='none', driver_knows_payload=False)
    kernels = [ticks.compile(name) for name in ('stop', 'joint')]
    made = engines()[0]
    del ticks, kernels
    assert engines()[0] == made - 2
    del robot
    gc.collect()
    bound()                                     # lives on by itself
    del bound
    gc.collect()
    assert made == 9 and engines() == (0, 0)


def test_evicted_handles_are_released(engines, monkeypatch):
    """A robot asked for ever new handles does not gather machine code."""
    monkeypatch.setattr('rbd_ros.dynamics.kernels.store.HANDLES', 2)
    robot = rbd_ros.Dynamics(regular_tree(2), backend='llvm')
    for n in range(1, 7):
        handle = robot.handle('body_2', rows=[(0, 0, 1.0, 0, 0, 0)] * n)
        robot.operational_space(np.ones(2), np.ones(2), handle, max_condition=1e3)
        gc.collect()
        assert engines()[0] <= 2
    for k in range(6):                          # another point needs no other code
        handle = robot.handle('body_2', point=(0.1 * k, 0.0, 0.1), rows=[(0, 0, 1.0, 0, 0, 0)])
        robot.operational_space(np.ones(2), np.ones(2), handle)
        gc.collect()
        assert engines()[0] <= 2


def test_finalisers_may_still_call(engines):
    """Objects that die together with a kernel may use it in their last moment."""
    seen = []

    class Last:

        def __init__(self, kernel, bound):
            self.kernel, self.bound, self.me = kernel, bound, self

        def __del__(self):
            self.bound()
            seen.append(self.kernel(np.ones(5))[0])
    for _ in range(20):
        kernel = waves()
        Last(kernel, kernel.bind())
        del kernel
        gc.collect()
    assert seen == [SINE] * 20 and engines() == (0, 0)


def test_a_finaliser_may_bring_a_kernel_back(engines):
    """Code that came back to life stays; when it dies for good it is freed."""
    saved = []

    class Phoenix:

        def __init__(self, kernel):
            self.kernel, self.me = kernel, self

        def __del__(self):
            saved.append(self)
    Phoenix(waves())
    gc.collect()
    gc.collect()
    assert engines() == (1, 0) and saved[0].kernel(np.ones(5))[0] == SINE
    saved.clear()
    gc.collect()
    assert engines() == (0, 0)


@pytest.mark.skipif(not sys.platform.startswith('linux'), reason='reads /proc')
def test_memory_stays(tmp_path, monkeypatch):
    """A hundred rounds of loading, binding and dropping a kernel leave the memory as it was."""
    monkeypatch.setenv('RBD_ROS_CACHE', str(tmp_path))
    done = subprocess.run([sys.executable, '-c', ROUNDS], check=True, text=True,
                          timeout=patient(300), stdout=subprocess.PIPE)
    # The machine code of one round takes about 500 kB; a page or two may go astray.
    assert float(done.stdout) < 10_000
