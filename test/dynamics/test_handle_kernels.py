# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Kernels of handles: few of them, kept within bounds, for handles anywhere on a body."""

from functools import partial
import types

import numpy as np
import pytest
import rbd_ros
from rbd_ros.compiler.backends import has_llvm
from rbd_ros.dynamics.families.handles import methods as handle_methods
from rbd_ros.dynamics.kernels.builder import KernelBuilder
from rbd_ros.joints import Prismatic, Revolute
from rbd_ros.model.positions import random_position
from rbd_ros.samples import families
from rbd_ros.spatial import RigidInertia, rotx, rotz, Sym3, Transform, Vec3, xlt

pytestmark = pytest.mark.slow

BACKENDS = ['reference', 'python', *(['llvm'] if has_llvm() else [])]
ROD = RigidInertia.from_com(1.0, Vec3(0.2, 0.0, 0.0), Sym3(0.01, 0.0, 0.0, 0.02, 0.0, 0.03))


@pytest.fixture
def built(monkeypatch):
    """Return the names of the kernels that are built from now on."""
    names, build = [], KernelBuilder.kernel

    def recorded(builder, item):
        names.append(item.name)
        return build(builder, item)
    monkeypatch.setattr(KernelBuilder, 'kernel', recorded)
    return names


def test_kernels_of_handles_are_bounded(built, monkeypatch):
    """Of ever new sets of frames the kernels longest unused are dropped; results stay right."""
    monkeypatch.setattr('rbd_ros.dynamics.kernels.store.HANDLES', 3)
    sought, find = [], handle_methods.find_space
    monkeypatch.setattr(handle_methods, 'find_space',
                        lambda store, *key: sought.append(key) or find(store, *key))
    builder = rbd_ros.ModelBuilder()
    builder.add_body('a', 'base', Prismatic(), None, ROD)
    robot = rbd_ros.Dynamics(builder.build(), backend='python')
    first, *others = [robot.handle('a', rows=[(0.0,) * 5 + (1.0,)] * n) for n in range(1, 7)]
    space_of = partial(robot.operational_space, [0.1], [0.0], max_condition=1e3)
    for handle in others:
        for each in (handle, first):
            assert space_of(each).Phi[0, 0] == pytest.approx(1.0)
    assert len(built) == len(sought) == 6
    for handle in (first, others[-1], others[-2]):      # the last used, and one used all the time
        space_of(handle)
    assert len(built) == len(sought) == 6
    space_of(others[0])                                 # was dropped, and drops another
    assert len(built) == len(sought) == 7
    space_of(first)
    assert len(built) == len(sought) == 8
    kernel = robot.kernel('operational_space', first)
    for handle in others:
        robot.kernel('operational_space', handle)
        assert robot.kernel('operational_space', first) is kernel
    mass_matrix = robot.kernel('mass_matrix')
    for handle in others:
        robot.kernel('operational_space', handle)
    assert robot.kernel('mass_matrix') is mass_matrix   # only handles are counted


