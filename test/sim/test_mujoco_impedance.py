# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
The stiffness that is commanded is the one that MuJoCo feels, with and without friction.

Only the description is shared: mass matrix, Jacobian and motion are those of MuJoCo.
"""

from __future__ import annotations

from typing import NamedTuple

from controller_rig import REACH, SHOULDER, WRIST
import mujoco
from mujoco_rig import Driven
import numpy as np
import pytest
from sampling import some
from scipy.linalg import eigh
from scipy.spatial.transform import Rotation

pytestmark = pytest.mark.slow

MODE, TIP_MODE = 'joint_impedance', 'cartesian_impedance'
STIFFNESS = np.array([200.0, 300.0, 150.0, 150.0, 60.0, 50.0, 40.0])
DAMPING = np.array([35.0, 50.0, 25.0, 25.0, 8.0, 6.0, 4.5])
SPRING = {f'{MODE}.stiffness': STIFFNESS.tolist(), f'{MODE}.damping': DAMPING.tolist()}

#: about and along the axes of the frame, N.m/rad and N/m, all different
TIP_STIFFNESS = np.array([40.0, 60.0, 30.0, 600.0, 400.0, 900.0])
STIFF = 4.0 * TIP_STIFFNESS

ARMS = ('built-in', 'panda', 'ur5')

#: N.m of dry friction that nobody compensates
FRICTION = {'built-in': np.array([1.0, 1.0, 0.8, 0.8, 0.4, 0.3, 0.2]),
            'panda': np.array([0.5, 0.5, 0.4, 0.4, 0.3, 0.2, 0.15]),
            'ur5': np.array([3.0, 3.0, 2.0, 0.6, 0.5, 0.4])}


def sprung(name: str = 'built-in', **more: object) -> Driven:
    """Return an arm with springs at its joints, running; those of another fit it."""
    spring = SPRING if name == 'built-in' else {'rotor_inertia': [0.1]}
    loop = Driven(name, mode=MODE, tracking_limits=[2.0], **spring, **more)
    assert not loop.controller.settings.refusals()
    loop.start(1.6)
    assert loop.state == 'running', loop.fault
    return loop


def jacobian(loop: Driven) -> np.ndarray:
    """Return that of the tip by MuJoCo, linear part first, in the base."""
    plant = loop.plant
    J = np.zeros((6, plant.model.nv))
    mujoco.mj_jacBody(plant.model, plant.data, J[:3], J[3:],
                      plant.model.body(plant.options.tip).id)
    return J


def wrench_at_tip(loop: Driven, force: np.ndarray, moment: np.ndarray) -> np.ndarray:
    """Return the push that is a force and a moment at the frame: MuJoCo's acts at the centre."""
    lever = loop.plant.data.xpos - loop.plant.data.xipos
    return np.concatenate([force, moment + np.cross(
        lever[loop.plant.model.body(loop.plant.options.tip).id], force)])


def deflected(loop: Driven, push: np.ndarray, seconds: float) -> tuple[np.ndarray, np.ndarray]:
    """Push the tip until it rests; return joint torques of the push, and deflections."""
    def hold_on(_: float) -> None:
        loop.push = wrench_at_tip(loop, push[:3], push[3:])
    loop.each = hold_on
    loop.run(seconds)
    loop.each = None
    assert loop.state == 'running', loop.fault
    reference = loop.controller.x.references.joint.profile.state[0]
    return jacobian(loop).T @ push, loop.plant.position - reference


def test_torque_over_deflection_is_the_stiffness_of_each_joint() -> None:
    """At 20 poses, for pushes in any direction: to 2 %, and no joint stays where it is pushed."""
    loop, rng, worst = sprung(), np.random.default_rng(4), 0.0
    home = loop.plant.position
    cases = [(rng.uniform(-0.4, 0.4, 7), np.concatenate([
        rng.uniform(-15.0, 15.0, 3), rng.uniform(-4.0, 4.0, 3)])) for _ in range(20)]
    for away, push in some('simulations', cases, 4):
        loop.push = None
        loop.follow(home + away, 0.8)
        loop.run(1.2)
        torque, way = deflected(loop, push, 1.2)
        felt = np.abs(torque) > 0.05 * np.abs(torque).max()
        assert felt.sum() > 3
        worst = max(worst, np.abs(torque[felt] / way[felt] / STIFFNESS[felt] - 1.0).max())
    print(f'{100.0 * worst:.3f} %')
    assert worst < 0.02


