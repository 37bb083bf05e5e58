# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
What clusters cost: rate of a core, start of a worker, and what Dask and Ray take for a task.

``.run/scale/venv/bin/python -m benchmark.cluster [bags]``, after ``./run test scale`` has made the
environment. Rates and the cost of tasks are counted in seconds of processor time, which other
programs on the machine change little; a wall clock would count these too.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
import json
import os
from pathlib import Path
import pickle
import resource
import runpy
import subprocess
import sys
import tempfile
import time
from typing import Any

from benchmark.bags import write_motions
from dask.distributed import Client, LocalCluster
import numpy as np
import psutil
import ray
import rbd_ros
from rbd_ros.identification import base_parameters

ROOT = Path(__file__).parents[1]
STATES, TASKS = 1 << 14, 500
#: Bags of the example about identification, s of each, messages in a second.
BAGS, SECONDS, RATE = 200, 3.0, 100.0
WORKERS, TURNS = 2, 3
#: What a worker does before its first result.
WORKER = """
import numpy as np, rbd_ros
robot = rbd_ros.Dynamics(rbd_ros.load_urdf('package://rbd_ros/urdf/seven_joint_arm.urdf'),
                         threads=1)
q = np.zeros((64, 7))
robot.inverse_dynamics(q, q, q), robot.forward_dynamics(q, q, q)
"""


def best(run: Callable[[], object], clock: Callable[[], float], times: int = 5) -> float:
    """Return the least time of several runs."""
    found = []
    for _ in range(times):
        start = clock()
        run()
        found.append(clock() - start)
    return min(found)


def rates(robot: rbd_ros.Dynamics) -> dict[str, float]:
    """Return states in a second of one core."""
    rng = np.random.default_rng(0)
    q, qd, x = rng.uniform(-1.0, 1.0, (3, STATES, 7))
    calls = {name: getattr(robot, name) for name in (
        'inverse_dynamics', 'forward_dynamics', 'inverse_dynamics_derivatives')}
    for call in calls.values():
        call(q, qd, x)
    return {name: STATES / best(partial(call, q, qd, x), time.process_time)
            for name, call in calls.items()}


def start(cache: str) -> float:
    """Return the processor time, s, of a worker up to its first results."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, '-c', WORKER], check=True, env={
        **os.environ, 'RBD_ROS_CACHE': cache, 'PYTHONPATH': str(ROOT)})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def nothing(number: int) -> int:
    """Return what was given."""
    return number


def dask_task() -> float:
    """Return the processor time, s, of client and scheduler for a task that does nothing."""
    with LocalCluster(n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None,
                      worker_dashboard_address=None) as cluster, Client(cluster) as client:
        client.gather(client.map(nothing, range(50), pure=False))
        return best(lambda: client.gather(client.map(nothing, range(TASKS), pure=False)),
                    time.process_time, 3) / TASKS


def ray_task() -> float:
    """Return the processor time, s, of the driver for a task that does nothing."""
    ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False)
    task = ray.remote(nothing)
    ray.get([task.remote(k) for k in range(50)])
    found = best(lambda: ray.get([task.remote(k) for k in range(TASKS)]), time.process_time, 3)
    ray.shutdown()
    return found / TASKS


def identification(robot: rbd_ros.Dynamics) -> dict[str, float]:
    """
    Return what the example about bags takes, in this process and by Dask in several.

    Times by the clock are measured in turns, so that what else the machine does meets both, and
    stand beside the processor time of all processes.
    """
    sums = runpy.run_path(str(ROOT / 'examples' / 'cluster' / 'identify_over_bags.py'))['sums']
    columns = list(base_parameters(robot, drives=True).independent)
    with tempfile.TemporaryDirectory() as name:
        write_motions(Path(name), robot, BAGS, seconds=SECONDS, rate=RATE)
        paths = sorted(Path(name).iterdir())
        begin = time.perf_counter()
        with LocalCluster(n_workers=WORKERS, threads_per_worker=1, dashboard_address=None,
                          worker_dashboard_address=None) as cluster, Client(cluster) as client:
            there = client.scatter(robot, broadcast=True)

            def spread() -> list[Any]:
                return client.gather(client.map(
                    sums, [there] * BAGS, [columns] * BAGS, paths, pure=False))

            def alone() -> list[Any]:
                return [sums(robot, columns, path) for path in paths]
            first = spread()
            ready = time.perf_counter() - begin
            for here, far in zip(alone(), first, strict=True):
                assert all(np.array_equal(x, y) for x, y in zip(here, far, strict=True))
            times = [(taken(alone), taken(spread)) for _ in range(TURNS)]
    found: dict[str, float] = {'bags': BAGS, 'messages': BAGS * SECONDS * RATE,
                               'start of Dask and a first time over all bags, s': ready}
    for k, where in enumerate(('one process', f'Dask, {WORKERS} processes')):
        found[f'bags: {where}, s'] = min(each[k][0] for each in times)
        found[f'bags: {where}, s of processors'] = min(each[k][1] for each in times)
    return found


def taken(run: Callable[[], object]) -> tuple[float, float]:
    """Return the time of a run, s: by the clock, and of all processors."""
    begin, before = time.perf_counter(), _processor_time()
    run()
    return time.perf_counter() - begin, _processor_time() - before


def _processor_time() -> float:
    """Return that of this process and of those that it has started, s."""
    own = psutil.Process()
    times = [each.cpu_times() for each in (own, *own.children(recursive=True))]
    return sum(each.user + each.system for each in times)


def main() -> None:
    """Measure everything, or what concerns bags alone, and print it."""
    robot = rbd_ros.Dynamics(
        rbd_ros.load_urdf('package://rbd_ros/urdf/seven_joint_arm.urdf'), threads=1)
    if sys.argv[1:] == ['bags']:
        print(json.dumps(identification(robot), indent=1))
        return
    found: dict[str, float] = {f'{name}, states/s': rate for name, rate in rates(robot).items()}
    with tempfile.TemporaryDirectory() as folder:
        found['worker, nothing compiled yet, s'] = start(folder)
        found['worker, from the cache, s'] = min(start(folder) for _ in range(3))
    message = pickle.dumps(robot)
    found['robot as a message, bytes'] = len(message)
    found['robot from a message to a result, s'] = best(
        lambda: pickle.loads(message).gravity(np.zeros(7)), time.process_time)
    found['task of Dask, s'] = dask_task()
    found['task of Ray, s'] = ray_task()
    found |= identification(robot)
    print(json.dumps(found, indent=1))


if __name__ == '__main__':
    main()
