# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Control laws: their algebra, their closed loop, and that they trace."""

import math
from pathlib import Path

from hypothesis import given, strategies as st
import numpy as np
import pytest
import rbd_ros
from rbd_ros.control.kernels.barriers import Barrier, guard
from rbd_ros.control.kernels.joint_space import (
    computed_torque, damping, Friction, friction_torque, gravity_compensation, integrate_error,
    tracking_error)
from rbd_ros.control.kernels.operational_space import (
    approach_speeds, ApproachSpeeds, Gains, joint_speed, null_space_speed, Operational, pose_error,
    posture_speed, spatial_acceleration, speed_share, with_heavy_joints, yielded_speed, yielding)
from scipy.spatial.transform import Rotation

ARM = Path(__file__).parents[2] / 'urdf' / 'seven_joint_arm.urdf'
FRICTION = Friction([0.5, 0.1], [2.0, 1.0], [0.05, 0.1])


@pytest.fixture(scope='module')
def robot():
    """Return the built-in arm."""
    return rbd_ros.Dynamics(rbd_ros.load_urdf(ARM))


def state(robot, seed):
    """Return a random state away from singular poses."""
    rng = np.random.default_rng(seed)
    n = robot.model.nv
    return rng.uniform(-1.2, 1.2, n), rng.normal(size=n), rng.normal(size=n)


# -- joint space ------------------------------------------------------------------------------


def test_friction_is_odd_and_saturates():
    """Coulomb friction is smooth through rest and reaches its full value at speed."""
    forward = friction_torque([10.0, 10.0], FRICTION)
    np.testing.assert_allclose(forward, [0.5 * 10 + 2.0, 0.1 * 10 + 1.0], rtol=1e-12)
    np.testing.assert_allclose(friction_torque([-10.0, -10.0], FRICTION), np.negative(forward))
    assert friction_torque([0.0, 0.0], FRICTION) == [0.0, 0.0]
    np.testing.assert_allclose(friction_torque([0.05, 0.1], FRICTION),
                               [0.025 + 2.0 * math.tanh(1), 0.01 + math.tanh(1)], rtol=1e-14)


def test_gravity_compensation_adds_its_terms():
    """Scale, friction and damping enter per joint."""
    torque = gravity_compensation([0.2, -0.4], [10.0, -4.0], scale=[0.9, 1.0],
                                  friction=FRICTION, damping=[1.0, 2.0])
    expected = (np.array([9.0, -4.0]) + friction_torque([0.2, -0.4], FRICTION)
                - np.array([0.2, -0.8]))
    np.testing.assert_allclose(torque, expected, rtol=1e-14)
    assert damping([0.2, -0.4], [10.0, -4.0], [1.0, 2.0]) == [9.8, -3.2]


@given(st.floats(-20.0, 20.0), st.floats(-20.0, 20.0))
def test_error_of_a_continuous_joint_is_the_short_way(q, wanted):
    """The error of a continuous joint is the remainder modulo a full turn."""
    error = tracking_error([q, q], [wanted, wanted], [False, True])
    assert error[0] == wanted - q
    assert math.remainder(error[1] - (wanted - q), math.tau) == pytest.approx(0.0, abs=1e-12)
    assert abs(error[1]) <= math.pi + 1e-12


def test_integral_stops_at_its_bound_and_at_saturation():
    """The integral keeps its bound and only unwinds while the torque is at a limit."""
    z = [0.0] * 4
    error, side = [1.0, 1.0, -1.0, -1.0], [0.0, 1.0, 1.0, -1.0]
    for _ in range(10):
        z = integrate_error(z, error, gain=[1.0] * 4, dt=0.1, limit=[0.5] * 4, saturation=side)
    np.testing.assert_allclose(z, [0.5, 0.0, -0.5, 0.0], atol=1e-12)


def test_integral_removes_a_constant_error():
    """A pendulum with a wrong gravity settles on its reference by the integral."""
    q = qd = z = 0.0
    for _ in range(20000):
        z, = integrate_error([z], [0.5 - q], gain=[200.0], dt=1e-3, limit=[50.0],
                             saturation=[0.0])
        torque, = computed_torque(lambda q, qd, qdd: [qdd[0] + 6.0 * math.sin(q[0])], [q], [qd],
                                  ([0.5], [0.0], [0.0]), stiffness=[100.0], damping=[20.0],
                                  integral=[z], continuous=[False])
        qd += 1e-3 * (torque - 9.81 * math.sin(q))
        q += 1e-3 * qd
    assert q == pytest.approx(0.5, abs=1e-9)


# -- barriers ---------------------------------------------------------------------------------


def barrier(**change):
    """Return barriers of one joint with limits -1 and 1."""
    values = {'lower': [-1.0], 'upper': [1.0], 'margin': [0.1], 'stiffness': [100.0],
              'damping': [5.0], 'speed': [2.0], 'speed_damping': [4.0], 'limit': [8.0]}
    return Barrier(**{**values, **change})