@pytest.mark.sampled('robots', 1)
@pytest.mark.parametrize('name', ARMS)
def test_dry_friction_leaves_its_dead_band(name: str) -> None:
    """With friction F a joint rests up to F/K from where it should, and not farther."""
    friction = FRICTION[name]
    loop = sprung(name, plant={'friction': friction.tolist(), 'hard_friction': True})
    settings = loop.controller.settings
    stiffness, _ = settings.own_values(settings.robot.modes[MODE])
    torque, way = deflected(loop, np.array([12.0, -9.0, 8.0, 1.0, -1.5, 1.0]), 3.0)
    missing = np.abs(torque - stiffness * way)
    print(f'{(missing / friction).round(2)}')
    assert (missing < 1.02 * friction).all()
    assert missing.max() > 0.1 * friction.max()  # it does rub


# -- at the tip -----------------------------------------------------------------------------------

def tip_sprung(ratio: float = 0.7, stiffness: np.ndarray = TIP_STIFFNESS, rate: float = 1000.0,
               name: str = 'built-in', **more: object) -> Driven:
    """Return an arm with springs at its tip, running."""
    loop = Driven(name, rate=rate, mode=TIP_MODE, **{
        f'{TIP_MODE}.angular_stiffness': stiffness[:3].tolist(),
        f'{TIP_MODE}.linear_stiffness': stiffness[3:].tolist(),
        f'{TIP_MODE}.damping_ratio': ratio}, **more)
    assert not loop.controller.settings.refusals()
    loop.start(1.6)
    assert loop.state == 'running', loop.fault
    return loop


def random_poses(loop: Driven, count: int) -> list[np.ndarray]:
    """Return positions of the joints around the first one."""
    rng = np.random.default_rng(8)
    home = loop.plant.position
    return [home + rng.uniform(-0.5, 0.5, len(home)) for _ in range(count)]


def placed(loop: Driven, pose: np.ndarray) -> None:
    """Bring the robot to a pose, and begin the law there."""
    loop.push = None
    loop.change(mode='computed_torque')
    loop.run(0.01)
    loop.follow(pose, 0.8)
    loop.run(1.1)
    loop.switch(TIP_MODE)


def in_frame(loop: Driven) -> tuple[np.ndarray, np.ndarray]:
    """Return the Jacobian of MuJoCo in the axes of the tip, angular rows first, and Phi."""
    turn, J = loop.plant.tip().rotation.T, jacobian(loop)
    J = np.vstack([turn @ J[3:], turn @ J[:3]])
    return J, J @ np.linalg.solve(loop.plant.mass_matrix(), J.T)


def way_from(loop: Driven, start: object) -> np.ndarray:
    """Return how far the tip is from a pose, in the axes of that pose, angular part first."""
    tip = loop.plant.tip()
    return np.concatenate([
        Rotation.from_matrix(start.rotation.T @ tip.rotation).as_rotvec(),
        start.rotation.T @ (tip.position - start.position)])


def pushed(loop: Driven, start: object, six: np.ndarray) -> None:
    """Push with a moment and a force that are given in the axes of a pose."""
    R = start.rotation
    loop.push = wrench_at_tip(loop, R @ six[3:], R @ six[:3])


@pytest.mark.sampled('robots', 1)
@pytest.mark.parametrize('name', ARMS)
def test_force_over_displacement_is_the_stiffness_of_each_axis(name: str) -> None:
    """In six directions at 20 poses: to 2 %, and other directions hardly move."""
    loop, worst, aside = tip_sprung(0.7, STIFF, rate=250.0, name=name), 0.0, 0.0
    for pose in some('simulations', random_poses(loop, 20), 2):
        placed(loop, pose)
        start = loop.plant.tip()
        for axis in range(6):
            six = np.zeros(6)
            six[axis] = 0.004 * STIFF[axis]  # 4 mm, 4 mrad
            pushed(loop, start, six)
            loop.run(1.6)
            assert loop.state == 'running', loop.fault
            way = way_from(loop, start)
            worst = max(worst, abs(six[axis] / way[axis] / STIFF[axis] - 1.0))
            aside = max(aside, np.abs(np.delete(way, axis)).max() / 0.004)
    print(f'{100.0 * worst:.3f} %, aside {100.0 * aside:.2f} %')
    assert worst < 0.02
    assert aside < 0.05


