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
The references of the step against the classes from which they were translated.

The same random requests, clocks and measurements go to both; every number must agree.
"""

from collections import Counter
import math

import numpy as np
import pytest
from rbd_ros.compiler.procedure import bind, Vector
from rbd_ros.compiler.records import field, Record
from rbd_ros.control.parameters.table import defaults
from rbd_ros.control.references import goals as old_goals
from rbd_ros.control.former.references import joint_space
from rbd_ros.control.references.results import GoalError
from rbd_ros.control.references.trajectory import Knots
from rbd_ros.control.parameters.settings import Settings
from rbd_ros.control.interface.events import Event, Joints, Kind, NONE, Result, Structure
from rbd_ros.control.references.feeder import Feeder
from rbd_ros.control.references.goal_outcomes import EndedGoals
from rbd_ros.control.references.goal_watch import abort_goal
from rbd_ros.control.references.joint_intake import JointIntake
from rbd_ros.control.references.joint_profile import fill_joint_limits, JointLimits
from rbd_ros.control.references.joint_reference import (
    advance_joint_reference, give_way, hold_joint_reference, JointReference, rest_joint_reference,
    start_joint_reference)
from rbd_ros.control.references.joint_requests import (
    cancel_goal, check_goal, take_pieces, take_set_point)
from rbd_ros.control.references.pieces import PathKind, PIECES, Ring
from rbd_ros.control.references.pose_profile import TaskLimits
from rbd_ros.control.references.words import ReferenceWord
from rbd_ros.control.references.task_reference import fill_task_limits
from recorded_robots import controlled_robot
from unfused_references import unfused

N = 3
SIZES = {'n': N, 'm': N + 1}
PLACES = [3, 0, 1]  # of the controlled joints in the model
LOWER, UPPER = [-1.0, -math.inf, -0.3], [1.5, math.inf, 0.4]
CONTINUOUS = [False, True, False]
JOINTS = ('shoulder', 'wheel', 'wrist')
SOURCES = tuple(joint_space.Source)


class Push(Record):
    """What a push does."""

    any: float = field('', '', '1 if it moved the reference')
    most: Vector = field('n', 'rad', 'distance up to which the reference stays')
    moved: Vector = field('n', 'rad', 'by which it moved')


def start(x: JointReference, p: JointLimits, j: Joints, s: Structure, v: Push) -> None:
    start_joint_reference(x, p, j, s, v.moved)


def rest(x: JointReference, p: JointLimits, u: Event) -> None:
    rest_joint_reference(x, p, u.now, u.numbers[0])


def hold(x: JointReference, p: JointLimits) -> None:
    hold_joint_reference(x, p)


def abort(x: JointReference) -> None:
    abort_goal(x.goal, ReferenceWord.MODE_CHANGED, 1.0)


def push(x: JointReference, p: JointLimits, j: Joints, s: Structure, v: Push) -> None:
    v.any = 1.0 if give_way(x, p, j, s, v.most, v.moved) else 0.0


def advance(x: JointReference, p: JointLimits, ring: Ring, y: Result, u: Event) -> None:
    advance_joint_reference(x, p, ring, y, u.now)


def check(x: JointReference, p: JointLimits, j: Joints, s: Structure, u: Event) -> None:
    check_goal(x, p, j, s, u.now)


def make_limits(p, velocity, acceleration):
    """Fill the limits of the joints."""
    p.timeout, p.rest_time = 0.2, 0.3
    p.velocity[:], p.acceleration[:], p.continuous[:] = velocity, acceleration, CONTINUOUS
    p.lower[:] = np.where(CONTINUOUS, -NONE, np.maximum(LOWER, -NONE))
    p.upper[:] = np.where(CONTINUOUS, NONE, np.minimum(UPPER, NONE))


class New:
    """The step's joint reference with the interface of the old class."""

    def __init__(self, backend, velocity, acceleration, linear):
        self.backend, self.bound = backend, {}
        self.p, self.x, self.ring = JointLimits(SIZES), JointReference(SIZES), Ring(SIZES)
        self.u, self.y, self.v = Event(SIZES), Result(SIZES), Push(SIZES)
        self.j, self.s = Joints(SIZES), Structure(SIZES)
        self.s.index[:] = PLACES
        make_limits(self.p, velocity, acceleration)
        self.feeder = Feeder(self.ring, self.x.path)
        self.intake = JointIntake(self.x, self.feeder, lower=LOWER, upper=UPPER,
                                  continuous=CONTINUOUS, joints=JOINTS, speed=[2.0, 3.0, 4.0],
                                  linear=linear)
        self.ended = EndedGoals(self.x.goal, JOINTS, ('a', 'b'))

    def call(self, procedure, *records):
        """Run a procedure on records."""
        self.y.answer = 0.0
        if procedure not in self.bound:
            self.bound[procedure] = bind(procedure, *records, backend=self.backend)
        self.bound[procedure]()

    def request(self, fill):
        """Have an event made, and take it."""
        fill(self.u)
        if self.u.kind == Kind.SET_POINT:
            self.call(take_set_point, self.x, self.p, self.u, self.y)
        else:
            self.call(take_pieces, self.x, self.ring, self.u, self.y)
        assert self.y.answer == 0.0

    def update(self, now):
        """Advance, then feed as the thread of the step does."""
        self.u.now = now
        self.call(advance, self.x, self.p, self.ring, self.y, self.u)
        self.feeder.feed()


