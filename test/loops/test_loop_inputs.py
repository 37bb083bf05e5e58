# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Forward dynamics of loops takes and refuses the same as that of trees, inertia or not."""

import dataclasses

from loop_rig import parallelogram
import numpy as np
import pytest
import rbd_ros
from rbd_ros.algorithms.loops.motion import solve
from rbd_ros.errors import NonFiniteError, ShapeError, SingularError
from rbd_ros.samples import mechanisms
from rbd_ros.sim import SimulatedRobot
from rbd_ros.spatial import RigidInertia, Sym3, Vec3


def with_bars(*scales):
    """Return a four-bar linkage whose bars have these shares of their inertia."""
    model, q = mechanisms.four_bar()
    inertia = [model.inertia[0]]
    for scale, body in zip(scales, model.inertia[1:], strict=True):
        inertia.append(RigidInertia(
            scale * body.m, Vec3(*(scale * x for x in body.h)),
            Sym3(*(scale * x for x in body.I.entries()))))
    return dataclasses.replace(model, inertia=tuple(inertia)), np.array(q)


@pytest.fixture(scope='module', name='parallelogram')
def parallelogram_of_the_rig():
    """Return a linkage that is singular when folded flat."""
    return parallelogram()


@pytest.fixture(scope='module')
def massless():
    """Return a linkage whose last bar has no inertia."""
    return rbd_ros.Dynamics(with_bars(1.0, 1.0, 0.0)[0], backend='python')


@pytest.mark.parametrize('name', ['parallelogram', 'massless'])
@pytest.mark.parametrize('which', range(3), ids=['q', 'qd', 'tau'])
def test_result_may_take_the_place_of_an_input(name, which, request):
    """The result written over q, qd or tau, or into a part of one, is the same."""
    robot, rng = request.getfixturevalue(name), np.random.default_rng(3)
    for shape in ((3,), (2, 3)):
        state = [np.zeros(shape), 0.1 * rng.normal(size=shape), rng.normal(size=shape)]
        if name == 'massless':
            state[0] += mechanisms.four_bar()[1]
        expected = robot.forward_dynamics(*state)
        assert np.isfinite(expected).all()
        out = state[which]
        assert robot.forward_dynamics(*state, out=out) is out
        np.testing.assert_array_equal(out, expected)
    # a window that overlaps an input without being it
    memory, rest = np.zeros(4), [np.zeros(3), 0.1 * rng.normal(size=3), rng.normal(size=3)]
    if name == 'massless':
        rest[0] += mechanisms.four_bar()[1]
    memory[:3] = rest[which]
    state = [*rest]
    state[which] = memory[:3]
    expected = robot.forward_dynamics(*rest)
    robot.forward_dynamics(*state, out=memory[1:])
    np.testing.assert_array_equal(memory[1:], expected)


@pytest.mark.parametrize('name', ['parallelogram', 'massless'])
def test_what_is_no_state_is_refused(name, request):
    """Scalars, NaN, complex numbers, wrong shapes and wrong outputs, of one state and of many."""
    robot, z = request.getfixturevalue(name), np.zeros(3)
    call, many = robot.forward_dynamics, np.zeros((2, 3))
    for bad in (0.0, np.zeros(4), np.zeros((3, 1)), 1j * z, ['a', 'b', 'c'], [[0.0], [0.0, 1.0]]):
        with pytest.raises(ShapeError, match='^qd '):
            call(z, bad, z)
    with pytest.raises(NonFiniteError, match=r'^tau\[1\] is nan'):
        call(z, z, [0.0, np.nan, 0.0])
    with pytest.raises(NonFiniteError, match=r'^q\[1, 2\] is inf'):
        call([[0.0, 0.0, 0.0], [0.0, 0.0, np.inf]], many, z)
    with pytest.raises(ShapeError, match='tau has 3 states, q has 2'):
        call(many, many, np.zeros((3, 3)))
    with pytest.raises(ShapeError, match='^f_ext '):
        call(z, z, z, np.zeros(6))
    fixed = np.zeros(3)
    fixed.flags.writeable = False
    for out in (np.zeros(4), np.zeros(3, np.float32), fixed, [0.0, 0.0, 0.0], np.zeros((2, 3))):
        with pytest.raises((ShapeError, TypeError), match='out'):
            call(z, z, z, out=out)
    with pytest.raises(TypeError, match='takes|positional|argument'):
        call(z, z)


def test_bars_without_inertia_are_the_limit_of_light_ones(massless):
    """Accelerations, and the nearest motion that loops allow, as with a bar of a microgram."""
    model, q = with_bars(1.0, 1.0, 1e-9)
    light = rbd_ros.Dynamics(model, backend='reference')
    rng = np.random.default_rng(5)
    wanted, tau = rng.normal(size=(2, 3))
    qd = massless.consistent_velocity(q, wanted)
    np.testing.assert_allclose(qd, light.consistent_velocity(q, wanted), rtol=1e-6)
    np.testing.assert_allclose(massless.loop_velocity(q, qd), 0.0, atol=1e-12)
    found = massless.consistent_acceleration(q, qd, wanted)
    np.testing.assert_allclose(found, light.consistent_acceleration(q, qd, wanted), rtol=1e-6)
    qdd = massless.forward_dynamics(q, qd, tau)
    np.testing.assert_allclose(qdd, light.forward_dynamics(q, qd, tau), rtol=1e-6)
    f_ext = rng.normal(size=(2, 3, 6))
    many = massless.forward_dynamics(q, qd, [tau, -tau], f_ext)
    for k, sign in enumerate((1.0, -1.0)):
        expected = light.forward_dynamics(q, qd, sign * tau, f_ext[k])
        np.testing.assert_allclose(many[k], expected, rtol=1e-6)


def test_rows_that_move_no_inertia_count():
    """A constraint on a joint without inertia alone is obeyed, by sizes that are found here."""
    H, K = np.diag([2.0, 0.0]), np.array([[0.0, 3.0]])
    for method in ('direct', 'projection'):
        found = solve(H, [1.0, 0.0], K, [6.0], method=method)
        np.testing.assert_allclose(found.qdd, [0.5, 2.0], rtol=1e-12)
        assert found.rank == 1


def test_what_lacks_inertia_is_named(massless):
    """Each error says which joint, or which motion, moves without inertia."""
    q, z = np.array(mechanisms.four_bar()[1]), np.zeros(3)
    text = ('joint "joint_3" of "four_bar" moves without inertia, and the compiled {} of a robot '
            'with loops needs the inverse of H')
    for use in (lambda: massless.bind('forward_dynamics'),
                lambda: SimulatedRobot(massless.model, backend='python')):
        with pytest.raises(SingularError, match=text.format('forward_dynamics')):
            use()
    with pytest.raises(SingularError, match=text.format('operational_space')):
        massless.operational_space(q, z, massless.handle('bar_2', rows=rbd_ros.POINT[:1]))
    free = rbd_ros.Dynamics(with_bars(0.0, 0.0, 0.0)[0], backend='reference')
    for use in (lambda: free.forward_dynamics(q, z, z), lambda: free.consistent_velocity(q, z),
                lambda: free.loop_dynamics(q, z, z, method='direct')):
        with pytest.raises(SingularError, match='a motion that the loops allow moves no inertia'):
            use()
    with pytest.raises(SingularError, match='motion that the constraints allow moves no inertia'):
        free.loop_dynamics(q, z, z, method='whole_system')
