# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
The quantities of a robot as functions of JAX: under ``jit``, ``vmap``, ``grad`` and ``jvp``.

Arrays that lie on the device of the robot are used there, outside of ``jit``. Everywhere else the
kernels of the robot are called back: JAX brings arrays to the processor for that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
import math
from typing import Any

import jax
from jax import numpy as jnp
import numpy as np

from rbd_ros.errors import ShapeError
from rbd_ros.gradients.functions import Function, Functions, pushed, refuse_second, Shape


class JaxDynamics(Functions):
    """
    The quantities of a robot as functions of JAX.

    ``inverse_dynamics(q, qd, qdd)``, ``pose(q, frame)`` and all else with one result: arrays
    (..., n), whose leading axes broadcast. Numbers are those of JAX: float32, unless
    ``jax_enable_x64`` is set; a robot on the processor computes in double whatever they are.
    Gradients by q are those by its entries; one that changes a quaternion's length alone is zero.
    Gravity and payloads are those of the robot when a call runs, and have no gradient.

    :param robot: on the processor, or on a device (``robot.on('cuda')``).
    """

    def _make(self, function: Function) -> Callable[..., Any]:
        name = function.quantity.name
        outputs, slopes = [function.output], function.derivative_shapes()

        @jax.custom_jvp
        def derivatives(*arrays: Any) -> Any:
            return _called(function, function.derivatives, slopes, arrays)

        @derivatives.defjvp
        def refuse(primals: Any, tangents: Any) -> Any:
            raise refuse_second(name)

        @jax.custom_jvp
        def value(*arrays: Any) -> Any:
            return _called(function, lambda *x: (function.value(*x),), outputs, arrays)[0]

        @value.defjvp
        def push(primals: Any, tangents: Any) -> Any:
            matrices = _flat(function, derivatives(*primals))
            changes = {each: t.reshape(*_lead(t, own), math.prod(own)) for each, t, own in zip(
                function.inputs, tangents, function.shapes, strict=True)}
            result = value(*primals)
            change = pushed(function.slopes, matrices, changes, _times)
            # a shared input alone may have no leading axes
            return result, jnp.broadcast_to(
                change.reshape(*change.shape[:-1], *function.output), result.shape)

        def call(*arrays: Any) -> Any:
            given = [_array(each, x) for each, x in zip(function.inputs, arrays)]
            function.leading([x.shape for x in given[:len(arrays)]])
            kind = jnp.result_type(*given)
            return value(*[x.astype(kind) for x in given])
        return call


def _array(name: str, x: Any) -> Any:
    """Return an array of floating-point numbers."""
    found = jnp.asarray(x)
    if jnp.issubdtype(found.dtype, jnp.integer):
        return found.astype(jnp.result_type(float))
    if found.dtype.name not in ('float32', 'float64'):
        raise ShapeError(f'{name} is of {found.dtype}, expected float32 or float64')
    return found


def _lead(x: Any, own: Shape) -> Shape:
    return tuple(x.shape[:x.ndim - len(own)])


def _flat(function: Function, matrices: Sequence[Any]) -> list[Any]:
    """Return derivatives with one axis for the result and one for the input."""
    size = math.prod(function.output)
    return [A.reshape(*_lead(A, own), size, math.prod(own) // size)
            for A, own in zip(matrices, function.derivative_shapes(), strict=True)]


def _times(A: Any, x: Any) -> Any:
    return jnp.einsum('...ij,...j->...i', A, x)


def _called(function: Function, compute: Callable[..., Sequence[Any]], shapes: Sequence[Shape],
            arrays: Sequence[Any]) -> tuple[Any, ...]:
    """Return results of the robot: of arrays where they are, or called back by JAX."""
    leads = [_lead(x, own) for x, own in zip(arrays, function.shapes, strict=True)]
    lead, kind = np.broadcast_shapes(*leads), arrays[0].dtype
    if function.on_device and not any(isinstance(x, jax.core.Tracer) for x in arrays) and all(
            device.platform == 'gpu' for x in arrays for device in x.devices()):
        return _reshaped(compute(*_states(function, arrays, jnp)), shapes, lead)

    def host(*given: Any) -> tuple[Any, ...]:
        values = [np.asarray(x) for x in given]
        count = np.broadcast_shapes(*[_lead(x, own) for x, own in zip(values, function.shapes)])
        found = _reshaped(compute(*_states(function, values, np)), shapes, count)
        return tuple([np.asarray(each, kind) for each in found])
    results = [jax.ShapeDtypeStruct((*lead, *shape), kind) for shape in shapes]
    return tuple(jax.pure_callback(host, tuple(results), *arrays, vmap_method='broadcast_all'))


def _states(function: Function, arrays: Sequence[Any], library: Any) -> list[Any]:
    """Return arrays with one leading axis, or none where all states share one."""
    leads = [_lead(x, own) for x, own in zip(arrays, function.shapes, strict=True)]
    lead = np.broadcast_shapes(*leads)
    count = math.prod(lead)
    return [x if not own else library.broadcast_to(x, (*lead, *shape)).reshape(count, *shape)
            for x, own, shape in zip(arrays, leads, function.shapes, strict=True)]


def _reshaped(results: Sequence[Any], shapes: Sequence[Shape], lead: Shape) -> tuple[Any, ...]:
    return tuple([each.reshape(*lead, *shape) for each, shape in zip(results, shapes,
                                                                     strict=True)])
