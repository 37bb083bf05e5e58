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

"""Time to first torque: import, compilation, and loading from the cache, each in a new process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile

from benchmark.robots import robot_file

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
import rbd_ros
path, floating, names = sys.argv[1], sys.argv[2] == 'True', sys.argv[3:]
model = rbd_ros.load_urdf(path, floating, on_warning=lambda text: None)
start = time.perf_counter()
robot = rbd_ros.Dynamics(model)
for name in names:
    robot.kernel(name)
print(json.dumps(time.perf_counter() - start))
"""

_IMPORT = """
import json, time
start = time.perf_counter()
from rbd_ros import Dynamics, load_urdf
print(json.dumps(time.perf_counter() - start))
"""


def _timed(program: str, *arguments: str, cache: str) -> float:
    # Python's own cache belongs to a second start, as it does for users.
    environment = {name: value for name, value in os.environ.items()
                   if name != 'PYTHONDONTWRITEBYTECODE'}
    result = subprocess.run(
        [sys.executable, '-c', program, *arguments], check=True, capture_output=True, text=True,
        env={**environment, 'RBD_ROS_CACHE': cache})
    return json.loads(result.stdout)


def report() -> tuple[str, dict[str, object]]:
    """Return the table as text and as data."""
    lines = [f'{"":28}{"cold s":>10}{"limit":>8}{"cached s":>10}{"limit":>8}']
    data: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as cache:
        for row, (robot, names, cold_limit, cached_limit) in ROWS.items():
            arguments = (str(robot_file(robot)), str(robot == 'talos'), *names)
            cold = _timed(_KERNELS, *arguments, cache=cache)
            cached = min(_timed(_KERNELS, *arguments, cache=cache) for _ in range(3))
            label = row if len(names) == 1 else f'{row}, {len(names)} kernels'
            lines.append(f'{label:28}{cold:10.2f}{cold_limit:8.1f}'
                         f'{cached:10.3f}{cached_limit:8.1f}')
            data[row] = {'cold': cold, 'cached': cached}
        seconds = min(_timed(_IMPORT, cache=cache) for _ in range(5))
    lines.append(f'{"import rbd_ros":28}{seconds:10.2f}{0.3:8.1f}')
    data['import'] = seconds
    return '\n'.join(lines), data
