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

"""References that are taken or refused by the step, against the old intake."""

from collections import Counter
import math
from types import SimpleNamespace

import numpy as np
import pytest
from rbd_ros.compiler.procedure import bind
from rbd_ros.compiler.records import field, Record
from rbd_ros.control.former import reference_intake
from rbd_ros.control.former.modes import JointLaw, Law, TaskLaw
from rbd_ros.control.former.references.joint_space import JointReference, Source
from rbd_ros.control.former.references.operational_space import TaskReference
from rbd_ros.control.references.results import GoalError
from rbd_ros.control.references.trajectory import Knots
from rbd_ros.control.former.safety.supervisor import State
from rbd_ros.control.interface.cause_codes import CauseCode
from rbd_ros.control.interface.events import Event, Joints, Kind, NONE, Result, Structure
from rbd_ros.control.references.feeder import Feeder
from rbd_ros.control.references.joint_intake import JointIntake
from rbd_ros.control.laws.law_records import LawCode
from rbd_ros.control.monitors.monitor_parameters import MonitorParameters
from rbd_ros.control.references.pieces import Ring
from rbd_ros.control.references.words import ReferenceWord
from rbd_ros.control.references.references import ReferenceLimits, References, take_reference
from rbd_ros.control.supervisor.words import SupervisorWord
from rbd_ros.control.references.task_intake import TaskIntake
from rbd_ros.control.supervisor.states import StateCode

SIZES = {'n': 2, 'm': 2}
LAWS = {LawCode.FREE: Law, LawCode.JOINT: JointLaw, LawCode.TASK: TaskLaw}
SOURCES = tuple(Source)


class Where(Record):
    """Where the controller is."""

    state: float = field('', '', 'of the supervisor')
    law: float = field('', '', 'in force')


def take(x: References, p: ReferenceLimits, m: MonitorParameters, ring: Ring, j: Joints,
         s: Structure, u: Event, y: Result, w: Where) -> None:
    take_reference(x, p, m, ring, j, s, u, y, int(w.state), int(w.law))


