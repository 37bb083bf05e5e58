# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Robots from URDF: every robot at hand against Pinocchio, and what the format allows."""

import math
from pathlib import Path
import shutil
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from rbd_ros.algorithms import kinematics
from rbd_ros.errors import ModelError
from rbd_ros.joints import Free, Planar, Prismatic, Revolute
from rbd_ros.model import positions
from rbd_ros.model.urdf import find_resource, load_urdf

pytestmark = pytest.mark.slow

pin = pytest.importorskip('pinocchio', reason='the peer "pin" is not installed')
peer = pytest.importorskip('peer', reason='the peer "pin" is not installed')

HERE = Path(__file__).parents[1]
ARM = HERE.parent / 'urdf' / 'seven_joint_arm.urdf'
# Files that cannot be robots; ours and Pinocchio's loader refuse both.
BROKEN = {'falcon_description/urdf/falcon.urdf': 'child link "Z_propeller" does not exist',
          'ur_description/urdf/ur3.urdf': 'has no link'}
# Accepted by Pinocchio only because it can leave mimic joints out.
BROKEN_MIMIC = {'alex_description/urdf/alex_psyonic_hands.urdf': 'mimics "index_q1", which does'}
OWN = [ARM, *(path for path in sorted((HERE / 'urdf').glob('*.urdf')))]
ROBOTS = [name for name in peer.robot_files() if name not in BROKEN] + OWN


def quiet(*args, **options):
    """Load without warnings: the robots at hand are full of doubtful inertias."""
    return load_urdf(*args, on_warning=lambda text: None, **options)


def path_of(robot):
    """Return the path of a robot of the package, or of our own."""
    return robot if isinstance(robot, Path) else peer.robot_folder() / robot


def label(robot):
    """Return a short name for test reports."""
    return robot.stem if isinstance(robot, Path) else robot


def inertia_matrix(inertia):
    """Return Pinocchio's inertia as a 6x6 matrix, angular first."""
    return inertia.matrix()[np.ix_(peer.SPATIAL, peer.SPATIAL)]


def placement(X):
    """Return rotation matrix and position (as ROS and Pinocchio write them) of a transform."""
    return np.array(X.E.to_list()).T, np.array(X.r.to_list())


def frame_poses(model, q):
    """Return rotation and position of every frame in the base at tree position q."""
    X_0 = kinematics.placements(model, kinematics.links(model, q))
    return {name: placement(frame.placement @ X_0[frame.body])
            for name, frame in model.frames.items()}


def assert_same_poses(model, other, q):
    """Compare every link's pose with Pinocchio's at a tree position."""
    data = other.createData()
    pin.framesForwardKinematics(other, data, peer.pinocchio_position(model, other, q))
    poses = frame_poses(model, q)
    for frame in other.frames:
        if frame.type == pin.FrameType.BODY and frame.name != 'universe':
            R, p = poses[frame.name]
            pose = data.oMf[other.getFrameId(frame.name, pin.FrameType.BODY)]
            np.testing.assert_allclose(R, pose.rotation, atol=1e-10, err_msg=frame.name)
            np.testing.assert_allclose(p, pose.translation, atol=1e-10, err_msg=frame.name)


def test_robots_at_hand_are_found():
    """The package of real robots is there, so that the tests below are not empty."""
    assert len(ROBOTS) - len(OWN) >= 75


@pytest.mark.seed('RBDA 4-02', 'RBDA 4-14', 'RBDA 4-15')
@pytest.mark.parametrize('floating', [False, True], ids=['fixed', 'floating'])
@pytest.mark.parametrize('robot', ROBOTS, ids=label)
def test_robot_is_the_one_pinocchio_reads(robot, floating):
    """Joints, placements, lumped inertias, limits, mass and all link poses are the same."""
    model = quiet(path_of(robot), floating, mimic=False)
    other = peer.load_pinocchio(path_of(robot), floating)
    assert sorted(model.joint_names) == sorted(other.names[1:])
    assert model.nv == other.nv
    assert model.total_mass == pytest.approx(pin.computeTotalMass(other), rel=1e-12)
    for i, name in enumerate(model.joint_names, 1):
        j = other.getJointId(name)
        above = other.names[other.parents[j]]
        assert (model.joint_names[model.parent[i] - 1] if model.parent[i] else 'universe') == above
        R, p = placement(model.X_T[i])
        np.testing.assert_allclose(R, other.jointPlacements[j].rotation, atol=1e-10)
        np.testing.assert_allclose(p, other.jointPlacements[j].translation, atol=1e-10)
        scale = max(1.0, other.inertias[j].mass)
        np.testing.assert_allclose(np.array(model.inertia[i].to_list()),
                                   inertia_matrix(other.inertias[j]), atol=1e-10 * scale)
        at, joint = model.v_index[i].start, other.joints[j]
        if joint.nv == 1:
            assert model.velocity_limit[at] == other.upperVelocityLimit[joint.idx_v]
            assert model.effort_limit[at] == other.upperEffortLimit[joint.idx_v]
            assert model.damping[at] == other.damping[joint.idx_v]
            assert model.friction[at] == other.upperDryFrictionLimit[joint.idx_v]
        if joint.nq == 1:
            at = model.q_index[i].start
            assert model.lower[at] == other.lowerPositionLimit[joint.idx_q]
            assert model.upper[at] == other.upperPositionLimit[joint.idx_q]
    rng = np.random.default_rng(3)
    for _ in range(2):
        q = [x for joint in model.joint[1:] for x in joint.random(rng)]
        assert_same_poses(model, other, q)


