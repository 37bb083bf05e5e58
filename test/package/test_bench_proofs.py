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

"""A benchmark whose subject does not do its work says so instead of a number."""

from pathlib import Path
from types import SimpleNamespace

from benchmark import compiling, ros2_control, speed
from benchmark.gpu import report as gpu
from benchmark.gpu.jobs import Job
import numpy as np
import pytest
import rbd_ros

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
