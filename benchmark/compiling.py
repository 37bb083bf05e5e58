# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Time to first torque: import, compilation, and loading from the cache, each in a new process."""

from __future__ import annotations

from collections.abc import Sequence
import json
import os
from pathlib import Path
import subprocess
import sys
import tempfile
from typing import Any

from benchmark.proof import same
from benchmark.robots import robot_file
import numpy as np

import rbd_ros
from rbd_ros.dynamics.robot import STANDARD

#: For each row the robot, its kernels, and the seconds that they may take: cold, cached.
ROWS = {
    'panda': ('panda', STANDARD, 3.0, 0.1),
    'talos': ('talos', STANDARD, 40.0, 0.5),
    'panda, derivatives of ID': ('panda', ('inverse_dynamics_derivatives',), 5.0, 0.1),
    'panda, derivatives of FD': ('panda', ('forward_dynamics_derivatives',), 5.0, 0.1),
}

_KERNELS = """
import json, sys, time
import numpy as np, rbd_ros
path, floating, names = sys.argv[1], sys.argv[2] == 'True', sys.argv[3:]
model = rbd_ros.load_urdf(path, floating, on_warning=lambda text: None)
start = time.perf_counter()
robot = rbd_ros.Dynamics(model)
for name in names:
    robot.kernel(name)
spent = time.perf_counter() - start
found = {}
for name in names:
    bound = robot.bind(name)
    for key, buffer in bound.inputs.items():
        if key != 'gravity':
            buffer[...] = 0.1 + 0.01 * np.arange(buffer.size).reshape(buffer.shape)
    bound()
    found[name] = [x.tolist() for x in bound.outputs.values()]
print(json.dumps([spent, found, rbd_ros.__file__]))
"""

_IMPORT = """
import json, time
start = time.perf_counter()
from rbd_ros import Dynamics, load_urdf
spent = time.perf_counter() - start
import rbd_ros
print(json.dumps([spent, {}, rbd_ros.__file__]))
"""


#: Files by name, number and size.
Kept = set[tuple[str, int, int]]


def refuse_unmade(row: str, names: Sequence[str], cold: Kept, cached: Kept) -> None:
    """
    Raise an error unless a first start has made and kept every kernel, and a later one none.

    :param row: for the message.
    :param names: of kernels.
    :param cold: what the cache held after the first start, beyond what it held before.
    :param cached: what it held after later ones, beyond that.
    :raises RuntimeError: which says what was made when.
    """
    if len(cold) < len(names) or cached:
        raise RuntimeError(f'{row}: of {len(names)} kernels a first start has kept {len(cold)}, '
                           f'and later ones {len(cached)}: these are no times of a first start '
                           'and of one from the cache')


def _held(cache: str) -> Kept:
    """Return files of a cache with what changes when they are written."""
    return {(str(path), path.stat().st_ino, path.stat().st_size)
            for path in Path(cache).rglob('*') if path.is_file()}


def _run(program: str, *arguments: str, cache: str) -> tuple[float, dict[str, Any]]:
    """Return the seconds that a program says, and the results of the kernels it has called."""
    # Python's own cache belongs to a second start, as it does for users.
    environment = {name: value for name, value in os.environ.items()
                   if name != 'PYTHONDONTWRITEBYTECODE'}
    result = subprocess.run(
        [sys.executable, '-c', program, *arguments], check=True, capture_output=True, text=True,
        env={**environment, 'RBD_ROS_CACHE': cache})
    seconds, found, module = json.loads(result.stdout)
    if not Path(module).samefile(rbd_ros.__file__):
        raise RuntimeError(f'{module} was measured instead of {rbd_ros.__file__}')
    return float(seconds), found


def _by_hand(path: Path, floating: bool, names: Sequence[str]) -> dict[str, list[Any]]:
    """Return the same results by the algorithms as they stand, without compiler."""
    robot = rbd_ros.Dynamics(rbd_ros.load_urdf(path, floating, on_warning=lambda text: None),
                             backend='reference')
    found = {}
    for name in names:
        bound = robot.bind(name)
        for key, buffer in bound.inputs.items():
            if key != 'gravity':
                buffer[...] = 0.1 + 0.01 * np.arange(buffer.size).reshape(buffer.shape)
        bound()
        found[name] = [x.tolist() for x in bound.outputs.values()]
    return found


def report() -> tuple[str, dict[str, object]]:
    """Return the table as text and as data."""
    lines = [f'{"":28}{"cold s":>10}{"limit":>8}{"cached s":>10}{"limit":>8}']
    data: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as cache:
        for row, (robot, names, cold_limit, cached_limit) in ROWS.items():
            arguments = (str(robot_file(robot)), str(robot == 'talos'), *names)
            before = _held(cache)
            cold, results = _run(_KERNELS, *arguments, cache=cache)
            made = _held(cache)
            later = [_run(_KERNELS, *arguments, cache=cache) for _ in range(3)]
            refuse_unmade(row, names, made - before, _held(cache) - made)
            wanted = _by_hand(robot_file(robot), robot == 'talos', names)
            for found in (results, *[each for _, each in later]):
                for name in names:
                    for got, right in zip(found[name], wanted[name], strict=True):
                        same(f'{row}, {name}', got, right)
            cached = min(seconds for seconds, _ in later)
            label = row if len(names) == 1 else f'{row}, {len(names)} kernels'
            lines.append(f'{label:28}{cold:10.2f}{cold_limit:8.1f}'
                         f'{cached:10.3f}{cached_limit:8.1f}')
            data[row] = {'cold': cold, 'cached': cached}
        seconds = min(_run(_IMPORT, cache=cache)[0] for _ in range(5))
    lines.append(f'{"import rbd_ros":28}{seconds:10.2f}{0.3:8.1f}')
    data['import'] = seconds
    return '\n'.join(lines), data