class Twins:
    """The old intake around the old references, and the step."""

    def __init__(self, backend, seed):
        self.rng, self.taken, self.faults = np.random.default_rng(seed), Counter(), []
        self.old = SimpleNamespace(
            supervisor=SimpleNamespace(state=State.RUNNING), steady=0.0, law=None,
            joints=SimpleNamespace(qd=np.zeros(2), controlled=slice(None)),
            reference=JointReference([1.0] * 2, [5.0] * 2, lower=[-1.0] * 2, upper=[1.0] * 2,
                                     continuous=[False] * 2, speed=[3.0] * 2),
            task_reference=TaskReference(), announce=lambda kind, text: None,
            fault=lambda steady, cause, detail: self.faults.append((cause.name, detail)))
        self.intake = reference_intake.ReferenceIntake(
            self.old, SimpleNamespace(integer=lambda name: 3))
        self.x, self.p, self.m = (kind(SIZES) for kind in (References, ReferenceLimits,
                                                           MonitorParameters))
        self.ring, self.j, self.s, self.u, self.y, self.w = (
            kind(SIZES) for kind in (Ring, Joints, Structure, Event, Result, Where))
        self.s.index[:], self.m.refusals = (0, 1), 3
        self.p.joint.velocity[:], self.p.joint.acceleration[:] = 1.0, 5.0
        self.p.joint.lower[:], self.p.joint.upper[:], self.p.task.wrench[:] = -1.0, 1.0, NONE
        self.points = JointIntake(
            self.x.joint, Feeder(self.ring, self.x.joint.path), lower=[-1.0] * 2,
            upper=[1.0] * 2, continuous=[False] * 2, joints=('a', 'b'), speed=[3.0] * 2)
        self.tip = TaskIntake(self.x.task, self.p.task)
        self.run = bind(take, self.x, self.p, self.m, self.ring, self.j, self.s, self.u, self.y,
                        self.w, backend=backend)

    def requests(self, now):
        """Return what may be asked for, of the old and of the new, good or bad."""
        rng = self.rng
        bad = math.nan if rng.random() < 0.6 else 0.0
        q, six = rng.uniform(-0.9, 0.9, (2, 2)) + bad, rng.normal(0.0, 0.1, 6) + bad
        knots = Knots(np.array([0.3, 0.6]), q, None, None)
        joint, task = self.old.reference, self.old.task_reference
        turn = (0.0, 0.0, 0.0, 1.0)
        return (
            (lambda: joint.set_point(now, q[0]), lambda u: self.points.set_point(u, now, q[0])),
            (lambda: joint.take(now, knots, now), lambda u: self.points.take(u, now, knots, now)),
            (lambda: task.target_pose(now, six[:3], turn),
             lambda u: self.tip.target_pose(u, now, six[:3], turn)),
            (lambda: task.target_twist(now, six), lambda u: self.tip.target_twist(u, now, six)),
            (lambda: task.target_wrench(now, six), lambda u: self.tip.target_wrench(u, now, six)))

    def step(self, now):
        """Let a reference come at any state, law and velocity; compare what follows from it."""
        rng, u, y = self.rng, self.u, self.y
        state = (State.RUNNING, State.RAMPING_IN, State.HOLDING)[rng.choice(3, p=[0.6, 0.3, 0.1])]
        law = tuple(LAWS)[rng.integers(3)]
        speed = float(rng.choice([0.0, 0.01, 0.5]))
        self.old.supervisor.state, self.old.steady = state, now
        self.old.law, self.old.joints.qd[:] = object.__new__(LAWS[law]), speed
        self.old.reference.state[1] = self.x.joint.profile.state[1] = rng.choice([0.0, 5e-4, 0.1])
        self.old.task_reference.velocity[:] = self.x.task.pose.velocity[:] = rng.choice(
            [0.0, 5e-4, 0.1])
        old, new = self.requests(now)[rng.integers(5)]
        self.faults.clear()
        self.intake.take(old)
        try:
            new(u)
        except GoalError:
            u.kind = Kind.REFUSED
        u.now = u.steady = now
        y.accused, self.j.qd[:] = 0.0, speed
        self.w.state, self.w.law = StateCode[state.name], law
        self.run()
        assert y.accused == len(self.faults)
        if self.faults:
            count = int(self.faults[0][1].split()[0])
            assert self.faults[0][0] == 'BAD_COMMAND'
            assert y.accusations[0, :4].tolist() == [
                CauseCode.BAD_COMMAND, SupervisorWord.REFUSED_IN_A_ROW, -1, count]
        assert (y.answer == ReferenceWord.NOT_RUNNING) == (state is State.HOLDING)
        assert SOURCES[int(self.x.joint.source)] is self.old.reference.source
        assert (self.x.task.pose.twist == self.old.task_reference._twist).all()
        self.taken['faults'] += len(self.faults)
        self.taken[f'{state.name} {Kind(int(u.kind)).name}'] += 1


@pytest.mark.parametrize('backend', ['python', 'llvm'])
def test_intakes_agree(backend):
    """The same references are taken, refused and counted, and the same rows of them are faults."""
    twins, now = Twins(backend, 4), 0.0
    for _ in range(1500):
        now += float(twins.rng.choice([0.01, 0.2, 1.1], p=[0.5, 0.4, 0.1]))
        twins.step(now)
    assert twins.taken['faults'] > 10
    assert len(twins.taken) == 1 + 3 * 6


def test_goals_are_answered_and_do_not_count():
    """A goal needs its mode; one that is refused is answered, and no row of them is a fault."""
    twins = Twins('python', 0)
    knots = Knots(np.array([0.3]), np.zeros((1, 2)), None, None)
    twins.j.qd[:], twins.x.refusals.row = 0.5, 2.0
    for law, state, answer in (
            (LawCode.TASK, StateCode.RUNNING, ReferenceWord.OTHER_MODE),
            (LawCode.JOINT, StateCode.BRAKING, ReferenceWord.NOT_RUNNING),
            (LawCode.JOINT, StateCode.RAMPING_IN, 0), (LawCode.JOINT, StateCode.RUNNING, 0)):
        for goal in range(1, 6):
            twins.points.follow(twins.u, 0.0, knots, 0.0, goal)
            twins.w.state, twins.w.law = state, law
            twins.run()
            assert twins.y.answer == answer and not twins.y.accused
            assert twins.x.joint.goal.active == (0 if answer else goal)
    assert twins.x.refusals.row == 2.0