@pytest.mark.sampled('robots', 1)
@pytest.mark.parametrize('name', ARMS)
def test_friction_at_the_joints_is_a_dead_band_of_the_tip(name: str) -> None:
    """
    With friction F at the joints, what springs and a push leave over is at most F at each joint.

    Along one axis of the frame that is a dead band of min F_j / |J_j| over its stiffness.
    """
    friction = FRICTION[name]
    loop = tip_sprung(0.7, TIP_STIFFNESS, name=name, posture__stiffness=[0.0],
                      rotor_inertia=[0.1], plant={
                          'friction': friction.tolist(), 'hard_friction': True})
    start, rows = loop.plant.tip(), []
    for axis in some('simulations', range(6), 2):
        for share in (0.2, 20.0):  # of what friction holds by itself
            six, J = np.zeros(6), in_frame(loop)[0]
            six[axis] = share * (friction / np.abs(J[axis]).clip(1e-9)).min()
            six[axis] = min(six[axis], 0.02 * TIP_STIFFNESS[axis])
            before = way_from(loop, start)
            pushed(loop, start, six)
            loop.run(1.5)
            assert loop.state == 'running', loop.fault
            way = way_from(loop, start)
            left = in_frame(loop)[0].T @ (six - TIP_STIFFNESS * way)
            rows.append((np.abs(left) / friction).max())
            if share < 1.0 and not rows[1:]:
                assert np.abs((way - before) * TIP_STIFFNESS).max() < 0.05  # it does not move
    print(f'{min(rows):.2f} to {max(rows):.2f} of the friction')
    assert max(rows) < 1.05
    assert max(rows) > 0.3  # it does rub


@pytest.mark.sampled('robots', 2)
@pytest.mark.parametrize('mode', [TIP_MODE, 'operational_space'])
@pytest.mark.parametrize('name', ARMS)
def test_the_inertia_that_a_push_feels_is_that_of_the_robot(name: str, mode: str) -> None:
    """
    Nothing is shaped: right after a push F has begun the tip accelerates by Phi F.

    Gains that are times Lambda change what follows, not this: no law here knows the push.
    """
    loop, worst = tip_sprung(0.7, STIFF, name=name), 0.0
    loop.switch(mode)
    for axis in some('simulations', range(6), 2):
        loop.push = None
        loop.run(1.0)
        start, before, (J, Phi) = loop.plant.tip(), loop.plant.velocity, in_frame(loop)
        six = 5.0 * np.eye(6)[axis] * [0.1, 0.1, 0.1, 1.0, 1.0, 1.0]
        pushed(loop, start, six)
        loop.run(loop.period)  # the law has seen nothing of it
        found, expected = J @ (loop.plant.velocity - before) / loop.period, Phi @ six
        worst = max(worst, np.abs(found - expected).max() / np.abs(expected).max())
    print(f'{100.0 * worst:.2f} %')
    assert worst < 0.05


def sampled_ratio(w: float, ratio: float, period: float, step: float) -> float:
    """Return the ratio found of one mode whose spring and damper are sampled and held."""
    x, v, least = 1.0, 0.0, 1.0
    for _ in range(round(8.0 / w / period)):
        a = -w * w * x - 2.0 * ratio * w * v
        for _ in range(round(period / step)):
            v += step * a  # as MuJoCo
            x += step * v
        least = min(least, x)
    return ratio_of(least)


def ratio_of(overshoot: float) -> float:
    """Return z of a mode that is let go at 1 and gets to this number beyond 0."""
    decay = np.log(1.0 / -overshoot)
    return decay / np.hypot(np.pi, decay)


def shape_of(loop: Driven, number: int) -> tuple[float, np.ndarray]:
    """Return angular frequency and shape of a mode of MuJoCo's robot, 3 mm or 10 mrad at most."""
    squares, modes = eigh(np.diag(STIFF), np.linalg.inv(in_frame(loop)[1]))
    mode = modes[:, number]
    return np.sqrt(squares[number]), mode * 0.003 / np.abs(
        mode * [0.3, 0.3, 0.3, 1.0, 1.0, 1.0]).max()


def let_go(loop: Driven, w: float, mode: np.ndarray) -> float:
    """Deflect a mode by a push, end the push at once, and return the damping ratio."""
    start = loop.plant.tip()
    pushed(loop, start, STIFF * mode)
    loop.run(1.0)
    away, trace = way_from(loop, start), []
    loop.push = None
    loop.each = lambda _: trace.append(
        away @ (STIFF * way_from(loop, start)) / (away @ (STIFF * away)))
    loop.run(8.0 / w)
    loop.each = None
    return ratio_of(min(trace))