def random_knots(rng, state, count):
    """Return points near the state, inside the limits or a little outside."""
    times = np.cumsum(rng.uniform(0.002, 0.6 if count < 6 else 2.0 / count, count))
    if rng.random() < 0.2:
        times -= times[0]
    q = state[0] + np.cumsum(rng.normal(0.0, 0.02 if count > 5 else 0.3, (count, N)), axis=0)
    if rng.random() < 0.95:
        q[:, [0, 2]] = np.clip(q[:, [0, 2]], [-1.0, -0.3], [1.5, 0.4])
    q[:, 1] += math.tau * rng.integers(-3, 4)
    kind = rng.integers(0, 4)
    qd = rng.normal(0.0, 0.4, (count, N)) if kind >= 2 else None
    qdd = rng.normal(0.0, 1.0, (count, N)) if kind == 3 else None
    if qd is not None and rng.random() < 0.5:
        qd[-1] = 0.0
    return Knots(times, q, qd, qdd)


class JointTwins:
    """The old and the new joint reference, and what happens to both."""

    def __init__(self, backend, seed):
        self.rng = rng = np.random.default_rng(seed)
        velocity, acceleration = rng.uniform(0.3, 2.0, N), rng.uniform(1.0, 8.0, N)
        linear = bool(rng.random() < 0.3)
        self.old = joint_space.JointReference(
            velocity.tolist(), acceleration.tolist(), lower=LOWER, upper=UPPER,
            continuous=CONTINUOUS, timeout=0.2, linear=linear, joints=JOINTS,
            speed=[2.0, 3.0, 4.0])
        self.new = New(backend, velocity, acceleration, linear)
        self.now, self.key, self.taken = float(rng.choice([0.0, 17.0, 1.7e9])), 0, Counter()
        self.start()

    def both(self, old, fill):
        """Give a request to both; what one refuses the other refuses too, in the same words."""
        try:
            old()
            refused = ''
        except GoalError as error:
            refused = str(error)
        try:
            self.new.request(fill)
            assert not refused
        except GoalError as error:
            assert str(error) == refused
            self.taken['refused'] += 1

    def start(self):
        """Begin anywhere, slow or fast, inside the limits or outside."""
        q, qd = self.rng.uniform([-1.2, -9.0, -0.4], [1.7, 9.0, 0.5]), self.rng.normal(0, 1.5, N)
        if self.rng.random() < 0.3:  # slowly, next to a limit
            q[0], qd[0] = 1.5 - 1e-4 * self.rng.random(), 1e-3
        self.old.start(q, qd)
        new = self.new
        new.j.q[PLACES], new.v.moved[:] = q, qd
        new.call(start, new.x, new.p, new.j, new.s, new.v)

    def rest(self):
        """Come to rest."""
        duration = float(self.rng.choice([0.0, 0.1, 0.5, 2.0]))
        self.old.rest(self.now, duration)
        self.new.u.now, self.new.u.numbers[0] = self.now, duration
        self.new.call(rest, self.new.x, self.new.p, self.new.u)

    def hold(self):
        """Hold."""
        self.old.hold()
        self.new.call(hold, self.new.x, self.new.p)

    def abort(self):
        """Change the mode."""
        self.old.goals.abort('the mode changed to b')
        self.new.call(abort, self.new.x)

    def push(self):
        """Push the robot away from the reference."""
        new = self.new
        q = self.old.state[0] + self.rng.normal(0.0, 0.1, N)
        q[1] += math.tau * self.rng.integers(-3, 4)
        most = self.rng.uniform(0.05, 0.3, N)
        moved = self.old.give_way(q, most)
        new.j.q[PLACES], new.v.most[:] = q, most
        new.call(push, new.x, new.p, new.j, new.s, new.v)
        close(new.v.moved, moved, 1e-13)
        assert bool(new.v.any) == bool(moved.any())
        self.taken['pushed' if moved.any() else 'stands'] += 1

    def set_point(self):
        """Stream a set-point."""
        rng, now = self.rng, self.now
        knots = random_knots(rng, self.old.state, 1)
        if rng.random() < 0.5:  # near enough for an even speed below the limits
            knots.q[0] = self.old.state[0] + rng.normal(0.0, 0.02, N)
        qd = rng.normal(0.0, 0.3, N) if rng.random() < 0.4 else None
        qdd = rng.normal(0.0, 1.0, N) if qd is not None and rng.random() < 0.5 else None
        within = float(rng.choice([0.0, 0.0, 0.03, 0.15]))
        self.both(lambda: self.old.set_point(now, knots.q[0], qd, qdd, within),
                  lambda u: self.new.intake.set_point(u, now, knots.q[0], qd, qdd, within))

    def take(self):
        """Take a message of one point, soon, or of several."""
        rng, now = self.rng, self.now
        knots = random_knots(rng, self.old.state, int(rng.choice([1, 1, 2])))
        knots.times += float(rng.choice([0.0, 0.02, 0.09, 0.2])) - knots.times[0]
        begin = now + float(rng.choice([0.0, -0.01, -0.05, 0.05]))
        self.both(lambda: self.old.take(now, knots, begin),
                  lambda u: self.new.intake.take(u, now, knots, begin))

    def follow(self):
        """Follow a trajectory, as a goal or not."""
        rng, now, old = self.rng, self.now, self.old
        count = int(rng.choice([1, 2, 5, 40, 65, 200, 200]))
        knots = random_knots(rng, old.state, count)
        begin = now + float(rng.choice([0.0, 0.0, 0.1, -0.1, -5.0]))
        if rng.random() < 0.25:
            self.both(lambda: old.follow(now, knots, begin),
                      lambda u: self.new.intake.follow(u, now, knots, begin))
            return
        self.key += 1
        key = self.key
        most = old_goals.Tolerances(
            np.where(rng.random((3, N)) < 0.15, rng.uniform(0.02, 0.5, (3, N)), np.inf),
            np.where(rng.random((3, N)) < 0.5, rng.uniform(0.0, 0.03, (3, N)), np.inf),
            float(rng.choice([0.0, 0.1, np.inf])))
        self.both(lambda: old.pursue(old_goals.Goal(key, old.follow(now, knots, begin), most,
                                                    JOINTS)),
                  lambda u: self.new.intake.follow(u, now, knots, begin, key, most))

    def cancel(self):
        """Cancel the last goal, or one that is not there."""
        key = self.key + int(self.rng.random() < 0.2)
        done = self.old.cancel(key)
        self.new.u.numbers[0] = key
        self.new.call(cancel_goal, self.new.x, self.new.p, self.new.u, self.new.y)
        assert done == (self.new.y.answer == 0.0)
        self.taken[f'canceled {done}'] += 1

    def limits(self):
        """Change the limits."""
        velocity, acceleration = self.rng.uniform(0.3, 2.0, N), self.rng.uniform(1.0, 8.0, N)
        self.old.limiter.limit(velocity, acceleration)
        self.new.p.velocity[:], self.new.p.acceleration[:] = velocity, acceleration

    def step(self):
        """Advance both, check the goal, and compare everything."""
        rng, old, new = self.rng, self.old, self.new
        chance = rng.random()
        self.now += (float(rng.uniform(0.001, 0.004)) if chance < 0.97 else
                     float(rng.choice([0.0, -0.001, 0.05, 0.3, 1e4 if chance > 0.999 else 0.0])))
        old.update(self.now)
        new.update(self.now)
        self.compare()
        q = old.target[0] + rng.normal(0.0, 0.01, N)
        q[1] += math.tau * rng.integers(-3, 4)
        qd = old.target[1] + rng.normal(0.0, 0.02, N)
        active = old.goals.active is not None
        old.check_goal(self.now, q, qd)
        new.u.now, new.j.q[PLACES], new.j.qd[PLACES] = self.now, q, qd
        new.call(check, new.x, new.p, new.j, new.s, new.u)
        if active:
            close(new.x.goal.error, old._error[:2], 1e-12)
        self.compare_goals()

    def compare(self):
        """Compare what the reference is."""
        old, x = self.old, self.new.x
        for found, wanted in ((x.profile.state, old.state), (x.profile.target, old.target)):
            close(found[:2], wanted[:2], 1e-13)
            close(found[2], wanted[2], 1e-11)
        assert SOURCES[int(x.source)] is old.source
        assert (bool(x.resting), bool(x.timed_out)) == (old.resting, old.timed_out)
        self.taken[f'{old.source.value} {PathKind(int(x.path.kind)).name} {old.resting}'] += 1
        self.taken['timed out'] += old.timed_out
        gone = x.path.piece - x.path.first if x.path.kind == PathKind.RING else 0
        self.taken['round'] += bool(gone > PIECES)

    def compare_goals(self):
        """Compare which goal is active and which have ended, with their texts."""
        active = self.old.goals.active
        assert self.new.x.goal.active == (0 if active is None else active.key)
        ended = self.new.ended.take('')
        assert ended == list(self.old.goals.ended)
        self.old.goals.ended.clear()
        for _, outcome in ended:
            which = [each for each in ('path tolerance', 'goal tolerance') if each in outcome.text]
            self.taken[which[0] if which else outcome.text] += 1


