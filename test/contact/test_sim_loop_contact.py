# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""A mechanism with a closed loop that falls on the floor."""

import numpy as np
import pytest
from rbd_ros import Dynamics, load_urdf
from rbd_ros.sim import read_balls, read_scene, SimulatedRobot, Surface, World
from rbd_ros.sim.steps.loop_engine import LoopEngine

#: m: the cranks, how high they hang, the ball at the bar, and the floor
LENGTH, HEIGHT, RADIUS, FLOOR = 0.5, 0.6, 0.05, 0.2

#: Two parallel cranks, and the bar that joins their ends; at zero the cranks hang down.
PARALLELOGRAM = f"""
<robot name="parallelogram">
  <link name="base"/>
  <link name="left"><inertial><origin xyz="0 0 -0.25"/><mass value="1"/>
    <inertia ixx="0.02" iyy="0.02" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="right"><inertial><origin xyz="0 0 -0.25"/><mass value="2"/>
    <inertia ixx="0.04" iyy="0.04" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="bar"><inertial><origin xyz="0.2 0 0"/><mass value="1.5"/>
    <inertia ixx="0.001" iyy="0.03" izz="0.03" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="middle"/>
  <joint name="crank" type="continuous"><parent link="base"/><child link="left"/>
    <origin xyz="0 0 {HEIGHT}"/><axis xyz="0 1 0"/></joint>
  <joint name="rocker" type="continuous"><parent link="base"/><child link="right"/>
    <origin xyz="0.4 0 {HEIGHT}"/><axis xyz="0 1 0"/></joint>
  <joint name="pin" type="continuous"><parent link="left"/><child link="bar"/>
    <origin xyz="0 0 -{LENGTH}"/><axis xyz="0 1 0"/></joint>
  <joint name="ball" type="fixed"><parent link="bar"/><child link="middle"/>
    <origin xyz="0.2 0 0"/></joint>
  <loop_joint name="closing" type="revolute">
    <predecessor link="bar"><origin xyz="0.4 0 0"/></predecessor>
    <successor link="right"><origin xyz="0 0 -{LENGTH}"/></successor>
    <axis xyz="0 1 0"/></loop_joint>
</robot>
"""
SCENE = f'{{floor: {FLOOR}, balls: {{middle: {RADIUS}}}}}'


def dropped(**surface):
    """Return the mechanism one second after it was let go, and its energies meanwhile."""
    model = load_urdf(PARALLELOGRAM, on_warning=lambda text: None)
    world = World('rigid', read_balls(SCENE, model), read_scene(SCENE), Surface(**surface))
    robot, dynamics = SimulatedRobot(model, world=world), Dynamics(model)
    robot.place([1.3, -1.3, 1.3])          # crank, pin, rocker
    energies = []
    for _ in range(1000):
        robot.step(1e-3)
        energies.append(dynamics.kinetic_energy(robot.q, robot.v)
                        + dynamics.potential_energy(robot.q))
    return robot, dynamics, np.array(energies)


def test_floor_catches_a_closed_loop():
    """It rests where the ball touches; along its one freedom the floor carries the weight."""
    robot, dynamics, energies = dropped(friction=0.0)
    angle = np.arccos((HEIGHT - FLOOR - RADIUS) / LENGTH)
    np.testing.assert_allclose(robot.q, [angle, -angle, angle], atol=1e-4)
    assert np.abs(robot.v).max() < 1e-6
    assert np.abs(dynamics.loop_error(robot.q)).max() < 1e-9
    (touch,) = robot.contact_forces
    assert touch.obstacle == 'floor' and robot.model.body_names[touch.body] == 'bar'
    # Turned by one radian, the three centres of mass rise by their share of L sin(angle), and
    # the ball by all of it: no statics of the loop is needed.
    weight = 9.81 * (0.5 * 1.0 + 0.5 * 2.0 + 1.5)
    assert touch.force == pytest.approx([0.0, 0.0, weight], rel=1e-3, abs=1e-6)
    # Steps near a contact are of first order.
    assert energies.max() < energies[0] + 1e-4 * (energies[0] - energies[-1])


def test_bounce_of_a_closed_loop():
    """With restitution 0.5 a quarter of the energy above the floor comes back."""
    _, _, energies = dropped(friction=0.0, restitution=0.5)
    angle = np.arccos((HEIGHT - FLOOR - RADIUS) / LENGTH)
    drop = 9.81 * 3.0 * LENGTH * (np.cos(angle) - np.cos(1.3))
    after = energies[np.argmax(energies < energies[0] - 0.1 * drop) + 5]
    assert energies[0] - after == pytest.approx(0.75 * drop, rel=0.02)


