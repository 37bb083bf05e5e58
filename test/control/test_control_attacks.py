# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""What comes from outside must not make the robot fast, strong or blind: attacks, fake clock."""

from controller_rig import Arm, MODEL, POSES, SPEED, TORQUE
from mujoco_rig import Driven
import numpy as np
import pytest

from rbd_ros import Dynamics
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.interface.events import Kind
from rbd_ros.control.interface.payload import payload_vector, PayloadError
from rbd_ros.control.interface.words import LoadWord
from rbd_ros.control.kernels.tip import AXES
from rbd_ros.control.payload_check import PayloadCheck

pytestmark = pytest.mark.slow

PERIOD = 0.001
LOWER, UPPER = np.array(MODEL.lower), np.array(MODEL.upper)
CARRYING = (0.1, 0.9, 0.3, -1.2, 0.5, 0.6, 0.7)
COM = (0.0, 0.0, 0.05)


def fastest(arm):
    """Return the largest velocity so far as a share of its limit."""
    return (np.abs(np.array(arm.qd_log)) / SPEED).max()


# -- references -------------------------------------------------------------------------------

_RANDOM = np.random.default_rng(3).uniform(size=(3000, 2, 7))
BURSTS = {
    'random': lambda k: (LOWER + (UPPER - LOWER) * _RANDOM[k, 0], None),
    'random with velocities': lambda k: (LOWER + (UPPER - LOWER) * _RANDOM[k, 0],
                                         (2.0 * _RANDOM[k, 1] - 1.0) * SPEED),
    'to and fro': lambda k: (UPPER if k // 150 % 2 else LOWER, None),
    'far away': lambda k: (LOWER, None),
    'far away and on': lambda k: (LOWER, -SPEED),
}


@pytest.mark.sampled('simulations', 2)
@pytest.mark.parametrize('burst', BURSTS)
def test_a_burst_of_set_points_keeps_the_velocity_limits(burst):
    """A set-point per millisecond, whatever they say: no joint is fast, none leaves its range."""
    arm = Arm(mode='computed_torque', tracking_limits=[100.0])
    arm.release()
    arm.forget()
    count = [0]

    def each(_time):
        arm.set_point(*BURSTS[burst](count[0]))
        count[0] += 1
    arm.each = each
    for _ in range(300):
        arm.run(0.01)
        reference = arm.reference[0]
        assert (reference >= LOWER - 1e-6).all() and (reference <= UPPER + 1e-6).all()
    assert arm.state == 'running', arm.fault
    # The reference itself stays below 0.9; catching up and the light wrist need some more.
    assert fastest(arm) < 1.08


@pytest.mark.parametrize('name, every, seed, acceleration', [
    ('panda', 150, 0, None), ('ur10', 400, 1, 20.0)])
def test_far_set_points_throw_no_joint_of_known_robots(name, every, seed, acceleration):
    """
    A Panda with default parameters, a UR10 whose reference brakes harder than its torque limits.

    A clamp per joint threw the elbow of the UR10 at 2.4 times its velocity limit.
    """
    values = {} if acceleration is None else {'reference.acceleration': [acceleration]}
    robot = Driven(name, mode='computed_torque', **values)
    robot.start(1.5)
    model, random = robot.robot, np.random.default_rng(seed)
    lower = np.maximum(model.pick(model.model.lower), -3.0)
    upper = np.minimum(model.pick(model.model.upper), 3.0)
    for _ in range(1600 // every):
        robot.follow(lower + (upper - lower) * random.uniform(size=len(lower)), 0.0)
        robot.run(every * PERIOD)
    assert robot.state == 'running', robot.fault
    speed = np.abs(robot.qd) / robot.controller.settings.velocity_limits
    assert 0.6 < speed.max() < 1.0


# -- a load other than the declared ----------------------------------------------------------


def carrying(mass):
    """Return the dynamics of an arm that carries a payload."""
    dynamics = Dynamics(MODEL, payload_frame='tool0')
    dynamics.set_payload(mass, COM, mass * 1e-3 * np.eye(3))
    return dynamics


@pytest.mark.sampled('simulations', 3)
@pytest.mark.parametrize('mode', ['gravity_compensation', 'computed_torque'])
@pytest.mark.parametrize('actual, told', [(0.0, 3.0), (3.0, 0.0), (0.0, 5.0), (5.0, 0.0)])
def test_braking_with_a_wrong_payload_brakes(mode, actual, told):
    """With a wrong declared payload, an arm that became too fast, or is stopped, comes to rest."""
    arm = Arm(CARRYING, mode=mode, **{'payload.com': list(COM)})
    arm.release()
    arm.dynamics = carrying(actual)
    arm.change(**{'payload.mass': told, 'payload.ramp_time': 0.2})
    arm.forget()
    arm.run(0.5)
    if arm.state == 'running':
        arm.stop()
    arm.run(2.5)
    assert arm.state == 'holding', arm.fault
    assert fastest(arm) < 1.15  # 20 ms of patience, and what the torque rate needs to turn round
    resting = np.abs(np.array(arm.qd_log[-500:])) / SPEED
    assert resting.max() < 0.01
    assert (np.abs(arm.load) <= 0.3 * TORQUE + 1e-12).all()


def test_load_is_what_the_robot_shows():
    """At rest in a hold the observed load is the gravity torque of the undeclared mass."""
    arm = Arm((0.1, 1.5, 0.3, -0.4, 0.5, 0.3, 0.7))
    arm.release()
    arm.dynamics = carrying(1.5)
    arm.stop()
    arm.run(3.0)
    assert arm.state == 'holding'
    missing = arm.dynamics.gravity(arm.q) - Dynamics(MODEL).gravity(arm.q)
    assert np.abs(missing).max() > 5.0
    np.testing.assert_allclose(-arm.load, missing, atol=0.5)  # joints that moved


def test_who_is_in_the_way_is_no_load():
    """A blocked robot that is stopped relaxes to g(q): it does not go on pushing."""
    arm = Arm(mode='computed_torque', **{'reference.acceleration': [20.0]})
    arm.activate()
    arm.run(1.1)
    arm.set_point(arm.q + 0.6)
    before = len(arm.sent)
    arm.run(0.4)  # it stands: somebody is in its way
    assert np.abs(np.array(arm.sent[before:]) - arm.dynamics.gravity(arm.q)).max() > 10.0
    arm.run(1.6)
    assert arm.state == 'holding'
    assert 'tracking error' in arm.fault
    np.testing.assert_allclose(arm.sent[-1], arm.dynamics.gravity(arm.q), atol=1e-6)


# -- what the torque limits cannot hold -------------------------------------------------------


def test_a_payload_that_cannot_be_held_is_refused():
    """The refusal names the worst joint, what it needs at this pose, and its limit."""
    arm = Arm((0.1, 1.5, 0.3, -0.4, 0.5, 0.3, 0.7))
    arm.start()
    assert arm.controller.ready
    needed = np.abs(carrying(40.0).gravity(arm.q)) / TORQUE
    worst = int(needed.argmax())
    assert needed[worst] > 1.0
    judge = PayloadCheck(arm.controller)
    text = (f'40 kg cannot be held: at the present pose joint_{worst + 1} would need '
            f'{needed[worst] * TORQUE[worst]:.4g} N.m, its limit is {TORQUE[worst]:.4g} N.m')
    with pytest.raises(PayloadError, match=text):
        judge.check(payload_vector(40.0, COM, [0.04, 0.0, 0.0, 0.04, 0.0, 0.04]))
    judge.check(payload_vector(3.0, COM, [0.0] * 6))
    judge.check(payload_vector(0.0, COM, [0.0] * 6))
    # the step says the same where it is asked, and changes nothing
    u, y, before = arm.controller.u, arm.controller.y, arm.controller.x.memory.copy()
    for mass, answer in ((3.0, 0.0), (40.0, LoadWord.TOO_HEAVY)):
        u.numbers[:10] = payload_vector(mass, COM, [0.0] * 6)
        u.kind = Kind.WEIGH
        arm.controller.run()
        assert y.answer == answer
    assert y.words[0].tolist() == pytest.approx(
        [LoadWord.TOO_HEAVY, worst, needed[worst] * TORQUE[worst], TORQUE[worst], 40.0])
    np.testing.assert_array_equal(arm.controller.x.memory, before)


def test_the_heaviest_payload_that_can_be_held():
    """One per cent below what the worst joint can hold is taken, one per cent above is not."""
    arm = Arm((0.1, 1.5, 0.3, -0.4, 0.5, 0.3, 0.7))
    arm.start()
    assert arm.controller.ready
    empty = carrying(0.0).gravity(arm.q)
    per_kg = carrying(1.0).gravity(arm.q) - empty
    most = np.min((TORQUE - np.sign(per_kg) * empty) / np.maximum(np.abs(per_kg), 1e-9))
    judge = PayloadCheck(arm.controller)
    judge.check(payload_vector(0.99 * most, COM, [0.0] * 6))
    with pytest.raises(PayloadError, match='cannot be held'):
        judge.check(payload_vector(1.01 * most, COM, [0.0] * 6))
    arm.controller.x.load.gravity[:] *= 0.9  # on a hill, or in a lift that falls
    judge.check(payload_vector(1.01 * most, COM, [0.0] * 6))


def test_without_a_state_no_payload_is_judged():
    """Nobody knows what a payload needs before the pose is known."""
    arm = Arm()
    PayloadCheck(arm.controller).check(payload_vector(1000.0, COM, [0.0] * 6))


# -- operational space ------------------------------------------------------------------------


@pytest.mark.sampled('simulations', 1)
@pytest.mark.parametrize('axis, force', [(1, 10.0), (2, 50.0), (2, -50.0)])
def test_a_wrench_on_a_free_arm_makes_no_more_than_its_speed(axis, force):
    """A force along a free direction moves the tip, at no more than its velocity."""
    axes = [name for k, name in enumerate(AXES) if k != 3 + axis]
    arm = Arm(POSES['forward'], mode='operational_space', **{'task.axes': axes})
    arm.release()
    wrench = np.zeros(6)
    wrench[3 + axis] = force
    turned = np.concatenate([np.zeros(3), arm.pose[:3, :3] @ wrench[3:]])
    arm.each = lambda time: arm.controller.take_wrench(time, time, turned)
    fastest_tip = 0.0
    for _ in range(60):
        arm.run(0.01)
        velocity = arm.dynamics.velocity(arm.q, arm.qd, 'tool0')[3:]
        fastest_tip = max(fastest_tip, np.linalg.norm(velocity))
    assert arm.state == 'running', arm.fault
    assert 0.1 < fastest_tip < 0.5 * 1.1


def test_a_tip_that_is_far_from_its_reference_is_a_fault():
    """Operational space watches its own tracking error, in m and rad."""
    for joint, speed, text in ((0, 0.3, 'position of the tip: tracking error 0.2'),
                               (6, 0.6, 'orientation of the tip: tracking error 0.8')):
        arm = Arm(POSES['forward'], mode='operational_space', tracking_limits=[100.0])
        arm.start()
        arm.qd = np.full(7, 0.01)  # a joint that stood against the torque would look frozen
        arm.qd[joint] = speed
        arm.run(3.0)
        assert arm.causes[0] is Cause.TRACKING
        assert text in arm.fault


# -- holding ----------------------------------------------------------------------------------


def held(**values):
    """Return an arm that was stopped and is held."""
    arm = Arm(mode='computed_torque', **values)
    arm.release()
    arm.stop()
    arm.run(1.0)
    assert arm.state == 'holding'
    return arm


def push(arm, joint, speed, duration):
    """Push a standing arm away at a speed, whatever it does; returns the torques less g(q)."""
    arm.external, torques = None, []
    arm.qd = np.zeros(7)
    arm.qd[joint] = speed
    for _ in range(round(duration / PERIOD)):
        arm.run(PERIOD)
        torques.append(arm.sent[-1] - arm.dynamics.gravity(arm.q))
    return np.array(torques)


@pytest.mark.parametrize('joint', [0, 1, 3])
def test_a_held_robot_yields_to_a_push(joint):
    """Pushed one radian away it never gives more than its share, follows, and stays there."""
    arm = held()
    torques = push(arm, joint, 0.5, 2.0)
    assert arm.state == 'holding'
    assert (np.abs(torques) <= 0.3 * TORQUE + 1e-9).all()
    distance = arm.reference[0] - arm.q
    assert (np.abs(distance) <= 0.1 + 0.5 * PERIOD + 1e-9).all()  # it has moved since
    assert abs(distance[joint]) > 0.09
    warned = arm.warnings
    assert [f'joint_{joint + 1} has moved by' in text for text in warned] == [True]
    there = arm.q.copy()
    arm.external = np.zeros(7)  # let go
    arm.run(1.5)
    assert arm.state == 'holding'
    assert np.abs(arm.qd).max() < 0.01
    assert abs(arm.q[joint] - there[joint]) < 0.15  # back by the distance that it may be away


def test_a_held_robot_that_nobody_pushes_stays():
    """Within its distance a hold is a hold: it pulls back to where it was."""
    arm = held()
    there = arm.q.copy()
    push(arm, 0, 0.4, 0.2)
    arm.external, arm.qd = np.zeros(7), np.zeros(7)
    arm.run(2.0)
    np.testing.assert_allclose(arm.q, there, atol=2e-3)
    assert not arm.warnings
