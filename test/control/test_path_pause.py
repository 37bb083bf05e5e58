# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""A trajectory that is paused rests on its path and goes on, by joints and by the tip."""

from controller_rig import Arm
import numpy as np
import pytest
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.interface.results import Status
from rbd_ros.control.paths.curve import Curve, exponential, WayPoints
from rbd_ros.control.paths.following import PathFollowing
from rbd_ros.control.paths.limits import path_limits
from rbd_ros.control.paths.postures import Postures
from rbd_ros.control.references.joint_reference import Source
from rbd_ros.control.references.trajectory import Knots, Trajectory

STILL = np.zeros(7)


@pytest.fixture
def arm():
    """Return an arm that runs; nobody holds it."""
    made = Arm(mode='computed_torque')
    made.release()
    return made


def lead(arm, rng):
    """Begin a random path of the tip; return its curve and the motion of the joints."""
    c = arm.controller
    postures = Postures(c.kernels['report'], arm.robot)
    q = arm.reference[0].copy()
    here = postures.at(q)
    for size in (0.12, 0.08, 0.05, 0.03, 0.01):  # a smaller one where that is too fast
        p = here.p + size * rng.uniform(-1.0, 1.0, (3, 3))
        R = [here.R @ exponential(2.0 * size * rng.uniform(-1.0, 1.0, 3)) for _ in range(3)]
        curve = Curve(WayPoints(np.array([0.6, 1.1, 1.7]), p, np.array(R)).after(here.p, here.R))
        following = PathFollowing(
            postures, path_limits(c.settings), c.settings.task_axes, curve, q)
        try:
            assert following.work(600.0)
            break
        except ValueError:
            continue
    knots = following.knots
    c.take_points(arm.now, arm.time, knots, arm.now)
    assert arm.controller.x.references.joint.source == Source.TRAJECTORY
    return curve, knots, Trajectory(knots, 0.0, 0.0, (q, STILL, STILL))


def sampled(path, t):
    """Return position of the joints at a time of a trajectory."""
    times = np.array(path.times)
    k = min(int(np.searchsorted(times, t, side='right')) - 1, len(times) - 2)
    return (t - times[k])**np.arange(6) @ path.pieces(k, 1)[0]


@pytest.mark.sampled('simulations', 2)
@pytest.mark.parametrize('seed', range(6))
def test_paused_at_a_random_instant(arm, seed):
    """On the path to a micrometre, no jump of the velocity, at rest soon, then to the end."""
    rng = np.random.default_rng(seed)
    curve, knots, path = lead(arm, rng)
    c, begin, limit = arm.controller, arm.now, arm.controller.p.references.joint.acceleration
    pause, wait = rng.uniform(0.05, 1.6), rng.uniform(0.3, 0.8)
    state, log, asked = c.x.references.joint, [], []

    def look(time):
        for when, paused in ((pause, True), (pause + wait, False)):
            if len(asked) == (not paused) and time - begin >= when:
                assert c.pause(arm.now, arm.time, paused) == ''
                asked.append(paused)
        if time > begin + 0.0015:  # the state is that of the period before
            log.append((time - arm.period - begin - state.path.late, *arm.reference.copy(),
                        state.path.rate))
    arm.each = look
    arm.run(pause + wait - 0.02)
    assert not arm.reference[1].any() and state.path.rate == 0.0
    rested = arm.reference[0].copy()
    arm.run(0.01)
    np.testing.assert_array_equal(arm.reference[0], rested)
    arm.run(curve.end + 2.0)
    times, q, qd, qdd = (np.array(each) for each in list(zip(*log))[:4])
    assert (np.diff(times) >= -1e-9).all()  # never back
    steps = np.abs(np.diff(qd, axis=0)) / (limit * arm.period)
    assert steps.max() < 1.0 and (np.abs(qdd) <= limit).all()
    for t, position in list(zip(times, q))[::7]:
        wanted = sampled(path, t) if t < curve.end else knots.q[-1]
        np.testing.assert_allclose(position, wanted, atol=1e-7)
    np.testing.assert_allclose(arm.reference[0], knots.q[-1], atol=1e-9)
    np.testing.assert_allclose(arm.pose[:3, 3], curve.at(curve.end).p, atol=1e-3)
    assert arm.state == 'running' and not arm.warnings


@pytest.mark.sampled('sweeps', 2)
@pytest.mark.parametrize('when', [0.1, 0.2, 0.3, 0.45, 0.5, 0.55, 0.6])
def test_pausing_adds_no_more_than_the_limit_allows(arm, when):
    """A trajectory that brakes with nine tenths of the limit stays on its path when paused."""
    c, begin, end = arm.controller, arm.now, 0.8
    q, limit = arm.reference[0].copy(), c.p.references.joint.acceleration
    there = q.copy()
    there[6] -= 0.9 * limit[6] * end**2 / 5.7735  # the largest acceleration of least jerk
    knots = Knots(np.array([end]), there[None], STILL[None], STILL[None])
    c.take_points(begin, arm.time, knots, begin)
    path, late, log = Trajectory(knots, 0.0, 0.0, (q, STILL, STILL)), c.x.references.joint.path, []
    arm.each = lambda time: log.append((time - arm.period - begin - late.late, arm.reference[0, 6],
                                        arm.reference[1, 6]))
    arm.run(when)
    c.pause(arm.now, arm.time, paused=True)
    arm.run(0.7)
    assert late.rate == 0.0
    c.pause(arm.now, arm.time, paused=False)
    arm.run(2.0)
    for t, position, _ in log[2::3]:
        wanted = sampled(path, t) if t < end else there
        assert abs(position - wanted[6]) < 1e-9
    speeds = np.array([each[2] for each in log])
    assert np.abs(np.diff(speeds)).max() < limit[6] * arm.period
    np.testing.assert_allclose(arm.reference[0], there, atol=1e-9)


