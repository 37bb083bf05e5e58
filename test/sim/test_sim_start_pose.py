# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Where a simulated robot starts: bent, inside its limits, above its base, far from singular."""

import numpy as np
from peer import robot_folder
import pytest
import rbd_ros
from rbd_ros.model.positions import neutral
from rbd_ros.sim import Settings
from rbd_ros.sim.setting_table import default_values
from rbd_ros.sim.start_pose import bent_pose, chain_of, condition_number, LIMIT_MARGIN
from rbd_ros.view.scene import link_poses

ARM = 'package://rbd_ros/urdf/seven_joint_arm.urdf'


def single(model):
    """Return the joints that may be moved."""
    return [name for name in model.independent_joint_names
            if model.joint[model.joint_index(name)].nq == 1]


def jacobian_condition(model, q, tip, length=1.0):
    """Return the condition number of the Jacobian by differences of poses, per a length."""
    def pose(x):
        position, (w, *v) = link_poses(model, x)[tip]
        return position, np.sign(w or 1.0) * np.array([w, *v])
    h, columns = 1e-6, []
    position, turn = pose(q)
    w, x, y, z = turn
    to_rate = 2.0 * np.array([[-x, w, -z, y], [-y, z, w, -x], [-z, -y, x, w]])  # of angular speed
    for k in range(len(q)):
        moved, turned = pose(q + h * np.eye(len(q))[k])
        columns.append(np.concatenate(
            [to_rate @ (turned - turn), (moved - position) / length]) / h)
    values = np.linalg.svd(np.array(columns).T, compute_uv=False)
    return values[0] / max(values[min(6, len(q)) - 1], 1e-300)


@pytest.mark.parametrize(('name', 'tip', 'at_zero'), [
    (ARM, 'tool0', 1e3), ('panda_description/urdf/panda.urdf', 'panda_link8', 30.0),
    ('ur_description/urdf/ur5_robot.urdf', 'tool0', 1e3)])
def test_arms_start_where_their_tip_can_go_anywhere(name, tip, at_zero):
    """At zero, or at the stop beside it, they cannot; judged by differences of poses."""
    model = rbd_ros.load_urdf(name if name == ARM else robot_folder() / name)
    joints = [joint for joint in single(model) if 'finger' not in joint]
    q = bent_pose(model, joints)
    np.testing.assert_array_equal(q, bent_pose(model, joints))  # always the same
    arm = np.array([model.position_slice(joint).start for joint in joints])
    low, high = np.array(model.lower), np.array(model.upper)
    margin = np.where(np.isfinite(high - low), 0.99 * LIMIT_MARGIN * (high - low), 0.0)
    assert (q >= low + margin)[arm].all() and (q <= high - margin)[arm].all()
    start = np.clip(neutral(model), low, high)
    fixed = np.setdiff1d(np.arange(model.nq), arm)
    np.testing.assert_array_equal(q[fixed], start[fixed])
    assert jacobian_condition(model, q, tip) < 15.0
    assert jacobian_condition(model, start, tip) > at_zero
    bodies = chain_of(model, joints)
    heights = [link_poses(model, q)[model.body_names[i]][0][2] for i in bodies[2:]]
    assert min(heights) > 0.0


def random_arm(rng, joints=6):
    """Return an arm of random shape."""
    text = '<robot name="random"><link name="l0"/>'
    for k in range(joints):
        xyz, rpy = rng.uniform(-0.3, 0.3, 3), rng.uniform(-np.pi, np.pi, 3)
        kind = 'prismatic' if rng.uniform() < 0.2 else 'revolute'
        text += (f'<link name="l{k + 1}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" '
                 f'izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="j{k}" '
                 f'type="{kind}"><parent link="l{k}"/><child link="l{k + 1}"/><axis xyz="0 0 1"/>'
                 f'<origin xyz="{xyz[0]} {xyz[1]} {xyz[2]}" rpy="{rpy[0]} {rpy[1]} {rpy[2]}"/>'
                 f'<limit lower="{rng.uniform(-3, 0.5)}" upper="{rng.uniform(0.6, 3)}" '
                 'effort="1" velocity="1"/></joint>')
    return rbd_ros.load_urdf(text + '</robot>')


@pytest.mark.parametrize('seed', range(6))
def test_an_arm_of_any_shape(seed):
    """Inside its limits, and not near a singular pose, whatever it looks like."""
    rng = np.random.default_rng(seed)
    model = random_arm(rng, int(rng.integers(2, 8)))
    q = bent_pose(model, single(model))
    assert (q >= model.lower).all() and (q <= model.upper).all()
    assert condition_number(model, single(model), q) < 60.0


@pytest.mark.parametrize('joints', [1, 2, 4, 6, 8])
def test_the_condition_is_that_of_the_smallest_singular_value(joints):
    """Of as many as the tip has directions, lengths in those of the arm; elsewhere by poses."""
    model = random_arm(np.random.default_rng(joints), joints)
    q = bent_pose(model, single(model))
    length = sum(np.linalg.norm(list(map(float, place.r.to_list()))) for place in model.X_T[1:])
    assert condition_number(model, single(model), q) == pytest.approx(
        jacobian_condition(model, q, model.body_names[-1], length), rel=1e-4)


def test_what_has_no_arm_stays_where_it_was():
    """One joint starts at zero, or at the limit beside it; what is given is taken as it is."""
    model = random_arm(np.random.default_rng(1), 1)
    q = bent_pose(model, single(model))
    assert q[0] == min(max(0.0, model.lower[0]), model.upper[0])
    arm = rbd_ros.load_urdf(ARM)
    zero = np.zeros(7)
    for values, expected in (({}, zero), ({'start_pose': 'bent'}, bent_pose(arm, single(arm))),
                             ({'start_pose': 'bent', 'initial_positions': [0.1] * 7}, zero + 0.1),
                             ({'start_pose': 'bent', 'floating_base': True}, zero)):
        settings = Settings(default_values() | values)
        np.testing.assert_array_equal(settings.initial_positions(arm, zero), expected)
