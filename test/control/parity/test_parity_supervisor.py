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

"""The supervisor of the step does what the class does, event by event, for random events."""

from __future__ import annotations

from collections import Counter
import math
import random

import numpy as np
import pytest
from rbd_ros.compiler.procedure import bind, Vector
from rbd_ros.control.interface.causes import Cause, Reaction
from rbd_ros.control.supervisor.states import Due, State, Timing
from rbd_ros.control.former.safety.supervisor import _SETS, Supervisor
from rbd_ros.control.supervisor.transitions import CONDITIONS, Event as Told
from rbd_ros.control.supervisor import answers
from rbd_ros.control.supervisor import due
from rbd_ros.control.supervisor import supervisor as step
from rbd_ros.control.supervisor.answers import fill_timing
from rbd_ros.control.supervisor.due import (
    is_blind, is_distrusted, is_finished, is_frozen, is_late, is_live)
from rbd_ros.control.interface.events import accuse, Event, NEVER, NONE, Result
from rbd_ros.control.supervisor.supervisor import (
    activate as step_activate, advance, computed, fault as step_fault, fresh, hear, published,
    renewed, reset as step_reset, take_cause)
from rbd_ros.control.supervisor.words import SupervisorWord, TEXTS
from rbd_ros.control.supervisor.transition_rows import (
    code_of, Condition, DueCode, encoded_rows, EventCode, Sets, StateCode)
from rigs.step_supervisor import StepSupervisor

#: numbers of both, by their names in the class and in the record
NUMBERS = {'gain': 'gain', 'blend': 'blend', 'paused': 'paused', 'final': 'final',
           'ramp_until': 'ramp_until', 'repeats': 'repeats', '_blind': 'blind', '_since': 'since',
           '_left': 'left', '_ramp_start': 'ramp_start', '_expiry': 'expiry',
           '_gravity_until': 'gravity_until', '_last_fresh': 'last_fresh', '_clock': 'clock'}


def test_codes_are_those_of_the_table():
    """States, kinds of torque, events, conditions and what is set have their places as numbers."""
    assert [code.name for code in StateCode] == [state.name for state in State]
    assert [int(code) for code in StateCode] == list(range(len(State)))
    assert [(code.name, int(code)) for code in DueCode] == [(d.name, d.value) for d in Due]
    assert [code.name for code in EventCode] == [event.name for event in Told]
    assert [code.name for code in Condition] == [code_of(name) for name in CONDITIONS]
    assert [int(code) for code in Condition] == list(range(len(CONDITIONS)))
    assert {code.name for code in Sets} == {'NOTHING', *map(code_of, _SETS)}


def random_timing(rng: random.Random) -> Timing:
    """Return times and choices, some of them zero."""
    def time(most: float) -> float:
        return rng.choice([0.0, most * rng.random(), most])
    return Timing(
        state_timeout=rng.choice([0.02, 0.1]), hold_time=time(0.3), brake_time=time(0.5),
        release_time=time(0.5), ramp_time=time(1.0), release_repeats=rng.randint(1, 6),
        pause_limit=rng.choice([0.3, 2.0]), simulated=rng.random() < 0.5,
        recover=rng.random() < 0.5, fault_action=rng.choice(['hold', 'release']),
        stop_action=rng.choice(['hold', 'release']), stop_time=rng.choice([0.1, 1.0]),
        period=rng.choice([0.002, 0.01]))


def same(old: Supervisor, new: StepSupervisor) -> bool:
    """Return whether both are in the same state, to the last bit."""
    def finite(value: float) -> float:
        return min(max(float(value), NEVER), NONE)
    numbers = all(
        finite(getattr(old, name)) == getattr(new.x, other)
        # a time before all others is finite here
        or abs(getattr(old, name)) == math.inf and abs(getattr(new.x, other)) > 0.5 * NONE
        for name, other in NUMBERS.items())
    faults = [(f.cause, f.time, f.detail) for f in old.faults] == [
        (f.cause, f.time, f.detail) for f in new.faults]
    return (numbers and faults and old.state is new.state and old.due is new.due
            and old.live is new.live and old.blind is due.is_blind(new.x)
            and old.working is due.is_working(new.x)
            and old.stopping is due.is_stopping(new.x)
            and old.finished is due.is_finished(new.x)
            and [f.cause for f in old.recovered] == [f.cause for f in new.recovered])


