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
The task reference of the step against the class from which it was translated.

The same random poses, streams, twists, wrenches, leads, clocks and limits go to both.
"""

from collections import Counter
import math

import numpy as np
import pytest
from rbd_ros.compiler.procedure import bind, Matrix, Vector
from rbd_ros.compiler.records import field, Record
from rbd_ros.control.former.references import operational_space
from rbd_ros.control.references.results import GoalError
from rbd_ros.control.interface.events import Event, Kind, NEVER, NONE, Result
from rbd_ros.control.references.pose_profile import TaskLimits
from rbd_ros.control.references.task_intake import TaskIntake
from rbd_ros.control.references.task_reference import (
    advance_task_reference, hold_task_reference, set_lead, start_task_reference, take_pose,
    take_twist, take_wrench, TaskReference)
from scipy.spatial.transform import Rotation
from unfused_references import unfused

SIZES = {'n': 1, 'm': 1}


class Frame(Record):
    """Where the frame of the robot is."""

    duration: float = field('', 's', 'in which to stop')
    R: Matrix = field('3 3', '', 'axes as columns')
    p: Vector = field('3', 'm', 'origin')
    velocity: Vector = field('6', 'rad/s, m/s', 'angular, linear')
    lead: Vector = field('6', 'rad, m', 'of the reference')


def start(x: TaskReference, p: TaskLimits, f: Frame) -> None:
    start_task_reference(x, p, f.R, f.p, f.velocity, f.duration)


def hold(x: TaskReference, p: TaskLimits) -> None:
    hold_task_reference(x, p)


def lead(x: TaskReference, f: Frame) -> None:
    set_lead(x, f.lead)


def advance(x: TaskReference, p: TaskLimits, u: Event) -> None:
    advance_task_reference(x, p, u.now)


class Twins:
    """The old and the new task reference, and what happens to both."""

    def __init__(self, backend, seed):
        self.rng, self.backend, self.bound = np.random.default_rng(seed), backend, {}
        self.x, self.p, self.f = TaskReference(SIZES), TaskLimits(SIZES), Frame(SIZES)
        self.u, self.y = Event(SIZES), Result(SIZES)
        self.old = operational_space.TaskReference(timeout=0.1, wrench_limit=(10.0, 50.0))
        self.p.timeout, self.p.wrench[:] = 0.1, (10.0, 50.0)
        self.intake = TaskIntake(self.x, self.p)
        self.now, self.taken, self.repeats = float(self.rng.choice([0.0, 1.7e9])), Counter(), None
        self.limits()
        self.start()

    def call(self, procedure, *records):
        """Run a procedure on records."""
        self.y.answer = 0.0
        if procedure not in self.bound:
            self.bound[procedure] = bind(procedure, *records, backend=self.backend)
        self.bound[procedure]()

    def limits(self):
        """Change the limits."""
        v, a, most = self.rng.uniform([0.2, 0.5, 0.05], [1.0, 4.0, 0.5], (2, 3)).T
        if self.rng.random() < 0.3:
            most = np.full(2, np.inf)
        self.old.limits = operational_space.TaskLimits(v[1], v[0], a[1], a[0], most[1], most[0])
        self.p.velocity[:], self.p.acceleration[:] = v, a
        self.p.lead[:] = np.minimum(most, NONE)

    def start(self):
        """Begin at any pose, at rest or moving."""
        rng, f = self.rng, self.f
        angle = float(rng.choice([0.0, 1.0, 3.1, math.pi]))
        axis = rng.normal(size=3) if rng.random() < 0.5 else np.eye(3)[rng.integers(3)]
        f.R[:] = Rotation.from_rotvec(angle * axis / np.linalg.norm(axis)).as_matrix()
        f.p[:], f.velocity[:] = rng.normal(0, 1, 3), rng.normal(0, 0.5, 6)
        f.duration = float(rng.choice([0.0, 0.1, 0.3]))
        self.old.start(f.R, f.p, f.velocity, f.duration)
        self.call(start, self.x, self.p, f)

    def hold(self):
        """Hold."""
        self.old.hold()
        self.call(hold, self.x, self.p)

    def lead(self):
        """Let the robot lag behind."""
        self.f.lead[:] = self.rng.normal(0.0, 0.1, 6) * self.rng.integers(0, 2)
        self.old.set_lead(self.f.lead)
        self.call(lead, self.x, self.f)

    def both(self, name, procedure, *given):
        """Give a request to both, now; what one refuses the other refuses too."""
        refused = ''
        try:
            getattr(self.old, name)(self.now, *given)
        except GoalError as error:
            refused = str(error)
        try:
            getattr(self.intake, name)(self.u, self.now, *given)
            records = (self.x, self.p, self.u, self.y) if self.u.kind == Kind.WRENCH else (
                self.x, self.u, self.y)
            self.call(procedure, *records)
            assert not refused and self.y.answer == 0.0
        except GoalError as error:
            assert str(error) == refused
        self.taken[f'{name} {"refused" if refused else "taken"}'] += 1

    def pose(self):
        """Go to a pose near or far, or one that nobody can mean."""
        rng = self.rng
        turn = Rotation.from_rotvec(rng.normal(0.0, float(rng.choice([1e-3, 0.2, 1.0])), 3))
        there = (turn * Rotation.from_quat(self.old._orientation)).as_quat()
        place = self.old.p + rng.normal(0.0, float(rng.choice([1e-3, 0.3])), 3)
        spoilt = rng.random()
        self.both('target_pose', take_pose,
                  place * (1e5 if spoilt < 0.05 else 1.0), there * (1.3 if spoilt > 0.95 else 1.0))

    def stream(self):
        """Begin a stream of poses along a velocity, with bursts, gaps and jumps."""
        velocity = self.rng.normal(0.0, 0.2, 6)
        begin, place = self.now, self.old.p.copy()
        turn = Rotation.from_quat(self.old._orientation)

        def again():
            chance = self.rng.random()
            if chance > 0.98:  # poses before and after a twist are no stream
                self.both('target_twist', take_twist, velocity)
            elif chance < 0.3:
                since = self.now - begin + 3.0 * (self.rng.random() < 0.03)
                self.both('target_pose', take_pose, place + since * velocity[3:],
                          (Rotation.from_rotvec(since * velocity[:3]) * turn).as_quat())
        self.repeats = again

    def twist(self):
        """Begin to repeat a twist."""
        twist = self.rng.normal(0.0, 0.5, 6) * (1e10 if self.rng.random() < 0.05 else 1.0)

        def again():
            if self.rng.random() < 0.2:
                self.both('target_twist', take_twist, twist)
        self.repeats = again

    def wrench(self):
        """Exert a wrench once, too large or not."""
        self.both('target_wrench', take_wrench, self.rng.normal(0.0, [5.0] * 3 + [25.0] * 3) * (
            math.nan if self.rng.random() < 0.2 else 1.0))

    def silence(self):
        """Repeat nothing any more."""
        self.repeats = None

    def step(self):
        """Advance both, and compare everything."""
        rng, old, x = self.rng, self.old, self.x
        if self.repeats:
            self.repeats()
        chance = rng.random()
        self.now += (float(rng.uniform(5e-4, 0.006)) if chance < 0.98 else
                     float(rng.choice([0.0, -0.001, -0.1, 0.05, 0.4])))
        old.update(self.now)
        self.u.now = self.now
        self.call(advance, x, self.p, self.u)
        for found, wanted in ((x.pose.orientation, old._orientation), (x.pose.position, old.p),
                              (x.pose.velocity, old.velocity), (x.pose.R, old.R),
                              (x.pose.goal, old._goal), (x.pose.drift, old._drift),
                              (x.pose.twist, old._twist), (x.wrench, old.wrench)):
            close(found, wanted, 1e-13)
        # A rounding of the orientation, twice differenced: 4e-16 / (5e-4)^2.
        close(x.pose.acceleration, old.acceleration, 2e-9)
        assert bool(x.pose.moving) == bool(old._moving)
        assert (x.rest_duration > 0.0) == (old._rest is not None)
        assert (x.pose_time > NEVER) == bool(old._stream)
        self.taken[f'moving {bool(x.pose.moving)}'] += 1
        self.taken[f'rests {x.rest_duration > 0.0}'] += 1
        self.taken[f'drifts {bool(x.pose.drift.any())}'] += 1
        self.taken[f'presses {bool(x.wrench.any())}'] += 1


def close(found, wanted, tolerance):
    """Compare numbers, relatively where they are large."""
    assert (np.abs(found - wanted) <= tolerance * (1.0 + np.abs(wanted))).all(), (found, wanted)


BRANCHES = [f'{what} {it}' for what in ('moving', 'rests', 'drifts', 'presses')
            for it in (True, False)] + [
    f'target_{what} {it}' for what in ('pose', 'twist', 'wrench') for it in ('taken', 'refused')]


@pytest.mark.parametrize('backend', ['python', 'llvm'])
@unfused()
def test_task_references_agree(backend):
    """Random sequences of everything that can happen to a task reference."""
    taken: Counter[str] = Counter()
    for seed in range(5):
        twins = Twins(backend, seed)
        happens = (twins.start, twins.hold, twins.lead, twins.lead, twins.pose, twins.pose,
                   twins.stream, twins.stream, twins.twist, twins.twist, twins.wrench,
                   twins.wrench, twins.silence, twins.limits)
        wait = 0
        for _ in range(1000):
            wait -= 1
            if wait <= 0:
                happens[twins.rng.integers(len(happens))]()
                wait = int(twins.rng.choice([1, 3, 20, 60]))
            twins.step()
        taken += twins.taken
    assert all(taken[each] for each in BRANCHES), [each for each in BRANCHES if not taken[each]]
