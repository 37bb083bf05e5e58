# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Random stories of a robot, its driver, its clocks and its operator, each made from one integer.

Events depend on the seed, on the states that were recorded and on the torques that were recorded,
and on nothing else. The operator looks at the state, so that requests come in every phase and the
robot gets going again; a free robot is moved by the torques. Times have random fractions: no time
is equal to a bound.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import numpy as np
from rbd_ros.control.supervisor.states import SupervisorState as State
from recorded_chance import Chance
from recorded_events import Event, IDLE, MODES, Reply, STATES
from recorded_robots import KINDS
from recorded_senders import Driver
from recorded_settings import any_change, any_payload, any_values
from recorded_worlds import FreeWorld, make_world

__all__ = ['FIRST_FROZEN', 'Scenario']

_BLIND = tuple(map(STATES.index, (State.LOST, State.RAMPING_DOWN, State.RELEASING)))
_WORK = tuple(map(STATES.index, (State.RAMPING_IN, State.RUNNING)))
_PROBING, _RAMPING_IN, _RUNNING, _HOLDING, _LOST, _RELEASING, _INACTIVE, _FAULT = map(
    STATES.index, (State.PROBING, State.RAMPING_IN, State.RUNNING, State.HOLDING, State.LOST,
                   State.RELEASING, State.INACTIVE, State.FAULT))

#: what can go wrong for a while, with its longest time in s
_WRONG = {
    'not a number': 0.1, 'jump': 0.2, 'freeze': 0.4, 'absurd speed': 0.1, 'short': 0.1,
    'no velocity': 0.5, 'wrong effort': 0.5, 'wrong names': 0.1, 'name twice': 0.1,
    'stamp stands': 0.1, 'stamp back': 0.02, 'stamp ahead': 0.05, 'no stamp': 0.1,
    'silence': 0.2, 'slow': 2.5, 'queue': 0.15, 'twice': 0.1, 'garbage': 0.1, 'one source': 0.9,
    'late': 0.2, 'haste': 1.0, 'push': 0.5, 'singular': 1.2, 'clock stands': 1.5,
    'clock back': 0.01, 'clock ahead': 0.01, 'no gravity': 0.4, 'switch lost': 0.3,
    'switch released': 0.02, 'stall': 0.01, 'stands': 0.6}
_REQUESTS = ('activate', 'reset', 'stop', 'deactivate', 'signal', 'exception', 'mode',
             'parameters', 'hold', 'refused', 'points', 'goal', 'cancel', 'pose', 'twist',
             'wrench', 'payload', 'switch', 'unreadable')
#: while the law acts
_OFTEN = ('points', 'points', 'goal', 'pose', 'twist', 'wrench', 'mode', 'mode', 'parameters',
          'payload', 'cancel', 'hold', 'refused')
_MOVES = ('points', 'points', 'points', 'goal', 'pose', 'twist', 'twist')
_GOALS = ('goal', 'goal', 'goal', 'goal', 'cancel', 'parameters')
#: any of them, how often in a second
_SELDOM = {_RUNNING: 0.9, _RAMPING_IN: 5.0, _PROBING: 2.0, _HOLDING: 20.0, _LOST: 20.0,
           _RELEASING: 40.0, **dict.fromkeys(IDLE, 30.0)}
#: what goes wrong with some kinds of robots alone, or shows something there alone
_OF_KIND = {'crane': 4 * ['one source'], 'solved five-bar': 9 * ['singular']}
#: what shows only if it lasts, in every third story
_RARE = (2 * ['slow'], 2 * ['freeze'], [])

#: from this seed on stories are about joints that stand by their sensors, and these robots
FIRST_FROZEN = 16 * len(KINDS)
_FREEZING = ('free seven', 'free arm', 'free seven', 'crane', 'free seven', 'turret')
_STANDS = 6 * ['stands'] + ['no velocity', 'freeze', 'push', 'stall', 'late']

Story = Generator[Event, Reply, None]


