# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The quantities of a robot as functions of PyTorch, for ``backward`` and ``torch.func``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
import math
from typing import Any

import numpy as np

from rbd_ros.errors import ShapeError
from rbd_ros.gradients.functions import (
    Function, Functions, pulled, pushed, refuse_second, Shape)
import torch

_TYPES = (torch.float32, torch.float64)


class TorchDynamics(Functions):
    """
    The quantities of a robot as functions of PyTorch.

    ``inverse_dynamics(q, qd, qdd)``, ``pose(q, frame)`` and all else with one result: tensors
    (..., n), whose leading axes broadcast, all float64 or all float32. A robot on the processor
    takes tensors of the processor and computes in double; float64 tensors are used as they lie. A
    robot on a GPU takes tensors of that GPU as they lie, of its own scalar type, and returns at
    once; ``gpu.check()`` tells whether all numbers were finite. Gradients by q are those by its
    entries; one that changes a quaternion's length alone is zero. Gravity and payloads have no
    gradient.

    :param robot: on the processor, or on a device (``robot.on('cuda')``).
    """

    def _make(self, function: Function) -> Callable[..., Any]:
        return partial(_call, function)


def _call(function: Function, *arrays: Any) -> torch.Tensor:
    """Return a quantity of checked tensors."""
    for name, x in zip(function.inputs, arrays):
        if not isinstance(x, torch.Tensor) or x.dtype not in _TYPES:
            got = x.dtype if isinstance(x, torch.Tensor) else type(x).__name__
            raise ShapeError(f'{name} must be a tensor of float64 or float32, got {got}')
        if x.dtype != arrays[0].dtype or x.device != arrays[0].device:
            raise ShapeError(f'{name} is of {x.dtype} on {x.device}, {function.inputs[0]} of '
                             f'{arrays[0].dtype} on {arrays[0].device}; give all the same')
    leads = function.leading([tuple(x.shape) for x in arrays])
    if arrays[0].device.type != 'cpu' and not function.on_device:
        raise ShapeError(f'{function.inputs[0]} is on {arrays[0].device} and the robot computes '
                         "on the processor; use TorchDynamics(robot.on('cuda'))")
    lead = np.broadcast_shapes(*leads)
    return _Value.apply(function, *[
        x.expand(*lead, *shape) if own else x
        for x, own, shape in zip(arrays, leads, function.shapes, strict=True)])


class _Value(torch.autograd.Function):
    """A quantity; each tensor has no leading axis, or those of all."""

    @staticmethod
    def forward(function: Function, *arrays: torch.Tensor) -> torch.Tensor:
        return _computed(function, lambda *x: (function.value(*x),), [function.output], arrays)[0]

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.function = inputs[0]
        ctx.save_for_backward(*inputs[1:])
        ctx.save_for_forward(*inputs[1:])

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        function, arrays = ctx.function, ctx.saved_tensors
        matrices = _flat(function, _Derivatives.apply(function, *arrays))
        flat = gradient.reshape(*_lead(gradient, function.output), math.prod(function.output))
        found = pulled(function.slopes, matrices, flat, _times_transposed)
        # what all states share gets the sum over them
        return None, *[found[name].reshape(-1, *x.shape).sum(0) if len(x.shape) == len(own) else
                       found[name].reshape(x.shape) if needed else None
                       for name, x, own, needed in zip(
                           function.inputs, arrays, function.shapes, ctx.needs_input_grad[1:],
                           strict=True)]

    @staticmethod
    def jvp(ctx: Any, _: None, *changes: torch.Tensor | None) -> torch.Tensor:
        function, arrays = ctx.function, ctx.saved_tensors
        matrices = _flat(function, _Derivatives.apply(function, *arrays))
        moved = {name: t.reshape(*_lead(t, own), math.prod(own)) for name, t, own in zip(
            function.inputs, changes, function.shapes, strict=True) if t is not None}
        change = pushed(function.slopes, matrices, moved, _times)
        lead = np.broadcast_shapes(*[_lead(x, own) for x, own in zip(arrays, function.shapes)])
        return change.reshape(*change.shape[:-1], *function.output).expand(
            *lead, *function.output)

    @staticmethod
    def vmap(info: Any, in_dims: Any, function: Function, *arrays: torch.Tensor) -> Any:
        return _Value.apply(function, *_outermost(function, in_dims[1:], arrays)), 0


class _Derivatives(torch.autograd.Function):
    """The matrices of the slopes of a quantity."""

    @staticmethod
    def forward(function: Function, *arrays: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return tuple(_computed(
            function, function.derivatives, function.derivative_shapes(), arrays))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.name = inputs[0].quantity.name

    @staticmethod
    def backward(ctx: Any, *_: Any) -> None:
        raise refuse_second(ctx.name)

    @staticmethod
    def jvp(ctx: Any, *_: Any) -> None:
        raise refuse_second(ctx.name)

    @staticmethod
    def vmap(info: Any, in_dims: Any, function: Function, *arrays: torch.Tensor) -> Any:
        found = _Derivatives.apply(function, *_outermost(function, in_dims[1:], arrays))
        return found, tuple([0] * len(found))


def _lead(x: torch.Tensor, own: Shape) -> Shape:
    return tuple(x.shape[:x.ndim - len(own)])


def _flat(function: Function, matrices: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Return derivatives with one axis for the result and one for the input."""
    size = math.prod(function.output)
    return [A.reshape(*_lead(A, own), size, math.prod(own) // size)
            for A, own in zip(matrices, function.derivative_shapes(), strict=True)]


def _times(A: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return torch.einsum('...ij,...j->...i', A, x)


def _times_transposed(A: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return torch.einsum('...ij,...i->...j', A, x)


def _outermost(function: Function, dims: Sequence[int | None],
               arrays: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Return tensors with the axis that is mapped over before all others, of one length."""
    inner = max(x.ndim - len(own) - (at is not None) for x, own, at in zip(
        arrays, function.shapes, dims, strict=True))
    count = next(x.shape[at] for x, at in zip(arrays, dims, strict=True) if at is not None)
    lead = next((x.movedim(at, 0).shape[1:1 + inner] if at is not None else x.shape[:inner])
                for x, own, at in zip(arrays, function.shapes, dims, strict=True)
                if x.ndim - len(own) - (at is not None) == inner)
    moved = []
    for x, own, at in zip(arrays, function.shapes, dims, strict=True):
        if at is None and x.ndim == len(own):       # of all states
            moved.append(x)
            continue
        first = x.unsqueeze(0) if at is None else x.movedim(at, 0)
        while first.ndim < 1 + inner + len(own):
            first = first.unsqueeze(1)
        moved.append(first.expand(count, *lead, *own))
    return moved


def _computed(function: Function, compute: Callable[..., Sequence[Any]], shapes: Sequence[Shape],
              arrays: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Return results of the robot as tensors like the arguments."""
    lead = np.broadcast_shapes(*[_lead(x, own) for x, own in zip(
        arrays, function.shapes, strict=True)])
    like = arrays[0]
    count = math.prod(lead)
    states: list[Any] = [x.detach().reshape(count, *own) if x.ndim > len(own) else x.detach()
                         for x, own in zip(arrays, function.shapes, strict=True)]
    if like.device.type == 'cpu':
        states = [x.numpy() for x in states]
    found = [torch.from_numpy(np.ascontiguousarray(each)) if isinstance(each, np.ndarray) else
             torch.as_tensor(each) for each in compute(*states)]
    return [each.to(like.dtype).reshape(*lead, *shape)
            for each, shape in zip(found, shapes, strict=True)]
