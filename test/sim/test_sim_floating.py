# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""A simulated robot with a floating base: where it starts, what holds it, how it is read."""

from importlib.metadata import files

from linted import ROOT
import numpy as np
import pytest
from rbd_ros import load_urdf
from rbd_ros.errors import RbdError, SettingError
from rbd_ros.model.urdf.resources import find_resource
from rbd_ros.sim import (
    Coordinates, Imperfections, read_balls, Schedule, Sensors, SETTINGS, Settings, SimulatedRobot,
    Simulation)
from scipy.spatial.transform import Rotation
import yaml

MS = 1_000_000

#: A trunk with one leg whose shape is a mesh that nobody has.
HOPPER = """
<robot name="hopper">
  <link name="trunk"><inertial><mass value="2"/>
    <inertia ixx="0.02" iyy="0.03" izz="0.04" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="leg"><inertial><origin xyz="0 0 -0.2"/><mass value="0.5"/>
    <inertia ixx="0.004" iyy="0.004" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><geometry><mesh filename="no_such_leg.stl"/></geometry></collision></link>
  <link name="foot"/>
  <joint name="hip" type="revolute"><parent link="trunk"/><child link="leg"/>
    <axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="20" velocity="9"/></joint>
  <joint name="ankle" type="fixed"><parent link="leg"/><child link="foot"/>
    <origin xyz="0 0 -0.4"/></joint>
</robot>
"""
SCENE = '{floor: 0.1, balls: {foot: 0.03}}'


@pytest.fixture(scope='module')
def model():
    """Return the hopper with a free trunk."""
    return load_urdf(HOPPER, floating_base=True)


@pytest.fixture(scope='module')
def robot(model):
    """Return it in the air, where nothing is to be touched."""
    return SimulatedRobot(model)


def simulation(robot, imperfections=None, **schedule):
    """Return a simulation of the hopper at height 1, its hip at 0.3 rad."""
    robot.place([0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.3])
    return Simulation(robot, Sensors(robot, imperfections or Imperfections()), ['hip'],
                      Schedule(period_ns=MS, **schedule))


def step(sim, periods):
    """Advance a simulation; return the last reading."""
    sim.pause(True)
    return sim.step(periods)


def test_base_is_held_until_the_first_command_then_falls(robot):
    """On its stand nothing moves; then the centre of mass falls as any body does."""
    sim = simulation(robot)
    held = step(sim, 100)
    assert held.base.tolist() == [0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, *[0.0] * 6]
    sim.command([0.0])
    sample = step(sim, 200)
    x, z = sample.base[0], sample.base[2]
    turned = Rotation.from_quat(sample.base[3:7])
    leg = turned * Rotation.from_euler('y', sample.position[0])
    center = 0.8 * np.array([x, 0.0, z]) + 0.2 * (
        np.array([x, 0.0, z]) + leg.apply([0.0, 0.0, -0.2]))
    before = np.array([0.0, 0.0, 1.0]) + 0.2 * Rotation.from_euler('y', 0.3).apply(
        [0.0, 0.0, -0.2])
    fallen = [0.0, 0.0, -0.5 * 9.81 * 0.2**2]
    np.testing.assert_allclose(center - before, fallen, atol=1e-6)
    assert sample.effort.shape == (1,) and sim.sensors.names == ('hip',)


def test_velocity_is_that_of_the_base_in_its_own_coordinates(robot):
    """Angular first; the rate of the pose between two readings is the velocity."""
    sim = simulation(robot)
    sim.command([3.0])
    one = step(sim, 50).base
    two = step(sim, 1).base
    turn = Rotation.from_quat(one[3:7])
    middle = 0.5 * (one[7:] + two[7:])
    rate = turn.inv().apply(two[:3] - one[:3]) / 1e-3
    spin = (turn.inv() * Rotation.from_quat(two[3:7])).as_rotvec() / 1e-3
    assert abs(spin[1]) > 0.1
    np.testing.assert_allclose(spin, middle[:3], atol=1e-4)
    np.testing.assert_allclose(rate, middle[3:], atol=5e-3)


def test_brakes_that_close_do_not_catch_the_base(robot):
    """Without commands the hip locks, and the robot keeps falling."""
    sim = simulation(robot, command_timeout=0.01)
    sim.command([0.0])
    step(sim, 30)
    locked = step(sim, 1)
    later = step(sim, 100)
    assert later.position == pytest.approx(locked.position, abs=1e-9)
    assert later.base[2] < locked.base[2] - 0.05
    assert sim.counters.timeouts == 1
    sim.reset()
    assert step(sim, 20).base[2] == 1.0         # on its stand again


