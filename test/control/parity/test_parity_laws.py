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

"""The laws of the step against those of the old controller, number for number."""

from __future__ import annotations

from collections import Counter
import dataclasses
from functools import cache

import numpy as np
import pytest
from rbd_ros.compiler.procedure import bind, Matrix, Vector
from rbd_ros.control.former.braking import Braking
from rbd_ros.control.former.holding import Holding
from rbd_ros.control.former.law_choice import LawChoice
from rbd_ros.control.former.load import Load
from rbd_ros.control.former.modes import JointLaw
from rbd_ros.control.parameters.row import joints, scalar
from rbd_ros.control.parameters.rules import direction
from rbd_ros.control.parameters.table import defaults
from rbd_ros.control.former.references.joint_space import JointReference
from rbd_ros.control.former.references.operational_space import TaskReference
from rbd_ros.control.robot import Robot
from rbd_ros.control.parameters.settings import Settings
from rbd_ros.control.laws.design import Design, design, DesignLimits, fill_design
from rbd_ros.control.interface.events import Event, Joints, Result, Structure
from rbd_ros.control.kernels.kernels import LawKernels
from rbd_ros.control.laws.law_records import (
    fill_laws, law_arrays, LawArrays, LawCode, LawGains, LawKernel, Laws)
from rbd_ros.control.laws.words import LawWord, TEXTS
from rbd_ros.control.laws.laws import (
    begin_joint_law, choose_law, damping_law, feed_law, find_saturation, free_law, joint_law,
    joint_law_rests, law_leads, law_tracks, own_law, take_law)
from rbd_ros.control.modes.modes import Follows, own_mode
from rbd_ros.control.laws.stops import (
    Brake, brake, enter_brake, enter_hold, fill_stops, gravity_of, Hold, hold, note_push,
    stop_kernel, StopKernel, StopLimits)
from rbd_ros.control.laws.task_law import begin_task_law, task_law, task_law_rests
from rbd_ros.control.former.tick import TickKernels
from recorded_robots import controlled_robot, KINDS

#: kinds of robots with kernels that differ in everything: a plain arm, continuous and sliding
#: joints with a driver that adds gravity, a passive joint, closed loops solved and measured
ROBOTS = ('arm', 'turret', 'crane', 'solved five-bar', 'measured five-bar')
STEPS = 800


def spring(terms, inputs):
    """Return a law that follows the joints."""
    return [g + inputs['k'] * e - d * v + z for g, e, d, v, z in zip(
        terms.bias, terms.error, inputs['d'], terms.qd, terms.integral)]


def lift(terms, inputs):
    """Return a law that follows nothing."""
    return [inputs['share'] * g for g in terms.gravity]


OWN = (own_mode('lift', lift, '', [scalar('share', 1.2, '', 0.0, 2.0, '')]),
       own_mode('sink', lift, '', [scalar('share', 0.9, '', 0.0, 2.0, '')]),
       own_mode('spring', spring, '', [joints('d', [2.0], '', 0.0, 9.0, ''),
                                       scalar('k', 30.0, '', 0.0, 99.0, '')], Follows.JOINTS))


def robot_of(name: str) -> Robot:
    """Return a robot; some have law functions."""
    own = OWN if name in ('arm', 'measured five-bar') else ()
    return dataclasses.replace(controlled_robot(name), own_modes=own)


@cache
def kernels(name: str, which: type) -> dict:
    """Return the kernels of a robot, old or new."""
    kind = KINDS[name]
    made = which(robot_of(name), driver_adds=kind.driver_adds,
                 driver_knows_payload=name == 'turret', axes=[direction(x) for x in kind.axes])
    return {each: made.compile(each) for each in made.names}


