# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""What the control loop does when: its source on a clock and a middleware that the test plans."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.interface.events import Kind
from rbd_ros.control.step.requests import Starting
from rbd_ros.control.supervisor.states import StateCode, SupervisorState as State
from rbd_ros.loop.handover import is_answered
from rbd_ros.loop.records import Ask, Handle, NOTHING
from rbd_ros.loop.words import ENDED, STOP_AND_END, Word
from stub_loop import BEGIN, BROKEN, StubLoop, UNREADABLE

PRESSED, RELEASED = b'\0\1\0\0\1', b'\0\1\0\0\0'


def near(value):
    """Return what a time is compared with: the clock has whole nanoseconds."""
    return pytest.approx(value, abs=1e-5)


def stamped(seconds: int, nanoseconds: int, big: bool = False, more: bytes = b'') -> bytes:
    """Return a message that begins with a stamp."""
    return b'\0' + bytes([not big]) + b'\0\0' + struct.pack(
        '>II' if big else '<II', seconds & 0xffffffff, nanoseconds) + more


# -- time ---------------------------------------------------------------------------------------


def test_the_timer_watches_or_sends():
    """While states give the torques it only watches; while nothing else does, it sends them."""
    for state, period in ((StateCode.RUNNING, 0.05), (StateCode.RELEASING, 0.01)):
        stub = StubLoop()
        stub.be(state)
        stub.run(0.2 - 1e-3)
        times = [time for time, _ in stub.events(Kind.TIMER)]
        np.testing.assert_allclose(times, np.arange(round(0.2 / period)) * period, atol=1e-4)


def test_after_a_stall_the_timer_goes_on():
    """What was missed is not made up for, and nothing comes in a burst."""
    stub = StubLoop()

    def stall():
        stub.steady += 0.6
    stub.at(0.07, stall)
    stub.run(0.9)
    assert [time for time, _ in stub.events(Kind.TIMER)] == [
        0.0, 0.05, 0.67, 0.71, 0.76, 0.81, 0.86]
    assert stub.beats == [(0.0, 1), (0.67, 2), (0.71, 3)]


def test_a_torque_that_needs_no_state_begins_within_a_period():
    """The timer does not wait for its next watch when the loop has become blind."""
    stub = StubLoop()
    stub.be(StateCode.RUNNING)
    stub.step = lambda seen: seen.kind == Kind.STATE and stub.be(StateCode.RELEASING)
    stub.at(0.012, lambda: stub.send(Handle.STATES, b'state'))
    stub.run(0.04)
    assert stub.events() == [(0.0, Kind.TIMER), (0.012, Kind.STATE), (0.022, Kind.TIMER),
                             (0.032, Kind.TIMER)]


def test_states_do_not_put_off_the_timer():
    """While it sends the torques, it keeps its time whatever else comes."""
    stub = StubLoop()
    stub.be(StateCode.RELEASING)
    for k in range(20):
        stub.at(0.002 + 0.004 * k, lambda: stub.send(Handle.STATES, b'state'))
    stub.run(0.075)
    times = [time for time, _ in stub.events(Kind.TIMER)]
    np.testing.assert_allclose(times, np.arange(8) * 0.01, atol=1e-4)


@pytest.mark.parametrize('failing', [0, 1])
@pytest.mark.parametrize('lease', [0.0, 1.0])
def test_heartbeats(failing, lease):
    """They are numbered and keep their time; where it is wanted, the publisher is said to live."""
    stub = StubLoop()
    stub.limits.lease, stub.publishing = lease, failing
    stub.run(0.65)
    assert stub.beats == [(0.0, 1), (0.2, 2), (0.4, 3), (0.6, 4)]
    assert stub.lively == [Handle.OUTPUT] * (4 if lease else 0)
    assert stub.errors_reset == (4 if failing else 0)


# -- the program around it ----------------------------------------------------------------------


@pytest.mark.parametrize('limit, expected', [(0.12, [0.25, 0.65]), (0.0, [])])
def test_a_silent_program_stops_the_robot_once(limit, expected):
    """A sign of life ends the silence, and the next one counts anew; without a limit none does."""
    stub = StubLoop()
    stub.limits.supervision = limit
    stub.at(0.06, lambda: stub.put(Word.ALIVE, 1))
    stub.at(0.48, lambda: stub.put(Word.ALIVE, 2))
    stub.run(0.7)
    assert stub.causes() == [(time, Cause.SUPERVISION) for time in expected]


