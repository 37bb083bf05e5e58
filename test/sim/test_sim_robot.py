# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The simulated robot against analytic motions with friction, brakes, stops and pushes."""

import math
from pathlib import Path

import numpy as np
import pytest
from rbd_ros import Dynamics, load_urdf
from rbd_ros.errors import NonFiniteError, SettingError, ShapeError
from rbd_ros.joints import Prismatic, Revolute
from rbd_ros.model.builder import JointData, ModelBuilder
from rbd_ros.sim import Physics, SimulatedRobot
from rbd_ros.sim.steps.engine import PlainEngine
from rbd_ros.spatial import RigidInertia, Sym3, Vec3

ARM = Path(__file__).parents[2] / 'urdf' / 'seven_joint_arm.urdf'
H = 1e-3


def slider(mass=2.0, **data):
    """Return a mass on a vertical slide."""
    inertia = RigidInertia.from_com(mass, Vec3(0.0, 0.0, 0.0), Sym3(0.1, 0.0, 0.0, 0.1, 0.0, 0.1))
    return (ModelBuilder('slider')
            .add_body('mass', 'base', Prismatic((0.0, 0.0, 1.0)), inertia=inertia,
                      data=JointData(**data)).build())


def simulated(model, **changes):
    """Return a simulated robot with compiled dynamics, and the dynamics."""
    return SimulatedRobot(model, physics=Physics.of(model, **changes)), Dynamics(model)


@pytest.fixture(scope='module')
def arm():
    """Return the built-in arm and its dynamics."""
    model = load_urdf(ARM)
    return model, Dynamics(model)


def armed(arm, **changes):
    """Return the built-in arm as a simulated robot."""
    return SimulatedRobot(arm[0], physics=Physics.of(arm[0], **changes))


BENT = np.array([0.3, 0.5, -0.4, -1.2, 0.6, 0.7, 0.9])


def test_one_number_for_all_joints(arm):
    """Stops, friction and effort limits given as Python numbers are those of every joint."""
    found = Physics.of(arm[0], lower=-0.5, upper=False, friction=1, effort_limit=20.0)
    for name, value in (('lower', -0.5), ('upper', 0.0), ('friction', 1.0),
                        ('effort_limit', 20.0)):
        np.testing.assert_array_equal(getattr(found, name), np.full(7, value))
    robot = SimulatedRobot(arm[0], physics=found)
    robot.step(H)
    for bad, text in (({'lower': 1.0, 'upper': 0.5}, 'lower stop of joint 0 is 1.0'),
                      ({'lower': [0.0, 1.0]}, 'lower has 2 entries'),
                      ({'upper': math.nan}, r'upper\[0\] is nan; it must be a number')):
        with pytest.raises(SettingError, match=text):
            Physics.of(arm[0], **bad)


def test_damping_inside_rk4_keeps_order_four():
    """A damped fall follows v = v_end (1 - exp(-d t / m)) to 1e-12 at 1 ms."""
    robot, _ = simulated(slider(damping=4.0))
    for _ in range(300):
        robot.step(H)
    v_end, rate = -2.0 * 9.81 / 4.0, 2.0
    assert robot.v[0] == pytest.approx(v_end * (1.0 - math.exp(-rate * 0.3)), abs=1e-12)
    fallen = v_end * (0.3 - (1.0 - math.exp(-rate * 0.3)) / rate)
    assert robot.q[0] == pytest.approx(fallen, abs=1e-12)


@pytest.mark.parametrize('integrator', ['rk4', 'semi_implicit'])
def test_stiff_damping_is_stable(integrator):
    """Damping a hundred times faster than the step ends at terminal velocity, not in a blow-up."""
    robot, _ = simulated(slider(mass=1e-3, damping=100.0), integrator=integrator)
    robot.place([0.0], [5.0])
    for _ in range(100):
        robot.step(H)
    assert robot.v[0] == pytest.approx(-1e-3 * 9.81 / 100.0, rel=1e-9)


@pytest.mark.parametrize('integrator', ['rk4', 'semi_implicit'])
def test_stiction_holds_below_the_limit(integrator):
    """A weight below the dry friction does not move at all, to the last bit."""
    robot, _ = simulated(slider(friction=20.0), integrator=integrator)
    robot.place([0.1])
    for _ in range(500):
        robot.step(H)
    assert robot.q[0] == 0.1 and robot.v[0] == 0.0
    assert robot.contact_torque[0] == pytest.approx(2.0 * 9.81, abs=1e-10)


