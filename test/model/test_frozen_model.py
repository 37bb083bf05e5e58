# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Nothing that a model holds can change after it was built: digests and kernels stay true."""

import copy
import dataclasses
import pickle
import types

import numpy as np
import pytest
from rbd_ros.joints import Composite, Prismatic, RackAndPinion, Revolute, Spherical
from rbd_ros.model.builder import JointData, ModelBuilder
from rbd_ros.model.coupling import Gear, Mimic
from rbd_ros.samples import families
from rbd_ros.spatial import (
    ArticulatedInertia, Force, InverseInertia, link_transform, Mat3, Motion, RigidInertia, rotx,
    rotz, Sym3, Transform, Vec3, xlt)
from rbd_ros.spatial.planar import PlanarForce, PlanarInertia, PlanarMotion, PlanarTransform
from rbd_ros.spatial.value import Value

PLAIN = (float, int, str, bool, type(None), types.FunctionType)


def closed_arm(seed):
    """Return an arm with a loop, a follower, a gear and a compound joint, made with arrays."""
    rng = np.random.default_rng(seed)
    builder = ModelBuilder('arm', gravity=np.array([0.0, 0.1, -9.8]),
                           base_inertia=families.random_inertia(rng))
    inertia = families.random_inertia(rng)
    data = JointData(lower=np.array([-1.0]), effort=np.float32(3.0), damping=[0.1])
    builder.add_body('a', 'base', Revolute(np.array([0.0, 0.0, 2.0])), None, inertia, data=data)
    builder.add_body('b', 'a', Revolute(), xlt(*rng.normal(size=3)), inertia)
    builder.add_body('c', 'b', Revolute(), xlt(0.4, 0.0, 0.0), inertia)
    builder.add_joint('pin', 'c', 'base', Revolute(), xlt(0.4, 0.0, 0.0), xlt(0.4, 0.0, 0.0))
    builder.add_body('d', 'c', Composite([Prismatic(), Spherical()]), rotx(0.3), inertia)
    builder.add_body('e', 'd', RackAndPinion(np.float64(0.2)), None, inertia)
    builder.add_body('f', 'a', Revolute(), rotz(0.1), inertia,
                     mimic=Mimic('a_joint', np.float64(2.0)))
    builder.add_body('g', 'a', Revolute(), rotz(0.2), inertia,
                     mimic=Gear(['a_joint', 'b_joint'], lambda x, y: x * y))
    builder.add_frame('tip', 'd', Transform(Mat3(np.eye(3)), Vec3(*np.ones(3))))
    return builder.build()


MODELS = [*(families.random_tree(6, seed=seed) for seed in range(4)),
          *(closed_arm(seed) for seed in range(2))]


def held(value, found):
    """Add everything that can be reached from a value to a list, by attributes and items."""
    found.append(value)
    if isinstance(value, types.MappingProxyType):
        parts = list(value.values())
    elif isinstance(value, tuple):
        parts = list(value)
    elif dataclasses.is_dataclass(value):
        parts = [getattr(value, field.name) for field in dataclasses.fields(value)]
    elif isinstance(value, Value):
        parts = [getattr(value, name) for name in value.__slots__ if not name.startswith('_')]
    else:
        parts = []
    for part in parts:
        held(part, found)
    return found


@pytest.mark.parametrize('model', MODELS, ids=lambda model: model.name)
def test_nothing_that_a_model_holds_can_be_changed(model):
    """Every value that can be reached is a plain number or text, or refuses assignment."""
    before = model.digest() if not model.has_user_code else None
    for value in held(model, []):
        assert isinstance(value, (*PLAIN, tuple, types.MappingProxyType, Value)) or (
            dataclasses.is_dataclass(value) and value.__dataclass_params__.frozen), value
        assert not isinstance(value, np.generic), f'{value!r} is not a plain number'
        names = [*getattr(value, '__slots__', ()), *getattr(value, '__dataclass_fields__', ())]
        for name in names:
            with pytest.raises(AttributeError):
                setattr(value, name, 0.0)
            with pytest.raises(AttributeError):
                delattr(value, name)
    if before is not None:
        assert dataclasses.replace(model).digest() == before


def test_an_inertia_cannot_be_scaled_between_two_kernels():
    """A number that changed under a digest would leave a wrong kernel for the next process."""
    model = families.random_tree(4, seed=1)
    with pytest.raises(AttributeError, match='a RigidInertia cannot be changed: "m" stays; make'):
        model.inertia[3].m *= 10.0
    with pytest.raises(AttributeError, match='a Vec3 cannot be changed'):
        model.X_T[2].r.x = 1.0
    with pytest.raises(AttributeError, match='a Mat3 cannot be changed'):
        del model.X_T[2].E.rows


def test_arrays_are_copied_when_they_are_given():
    """What a caller changes after a call of the builder, or in a model's maker, has no effect."""
    mass, limit, matrix = np.array(2.0), np.array([1.0]), np.eye(3)
    builder = ModelBuilder('r')
    body = RigidInertia(mass, Vec3(0.0, 0.0, 0.0), Sym3.diagonal(*np.ones(3)))
    builder.add_body('a', 'base', Revolute(), Transform(Mat3(matrix), Vec3(0.0, 0.0, mass)), body,
                     data=JointData(upper=limit))
    mass *= 10.0
    limit *= 10.0
    matrix *= 2.0
    builder.add_body('b', 'a', Revolute(), None, body)
    model = builder.build()
    assert [inertia.m for inertia in model.inertia] == [0.0, 2.0, 20.0]
    assert model.upper == (1.0, float('inf'))
    assert model.X_T[1] == xlt(0.0, 0.0, 2.0)
    friction = [0.1, 0.2]
    other = dataclasses.replace(model, friction=friction, joint_names=list(model.joint_names))
    friction[0] = 5.0
    assert other.friction == (0.1, 0.2) and type(other.joint_names) is tuple


VALUES = [
    Vec3(1.0, 2.0, 3.0), Mat3.identity(), Sym3.diagonal(1.0, 2.0, 3.0), Motion.unit(2),
    Force.unit(4), families.random_inertia(np.random.default_rng(1)), ArticulatedInertia.zero(),
    InverseInertia.zero(), xlt(1.0, 2.0, 3.0), rotx(0.3), link_transform(rotx(0.2), rotz(0.4)),
    PlanarMotion(1.0, 2.0, 3.0), PlanarForce(1.0, 2.0, 3.0), PlanarInertia(1.0, 0.1, 0.2, 3.0),
    PlanarTransform.from_angle(0.3, 1.0, 2.0)]


@pytest.mark.parametrize('value', VALUES, ids=lambda value: type(value).__name__)
def test_values_are_copied_and_pickled(value):
    """Though none can be written into, every value survives a pickle and a copy."""
    for other in (pickle.loads(pickle.dumps(value)), copy.copy(value), copy.deepcopy(value)):
        assert type(other) is type(value) and other == value
        assert other.to_list() == value.to_list()
    slots = [name for kind in type(value).__mro__ for name in getattr(kind, '__slots__', ())]
    for name in (*slots, 'anything'):
        with pytest.raises(AttributeError):
            setattr(value, name, 1.0)