def test_floating_joint_of_a_description_is_free_too():
    """A description that has a floating joint itself needs no setting."""
    text = HOPPER.replace('<link name="foot"/>', """<link name="foot"/><link name="map"/>
      <joint name="free" type="floating"><parent link="map"/><child link="trunk"/></joint>""")
    sim = simulation(SimulatedRobot(load_urdf(text), backend='python'))
    sim.command([0.0])
    assert step(sim, 10).base[2] < 1.0


def test_base_and_joints_are_read_at_the_same_time(robot):
    """A reading that comes late has the base where it was then."""
    sim = simulation(robot, Imperfections(latency=0.01))
    sim.command([0.0])
    late = step(sim, 50)
    exact = simulation(robot)
    exact.command([0.0])
    assert late.time_ns == 40 * MS
    np.testing.assert_array_equal(late.base, step(exact, 40).base)


def test_start_of_the_base(model, tmp_path):
    """Upright with its foot on the floor, or in a given pose."""
    file = tmp_path / 'scene.yaml'
    file.write_text(SCENE)
    values = {'floating_base': True, 'contact': 'soft', 'scene_file': str(file)}
    neutral = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0])
    world = Settings(values).world(HOPPER, model)       # does not look for the mesh
    assert world.points.radii.tolist() == [0.03] and world.points.points[0, 2] == -0.4
    start = Settings(values).start_position(model, neutral, world)
    np.testing.assert_allclose(start, [0, 0, 0.1 + 0.03 + 0.4, 0, 0, 0, 1, 0], atol=1e-12)
    world.refuse_overlap(model, start)
    pose = [1.0, 2.0, 3.0, 0.3, -0.2, 0.5]
    given = Settings(values | {'initial_base_pose': pose}).start_position(model, neutral, world)
    expected = Rotation.from_euler('xyz', pose[3:]).as_quat()
    np.testing.assert_allclose(given[:7], [1.0, 2.0, 3.0, *expected], atol=1e-12)
    alone = Settings({'floating_base': True}).start_position(model, neutral, None)
    assert alone.tolist() == neutral.tolist()


@pytest.mark.parametrize(('text', 'reason'), [
    ('{floor: 0, balls: 3}', 'balls is 3; it must give a radius for each link'),
    ('{floor: 0, balls: {foot: -0.1}}', 'the ball of "foot" has the radius -0.1'),
    ('{floor: 0, balls: {foot: wide}}', 'the ball of "foot" is'),
    ('{floor: 0, balls: {hand: 0.1}}', 'hand'),
    ('{flor: 0}', '"flor" is unknown; a scene may hold "floor"'),
])
def test_bad_balls_and_keys_say_what_is_wrong(model, text, reason):
    """The entry, what it is, and what it should be."""
    with pytest.raises(RbdError, match=reason):
        read_balls(text, model)


def test_bad_poses_say_what_is_wrong(model):
    """A pose has six numbers, and needs a base that moves."""
    neutral = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0])
    with pytest.raises(SettingError, match='initial_base_pose has 3 entries; it needs 6'):
        Settings({'initial_base_pose': [0.0, 0.0, 1.0]}).start_position(model, neutral, None)
    with pytest.raises(SettingError, match='but the base is fixed; set floating_base'):
        Settings({'initial_base_pose': [0.0] * 6}).start_position(
            load_urdf(HOPPER), neutral[7:], None)


def test_files_of_pip_packages_are_found():
    """What cmeel installs, such as example-robot-data, is found by its package:// address."""
    address = 'package://example-robot-data/robots/go2_description/urdf/go2.urdf'
    expected = next(file for file in files('example-robot-data') if file.name == 'go2.urdf')
    assert find_resource(address).samefile(expected.locate())


def test_quadruped_of_the_configuration():
    """Its parameters are known, and four balls touch the floor."""
    text = (ROOT / 'config' / 'legged' / 'go2.yaml').read_text()
    values = yaml.safe_load(text)['/**']['simulator']['ros__parameters']
    assert not set(values) - set(SETTINGS)
    settings = Settings(values)
    description = find_resource(settings.text('robot_description_file')).read_text()
    go2 = load_urdf(description, floating_base=True, on_warning=lambda text: None)
    world = settings.world(description, go2)
    start = settings.start_position(go2, Coordinates(go2).neutral(), world)
    assert world.clearance(go2, start) == pytest.approx(0.0, abs=1e-12)
    assert len(world.points.pairs) == 4 and 0.3 < start[2] < 0.4
    assert settings.joints(go2) == go2.joint_names[1:]