def test_an_end_is_an_end():
    """The loop ends at once if it is to, and says so to whoever waits; its passes are counted."""
    stub = StubLoop()
    stub.be(StateCode.RUNNING)
    stub.run(0.03)
    assert stub.steady == near(BEGIN + 0.03) and not stub.causes()
    assert (stub.word(Word.FINISHED), stub.word(Word.PASSES)) == (1, 2)
    assert stub.posted(stub.io.answer) == stub.posted(stub.io.heed) == 1


@pytest.mark.parametrize('state, released, end, causes', [
    (StateCode.RUNNING, 0.3, 0.3, [(0.03, Cause.SIGNAL)]),
    (StateCode.RUNNING, None, 1.03, [(0.03, Cause.SIGNAL)]),
    (StateCode.RELEASED, None, 0.03, []),
])
def test_a_stop_at_the_end(state, released, end, causes):
    """The loop stops the robot and ends when nothing is sent any more, or when it takes long."""
    stub = StubLoop()
    stub.be(state)
    stub.step = lambda seen: seen.kind == Kind.FAULT and stub.be(StateCode.BRAKING)
    stub.at(0.03, lambda: stub.put(Word.END, STOP_AND_END))
    if released:
        stub.at(released, lambda: stub.be(StateCode.RELEASED))
    stub.run(5.0)
    assert stub.causes() == causes
    assert end - 1e-3 <= stub.steady - BEGIN <= end + stub.limits.watch + 1e-3


def test_a_process_that_ends_stops_the_robot_without_a_request():
    """The word alone is enough, at once, and only the first time; a signal then is no other."""
    stub = StubLoop()
    stub.at(0.02, lambda: stub.put(Word.STOP, 1))
    stub.at(0.03, lambda: stub.put(Word.STOP, 1))
    stub.at(0.04, lambda: setattr(stub, 'signals', b'\2'))
    stub.run(0.2)
    assert stub.causes() == [(0.02, Cause.SIGNAL)]


@pytest.mark.parametrize('signals, causes', [
    (b'\0\x0f', [(0.05, Cause.SIGNAL)]), (b'\x02\x02', [(0.05, Cause.SIGNAL)]),
    (b'\0\0', []), (b'', [])])
def test_a_signal_stops_the_robot(signals, causes):
    """The timer sees what the handler of Python has written, whatever Python does; not twice."""
    stub = StubLoop()
    stub.at(0.02, lambda: setattr(stub, 'signals', signals))
    stub.run(0.2)
    assert stub.causes() == causes


# -- requests of Python -------------------------------------------------------------------------


def asked(kind, answer=0.0, **parts):
    """Have a loop asked at 0.02 s, and return it once that was answered."""
    stub = StubLoop()
    stub.box.given_u[:], stub.box.given_p[:], stub.box.given_ring[:] = 3.0, 4.0, 5.0
    stub.p.memory[:], stub.y.answer, stub.mail.letters.forms.told[:] = 1.0, 9.0, 1.0
    words = stub.y.words

    def say(seen):
        if seen.kind == kind:
            stub.y.answer, words[0, 0] = answer, 6.0

    def ask():
        stub.x.memory[:8] = np.arange(1.0, 9.0)
        stub.ask(kind, **parts)
        assert not is_answered(stub.box.words)
    stub.step = say
    stub.at(0.02, ask)
    stub.at(0.03, lambda: stub.put(Word.END, ENDED))
    stub.run(0.03)
    assert is_answered(stub.box.words) and stub.posted(stub.io.answer) == 2
    assert (stub.box.kind[Ask.NOW], stub.box.kind[Ask.STEADY]) == near((BEGIN + 0.02,) * 2)
    return stub


def did(stub):
    """Return whether something happened that was asked for."""
    return len(stub.events()) > 1