@pytest.mark.parametrize('robot', [robot for robot in ROBOTS
                                   if '<mimic' in path_of(robot).read_text()
                                   and robot not in BROKEN_MIMIC], ids=label)
def test_mimic_joints_of_real_robots(robot):
    """Expanded positions obey every <mimic> of the file and put links where Pinocchio does."""
    model = quiet(path_of(robot))
    other = peer.load_pinocchio(path_of(robot))
    y = positions.random_position(model, np.random.default_rng(5))
    q = model.expand_q(y)
    assert_same_poses(model, other, q)
    followers = 0
    for element in ElementTree.parse(path_of(robot)).getroot().findall('joint'):
        mimic = element.find('mimic')
        if mimic is None or element.get('type') == 'fixed':
            continue
        followers += 1
        own = q[model.q_index[model.joint_index(element.get('name'))]][0]
        leader = q[model.q_index[model.joint_index(mimic.get('joint'))]][0]
        expected = float(mimic.get('multiplier', 1)) * leader + float(mimic.get('offset', 0))
        assert own == pytest.approx(expected, abs=1e-14)
    assert model.nv == other.nv - followers
    assert followers == 0 or len(model.coupling.followers) == followers


@pytest.mark.parametrize('robot', [*BROKEN, *BROKEN_MIMIC])
def test_broken_robots_say_why(robot):
    """The files that cannot be loaded as written are refused with the reason."""
    with pytest.raises(ModelError, match=(BROKEN | BROKEN_MIMIC)[robot]):
        quiet(path_of(robot))


def test_built_in_arm():
    """The built-in arm: 18 kg moving, 0.85 m from shoulder to tool0, every joint limited."""
    arm = load_urdf(ARM, strict=True)
    assert (arm.nq, arm.nv, arm.nb) == (7, 7, 7)
    assert arm.total_mass == pytest.approx(18.0, abs=1e-12)
    poses = frame_poses(arm, [0.0] * 7)
    assert math.dist(poses['link_2'][1], poses['tool0'][1]) == pytest.approx(0.85, abs=1e-12)
    for values in (arm.effort_limit, arm.velocity_limit, arm.damping, arm.friction, arm.upper):
        assert all(0.0 < value < math.inf for value in values)
    assert arm.gear_ratio == (100.0,) * 7
    assert arm.frame('tool0').body == 7


def test_order_is_depth_first_in_the_order_of_the_file():
    """Joints are numbered as the file lists them, and names map to any other order."""
    model = load_urdf(HERE / 'urdf' / 'branched.urdf')
    assert model.joint_names == ('waist', 'right_shoulder', 'right_elbow', 'left_shoulder',
                                 'left_elbow', 'neck')
    other = peer.load_pinocchio(HERE / 'urdf' / 'branched.urdf')
    order = model.velocity_order(list(other.names[1:]))
    v = np.arange(6.0)
    assert v[order].tolist() == [0.0, 3.0, 4.0, 5.0, 1.0, 2.0]
    assert model.children[1] == (2, 4, 6)