@pytest.mark.sampled('robots', 1)
@pytest.mark.parametrize('name, rate, more', [
    ('built-in', 1000.0, {}), ('ur5', 1000.0, {}),
    ('panda', 1000.0, {'torque_rate_limits': [900.0]}),  # as config/panda.yaml
    ('panda', 250.0, {'torque_rate_limits': [900.0]})])
def test_damping_ratio_is_the_same_in_every_pose(name: str, rate: float,
                                                 more: dict[str, object]) -> None:
    """
    A mode that is let go overshoots by exp(-pi z / sqrt(1 - z^2)): z to 10 %, at 20 poses.

    Modes are those of the mass matrix and the Jacobian of MuJoCo. What sampling changes is
    predicted by the loop of one mode, to 2 %.
    """
    loop, found, predicted, fastest = tip_sprung(0.7, STIFF, rate, name, **more), [], [], 0.0
    for k, pose in some('simulations', enumerate(random_poses(loop, 20)), 3):
        placed(loop, pose)
        w, mode = shape_of(loop, k % 6)
        fastest = max(fastest, w)
        found.append(let_go(loop, w, mode))
        predicted.append(sampled_ratio(w, 0.7, loop.period, loop.plant.options.step))
        assert loop.state == 'running', loop.fault
    off = np.abs(np.array(found) / predicted - 1.0).max()
    print(f'{min(found):.3f} to {max(found):.3f}, up to {fastest:.0f} rad/s; predicted '
          f'{min(predicted):.3f} to {max(predicted):.3f}, {100.0 * off:.2f} % off')
    assert off < 0.02
    assert 0.63 < min(found) and max(found) < 0.77


def test_damping_ratio_holds_as_far_as_the_torque_rate_does() -> None:
    """
    A Panda with the default 120 N.m/s at its wrist: up to D K x / Lambda, and not beyond it.

    That is the rate of the torque right after a push has ended; a limit below it delays the
    damper, and a fast mode then swings.
    """
    loop, rows = tip_sprung(0.7, STIFF, name='panda'), []
    rates = loop.controller.settings.torque_rates
    for k, pose in some('simulations', enumerate(random_poses(loop, 6)), 1):
        placed(loop, pose)
        w, mode = shape_of(loop, 3 + k % 3)
        most = (rates / np.abs(in_frame(loop)[0].T @ (2.0 * 0.7 * w * STIFF * mode))).min()
        within = let_go(loop, w, 0.9 * most * mode)
        loop.run(1.0)
        beyond = let_go(loop, w, 1.8 * most * mode)
        rows.append((within / sampled_ratio(w, 0.7, loop.period, 0.5e-3), beyond))
        print(f'{w:.0f} rad/s: up to {1e3 * most * np.abs(mode[:3]).max():.1f} mrad, '
              f'{1e3 * most * np.abs(mode[3:]).max():.2f} mm; {within:.3f}, then {beyond:.3f}')
        assert loop.state == 'running', loop.fault
    held, lost = np.array(rows).T
    assert np.abs(held - 1.0).max() < 0.02
    assert lost.max() < 0.6


@pytest.mark.sampled('robots', 1)
@pytest.mark.parametrize('name', ARMS)
def test_a_wall_is_touched_without_chatter(name: str) -> None:
    """At 0.2 m/s against a stiff plate: after 0.3 s it stays there, and K x presses."""
    loop = tip_sprung(name=name, plant={'plate_below': 0.03}, **{
        'task.linear_velocity': 0.2, 'task.linear_lead': 0.2, 'task.linear_error': 0.5})
    tip = loop.plant.tip()
    goal = tip.position - [0.0, 0.0, 0.05]
    loop.aim(goal, Rotation.from_matrix(tip.rotation).as_quat())
    loop.forget()
    loop.run(3.0)
    force = -np.array(loop.forces)[:, 2]
    touches = np.flatnonzero(np.diff((force > 0.0).astype(int)) == 1)
    speed = -np.diff(np.array(loop.tip)[:touches[0], 2])[-1] / loop.period
    axes = loop.plant.tip().rotation
    stiffness = axes @ np.diag(TIP_STIFFNESS[3:]) @ axes.T
    expected = (stiffness @ (goal - loop.plant.tip().position))[2]
    print(f'{speed:.3f} m/s; {len(touches)} touches, the last {touches[-1] - touches[0]} ms after '
          f'the first, peak {force.max():.1f} N, then {force[-1]:.2f} N of {-expected:.2f} N')
    assert loop.state == 'running', loop.fault
    assert speed > 0.2
    assert touches[-1] - touches[0] < 300
    assert force[-200:].std() < 0.02 * force[-1]
    assert force[-200:].mean() == pytest.approx(-expected, rel=0.05)