@pytest.mark.parametrize('integrator', ['rk4', 'semi_implicit'])
def test_sliding_above_the_limit(integrator):
    """A weight above the dry friction falls with a = g - c / m."""
    robot, _ = simulated(slider(friction=10.0), integrator=integrator)
    for _ in range(500):
        robot.step(H)
    assert robot.v[0] == pytest.approx(-0.5 * (9.81 - 10.0 / 2.0), abs=1e-12)


def test_sliding_comes_to_rest_and_stays():
    """Kicked upward, the mass stops after v^2 / 2 (g + c / m) and then sticks for good."""
    robot, _ = simulated(slider(friction=30.0))
    robot.place([0.0], [1.0])
    for _ in range(1000):
        robot.step(H)
    assert robot.v[0] == 0.0
    # The step in which it comes to rest is resolved to the step: v h / 2 at the last velocity.
    assert robot.q[0] == pytest.approx(0.5 / (9.81 + 15.0), abs=2e-5)
    before = robot.q.copy()
    robot.step(H)
    assert (robot.q == before).all()


def test_one_joint_breaks_loose_while_others_stick(arm):
    """A torque above the friction of one joint moves that joint, and the held ones stay put."""
    robot = armed(arm, friction=[50.0, 50.0, 50.0, 50.0, 50.0, 50.0, 0.3])
    robot.place(BENT)
    robot.command(arm[1].gravity(BENT) + [0, 0, 0, 0, 0, 0, 1.0])
    for _ in range(200):
        robot.step(H)
    assert (robot.q[:6] == BENT[:6]).all()
    assert robot.q[6] - BENT[6] > 0.01


def test_brakes_hold_and_feel_gravity(arm):
    """Under brakes nothing moves, whatever is commanded, and the joints carry g(q)."""
    robot = armed(arm)
    robot.place(BENT)
    robot.brake()
    robot.command(np.full(7, 20.0))
    for _ in range(10):
        robot.step(H)
    assert (robot.q == BENT).all() and not robot.v.any()
    assert not robot.motor_torque.any()
    assert robot.joint_torque == pytest.approx(arm[1].gravity(BENT), abs=1e-10)


def test_brakes_stop_a_moving_arm(arm):
    """Brakes that close on a moving arm stop it within a step, also part of it."""
    robot = armed(arm)
    robot.place(BENT, np.ones(7))
    robot.brake([True] * 3 + [False] * 4)
    robot.step(H)
    assert not robot.v[:3].any() and robot.v[3:].any()
    robot.brake()
    robot.step(H)
    assert not robot.v.any()


def test_torque_limits(arm):
    """A command beyond the limit acts as the limit."""
    robot = armed(arm)
    robot.command(np.full(7, 1e4))
    robot.step(H)
    assert (robot.motor_torque == arm[0].effort_limit).all()
    robot.command(np.full(7, -1e4))
    robot.step(H)
    assert (robot.motor_torque == -np.array(arm[0].effort_limit)).all()


@pytest.mark.parametrize('integrator', ['rk4', 'semi_implicit'])
def test_stop_without_bounce(integrator):
    """A mass that falls on its stop lands on it and rests there, within 1e-9 m."""
    robot, _ = simulated(slider(lower=-0.2, upper=1.0), integrator=integrator)
    lowest = 0.0
    for _ in range(1000):
        robot.step(H)
        lowest = min(lowest, robot.q[0])
    assert lowest >= -0.2 - 1e-9
    assert robot.q[0] == pytest.approx(-0.2, abs=1e-9)
    assert robot.contact_torque[0] == pytest.approx(2.0 * 9.81, abs=1e-6)


def test_bounce_height():
    """Restitution e brings the mass back to e^2 of the height it fell from."""
    robot, _ = simulated(slider(lower=-0.5, upper=1.0), restitution=0.6)
    heights = []
    for _ in range(500):
        robot.step(2.5e-4)
        heights.append(robot.q[0])
    for _ in range(1500):
        robot.step(2.5e-4)
        heights.append(robot.q[0])
    impact = int(np.argmin(heights))
    top = max(heights[impact:]) + 0.5
    # The bounce happens up to one step before the stop, at v h of height: 0.8 mm of 180 mm.
    assert top == pytest.approx(0.36 * 0.5, abs=2e-3)
    assert min(heights) >= -0.5 - 1e-9


def test_bouncing_ends():
    """A bouncing mass comes to rest on its stop in finite time."""
    robot, _ = simulated(slider(lower=-0.1, upper=1.0), restitution=0.5)
    for _ in range(3000):
        robot.step(H)
    assert robot.q[0] == pytest.approx(-0.1, abs=1e-9)
    assert abs(robot.v[0]) < 1e-9