@pytest.mark.parametrize('backend', BACKENDS)
def test_a_new_point_compiles_nothing(backend, built):
    """Handles anywhere on a body are the frames that stand there, from one kernel."""
    base = families.random_tree(3, 3)
    builder, rng = rbd_ros.ModelBuilder(), np.random.default_rng(3)
    names = ['base', *(f'b{i}' for i in range(1, 4))]
    for i in range(1, 4):
        builder.add_body(names[i], names[base.parent[i]], base.joint[i], base.X_T[i],
                         base.inertia[i])
    points = rng.uniform(-0.3, 0.3, (2, 3)).tolist()
    builder.add_frame('tool', 'b3', rotz(0.4) @ rotx(-0.7) @ xlt(0.1, 0.2, 0.3))
    for k, point in enumerate(points):
        builder.add_frame(f'f{k}', 'tool', xlt(*point))
    robot = rbd_ros.Dynamics(builder.build(), backend=backend)
    q = np.array(random_position(robot.model, rng))
    qd = rng.normal(size=robot.model.nv)
    for k, point in enumerate(points):
        named = robot.operational_space(q, qd, f'f{k}', max_condition=1e6)
        found = robot.operational_space(q, qd, robot.handle('tool', point=point),
                                        max_condition=1e6)
        for name in ('Phi', 'b', 'J'):
            np.testing.assert_allclose(getattr(found, name), getattr(named, name), rtol=1e-9,
                                       atol=1e-9)
        mix = rng.normal(size=(3, 6))
        rows = robot.handle(f'f{k}', rows=mix)
        turned = robot.operational_space(q, qd, rows, max_condition=1e6)
        np.testing.assert_allclose(turned.J, mix @ named.J, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(turned.Phi, mix @ named.Phi @ mix.T, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(turned.b, mix @ named.b, rtol=1e-9, atol=1e-9)
    assert sorted(built)[:2] == ['operational_space body 3 x 3', 'operational_space body 3 x 6']
    assert len(built) == 2 + len(points)
    two = [robot.handle('b3', point=points[0]), robot.handle('f1', rows=mix[:1])]
    both = robot.operational_space(q, qd, two, max_condition=1e6)   # seven rows: another way
    one = [robot.operational_space(q, qd, each, max_condition=1e6) for each in two]
    np.testing.assert_allclose(both.J, np.vstack([each.J for each in one]), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(both.Phi[6, 6], one[1].Phi[0, 0], rtol=1e-9)


@pytest.mark.parametrize('backend', BACKENDS)
def test_a_bound_handle_can_be_moved(backend):
    """Place and directions of a handle are inputs of its bound kernel."""
    builder = rbd_ros.ModelBuilder()
    builder.add_body('rod', 'base', Revolute(), None, ROD)
    robot = rbd_ros.Dynamics(builder.build(), backend=backend)
    across = [(0.0, 0.0, 0.0, 0.0, 1.0, 0.0)]
    bound = robot.bind('operational_space', robot.handle('rod', point=(0.5, 0.0, 0.0),
                                                         rows=across))
    inertia_about_axis = 0.03 + 0.2**2
    for distance in (0.5, 0.25, 1.0):                   # a point mass I / r^2 is felt there
        bound.inputs['placements'][0, 9:] = [distance, 0.0, 0.0]
        bound()
        assert bound.outputs['Lambda'][0, 0] == pytest.approx(inertia_about_axis / distance**2)
    bound.inputs['directions'][:] = [0.0, 0.0, 1.0, 0.0, 0.0, 0.0]
    bound()
    assert bound.outputs['Lambda'][0, 0] == pytest.approx(inertia_about_axis)


def test_operational_space_takes_the_fast_path(monkeypatch):
    """A call with arrays does not run the checks in Python, with and without a bound."""
    pytest.importorskip('llvmlite', reason='llvmlite is not installed')
    from rbd_ros.compiler import kernel
    robot = rbd_ros.Dynamics(families.regular_tree(7), backend='llvm')
    q, frame = np.linspace(-1.0, 1.0, 7), robot.model.frame_names[-1]
    handle = robot.handle(frame, point=(0.0, 0.0, 0.1))
    expected = [robot.operational_space(q.tolist(), q, each, max_condition=1e6)
                for each in (frame, [frame], handle)]
    monkeypatch.setattr(kernel, 'checked', types.SimpleNamespace())    # not to be called
    for each, space in zip((frame, [frame], handle), expected, strict=True):
        found = robot.operational_space(q, q, each, max_condition=1e6)
        assert all(np.array_equal(a, b) for a, b in zip(found, space, strict=True))
        assert isinstance(found.condition, float)
    with pytest.raises(TypeError):
        robot.operational_space(q.tolist(), q, frame, max_condition=1e6)


def test_transforms_of_a_handle_are_looked_up_by_value():
    """Handles made twice are one handle: hash and equality go by their content."""
    robot = rbd_ros.Dynamics(families.regular_tree(2), backend='python')
    one, two = (robot.handle('body_2', point=(0.1, 0.0, 0.0)) for _ in range(2))
    assert one == two and hash(one) == hash(two) and hash(one.frame) == hash(two.frame)
    assert one.frame.placement == Transform.translation(
        Vec3(0.1, 0.0, 0.0)) @ robot.model.frame('body_2').placement
