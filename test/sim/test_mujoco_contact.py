# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Contacts of an arm of MuJoCo, with friction and noise: found soon, answered as asked, not invented.

The obstacle is a spring that the controller does not know. Numbers for the documents are printed
by ``python -m benchmark.contact_reaction``.
"""

from __future__ import annotations

from functools import cache

from benchmark.contact_reaction import Arm, calibrate, touch
import numpy as np
import pytest
from rbd_ros.control.interface.causes import Cause

pytestmark = pytest.mark.slow

RATE = 500.0
ANSWERS = {'stop': 'holding', 'float': 'floating', 'comply': 'complying', 'retract': 'holding'}


@cache
def thresholds() -> dict[str, list[float]]:
    """Return what a little free motion gives."""
    return calibrate(RATE, 40.0)


def moving(reaction: str, **more: object) -> Arm:
    """Return an arm that moves all of its joints."""
    arm = Arm(RATE, {'mode': 'computed_torque', 'contact.reaction': reaction, **thresholds(),
                     **more})
    arm.activate()
    arm.run(1.5)
    arm.follow(np.array(arm.plant.options.start) + 0.5, 1.2)
    arm.run(0.6)
    assert arm.state == 'running', arm.fault
    return arm


@pytest.mark.sampled('simulations', 2)
@pytest.mark.parametrize('reaction', ANSWERS)
def test_an_obstacle_is_answered_as_asked(reaction):
    """Within 30 ms, and then nothing presses any more; springs press little."""
    found = touch(reaction, 1e4, 0.25, thresholds(), RATE)
    none = touch('report', 1e4, 0.25, thresholds(), RATE)
    print(f'{reaction}: {found}; not answered: {none}')
    assert found.state == ANSWERS[reaction] and none.state == 'running'
    assert 0.0 < found.delay < 0.03 and 0.0 < none.delay < 0.03
    assert found.force < 1.2 * none.force
    assert found.mean < (10.0 if reaction == 'comply' else 1.0) < 0.5 * none.mean


@pytest.mark.sampled('simulations', 1)
@pytest.mark.parametrize('force', [(40.0, 0.0, 0.0), (0.0, -30.0, 20.0), (-20.0, 25.0, -40.0)])
def test_what_is_felt_is_what_pushes(force):
    """Torques and wrench have size and sign of MuJoCo's J^T f, at rest and without friction."""
    arm = Arm(RATE, {'mode': 'computed_torque', 'contact.reaction': 'report',
                     'contact.torque': [1e4]}, {'friction': [0.0] * 7, 'damping': [0.0] * 7})
    arm.activate()
    arm.run(1.5)
    f, m = np.array(force), np.cross(arm.plant.lever_of_tip, force)
    arm.push = np.concatenate([f, m])  # at the origin of the frame
    arm.run(1.5)
    assert arm.state == 'running', arm.fault
    x, torque = arm.controller.x.contact, jacobian(arm).T @ f
    print(np.round(x.external - torque, 3), np.round(x.wrench, 3))
    np.testing.assert_allclose(x.external, torque, atol=0.05 * np.abs(torque).max())
    np.testing.assert_allclose(arm.plant.tip().rotation @ x.wrench[3:], f,
                               atol=0.05 * np.linalg.norm(f))
    np.testing.assert_allclose(x.wrench[:3], 0.0, atol=2.0)


def test_free_motion_touches_nothing():
    """Other motions than those of the calibration: no contact, and none is counted."""
    arm = moving('stop')
    arm.wander(20.0, 77)
    assert arm.state == 'running', arm.fault
    assert arm.controller.x.contact.count == 0.0


def test_the_way_back_leads_away_from_the_obstacle():
    """Back by the distance that is asked for, along the path, within speed and time."""
    arm = moving('retract', **{'contact.retract_distance': 0.08, 'contact.retract_speed': 0.2})
    q, way = [], []
    arm.each = lambda _: q.append(arm.plant.position)
    arm.run(0.1)
    arm.push = np.array([0.0, 0.0, 60.0, 0.0, 0.0, 0.0])
    while arm.state == 'running':
        arm.run(arm.period)
    assert arm.state == 'retracting', arm.fault
    arm.push, met = None, arm.plant.position
    arm.each = lambda _: way.append((arm.state, arm.plant.position, arm.plant.velocity))
    arm.run(1.5)
    back = [(p, v) for state, p, v in way if state == 'retracting']
    assert arm.state == 'holding' and len(back) * arm.period < 1.01
    end = arm.plant.position
    assert 0.04 < np.abs(end - met).max() < 0.1
    assert min(np.abs(np.array(q) - end).max(axis=1)) < 0.03  # the path that it came
    late = np.array([v for _, v in back])[100:]
    assert np.abs(late).max() < 0.35


def test_a_second_contact_on_the_way_back_floats():
    """Whoever is behind the robot is not pushed away."""
    arm = moving('retract', **{'contact.retract_distance': 0.3, 'contact.retract_time': 3.0})
    arm.push = np.array([0.0, 0.0, 60.0, 0.0, 0.0, 0.0])
    while arm.state == 'running':
        arm.run(arm.period)
    arm.push = None
    arm.run(0.3)
    assert arm.state == 'retracting'
    arm.push = np.array([0.0, 40.0, -60.0, 0.0, 0.0, 0.0])
    while arm.state == 'retracting':
        arm.run(arm.period)
    assert arm.state == 'floating', arm.fault
    assert arm.causes == [Cause.CONTACT]


