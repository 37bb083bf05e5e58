# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Gradients for JAX: against finite differences, under ``jit``, ``vmap`` and both modes."""

from __future__ import annotations

import pickle

from gradient_rig import arm, QUANTITIES, ROBOTS, satellite, states, target_of
import jax
from jax import numpy as jnp
from jax.test_util import check_grads
import numpy as np
import pytest
from rbd_ros.errors import RbdError, ShapeError
from rbd_ros.gradients.jax import JaxDynamics


@pytest.fixture(autouse=True)
def double():
    """Compute in double."""
    with jax.enable_x64(True):
        yield


@pytest.mark.parametrize('name', QUANTITIES)
@pytest.mark.parametrize('make', ROBOTS.values(), ids=ROBOTS)
def test_check_grads(make, name):
    """Gradients of both modes are those of finite differences."""
    robot = make()
    function, rest = getattr(JaxDynamics(robot), name), target_of(robot, name)
    check_grads(lambda *x: function(*x, *rest), tuple(states(robot, name, 2)), order=1,
                atol=1e-5, rtol=1e-5)


def test_jit_and_vmap():
    """Compiled and mapped, values and Jacobians are those of the robot."""
    robot = arm()
    functions = JaxDynamics(robot)
    q, qd, tau = states(robot, 'forward_dynamics', 3)
    expected = robot.forward_dynamics(q, qd, tau)
    found = jax.jit(jax.vmap(functions.forward_dynamics))(q, qd, tau)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    shared = jax.vmap(functions.forward_dynamics, (0, None, 0))(q, qd[0], tau)
    np.testing.assert_allclose(shared, robot.forward_dynamics(q, qd[0], tau), rtol=1e-12)
    slopes = robot.forward_dynamics_derivatives(q, qd, tau)
    for way in (jax.jacfwd, jax.jacrev):
        mapped = jax.jit(jax.vmap(way(functions.forward_dynamics, (0, 1, 2))))(q, qd, tau)
        for a, b in zip(mapped, slopes, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize('name', ['inverse_dynamics', 'forward_dynamics'])
@pytest.mark.parametrize('scalar', ['float64', 'float32'])
@pytest.mark.parametrize('device', ['emulation', 'cuda'])
def test_device(name, scalar, device):
    """Kernels of a GPU, there or emulated, give values and gradients of the processor."""
    if device == 'cuda' and jax.default_backend() != 'gpu':
        pytest.skip('this machine has no GPU')
    robot = satellite()
    given = [jnp.asarray(x, scalar) for x in states(robot, name, 3)]

    def loss(functions):
        return lambda *x: jnp.sum(getattr(functions, name)(*x) ** 2)
    mine = jax.value_and_grad(loss(JaxDynamics(robot.on(device, scalar=scalar))), (0, 1, 2))
    found, slopes = mine(*given)
    expected, others = jax.value_and_grad(loss(JaxDynamics(robot)), (0, 1, 2))(
        *[x.astype(float) for x in given])
    assert found.dtype == scalar
    bound = 2e-4 if scalar == 'float32' else 1e-11
    for a, b in zip([found, *slopes], [expected, *others], strict=True):
        assert jnp.abs(a - b).max() < bound * max(1.0, float(jnp.abs(b).max()))


def test_a_large_batch_does_not_wait_for_itself():
    """JAX calls back while it holds its own threads; a megabyte of states passes."""
    robot = arm()
    functions = JaxDynamics(robot)
    q = np.random.default_rng(1).uniform(-1.0, 1.0, (20_000, 7))
    slope = jax.jit(jax.grad(lambda x: functions.potential_energy(x * 1.0).sum()))(q)
    np.testing.assert_allclose(slope, robot.gravity(q), rtol=1e-9, atol=1e-9)


def test_single_precision():
    """Without x64, arrays are float32 and so are results."""
    with jax.enable_x64(False):
        found = JaxDynamics(arm()).gravity(jnp.zeros((2, 7)))
        assert found.dtype == 'float32'
        np.testing.assert_allclose(found[0], arm().gravity(np.zeros(7)), rtol=1e-6, atol=1e-5)


def test_shared_inputs():
    """What all states share gets the sum of the gradients."""
    robot = arm()
    q, qd, _ = states(robot, 'inverse_dynamics', 2, 3)
    functions = JaxDynamics(robot)
    slope = jax.grad(lambda qdd: functions.inverse_dynamics(q, qd[0], qdd).sum())(jnp.zeros(7))
    np.testing.assert_allclose(
        slope, robot.mass_matrix(q.reshape(6, 7)).sum(axis=(0, 1)), rtol=1e-11)
    alone = jax.jvp(lambda qdd: functions.inverse_dynamics(q[0, 0], qd[0], qdd),
                    (jnp.zeros(7),), (jnp.ones(7),))[1]
    np.testing.assert_allclose(alone, np.tile(robot.mass_matrix(q[0, 0]).sum(1), (3, 1)),
                               rtol=1e-11)


def test_second_derivatives_are_refused():
    """There is no second derivative, and the error says what there is."""
    functions = JaxDynamics(arm())
    with pytest.raises(RbdError, match='second derivative of gravity'):
        jax.jacfwd(jax.jacrev(functions.gravity))(jnp.zeros(7))


def test_refusals():
    """A wrong array is named; one that is not finite is found when the call runs."""
    functions = JaxDynamics(arm())
    with pytest.raises(ShapeError, match=r'qd has shape \(6,\), expected \(\.\.\., 7\)'):
        functions.bias(jnp.zeros(7), jnp.zeros(6))
    with pytest.raises(ShapeError, match='q is of complex'):
        functions.gravity(jnp.zeros(7, complex))
    with pytest.raises(TypeError, match='takes q, qd; got 1 arrays'):
        functions.bias(jnp.zeros(7))
    with pytest.raises(Exception, match=r'q\[2\] is nan'):
        jax.jit(functions.gravity)(jnp.zeros(7).at[2].set(jnp.nan)).block_until_ready()


def test_pickle():
    """Another process gets the same functions."""
    again = pickle.loads(pickle.dumps(JaxDynamics(arm())))
    np.testing.assert_array_equal(again.gravity(jnp.ones(7)), arm().gravity(np.ones(7)))