def test_joint_types_of_the_format():
    """Each joint type becomes the joint of the library, its axis the one that is written."""
    gantry = load_urdf(HERE / 'urdf' / 'gantry.urdf')
    assert gantry.joint[1:] == (Prismatic((1.0, 0.0, 0.0)), Prismatic((0.0, 1.0, 0.0)),
                                Prismatic((0.0, 0.0, -1.0)), Revolute((0.0, 0.0, 1.0)))
    assert gantry.lower[3] == -math.inf and gantry.effort_limit[3] == math.inf
    planar = load_urdf(HERE / 'urdf' / 'planar_base.urdf')
    assert isinstance(planar.joint[1], Planar) and (planar.nq, planar.nv) == (4, 4)
    flying = load_urdf(HERE / 'urdf' / 'floating_joint.urdf')
    assert isinstance(flying.joint[1], Free) and (flying.nq, flying.nv) == (8, 7)
    assert flying.velocity_limit[6] == 30.0 and flying.upper[7] == math.inf


def test_default_axis_is_x_and_length_is_of_no_matter():
    """Without <axis> a joint turns about x; a longer axis is normalised."""
    text = ('<robot name="r"><link name="a"/><link name="b"/><joint name="j" type="continuous">'
            '<parent link="a"/><child link="b"/>{}</joint></robot>')
    assert quiet(text.format('')).joint[1] == Revolute((1.0, 0.0, 0.0))
    assert quiet(text.format('<axis xyz="0 0 -5"/>')).joint[1] == Revolute((0.0, 0.0, -1.0))


@pytest.mark.seed('RBDA 4-02')
def test_floating_base_keeps_the_root_link():
    """With a floating base the root link moves, with its inertia, on a joint of six freedoms."""
    path = HERE / 'urdf' / 'branched.urdf'
    fixed, floating = load_urdf(path), load_urdf(path, floating_base=True)
    assert floating.nv == fixed.nv + 6 and floating.nq == fixed.nq + 7
    assert floating.joint_names[0] == 'root_joint'
    assert floating.body_names[:2] == ('world', 'pelvis')
    assert floating.total_mass == pytest.approx(fixed.total_mass + 4.0, rel=1e-15)
    assert fixed.inertia[0].m == 4.0 and floating.inertia[0].m == 0.0
    named_world = load_urdf(HERE / 'urdf' / 'floating_joint.urdf', floating_base=True,
                            on_warning=lambda text: None)
    assert named_world.body_names[:2] == ('universe', 'world')


def test_angles_snap_only_when_exact_to_eleven_digits():
    """Eleven digits of pi/2 become an exact quarter turn, five digits do not unless asked."""
    text = ('<robot name="r"><link name="a"/><link name="b"/><joint name="j" type="continuous">'
            '<parent link="a"/><child link="b"/><origin rpy="{}"/></joint></robot>')
    exact = quiet(text.format('0 0 1.57079632679')).X_T[1].E
    assert exact.rows == ((0.0, 1.0, 0.0), (-1.0, 0.0, 0.0), (0.0, 0.0, 1.0))
    rough = quiet(text.format('0 0 3.14159')).X_T[1].E
    assert rough.rows[0][0] == math.cos(3.14159) and rough.rows[0][1] == math.sin(3.14159)
    wide = quiet(text.format('0 0 3.14159'), snap_angle=1e-5).X_T[1].E
    assert wide.rows[0][:2] == (-1.0, 0.0)
    just_out = quiet(text.format(f'{math.pi / 2 + 3e-11!r} 0 0')).X_T[1].E
    assert just_out.rows[1][1] != 0.0


@pytest.mark.parametrize('rpy', [(0.3, -0.8, 2.1), (-3.0, 1.5, 0.2), (math.pi / 2, 0.4, math.pi)])
def test_roll_pitch_yaw_is_about_fixed_axes(rpy):
    """E is the transpose of Rz(yaw) Ry(pitch) Rx(roll); quat_xyzw says the same."""
    R = pin.rpy.rpyToMatrix(*rpy)
    quaternion = ' '.join(map(repr, pin.Quaternion(R).coeffs().tolist()))
    text = ('<robot name="r"><link name="a"/><link name="b"/><joint name="j" type="continuous">'
            '<parent link="a"/><child link="b"/><origin xyz="1 2 3" {}/></joint></robot>')
    for attribute in ('rpy="{}"'.format(' '.join(map(repr, rpy))), f'quat_xyzw="{quaternion}"'):
        found, r = placement(quiet(text.format(attribute)).X_T[1])
        np.testing.assert_allclose(found, R, atol=1e-15)
        assert r.tolist() == [1.0, 2.0, 3.0]


def test_rotor_data():
    """The reflected rotor is ratio^2 J from a transmission, or the armature as written."""
    model = load_urdf(HERE / 'urdf' / 'rotor.urdf')
    assert model.gear_ratio == (50.0, -80.0, 1.0)
    assert model.rotor_inertia == pytest.approx((50.0**2 * 1e-4, 0.0, 0.04), rel=1e-15)
    assert model.damping == (0.0, 0.0, 0.5)


