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

"""Properties of the references of the step: rings that run dry, long trajectories, bad numbers."""

import itertools
import math

import numpy as np
import pytest
from rbd_ros.compiler.procedure import bind, Vector
from rbd_ros.compiler.records import field, Record
from rbd_ros.control.references.goals import Tolerances
from rbd_ros.control.references.results import GoalError, ResultCode, Status
from rbd_ros.control.references.trajectory import Knots, Trajectory
from rbd_ros.control.interface.events import Event, Joints, NEVER, NOBODY, NONE, Result, Structure
from rbd_ros.control.references.feeder import Feeder
from rbd_ros.control.references.goal_outcomes import EndedGoals
from rbd_ros.control.references.joint_profile import JointLimits
from rbd_ros.control.references.joint_reference import (
    advance_joint_reference, give_way, JointReference, rest_joint_reference, Source,
    start_joint_reference)
from rbd_ros.control.references.joint_requests import (
    cancel_goal, check_goal, take_pieces, take_set_point)
from rbd_ros.control.laws.law_records import LawCode
from rbd_ros.control.references.pieces import PathKind, PIECES, Ring
from rbd_ros.control.references.pose_profile import TaskLimits
from rbd_ros.control.references.words import ReferenceWord, TEXTS
from rbd_ros.control.references.references import (
    hold_references, moves, ReferenceLimits, References)
from rbd_ros.control.references.task_reference import (
    advance_task_reference, set_lead, start_task_reference, take_pose, take_twist, take_wrench,
    TaskReference)

SIZES = {'n': 2, 'm': 2}
BAD = (math.nan, math.inf, -math.inf, 1e308, -1e308)
DT = 0.002


class Given(Record):
    """What the procedures take besides."""

    duration: float = field('', 's', 'of a stop', 0.2)
    law: float = field('', '', 'in force', LawCode.JOINT)
    moves: float = field('', '', 'whether the robot moves')
    most: Vector = field('n', 'rad', 'distance up to which a hold stays', 0.1)
    moved: Vector = field('n', 'rad', 'by which it has yielded')


def advance(x: JointReference, p: JointLimits, ring: Ring, y: Result, u: Event) -> None:
    advance_joint_reference(x, p, ring, y, u.now)


class Rig:
    """A joint reference that follows what a feeder gives it."""

    def __init__(self, velocity=1.0, acceleration=4.0, lower=-NONE, upper=NONE):
        self.x, self.p, self.ring = JointReference(SIZES), JointLimits(SIZES), Ring(SIZES)
        self.u, self.y = Event(SIZES), Result(SIZES)
        self.p.timeout, self.p.rest_time = 0.2, 0.3
        self.p.velocity[:], self.p.acceleration[:] = velocity, acceleration
        self.p.lower[:], self.p.upper[:] = lower, upper
        self.feeder = Feeder(self.ring, self.x.path)
        self._take = bind(take_pieces, self.x, self.ring, self.u, self.y)
        self._advance = bind(advance, self.x, self.p, self.ring, self.y, self.u)

    def trajectory(self, now, knots):
        """Return a trajectory from the present reference."""
        return Trajectory(knots, now, now, tuple(self.x.profile.state.copy()))

    def take(self, number, goal=0):
        """Let the step take a trajectory over; return its answer."""
        self.y.answer, self.u.numbers[:2] = 0.0, (number, goal)
        self._take()
        return self.y.answer

    def step(self, now):
        """Advance, without feeding."""
        self.u.now, self.y.told = now, 0.0
        self._advance()
        return self.x.profile.state.copy()


def knots_along(times, rng, *, reach=0.5):
    """Return random points in two joints, inside a range."""
    return Knots(np.array(times), rng.uniform(-reach, reach, (len(times), 2)), None, None)


def test_long_trajectory():
    """10,000 points, fed while it runs, give the sine from which they were taken."""
    rig, times = Rig(velocity=2.0, acceleration=9.0), np.arange(1, 10_001) * 1e-3
    wave = np.array([np.sin(times), 1.0 - np.cos(times)]).T
    rate = np.array([np.cos(times), np.sin(times)]).T
    rig.x.profile.state[1] = 1.0, 0.0
    assert rig.step(0.0)[1, 0] == 1.0
    number = rig.feeder.begin(rig.trajectory(0.0, Knots(times, wave, rate, None)))
    assert rig.take(number) == 0.0
    told, most = 0.0, 0.0
    for now in np.arange(1, 5000) * DT:
        state = rig.step(now)
        told += rig.y.told
        rig.feeder.feed()
        most = max(most, np.abs(state[0] - (math.sin(now), 1.0 - math.cos(now))).max(),
                   np.abs(state[1] - (math.cos(now), math.sin(now))).max())
    assert told == 0.0
    assert most < 1e-9  # h^4/384 of the fourth derivative, and h^3/126 of its slope
    assert rig.feeder.left == 0
    assert (rig.x.path.last - rig.x.path.first, rig.x.path.kind) == (10_000, PathKind.RING)