class Twins:
    """Both supervisors under the same events."""

    def __init__(self, rng: random.Random) -> None:
        """Start inactive, at any time."""
        self.rng, timing = rng, random_timing(rng)
        self.old, self.new = Supervisor(timing), StepSupervisor(timing)
        self.longest = rng.choice([0.3, 3.0])  # s without an event
        self.valid = rng.choice([0.1, 10.0])  # s for which a state may be used
        self.now = self.steady = rng.choice([0.0, 1e3, 1.7e9]) + rng.random()
        if rng.random() < 0.5:
            causes = [Cause.STATE_STALE, Cause.PRESCRIBED_STALE, Cause.IMPLAUSIBLE]
            cause, detail = rng.choice(causes), rng.random() < 0.5
            number = rng.random()
            self.old.diagnose = lambda now: (cause, f'{number:.4g} s' if detail else '')
            self.new.diagnose = lambda now: (
                cause, SupervisorWord.PAUSED if detail else 0, number)

    def pass_time(self) -> None:
        """Let some time pass, on one clock or both; at times a clock jumps."""
        rng = self.rng
        dt = rng.choice([0.0, 0.001, 0.002, 0.01, 0.05, 0.3, self.longest]) * rng.random()
        self.steady += dt
        if not self.new.timing.simulated:
            self.now = self.steady
        else:
            self.now += rng.choice([dt, dt, dt, 0.0, dt + 5.0 * (rng.random() < 0.1),
                                    -dt * (rng.random() < 0.1)])

    def event(self) -> str:
        """Give both one event; return its name."""
        rng, now, steady = self.rng, self.now, self.steady
        name = rng.choices(
            ['fresh', 'advance', 'published', 'fault', 'activate', 'reset', 'renewed', 'computed'],
            [40, 25, 15, 5, 4, 4, 4, 10])[0]
        if name == 'fresh':
            expiry = now + rng.choice([*[self.valid] * 20, 0.02, -0.01, 0.0])
            ready = rng.random() < 0.9
            for each in (self.old, self.new):
                each.fresh(now, steady, expiry, ready)
                each.advance(now, steady)
        elif name == 'advance':
            assert self.old.advance(now, steady) is self.new.advance(now, steady)
        elif name == 'published':
            reached = rng.random() < 0.5
            for each in (self.old, self.new):
                each.published(steady, reached)
        elif name == 'fault':
            # causes of one family at a time are what recovers and holds
            cause = rng.choice([*Cause, *[Cause.STATE_STALE, Cause.OPERATOR_STOP] * 8])
            number = rng.choice([0.0, rng.random()])
            self.old.fault(steady, cause, f'{number:.4g} s' if number else '')
            self.new.fault(steady, cause, number)
        elif name == 'activate':
            try:
                self.old.activate(now, steady)
            except RuntimeError as error:
                with pytest.raises(RuntimeError) as caught:
                    self.new.activate(now, steady)
                assert str(caught.value) == str(error)
                return 'refused activation'
            self.new.activate(now, steady)
        elif name == 'reset':
            refusal = self.old.reset(now, steady)
            assert self.new.reset(now, steady) == refusal
            return f'reset {refusal[:4]}'
        elif name == 'renewed':
            expiry = now + rng.choice([self.valid, 1.0, -0.01])
            for each in (self.old, self.new):
                each.renewed(now, steady, expiry)
        else:
            self.old.computed()
            self.new.computed()
        return name


def test_random_events_lead_to_the_same_state(monkeypatch):
    """The class and the procedures agree in every number after each of many events."""
    taken: Counter[int] = Counter()
    take = answers._take

    def counted(x: step.Supervisor, p: step.SupervisorParameters, row: int) -> None:
        taken[row] += 1
        take(x, p, row)
    monkeypatch.setattr(answers, '_take', counted)
    seen: Counter[str] = Counter()
    for seed in range(100):
        twins = Twins(random.Random(seed))
        for k in range(150):
            twins.pass_time()
            name = twins.event()
            assert same(twins.old, twins.new), (seed, k, name)
            seen[name] += 1
            seen.update(f.detail.split()[-1] for f in twins.new.faults[-1:] if f.detail)
            seen.update(['paused'] if twins.new.paused else [])
    assert set(taken) == set(range(len(encoded_rows())))
    assert {'refused activation', 'reset wait', 'reset noth', 'reset ', 'renewed', 'paused',
            'one', 'rest', 's'} <= set(seen)


def any_event(x: step.Supervisor, p: step.SupervisorParameters, d: step.Diagnosis, u: Vector,
              y: Result) -> None:
    """Call the procedure with a number: a procedure itself."""
    if u[0] == 0.0:
        step_activate(x, p, y, u[1], u[2])
    elif u[0] == 1.0:
        step_reset(x, p, y, u[1], u[2])
    elif u[0] == 2.0:
        accuse(y, int(u[3]), 7, 1, u[4], u[1], 0.0)
        accuse(y, int(u[5]), 8, 2, u[4], u[1], 0.0)
        hear(x, p, y, u[2])
    elif u[0] == 3.0:
        step_fault(x, p, u[2], int(u[3]), 9, 1, u[4], 0.0, 0.0)
    elif u[0] == 4.0:
        renewed(x, p, d, u[1], u[2], u[4])
    elif u[0] == 5.0:
        published(x, p, u[2], int(u[5]))
    elif u[0] == 6.0:
        fresh(x, p, d, u[1], u[2], u[4], int(u[5]))
        computed(x)
    u[6] = advance(x, p, d, u[1], u[2])
    u[7] = (1.0 if is_live(x) else 0.0) + (2.0 if is_blind(x) else 0.0)
    u[8] = (1.0 if is_late(x, u[1]) else 0.0) + (2.0 if is_distrusted(x) else 0.0)
    u[9] = (1.0 if is_finished(x) else 0.0) + (2.0 if is_frozen(x) else 0.0)


