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

"""What the observers say, as texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
import enum

from rbd_ros.control.interface.sentences import Sentence

__all__ = ['AXES', 'ObserverWord', 'TEXTS']

#: Directions of the frame, in the order of a wrench.
AXES = ('rx', 'ry', 'rz', 'x', 'y', 'z')


class ObserverWord(enum.IntEnum):
    """What a joint that stands still is accused of, and what is felt of a contact."""

    STANDS = 400  # a: by how much it should have moved, rad or m
    MOVES_UNSEEN = 401  # a: where it stands, rad or m
    PUSHED_UNSEEN = 404  # a: where it stands, rad or m, b: its speed by its torque
    LEAPT = 405  # a: by how much it has moved unseen, rad or m
    TOUCHED = 402  # a: observed torque, b: its threshold, c: force at the frame
    TOUCHED_ALONG = 403  # a: force or moment, b: its direction, c: force at the frame


#: Sentences, made from the name of the joint and three numbers.
TEXTS: Mapping[int, Callable[[str, float, float, float], str]] = {
    ObserverWord.STANDS: Sentence(
        '{joint} does not move at all: it should have moved by {a:.3g} {unit}, more than a tenth '
        'of tracking_limits (blocked, or a frozen sensor)'),
    ObserverWord.MOVES_UNSEEN: Sentence(
        '{joint} stands at {a:.6g} {unit}, but the other joints feel that it moves'),
    ObserverWord.PUSHED_UNSEEN: Sentence(
        '{joint} stands at {a:.6g} {unit}, but by its torque it has {b:.3g} {unit}/s by now '
        '(blocked, or a frozen sensor)'),
    ObserverWord.LEAPT: Sentence(
        '{joint} has moved by {a:.3g} {unit} while its sensor repeated one position'),
    ObserverWord.TOUCHED: Sentence(
        '{joint} feels {a:.3g} {effort}, threshold {b:.3g} {effort}; {c:.3g} N if it is at '
        'task.frame'),
    ObserverWord.TOUCHED_ALONG: Sentence(
        'task.frame feels {a:.3g} {b|N.m|N.m|N.m|N} along {b|' + '|'.join(AXES)
        + '}; {c:.3g} N in all'),
}