@pytest.mark.sampled('simulations', 1)
@pytest.mark.parametrize('power', [1.0, 0.0])
def test_energy_of_a_change_of_stiffness(power: float) -> None:
    """
    Stiffer by five while deflected by 3 cm and let go: energy rises by no more than power allows.

    Energy is that of the motion in MuJoCo and of springs of the commanded stiffness.
    """
    loop = tip_sprung(0.1, stiffness_power=power, **{'posture.stiffness': [0.0]})
    start = loop.plant.tip()
    pushed(loop, start, np.array([0.0, 0.0, 0.0, 0.0, 12.0, 0.0]))
    loop.run(3.0)
    springs, found = loop.controller.x.laws.springs, []

    def note(_: float) -> None:
        qd, e = loop.plant.velocity, way_from(loop, start)
        found.append((springs.energy, 0.5 * (qd @ loop.plant.mass_matrix() @ qd + e @ (
            springs.tip * e))))
    loop.push, loop.each = None, note
    loop.change(**{f'{TIP_MODE}.angular_stiffness': (5.0 * TIP_STIFFNESS[:3]).tolist(),
                   f'{TIP_MODE}.linear_stiffness': (5.0 * TIP_STIFFNESS[3:]).tolist()})
    loop.run(2.0)
    (put, energy), before = np.array(found).T, found[0][1]
    time = loop.period * np.arange(1, len(put) + 1)
    print(f'{before:.3f} J, at most {energy.max():.3f} J, put in {put[-1]:.3f} J in '
          f'{time[np.flatnonzero(put == put[-1])[0]]:.2f} s')
    assert loop.state == 'running', loop.fault
    np.testing.assert_allclose(springs.tip, 5.0 * TIP_STIFFNESS)
    assert (energy < 1.02 * (before + put)).all()
    if power:
        assert (put <= power * (time + loop.period)).all()
    else:
        assert energy.max() > 4.5 * before


def test_out_of_reach_and_back() -> None:
    """Pulled straight, and back through the singular pose: no step, no joint too fast."""
    loop = tip_sprung()
    start = loop.plant.tip()
    quaternion = Rotation.from_matrix(start.rotation).as_quat()
    wrist = start.position - WRIST * start.rotation[:, 2] - SHOULDER
    far = start.position + wrist * (1.08 * REACH / np.linalg.norm(wrist) - 1.0)
    laws, conditions, law = [], [], loop.controller.kernels['impedance']

    def note(_: float) -> None:
        laws.append(loop.controller.x.command.torque.wanted.copy())
        conditions.append(law.outputs['condition'][0])
    loop.each = note
    loop.aim(far, quaternion)
    loop.run(2.5)
    loop.aim(start.position, quaternion)
    loop.run(3.5)
    steps = np.abs(np.diff(laws, axis=0)) / loop.limit
    speed = np.abs(loop.qd) / loop.controller.settings.velocity_limits
    away = np.linalg.norm(way_from(loop, start)[3:])
    elbow = np.array(loop.q)[:, 3]
    print(f'elbow {elbow.min():.2f} to {elbow.max():.2f} rad, condition {max(conditions):.1e}; '
          f'step {100 * steps.max():.2f} %, speed {speed.max():.2f} of the limit, '
          f'{1e3 * away:.2f} mm from the start')
    assert loop.state == 'running', loop.fault
    assert elbow.max() > 0.0 and max(conditions) > 10.0 * conditions[0]  # it was there
    assert steps.max() < 0.01
    assert speed.max() < 0.9
    assert away < 1e-3


#: law, and the condition number up to which Lambda is exact; 1e12: everywhere
STRETCHES = [('operational_space', 1e3), ('operational_space', 1e12), (TIP_MODE, 1e3)]


class Stretch(NamedTuple):
    """What was largest while an arm was stretched out and came back."""

    condition: float
    torque: float  # share of the limits
    step: float  # of the torque that the law wants, where its reference has none; the same share
    speed: float  # share of the limits
    restless: float  # rad/s, in the last second of standing out of reach
    away: float  # m from the start in the end