def test_arm_driven_into_all_stops_is_stable(arm):
    """Full torque into every stop at 1 kHz ends at rest there, without a joint beyond it."""
    robot = armed(arm)
    model = arm[0]
    robot.place(BENT)
    robot.command(np.array(model.effort_limit) * [1, -1, 1, 1, -1, -1, 1])
    beyond = 0.0
    for _ in range(3000):
        robot.step(H)
        beyond = max(beyond, np.max(np.maximum(robot.q - model.upper, model.lower - robot.q)))
    assert beyond < 1e-9
    assert np.abs(robot.v).max() < 1e-9


def test_start_beyond_a_stop_is_brought_back_gently():
    """A joint placed beyond its stop returns at the recovery speed, not in one violent step."""
    robot, _ = simulated(slider(lower=-0.2, upper=0.2))
    robot.place([-0.7])
    speeds = []
    for _ in range(1500):
        robot.step(H)
        speeds.append(robot.v[0])
    assert max(speeds) == pytest.approx(0.5, abs=1e-12)         # m/s, unless said otherwise
    assert robot.q[0] == pytest.approx(-0.2, abs=1e-6)


def test_push_gives_the_acceleration_of_a_force(arm):
    """A wrench on the last body acts as J' f: it gives the velocity of the first step."""
    model, dynamics = arm
    robot = armed(arm, friction=0.0, damping=0.0, integrator='semi_implicit')
    robot.place(BENT)
    tau = dynamics.gravity(BENT)
    robot.command(tau)
    frame = model.body_names[-1]
    wrench = np.array([0.1, -0.2, 0.3, 5.0, 6.0, -7.0])
    T = dynamics.pose(BENT, frame)
    f_ext = np.zeros((7, 6))
    force = T[:3, :3] @ wrench[3:]
    f_ext[-1] = [*(T[:3, :3] @ wrench[:3] + np.cross(T[:3, 3], force)), *force]
    robot.push(f_ext)
    robot.step(H)
    J = dynamics.jacobian(BENT, frame)
    expected = H * np.linalg.solve(dynamics.mass_matrix(BENT), J.T @ wrench)
    assert robot.v == pytest.approx(expected, abs=1e-12)
    robot.push(None)
    robot.place(BENT)
    robot.command(tau)
    robot.step(H)
    assert np.abs(robot.v).max() < 1e-12


def test_heavier_than_described(arm):
    """Masses scaled by s move under s g(q) as the described robot does under g(q)."""
    robot = armed(arm, friction=0.0, damping=0.0, mass_scale=1.2)
    robot.place(BENT)
    robot.command(1.2 * arm[1].gravity(BENT))
    robot.step(H)
    assert np.abs(robot.v).max() < 1e-12
    robot.place(BENT)
    robot.command(arm[1].gravity(BENT))
    robot.step(H)
    expected = -H * np.linalg.solve(arm[1].mass_matrix(BENT), 0.2 / 1.2 * arm[1].gravity(BENT))
    assert robot.v == pytest.approx(expected, rel=1e-2)      # one step at order h
    # friction brakes the true mass: 3 kg for 2, lying down
    block, _ = simulated(slider().with_gravity([0.0, 0.0, 0.0]), friction=6.0, mass_scale=1.5)
    block.place([0.0], [1.0])
    for _ in range(100):
        block.step(H)
    assert block.v[0] == pytest.approx(1.0 - 6.0 / 3.0 * 100 * H, abs=1e-12)


@pytest.mark.parametrize('integrator', ['rk4', 'semi_implicit'])
def test_any_forward_dynamics_gives_the_same_motion(arm, integrator):
    """Around given dynamics, with its mass matrix or without, the robot moves as compiled."""
    model, dynamics = arm
    physics = Physics.of(model, integrator=integrator)
    states = []
    for functions in ({}, {'forward_dynamics': dynamics.forward_dynamics},
                      {'forward_dynamics': dynamics.forward_dynamics,
                       'mass_matrix': dynamics.mass_matrix}):
        robot = SimulatedRobot(model, physics=physics, **functions)
        robot.place(BENT, np.full(7, 0.3))
        robot.push(np.ones((7, 6)))
        for _ in range(40):
            robot.step(H)
        states.append(np.concatenate([robot.q, robot.v]))
    assert states[0] == pytest.approx(states[2], abs=1e-10)
    # The inverse of a matrix found by differences loses the digits of its condition number.
    assert states[0] == pytest.approx(states[1], abs=1e-7)


def test_rotor_inertia_slows_a_joint():
    """A reflected rotor inertia adds to the mass that a force must accelerate."""
    robot, _ = simulated(slider(mass=2.0, rotor_inertia=3.0))
    robot.command([50.0])
    robot.step(H)
    assert robot.v[0] == pytest.approx(H * (50.0 - 2.0 * 9.81) / 5.0, abs=1e-12)


