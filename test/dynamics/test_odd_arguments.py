# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Arguments that nobody should give get a clear error, or the right answer."""

import copy
import importlib
import pickle
import pkgutil

import numpy as np
import pytest
import rbd_ros
from rbd_ros.compiler import sin
from rbd_ros.compiler.backends import has_llvm
from rbd_ros.dynamics.contact_system import ContactSystem
from rbd_ros.errors import RbdError
from rbd_ros.joints import Prescribed, Revolute
from rbd_ros.samples import families
from rbd_ros.sim.robot import SimulatedRobot
from rbd_ros.sim.steps.adaptive import integrate
from rbd_ros.sim.steps.coordinates import Coordinates
from rbd_ros.spatial import RigidInertia, Sym3, Vec3, xlt

BODY = RigidInertia.from_com(1.0, Vec3(0.1, 0.2, 0.3), Sym3.diagonal(0.1, 0.2, 0.25))
BACKENDS = ['reference', 'python', *(['llvm'] if has_llvm() else [])]


@pytest.fixture(scope='module')
def robot():
    """Return an arm with frames whose names C cannot tell apart."""
    builder = rbd_ros.ModelBuilder('arm').add_body('a', 'base', Revolute(), None, BODY)
    builder.add_body('b', 'a', Revolute((1, 0, 0)), xlt(0.3, 0.0, 0.0), BODY)
    for name in ('tip_', 'tip-', 'tip+', 'tip__2'):
        builder.add_frame(name, 'b', xlt(0.1, 0.0, 0.0))
    return rbd_ros.Dynamics(builder.build(), backend='python')


def test_time_does_not_run_backwards(robot):
    """Neither a step nor a first step is negative, infinite or no number."""
    simulated = SimulatedRobot(robot.model)
    for h in (-0.01, float('nan'), float('inf')):
        with pytest.raises(rbd_ros.SettingError, match='step is .* must be finite and not neg'):
            simulated.step(h)
    simulated.place([0.3, 0.4], [0.1, 0.2])
    simulated.step(0.0)                         # nothing happens in no time
    assert (*simulated.q, *simulated.v, simulated.time) == (0.3, 0.4, 0.1, 0.2, 0.0)
    space = Coordinates(robot.model)
    for first in (-1.0, 0.0, float('nan'), float('inf')):
        with pytest.raises(rbd_ros.SettingError, match='first is .* must be positive and finite'):
            integrate(space, lambda q, v: v, np.zeros(2), np.zeros(2), 1.0, first=first)


@pytest.mark.parametrize('backend', BACKENDS)
def test_regressors_of_what_does_not_move_by_itself(backend):
    """Without velocities or bodies they are empty in the right shape."""
    driven = rbd_ros.ModelBuilder('driven').add_body('a', 'base', Prescribed(
        Revolute(), lambda t: ([sin(t)], [1.0], [0.0])), None, BODY).build()
    none = np.zeros(0)
    for model in (driven, rbd_ros.ModelBuilder('nothing').build()):
        still = rbd_ros.Dynamics(model, backend=backend)
        columns = 10 * model.nb
        assert still.torque_regressor(none, none, none).shape == (0, columns)
        assert still.torque_regressor(np.zeros((3, 0)), none, none).shape == (3, 0, columns)
        assert still.momentum_regressor(none, none).shape == (6, columns)
        assert still.energy_regressor(none, none).shape == (2, columns)
        out = np.empty((0, columns))
        assert still.torque_regressor(none, none, none, out=out) is out
        with pytest.raises(rbd_ros.ShapeError, match=r'out has shape \(1, 2\)'):
            still.torque_regressor(none, none, none, out=np.empty((1, 2)))


def test_c_source_of_frames_with_like_names(robot):
    """Each function has a name of its own; the same one twice is refused as before."""
    text = robot.c_source(*(('pose', name) for name in ('tip_', 'tip-', 'tip+', 'tip__2')))
    names = [line.split('(')[0].split()[-1] for line in text.header.splitlines()
             if line.startswith('void')]
    assert names == ['rbd_pose_tip_', 'rbd_pose_tip__2', 'rbd_pose_tip__3', 'rbd_pose_tip__2_2']
    with pytest.raises(ValueError, match='two graphs have the same name'):
        robot.c_source('gravity', 'gravity')


def test_a_frame_is_a_name(robot):
    """A list of names is no name."""
    q = np.zeros(2)
    for name, arguments in (('pose', (q,)), ('jacobian', (q,)), ('velocity', (q, q)),
                            ('jacobian_rate', (q, q)), ('frame_derivatives', (q, q, q))):
        for frame in (['tip_'], {'tip_'}, 3, None):
            with pytest.raises(RbdError, match=f'{name} needs the name of a frame, got '):
                getattr(robot, name)(*arguments, frame)


@pytest.mark.parametrize('backend', BACKENDS)
def test_bound_kernels_are_not_copied(backend):
    """A copy would write into the arrays of the first, and read its own."""
    bound = rbd_ros.Dynamics(families.regular_tree(2), backend=backend).bind('gravity')
    for again in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match='neither copied nor pickled; bind another one'):
            again(bound)


def test_contacts_of_a_joint_without_inertia():
    """There is no acceleration to solve for."""
    model = rbd_ros.ModelBuilder('bare').add_body('a', 'base', Revolute(), None, BODY).add_body(
        'b', 'a', Revolute()).build()
    with pytest.raises(rbd_ros.SingularError, match='joint "b_joint" of "bare" moves without'):
        ContactSystem(model, backend='python')


def test_handles_of_another_robot(robot):
    """A handle knows its body by number: one of another robot would be somewhere else."""
    long = rbd_ros.Dynamics(families.regular_tree(3), backend='python')
    q = np.zeros(2)
    with pytest.raises(RbdError, match='the handle at "body_3" is not of "arm": it is on body 3'):
        robot.operational_space(q, q, long.handle('body_3'))
    builder = rbd_ros.ModelBuilder('other').add_body('a', 'base', Revolute(), None, BODY)
    other = rbd_ros.Dynamics(builder.add_frame('tip_', 'a').build(), backend='python')
    with pytest.raises(RbdError, match='the handle at "tip_" is not of "arm"'):
        robot.operational_space(q, q, other.handle('tip_'))


#: What only users of gradients install.
OPTIONAL = ('jax', 'torch')


def error_classes():
    """Return every class of errors of the package that can be imported here."""
    for module in pkgutil.walk_packages(rbd_ros.__path__, 'rbd_ros.'):
        if '.nodes' not in module.name and not module.name.endswith('__main__'):
            try:
                importlib.import_module(module.name)
            except ModuleNotFoundError as error:
                if error.name not in OPTIONAL:
                    raise
    found, todo = set(), [BaseException]
    while todo:
        kind = todo.pop()
        todo += kind.__subclasses__()
        if kind.__module__.startswith('rbd_ros.'):
            found.add(kind)
    return found


def test_every_error_is_pickled():
    """Worker processes send errors back: class, text and attributes stay the same."""
    made = {'UnknownName': ('frame', 'tol', ('tool', 'base')),
            'UnseenError': (lambda: 0, 'it hides')}
    kinds = error_classes()
    assert len(kinds) > 12
    for kind in kinds:
        error = kind.__new__(kind, 'what', 'ever')
        if kind.__init__ is Exception.__init__ or kind.__name__ in made:
            error = kind(*made.get(kind.__name__, ('a text',)))
        if kind.__name__ != 'UnseenError':
            error.extra = {'joint': 3}
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is kind and str(again) == str(error) and again.args == error.args
        if kind.__name__ != 'UnseenError':
            assert vars(again) == vars(error)