def close(found, wanted, tolerance):
    """Compare numbers, relatively where they are large."""
    assert (np.abs(found - wanted) <= tolerance * (1.0 + np.abs(wanted))).all(), (found, wanted)


#: what the sequences must have met: sources with what they move along, ends of goals, requests
BRANCHES = (
    'hold NONE False', 'hold NONE True', 'hold STOP False', 'hold STOP True', 'stream NONE False',
    'trajectory RING False', 'trajectory RING True', 'timed out', 'round', 'stands', 'pushed',
    'refused', 'canceled True', 'canceled False', 'the controller was restarted',
    'the reference is held', 'pre-empted by a set-point', 'pre-empted by a new trajectory',
    'the mode changed to b', 'canceled by the client', 'goal reached', 'path tolerance',
    'goal tolerance')


@pytest.mark.parametrize('backend', ['python', 'llvm'])
@unfused()
def test_joint_references_agree(backend):
    """Random sequences of everything that can happen to a joint reference."""
    taken: Counter[str] = Counter()
    for seed in range(12):
        twins = JointTwins(backend, seed)
        happens = (twins.start, twins.rest, twins.hold, twins.abort, twins.push, twins.push,
                   twins.set_point, twins.set_point, twins.set_point, twins.take, twins.take,
                   twins.follow, twins.follow, twins.follow, twins.cancel, twins.cancel,
                   twins.limits)
        wait = 0
        for _ in range(1000):
            wait -= 1
            if wait <= 0:
                what = happens[twins.rng.integers(len(happens))]
                what()
                wait = int(twins.rng.choice([5, 20, 250] if what == twins.follow else [1, 3, 60]))
            twins.step()
        taken += twins.taken
    assert all(taken[each] for each in BRANCHES), [each for each in BRANCHES if not taken[each]]


