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

"""What the force-torque sensor and the control of forces have to say."""

from __future__ import annotations

from collections.abc import Callable
import enum

from rbd_ros.control.interface.sentences import Sentence

__all__ = ['SensorWord', 'TEXTS']


class SensorWord(enum.IntEnum):
    """Words of the force-torque sensor."""

    SILENT = 500  # s: age of the last reading, timeout
    REPEATS = 501  # s: for how long all six numbers were the same, freeze_time
    NOT_FINITE = 502
    BEYOND_FORCE = 503  # N: force, range
    BEYOND_MOMENT = 504  # N.m: moment, range
    JUMPED_FORCE = 505  # N: by how much, allowed
    JUMPED_MOMENT = 506  # N.m: by how much, allowed
    NO_SENSOR = 510
    MOVES = 511  # s: for how long the robot has been at rest, needed
    UNSTEADY = 512  # N, N.m: spread of force and moment
    TOO_MUCH = 513  # N, N.m: change of the bias; which is too large: 0 force, 1 moment


#: sentences by word, of three numbers
TEXTS: dict[int, Callable[[str, float, float, float], str]] = {
    SensorWord.SILENT: Sentence('no reading for {a:.3g} s, force_torque.timeout {b:g} s'),
    SensorWord.REPEATS: Sentence(
        'all six numbers have been exactly the same for {a:.3g} s, force_torque.freeze_time '
        '{b:g} s'),
    SensorWord.NOT_FINITE: Sentence('a reading is not finite'),
    SensorWord.BEYOND_FORCE: Sentence(
        'a reading of {a:.4g} N is beyond force_torque.force_range {b:g} N'),
    SensorWord.BEYOND_MOMENT: Sentence(
        'a reading of {a:.4g} N.m is beyond force_torque.moment_range {b:g} N.m'),
    SensorWord.JUMPED_FORCE: Sentence(
        'the force jumped by {a:.4g} N between two readings, force_torque.force_jump {b:g} N'),
    SensorWord.JUMPED_MOMENT: Sentence(
        'the moment jumped by {a:.4g} N.m between two readings, force_torque.moment_jump {b:g} '
        'N.m'),
    SensorWord.NO_SENSOR: Sentence('there is no fresh reading of a force-torque sensor'),
    SensorWord.MOVES: Sentence(
        'the robot has been at rest for {a:.3g} s only: {b:g} s are needed (force_torque.tare_time'
        ')'),
    SensorWord.UNSTEADY: Sentence(
        'the readings spread by {a:.3g} N and {b:.3g} N.m: somebody touches the tool, or the '
        'robot vibrates'),
    SensorWord.TOO_MUCH: Sentence(
        'the bias would change by {a:.4g} N and {b:.4g} N.m, beyond {c|force_torque.tare_force|'
        'force_torque.tare_moment}: the tool touches something, or force_torque.tool_* or '
        'payload.* are wrong'),
}
