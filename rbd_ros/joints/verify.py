# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""A check that the methods of a joint describe one and the same motion, and can be compiled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rbd_ros.compiler import Scalar, trace, Values
from rbd_ros.errors import ModelError
from rbd_ros.joints.base import followed, Joint
from rbd_ros.spatial import Motion, Transform

STEP = 1.0e-3


def verify(joint: Joint, q: Sequence[float], qd: Sequence[float], t: float = 0.0,
           tolerance: float = 1.0e-7) -> None:
    """
    Raise ModelError when a joint contradicts itself at one state.

    Checks velocity against the derivative of the transform, S qd + sigma against velocity, bias
    against the derivative of velocity, and T against S; then that every method which a kernel
    needs can be traced, and gives the same numbers when it is.

    :param q: position, plain floats.
    :param qd: velocity, plain floats.
    :param tolerance: on every number, relative to 1; the fourth-order differences reach 1e-10.
    """
    def at(s: float) -> tuple[list[Scalar], float]:
        return followed(joint, q, qd, s * STEP), t + s * STEP

    v = joint.velocity(q, qd, t)
    X = joint.transform(q, t)
    columns = [X @ Motion.unit(i) for i in range(6)]
    moved = _derivative(lambda s: _columns(joint.transform(*at(s))))
    expected = [x for m in columns for x in (-v.cross(m)).to_list()]              # 2.45
    _compare(joint, 'velocity', 'the derivative of transform', moved, expected, tolerance)

    total = joint.drift(q, t)
    for s, speed in zip(joint.subspace(q, t), qd):
        total = total + s * speed
    _compare(joint, 'velocity', 'subspace and drift', v.to_list(), total.to_list(), tolerance)

    rate = _derivative(lambda s: joint.velocity(at(s)[0], qd, at(s)[1]).to_list())
    _compare(joint, 'bias', 'the apparent derivative of subspace and drift', rate,
             joint.bias(q, qd, t).to_list(), tolerance)

    work = [f.dot(s) for f in joint.constraint_subspace(q, t) for s in joint.subspace(q, t)]
    _compare(joint, 'constraint_subspace', 'subspace', work, [0.0] * len(work), tolerance)
    _verify_traced(joint, q, qd, t, tolerance)


def _verify_traced(joint: Joint, q: Sequence[float], qd: Sequence[float], t: float,
                   tolerance: float) -> None:
    """Trace what kernels are made from, and compare it with the same on plain floats."""
    methods: dict[str, Callable[[Sequence[Any], Sequence[Any], Scalar], Sequence[Any]]] = {
        'transform': lambda q, qd, t: _columns(joint.transform(q, t)),
        'subspace': lambda q, qd, t: [x for s in joint.subspace(q, t) for x in s.to_list()],
        'velocity': lambda q, qd, t: joint.velocity(q, qd, t).to_list(),
        'bias': lambda q, qd, t: joint.bias(q, qd, t).to_list(),
        'constraint_subspace':
            lambda q, qd, t: [x for f in joint.constraint_subspace(q, t) for x in f.to_list()],
        'q_dot': lambda q, qd, t: joint.q_dot(q, qd),
        'integrate': lambda q, qd, t: joint.integrate(q, qd),
        'constraint_rate':
            lambda q, qd, t: [x for f in joint.constraint_rate(q, qd, t) for x in f.to_list()]}
    shapes = {'q': (joint.nq,), 'qd': (joint.nv,), 't': ()}
    for name, method in methods.items():
        try:
            graph = trace(lambda *x, run=method: list(run(*x)), shapes, name=name)
        except Exception as error:
            raise ModelError(
                f'{joint.type_name} joint: {name} cannot be compiled: {error}; write it with the '
                'functions of rbd_ros.compiler (sin, cos, where, ...) and without branches that '
                'depend on q, qd or t') from error
        _compare(joint, f'traced {name}', 'the same on plain floats',
                 graph.evaluate(list(q), list(qd), [t]), method(q, qd, t), tolerance)


def _columns(X: Transform) -> list[Scalar]:
    return [x for i in range(6) for x in (X @ Motion.unit(i)).to_list()]


def _derivative(function: Callable[[float], list[Scalar]]) -> list[Scalar]:
    near, far = (function(1.0), function(-1.0)), (function(2.0), function(-2.0))
    return [(8.0 * (a - b) - (c - d)) / (12.0 * STEP) for a, b, c, d in zip(*near, *far)]


def _compare(joint: Joint, method: str, against: str, found: Values,
             expected: Values, tolerance: float) -> None:
    worst = max((abs(float(a - b)) for a, b in zip(found, expected)), default=0.0)
    if not worst <= tolerance * max([1.0, *(abs(float(x)) for x in expected)]):
        raise ModelError(f'{joint.type_name} joint: {method} disagrees with {against} by '
                         f'{worst:.3g}')