@pytest.mark.parametrize('name', ['arm', 'turret'])
def test_limits_are_those_of_the_settings(name):
    """The records have the numbers that the old classes are made with."""
    robot = controlled_robot(name)
    settings = Settings(robot, defaults() | {
        'reference.timeout': 0.4, 'switch_time': 0.7, 'task.timeout': 0.3,
        'task.linear_velocity': 0.11, 'task.angular_velocity': 0.22, 'task.angular_lead': 0.33,
        'task.linear_acceleration': 0.44, 'task.moment_limit': 5.5,
        'task.force_limit': 66.0}, simulated=False)
    sizes = {'n': len(robot.joints)}
    p, task = JointLimits(sizes), TaskLimits(sizes)
    fill_joint_limits(p, settings)
    fill_task_limits(task, settings)
    old = joint_space.JointReference(
        settings.reference_velocity.tolist(), settings.joints('reference.acceleration').tolist(),
        lower=robot.pick(robot.model.lower), upper=robot.pick(robot.model.upper),
        continuous=robot.continuous, timeout=settings.number('reference.timeout'))
    endless = np.array(robot.continuous, dtype=bool)
    assert endless.any() == (name == 'turret')
    assert (p.timeout, p.rest_time, task.timeout) == (0.4, 0.7, 0.3)
    for found, wanted in (
            (p.velocity, old.limiter.velocity), (p.acceleration, old.limiter.acceleration),
            (p.lower[~endless], old.lower[~endless]), (p.upper[~endless], old.upper[~endless]),
            (p.lower[endless], -NONE), (p.upper[endless], NONE), (p.continuous, endless),
            (task.velocity, (0.22, 0.11)), (task.acceleration[1], 0.44),
            (task.lead[0], 0.33), (task.wrench, (5.5, 66.0))):
        assert (found == wanted).all()