def test_a_request_happens_and_is_answered():
    """
    Its letters reach the step, and what that gives reaches Python; what is not wanted does not.

    Python sees its parts of the state, and no others.
    """
    stub = asked(Kind.SET_POINT, answer=7.0, divider=4.0)
    assert stub.events() == [(0.0, Kind.TIMER), (0.02, Kind.SET_POINT)]
    assert stub.u.numbers.tolist() == [3.0] * 16 and stub.noted.divider == 4.0
    assert not (stub.p.memory == 4.0).any() and not stub.box.ring.any()
    assert stub.box.kind[Ask.OUTDATED] == 0.0
    np.testing.assert_array_equal(stub.box.seen_y, stub.y.memory)
    assert 6.0 in stub.box.seen_y and 7.0 in stub.box.seen_y
    seen = stub.box.seen_x != 0.0
    assert seen[5:7].all() and not seen[2:5].any() and not seen[7:].any()
    np.testing.assert_array_equal(stub.box.seen_x[[0, 1, 5, 6]], stub.x.memory[[0, 1, 5, 6]])


def test_a_look_changes_nothing():
    """Who only wants to see the state gets it; nothing happens, and no old answer is repeated."""
    stub = asked(NOTHING, made=-1e9, stops=7.0)
    assert not did(stub) and not stub.u.numbers.any() and stub.box.kind[Ask.OUTDATED] == 0.0
    assert stub.box.seen_x[:8].tolist() == [1.0, 2.0, 0.0, 0.0, 0.0, 6.0, 7.0, 0.0]
    assert not stub.box.seen_y.any()


def test_parameters_and_pieces_come_with_their_requests():
    """Each is copied if it is said to be new, and only then."""
    stub = asked(Kind.PARAMETERS, parameters=1.0)
    assert (stub.p.memory == 4.0).all() and not stub.box.ring.any()
    stub = asked(Kind.PIECES, pieces=1.0, made=BEGIN, late=0.1)
    assert (stub.p.memory == 1.0).all() and stub.box.ring.tolist() == [5.0] * 3


@pytest.mark.parametrize('late, outdated', [(0.03, False), (0.01, True)])
def test_pieces_that_come_too_late_are_outdated(late, outdated):
    """A trajectory that was made of what has moved on does not happen; other requests do."""
    stub = asked(Kind.PIECES, pieces=1.0, made=BEGIN, late=late, stops=3.0)
    assert (did(stub), stub.box.kind[Ask.OUTDATED]) == (not outdated, outdated)
    assert stub.box.ring.tolist() == [0.0 if outdated else 5.0] * 3
    assert did(asked(Kind.SET_POINT, made=BEGIN, late=late))


@pytest.mark.parametrize('kind', [Kind.ACTIVATE, Kind.RESET])
@pytest.mark.parametrize('stops, answer, happens, announced', [
    (0.0, 0.0, True, 0.0), (0.0, 2.0, True, 1.0), (-1.0, 0.0, False, 1.0)])
def test_a_start_that_was_asked_for_before_a_stop(kind, stops, answer, happens, announced):
    """It does not happen; one that is granted has all kinds of messages announced once more."""
    stub = asked(kind, answer=answer, stops=stops, made=-1e9)
    assert did(stub) == happens and stub.box.kind[Ask.OUTDATED] == (not happens)
    assert (stub.mail.letters.forms.told == announced).all()
    assert (asked(Kind.HOLD).mail.letters.forms.told == 1.0).all()


# -- the dead-man switch ------------------------------------------------------------------------


def presses(stub):
    """Return when the switch said what."""
    return [(round(each.steady - BEGIN, 4), each.pressed) for each in stub.seen
            if each.kind == Kind.DEAD_MAN]


def test_the_switch_is_held_or_not():
    """A message that is cut counts as released; its time is that of the last state."""
    stub = StubLoop()
    stub.at(0.02, lambda: stub.send(Handle.DEAD_MAN, PRESSED, RELEASED, PRESSED[:4], b'',
                                    PRESSED + bytes(2000)))
    stub.at(0.03, lambda: stub.send(Handle.DEAD_MAN, RELEASED))
    stub.run(0.04)
    assert presses(stub) == [(0.02, True), (0.02, False), (0.02, False), (0.02, False),
                             (0.02, True), (0.03, False)]
    assert {each.now for each in stub.seen[1:]} == {stub.seen[0].now}