@pytest.mark.parametrize('seed', range(12))
def test_dry_ring_stops_within_limits(seed):
    """Wherever the pieces end, the reference stops within its limits, says so, and never jumps."""
    rng = np.random.default_rng(seed)
    rig = Rig(velocity=rng.uniform(0.5, 2.0, 2), acceleration=rng.uniform(2.0, 8.0, 2),
              lower=-0.55, upper=0.55)
    times = np.cumsum(rng.uniform(0.01, 0.05, 150))
    knots = Knots(times, 0.5 * np.sin(np.outer(times, rng.uniform(0.5, 4.0, 2))), None, None)
    endless = Tolerances(np.full((3, 2), np.inf), np.full((3, 2), np.inf), np.inf)
    rig.step(0.0)
    ended = EndedGoals(rig.x.goal, ('a', 'b'), ())
    assert rig.take(rig.feeder.begin(rig.trajectory(0.0, knots), 7, endless), 7) == 0.0
    starve, dry, now = rng.uniform(0.0, times[80]), None, 0.0
    before = rig.x.profile.state.copy()
    while now < times[-1] + 1.0:
        last, dt = now, float(rng.uniform(0.5, 1.5)) * DT
        now += dt
        state = rig.step(now)
        if rig.y.told:
            assert dry is None
            dry = now
            assert rig.x.path.begin == last  # the stop begins where the reference was
            assert rig.y.words[0, :2].tolist() == [ReferenceWord.DRY, NOBODY]
            assert 'comes to rest' in TEXTS[ReferenceWord.DRY]('', *rig.y.words[0, 2:])
        assert (np.abs(state[1]) <= rig.p.velocity).all()
        assert (np.abs(state[1] - before[1]) <= 1.0011 * rig.p.acceleration * dt).all()
        assert (np.abs(state[0] - before[0]) <= 1.0011 * rig.p.velocity * dt).all()
        assert (np.abs(state[0]) <= 0.55 + 1e-6).all()
        assert (np.abs(state[2]) <= rig.p.acceleration).all()
        if dry is not None and now > dry + 2.0:
            break
        if now < starve:
            rig.feeder.feed()
        before = state
    assert dry is not None
    assert rig.x.source == Source.HOLD and rig.x.resting == 1.0
    (key, outcome), = ended.take('')
    assert (key, outcome.status, outcome.code) == (7, Status.ABORTED, ResultCode.INVALID_GOAL)
    assert 'did not come in time' in outcome.text


def test_pieces_never_mix():
    """Until a new trajectory is taken over the old one goes on; then only the new one counts."""
    rng, rig = np.random.default_rng(5), Rig(velocity=1e3, acceleration=1e6)
    times = np.cumsum(rng.uniform(0.004, 0.01, 200))
    rig.step(0.0)
    old = rig.trajectory(0.0, knots_along(times, rng))
    rig.take(rig.feeder.begin(old))
    now, out = 0.0, np.zeros((3, 2))
    for round_number in range(12):
        for _ in range(int(rng.integers(1, 60))):
            now += DT
            rig.step(now)
            rig.feeder.feed()
            moving = old.sample(now, out)
            assert (rig.x.profile.target == out).all() or np.allclose(
                rig.x.profile.target, out, rtol=1e-12, atol=1e-9)
        new = rig.trajectory(now, knots_along(times, rng))
        skipped = 0
        if round_number % 3 == 0:  # one that is replaced before it is taken
            skipped = rig.feeder.begin(rig.trajectory(now, knots_along(times, rng)))
        number = rig.feeder.begin(new)
        for _ in range(int(rng.integers(0, 20))):  # the step has not heard of it
            now += DT
            rig.step(now)
            rig.feeder.feed()
            assert rig.x.path.number < number and rig.y.told == 0.0
            assert old.sample(now, out) == moving or now >= old.end
            assert np.allclose(rig.x.profile.target, out, rtol=1e-12, atol=1e-9)
        if skipped:
            assert rig.take(skipped) == ReferenceWord.REPLACED
        assert rig.take(number) == 0.0
        old = new