# --- soft -----------------------------------------------------------------------------------

STIFFNESS, DAMPING = 2e4, 200.0

#: kg at the end of a crank that weighs the same along the loop, and kg.m^2 about its hinge.
WEIGHT = 0.5 * 1.0 + 0.5 * 2.0 + 1.5
INERTIA = (0.02 + 1.0 * 0.25 ** 2) + (0.04 + 2.0 * 0.25 ** 2) + 1.5 * LENGTH ** 2


@pytest.fixture(scope='module')
def soft():
    """Return the mechanism over a soft floor, compiled."""
    model = load_urdf(PARALLELOGRAM, on_warning=lambda text: None)
    surface = Surface(stiffness=STIFFNESS, damping=DAMPING, friction=0.0)
    return SimulatedRobot(model, world=World(
        'soft', read_balls(SCENE, model), read_scene(SCENE), surface))


def depth(angle):
    """Return how deep the ball is in the floor."""
    return FLOOR + RADIUS - HEIGHT + LENGTH * np.cos(angle)


def pendulum(angle, rate):
    """Return the acceleration of the mechanism by hand: one coordinate, no loop."""
    d = depth(angle)
    push = max(0.0, STIFFNESS * d - DAMPING * LENGTH * np.sin(angle) * rate) if d > 0.0 else 0.0
    return LENGTH * np.sin(angle) * (push - 9.81 * WEIGHT) / INERTIA


def test_soft_floor_under_a_closed_loop(soft):
    """
    It meets the floor, dips and comes to rest as its one coordinate does, written by hand.

    Kinetic, potential and elastic energy together never grow: the loop takes none of them.
    """
    soft.place([1.3, -1.3, 1.3])
    dynamics, h = Dynamics(soft.model), 2e-4
    by_hand, angles, energies = [(1.3, 0.0)], [1.3], []
    for _ in range(2500):
        soft.step(h)
        angles.append(soft.q[0])
        elastic = 0.5 * STIFFNESS * max(0.0, depth(soft.q[0])) ** 2 * bool(soft.contact_forces)
        energies.append(dynamics.kinetic_energy(soft.q, soft.v)
                        + dynamics.potential_energy(soft.q) + elastic)
        angle, rate = by_hand[-1]
        for _ in range(4):
            rate += 0.25 * h * pendulum(angle, rate)
            angle += 0.25 * h * rate
        by_hand.append((angle, rate))
    touched = int(np.argmax(depth(np.array(angles)) > 0.0))
    lowest = int(np.argmin(angles))
    assert 0 < touched < lowest and depth(angles[lowest]) > 5e-3
    np.testing.assert_allclose(angles[:lowest + 50], np.array(by_hand)[:lowest + 50, 0], atol=1e-3)
    assert max(np.diff(energies)) < 2e-3 and energies[-1] < energies[0] - 5.0
    for _ in range(1500):
        soft.step(1e-3)
    (touch,) = soft.contact_forces
    # Statics by virtual work: see above. The dent is that of the spring.
    assert touch.force == pytest.approx([0.0, 0.0, 9.81 * WEIGHT], rel=1e-6, abs=1e-9)
    assert depth(soft.q[0]) == pytest.approx(9.81 * WEIGHT / STIFFNESS, rel=1e-5)
    assert np.abs(dynamics.loop_error(soft.q)).max() < 1e-9 and np.abs(soft.v).max() < 1e-6


def test_soft_step_in_numpy_is_that_of_the_kernel(soft, monkeypatch):
    """Where the constraints are singular, the step is taken in NumPy: with the same contacts."""
    def falls():
        soft.place([1.0, -1.0, 1.0])
        while not soft.contact_forces:
            soft.step(1e-3)

    def steps():
        for _ in range(2):                  # the second one begins with the dents of the first
            soft.step(1e-3)
            (touch,) = soft.contact_forces
            yield np.concatenate([soft.q, soft.v, touch.point, touch.force])
    falls()
    expected = list(steps())
    falls()
    monkeypatch.setattr(LoopEngine, '__call__', LoopEngine.step_in_numpy)
    assert expected[0][-1] > 10.0
    np.testing.assert_allclose(list(steps()), expected, rtol=1e-6, atol=1e-9)