def test_so_many_presses_that_one_may_be_lost():
    """The hundredth at once counts as released, whatever it says."""
    stub = StubLoop()
    stub.at(0.02, lambda: stub.send(Handle.DEAD_MAN, *[PRESSED] * 101))
    stub.run(0.04)
    assert presses(stub) == [(0.02, True)] * 99 + [(0.02, False)]


def test_a_press_whose_news_was_lost():
    """The timer has the loop look at switch and requests, whatever the middleware has said."""
    stub = StubLoop()
    stub.be(StateCode.RUNNING)
    stub.at(0.06, lambda: stub.inbox[Handle.DEAD_MAN].append(PRESSED))
    stub.at(0.06, lambda: stub.inbox[Handle.STOP].append(b'one'))
    stub.run(0.13)
    assert presses(stub) == [(0.1, True)]
    assert stub.causes() == [(0.1, Cause.OPERATOR_STOP)]


def test_a_failure_of_the_middleware_is_counted():
    """It is no message, and what comes after it is one."""
    stub = StubLoop()
    stub.at(0.02, lambda: stub.send(Handle.DEAD_MAN, BROKEN, PRESSED))
    stub.run(0.08)
    assert stub.word(Word.FAILED) == stub.errors_reset == 1
    assert [pressed for _, pressed in presses(stub)] == [True]


# -- requests on ~/stop -------------------------------------------------------------------------


def answered(stub, silent: float = 0.0):
    """Have the other thread answer, and return what was said to whom."""
    stub.words[:] = 0
    begin = stub.steady

    def end():
        stub.put(Word.END, ENDED)
        stub.put(Word.FINISHED, 1)
        if not silent:
            stub.wake(stub.io.respond)
    stub.at(begin - BEGIN + (silent or 0.5), end)
    stub.respond()
    assert begin + (silent or 0.5) <= stub.steady <= begin + (silent or 0.5) + 1.0
    assert stub.word(Word.END) == ENDED
    return stub.answers


@pytest.mark.parametrize('state, starting, text, stops', [
    (StateCode.RUNNING, Starting.NOTHING, State.BRAKING.value, True),
    (StateCode.RELEASED, Starting.NOTHING, 'nothing to stop: no torque is published', False),
    (StateCode.INACTIVE, Starting.ACTIVATION, 'the activation is cancelled', False),
    (StateCode.RUNNING, Starting.AUTOMATIC, 'the automatic start is cancelled', True)])
def test_who_asks_for_a_stop_hears_what_has_happened(state, starting, text, stops):
    """The robot is stopped at once if anything is sent; a start that is cancelled is named."""
    stub = StubLoop()
    stub.be(state)
    stub.step = lambda seen: seen.kind == Kind.FAULT and stub.be(StateCode.BRAKING)
    stub.at(0.01, lambda: stub.put(Word.STARTING, starting))
    stub.at(0.02, lambda: stub.send(Handle.STOP, b'who'))
    stub.run(0.04)
    assert stub.causes() == ([(0.02, Cause.OPERATOR_STOP)] if stops else [])
    assert stub.word(Word.STOPS) == 1 and stub.posted(stub.io.heed) == 2
    assert stub.posted(stub.io.respond) == 1
    assert answered(stub) == [(b'who', True, text)]


def test_more_stops_than_can_be_answered():
    """256 wait for their answers, in order; the others stop the robot too, and are counted."""
    stub = StubLoop()
    stub.be(StateCode.RUNNING)
    for round_ in range(2):
        stub.at(0.02, lambda: stub.send(Handle.STOP, *(b'%d' % k for k in range(259))))
        stub.run(4.0)
        assert len(stub.causes()) == 259 and stub.word(Word.STOPS) == 259
        assert stub.word(Word.FAILED) == 3 and stub.posted(stub.io.respond) == 256
        assert [each[0] for each in answered(stub)] == [b'%d' % k for k in range(256)]
        stub.words[:], stub.steady = 0, BEGIN
        stub.seen.clear()
        stub.answers.clear()
        assert not round_ or not stub.inbox[Handle.STOP]