def test_a_trajectory_that_is_never_taken():
    """The one in use stops where its pieces were written over; it never enters the new one."""
    rng, rig = np.random.default_rng(8), Rig()
    times = np.arange(1, 201) * 0.01
    rig.step(0.0)
    rig.take(rig.feeder.begin(rig.trajectory(0.0, knots_along(times, rng, reach=0.01))))
    for k in range(1, 100):
        rig.step(k * DT)
        rig.feeder.feed()
    far = Knots(times, np.full((200, 2), 5.0), None, None)
    rig.feeder.begin(rig.trajectory(99 * DT, far))
    told = 0
    for k in range(100, 600):
        assert (np.abs(rig.step(k * DT)[0]) < 0.1).all()
        rig.feeder.feed()
        told += int(rig.y.told)
    assert told == 1 and rig.x.resting == 1.0


def test_clock_set_back_far_is_dry():
    """A clock that is set back to pieces that are gone stops the reference."""
    rng, rig = np.random.default_rng(3), Rig()
    times = np.arange(1, 301) * 0.01
    rig.step(0.0)
    rig.take(rig.feeder.begin(rig.trajectory(0.0, knots_along(times, rng, reach=0.01))))
    for k in range(1000):
        rig.step(k * DT)
        rig.feeder.feed()
        assert not rig.y.told
    rig.step(1.95)
    assert not rig.y.told
    rig.step(0.5)
    assert rig.y.told == 1.0 and rig.x.source == Source.HOLD


def test_points_that_no_clock_can_tell_apart():
    """Points that fall together are refused."""
    rig = Rig()
    knots = Knots(np.array([1.0, 1.0 + 1e-9]), np.zeros((2, 2)), np.zeros((2, 2)), None)
    rig.feeder.begin(rig.trajectory(0.0, knots))
    with pytest.raises(GoalError, match='closer together than the clock'):
        rig.feeder.begin(Trajectory(knots, 1.7e9, 1.7e9, tuple(np.zeros((3, 2)))))


def test_every_word_has_a_sentence():
    """Each code has its text, in its range."""
    assert set(TEXTS) == set(ReferenceWord)
    assert all(300 <= word < 350 and TEXTS[word]('elbow', 0.1, 0.2, 1.0)
               for word in ReferenceWord)


# -- numbers that are none ------------------------------------------------------------------------

def use_joints(x: JointReference, p: JointLimits, ring: Ring, u: Event, y: Result, j: Joints,
               s: Structure, g: Given) -> None:
    start_joint_reference(x, p, j, s, g.moved)
    advance_joint_reference(x, p, ring, y, u.now)
    rest_joint_reference(x, p, u.now, g.duration)
    for k in range(3):
        advance_joint_reference(x, p, ring, y, u.now + 0.01 * k)
    take_set_point(x, p, u, y)
    advance_joint_reference(x, p, ring, y, u.now + 0.04)
    advance_joint_reference(x, p, ring, y, u.now + 0.5)
    u.numbers[0], u.numbers[1] = 1.0, 1.0
    take_pieces(x, ring, u, y)
    for k in range(4):
        advance_joint_reference(x, p, ring, y, u.now + 0.6 + 0.3 * k)
        check_goal(x, p, j, s, u.now + 0.6 + 0.3 * k)
    give_way(x, p, j, s, g.most, g.moved)
    cancel_goal(x, p, u, y)
    advance_joint_reference(x, p, ring, y, u.now + 2.0)


def use_task(x: TaskReference, p: TaskLimits, u: Event, y: Result, v: TaskReference) -> None:
    start_task_reference(x, p, v.pose.R, v.pose.position, v.wrench, v.rest_duration)
    for k in range(3):
        advance_task_reference(x, p, u.now + 0.1 * k)
    set_lead(x, v.pose.lead)
    take_pose(x, u, y)
    advance_task_reference(x, p, u.now + 0.3)
    advance_task_reference(x, p, u.now + 0.31)
    take_wrench(x, p, u, y)
    take_twist(x, u, y)
    for k in range(4):
        advance_task_reference(x, p, u.now + 0.32 + 0.04 * k)


def use_both(x: References, p: ReferenceLimits, j: Joints, s: Structure, g: Given) -> None:
    g.moves = 1.0 if moves(x, j, s, int(g.law)) else 0.0
    hold_references(x, p)


def spoilt(records):
    """Set each number of some records in turn to what is none; yield where."""
    for record in records:
        for path, _, view in record.walk():
            for at, bad in itertools.product(range(min(view.size, 7)), BAD):
                good = view.flat[at]
                view.flat[at] = bad
                yield f'{type(record).__name__}.{path}[{at}] = {bad}'
                view.flat[at] = good


def spoilt_pairs(records, count):
    """Set two numbers of some records, taken at random, to what is none; yield where."""
    rng = np.random.default_rng(0)
    for _ in range(count):
        kept = [record.memory.copy() for record in records]
        where = []
        for _ in range(2):
            record = records[rng.integers(len(records))]
            at, bad = rng.integers(len(record.memory)), BAD[rng.integers(len(BAD))]
            record.memory[at] = bad
            where.append(f'{type(record).__name__}, number {at} = {bad}')
        yield ' and '.join(where)
        for record, memory in zip(records, kept):
            record.memory[:] = memory


