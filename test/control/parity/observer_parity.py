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

"""
One cycle of the observers, by the classes of the controller and by the procedures of the step.

The robot follows a path whatever the torques are; they are those that the path needs, as far as
nothing pushes. A frozen sensor reports a joint that stands while its torque moves the others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from functools import cache
import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
from rbd_ros.compiler import Bound
from rbd_ros.compiler.procedure import bind, Vector
from rbd_ros.compiler.records import field, Record
from rbd_ros.control.former.disturbance import Disturbance
from rbd_ros.control.parameters.row import Value
from rbd_ros.control.parameters.table import defaults
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.former.safety.limits import TorqueLimiter
from rbd_ros.control.parameters.settings import Settings
from rbd_ros.control.former.standstill import Standstill as OldStandstill
from rbd_ros.control.interface.events import Joints, NOBODY, Result, Structure
from rbd_ros.control.observers.momentum import momentum_kernel, MomentumKernel
from rbd_ros.control.observers.observer import (
    apply_observer, distrust_gravity, fill_observer, forget_load, ignore_load, observe, Observer,
    ObserverParameters, reset_observer)
from rbd_ros.control.observers.words import TEXTS
from rbd_ros.control.observers.standstill import (
    check_standstill, fill_standstill, is_standstill_calm, predict_suspect, replace_frozen,
    restart_standstill, Standstill, StandstillParameters, trust_model)
from recorded_robots import _ticks, controlled_robot, KINDS

Array = npt.NDArray[np.float64]


class Moment(Record):
    """What one cycle of this test is given."""

    now: float = field('', 's', 'control time')
    delay: float = field('', 's', 'of states')
    runs: float = field('', '', '1 if the law acts')
    tracks: float = field('', '', '1 if it has an error of the joints')
    leads: float = field('', '', '1 if it has an error of the tip')
    frozen: float = field('', '', '1 if a sensor was accused')
    stuck: float = field('', '', 'joint whose sensor lacks its noise', NOBODY)
    calm: float = field('', '', 'result: 1 if nothing stands')
    gain: Vector = field('n', '1/s', 'of the observers')
    torque: Vector = field('n', 'N.m', 'sent')
    law: Vector = field('n', 'N.m', 'wanted')
    gravity: Vector = field('n', 'N.m', 'g(q)')
    error: Vector = field('n', 'rad', 'of tracking')


def run_cycle(o: Observer, po: ObserverParameters, x: Standstill, ps: StandstillParameters,
              kernel: MomentumKernel, joints: Joints, s: Structure, u: Moment,
              y: Result) -> None:
    """Run what a state means for the observers, in the order of the controller."""
    replace_frozen(x, joints, s)
    check_standstill(x, ps, o, joints, s, u.law, u.gravity, u.error, u.runs, u.tracks, u.leads,
                     u.now, y)
    u.calm = 1.0 if is_standstill_calm(x) else 0.0
    for k in range(int(y.accused)):
        if y.accusations[k, 1] == 401.0:
            u.frozen = 1.0
    if u.frozen > 0.0:
        trust_model(x, joints, 0 if u.stuck >= 0.0 else NOBODY)
        ignore_load(o)
    observe(o, po, kernel, joints, s, u.gain, u.delay, u.torque, u.now)
    predict_suspect(x, o, kernel, joints, s, u.gain, u.torque, u.now)


@cache
def _shared(kind: str) -> Bound:
    return _ticks(kind).compile('momentum')


def settings_of(kind: str, values: Mapping[str, Value]) -> Settings:
    """Return parameters of a robot."""
    robot = controlled_robot(kind)
    return Settings(robot, defaults() | {'joints': list(robot.joints)} | dict(values),
                    simulated=True)


class New:
    """The procedures of the step on their records."""

    def __init__(self, settings: Settings, kind: str, backend: str) -> None:
        robot = settings.robot
        n, m = len(robot.joints), robot.model.nv
        self.sizes = {'n': n, 'm': m, 's': 8}
        kinds = (Observer, ObserverParameters, Standstill, StandstillParameters, Joints,
                 Structure, Moment, Result)
        made: list[Any] = [each(self.sizes) for each in kinds]
        (self.o, self.po, self.x, self.ps, self.joints, self.structure, self.u, self.y) = made
        self.names = robot.joints
        self.structure.index[:] = robot.index
        self.structure.controlled[list(robot.index)] = 1.0
        bound = _ticks(kind).compile('momentum')
        self.kernel = momentum_kernel(bound)
        self.kernel.q[:], self.kernel.qd[:] = 0.0, 0.0
        self._made, self._backend = made, backend
        self.run = self._bind(run_cycle)
        self.others: dict[str, Callable[[], None]] = {
            'forget': self._bound(forget_load, self.o), 'ignore': self._bound(ignore_load, self.o),
            'distrust': self._bound(distrust_gravity, self.o, self.po),
            'reset': self._bound(reset_observer, self.o, self.po),
            'restart': self._bound(restart_standstill, self.x),
            'apply': self._bound(apply_observer, self.o, self.po)}
        self.apply(settings)

    def _bind(self, procedure: Callable[..., None]) -> Callable[[], None]:
        o, po, x, ps, joints, structure, u, y = self._made
        kernel = self.kernel
        if self._backend == 'python':
            kernel = MomentumKernel(kernel.run, *map(memoryview, kernel[1:]))
        return self._bound(procedure, o, po, x, ps, kernel, joints, structure, u, y)

    def _bound(self, procedure: Callable[..., None], *given: Any) -> Callable[[], None]:
        if self._backend == 'python':
            plain = [each.plain() if isinstance(each, Record) else each for each in given]
            return lambda: procedure(*plain)
        return bind(procedure, *given, backend=self._backend)

    def apply(self, settings: Settings) -> None:
        """Take parameters."""
        fill_observer(self.po, settings)
        fill_standstill(self.ps, settings)
        self.u.gain[:], self.u.delay = settings.observer_gain, settings.number('delay')
        self.apply_parameters()

    def apply_parameters(self) -> None:
        """Use parameters that are new."""
        self.others['apply']()

    def faults(self) -> list[tuple[Cause, str]]:
        """Return what was found to be wrong, and forget it."""
        found = []
        for cause, word, joint, *numbers in self.y.accusations[:int(self.y.accused)].tolist():
            found.append((list(Cause)[int(cause)],
                          TEXTS[int(word)](self.names[int(joint)], *numbers)))
        self.y.accused = 0.0
        return found


class Old:
    """The classes of the controller."""

    def __init__(self, settings: Settings, kind: str) -> None:
        robot = settings.robot
        n = len(robot.joints)
        self.joints = robot.joint_map(settings.ages())
        self.limiter = TorqueLimiter(settings.torque_limits.tolist(),
                                     settings.torque_rates.tolist(), 0.001)
        self.external, self.load = np.zeros(n), np.zeros(n)
        self.bound = _ticks(kind).compile('momentum')
        self.disturbance = Disturbance(settings, self.bound, self.external, self.load)
        self.disturbance._time = 0.0  # after infinite time the mean load in motion is NaN
        self.standstill = OldStandstill(settings, self.joints, self.bound,
                                        self.disturbance.observer)
        self.law = SimpleNamespace(outputs={'law': np.zeros(n), 'gravity': np.zeros(n)},
                                   error=np.zeros(n), tracks=False, leads=False)
        self.frozen, self.calm = False, True
        self.faults: list[tuple[Cause, str]] = []
        self.others: dict[str, Callable[[], None]] = {
            'forget': self.disturbance.forget, 'ignore': self.disturbance.ignore,
            'distrust': lambda: self.disturbance.distrust(self.limiter.limit),
            'reset': self.disturbance.reset, 'restart': self.standstill.restart}

    def apply(self, settings: Settings) -> None:
        """Take parameters."""
        self.disturbance.apply(settings)
        self.standstill.apply(settings)

    def run(self, now: float, runs: bool) -> None:
        """Run what a state means for the observers, as the controller does."""
        standstill, disturbance = self.standstill, self.disturbance
        standstill.replace()
        found: list[tuple[Cause, str]] = []
        standstill.check(now, self.law, runs,  # type: ignore[arg-type]
                         lambda cause, text: found.append((cause, text)))
        self.faults += found
        self.calm = standstill.calm
        self.frozen = self.frozen or any(cause is Cause.FROZEN for cause, _ in found)
        if self.frozen:
            standstill.trust_model()
            disturbance.ignore()
        disturbance.observe(now, self.joints, self.limiter)
        standstill.predict(now, self.limiter.last, disturbance.acted)


class Pair:
    """Both, on the same story."""

    def __init__(self, kind: str, values: Mapping[str, Value], seed: int, backend: str) -> None:
        self.settings = settings_of(kind, values)
        robot = self.settings.robot
        self.rng = np.random.default_rng(seed)
        self.old, self.new = Old(self.settings, kind), New(self.settings, kind, backend)
        self.n, self.m, self.index = len(robot.joints), robot.model.nv, list(robot.index)
        names = robot.model.independent_joint_names
        self.home = np.array([KINDS[kind].home[name] for name in names])
        self.size = KINDS[kind].reach * self.rng.uniform(0.2, 1.0, self.m)
        self.rate = self.rng.uniform(2.0, 5.0, self.m)
        self.phase = self.rng.uniform(0.0, 6.0, self.m)
        self.limit = self.settings.torque_limits
        self.pushed = np.linspace(0.2, 0.3, self.n)  # share of the limit
        # predictions of a joint in a loop run away
        self.rounding = 1e-9 if robot.model.loops else 1e-11
        self.inverse = _shared(kind)
        self.now, self.step = 10.0, 0.001
        self.lively = False  # velocities of such joints are reported all the same
        self.blocked = False  # joints that stand by their sensors do stand
        self.stuck_at = np.full(self.n, np.nan)
        self.seen = Counter[str]()
        self.last_q = self.home.copy()
        self.last_qd = np.zeros(self.m)
        self.offset = 0.0
        self.worst = 0.0

    def path(self, t: float) -> tuple[Array, Array, Array]:
        """Return positions, velocities and accelerations."""
        a, w = self.size, self.rate
        x = w * t + self.phase
        return self.home + a * np.sin(x), a * w * np.cos(x), -a * w * w * np.sin(x)

    def needed(self, t: float) -> Array:
        """Return the torque of the path, with the jerk of a joint that comes to a halt."""
        q, qd, qdd = self.path(t)
        for i in np.flatnonzero(np.isfinite(self.stuck_at)) if self.blocked else ():
            j = self.index[i]
            q[j], qd[j] = self.stuck_at[i], 0.0
            qdd[j] = -self.last_qd[j] / self.step
        self.inverse.inputs['q'][:], self.inverse.inputs['qd'][:] = q, qd
        self.inverse()
        return self.inverse.outputs['H'] @ qdd + self.inverse.outputs['bias']

    def advance(self, *, differenced: bool = False, runs: bool = True, mode: str = 'joint',
                push: float = 0.0, unusual: int | None = None) -> None:
        """Let one state arrive."""
        now, rng, index = self.now, self.rng, self.index
        q, qd, _ = self.path(now + self.offset)
        delay = self.settings.number('delay')
        torque = self.needed(now + self.offset + delay + 0.5 * self.step)
        if self.blocked:  # its motor pushes on
            torque += np.where(np.isfinite(self.stuck_at), self.pushed * self.limit, 0.0)
        here, speed = q[index], qd[index]
        for i in np.flatnonzero(np.isfinite(self.stuck_at)):
            here[i], speed[i] = self.stuck_at[i], speed[i] if self.lively else 0.0
        q[index], qd[index] = here, speed
        if differenced:
            qd = qd + rng.normal(0.0, 1e-3, self.m)
        old, new = self.old, self.new
        gravity = self.inverse.outputs['gravity'].copy()
        law = torque + push * self.limit * rng.uniform(0.5, 1.0, self.n)
        repeated = here == self.last_q[index]
        error = np.where(np.isfinite(self.stuck_at), self.path(now + self.offset)[0][index] - here,
                         0.0) + rng.normal(0.0, 1e-5, self.n)
        joints, motion = old.joints, old.joints.motion
        joints.q[:], joints.qd[:] = q, qd
        motion.speed[:], motion.elapsed = self.last_qd[index], self.step
        motion.differenced = differenced
        motion.repeats.present[:] = repeated
        motion.repeats.bound[:] = 2.0
        motion.repeats._count = [0] * self.n
        if unusual is not None:
            motion.repeats.bound[unusual] = 0.5
            motion.repeats._count[unusual] = 10
            motion.repeats._time[unusual] = 1.0
        old.law.outputs['law'][:], old.law.outputs['gravity'][:] = law, gravity
        old.law.error[:] = error
        old.law.tracks, old.law.leads = mode == 'joint', mode == 'task'
        old.limiter.last[:] = np.clip(torque, -self.limit, self.limit)
        j, u = new.joints, new.u
        j.q[:], j.qd[:], j.speed[:] = q, qd, self.last_qd[index]
        j.elapsed, j.differenced = self.step, float(differenced)
        j.repeated[:] = repeated
        j.unusual[:] = motion.repeats.unusual
        u.now, u.runs, u.tracks, u.leads = now, runs, mode == 'joint', mode == 'task'
        u.stuck = NOBODY if unusual is None else unusual
        u.law[:], u.gravity[:], u.error[:] = law, gravity, error
        u.torque[:] = old.limiter.last
        self.last_q, self.last_qd = q, qd
        with np.errstate(all='ignore'):
            old.run(now, runs)
        new.run()
        self.compare()
        self.count(runs)

    def freeze(self, i: int) -> None:
        """Let the sensor of a joint freeze at its last position."""
        self.stuck_at[i] = self.last_q[self.index[i]]

    def do(self, what: str) -> None:
        """Do something between two cycles."""
        self.old.others[what]()
        self.new.others[what]()
        if what == 'restart':
            self.old.frozen, self.new.u.frozen = False, 0.0
        self.seen[what] += 1

    def apply(self, values: Mapping[str, Value]) -> None:
        """Change parameters."""
        self.settings = Settings(self.settings.robot, self.settings.values | dict(values),
                                 simulated=True)
        self.old.apply(self.settings)
        self.new.apply(self.settings)

    # -- comparison -------------------------------------------------------------------------------

    def compare(self) -> None:
        """Compare everything that both know."""
        old, new = self.old, self.new
        d, o, x, y = old.disturbance, new.o, old.standstill, new.x
        hidden, ours = x._suspect, y.suspect
        size = self.limit
        self.near(o.load, d.load, size)
        self.near(o.mean, d.mean, size)
        self.near(o.external, old.external, size)
        self.near(o.share, d._share, size)
        self.near(o.gain, d.observer.gain, 1.0)
        self.near(o.momentum.torque, d.observer.torque, size)
        self.near(o.momentum.unexplained, d.observer.unexplained, 1e3 * size)
        assert o.momentum.known == d.observer.known and o.acts == (d.acted is not None)
        if d.acted is not None:
            self.near(o.acted, d.acted, size)
        assert new.faults() == old.faults and new.u.calm == old.calm
        assert new.u.frozen == old.frozen and y.lost == x._lost
        np.testing.assert_array_equal(y.time, x._time)
        np.testing.assert_array_equal(y.halted, x._halted)
        assert ours.joint == (NOBODY if hidden.joint is None else hidden.joint)
        assert y.right == x._right
        assert (y.place, y.error) == (x._place, x._error)
        assert y.patience.spent == x._patience.spent
        np.testing.assert_array_equal(ours.sign, hidden._sign)
        assert ours.periods == hidden._periods
        if self.rounding < 1e-10 or abs(hidden.way) < 1.0:
            self._compare_motion(hidden, ours)
        np.testing.assert_allclose(new.joints.q, old.joints.q, rtol=0.0, atol=1e-12)
        np.testing.assert_allclose(new.joints.qd, old.joints.qd, rtol=0.0, atol=1e-11)
        assert np.isfinite(o.memory).all() and np.isfinite(y.memory).all()

    def _compare_motion(self, theirs: Any, ours: Any) -> None:
        size = 1e3 * self.limit
        for name, most in (('way', 1.0), ('speed', 1.0), ('stop', size.max()), ('inertia', 1.0)):
            self.near(getattr(ours, name), getattr(theirs, name), most)
        for felt, mine in ((theirs._seen, ours.seen), (theirs._free, ours.free)):
            self.near(mine.change, felt.change, size)
            self.near(mine.usual, felt._usual, size)

    def near(self, ours: Any, theirs: Any, size: Any) -> None:
        """Compare up to the rounding of sums in another order."""
        off = float(np.max(np.abs(np.asarray(ours) - theirs) / np.maximum(size, np.abs(theirs))))
        self.worst = max(self.worst, off)
        assert off <= self.rounding, (ours, theirs)

    def count(self, runs: bool) -> None:
        """Count what was reached."""
        old, seen = self.old, self.seen
        d, x = old.disturbance, old.standstill
        hidden = x._suspect
        seen['acted unknown'] += d.acted is None
        seen['filtered'] += d.acted is not None and old.joints.motion.differenced
        seen['bounded load'] += bool((np.abs(d.load) > 0.0).any() and (
            np.abs(d.observer.torque) > np.abs(d.load) + 1e-9).any())
        seen['clipped'] += bool((np.abs(old.external) >= self.limit).any())
        for cause, _ in old.faults:
            seen[f'{cause.name} {"tracks" if old.law.tracks else "leads"}'] += 1
        old.faults = []
        seen['right'] += x._right
        seen['lost'] += x._lost
        seen['another lacks noise'] += bool(
            old.frozen and hidden.joint is not None and not x._lost
            and old.joints.motion.repeats.unusual.any()
            and not old.joints.motion.repeats.unusual[hidden.joint])
        seen['stands while stopping'] += not runs and not x.calm
        if hidden.joint is not None:
            seen['suspect'] += 1
            seen['by halt'] += bool(x._halted[hidden.joint])
            seen['by time'] += not x._halted[hidden.joint]
            a, b, _ = hidden.felt()
            t = x._time[hidden.joint]
            seen['felt'] += a > 1.0 and b < 0.5 * a and t <= 0.2
            seen['hint'] += a > 0.05 and b < 0.1 * a
            halted = t <= 1.0 and hidden.stop > min(
                x._friction[hidden.joint], hidden.inertia * x._pull[hidden.joint])
            seen['halted hint'] += halted and a > 0.1 and b < 0.2 * a
            seen['none feels'] += 0.0 < math.hypot(a, b) and max(a, b) < 0.05
