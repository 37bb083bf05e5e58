# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""A benchmark whose subject does not do its work says so instead of a number."""

from pathlib import Path
import subprocess
import sys
import time
from types import SimpleNamespace

from benchmark import compiling, ros2_control, speed
from benchmark.gpu import report as gpu
from benchmark.gpu.bundle import CHECKED, Packed, STATES
from benchmark.gpu.jobs import Job
import numpy as np
import pytest
import rbd_ros
from rbd_ros.compiler.gpu.dialect import EMULATED
from rbd_ros.compiler.gpu.emulation import EmulatedDevice
from rbd_ros.compiler.gpu.program import program

ARM = Path(ros2_control.ROOT) / 'urdf' / 'seven_joint_arm.urdf'


def test_an_update_that_holds_nothing_is_not_measured():
    """Torques of zero, a tenth too small, of a robot that moves, and none at all are refused."""
    model = rbd_ros.load_urdf(ARM, on_warning=lambda text: None)
    arm = SimpleNamespace(urdf=ARM.read_text(), joints=model.joint_names[::-1], friction=0.3)
    q = np.full((60, 7), 0.7)
    held = rbd_ros.Dynamics(model, backend='reference').gravity(q[0])[::-1]
    motion = np.stack([q, 0.0 * q, held + np.random.default_rng(0).uniform(-0.3, 0.3, q.shape)], 2)
    ros2_control.refuse_wrong('x', arm, motion)
    for changed in (0.0, 0.9):
        with pytest.raises(RuntimeError, match='x: torques are'):
            ros2_control.refuse_wrong('x', arm, motion * [1.0, 1.0, changed])
    with pytest.raises(RuntimeError, match='x: torques are'):
        ros2_control.refuse_wrong('x', arm, motion + [0.0, 0.7, 0.0])
    with pytest.raises(RuntimeError, match='x: torques are'):
        ros2_control.refuse_wrong('x', arm, motion[:0])


def test_what_was_not_compiled_or_not_kept_has_no_times():
    """A first start that finds its kernels, or a later one that makes them, is refused."""
    one, two = (('a', 1, 9), ('b', 2, 9))
    compiling.refuse_unmade('x', ('p', 'q'), {one, two}, set())
    for cold, cached in ((set(), set()), ({one}, set()), ({one, two}, {two})):
        with pytest.raises(RuntimeError, match='x: of 2 kernels'):
            compiling.refuse_unmade('x', ('p', 'q'), cold, cached)


def test_a_picture_that_stands_still_is_no_picture():
    """A robot that does not move, nothing drawn, and the same thing drawn again are refused."""
    pytest.importorskip('rclpy', reason='needs ROS 2: run it by ./run test')
    from benchmark import page
    t = np.arange(0.0, 10.0, 0.1)
    swing = page.AMPLITUDE * np.sin(2.0 * np.pi * t / page.PERIOD)[:, None] + np.arange(7.0)
    views = np.zeros((3, 90, 80, 3), np.int16)
    views[1, 10:20, 10:20] = 200
    page.refuse_still(swing, 5.0, views)
    for positions, rate, seen in ((swing[:1].repeat(9, 0), 5.0, views), (0.5 * swing, 5.0, views),
                                  (swing, 0.0, views), (swing, 5.0, views[[0, 0, 0]])):
        with pytest.raises(RuntimeError):
            page.refuse_still(positions, rate, seen)


def test_results_of_a_gpu_that_are_wrong_are_a_failed_row():
    """An error beyond rounding, and one that is no number, are refused for each type."""
    for scalar, limit in gpu.ERRORS.items():
        job = Job('ur5', 'forward_dynamics', scalar, '')
        gpu.refuse_wrong(job, 0.5 * limit)
        for wrong in (2.0 * limit, np.nan):
            with pytest.raises(RuntimeError, match=f'ur5 forward_dynamics {scalar}'):
                gpu.refuse_wrong(job, wrong)