def test_a_pass_takes_a_few_stops():
    """Then everything else has its turn, and the rest of them theirs."""
    stub = StubLoop()
    stub.be(StateCode.RUNNING)
    stub.send(Handle.STOP, *[b'.'] * 6)
    stub.send(Handle.DEAD_MAN, PRESSED)
    stub.run(0.06)
    kinds = [kind for _, kind in stub.events(Kind.FAULT, Kind.DEAD_MAN)]
    assert kinds == [Kind.FAULT] * 4 + [Kind.DEAD_MAN] + [Kind.FAULT] * 2


def test_a_request_that_cannot_be_read_may_have_been_a_stop():
    """It stops the robot; nobody can be answered."""
    stub = StubLoop()
    stub.be(StateCode.RUNNING)
    stub.at(0.02, lambda: stub.send(Handle.STOP, BROKEN, b'next'))
    stub.run(0.04)
    assert stub.causes() == [(0.02, Cause.OPERATOR_STOP)] * 2
    assert stub.word(Word.FAILED) == stub.errors_reset == 1
    assert [each[0] for each in answered(stub)] == [b'next']


def test_the_thread_that_answers_ends():
    """It looks every second whether it is over, and counts what could not be sent."""
    stub = StubLoop()
    stub.be(StateCode.RUNNING)
    stub.responding = 1
    stub.at(0.02, lambda: stub.send(Handle.STOP, b'one', b'two'))
    stub.run(0.04)
    assert len(answered(stub, silent=2.3)) == stub.word(Word.UNANSWERED) == stub.errors_reset == 2


def test_a_client_that_is_not_known_yet_is_tried_again():
    """Discovery may take long on a busy machine; one that has gone is given up."""
    stub = StubLoop()
    stub.be(StateCode.RUNNING)
    stub.responding = 2
    stub.at(0.02, lambda: stub.send(Handle.STOP, b'one', b'two'))
    stub.run(0.04)
    assert [each[0] for each in answered(stub, silent=2.3)] == [b'one'] * 3 + [b'two'] * 3
    assert stub.word(Word.UNANSWERED) == 2 and stub.errors_reset == 6


def test_it_answers_until_the_loop_has_finished():
    """A loop that is to end may still stop the robot, and who asked for it is answered."""
    stub = StubLoop()
    stub.be(StateCode.RUNNING)
    stub.at(0.02, lambda: stub.send(Handle.STOP, b'one'))
    stub.run(0.04)
    stub.words[:] = 0
    stub.put(Word.END, STOP_AND_END)
    stub.at(0.5, lambda: stub.put(Word.FINISHED, 1))
    stub.respond()
    assert [each[0] for each in stub.answers] == [b'one']


# -- joint states -------------------------------------------------------------------------------


def test_states_are_taken_in_turns_with_everything_else():
    """Of forty at once 32 are taken, then a stop that has come meanwhile, then the others."""
    stub = StubLoop()
    stub.be(StateCode.RUNNING)
    stub.step = lambda seen: seen.message == b'5' and stub.send(Handle.STOP, b'stop')
    stub.at(0.02, lambda: stub.send(Handle.STATES, *(b'%d' % k for k in range(40))))
    stub.run(0.04)
    kinds = [kind for _, kind in stub.events(Kind.STATE, Kind.FAULT)]
    assert kinds == [Kind.STATE] * 32 + [Kind.FAULT] + [Kind.STATE] * 8
    assert [each.message for each in stub.seen if each.message] == [b'%d' % k for k in range(40)]
    assert len(stub.torques) == 40 == stub.word(Word.STATES)
    assert all(each.now == each.steady == near(BEGIN + 0.02) for each in stub.seen[1:33])


def test_times_of_states_are_kept():
    """When each came and was done, its stamp, and how many were waiting for the one before."""
    stub = StubLoop()

    def step(seen):
        if seen.kind == Kind.STATE:
            stub.mail.notes.stamp = float(seen.message)
            stub.steady += 0.003
    stub.step = step
    stub.at(0.02, lambda: stub.send(Handle.STATES, b'5', b'6'))
    stub.at(0.04, lambda: stub.send(Handle.STATES, b'7'))
    stub.at(0.0435, lambda: stub.send(Handle.STATES, b'8'))
    stub.run(0.06)
    times = stub.loop.times
    assert times.stamp[:5].tolist() == [5.0, 6.0, 7.0, 8.0, 0.0]
    assert times.begin[:4] - BEGIN == near([0.02, 0.023, 0.04, 0.0435])
    assert times.end[:4] - times.begin[:4] == near([0.003] * 4)
    assert stub.word(Word.WAITING) == 2 and stub.word(Word.STATES) == 4


