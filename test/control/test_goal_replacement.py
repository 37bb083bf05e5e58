# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Goals that replace one another, as MoveIt sends them: no step, and one result for each."""

from hypothesis import example, given, settings, strategies as st
from moveit_rig import random_plan
import numpy as np
from rbd_ros.control.interface.events import Kind
from rbd_ros.control.interface.results import ResultCode, Status
from rbd_ros.control.references.goals import Tolerances
from reference_rig import CHECK, JointRig
from sampling import examples

DT, FASTEST, MOST = 0.002, 2.0, 20.0
FREE = Tolerances(np.full((3, 2), np.inf), np.full((3, 2), 1e-3), 0.5)

#: what may happen to a goal: nothing, cancel it and send the next, send the next at once
END, CANCEL, PREEMPT = range(3)


class Story:
    """Goals that replace one another on the reference of two joints; all of it is written down."""

    def __init__(self, rng):
        self.rng, self.rig, self.now, self.goal = rng, JointRig(), 0.0, 0
        self.rig.start(rng.uniform(-1.0, 1.0, 2))
        self.record, self.ends = [self.rig.update(0.0)], []

    def send(self, count, rates, size=0.5):
        """Send a goal; MoveIt plans from where the robot is measured, near the reference."""
        start = self.rig.state[0] + self.rng.uniform(-2e-3, 2e-3, 2)
        self.plan = random_plan(self.rng, start, self.rng.uniform(0.8, 1.5), size)
        knots = self.plan.knots(count)
        knots.qd, knots.qdd = (knots.qd if rates > 0 else None, knots.qdd if rates > 1 else None)
        self.goal += 1
        self.rig.follow(self.now, knots, self.goal, FREE)

    def cancel(self):
        """Cancel the goal."""
        self.rig.u.numbers[0] = self.goal
        assert self.rig.do(Kind.CANCEL, self.now) == 0.0
        self.ends += self.rig.goals.take('')

    def run(self, seconds):
        """Let time pass; the robot is where the reference is."""
        rig = self.rig
        for _ in range(round(seconds / DT)):
            self.now += DT
            self.record.append(rig.update(self.now))
            rig.joints.q[:], rig.joints.qd[:] = rig.state[0], rig.state[1]
            rig.do(CHECK, self.now)
            self.ends += rig.goals.take('')


@settings(max_examples=examples('properties', 30), deadline=None)
@given(st.integers(0, 2**31), st.lists(st.tuples(
    st.sampled_from([2, 7, 200]), st.integers(0, 2), st.sampled_from([END, CANCEL, PREEMPT]),
    st.floats(0.0, 0.8), st.floats(0.0, 0.2)), min_size=2, max_size=5))
@example(1, [(7, 2, CANCEL, 0.4, 0.2), (7, 2, PREEMPT, 0.4, 0.0)])
def test_every_replacement_is_continuous_and_answered_once(seed, goals):
    """Position and velocity make no step at any instant; each goal has its one right result."""
    story, expected = Story(np.random.default_rng(seed)), []
    for count, rates, then, share, pause in [*goals, (200, 2, END, 0.0, 0.0)]:
        story.send(count, rates)
        if then == END:
            story.run(story.plan.seconds + 1.2)
            expected.append((Status.SUCCEEDED, ResultCode.SUCCESSFUL))
        else:
            story.run(share * story.plan.seconds)
        if then == CANCEL:
            story.cancel()
            story.run(pause)
            if pause > 0.1:  # else the next one comes while it brakes
                story.run(0.2)
                assert not story.rig.state[1].any()
            expected.append((Status.CANCELED, ResultCode.SUCCESSFUL))
        elif then == PREEMPT:
            expected.append((Status.ABORTED, ResultCode.INVALID_GOAL))
    assert [number for number, _ in story.ends] == list(range(1, len(expected) + 1))
    assert [(end.status, end.code) for _, end in story.ends] == expected
    assert all('pre-empted by a new trajectory' in end.text for _, end in story.ends
               if end.status is Status.ABORTED)
    record = np.array(story.record)
    q, v = record[:, 0], record[:, 1]
    assert (np.abs(np.diff(q, axis=0)) <= 1.0011 * FASTEST * DT).all()
    assert (np.abs(np.diff(v, axis=0)) <= 1.0011 * MOST * DT + 1e-9).all()
    np.testing.assert_allclose(q[-1], story.plan.end, atol=1e-9)
    assert not v[-1].any()


@settings(max_examples=examples('properties', 20), deadline=None)
@given(st.integers(0, 2**31), st.floats(0.4, 0.9))
def test_a_plan_of_200_points_is_met_between_its_points(seed, share):
    """After it has joined the plan, the reference is the plan, to far less than a count."""
    story = Story(np.random.default_rng(seed))
    story.send(200, 2, 0.3)  # within the limits of the reference
    begin = story.now
    story.run(share * story.plan.seconds)
    wanted = story.plan.at(story.now - begin)
    np.testing.assert_allclose(story.rig.state[0], wanted[0], atol=1e-6)
    np.testing.assert_allclose(story.rig.state[1], wanted[1], atol=1e-4)
