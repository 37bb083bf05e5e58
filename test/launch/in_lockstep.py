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

"""The launch file with a simulator that waits for the answer to each state."""

from __future__ import annotations

from pathlib import Path
import tempfile

from launch.actions import IncludeLaunchDescription
import rig
import yaml

ROOT = Path(__file__).parents[2]


def launched(**arguments: str) -> IncludeLaunchDescription:
    """Return what includes ``controller.launch.py``; its simulator waits for each answer."""
    file = Path(tempfile.mkdtemp()) / 'simulator.yaml'
    content = yaml.safe_load((ROOT / 'config' / 'simulator.yaml').read_text())
    content['/**']['simulator']['ros__parameters']['lockstep_timeout'] = 60.0
    file.write_text(yaml.safe_dump(content))
    return rig.launched(**{'command_type': 'joint_state', 'lockstep': 'true',
                           'use_sim_time': 'true', 'simulator_params_file': str(file)} | arguments)
