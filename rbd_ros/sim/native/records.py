# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""What the native loop of a simulator works on."""

from __future__ import annotations

import enum
from typing import NamedTuple

from rbd_ros.compiler.language.foreign import Foreign
from rbd_ros.compiler.language.octets import Bytes
from rbd_ros.compiler.procedure import Kernel, Matrix, Vector
from rbd_ros.compiler.records import field, Record
from rbd_ros.wire.joint_state import Parts

__all__ = ['Body', 'Count', 'Defect', 'Drive', 'Handle', 'Inputs', 'Look', 'Loop', 'Post',
           'Readings', 'RUN', 'Word', 'WORDS']


class Drive(Record):
    """What the loop knows of time, brakes and commands; Python's while it has the simulation."""

    period: float = field('', 's', 'real time of one period')
    step: float = field('', 's', 'length of a step')
    substeps: float = field('', '', 'steps in a period')
    catch_up: float = field('', '', 'most periods at once')
    brakes: float = field('', '', '1 if brakes hold the robot until the first command')
    timeout: float = field('', 'ns', 'without a command after which they close; 0: never')
    simulated: float = field('', '', '1 if stamps are simulated time')
    based: float = field('', '', '1 once the first period has been timed')
    start: float = field('', 's', 'steady time of that')
    time: float = field('', 's', 'since the robot was placed or reset')
    released: float = field('', '', '1 once a command has opened the brakes')
    pending: float = field('', '', '1 if a command waits for the next period')
    last_command: float = field('', 's', 'steady time of the last command')
    deaf_until: float = field('', 's', 'steady time until which a stream of commands is ignored')
    silence: float = field('', 's', 'pause that ends this earlier')
    kind: float = field('', '', 'of commands; 0: array of numbers, 1: joint state')
    velocity: float = field('', '', 'what is read, a place in VELOCITY_SOURCES')
    effort: float = field('', '', 'what is read, a place in EFFORT_SOURCES')
    read_at: float = field('', 'ns', 'last reading, since the origin; -1: there is none')
    mine: float = field('', '', '1 while the loop has the simulation')
    failed: float = field('', '', '1 if the loop has left a step to Python')


class Count(enum.IntEnum):
    """Where a whole number is in ``Loop.counts``, in bytes."""

    TIME = 0  # simulated time, ns
    BEGUN = 8  # simulated time at the start, or at the last reset, ns
    COMMANDED = 16  # simulated time of the last command, ns
    PERIOD = 24  # simulated length of a period, ns
    ORIGIN = 32  # what times that are looked at are counted from, ns
    DONE = 40  # periods that were timed since the start
    PERIODS = 48
    COMMANDS = 56
    REFUSED = 64
    OUTDATED = 72
    SUPERSEDED = 80
    TIMEOUTS = 88
    LATE = 96
    SKIPPED = 104
    UNRESOLVED = 112
    MISSED = 120


class Defect(enum.IntEnum):
    """Why a command was refused."""

    NONE = 0
    SIZE = 1  # with the number of its values
    NOT_FINITE = 2  # with the number of the joint
    MISSING = 3  # with a sum of 2**j for the first 52 joints j that have no effort
    UNREADABLE = 4  # with its size


class Look(enum.IntEnum):
    """Where a number is in what the loop lets Python see; the position of the robot follows."""

    TIME = 0  # since the origin, ns
    STAMP = 1  # of the last state, less its simulated time, ns
    ROBOT_TIME = 2
    RELEASED = 3
    LAST_COMMAND = 4
    DEFECT = 5
    ABOUT = 6
    FAILED = 7
    PERIODS = 8
    COMMANDS = 9
    REFUSED = 10
    OUTDATED = 11
    SUPERSEDED = 12
    TIMEOUTS = 13
    LATE = 14
    SKIPPED = 15
    UNRESOLVED = 16
    MISSED = 17


class Word(enum.IntEnum):
    """Where a shared word is, in bytes."""

    END = 0  # written by Python: the loop is to end
    FINISHED = 64  # written by the loop: it has
    FAILED = 72  # messages that could not be sent


#: shared words, and the value of ``Word.END`` while the loop runs
WORDS, RUN = 16, 0


class Post(enum.IntEnum):
    """What Python asks for."""

    GIVE = 0  # the loop gets the simulation
    TAKE = 1  # Python gets it


class Handle(enum.IntEnum):
    """Where the address of a rcl struct is in ``Loop.handles``, in bytes."""

    COMMANDS = 0
    STATES = 8
    CLOCK = 16  # 0: no clock is published


class Library(NamedTuple):
    """Functions of C."""

    wait: Foreign  # sem_clockwait
    post: Foreign  # sem_post
    clock: Foreign  # clock_gettime
    copy: Foreign  # memcpy
    take: Foreign  # rcl_take_serialized_message
    publish: Foreign  # rcl_publish_serialized_message


class Body(NamedTuple):
    """
    The robot.

    :param run: takes a step.
    :param time: what it reads of time; may be empty.
    :param moved: torque of friction, brakes and stops.
    """

    run: Kernel
    setting: Vector
    report: Vector
    time: Vector
    q: Vector
    v: Vector
    command: Vector
    braked: Vector
    motor: Vector
    moved: Vector


class Inputs(NamedTuple):
    """
    Commands.

    :param message: bytes of the last one.
    :param names: of the joints that take commands, one after the other.
    :param name_at: where each begins; one more: where the last ends.
    :param place: where the effort of each joint is in a message.
    :param values: the last command that was accepted.
    :param belongs: to which velocity each belongs.
    :param uncommanded: 1 for velocities whose brakes stay closed.
    :param held: 1 for velocities whose brakes close without commands.
    """

    message: Bytes
    parts: Parts
    names: Bytes
    name_at: Vector
    place: Vector
    values: Vector
    belongs: Vector
    uncommanded: Vector
    held: Vector


class Readings(NamedTuple):
    """
    What is read of the joints, and the message that carries it.

    :param from_q: positions of all joints from the coordinates of the robot, with ``offset``.
    :param from_v: velocities from those of the robot.
    :param own: velocity of the robot that is a joint's own, for its effort; -1: none.
    :param resolution: step of the encoder; 0: none.
    :param last: positions of the last reading.
    :param content: bytes of the message.
    :param places: where the first position, velocity and effort are in it.
    """

    from_q: Matrix
    offset: Vector
    from_v: Matrix
    own: Vector
    resolution: Vector
    position: Vector
    velocity: Vector
    effort: Vector
    last: Vector
    content: Bytes
    places: Vector


class Loop(NamedTuple):
    """
    All that the loop works on.

    :param box: words of the mailbox.
    :param post: what is asked.
    :param seen: row that Python sees, with the memory and the words of the latest.
    :param wake: semaphore, for the loop.
    :param answer: semaphore, for Python.
    :param taken: rcutils_uint8_array_t, into which messages are taken.
    :param state: rcutils_uint8_array_t around the state.
    :param tick: rcutils_uint8_array_t around the clock.
    """

    c: Library
    words: Bytes
    box: Bytes
    post: Vector
    seen: Vector
    rows: Matrix
    latest: Bytes
    wake: Bytes
    answer: Bytes
    time: Bytes
    handles: Bytes
    taken: Bytes
    state: Bytes
    tick: Bytes
    tick_content: Bytes
    drive: Drive
    counts: Bytes
    body: Body
    inputs: Inputs
    readings: Readings