class Scenario:
    """One story: a robot, its parameters, and what happens."""

    def __init__(self, seed: int, steps: int = 2400) -> None:
        """
        Choose robot and parameters.

        :param seed: decides everything.
        :param steps: nominal periods.
        """
        self.seed, self.steps = seed, steps
        self._random = random = Chance(seed)
        self._freezes = seed >= FIRST_FROZEN
        self.robot = (_FREEZING[seed % len(_FREEZING)] if self._freezes
                      else list(KINDS)[seed % len(KINDS)])
        self.values, self.simulated = any_values(self.robot, random)
        self._world = make_world(self.robot, random)
        self._driver = Driver(self._world, random, simulated=self.simulated,
                              synchronised=bool(self.values['synchronised_stamps']))
        names = [name for name in _WRONG if name != 'stands']
        self._may_go_wrong = [names[i] for i in random.order(len(names))[:12]] + _OF_KIND.get(
            self.robot, []) + _RARE[seed % 3] + self.simulated * ['clock stands', 'clock back']
        self._often = random.one([0.3, 2.0, 6.0])  # in a second
        self._busy = random.one([2.0, 12.0])  # requests in a second while the law acts
        self._follows = random.below(0.3)  # goals are what its operator wants
        if self._follows:
            self._busy = 1.5
            self.values |= {'mode': 'computed_torque', 'tracking_limits': [2.0]}
        self._restless = random.below(0.06)
        if self._freezes:
            self._let_sensors_freeze()
        # a free robot falls if what its controller believes is far from true
        self._slip = 0.1 if KINDS[self.robot].free else 1.0
        self._wrong: dict[str, tuple[float, int]] = {}  # until which steady time, and a number
        self._queue: list[Any] = []
        self._period = 1.0 / float(self.values['nominal_rate'])  # type: ignore[arg-type]
        self.now = 100.0 if self.simulated else 50.0
        self.steady, self._goals, self._tick_due = 50.0, 0, 0.0
        self.reply = Reply(_INACTIVE, None)

    def _let_sensors_freeze(self) -> None:
        """Let the robot move, and sensors that repeat themselves be all that is wrong."""
        self._may_go_wrong, self._often, self._busy = _STANDS, 6.0, 12.0
        self.values |= {
            'dead_man_timeout': 0.0, 'gravity_source': 'parameter', 'reference.refusals': 0,
            'mode': self._random.one(('computed_torque', 'computed_torque', 'operational_space')),
            'tracking_limits': [self._random.one((0.2, 0.5, 2.0))], 'ramp_time': 0.1,
            'nominal_rate': self._random.one((500.0, 1000.0)), 'minimum_rate': 0.0,
            'state_tolerance': [self._random.one((0.003, 0.01))],
            'start.watch_time': 0.1}

    def events(self) -> Story:
        """Yield what happens; send what was seen after each event."""
        torque = None
        for step in range(self.steps):
            self._pass_time()
            self._world.advance(self._period, torque)
            self.reply = Reply(self.reply.state, None)
            self._go_wrong()
            yield from self._outside(step)
            yield from self._operate()
            yield from self._send_states(step)
            state = self.reply.state
            if state in _BLIND or self.steady >= self._tick_due:
                self._tick_due = self.steady + self._random.between(5.0, 15.0) * (
                    self._period)
                yield from self._emit('tick')
            torque = self.reply.torque

    def _emit(self, kind: str, *data: Any) -> Story:
        reply = yield Event(kind, self.now, self.steady, data)
        # the last torque of a step moves the robot
        self.reply = Reply(reply.state,
                           self.reply.torque if reply.torque is None else reply.torque)

    def _pass_time(self) -> None:
        dt = self._period * self._random.between(0.9, 1.1)
        if 'stall' in self._wrong:
            dt += self._random.between(0.02, 0.4)
            del self._wrong['stall']
        self.steady += dt
        if not self.simulated:
            self.now = self.steady
        elif 'clock stands' not in self._wrong:
            self.now += dt
        for kind, way in (('clock back', -0.5), ('clock ahead', 1.0)):
            if kind in self._wrong:
                del self._wrong[kind]
                self.now += way * self.simulated

    def _go_wrong(self) -> None:
        """Let something begin or cease to be wrong, and the robot move or rest."""
        random, state, world = self._random, self.reply.state, self._world
        self._wrong = {kind: (until, number) for kind, (until, number) in self._wrong.items()
                       if self.steady < until}
        often = self._often * (3.0 if state == _HOLDING else 0.3 if state == _PROBING else 1.0)
        slow = self._freezes and np.abs(world.qd).max() < 0.3  # nobody would feel anything
        if random.below(often * self._period) and not slow:
            kind = random.one(self._may_go_wrong)
            self._wrong[kind] = (self.steady + _WRONG[kind] * random.between(0.2, 1.0),
                                 random.whole(1000))
        world.haste = 6.0 if 'haste' in self._wrong else 1.0
        if isinstance(world, FreeWorld):
            world.push[:] = 0.0
            if 'push' in self._wrong:
                world.push[self._wrong['push'][1] % len(world.push)] = 8.0
            if state in IDLE:
                world.go_home()
        elif self._restless or state in _WORK and state != _RAMPING_IN or state == _HOLDING:
            world.moves = True
            if 'singular' in self._wrong and self.robot == 'solved five-bar' and (
                    world.target[world.index[1]] < 3.1):
                target = world.home.copy()
                target[world.index] = [0.0, 3.1416]
                world.go(target, 1.8)
        elif world.moves and random.below(0.95):
            world.stop()

    # -- the driver ------------------------------------------------------------------------------

    def _send_states(self, step: int) -> Story:
        wrong, random = self._wrong, self._random
        if 'garbage' in wrong and random.below(0.5):
            yield from self._emit('unreadable')
            return
        if 'silence' in wrong or 'clock stands' in wrong or 'slow' in wrong and step % 8:
            return
        spoilt = {kind: number for kind, (_, number) in wrong.items()}
        driver = self._driver
        first = driver.age
        if 'late' in wrong:
            driver.age += 0.005 * (1 + wrong['late'][1] % 30)
        for source in range(len(driver.sources)):
            if 'one source' in wrong and source == wrong['one source'][1] % len(driver.sources):
                continue
            message = driver.message(source, self.now, spoilt)
            self._queue.append(message)
            if 'twice' in wrong:
                self._queue.append(message)
        driver.age = first
        if 'queue' in wrong:
            return
        waiting, self._queue = self._queue, []
        for message in waiting:
            yield from self._emit('state', *message)

    def _outside(self, step: int) -> Story:
        """Let the dead-man switch and the inertial sensor speak."""
        random = self._random
        if float(self.values['dead_man_timeout']) > 0.0:  # type: ignore[arg-type]
            if 'switch released' in self._wrong:
                yield from self._emit('dead_man', False)
            elif 'switch lost' not in self._wrong and step % 10 == 0:
                yield from self._emit('dead_man', True)
        if (self.values['gravity_source'] == 'imu' and 'no gravity' not in self._wrong
                and step % 10 == 5):
            x, y = self._slip * random.between(-0.1, 0.1, 2)
            down = [float(x), float(y), -float(np.sqrt(1.0 - x * x - y * y))]
            yield from self._emit('gravity', down, 0.002)

    # -- the operator ----------------------------------------------------------------------------

    def _operate(self) -> Story:
        random, state, second = self._random, self.reply.state, self._period
        if state in IDLE and random.below(25.0 * second):
            yield from self._ask(
                'reset' if state == _FAULT and random.below(0.7) else 'activate')
        elif state == _HOLDING and random.below(2.0 * second):
            yield from self._ask('reset')
        elif state == _RUNNING and random.below(self._busy * second):
            yield from self._ask(random.one(
                _MOVES if self._freezes else _GOALS if self._follows else _OFTEN))
        elif state == _RUNNING and random.below(0.4 * second):
            yield from self._ask('stop')
        elif random.below(_SELDOM.get(state, 8.0) * second):
            yield from self._ask(random.one(_REQUESTS))

    def _ask(self, kind: str) -> Story:
        """Request something; now and then something that cannot be granted."""
        random = self._random
        if kind == 'mode':
            mode = random.one(MODES)
            yield from self._emit('parameters', {'mode': mode})
        elif kind == 'parameters':
            yield from self._emit(kind, any_change(self.robot, random, self._slip))
        elif kind == 'payload':
            yield from self._emit(kind, *any_payload(random, self._slip))
        elif kind == 'switch':
            yield from self._emit('dead_man', random.below(0.5))
        elif kind in ('points', 'goal'):
            yield from self._emit(kind, *self._points(kind))
        elif kind == 'cancel':
            yield from self._emit(kind, self._goals)
        elif kind == 'pose':
            wild = 200.0 if random.below(0.1) else 1.0
            turn = random.between(-1.0, 1.0, 4)
            turn /= np.sqrt((turn * turn).sum())
            yield from self._emit(kind, (wild * random.between(-0.5, 0.5, 3)).tolist(),
                                  turn.tolist())
        elif kind in ('twist', 'wrench'):
            six = random.between(-0.3, 0.3, 6) * (1.0 if kind == 'twist' else 20.0)
            yield from self._emit(kind, six.tolist())
        elif kind == 'refused':
            for _ in range(1 + random.whole(4)):
                yield from self._emit(kind)
        else:
            yield from self._emit(kind)

    def _points(self, kind: str) -> tuple[Any, ...]:
        """Return a set-point, a trajectory or a goal near the robot."""
        random, world = self._random, self._world
        count = 1 + random.whole(4 if kind == 'points' else 2)
        here = world.q[world.index]
        q = here + random.between(-0.25, 0.25, (count, len(here)))
        if random.below(0.1):
            q[0, 0] += 50.0 if random.below(0.5) else np.nan  # refused
        times = np.cumsum(random.between(0.02, 0.4, count))
        qd: list[list[float]] = []
        qdd: list[list[float]] = []
        form = random.whole(3)
        if form:
            qd = random.between(-0.2, 0.2, q.shape).tolist()
            qd[-1] = [0.0] * len(here)
        if form == 2:
            qdd = np.zeros(q.shape).tolist()
        if kind == 'goal':
            self._goals += 1
            return self._goals, times.tolist(), q.tolist(), qd, qdd, 0.3
        if count == 1 and random.below(0.5):
            times[0] = 0.0  # a set-point
        delay = random.between(-0.5, 0.3) if random.below(0.3) else None
        return times.tolist(), q.tolist(), qd, qdd, delay