def test_machine_code_does_what_python_does():
    """Both have the same memory after each of many events, refusals and bad times included."""
    rng = random.Random(5)
    for _ in range(20):
        rows = []
        timing = random_timing(rng)
        for backend in ('python', 'llvm'):
            records = (step.Supervisor({}), step.SupervisorParameters({}), step.Diagnosis({}),
                       np.zeros(10), Result({'n': 1}))
            fill_timing(records[1], timing)
            rows.append((bind(any_event, *records, backend=backend), records))
        now = 100.0
        for k in range(200):
            now += rng.choice([0.001, 0.01, 0.3]) * rng.random()
            event = [rng.choice([0, 1, 2, 3, 4, 5, 5, 6, 6, 6]), now, now, rng.randrange(19),
                     now + rng.choice([0.1, 0.1, 10.0, -1.0]), rng.randrange(2)]
            if rng.random() < 0.02:
                event[rng.choice([1, 2, 4])] = math.nan
            for run, records in rows:
                records[3][:6] = event
                run()
            for python, native in zip(rows[0][1], rows[1][1], strict=True):
                a, b = (getattr(each, 'memory', each) for each in (python, native))
                np.testing.assert_array_equal(a, b, str((k, event)))


@pytest.mark.parametrize('bad', [math.nan, math.inf, -math.inf, 1e308, -1e308])
def test_whatever_comes_the_state_stays_legal(bad):
    """Numbers that are none leave a finite state with legal codes, in events and parameters."""
    rng = random.Random(1)
    fields = step.SupervisorParameters({}).memory.size
    for k in range(150):
        new = StepSupervisor(random_timing(rng))
        now = 1e3
        new.activate(now, now)
        for _ in range(12):
            now += rng.choice([0.001, 0.1, 1.0])
            if rng.random() < 0.3:
                new.p.memory[rng.randrange(fields)] = bad
            time, steady, expiry, number = [
                bad if rng.random() < 0.2 else each for each in (now, now, now + 0.1, 1.0)]
            step.fresh(new.x, new.p, new.d, time, steady, expiry, int(rng.random() < 0.9))
            step.advance(new.x, new.p, new.d, time, steady)
            if rng.random() < 0.2:
                step.fault(new.x, new.p, steady, rng.randrange(-2, 25), 1, 0, number, number, bad)
            step.renewed(new.x, new.p, new.d, time, steady, expiry)
            step.computed(new.x)
            step.published(new.x, new.p, steady, 1)
            assert np.isfinite(new.x.memory).all(), k
            assert new.x.state in tuple(StateCode) and 0.0 <= new.x.gain <= 1.0


def test_causes_from_outside():
    """A final one counts in every state, another one while something runs, none that is none."""
    u = Event({'n': 1, 'm': 1}).plain()
    u.numbers[0] = SupervisorWord.STOP_SERVICE
    for state in StateCode:
        for cause in (Cause.OPERATOR_STOP, Cause.BAD_COMMAND, *tuple(Cause)[-3:]):
            old, new = Supervisor(), StepSupervisor()
            old.state, new.x.state = tuple(State)[state], state
            final = cause.reaction is Reaction.FINAL
            if final or not old.finished:
                old.fault(u.steady, cause, '~/stop')
            u.cause = tuple(Cause).index(cause)
            take_cause(new.x, new.p, u)
            assert (new.state, new.final) == (old.state, old.final)
            assert new.faults == old.faults
    new = StepSupervisor()
    new.x.state = StateCode.RUNNING
    for bad in (math.nan, math.inf, -1.0, 1e308, float(len(Cause))):
        u.cause = bad
        take_cause(new.x, new.p, u)
        assert new.state is State.RUNNING
    u.cause, u.numbers[0], u.numbers[1], u.numbers[2] = 17.0, math.nan, math.inf, math.nan
    take_cause(new.x, new.p, u)
    assert new.state is State.BRAKING and np.isfinite(new.x.memory).all()


def test_each_word_has_a_sentence():
    """No code is without its text."""
    assert set(TEXTS) == set(SupervisorWord)
    assert all(TEXTS[word]('elbow', 1.0, 2.0, 0.0) for word in TEXTS)


def test_a_control_time_that_is_no_number_stops_the_robot():
    """The law does not go on where nobody knows how old the state is."""
    for bad in (math.nan, math.inf, -math.inf):
        new = StepSupervisor(Timing())
        new.activate(0.0, 0.0)
        new.fresh(0.001, 0.001, 0.1)
        new.computed()
        assert new.state is State.RAMPING_IN
        new.advance(bad, 0.002)
        assert new.state is State.LOST and new.faults[0].cause is Cause.CLOCK_JUMP


def test_parameters_are_those_of_the_timing():
    """What procedures use is what the class would."""
    timing = random_timing(random.Random(3))
    p = step.SupervisorParameters({})
    fill_timing(p, timing)
    assert p.longest_ramp == timing.longest_ramp
    assert p.longest_release == timing.longest_release
    assert p.recover == timing.recover and p.release_repeats == timing.release_repeats