#: bodies at shoulder and wrist, and m between them that are too far: links of 0.61 m and 0.57 m,
#: of 0.425 m and 0.392 m, of 0.327 m and 0.393 m
TOO_FAR = {'ur10': ('upper_arm_link', 'wrist_1_link', 1.3),
           'ur5': ('upper_arm_link', 'wrist_1_link', 0.92),
           'panda': ('panda_link2', 'panda_link5', 0.82)}


def stretched(mode: str, most: float, rate: float = 500.0, name: str = 'ur10') -> Stretch:
    """Pull an arm straight by a target out of its reach, and back."""
    loop = Driven(name, rate=rate, mode=mode, **{
        'task.max_condition': most, 'task.linear_error': 1.0, 'rotor_inertia': [0.1]})
    assert not loop.controller.settings.refusals()
    loop.start(1.6)
    body, start, rows = loop.plant.data.body, loop.plant.tip(), []
    quaternion = Rotation.from_matrix(start.rotation).as_quat()
    shoulder, wrist, length = TOO_FAR[name]
    out = body(wrist).xpos - body(shoulder).xpos
    kernel = loop.controller.kernels['impedance' if mode == TIP_MODE else 'task']

    def note(_: float) -> None:
        pushes = kernel.inputs.get('acceleration_ref', np.zeros(6))
        rows.append((loop.controller.x.command.torque.wanted.copy(), pushes.copy(),
                     kernel.outputs['condition'][0]))
    loop.each = note
    loop.forget()
    loop.sent.clear()
    far = start.position + out * (length / np.linalg.norm(out) - 1.0)
    loop.aim(far, quaternion)
    loop.run(4.0)
    standing = np.abs(loop.qd[-round(rate):]).max()
    loop.aim(start.position, quaternion)
    loop.run(5.0)
    assert loop.state == 'running', loop.fault
    laws, pushes, conditions = map(np.array, zip(*rows))
    assert np.isfinite(laws).all() and np.isfinite(loop.sent).all()
    settings, sent = loop.controller.settings, np.array(loop.sent)
    assert (np.abs(np.diff(sent, axis=0)) <= 1.001 * loop.period * settings.torque_rates).all()
    even = np.abs(np.diff(pushes, axis=0)).max(axis=1) < 0.5  # else the reference begins or ends
    assert even.mean() > 0.9
    return Stretch(
        conditions.max(), (np.abs(sent) / loop.limit).max(),
        (np.abs(np.diff(laws, axis=0))[even] / loop.limit).max(),
        (np.abs(loop.qd) / settings.velocity_limits).max(), standing,
        np.linalg.norm(way_from(loop, start)[3:]))


@pytest.mark.sampled('robots', 1)
@pytest.mark.parametrize('name', ['panda', 'ur5'])
def test_other_arms_through_their_singular_pose(name: str) -> None:
    """Pulled straight, and back: no step of a torque, limits of torque and speed are kept."""
    x = stretched(TIP_MODE, 1e3, name=name)
    print(f'condition {x.condition:.0e}, torque {x.torque:.2f}, step {100.0 * x.step:.2f} %, '
          f'speed {x.speed:.2f}, {x.restless:.3f} rad/s, {1e3 * x.away:.3f} mm from the start')
    assert x.condition > 5e3  # it was there: conditioning begins at 1e3
    assert x.torque <= 1.0 and x.speed < 0.9 and x.away < 1e-3
    assert x.step < 0.01


def test_an_arm_that_is_stretched_out_with_and_without_conditioning() -> None:
    """A UR10 through its singular pose: no step, and limits of torque and speed are kept."""
    found = {}
    for mode, most in [*STRETCHES, *some('simulations', [(TIP_MODE, 1e12)], 0)]:
        x = found[mode, most] = stretched(mode, most)
        print(f'| `{mode}` | {most:.0e} | {x.condition:.0e} | {x.torque:.2f} | '
              f'{100.0 * x.step:.1f} % | {x.speed:.2f} | {x.restless:.4f} rad/s | '
              f'{1e3 * x.away:.3f} mm')
        assert x.condition > 1e6  # it was there
        assert x.torque <= 1.0 and x.speed < 0.9 and x.away < 1e-4
        assert x.step < {('operational_space', 1e12): 1.0, ('operational_space', 1e3): 0.04}.get(
            (mode, most), 0.01)
    bounded, exact = (found['operational_space', most] for most in (1e3, 1e12))
    assert bounded.restless < 1e-3 and exact.restless > 0.1  # to and fro for ever
    assert bounded.step < 0.2 * exact.step
    assert found[TIP_MODE, 1e3].restless < 0.5