def test_what_is_no_joint_state_is_told():
    """It is no torque and no time; its size is kept. Longer than the room for it is none too."""
    stub = StubLoop()
    room = len(stub.mail.message)
    stub.at(0.02, lambda: stub.send(Handle.STATES, UNREADABLE))
    stub.at(0.03, lambda: stub.send(Handle.STATES, bytes(room + 1)))
    stub.at(0.04, lambda: stub.send(Handle.STATES, bytes(room)))
    stub.at(0.06, lambda: stub.send(Handle.STATES, BROKEN))
    sizes = []
    stub.step = lambda seen: seen.kind == Kind.UNREADABLE and sizes.append(
        stub.word(Word.UNREADABLE_SIZE))
    stub.run(0.08)
    assert stub.events(Kind.STATE, Kind.UNREADABLE) == [
        (0.02, Kind.STATE), (0.02, Kind.UNREADABLE), (0.03, Kind.UNREADABLE), (0.04, Kind.STATE)]
    assert all(each.now == each.steady for each in stub.seen)
    assert sizes == [len(UNREADABLE), room + 1] and stub.word(Word.UNREADABLE) == 2
    assert stub.word(Word.STATES) == 1 == stub.word(Word.FAILED) and stub.torques == [0.04]
    assert stub.mail.notes.arrived == 0.0


def test_a_torque_that_cannot_be_sent_is_counted():
    """Python is told at once: it stops the robot for it."""
    stub = StubLoop()
    stub.at(0.02, lambda: setattr(stub, 'publishing', 1))
    stub.at(0.02, lambda: stub.send(Handle.STATES, b'1', b'2'))
    stub.run(0.04)
    assert stub.word(Word.UNSENT) == stub.errors_reset == 2 == stub.posted(stub.io.heed) - 1


# -- simulated time -----------------------------------------------------------------------------


@pytest.mark.parametrize('big', [False, True])
def test_simulated_time(big):
    """A state may be a little ahead of its clock; time does not go back, unless it jumps."""
    stub = StubLoop(simulated=True)

    def tick(seconds, nanoseconds):
        message = stamped(seconds, nanoseconds, big)
        return lambda: stub.send(Handle.CLOCK, b'', message, stamped(3, 4)[:-1], b'\0\1\0\0')

    def state(seconds, nanoseconds, more=b'state'):
        return lambda: stub.send(Handle.STATES, stamped(seconds, nanoseconds, big, more))
    stub.at(0.00, tick(50, 0))
    stub.at(0.01, state(50, 30_000_000))
    stub.at(0.02, tick(50, 10_000_000))
    stub.at(0.06, tick(50, 200_000_000))
    stub.at(0.11, state(51, 0))
    stub.at(0.12, state(50, 100_000_000))
    stub.at(0.13, lambda: stub.send(Handle.STATES, b'short'))
    stub.at(0.16, tick(10, 0))
    stub.at(0.21, tick(-1, 250_000_000))
    stub.at(0.26, tick(-2**31, 0))
    stub.at(0.31, tick(2**31 - 1, 0))
    stub.run(0.36)
    assert [(round(each.now, 6), each.kind) for each in stub.seen] == [
        (50.0, Kind.TIMER), (50.03, Kind.STATE), (50.03, Kind.TIMER), (50.2, Kind.TIMER),
        (50.2, Kind.STATE), (50.2, Kind.STATE), (50.2, Kind.STATE), (50.2, Kind.TIMER),
        (10.0, Kind.TIMER), (-0.75, Kind.TIMER),
        (-2.0**31, Kind.TIMER), (2.0**31 - 1.0, Kind.TIMER)]