def test_barrier_is_absent_inside():
    """Away from limits the torque of the law passes unchanged."""
    assert guard([0.5], [1.0], [3.0], [7.0], barrier()) == [7.0]
    free = barrier(lower=[-math.inf], upper=[math.inf], speed=[math.inf])
    assert guard([50.0], [90.0], [3.0], [7.0], free) == [7.0]


@pytest.mark.parametrize('q, qd, expected', [
    (0.95, 2.0, -5.0), (0.95, -2.0, 0.0),        # half way into the zone: 5 * 0.5 * 2
    (-0.95, -2.0, 5.0), (-0.95, 2.0, 0.0),
    (1.2, 2.0, -8.0), (-1.2, -2.0, 8.0),         # beyond the limit the depth stays 1, and 10 is 8
    (1.2, -2.0, 0.0), (-1.2, 2.0, 0.0),
    (0.89, 2.0, 0.0), (-0.89, -2.0, 0.0)])       # before the zone
def test_barrier_damps_motion_into_a_limit_only(q, qd, expected):
    """The damper acts on the way in, in proportion to the depth, and lets the way out free."""
    damper = barrier(stiffness=[0.0], speed=[math.inf])
    assert guard([q], [qd], [3.0], [3.0], damper)[0] - 3.0 == pytest.approx(expected, abs=1e-12)
    spring = guard([math.copysign(0.95, q)], [0.0], [3.0], [3.0], barrier(damping=[0.0]))[0]
    assert spring - 3.0 == pytest.approx(math.copysign(5.0, -q))  # half of the zone of 0.1 rad


def test_gravity_support_is_never_cut_at_a_stop():
    """At a stop a law of gravity alone keeps all of it, plus the push off the stop."""
    for q, side in ((1.0, -1.0), (-1.0, 1.0)):
        for gravity in (30.0, -30.0):
            torque, = guard([q], [0.0], [gravity], [gravity], barrier())
            assert torque - gravity == pytest.approx(side * 8.0)  # 10 N.m bounded to 8


def test_law_is_faded_only_into_the_limit():
    """Half way into the zone half of the law's push into the limit is left, all of it out."""
    into, = guard([0.95], [0.0], [3.0], [3.0 + 6.0], barrier(stiffness=[0.0]))
    out, = guard([0.95], [0.0], [3.0], [3.0 - 6.0], barrier(stiffness=[0.0]))
    assert into == pytest.approx(3.0 + 3.0)
    assert out == pytest.approx(3.0 - 6.0)


def test_velocity_barrier_brakes_the_excess():
    """Above the speed the excess is damped, in both directions."""
    assert guard([0.0], [3.0], [1.0], [1.0], barrier())[0] == pytest.approx(1.0 - 4.0)
    assert guard([0.0], [-3.0], [1.0], [1.0], barrier())[0] == pytest.approx(1.0 + 4.0)


@given(st.floats(-2.0, 2.0), st.floats(-9.0, 9.0), st.floats(-50.0, 50.0),
       st.floats(-50.0, 50.0))
def test_barriers_only_add_to_gravity(q, qd, gravity, push):
    """What remains besides gravity is between the law's push and zero, plus a bounded term."""
    torque, = guard([q], [qd], [gravity], [gravity + push], barrier())
    rest = torque - gravity
    assert min(push, 0.0) - 8.0 - 1e-9 <= rest <= max(push, 0.0) + 8.0 + 1e-9


# -- operational space ------------------------------------------------------------------------


def test_pose_error_is_rotation_vector_and_offset():
    """The error turns and shifts the frame onto its reference."""
    rng = np.random.default_rng(5)
    for _ in range(10):
        R, way = Rotation.random(random_state=rng), rng.normal(size=3)
        vector = rng.normal(size=3)
        vector *= rng.uniform(0.0, 3.1) / np.linalg.norm(vector)
        R_ref = R * Rotation.from_rotvec(vector)
        error = pose_error(R.as_matrix(), [0.0] * 3, R_ref.as_matrix(), way)
        np.testing.assert_allclose(error[:3], vector, atol=1e-10)
        np.testing.assert_allclose(error[3:], R.inv().apply(way), atol=1e-12)
    assert pose_error(np.eye(3), [0.0] * 3, np.eye(3), [0.0] * 3) == [0.0] * 6


def project(robot, q, max_condition=1e12):
    """Return the operational space of the arm's last frame."""
    frame = robot.model.frame_names[-1]
    space = robot.operational_space(q, np.zeros(7), frame, max_condition=max_condition)
    return Operational(space.J, np.linalg.solve(robot.mass_matrix(q), space.J.T), space.Lambda)