def test_reset_returns_to_the_placed_state(arm):
    """Reset brings back the placed state without command or push, bit for bit."""
    robot = armed(arm)
    robot.place(BENT, np.full(7, 0.1))
    robot.command(np.full(7, 3.0))
    robot.push(np.ones((7, 6)))
    for _ in range(5):
        robot.step(H)
    moved = robot.q.copy()
    robot.reset()
    assert (robot.q == BENT).all() and (robot.v == 0.1).all()
    assert not robot.motor_torque.any()
    robot.command(np.full(7, 3.0))
    robot.push(np.ones((7, 6)))
    for _ in range(5):
        robot.step(H)
    assert (robot.q == moved).all()


def test_time_is_the_sum_of_the_steps(arm):
    """Whatever their length, since the last reset; steps that were taken elsewhere count too."""
    robot = armed(arm)
    for h in (H, 0.0, 2.0 * H):
        robot.step(h)
    assert robot.time == pytest.approx(3.0 * H, abs=1e-15)
    robot.moved(0.5)
    robot.step(H)
    assert robot.time == pytest.approx(0.5 + H, abs=1e-15)
    robot.reset()
    assert robot.time == 0.0


def test_divergence_is_reported():
    """A state that stops being finite ends in an error that says what to do."""
    model = (ModelBuilder('rod').add_body(
        'rod', 'base', Revolute((0.0, 1.0, 0.0)),
        inertia=RigidInertia.from_com(1.0, Vec3(0, 0, 1.0), Sym3(0, 0, 0, 0, 0, 0))).build())
    robot = SimulatedRobot(model, lambda q, v, tau, f: np.full(1, np.nan))
    with pytest.raises(NonFiniteError, match='"rod" has diverged.*shorter step'):
        robot.step(H)


@pytest.mark.parametrize(('wrong', 'one_by_one', 'unresolved'), [
    (0, 0, 0), (1, 0, 0), (8, 0, 0), (12, 4, 0), (16, 8, 0), (17, 8, 1), (99, 8, 1)])
def test_steps_whose_guesses_stay_wrong_are_counted(wrong, one_by_one, unresolved, monkeypatch):
    """Sixteen better guesses are tried, the last eight one joint at a time, then it is said."""
    step, modes = PlainEngine.__call__, []

    def reluctant(engine):
        step(engine)
        modes.append(engine.inputs['setting'][4])
        engine.outputs['status'][0] = float(len(modes) <= wrong)
    monkeypatch.setattr(PlainEngine, '__call__', reluctant)
    robot = SimulatedRobot(slider(), lambda q, v, tau, f: 0.5 * tau - 9.81)
    robot.step(H)
    assert modes == [0.0] * (1 + min(wrong, 8)) + [1.0] * one_by_one
    assert robot.unresolved == unresolved and robot.unsolved_contacts == 0
    assert robot.v[0] == pytest.approx(-9.81 * H)


def test_messages(arm):
    """Wrong arguments are refused with their name and what is needed."""
    robot = armed(arm)
    with pytest.raises(ShapeError, match=r'torque has shape \(3,\), "seven_joint_arm" needs'):
        robot.command(np.zeros(3))
    with pytest.raises(NonFiniteError, match=r'torque\[\d\] is .*; every entry must be finite'):
        robot.command(np.full(7, np.nan))
    with pytest.raises(ShapeError, match=r'f_ext has shape \(6,\)'):
        robot.push(np.zeros(6))
    with pytest.raises(SettingError, match='friction has 3 entries; give one .* or 7'):
        Physics.of(arm[0], friction=[1.0, 2.0, 3.0])
    with pytest.raises(SettingError, match=r'damping\[1\] is -1.0; it must be zero or more'):
        Physics.of(arm[0], damping=[0, -1.0, 0, 0, 0, 0, 0])
    with pytest.raises(SettingError, match='restitution is 2.0; it must be between 0.0 and 1.0'):
        Physics.of(arm[0], restitution=2.0)
    with pytest.raises(SettingError, match='the integrator is "rk4"; it cannot be changed'):
        robot.physics = Physics.of(arm[0], integrator='semi_implicit')
    with pytest.raises(SettingError, match='integrator is "euler"; it must be one of rk4'):
        Physics.of(arm[0], integrator='euler')


@pytest.mark.parametrize('name', ['friction', 'damping'])
@pytest.mark.parametrize('value', [np.inf, -np.inf, np.nan, -1.0])
def test_impossible_friction_is_refused(name, value):
    """Infinite friction is a brake, not friction: no step could be computed with it."""
    model = load_urdf(ARM)
    with pytest.raises(SettingError, match=name):
        Physics.of(model, **{name: np.array([0.1, value, *[0.1] * 5])})