def test_a_clock_in_every_message_of_which_the_last_counts():
    """The clock is read before a state is: it may have moved on meanwhile."""
    stub = StubLoop(simulated=True)
    stub.send(Handle.CLOCK, *(stamped(k, 0) for k in range(1, 31)))
    stub.step = lambda seen: seen.message.endswith(b'one') and stub.send(
        Handle.CLOCK, stamped(40, 0))
    stub.at(0.02, lambda: stub.send(Handle.STATES, stamped(0, 0, more=b'one'),
                                    stamped(0, 0, more=b'two')))
    stub.run(0.04)
    assert [each.now for each in stub.seen] == [30.0, 30.0, 40.0]


def test_what_is_no_state_has_the_time_of_the_clock():
    """A second after it is none: only stamps of states may be ahead."""
    stub = StubLoop(simulated=True, sensor=True)
    stub.send(Handle.CLOCK, stamped(0, 950_000_000))
    stub.at(0.01, lambda: stub.send(Handle.STATES, bytes(len(stub.mail.message) + 1)))
    stub.at(0.02, lambda: stub.ask(Kind.HOLD))
    stub.at(0.03, lambda: stub.send(Handle.SENSOR, reading(*range(6))))
    stub.run(0.06)
    assert {each.kind for each in stub.seen} == {
        Kind.TIMER, Kind.UNREADABLE, Kind.HOLD, Kind.READING}
    assert [each.now for each in stub.seen] == near([0.95] * len(stub.seen))
    assert stub.box.kind[Ask.NOW] == near(0.95)


# -- the force-torque sensor --------------------------------------------------------------------


def reading(*wrench: float) -> bytes:
    """Return a geometry_msgs/WrenchStamped without a frame; force first, as it is sent."""
    return stamped(7, 8, more=struct.pack('<I', 1) + b'\0\0\0\0' + struct.pack('<6d', *wrench))


def test_readings_of_the_sensor():
    """Each is an event with moment and force; what is cut off is none, and 32 are a turn."""
    stub = StubLoop(sensor=True)
    numbers = []
    stub.step = lambda seen: seen.kind == Kind.READING and numbers.append(
        stub.u.numbers[:8].tolist())
    stub.at(0.02, lambda: stub.send(
        Handle.SENSOR, b'', reading(1, 2, 3, 4, 5, 6), reading(1, 2, 3, 4, 5, 6)[:-1]))
    stub.at(0.06, lambda: stub.send(Handle.SENSOR, *[reading(*range(6))] * 40))
    stub.run(0.12)
    assert numbers[0] == [4.0, 5.0, 6.0, 1.0, 2.0, 3.0, 7.0, 8.0]
    assert [time for time, _ in stub.events(Kind.READING)] == [0.05] + [0.1] * 32 + [0.12] * 8
    assert {each.now - each.steady for each in stub.seen} == {0.0}
    none = StubLoop()
    none.at(0.02, lambda: none.send(Handle.SENSOR, reading(1, 2, 3, 4, 5, 6)))
    none.run(0.12)
    assert not none.events(Kind.READING)


# -- what is said -------------------------------------------------------------------------------


def test_sentences_reach_python():
    """All that the step says, in order; what finds no room is counted, and Python is woken."""
    stub = StubLoop()

    def say(seen):
        if seen.kind == Kind.STATE:
            stub.y.told = float(seen.message)
            stub.y.words[:3] = np.arange(15.0).reshape(3, 5) + 100.0 * stub.y.told
    stub.step = say
    stub.at(0.02, lambda: stub.send(Handle.STATES, b'0', b'2', b'1', b'3'))
    stub.run(0.04)
    rows, lost = stub.sentences()
    first = np.arange(10.0).reshape(2, 5)
    np.testing.assert_array_equal(rows, [*(first + 200.0), first[0] + 100.0, first[0] + 300.0])
    assert lost == 2 and stub.posted(stub.io.heed) == 1 + 3