class Both:
    """Both controllers' laws, which get the same events."""

    def __init__(self, name: str, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.robot, self.kind = robot_of(name), KINDS[name]
        n = self.n = len(self.robot.joints)
        self.counts: Counter = Counter()
        self.values = defaults(self.robot.own_modes) | {
            'driver_adds': self.kind.driver_adds, 'joints': list(self.robot.joints),
            'release_torque': 'zero', 'task.axes': list(self.kind.axes)}
        self.now, self.late = 10.0, (0.0, 0.0)
        self.saturated, self.wanted, self.said = np.zeros((2, n)), np.zeros(n), []
        self._make_old(name)
        self._make_new(name)
        self.apply()

    def settings(self) -> Settings:
        """Return the present values."""
        return Settings(self.robot, self.values, simulated=False)

    def _make_old(self, name: str) -> None:
        settings, robot, old = self.settings(), self.robot, kernels(name, TickKernels)
        self.joints = robot.joint_map(settings.ages())
        closed = dict(zip(self.joints.names, robot.assembly)) or self.kind.home
        self.home = np.array([closed[each] for each in self.joints.names])
        self.reference = JointReference(
            settings.reference_velocity.tolist(),
            settings.joints('reference.acceleration').tolist(),
            lower=robot.pick(robot.model.lower), upper=robot.pick(robot.model.upper),
            continuous=robot.continuous, joints=robot.joints)
        self.tip = TaskReference(settings.task_limits())
        self.load = Load(settings, old)
        self.choice = LawChoice(
            settings, old, self.joints, (self.reference, self.tip),
            lambda: np.sign(self.wanted) * self.saturated.max(axis=0))
        self.mean = np.zeros(self.n)
        self.holding = Holding(self.choice.joint, self.joints, robot.joints, self.mean,
                               lambda kind, text: self.said.append(text))

    def _make_new(self, name: str) -> None:
        new = kernels(name, LawKernels)
        self.arrays, self.stop = law_arrays(new), stop_kernel(new)
        sizes = {'n': self.n, 'm': len(self.home), 's': 8}
        made = [kind(sizes) for kind in (
            Laws, LawGains, Brake, Hold, StopLimits, Design, DesignLimits, Joints, Structure,
            Result, Event)]
        made[8].index[:] = self.robot.index
        (self.x, self.p, self.brake, self.hold, self.limits, self.design, self.wishes,
         self.state, self.structure, self.y, self.u) = [each.plain() for each in made]
        self.records = made
        self.law, self.gravity, self.driver, self.speed = np.zeros((4, self.n))

    def apply(self) -> None:
        """Take the present values, and the present lateness."""
        settings = self.settings().later(*self.late)
        self.choice.apply(settings)
        self.holding.apply(settings)
        _, gains, _, _, limits, _, wishes, *_ = self.records
        fill_laws(gains, settings)
        fill_stops(limits, settings)
        fill_design(wishes, self.settings())
        design(self.design, self.wishes, *self.late)

    # -- events -----------------------------------------------------------------------------------

    def move(self, reach: float) -> None:
        """Let the robot be somewhere near its home, and time pass."""
        self.now += self.random.choice([0.001, 0.004, 0.06])
        q, qd = self.joints.q, self.joints.qd
        q[:] = self.home + self.random.uniform(-reach, reach, len(q))
        if self.robot.model.loops:  # the loops close, or can be closed
            q[:] = self.home
            if self.robot.assembly:
                q[list(self.robot.index)] += self.random.uniform(-0.02, 0.02, self.n)
        qd[:] = self.random.normal(size=len(q)) * self.random.choice([0.05, 1.0, 4.0])
        self.joints.motion.differenced = bool(self.random.random() < 0.3)
        self.state.q[:], self.state.qd[:] = memoryview(q), memoryview(qd)
        self.state.differenced = float(self.joints.motion.differenced)
        self.saturated[:] = self.random.random((2, self.n)) < 0.1
        self.wanted[:] = self.random.normal(size=self.n)
        find_saturation(self.x.side, self.wanted, *self.saturated)

    def weigh(self) -> None:
        """Change gravity and payload."""
        self.load.gravity.value[:] = self.random.normal(size=3) * 5.0
        self.load.payload.value[:] = [0.5, 0.1, 0.0, 0.02, *self.random.uniform(0.0, 0.1, 6)]
        self.load._share()

    def switch(self) -> None:
        """Change some parameter, or the mode, and begin the law of the mode."""
        pick, values = self.random.choice, self.values
        modes = list(self.robot.modes)
        values['mode'] = modes[self.counts['switched'] % len(modes)]
        if 'spring.d' in values:
            values['spring.d'] = self.random.uniform(0.0, 5.0, self.n).tolist()
        self.counts['switched'] += 1
        values['integral'] = [float(pick([0.0, 20.0]))]
        values['integral_limit'] = [float(pick([0.1, 5.0]))]
        values['task.linear_integral'] = float(pick([0.0, 10.0]))
        values['posture.position'] = [0.3] if pick(4) == 0 else []
        values['friction.coulomb'], values['friction.free'] = [0.3], [float(pick([0.0, 0.4]))]
        values['gravity_scale'], values['free_damping'] = [float(pick([1.0, 0.9]))], [2.0]
        values['hold_torque'], values['hold_distance'] = float(pick([0.0, 0.3])), [0.05]
        values['switch_time'] = float(pick([0.05, 0.5]))
        if pick(2):
            values['velocity_limits'] = self.random.uniform(0.5, 3.0, self.n).tolist()
        self.late = (float(pick([0.0, 0.0, 0.004, 0.03])), float(pick([0.0, 0.01])))
        self.apply()
        other = self.choice.choose(values['mode'])
        assert choose_law(self.x, self.p) == other
        self.counts['same law' if not other else 'other law'] += 1
        if other:
            self.enter()
        else:
            self.choice.law.rest(self.now)

    def enter(self) -> None:
        """Begin the law in force."""
        law = self.choice.law
        law.enter(self.now)
        if law.tracks:
            begin_joint_law(self.x.joint)
        elif law.leads:
            twist, kernel = np.zeros(6), self.arrays.task
            self.feed(kernel)
            begin_task_law(self.x.task, self.p.task, kernel, self.arrays.task_inputs, self.state,
                           self.structure, twist, self.now)
            same(self.arrays.task_inputs.R, self.tip.R)
            same(self.arrays.task_inputs.p, self.tip.p)
            same(twist, self.tip.velocity)
            # The old law watches the error to the reference of its last use for one cycle, which
            # stops a robot whose tracking_patience is 0. Here there is none yet.
            assert not np.asarray(self.x.task.error).any()

    def aim(self) -> None:
        """Give the references something to do."""
        here = self.reference.state[0]
        self.reference.set_point(self.now, np.clip(
            here + self.random.uniform(-0.2, 0.2, self.n), self.reference.lower + 0.01,
            self.reference.upper - 0.01))
        self.tip.target_twist(self.now, self.random.uniform(-0.2, 0.2, 6))
        if self.random.random() < 0.5:
            self.tip.target_wrench(self.now, self.random.uniform(-9.0, 9.0, 6))

    def feed(self, kernel: LawKernel) -> None:
        """Fill what all kernels have."""
        feed_law(kernel, self.state, self.load.gravity.value, self.load.payload.value,
                 self.p.barrier, self.design)

    # -- results ----------------------------------------------------------------------------------

    def run_law(self) -> None:
        """Compare the law in force."""
        law, arrays, code = self.choice.law, self.arrays, int(self.x.law)
        law.compute(self.now)
        self.counts[LawCode(code).name] += 1
        kernel = (arrays.free, arrays.damping, arrays.joint, arrays.task, arrays.own,
                  arrays.own)[code]
        assert (law_tracks(self.x), law_leads(self.x)) == (law.tracks, law.leads)
        self.feed(kernel)
        if code == LawCode.FREE:
            free_law(kernel, arrays.free_inputs, self.p, self.design)
        elif code == LawCode.DAMPING:
            damping_law(kernel, arrays.damping_gain, self.design)
        elif code == LawCode.JOINT:
            joint_law(self.x.joint, self.p, kernel, arrays.joint_inputs, self.p.joint.stiffness,
                      self.p.joint.damping, self.reference.state, self.x.side, self.now)
            self.same_joint()
            assert joint_law_rests(self.x.joint, self.reference.state) == law.rests
            self.counts['rests' if law.rests else 'moves'] += 1
        elif code == LawCode.TASK:
            self._run_task(kernel)
        else:
            own_law(self.x, self.p, kernel, arrays.own_inputs, self.reference.state, self.now)
            if code == LawCode.OWN_JOINT:
                self.same_joint(law)
        take_law(kernel, self.law, self.gravity, self.driver)
        self.same_torque(self.law, law.outputs, 'law')

    def _run_task(self, kernel: LawKernel) -> None:
        tip, law, x = self.tip, self.choice.law, self.x.task
        task_law(x, self.p, kernel, self.arrays.task_inputs, tip.R, tip.p, tip.velocity,
                 tip.acceleration, tip.wrench, self.x.side, self.now)
        finite = np.isfinite(law.error).all()
        self.counts['finite tip' if finite else 'infinite tip'] += 1
        if finite:
            same(x.error, law.error)
            same(x.lead, tip._lead)
            same(x.integral, law._integral)
        same(x.drift, law._drift)
        same(x.posture, law.inputs['posture'])
        assert task_law_rests(x, self.p.task, tip.velocity, tip.wrench) == law.rests
        assert (x.starting > 0.0) == (law._start_speed is not None)
        self.counts['tip rests' if law.rests else 'tip moves'] += 1
        self.counts['starting' if x.starting else 'started'] += 1
        self.counts['tip integrates'] += bool(np.asarray(x.integral).any())

    def same_joint(self, law: JointLaw | None = None) -> None:
        """Compare what a law of the joints remembers."""
        law, x = law or self.choice.joint, self.x.joint
        same(x.external, law.external)
        if np.isfinite(law.error).all():
            same(x.error, law.error)
            same(x.integral, law._integral)
        self.counts['integrates'] += bool(np.asarray(x.integral).any())

    def same_torque(self, torque: np.ndarray, outputs: dict, name: str) -> None:
        """Compare a torque and what came with it."""
        self.counts['finite' if np.isfinite(torque).all() else 'not finite'] += 1
        same(torque, outputs[name])
        same(self.gravity, outputs['gravity'])
        same(self.driver, outputs['driver'])

    def stop_and_hold(self) -> None:
        """Compare a brake, and a hold that somebody pushes."""
        urgent = bool(self.random.random() < 0.5)
        load = self.random.normal(size=self.n)
        self.choice.braking.load[:] = load
        self.brake.load[:] = memoryview(load)
        self.choice.braking.enter(urgent=urgent)
        enter_brake(self.brake, self.limits, float(urgent))
        for _ in range(int(self.random.integers(3, 40))):
            self.move(0.3)
            self.run_brake(self.choice.braking)
        self.mean[:] = self.random.normal(size=self.n)
        self.holding.enter(self.now, self.choice.braking.allowed)
        enter_hold(self.hold, self.x.joint, self.state, self.structure, self.brake.allowed,
                   self.mean, self.speed)
        same(np.clip(self.speed, -self.reference.limiter.velocity,
                     self.reference.limiter.velocity), self.reference.state[1])
        for _ in range(int(self.random.integers(3, 20))):
            self.move(float(self.random.choice([0.001, 0.3])))
            self.run_hold()

    def run_brake(self, braking: Braking) -> None:
        """Compare one torque of the brake."""
        braking.compute(self.now)
        stop = self.stop
        brake(self.brake, self.limits, stop, self.state, self.structure, self.design,
              self.load.gravity.value, self.load.payload.value, self.now)
        self.gravity[:], self.driver[:] = stop.gravity, stop.driver
        self.same_torque(stop.brake, braking.outputs, 'brake')
        same(self.brake.allowed, braking.allowed)
        self.counts['late' if self.state.differenced else 'in time'] += 1
        self.counts['ahead' if self.design.ahead else 'not ahead'] += 1
        same(self.choice.gravity(), self._gravity())

    def _gravity(self) -> np.ndarray:
        gravity_of(self.stop, self.state, self.load.gravity.value, self.load.payload.value)
        return self.stop.gravity

    def run_hold(self) -> None:
        """Compare one torque of the hold."""
        before = self.holding._way.copy()
        self.holding.compute(self.now)
        self.y.told = 0.0
        note_push(self.hold, self.limits, self.holding._way - before, self.y, self.now)
        same(self.hold.way, self.holding._way)
        if self.said:
            assert self.y.words[0, 0] == LawWord.HOLD_YIELDS
            joint = self.robot.joints[int(self.y.words[0, 1])]
            assert TEXTS[LawWord.HOLD_YIELDS](joint, self.y.words[0, 2], 0, 0) == self.said.pop()
            self.counts['pushed'] += 1
        else:
            assert self.y.told == 0.0
        arrays = self.arrays
        self.feed(arrays.joint)
        hold(self.x.joint, self.p, self.limits, arrays.joint, arrays.joint_inputs, self.state,
             self.structure, self.design, self.reference.state, self.x.side, self.law, self.now)
        self.gravity[:], self.driver[:] = arrays.joint.gravity, arrays.joint.driver
        self.same_joint()
        self.same_torque(self.law, self.holding.outputs, 'law')
        self.counts['holds'] += 1


def same(found: Vector | Matrix, known: Vector | Matrix) -> None:
    """Require the same numbers but for the order of sums."""
    np.testing.assert_allclose(np.asarray(found), np.asarray(known), rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize('name', ROBOTS)
def test_laws_are_those_of_the_old_controller(name):
    """Every torque, and all that the laws remember, is the same in every mode, stop and hold."""
    both = Both(name, seed=ROBOTS.index(name))
    for k in range(STEPS):
        both.move(0.3)
        if k % 24 == 0:
            both.weigh()
            both.switch()
        if k % 8 == 0 and k % 5 == 0:
            both.aim()
        if k % 50 == 49:
            both.stop_and_hold()
            both.enter()
        both.run_law()
    expected = {'FREE', 'DAMPING', 'JOINT', 'TASK', 'same law', 'other law', 'finite', 'late',
                'in time', 'not ahead', 'holds', 'integrates', 'rests', 'moves', 'tip rests',
                'tip moves', 'tip integrates', 'starting', 'started'}
    if both.robot.own_modes:
        expected |= {'OWN', 'OWN_JOINT'}
    if not both.robot.model.loops:  # else nobody can push it, and nothing is extrapolated
        expected |= {'pushed', 'ahead'}
    assert not expected - set(both.counts), (expected - set(both.counts), both.counts)


@pytest.mark.parametrize('bad', [np.nan, np.inf, -np.inf, 1e308, -1e308])
def test_state_stays_finite_whatever_comes(bad):
    """No parameter, time or result of a kernel gets into what the laws remember."""
    both = Both('arm', seed=9)
    states = [both.records[k] for k in (0, 2, 3)]
    both.move(0.1)
    cases = [view[at:at + 1] for k in (1, 4) for _, _, field in both.records[k].walk()
             for view in [field.reshape(-1)] for at in [both.random.integers(view.size)]]
    for case in [None, *cases]:
        kept = None if case is None else case.copy()
        if case is None:
            both.now = bad
        else:
            case[:] = bad
        run_everything(both)
        for each in states:
            assert np.isfinite(each.memory).all(), [
                path for path, _, view in each.walk() if not np.isfinite(view).all()]
        assert LawCode(int(both.x.law)) == both.x.law
        if case is None:
            both.now = 10.0
        else:
            case[:] = kept
    assert len(cases) > 30


def run_everything(both: Both) -> None:
    """Run every procedure of the laws once; the results may be anything."""
    arrays, x, p = both.arrays, both.x, both.p
    choose_law(x, p)
    begin_joint_law(x.joint)
    enter_brake(both.brake, both.limits, 1.0)
    for kernel in (arrays.free, arrays.damping, arrays.joint, arrays.task):
        both.feed(kernel)
    begin_task_law(x.task, p.task, arrays.task, arrays.task_inputs, both.state, both.structure,
                   np.zeros(6), both.now)
    for _ in range(2):
        both.now += 0.01
        free_law(arrays.free, arrays.free_inputs, p, both.design)
        damping_law(arrays.damping, arrays.damping_gain, both.design)
        joint_law(x.joint, p, arrays.joint, arrays.joint_inputs, p.joint.stiffness,
                  p.joint.damping, both.reference.state, x.side, both.now)
        tip = both.tip
        task_law(x.task, p, arrays.task, arrays.task_inputs, tip.R, tip.p, tip.velocity,
                 tip.acceleration, tip.wrench, x.side, both.now)
        take_law(arrays.task, both.law, both.gravity, both.driver)
        brake(both.brake, both.limits, both.stop, both.state, both.structure, both.design,
              both.load.gravity.value, both.load.payload.value, both.now)
        enter_hold(both.hold, x.joint, both.state, both.structure, both.brake.allowed,
                   both.mean, both.speed)
        note_push(both.hold, both.limits, both.speed, both.y, both.now)
        hold(x.joint, p, both.limits, arrays.joint, arrays.joint_inputs, both.state,
             both.structure, both.design, both.reference.state, x.side, both.law, both.now)


# -- machine code ---------------------------------------------------------------------------------

def any_law(x: Laws, p: LawGains, stops: Brake, held: Hold, limits: StopLimits, made: Design,
            joints: Joints, structure: Structure, y: Result, u: Event, stop: StopKernel,
            k: LawArrays, acting: Vector, payload: Vector, reference: Matrix, R: Matrix,
            law: Vector, gravity: Vector, driver: Vector, work: Vector, twist: Vector) -> None:
    """Do what the kind of the event says."""
    kind = int(u.kind)
    find_saturation(x.side, law, gravity, driver)
    if kind == 0 and choose_law(x, p):
        begin_joint_law(x.joint)
    elif kind == 1:
        feed_law(k.task, joints, acting, payload, p.barrier, made)
        begin_task_law(x.task, p.task, k.task, k.task_inputs, joints, structure, twist, u.now)
    elif kind == 2:
        feed_law(k.free, joints, acting, payload, p.barrier, made)
        free_law(k.free, k.free_inputs, p, made)
        take_law(k.free, law, gravity, driver)
    elif kind == 3:
        feed_law(k.damping, joints, acting, payload, p.barrier, made)
        damping_law(k.damping, k.damping_gain, made)
        take_law(k.damping, law, gravity, driver)
    elif kind == 4:
        feed_law(k.joint, joints, acting, payload, p.barrier, made)
        joint_law(x.joint, p, k.joint, k.joint_inputs, p.joint.stiffness, p.joint.damping,
                  reference, x.side, u.now)
        work[0] = 1.0 if joint_law_rests(x.joint, reference) else 0.0
    elif kind == 5:
        feed_law(k.task, joints, acting, payload, p.barrier, made)
        task_law(x.task, p, k.task, k.task_inputs, R, payload, twist, twist, twist, x.side, u.now)
        take_law(k.task, law, gravity, driver)
        work[1] = 1.0 if task_law_rests(x.task, p.task, twist, twist) else 0.0
    elif kind == 6:
        enter_brake(stops, limits, u.steady)
    elif kind == 7:
        brake(stops, limits, stop, joints, structure, made, acting, payload, u.now)
    elif kind == 8:
        enter_hold(held, x.joint, joints, structure, stops.allowed, stops.load, work)
        note_push(held, limits, stops.speed, y, u.now)
    elif kind == 9:
        feed_law(k.joint, joints, acting, payload, p.barrier, made)
        hold(x.joint, p, limits, k.joint, k.joint_inputs, joints, structure, made, reference,
             x.side, law, u.now)
    elif kind == 10:
        feed_law(k.own, joints, acting, payload, p.barrier, made)
        own_law(x, p, k.own, k.own_inputs, reference, u.now)
        take_law(k.own, law, gravity, driver)
        work[2] = 1.0 if law_tracks(x) or law_leads(x) else 0.0


class Bare:
    """The records and kernels of an arm, and the procedure above by one of the backends."""

    def __init__(self, backend: str) -> None:
        kind = KINDS['arm']
        made = LawKernels(robot_of('arm'), driver_adds='gravity',
                          driver_knows_payload=False, axes=[direction(x) for x in kind.axes])
        compiled = {each: made.compile(each) for each in made.names}
        sizes = {'n': 3, 'm': 3, 's': 8}
        self.records = [each(sizes) for each in (
            Laws, LawGains, Brake, Hold, StopLimits, Design, Joints, Structure, Result, Event)]
        self.vectors = [np.zeros(3), np.zeros(10), np.zeros((3, 3)), np.zeros((3, 3)),
                        *np.zeros((4, 3)), np.zeros(6)]
        self.run = bind(any_law, *self.records, stop_kernel(compiled), law_arrays(compiled),
                        *self.vectors, backend=backend)


def test_machine_code_computes_the_same():
    """What Python runs on floats and what the compiler makes of it differ nowhere."""
    settings = Settings(robot_of('arm'), defaults(OWN) | {
        'integral': [5.0], 'task.linear_integral': 3.0, 'delay': 0.004,
        'switch_time': 0.05}, simulated=False)
    wishes = DesignLimits({'n': 3, 'm': 3, 's': 8})
    fill_design(wishes, settings)
    twins = [Bare('python'), Bare('llvm')]
    for twin in twins:
        fill_laws(twin.records[1], settings)
        fill_stops(twin.records[4], settings)
        design(twin.records[5], wishes, 0.004, 0.0)
        twin.records[7].index[:] = range(3)
    random, now = np.random.default_rng(3), 1.0
    counts: Counter = Counter()
    for _ in range(600):
        now += random.choice([0.001, 0.03])
        kind = int(random.integers(11))
        counts[kind] += 1
        state, vectors = random.normal(size=6), [random.normal(size=x.shape)
                                                 for x in twins[0].vectors]
        for twin in twins:
            _, gains, _, _, _, _, joints, _, y, u = twin.records
            u.kind, u.now, u.steady, y.told = kind, now, state[0], 0.0
            joints.q[:], joints.qd[:] = state[:3], state[3:]
            gains.law, gains.own = int(abs(state[0] * 4.0)) % 6, int(abs(state[1] * 4.0)) % 3
            for given, values in zip(twin.vectors, vectors):
                given[...] = values
            twin.run()
        for a, b in zip(twins[0].records, twins[1].records):
            np.testing.assert_allclose(a.memory, b.memory, 1e-14, 1e-14)
        for a, b in zip(twins[0].vectors, twins[1].vectors):
            np.testing.assert_allclose(a, b, 1e-14, 1e-14)
    assert len(counts) == 11
