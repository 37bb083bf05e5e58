# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Robots, results and errors on local clusters of processes: Dask and Ray, the real packages."""

from __future__ import annotations

import multiprocessing
import os
from pathlib import Path
import pickle
import subprocess
import sys
import time

from dask.distributed import Client, LocalCluster
from gradient_rig import arm
import numpy as np
import pytest
import ray
import rbd_ros
from rbd_ros.errors import ShapeError, UnknownName

ROOT = Path(__file__).parents[2]
#: Compiles and calls; prints the seconds of both, and how many kernels were compiled.
COLD = """
import sys, time
import numpy as np
import rbd_ros
from rbd_ros.compiler.native import cache
made = []
write = cache.write
cache.write = lambda key, entry: (made.append(key), write(key, entry))
start = time.perf_counter()
robot = rbd_ros.Dynamics(rbd_ros.load_urdf('package://rbd_ros/urdf/seven_joint_arm.urdf'),
                         threads=1)
q = np.full((100, 7), 0.3)
tau = robot.inverse_dynamics(q, q, q)
print(len(made), time.perf_counter() - start, tau.sum().hex())
"""


@pytest.fixture(scope='module')
def dask():
    """Return a client of two worker processes of one thread each."""
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None,
                      worker_dashboard_address=None) as cluster, Client(cluster) as client:
        yield client


def torques(robot, states):
    """Return joint forces, and the process that computed them."""
    q, qd, qdd = states
    return robot.inverse_dynamics(q, qd, qdd), os.getpid(), robot.kernel(
        'inverse_dynamics').threads


def shares(count):
    """Return some shares of states, and all of them."""
    states = np.random.default_rng(2).uniform(-1.0, 1.0, (count, 3, 50, 7))
    return list(states), np.concatenate(list(states), axis=1)


def check(found, everything):
    """Compare what came back with one batch here."""
    assert len({pid for _, pid, _ in found}) == 2 and os.getpid() not in {
        pid for _, pid, _ in found}
    assert {threads for _, _, threads in found} == {1}
    np.testing.assert_allclose(np.concatenate([tau for tau, _, _ in found]),
                               arm().inverse_dynamics(*everything), rtol=1e-12, atol=1e-12)


def test_dask(dask):
    """A robot goes to each worker once, and shares of a batch come back in order."""
    given, everything = shares(16)
    robot = dask.scatter(arm(), broadcast=True)
    check(dask.gather(dask.map(torques, [robot] * len(given), given, pure=False)), everything)


def test_ray(rays):
    """Actors hold a robot each; short tasks go to whoever is free."""
    given, everything = shares(16)

    @ray.remote(num_cpus=1)
    class Worker:

        def __init__(self, robot):
            self.robot = robot

        def torques(self, states):
            q, qd, qdd = states
            return self.robot.inverse_dynamics(q, qd, qdd), os.getpid(), self.robot.kernel(
                'inverse_dynamics').threads

    workers = [Worker.remote(arm()) for _ in range(2)]
    pool = ray.util.ActorPool(workers)
    check(list(pool.map(lambda worker, states: worker.torques.remote(states), given)), everything)


def wrong_shape(robot):
    """Ask for what cannot be."""
    return robot.gravity(np.zeros(6))


def wrong_name(robot):
    """Ask for what is not there."""
    return robot.pose(np.zeros(7), 'tool1')


def test_errors_of_dask(dask):
    """An error of a worker is raised here as what it is, with what it carries."""
    with pytest.raises(ShapeError, match=r'q has shape \(6,\), expected \(7,\)'):
        dask.submit(wrong_shape, arm()).result()
    with pytest.raises(UnknownName, match='did you mean "tool0"') as caught:
        dask.submit(wrong_name, arm()).result()
    assert caught.value.name == 'tool1' and 'tool0' in caught.value.known


def test_errors_of_ray(rays):
    """An error of a task is raised here as what it is."""
    with pytest.raises(ShapeError, match=r'q has shape \(6,\), expected \(7,\)'):
        ray.get(ray.remote(lambda robot: robot.gravity(np.zeros(6))).remote(arm()))


def test_two_processes_on_one_cold_cache(tmp_path):
    """Processes that compile the same at once do not disturb each other; a third compiles none."""
    environ = {**os.environ, 'RBD_ROS_CACHE': str(tmp_path), 'PYTHONPATH': str(ROOT)}

    def start():
        return subprocess.Popen([sys.executable, '-c', COLD], env=environ, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    first = [start() for _ in range(3)]
    said = [process.communicate() for process in first]
    assert [process.returncode for process in first] == [0, 0, 0], said
    later = start()
    rows = [out.split() for out, _ in (*said, later.communicate())]
    assert later.returncode == 0
    assert len({row[2] for row in rows}) == 1           # the same machine code
    assert int(rows[-1][0]) == 0 and sum(int(row[0]) for row in rows[:3]) >= 2
    kept = list((tmp_path / 'rbd_ros').iterdir())
    assert [path for path in kept if path.suffix != '.rbd'] == []
    print('seconds on a cold cache, three at once:', [row[1] for row in rows[:3]],
          'on a warm one:', rows[-1][1])


def _gravity(robot):
    return robot.gravity(np.zeros(7))


def test_spawned_processes():
    """The pools of Python itself take robots too."""
    with multiprocessing.get_context('spawn').Pool(2) as pool:
        found = pool.map(_gravity, [arm()] * 4)
    assert all(np.array_equal(each, arm().gravity(np.zeros(7))) for each in found)


def test_a_robot_is_a_small_message():
    """What travels is the recipe, not the machine code."""
    robot = arm()
    robot.inverse_dynamics(np.zeros(7), np.zeros(7), np.zeros(7))
    size = len(pickle.dumps(robot))
    start = time.perf_counter()
    pickle.loads(pickle.dumps(robot)).inverse_dynamics(*np.zeros((3, 7)))
    print(f'{size} bytes; from bytes to a first result {time.perf_counter() - start:.4f} s')
    assert size < 100_000
    assert rbd_ros.Dynamics(robot.model).model.nv == 7