def test_whatever_happens_is_told():
    """What the step says of a message, of the timer and of every stop reaches Python at once."""
    stub = StubLoop(sensor=True, rows=64)
    stub.be(StateCode.RUNNING)
    stub.limits.supervision = 0.12

    def say(seen):
        stub.y.told, stub.y.words[0, :3] = 1.0, (seen.kind, seen.cause, len(stub.seen))
    stub.step = say
    stub.send(Handle.SENSOR, reading(*range(6)))
    stub.send(Handle.DEAD_MAN, PRESSED)
    stub.send(Handle.STOP, b'one', BROKEN)
    stub.send(Handle.STATES, b'state', bytes(len(stub.mail.message) + 1))
    stub.at(0.17, lambda: setattr(stub, 'signals', b'\2'))
    stub.at(0.31, lambda: stub.put(Word.END, STOP_AND_END))
    stub.at(0.32, lambda: stub.be(StateCode.RELEASED))
    stub.run(0.4)
    assert {each.kind for each in stub.seen} == {
        Kind.TIMER, Kind.STATE, Kind.UNREADABLE, Kind.DEAD_MAN, Kind.FAULT, Kind.READING}
    assert [cause for _, cause in stub.causes()] == [
        Cause.OPERATOR_STOP, Cause.OPERATOR_STOP, Cause.SUPERVISION,
        Cause.SIGNAL, Cause.SIGNAL]
    rows, lost = stub.sentences()
    assert lost == 0 and [row[:3] for row in rows] == [
        [each.kind, each.cause, k + 1] for k, each in enumerate(stub.seen)]
    stub = StubLoop()
    stub.step = say
    stub.at(0.02, lambda: stub.put(Word.STOP, 1))
    stub.run(0.04)
    assert len(stub.sentences()[0]) == 2


def test_a_new_cause_and_a_goal_that_ended_wake_python():
    """Once each; a state by which nothing changes wakes nobody."""
    stub = StubLoop()

    def change(seen):
        if seen.message == b'cause':
            stub.x.command.supervisor.faults.causes = 4.0
        elif seen.message == b'goal':
            stub.x.references.joint.goal.ended += 1.0
    stub.step, heeded = change, []
    for k, message in enumerate((b'none', b'cause', b'none', b'goal', b'none')):
        stub.at(0.01 + 0.005 * k, lambda message=message: stub.send(Handle.STATES, message))
        stub.at(0.012 + 0.005 * k, lambda: heeded.append(stub.posted(stub.io.heed)))
    stub.run(0.04)
    assert heeded == [0, 1, 1, 2, 2]


@pytest.mark.parametrize('source, size, read, left', [
    (1, 6, 0, True), (0, 6, 0, True), (-1, 6, 0, True), (1, 64, 0, True), (1, 65, 0, False),
    (1, 6, 5, False)])
def test_new_names_are_left_once(source, size, read, left):
    """With the message's place, defect and count; not while Python has not read the last ones."""
    stub = StubLoop()
    content = bytes(range(1, 101))

    def learn(seen):
        parts, forms = stub.mail.parts, stub.mail.letters.forms
        parts.names_at, parts.names_end, parts.names, parts.big = 4.0, 4.0 + size, 2.0, 1.0
        stub.u.source, stub.u.defect, forms.news = source, 3.0, float(seen.kind == Kind.STATE)
    stub.step = learn
    stub.put(Word.NEWS_READ, read)
    stub.at(0.02, lambda: stub.send(Handle.STATES, content))
    stub.run(0.04)
    assert stub.word(Word.NEWS) == int(left)
    told = stub.mail.letters.forms.told.tolist()
    assert told == [float(left and k == source) for k in range(len(told))]
    if left:
        assert bytes(stub.said.names[:size]) == content[4:4 + size]
        assert not stub.said.names[size:].any()
        assert stub.said.names_of.tolist() == [source, 3.0, 2.0, 1.0, size]


@pytest.mark.parametrize('divider, expected', [
    (1.0, [0.02, 0.025, 0.03, 0.035, 0.04]), (2.0, [0.025, 0.035]), (0.0, [])])
def test_states_are_noted_as_often_as_is_asked_for(divider, expected):
    """Each that is noted wakes Python; other events do not count."""
    stub = StubLoop(rows=8)
    stub.at(0.01, lambda: stub.ask(NOTHING, divider=divider))
    for k in range(5):
        stub.at(0.02 + 0.005 * k, lambda: stub.send(Handle.STATES, b'state'))
    stub.run(0.06)
    rows = stub.said.snapshots
    noted = [row[stub.noted.single_place('now')] - BEGIN for row in rows if row.any()]
    assert noted == near(expected) and stub.posted(stub.io.heed) == len(expected) + 1