def test_joint_speed_moves_the_frame_and_the_rest_does_not(robot):
    """The frame moves with the wanted velocity, and joint velocities are split in two."""
    for seed in range(5):
        q, qd, _ = state(robot, seed)
        space = project(robot, q)
        wanted = np.random.default_rng(seed).normal(size=6)
        # 1e-8: the condition of the inertia enters
        np.testing.assert_allclose(space.J @ joint_speed(space, wanted), wanted, atol=1e-8)
        rest = np.array(null_space_speed(space, qd))
        np.testing.assert_allclose(space.J @ rest, 0.0, atol=1e-8)
        np.testing.assert_allclose(rest + joint_speed(space, space.J @ qd), qd, atol=1e-12)
        assert np.linalg.norm(rest) > 0.05
        # The inertia makes both parts orthogonal: what is left over has the least energy.
        assert abs(rest @ robot.mass_matrix(q) @ joint_speed(space, wanted)) < 1e-8


def test_joint_speed_is_bounded_at_a_singular_pose(robot):
    """However near the stretched arm is, a velocity asks the joints for a bounded speed."""
    for x in (0.0, 1e-12, 1e-8, 1e-4, 1e-2):
        q = np.array([0.0, 0.4, 0.0, 0.229 + x, 0.0, 0.5, 0.0])  # both halves in one line
        space = project(robot, q, 1e3)
        wanted = np.array([0.0, 0.0, 0.0, 1.0, 1.0, 1.0])
        speeds = np.array(joint_speed(space, wanted))
        eigenvalue = np.linalg.eigvalsh(space.J @ space.HinvJT)[-1]
        energy = speeds @ robot.mass_matrix(q) @ speeds
        # sqrt(lambda) / max(lambda, floor) is at most 1 / sqrt(floor)
        assert energy <= 1.001 * (wanted @ wanted) / (eigenvalue / 1e3)


def test_speed_share():
    """The joint that is too fast most scales all; slow joints are left as they are."""
    assert speed_share([0.5, -1.0], [1.0, 2.0]) == 1.0
    assert speed_share([0.5, -4.0], [1.0, 2.0]) == 0.5
    assert speed_share([0.0, 0.0], [1.0, math.inf]) == 1.0


def test_approach_speeds_shrink_towards_the_limits():
    """The speed towards a limit is a share of the room before its margin, never negative."""
    free = approach_speeds([0.0, 0.95, -1.2], [-1.0] * 3, [1.0] * 3, [0.1] * 3, 5.0)
    np.testing.assert_allclose(free.up, [4.5, 0.0, 10.5], rtol=1e-12)
    np.testing.assert_allclose(free.down, [4.5, 9.25, 0.0], rtol=1e-12)
    endless = approach_speeds([0.0], [-math.inf], [math.inf], [0.1], 5.0)
    assert yielding([1e3], endless) == [0.0]
    assert yielded_speed([0.3], [1e3], endless, [0.0]) == [0.3]


def test_only_a_joint_that_moves_into_its_limit_yields():
    """What moves away, or slowly enough, is left; what yields gets the speed that is left."""
    free = ApproachSpeeds([0.0, 0.0, 1.0, 1.0], [2.0, 2.0, 0.5, 0.5])
    wanted = [1.0, -1.0, 0.4, 0.8]
    yields = yielding(wanted, free)
    assert yields[0] == yields[2] == 0.0
    assert yields[1] == yields[3] == 1.0
    assert yielded_speed([0.1] * 4, wanted, free, yields) == [0.1, -0.0, 0.1, 0.5]
    H = with_heavy_joints(np.eye(4).tolist(), yields)
    assert H[0][0] == H[2][2] == 1.0
    assert H[1][1] > 1e5
    half = with_heavy_joints([[2.0]], [0.5])[0][0]           # with the sixth power of the share
    assert half == pytest.approx(2.0 + 2.0 * (H[1][1] - 1.0) / 64.0, rel=1e-12)
    # A joint does not begin to yield with a step.
    gentle = yielding([0.5000001] * 4, free)[3]
    assert 0.0 < gentle < 1e-5
    assert with_heavy_joints([[2.0]], [gentle])[0][0] == pytest.approx(2.0, rel=1e-12)


def test_posture_is_approached_at_a_bounded_speed():
    """Near by the speed is Kp / Kd times the way, far away it is the bound."""
    gains = Gains([10.0, 10.0, 16.0], [5.0, 5.0, 0.0])
    assert posture_speed([0.1, 9.0, -0.1], [1.0, 1.0, 9.0], gains) == pytest.approx(
        [0.2, 1.0, -0.4])


def test_classical_and_spatial_acceleration():
    """On a circle the spatial acceleration of the moving frame has no linear part."""
    omega, radius = 3.0, 0.5
    velocity = [0.0, 0.0, omega, 0.0, omega * radius, 0.0]
    result = spatial_acceleration([0.0, 0.0, 0.0, -omega**2 * radius, 0.0, 0.0], velocity)
    np.testing.assert_allclose(result, 0.0, atol=1e-12)
