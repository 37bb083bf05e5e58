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

"""A mechanism with a closed loop that falls on the floor."""

import numpy as np
import pytest
from rbd_ros import Dynamics, load_urdf
from rbd_ros.errors import LoopError
from rbd_ros.sim import read_balls, read_scene, SimulatedRobot, Surface, World

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


def test_soft_contact_of_a_closed_loop_is_refused():
    """The message names the loop, and what to do."""
    model = load_urdf(PARALLELOGRAM, on_warning=lambda text: None)
    world = World('soft', read_balls(SCENE, model), read_scene(SCENE))
    with pytest.raises(LoopError, match='loops .*"closing".*use rigid contact, or none'):
        SimulatedRobot(model, world=world)
