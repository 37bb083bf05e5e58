# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""What goes from process to process: every error of the package, models, robots and results."""

from __future__ import annotations

import importlib
import inspect
import pickle
import pkgutil

import numpy as np
import pytest
import rbd_ros
from rbd_ros.algorithms.linear.complementarity import Complementary, Status
from rbd_ros.control.interface.results import ResultCode
from rbd_ros.errors import RbdError, RbdWarning
from rbd_ros.identification import identify_payload, Recording

#: Modules that only a machine with ROS, PyTorch or JAX can import.
GUESTS = ('rbd_ros.nodes', 'rbd_ros.gradients.torch', 'rbd_ros.gradients.jax',
          'rbd_ros.command_line')


def errors() -> list[type[Exception]]:
    """Return every class of errors and warnings of the package."""
    for module in pkgutil.walk_packages(rbd_ros.__path__, 'rbd_ros.'):
        if not module.name.startswith(GUESTS):
            importlib.import_module(module.name)
    found: list[type[Exception]] = []
    waiting: list[type[Exception]] = [RbdError, RbdWarning]
    while waiting:
        kind = waiting.pop()
        found.append(kind)
        waiting += kind.__subclasses__()
    return sorted((kind for kind in found if kind.__module__.startswith('rbd_ros')),
                  key=lambda kind: kind.__qualname__)


#: Something for each type that the constructor of an error names.
SAMPLES = {'str': 'elbow', 'int': 3, 'float': 0.5, 'object': [1.0, 2.0],
           'Sequence[str]': ['a', 'b'], 'Iterable[str]': ['a', 'b'],
           'tuple[str, ...]': ('a', 'b'), 'ResultCode': ResultCode.INVALID_GOAL,
           'Complementary': Complementary(np.zeros(2), np.ones(2), Status.NONE, np.eye(2)[0])}


def made(kind: type[Exception]) -> Exception:
    """Return an error of a class, with something for each argument of its constructor."""
    if '__init__' not in vars(kind) and all(
            '__init__' not in vars(base) for base in kind.__mro__ if issubclass(base, RbdError)):
        return kind('joint "elbow": 7 is too much')
    arguments = [p for p in inspect.signature(kind).parameters.values()
                 if p.kind is p.POSITIONAL_OR_KEYWORD]
    return kind(*[SAMPLES[str(p.annotation)] for p in arguments])


@pytest.mark.parametrize('protocol', range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_every_error(protocol: int) -> None:
    """An error of another process has its class, its message and what it carries."""
    kinds = errors()
    assert len(kinds) >= 18
    for kind in kinds:
        error = made(kind)
        again = pickle.loads(pickle.dumps(error, protocol))
        assert type(again) is kind and str(again) == str(error), kind
        assert vars(again).keys() == vars(error).keys(), kind
        if kind.__name__ != 'UnseenError':      # whose value goes as text
            assert pickle.dumps(vars(again)) == pickle.dumps(vars(error)), kind


def test_robot_with_all_that_it_was_given() -> None:
    """A robot of another process computes the same, with payload, gravity, time and threads."""
    model = rbd_ros.load_urdf('package://rbd_ros/urdf/seven_joint_arm.urdf')
    robot = rbd_ros.Dynamics(model, payload_frame='tool0', threads=1)
    robot.set_payload(2.0, com=[0.0, 0.1, 0.0], inertia=np.diag([0.1, 0.1, 0.1]))
    robot.set_gravity([0.0, 1.0, -9.0])
    again = pickle.loads(pickle.dumps(robot))
    q = np.random.default_rng(0).uniform(-1.0, 1.0, (600, 7))
    np.testing.assert_array_equal(again.gravity(q), robot.gravity(q))
    assert again.kernel('gravity').threads == robot.kernel('gravity').threads == 1
    assert pickle.loads(pickle.dumps(model)).digest() == model.digest()


def test_results() -> None:
    """Results with names come back as what they are."""
    model = rbd_ros.load_urdf('package://rbd_ros/urdf/seven_joint_arm.urdf')
    robot = rbd_ros.Dynamics(model)
    rng = np.random.default_rng(1)
    q, qd, qdd = rng.uniform(-1.0, 1.0, (3, 40, 7))
    found = [robot.inverse_dynamics_derivatives(q, qd, qdd), robot.operational_space(
        q[0], qd[0], ['tool0']), Recording(q[:, 0], q, qd, qdd, q), identify_payload(
            robot, 'tool0', q, qd, qdd, robot.inverse_dynamics(q, qd, qdd))]
    for each in found:
        again = pickle.loads(pickle.dumps(each))
        assert type(again) is type(each)
        assert pickle.dumps(again) == pickle.dumps(each)


@pytest.mark.parametrize('threads', [0, -1, 1.5, 'all'])
def test_threads_are_a_number(threads: object) -> None:
    """Threads that cannot be are refused."""
    model = rbd_ros.load_urdf('package://rbd_ros/urdf/seven_joint_arm.urdf')
    with pytest.raises(RbdError, match='threads is .* 1 or more'):
        rbd_ros.Dynamics(model, threads=threads)  # type: ignore[arg-type]


def test_threads_of_a_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    """A robot of one thread asks for no helper, one of three for two."""
    from rbd_ros.compiler.native import batch
    asked: list[int] = []
    together = batch.run_together
    monkeypatch.setattr(batch, 'run_together', lambda tasks: (
        asked.append(len(tasks)), together(tasks))[1])
    model = rbd_ros.load_urdf('package://rbd_ros/urdf/seven_joint_arm.urdf')
    q = np.zeros((5000, 7))
    for threads in (1, 3):
        robot = rbd_ros.Dynamics(model, threads=threads)
        robot.inverse_dynamics(q, q, q)
        robot.kernel('gravity').batch(q, robot.gravity_vector)
    assert asked == [3, 3]
