# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Regressors of torque, energy and momentum: linear in the parameters."""

from hypothesis import given
import numpy as np
import peer
import pytest
from rbd_ros.algorithms import energy, regressor
from rbd_ros.algorithms.kinematics import links, velocities
from rbd_ros.identification import body_parameters
from rbd_ros.spatial import Vec3
from tree_oracle import assert_near, DenseTree, examples, SEEDS, State, TREES

few = examples(20)


@few
@given(TREES, SEEDS)
def test_torques_are_linear_in_the_parameters(model, seed):
    """Y pi is inverse dynamics, for all joints and branched trees."""
    s = State(model, seed)
    q, gravity = s.q.tolist(), Vec3(0.3, -0.7, -9.0)
    Y = np.array(regressor.torque_regressor(
        model, links(model, q), q, s.qd.tolist(), s.qdd.tolist(), gravity))
    expected = DenseTree(model, s.q, s.qd).rnea(s.qdd, list(gravity))
    assert_near(Y.reshape(model.nv, -1) @ body_parameters(model), expected, scale=1.0)


@few
@given(TREES, SEEDS)
def test_energy_and_momentum_are_linear_in_the_parameters(model, seed):
    """The rows of the energies and of the momentum give the sums over the bodies."""
    s = State(model, seed)
    tree = links(model, s.q.tolist())
    v, _ = velocities(model, tree, s.q.tolist(), s.qd.tolist())
    gravity, pi = Vec3(0.3, -0.7, -9.0), body_parameters(model)
    kinetic, potential = np.array(regressor.energy_regressor(model, tree, v, gravity))
    dense = DenseTree(model, s.q, s.qd)
    expected = sum(0.5 * dense.v[i] @ dense.I[i] @ dense.v[i] for i in dense.bodies)
    assert kinetic @ pi == pytest.approx(expected, rel=1e-11)
    h = energy.composite(model, tree).h
    assert potential @ pi == pytest.approx(-h.dot(gravity), rel=1e-11, abs=1e-10)
    momentum = np.array(regressor.momentum_regressor(model, tree, v))
    assert_near(momentum @ pi, sum(dense.I[i] @ dense.v[i] for i in dense.bodies), scale=1.0)


@pytest.fixture(scope='module', params=[False, True], ids=['fixed', 'floating'])
def pair(request):
    """Return a compiled arm, on a fixed and on a floating base, and Pinocchio's twin."""
    return peer.arm_and_twin(request.param)


def test_methods_of_the_robot(pair):
    """Energies and momentum of the compiled robot, and the sparsity of Y."""
    robot, _ = pair
    s, pi = State(robot.model, 6), body_parameters(robot.model)
    rotors = 0.5 * np.array(robot.model.rotor_inertia) @ (s.qd * s.qd)
    energies = [robot.kinetic_energy(s.q, s.qd) - rotors, robot.potential_energy(s.q)]
    assert_near(robot.energy_regressor(s.q, s.qd) @ pi, energies)
    assert_near(robot.momentum_regressor(s.q, s.qd) @ pi, robot.momentum(s.q, s.qd))
    Y = robot.torque_regressor(s.q, s.qd, s.qdd)
    tau = robot.inverse_dynamics(s.q, s.qd, s.qdd) - np.array(robot.model.rotor_inertia) * s.qdd
    assert_near(Y @ pi, tau)
    assert not Y[-1, :-10].any()