def transmission(name, ratio, rotor, motors=1):
    """Return a transmission of the joint "shoulder"."""
    actuators = ''.join(f'<actuator name="{name}_{k}"/>' for k in range(motors))
    return (f'<transmission name="{name}"><joint name="shoulder"/>{actuators}'
            f'<mechanicalReduction>{ratio}</mechanicalReduction>'
            f'<rotorInertia>{rotor}</rotorInertia></transmission>')


def test_two_motors_on_one_joint():
    """Two motors in one transmission are not used; of two that differ the last one counts."""
    plain = (HERE / 'urdf' / 'rotor.urdf').read_text()

    def load(*more):
        notes = []
        text = plain.replace('</robot>', ''.join(more) + '</robot>')
        return load_urdf(text, on_warning=notes.append), ' '.join(notes)
    before, quiet = load()
    assert not quiet
    model, notes = load(transmission('both', 30, 2e-4, motors=2))
    assert (model.gear_ratio, model.rotor_inertia) == (before.gear_ratio, before.rotor_inertia)
    assert 'several joints or motors is not used: transmission "both"' in notes
    model, notes = load(transmission('again', 50, 1e-4))         # as it was said before
    assert (model.gear_ratio, model.rotor_inertia) == (before.gear_ratio, before.rotor_inertia)
    assert not notes
    model, notes = load(transmission('other', 30, 2e-4))
    assert model.gear_ratio[0] == 30.0
    assert model.rotor_inertia[0] == pytest.approx(30.0**2 * 2e-4, rel=1e-15)
    assert 'second, different transmission of one joint' in notes


def test_zero_limits_are_kept():
    """An effort limit of zero stays zero: it is not taken for "no limit"."""
    model = quiet(HERE / 'urdf' / 'zero_effort.urdf')
    assert model.effort_limit == (0.0,) and model.velocity_limit == (0.0,)


def test_text_path_and_bytes_are_the_same_robot():
    """A path, its text, its bytes, and a file:// address give the same model."""
    text = ARM.read_text()
    model = load_urdf(ARM)
    for source in (str(ARM), text, '\ufeff\n' + text.split('?>', 1)[1], text.encode(),
                   text.encode('utf-16'), f'file://{ARM}'):
        assert load_urdf(source) == model


def test_package_address(tmp_path, monkeypatch):
    """package:// is found through AMENT_PREFIX_PATH, then ROS_PACKAGE_PATH, then nearby."""
    model = load_urdf(ARM)
    monkeypatch.delenv('AMENT_PREFIX_PATH', raising=False)
    monkeypatch.delenv('ROS_PACKAGE_PATH', raising=False)
    for folder in ('install/share/some_arm/urdf', 'src/other_arm/urdf', 'near/third_arm'):
        (tmp_path / folder).mkdir(parents=True)
        shutil.copy(ARM, tmp_path / folder / 'arm.urdf')
    with pytest.raises(ModelError, match='some_arm'):
        load_urdf('package://some_arm/urdf/arm.urdf')
    monkeypatch.setenv('AMENT_PREFIX_PATH', f'/nowhere:{tmp_path}/install')
    assert load_urdf('package://some_arm/urdf/arm.urdf') == model
    monkeypatch.setenv('ROS_PACKAGE_PATH', f'{tmp_path}/src')
    assert load_urdf('package://other_arm/urdf/arm.urdf') == model
    monkeypatch.setenv('ROS_PACKAGE_PATH', f'{tmp_path}/src/other_arm')
    assert load_urdf('package://other_arm/urdf/arm.urdf') == model
    near = tmp_path / 'near' / 'third_arm' / 'arm.urdf'
    assert find_resource('package://third_arm/arm.urdf', near=near) == near
    assert load_urdf('package://rbd_ros/urdf/seven_joint_arm.urdf') == model


def test_long_reversed_chain_is_linear():
    """Ten thousand links listed from the tip to the root load without recursion."""
    n = 10_000
    links = ''.join(f'<link name="l{i}"/>' for i in reversed(range(n + 1)))
    joints = ''.join(f'<joint name="j{i}" type="continuous"><parent link="l{i}"/>'
                     f'<child link="l{i + 1}"/></joint>' for i in reversed(range(n)))
    model = quiet(f'<robot name="r">{links}{joints}</robot>')
    assert model.nb == n and model.parent[-1] == n - 1