def test_velocity_is_the_derivative_while_it_slows_down(arm):
    """What the law is told: qd = s' q', qdd = s'^2 q'' + s'' q', by differences."""
    lead(arm, np.random.default_rng(3))
    arm.run(0.5)
    arm.controller.pause(arm.now, arm.time, paused=True)
    log = []
    arm.each = lambda time: log.append(arm.reference.copy())
    arm.run(0.4)
    q, qd, qdd = (np.array(each) for each in zip(*log))
    rates = np.abs(qd).max(axis=1)
    moving = slice(2, int(np.argmax(rates == 0.0)) - 3)
    assert rates[2] > 0.1 and moving.stop > 10
    np.testing.assert_allclose(np.gradient(q, arm.period, axis=0)[moving], qd[moving], atol=5e-3)
    np.testing.assert_allclose(np.gradient(qd, arm.period, axis=0)[moving][5:],
                               qdd[moving][5:], atol=0.15 * np.abs(qdd).max())


def test_each_step_moves_by_the_velocity_that_is_told(arm):
    """
    At an even speed, slowing down and coming back: the way of a step is the velocity at its end.

    One that fell behind by the rate of the step before would still move when it is said to rest.
    """
    c, q, speed = arm.controller, arm.reference[0].copy(), np.linspace(0.1, 0.2, 7)
    times = np.array([0.4, 2.0, 2.4])
    c.take_points(arm.now, arm.time, Knots(
        times, q + speed * np.array([0.2, 1.8, 2.0])[:, None],
        np.array([speed, speed, STILL]), np.zeros((3, 7))), arm.now)
    arm.run(0.6)
    log = []
    arm.each = lambda time: log.append(arm.reference.copy())
    for paused in (True, False):
        arm.controller.pause(arm.now, arm.time, paused=paused)
        arm.run(0.4)
    q, qd, _ = (np.array(each) for each in zip(*log))
    rates = qd[:, 0] / speed[0]
    assert rates.min() == 0.0 and rates[-1] > 0.5 and ((0.0 < rates) & (rates < 0.99)).sum() > 20
    np.testing.assert_allclose(np.diff(q, axis=0) / arm.period, qd[1:], atol=1e-9)


def test_goals_wait_for_a_pause(arm):
    """Its times are those of the path: a goal of 0.6 s is reached after a pause of 5 s."""
    c, q = arm.controller, arm.reference[0].copy()
    knots = Knots(np.array([0.6]), (q + 0.05)[None], None, None)
    tolerances = c.settings.tolerances()
    c.pursue(arm.now, arm.time, knots, arm.now, 'goal', tolerances)
    arm.run(0.3)
    assert c.pause(arm.now, arm.time, paused=True) == ''
    arm.run(5.0)
    assert c.goal == 'goal' and not c.ended
    assert c.pause(arm.now, arm.time, paused=False) == ''
    arm.run(1.5)
    [(key, outcome)] = c.ended
    assert key == 'goal' and outcome.status is Status.SUCCEEDED, outcome


def test_nothing_to_pause(arm):
    """Without a trajectory there is nothing; neither after its end, nor once it ends at rest."""
    c, said = arm.controller, 'no trajectory is being followed'
    assert c.pause(arm.now, arm.time, paused=True) == said
    arm.set_point(arm.q + 0.01)
    assert c.pause(arm.now, arm.time, paused=True) == said
    arm.run(0.6)
    lead(arm, np.random.default_rng(1))
    arm.run(0.4)
    assert c.pause(arm.now, arm.time, paused=True, end=True) == ''
    assert c.pause(arm.now, arm.time, paused=False) == said  # it does not come back
    arm.run(0.5)
    assert c.x.references.joint.source == Source.HOLD and not arm.reference[1].any()


@pytest.mark.parametrize('what', ['stop', 'mode', 'trajectory', 'set-point'])
def test_a_pause_ends_with_its_trajectory(arm, what):
    """A stop brakes, another mode holds, another reference is followed: at its own speed."""
    lead(arm, np.random.default_rng(2))
    arm.run(0.4)
    arm.controller.pause(arm.now, arm.time, paused=True)
    arm.run(0.4)
    path = arm.controller.x.references.joint.path
    assert path.rate == 0.0
    if what == 'stop':
        arm.stop(Cause.OPERATOR_STOP)
        arm.run(0.1)
        assert arm.state == 'braking'
        arm.run(1.5)
        assert arm.state == 'holding'
    elif what == 'mode':
        arm.apply(mode='gravity_compensation')
        arm.run(0.5)
        arm.apply(mode='computed_torque')
        arm.run(0.5)
    elif what == 'trajectory':
        there = arm.reference[0] + 0.02
        arm.follow([0.5], there[None])
        arm.run(0.6)
        np.testing.assert_allclose(arm.reference[0], there, atol=1e-9)
    else:
        arm.set_point(arm.reference[0] + 0.01)
        arm.run(0.1)
    assert path.rate == 1.0 and path.halt == 0.0