def test_a_bound_call_that_is_slower_than_the_checked_one_is_named():
    """The kernel alone must not take longer than the kernel and all around it, but for noise."""
    def rows(bound, checked):
        return [speed.Row('a', 'b', 'bound', 1.0, bound, None),
                speed.Row('a', 'b', 'checked', 1.0, checked, None)]
    assert speed.slower_than_checked(rows(1.05e-6, 1e-6)) == []
    (line,) = speed.slower_than_checked(rows(2e-6, 1e-6))
    assert line.startswith('a, b: the bound call takes 2 us') and 'MISSED' in line
    assert speed.slower_than_checked(rows(1.2e-6, 1e-6), speed.CLEAR) == []
    assert speed.slower_than_checked(rows(1.3e-6, 1e-6), speed.CLEAR) != []


class Wall:
    """
    The clock of a device that has finished when a launch returns.

    :param starts: whether it starts what it measures.
    """

    stream = 0

    def __init__(self, starts=True):
        self._starts = starts

    def seconds(self, start):
        """Return the time of a launch."""
        begin = time.perf_counter()
        if self._starts:
            start()
        return time.perf_counter() - begin

    def call_seconds(self, call):
        """Return the time of a call."""
        return self.seconds(call)


def test_a_kernel_that_was_not_run_or_is_another_one_is_a_failed_row(monkeypatch):
    """On the emulation: right results give a row, none and those of another kernel an error."""
    device, rng = EmulatedDevice(), np.random.default_rng(0)
    model = rbd_ros.load_urdf(ARM, on_warning=lambda text: None)
    robot = rbd_ros.Dynamics(model, backend='reference')
    graph = robot.kernel('potential_energy').graph
    made = program(graph, EMULATED)
    q = rng.uniform(-1.0, 1.0, (STATES, model.nq))
    given = {'q': q, 'gravity': np.array(model.gravity), 'time': np.zeros(1)}
    packed = Packed(
        Job('arm', 'potential_energy', 'float64'), made.about(graph), device.code(made.text),
        [given[a.name] for a in graph.inputs],
        np.array([[robot.potential_energy(each)] for each in q[:CHECKED]]))
    monkeypatch.setattr(gpu, 'SIZES', (10, 11))
    row = gpu.measure(packed, device, Wall(), 1e9)
    assert row['error'] < 1e-12 and row['ns'].keys() == {10, 11} and row['call'] > 0.0
    for clock, wrong in ((Wall(False), packed),
                         (Wall(), packed._replace(results=2.0 * packed.results))):
        with pytest.raises(RuntimeError, match='results of arm potential_energy float64 are'):
            gpu.measure(wrong, device, clock, 1e9)


@pytest.mark.parametrize(('kind', 'gap'), [('soft', -5e-4), ('rigid', 0.0), ('soft', 0.2)])
def test_contacts_that_do_not_carry_the_load_are_no_row(kind, gap):
    """Half the push on either side, and no contacts, are refused; so is less torque in the air."""
    pytest.importorskip('mujoco')
    from benchmark import contact
    scene = contact.scenes()['arm, ball']
    ours = contact.Ours(scene, kind, gap)
    theirs = contact.Theirs(scene, ours)
    refuse = contact.refuse_another_motion if gap > 0.0 else contact.refuse_another_load
    refuse('x', ours, theirs)
    weak = contact.Ours(scene._replace(push=0.5 * scene.push), kind, gap)
    weak.load, other = ours.load, contact.Theirs(scene, weak)
    for pair in ((weak, theirs), (ours, other), (contact.Ours(scene, kind, 0.2 - gap), theirs)):
        with pytest.raises(RuntimeError, match='x: '):
            refuse('x', *pair)


def test_the_rig_of_ros2_control_is_found():
    """A benchmark that runs by itself finds the rig of the tests, which needs the tools."""
    done = subprocess.run([sys.executable, '-c', 'from benchmark import ros2_control as r\n'
                           'print(r._rig().reason_to_skip)'], cwd=ros2_control.ROOT, text=True,
                          capture_output=True)
    assert done.returncode == 0, done.stderr
