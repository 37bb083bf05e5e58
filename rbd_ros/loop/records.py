# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""What the loop works on: functions of C, handles of the middleware, its own numbers, letters."""

from __future__ import annotations

import enum
from typing import NamedTuple

from rbd_ros.compiler.language.foreign import Foreign
from rbd_ros.compiler.language.octets import Bytes
from rbd_ros.compiler.procedure import Kernel, Matrix, Vector
from rbd_ros.compiler.records import field, Record
from rbd_ros.control.interface.events import Event, Result
from rbd_ros.control.snapshots import Noted
from rbd_ros.control.step.exchange import Mail
from rbd_ros.control.step.requests import Session
from rbd_ros.control.step.seen import Seen
from rbd_ros.control.step.state import Parameters, State

__all__ = ['Ask', 'Box', 'Entities', 'Handle', 'Library', 'Limits', 'Loop', 'NOTHING',
           'Responder', 'Run',
           'Said', 'STATES_KEPT', 'Times']

#: in the place of a kind of event: a request that only wants to see the state
NOTHING = -1

#: last states whose times are kept, a power of two
STATES_KEPT = 4096


class Library(NamedTuple):
    """Functions of C that the loop calls."""

    wait: Foreign  # sem_clockwait
    post: Foreign  # sem_post
    clock: Foreign  # clock_gettime
    copy: Foreign  # memcpy
    peek: Foreign  # recv
    take: Foreign  # rcl_take_serialized_message
    publish: Foreign  # rcl_publish_serialized_message
    assert_liveliness: Foreign  # rcl_publisher_assert_liveliness
    take_request: Foreign  # rcl_take_request
    send_response: Foreign  # rcl_send_response
    reset_error: Foreign  # rcutils_reset_error
    try_wait: Foreign  # sem_trywait


class Handle(enum.IntEnum):
    """Where an address or a file descriptor is in ``Entities.handles``, in bytes."""

    STATES = 0  # subscriptions
    DEAD_MAN = 8
    CLOCK = 16  # 0: time is not simulated
    STOP = 24  # service
    OUTPUT = 32  # publishers
    HEARTBEAT = 40
    SIGNALS = 48  # socket into which Python's handler writes the numbers of signals
    TEXTS = 56  # address of the texts
    SENSOR = 64  # subscription to the force-torque sensor; 0: there is none


class Entities(NamedTuple):
    """Handles of the middleware, and structs of C that are passed to it."""

    handles: Bytes
    wake: Bytes  # sem_t, for the loop
    heed: Bytes  # sem_t, for Python: something was said
    answer: Bytes  # sem_t, for Python: the request is answered
    time: Bytes  # struct timespec
    message: Bytes  # rcutils_uint8_array_t, into which messages are taken
    command: Bytes  # rcutils_uint8_array_t around the command
    beat: Bytes  # rcutils_uint8_array_t around the heartbeat
    beat_content: Bytes
    request: Bytes  # rmw_request_id_t
    wanted: Bytes  # std_srvs/srv/Trigger_Request
    respond: Bytes  # sem_t, for the thread that answers
    answers: Bytes  # that wait for it
    small: Bytes  # the last short message
    text_at: Vector  # where each text begins
    text_size: Vector  # and how long it is, without the zero at its end
    texts: Bytes


class Responder(NamedTuple):
    """What the thread works on that answers requests."""

    c: Library
    handles: Bytes
    words: Bytes
    wake: Bytes  # sem_t
    queue: Bytes
    time: Bytes  # struct timespec
    request: Bytes  # rmw_request_id_t
    response: Bytes  # std_srvs/srv/Trigger_Response
    text_at: Vector
    text_size: Vector


class Run(Record):
    """What the loop remembers from one pass to the next."""

    clock: float = field('', 's', 'simulated time')
    timer: float = field('', 's', 'steady time of the next timer')
    alive: float = field('', '', 'word ALIVE when it was seen to grow')
    alive_at: float = field('', 's', 'steady time of that')
    states: float = field('', '', 'word STATES_ARRIVED when states were taken last')
    dead_man: float = field('', '', 'word DEAD_MAN_ARRIVED when these were taken last')
    stops: float = field('', '', 'word STOPS_ARRIVED when requests were taken last')
    more: float = field('', '', '1 if something is left to be taken')
    last: float = field('', 's', 'steady time of the end of the last state')
    signalled: float = field('', '', '1 if a signal was seen')
    deserted: float = field('', '', '1 if the program around the loop does not answer')
    ending: float = field('', 's', 'steady time at which the loop ends whatever happens; 0: none')


class Limits(Record):
    """What is chosen of the loop."""

    simulated: float = field('', '', '1 if /clock is the control clock')
    period: float = field('', 's', 'of the timer while nothing but it sends torques')
    watch: float = field('', 's', 'of the timer otherwise')
    beat: float = field('', 's', 'of heartbeats')
    lease: float = field('', '', '1 if liveliness is to be asserted')
    state_timeout: float = field('', 's', 'of joint states')
    supervision: float = field('', 's', 'without a sign of Python after which it stops; 0: never')
    end: float = field('', 's', 'that a stop may take at the end')
    idle: float = field('', 's', 'less than that after a state: the next one was waiting')


class Times(NamedTuple):
    """When the last states came, and when they were done; one row each."""

    begin: Vector
    end: Vector
    stamp: Vector


class Ask(enum.IntEnum):
    """Where the parts of a request are."""

    KIND = 0  # see Kind; NOTHING: only the state is to be seen
    PARAMETERS = 1  # 1 if they are new
    PIECES = 2  # 1 if there are new ones of a trajectory
    DIVIDER = 3  # states between two that are noted; 0: none
    MADE = 4  # control time at which it was made, s
    NOW = 5  # answer: control time at which it happened, s
    STEADY = 6  # answer: steady time
    OUTDATED = 7  # answer: 1 if it did not happen: what it was made from has moved on
    STOPS = 8  # word STOPS when it was made
    LATE = 9  # s by which a trajectory may come too late


class Box(NamedTuple):
    """
    The memories of records, of the loop and as Python sees them.

    Between a request and its answer Python leaves its own ones alone, and the loop does at all
    other times.
    """

    words: Bytes  # of the mailbox
    kind: Vector  # what is asked, and more, see Ask
    u: Vector
    p: Vector
    ring: Vector
    x: Vector
    y: Vector
    given_u: Vector
    given_p: Vector
    given_ring: Vector
    seen_x: Vector
    seen_y: Vector
    parts: Matrix  # of x that Python sees: first number, and the one after the last


class Said(NamedTuple):
    """What the loop has said by itself: rows in rings, of which Python reads."""

    words: Matrix
    words_at: Bytes
    word: Vector  # room for one row
    snapshots: Matrix
    snapshots_at: Bytes
    noted: Vector  # memory of the state that was noted last
    names: Bytes  # the last list of names that may be new
    names_of: Vector  # kind of message, defect, number of names, order of bytes, size


class Loop(NamedTuple):
    """All that the loop works on."""

    c: Library
    io: Entities
    words: Bytes
    run: Run
    limits: Limits
    times: Times
    box: Box
    said: Said
    mail: Mail
    x: State
    u: Event
    p: Parameters
    y: Result
    noted: Noted
    session: Session
    seen: Seen
    exchange: Kernel