@pytest.mark.sampled('simulations', 1)
@pytest.mark.parametrize('reaction', ['float', 'comply', 'retract'])
def test_a_frozen_sensor_is_braked_whatever_a_contact_does(reaction):
    """What looks like a contact because a joint stands still exactly is not believed."""
    arm = moving(reaction)
    arm.frozen = 1
    arm.run(0.02)
    assert arm.state in ('running', 'braking', 'ramping down'), arm.state
    arm.run(2.0)
    assert Cause.FROZEN in arm.causes
    assert not {'floating', 'complying', 'retracting'} & set(arm.states)


def test_nothing_is_looked_for_by_default():
    """Without contact.reaction a push that the tracking limits bear changes nothing."""
    arm = Arm(RATE, {'mode': 'computed_torque', **thresholds()})
    arm.activate()
    arm.run(1.5)
    arm.push = np.array([0.0, 0.0, 60.0, 0.0, 0.0, 0.0])
    arm.run(0.2)
    assert arm.state == 'running' and arm.controller.x.contact.count == 0.0


def test_the_energy_bound_slows_the_frame():
    """1/2 m v^2 of MuJoCo's mass matrix stays below the bound, and is near without it."""
    found = {}
    for bound in (0.0, 0.1):
        arm = Arm(RATE, {'mode': 'operational_space', 'contact.energy_limit': bound,
                         'task.linear_velocity': 0.5, 'task.linear_lead': 0.3,
                         'task.linear_error': 1.0}, {'friction': [0.0] * 7, 'damping': [0.0] * 7})
        arm.activate()
        arm.run(1.5)
        tip = arm.plant.tip()
        arm.aim(tip.position + [0.1, 0.25, -0.1], quaternion(tip.rotation))
        seen = []
        arm.each = lambda _, arm=arm, seen=seen: seen.append(
            (kinetic(arm), arm.controller.x.contact.energy))
        arm.run(1.5)
        truth, said = np.array(seen).T
        found[bound] = truth.max()
        if bound:  # the same by our own Lambda, a period late
            np.testing.assert_allclose(said[1:], truth[:-1], atol=0.15 * truth.max())
    print(found)
    assert found[0.1] < 0.115 < 2.0 * found[0.1] < found[0.0]


def test_the_energy_bound_slows_trajectories_of_the_joints():
    """The same path, later: MuJoCo's energy stays below the bound; without, it is far above."""
    found, paths = {}, {}
    for bound in (0.0, 0.1):
        arm = Arm(RATE, {'mode': 'computed_torque', 'contact.energy_limit': bound},
                  {'friction': [0.0] * 7, 'damping': [0.0] * 7})
        arm.activate()
        arm.run(1.5)
        seen, path = [], []
        arm.each = lambda _, arm=arm, seen=seen, path=path: (
            seen.append(kinetic(arm)), path.append(arm.plant.position))
        start = np.array(arm.plant.options.start)
        target = start + [0.4, 0.3, -0.3, 0.4, -0.3, 0.3, 0.4]
        arm.follow(target, 1.0)
        late, last = 0.0, 0.0
        while arm.controller.x.references.joint.resting == 0.0:
            last = late
            arm.run(arm.period)
            late = arm.controller.x.references.joint.path.late
        arm.run(1.0)
        assert arm.state == 'running', arm.fault
        np.testing.assert_allclose(arm.plant.position, target, atol=5e-3)
        found[bound], paths[bound] = max(seen), np.array(path)
        assert (late > 0.3) is (bound > 0.0) and late == pytest.approx(last, abs=1e-3)
    away = np.array([np.abs(paths[0.0] - q).max(axis=1).min() for q in paths[0.1][::10]])
    print(found, len(paths[0.1]) / len(paths[0.0]), away.max())
    assert found[0.1] < 0.115 < 2.0 * found[0.1] < found[0.0]
    assert away.max() < 0.01


def kinetic(arm: Arm) -> float:
    """Return m v^2 / 2 of the tip, with what MuJoCo has for its mass and its motion."""
    plant, J = arm.plant, jacobian(arm)
    v = J @ plant.data.qvel
    speed = np.linalg.norm(v)
    if speed < 1e-3:
        return 0.0
    u = v / speed
    return 0.5 * speed ** 2 / float(u @ J @ np.linalg.solve(plant.mass_matrix(), J.T) @ u)


def jacobian(arm: Arm) -> np.ndarray:
    """Return how the tip moves with the joints, by MuJoCo."""
    import mujoco
    plant = arm.plant
    J = np.zeros((3, plant.model.nv))
    mujoco.mj_jacBody(plant.model, plant.data, J, None, plant.model.body(plant.options.tip).id)
    return J


def quaternion(R: np.ndarray) -> np.ndarray:
    """Return x, y, z, w."""
    from scipy.spatial.transform import Rotation
    return Rotation.from_matrix(R).as_quat()