@pytest.mark.parametrize('backend', ['python', 'llvm'])
def test_bad_numbers_leave_the_joint_reference_finite(backend):
    """NaN, inf and 1e308 in each field of event, parameters and ring, and in pairs."""
    rig, j, s, g = Rig(), Joints(SIZES), Structure(SIZES), Given(SIZES)
    s.index[:] = 0, 1
    rig.p.continuous[1] = 1.0
    knots = Knots(np.array([0.6, 1.2, 1.5]), np.full((3, 2), 0.1), None, None)
    x, p, ring, u, y = rig.x, rig.p, rig.ring, rig.u, rig.y
    rig.feeder.begin(Trajectory(knots, 0.0, 0.0, tuple(np.zeros((3, 2)))), 1,
                     Tolerances(np.full((3, 2), 1.0), np.full((3, 2), 0.5), 1.0))
    run = bind(use_joints, x, p, ring, u, y, j, s, g, backend=backend)
    tried = 0
    places = (u, p, ring, g)
    for where in itertools.chain(spoilt(places), spoilt_pairs(places[:3], 500)):
        for record in (x, y, g) if 'Given' not in where else (x, y):
            record.restart()
        numbers, joints = u.numbers.copy(), u.joints.copy()
        run()
        u.numbers[:], u.joints[:] = numbers, joints
        assert np.isfinite(x.memory).all(), where
        assert x.source in (0, 1, 2) and x.path.kind in tuple(PathKind), where
        assert 0 <= x.path.first <= x.path.piece <= x.path.last, where
        tried += 1
    assert tried > 200


@pytest.mark.parametrize('backend', ['python', 'llvm'])
def test_bad_numbers_leave_the_task_reference_finite(backend):
    """NaN, inf and 1e308 in each field of event, parameters and pose, and in pairs."""
    x, p, u, y = TaskReference(SIZES), TaskLimits(SIZES), Event(SIZES), Result(SIZES)
    v = TaskReference(SIZES)
    v.pose.R[:], v.wrench[:], v.rest_duration = np.eye(3), 0.1, 0.2
    u.numbers[:7] = 0.0, 0.0, 0.0, 1.0, 0.1, 0.2, 0.3
    p.timeout, p.wrench[:] = 0.1, 10.0
    run = bind(use_task, x, p, u, y, v, backend=backend)
    places = (u, p, v)
    for where in itertools.chain(spoilt(places), spoilt_pairs(places, 500)):
        x.restart()
        run()
        assert np.isfinite(x.memory).all(), where
        assert x.pose.moving in (0.0, 1.0), where


def test_what_moves():
    """The reference of the law in force and the joints decide; a hold stops all references."""
    kinds = (References, ReferenceLimits, Joints, Structure, Given)
    x, p, j, s, g = (kind(SIZES) for kind in kinds)
    s.index[:] = 0, 1
    x.task.pose.orientation[3] = 1.0
    run = bind(use_both, x, p, j, s, g)
    joints, tip = x.joint, x.task.pose
    for law, joint, task, measured, moving in (
            (LawCode.FREE, 1.0, 1.0, 0.01, False), (LawCode.FREE, 0.0, 0.0, -0.03, True),
            (LawCode.JOINT, -0.002, 0.0, 0.0, True), (LawCode.JOINT, 0.0005, 1.0, 0.0, False),
            (LawCode.TASK, 1.0, -0.002, 0.0, True), (LawCode.TASK, 1.0, 0.0, 0.01, False)):
        g.law, joints.profile.state[1, 1], tip.velocity[5], j.qd[1] = law, joint, task, measured
        joints.goal.active, joints.source, tip.moving, x.task.pose_time = 3, Source.STREAM, 1, 1
        run()
        assert bool(g.moves) == moving
        assert (joints.goal.active, joints.source, tip.moving, x.task.pose_time) == (
            0, Source.HOLD, 0, NEVER)


def test_a_full_ring_has_no_room():
    """A feeder puts no more than the ring takes, and stops for a trajectory that was left."""
    rng, rig = np.random.default_rng(1), Rig()
    rig.step(0.0)
    number = rig.feeder.begin(rig.trajectory(0.0, knots_along(np.arange(1, 301) * 0.01, rng)))
    while rig.feeder.feed():
        pass
    assert rig.feeder.left == 300 - PIECES
    assert (rig.ring.of == number).all()
    rig.take(number)
    assert rig.feeder.feed() == 0
    rig.x.path.kind = PathKind.NONE
    assert rig.feeder.feed() == 0
