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

"""Words about references and goals, and their sentences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
import enum

from rbd_ros.control.interface.sentences import Sentence
from rbd_ros.control.modes.modes import Mode, names_in, Takes, taking
from rbd_ros.control.references.results import ResultCode

__all__ = ['other_mode', 'POINT_CODES', 'PointWord', 'ReferenceWord', 'TEXTS']


class ReferenceWord(enum.IntEnum):
    """What references tell, why goals end, and why a reference is refused."""

    DRY = 300  # pieces that were followed, pieces in all, s that were left
    # Ends of goals
    RESTARTED = 310
    HELD = 311
    SET_POINT = 312
    NEW_TRAJECTORY = 313
    MODE_CHANGED = 314  # number of the new mode
    STOPPED = 315
    CANCELED = 316
    REACHED = 317
    OFF_PATH = 318  # error, tolerance, quantity
    OFF_GOAL = 319  # the same
    DRIED = 320  # pieces that were followed
    SILENT = 321
    # Refusals
    NO_SET_POINT = 330
    NO_TRAJECTORY = 331
    REPLACED = 332
    NO_GOAL = 333
    NO_POSE = 334
    NO_TWIST = 335
    NO_WRENCH = 336
    NOT_RUNNING = 337
    OTHER_MODE = 338
    NO_PATH = 339


class PointWord(enum.IntEnum):
    """Why the points of a trajectory are refused."""

    NO_POINTS = 370
    NO_POSITIONS = 371
    UNEVEN = 372  # how many there are, point, quantity
    NO_VELOCITIES = 373
    NOT_FINITE = 374  # quantity
    TIMES = 375  # time, time before, point
    OUTSIDE = 376  # position, limits
    VELOCITY = 377  # velocity, most, point
    ACCELERATION = 378  # acceleration, most, point
    TOO_FAST = 379  # velocity, most
    ENDED = 380  # s ago
    TOO_CLOSE = 381
    TOLERANCE = 382  # quantity
    TOO_LARGE = 383  # largest, most, which of the two
    FAR = 384  # distance, most, 0: by the reach of the tip
    NO_TURN = 385  # length of the quaternion
    COUNT = 386  # how many numbers, of how many joints, which of the two


#: result codes of an action for words that are no plain bad goal
POINT_CODES: dict[int, ResultCode] = {PointWord.ENDED: ResultCode.OLD_HEADER_TIMESTAMP}


def other_mode(mode: str, own: Sequence[Mode] = ()) -> str:
    """
    Return why a goal is refused.

    :param mode: the present one.
    :param own: modes of the user.
    """
    return (f'the mode is {mode}; set the parameter mode to '
            f'{names_in(taking(Takes.TRAJECTORY, own), "or")}, or goal_mode, so that goals switch '
            'to it')


def _always(text: str) -> Callable[[str, float, float, float], str]:
    return lambda _joint, _a, _b, _c: text


def _off(which: str) -> Sentence:
    unit = '{unit}{c||/s|/s^2}'
    return Sentence('{joint}: {c|position|velocity|acceleration} error {a:.4g} ' f'{unit} exceeds '
                    f'the {which} tolerance ' '{b:.4g} ' f'{unit}')


#: sentences by word: of the name of a joint and three numbers; in place of the joint,
#: ``MODE_CHANGED`` and ``OTHER_MODE`` take the mode, ``NOT_RUNNING`` the state of the supervisor,
#: and ``STOPPED`` the faults
TEXTS: dict[int, Callable[[str, float, float, float], str]] = {
    ReferenceWord.DRY: Sentence(
        'the reference comes to rest {c:.4g} s before the end of its trajectory: after {a+1:.0f} '
        'of {b:.0f} pieces the next one did not come in time. Send the trajectory again, with '
        'fewer points if it has many'),
    ReferenceWord.RESTARTED: _always('the controller was restarted'),
    ReferenceWord.HELD: _always('the reference is held'),
    ReferenceWord.SET_POINT: _always('pre-empted by a set-point'),
    ReferenceWord.NEW_TRAJECTORY: _always('pre-empted by a new trajectory'),
    ReferenceWord.MODE_CHANGED: lambda mode, _a, _b, _c: f'the mode changed to {mode}',
    ReferenceWord.STOPPED: lambda faults, _a, _b, _c: f'the controller stopped: {faults}',
    ReferenceWord.CANCELED: _always('canceled by the client'),
    ReferenceWord.REACHED: _always('goal reached'),
    ReferenceWord.OFF_PATH: _off('path'),
    ReferenceWord.OFF_GOAL: _off('goal'),
    ReferenceWord.DRIED: Sentence(
        'the trajectory did not come in time: nothing followed after {a+1:.0f} pieces'),
    ReferenceWord.SILENT: _always(
        'its client has given no sign of life for goal_lease: it has ended, or was suspended'),
    ReferenceWord.NO_SET_POINT: _always('the set-point is not finite'),
    ReferenceWord.NO_TRAJECTORY: _always('the trajectory is not finite'),
    ReferenceWord.REPLACED: _always('pre-empted by a new trajectory'),
    ReferenceWord.NO_GOAL: _always('the goal has ended already'),
    ReferenceWord.NO_POSE: _always('the target pose is not finite'),
    ReferenceWord.NO_TWIST: _always('the target twist must be six finite numbers'),
    ReferenceWord.NO_WRENCH: _always('the target wrench must be six finite numbers'),
    ReferenceWord.NO_PATH: _always('no trajectory is being followed'),
    ReferenceWord.NOT_RUNNING: lambda state, _a, _b, _c: f'the controller is {state}',
    PointWord.NO_POINTS: Sentence('the trajectory has no points'),
    PointWord.NO_POSITIONS: Sentence('the points have no positions'),
    PointWord.UNEVEN: Sentence(
        'point {b:.0f} has {a:.0f} {c|positions|velocities|accelerations}, not one for each '
        'joint; all points must give them, or none'),
    PointWord.NO_VELOCITIES: Sentence('accelerations without velocities'),
    PointWord.NOT_FINITE: Sentence('{a|positions|velocities|accelerations} are not all finite'),
    PointWord.TIMES: Sentence('time_from_start must be finite and increase strictly: in point '
                              '{c:.0f} it is {a:.9g} s, after {b:.9g} s'),
    PointWord.OUTSIDE: Sentence(
        'position {a:.6g} {unit} of joint {joint} is outside [{b:.6g}, {c:.6g}] {unit}'),
    PointWord.VELOCITY: Sentence(
        'velocity {a:.6g} {unit}/s of joint {joint} in point {c:.0f} is beyond {b:.6g} {unit}/s'),
    PointWord.ACCELERATION: Sentence(
        'acceleration {a:.6g} {unit}/s^2 of joint {joint} in point {c:.0f} is beyond {b:.6g} '
        '{unit}/s^2'),
    PointWord.TOO_FAST: Sentence(
        '{joint} would move at {a:.4g} {unit}/s, beyond its reference.velocity {b:.4g} {unit}/s'),
    PointWord.ENDED: Sentence('the trajectory ended {a:.4g} s ago'),
    PointWord.TOO_CLOSE: Sentence(
        'points of the trajectory are closer together than the clock can tell'),
    PointWord.TOLERANCE: Sentence(
        '{a|position|velocity|acceleration} tolerance of {joint} is not finite'),
    PointWord.TOO_LARGE: Sentence(
        'the target {c|twist|wrench} has {a:g} {c|m/s or rad/s|N or N.m}, which is beyond {b:g} '
        '{c|m/s or rad/s|N or N.m}'),
    PointWord.FAR: Sentence(
        'target_pose is {a:.5g} m from the base{c|; the tip reaches at most|, beyond} {b:.5g} m. '
        'Send metres, not millimetres, and name their frame in header.frame_id'),
    PointWord.COUNT: Sentence(
        '{a:.0f} {c|positions|velocities} for {b:.0f} joints: one for each is needed, in the '
        'order of the parameter joints'),
    PointWord.NO_TURN: Sentence('the quaternion has length {a:.4g}'),
    ReferenceWord.OTHER_MODE: lambda mode, _a, _b, _c: other_mode(mode),
}
