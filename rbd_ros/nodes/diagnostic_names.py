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
"""Names of parts and values in /diagnostics that the controller writes and the dashboard reads."""

__all__ = ['JOINT_STATES', 'LATENCY', 'MEDIAN', 'RATE', 'spread_key', 'SUPERVISOR']

SUPERVISOR, JOINT_STATES = 'supervisor', 'joint states'
RATE = 'rate [Hz]'
MEDIAN = 'p50'


def spread_key(name: str, part: str, unit: str) -> str:
    """Return the key of a part of a distribution, such as its median."""
    return f'{name} {part} [{unit}]'


LATENCY = spread_key('latency', MEDIAN, 'ms')
