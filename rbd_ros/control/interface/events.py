# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""
What comes into a step and what leaves it: the event, the shared state of the joints, the results.

Everything is a number in a :class:`~rbd_ros.compiler.records.Record`. What is to be said is a
word, a code with a joint and three numbers; the text is made outside.
"""

from __future__ import annotations

import enum

from rbd_ros.compiler.procedure import Matrix, Vector
from rbd_ros.compiler.records import field, Record

__all__ = ['accuse', 'Event', 'Joints', 'Kind', 'NEVER', 'NOBODY', 'NONE', 'Result', 'Structure',
           'tell']

#: s; a time before all others. Numbers of the state are finite: so is what never happened.
NEVER = -1e18

#: a limit that nothing reaches
NONE = 1e18

#: in the place of a joint, where something is not about one
NOBODY = -1

#: words and accusations that one step can have; more are counted and lost
WORDS, ACCUSATIONS = 32, 16


class Kind(enum.IntEnum):
    """What happened."""

    TIMER = 0  # of the node, on a steady clock
    STATE = 1  # a joint state
    UNREADABLE = 2  # a message that is no joint state
    DEAD_MAN = 3  # a message of the dead-man switch
    ADVANCE = 4  # requests follow, which see the present state of the supervisor
    ACTIVATE = 5  # states are to be checked, and torque to begin
    RESET = 6  # latched faults are to be cleared
    FAULT = 7  # a cause from outside: stop, signal, deactivation, exception, bad command
    PARAMETERS = 8  # the parameters have changed
    HOLD = 9  # references come to rest
    SET_POINT = 10  # a position for each joint
    PIECES = 11  # a trajectory begins, whose pieces are in the ring
    CANCEL = 12  # the goal is given up
    POSE = 13  # of the tip, to go to
    TWIST = 14  # of the tip, to move with
    WRENCH = 15  # that the tip is to exert
    PAYLOAD = 16  # another one is carried
    GRAVITY = 17  # where down is
    REFUSED = 18  # a reference that was refused outside: it counts
    LOOK = 19  # the timer has come, and requests wait
    LEAVE = 20  # no step follows: what is to act from now on
    CARRY = 21  # nobody holds the robot before the first torque: what is to act meanwhile
    WEIGH = 22  # whether a payload could be held at the present pose; nothing changes
    READING = 23  # of the force-torque sensor
    TARE = 24  # what that reads at rest is its bias
    PAUSE = 25  # a trajectory comes to rest on its way, or goes on
    STREAM = 26  # positions or velocities of the joints, one message of many
    OUTPUT = 27  # until when it is known that nobody else has the output


class Event(Record):
    """What happened, and when."""

    kind: float = field('', '', 'what happened, see Kind')
    now: float = field('', 's', 'control time')
    steady: float = field('', 's', 'steady time')
    source: float = field('', '', 'joint state: which kind of message, from 0; -1: one without '
                                  'joints of the robot, or too many kinds')
    renewed: float = field('', '', 'joint state: 1 if its kind takes the place of another one')
    defect: float = field('', '', 'joint state: a word if it can never be used, else 0')
    defect_a: float = field('', '', 'joint state: a number for that word')
    defect_b: float = field('', '', 'joint state: another one')
    stamp_s: float = field('', 's', 'joint state: stamp, whole seconds; 0 with stamp_ns: none')
    stamp_ns: float = field('', 'ns', 'joint state: stamp, the rest')
    velocities: float = field('', '', 'joint state: 1 if it has velocities')
    efforts: float = field('', '', 'joint state: 1 if it has efforts')
    cause: float = field('', '', 'fault: its cause')
    pressed: float = field('', '', 'dead-man switch: 1 if it is held')
    mode: float = field('', '', 'parameters: the mode')
    present: Vector = field('m', '', 'joint state: 1 for each joint of the model that it has')
    rank: Vector = field('m', '', 'joint state: where each of these stands in the message')
    q: Vector = field('m', 'rad or m', 'joint state: positions; may be anything')
    qd: Vector = field('m', 'rad/s or m/s', 'joint state: velocities; may be anything')
    effort: Vector = field('m', 'N.m or N', 'joint state: efforts; may be anything')
    numbers: Vector = field('16', '', 'numbers of a request')
    joints: Matrix = field('3 n', '', 'numbers of a request for each controlled joint')


class Joints(Record):
    """The present state of the joints, as far as it is believed."""

    expiry: float = field('', 's', 'control time until which the whole state may be used', NEVER)
    controlled_expiry: float = field('', 's', 'the same of the controlled joints', NEVER)
    effort_known: float = field('', '', '1 if the last message had a finite effort of each '
                                        'controlled joint')
    differenced: float = field('', '', '1 if the last message lacked velocities')
    elapsed: float = field('', 's', 'time between the last two messages')
    calm: float = field('', '', '1 if no position was implausible lately', 1.0)
    rate: float = field('', 'Hz', 'of complete states in the last window')
    rate_low: float = field('', '', '1 if that is below the minimum')
    q: Vector = field('m', 'rad or m', 'positions')
    qd: Vector = field('m', 'rad/s or m/s', 'velocities')
    effort: Vector = field('m', 'N.m or N', 'measured efforts')
    until: Vector = field('m', 's', 'control time until which a joint may be used', NEVER)
    speed: Vector = field('n', 'rad/s or m/s', 'velocities in the message before the last')
    mismatch: Vector = field('n', 'rad or m', 'by which positions ran away from velocities')
    allowed: Vector = field('n', 'rad or m', 'how far mismatch may go now')
    repeated: Vector = field('n', '', '1 where the last position is exactly the one before')
    unusual: Vector = field('n', '', '1 where a sensor has shown that it never repeats itself')
    doubted: Vector = field('n', '', '1 where a sensor was called frozen: its positions may jump')


class Structure(Record):
    """Which joints are which; fixed when the controller is configured."""

    index: Vector = field('n', '', 'place in the model of each controlled joint')
    controlled: Vector = field('m', '', '1 for controlled joints')
    measured: Vector = field('m', '', '1 for joints that some message must bring')
    continuous: Vector = field('m', '', '1 for joints whose position may wrap')


class Result(Record):
    """What a step gives: what is to be sent and said."""

    send: float = field('', '', '1 if a torque is to be sent')
    answer: float = field('', '', 'of a request: 0 granted, else a word that refuses it')
    told: float = field('', '', 'number of words')
    lost: float = field('', '', 'number of words for which there was no room, ever')
    accused: float = field('', '', 'number of accusations that wait for the supervisor')
    torque: Vector = field('n', 'N.m or N', 'what is to be sent')
    motor: Matrix = field('5 n', '', 'the same for motors that close their own loop: position, '
                                     'velocity, stiffness, damping and torque of each')
    words: Matrix = field(f'{WORDS} 5', '', 'word, joint, and three numbers each')
    accusations: Matrix = field(f'{ACCUSATIONS} 6', '', 'cause, word, joint, three numbers each')


def tell(y: Result, word: int, joint: int = NOBODY, a: float = 0.0, b: float = 0.0,
         c: float = 0.0) -> None:
    """
    Leave a word to be said by a slower thread.

    :param word: its code.
    :param joint: that it is about; ``NOBODY``: none.
    """
    k = int(y.told)
    if k >= len(y.words):
        y.lost += 1.0
        return
    y.words[k, 0] = word
    y.words[k, 1] = joint
    y.words[k, 2] = a
    y.words[k, 3] = b
    y.words[k, 4] = c
    y.told = k + 1


def accuse(y: Result, cause: int, word: int, joint: int = NOBODY, a: float = 0.0, b: float = 0.0,
           c: float = 0.0) -> None:
    """
    Say that something is wrong; the supervisor answers right after the check that says it.

    :param cause: its family, see ``Cause``.
    :param word: what exactly.
    :param joint: that it is about; ``NOBODY``: none.
    """
    k = int(y.accused)
    if k >= len(y.accusations):
        y.lost += 1.0
        return
    y.accusations[k, 0] = cause
    y.accusations[k, 1] = word
    y.accusations[k, 2] = joint
    y.accusations[k, 3] = a
    y.accusations[k, 4] = b
    y.accusations[k, 5] = c
    y.accused = k + 1
