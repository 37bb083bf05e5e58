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

__all__ = ['BALANCE', 'CONTACT', 'CONTACT_COUNT', 'CONTACT_FORCE', 'CONTACT_PLACE',
           'CONTACT_REACTION', 'CONTACT_TIME', 'CONTACT_TORQUE', 'JOINT_STATES', 'LAST_GOAL',
           'LATENCY', 'MEDIAN', 'RATE', 'REFERENCE', 'spread_key', 'SUPERVISOR']

SUPERVISOR, JOINT_STATES, CONTACT = 'supervisor', 'joint states', 'contact'
#: Of the node that keeps a robot on its feet.
BALANCE = 'balance'
#: Of the last contact, and how many there were.
CONTACT_REACTION, CONTACT_COUNT, CONTACT_TIME = 'reaction', 'contacts', 'last contact'
CONTACT_PLACE = 'last contact felt by'
CONTACT_TORQUE, CONTACT_FORCE = 'last contact torque', 'last contact force, N'
REFERENCE, LAST_GOAL = 'reference', 'last goal'
RATE = 'rate [Hz]'
MEDIAN = 'p50'


def spread_key(name: str, part: str, unit: str) -> str:
    """Return the key of a part of a distribution, such as its median."""
    return f'{name} {part} [{unit}]'


LATENCY = spread_key('latency', MEDIAN, 'ms')
