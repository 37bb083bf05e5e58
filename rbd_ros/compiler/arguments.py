# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Arrays that kernels are given: converted, checked and named in errors, once at the boundary."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbd_ros.compiler.graph.graph import Argument
from rbd_ros.errors import NonFiniteError, ShapeError

Array = NDArray[np.float64]
FLOAT64 = np.dtype(np.float64)


def unshared(arrays: Sequence[ArrayLike], out: object) -> tuple[ArrayLike, ...]:
    """Return the arguments of a call, with copies of those that ``out`` writes over."""
    targets = [t for t in (out if isinstance(out, (list, tuple)) else (out,))
               if isinstance(t, np.ndarray)]
    return tuple(np.array(x) if isinstance(x, np.ndarray) and any(
        np.may_share_memory(x, target) for target in targets) else x for x in arrays)


def converted(argument: Argument, value: ArrayLike, dtype: np.dtype = FLOAT64) -> Array:
    """Return a value as C-contiguous array of a number type, of whatever shape it has."""
    try:
        array = np.asarray(value)
        if array.dtype.kind not in 'fiubO':
            raise TypeError(array.dtype)
        return np.ascontiguousarray(array, dtype).reshape(array.shape)
    except (TypeError, ValueError, OverflowError) as error:
        raise ShapeError(
            f'{argument.name} must be an array of real numbers of shape {argument.shape}, '
            f'got {_described(value)}') from error


def check_finite(name: str, array: Array) -> None:
    """Raise NonFiniteError with the first entry that is NaN or infinite."""
    if not np.isfinite(array).all():
        index = tuple(int(k) for k in np.argwhere(~np.isfinite(array))[0])
        where = f'[{", ".join(map(str, index))}]' if index else ''
        raise NonFiniteError(f'{name}{where} is {array[index]}; every entry must be finite')


def checked(argument: Argument, value: ArrayLike, dtype: np.dtype = FLOAT64) -> Array:
    """Return a value as finite C-contiguous array of the declared shape."""
    array = converted(argument, value, dtype)
    if array.shape != argument.shape:
        raise ShapeError(
            f'{argument.name} has shape {array.shape}, expected {argument.shape}')
    check_finite(argument.name, array)
    return array


def vector(name: str, value: ArrayLike, size: int) -> Array:
    """Return a finite float64 vector of the given size, or raise an error that names it."""
    return checked(Argument(name, (size,)), value)


def shaped(name: str, value: ArrayLike, shape: tuple[int, ...], owner: str) -> Array:
    """Return a finite copy of an array, or refuse it: NumPy would repeat a shorter one."""
    array = np.array(value, dtype=float)
    if array.shape != shape:
        raise ShapeError(f'{name} has shape {array.shape}, "{owner}" needs {shape}')
    check_finite(name, array)
    return array


def checked_batch(arguments: Sequence[Argument], values: Sequence[ArrayLike], dtype: np.dtype,
                  ) -> tuple[list[Array], list[bool], int]:
    """Return the arrays of many states, which of them have the leading axis, and its length."""
    arrays, batched, count, first = [], [], None, ''
    for argument, value in zip(arguments, values):
        array = converted(argument, value, dtype)
        leading = array.ndim == len(argument.shape) + 1
        if array.shape[int(leading):] != argument.shape:
            raise ShapeError(
                f'{argument.name} has shape {array.shape}, expected (count, '
                f'{", ".join(map(str, argument.shape))}) or {argument.shape} for all states')
        if leading and count is None:
            count, first = len(array), argument.name
        if leading and len(array) != count:
            raise ShapeError(f'{argument.name} has {len(array)} states, {first} has {count}; '
                             'all batched arguments must have the same number')
        check_finite(argument.name, array)
        arrays.append(array)
        batched.append(leading)
    if count is None:
        raise ShapeError('no argument has a leading batch axis; call the kernel itself '
                         'for a single state')
    return arrays, batched, count


def prepare_outputs(arguments: Sequence[Argument], out: Array | Sequence[Array] | None,
                    leading: tuple[int, ...] = (), dtype: np.dtype = FLOAT64,
                    ) -> tuple[list[Array], list[Array]]:
    """
    Return the arrays the caller gets, and C-contiguous ones to compute into.

    :param arguments: the outputs.
    :param out: what the caller gave.
    :param leading: shape of the batch axis.
    :param dtype: type of the numbers.
    """
    shapes = [(*leading, *a.shape) for a in arguments]
    if out is None:
        targets = [np.empty(shape, dtype) for shape in shapes]
        return targets, targets
    targets = [out] if isinstance(out, np.ndarray) else list(out)
    if len(targets) != len(arguments):
        raise ShapeError(f'out holds {len(targets)} arrays, expected {len(arguments)} '
                         f'({", ".join(a.name for a in arguments)})')
    for argument, shape, target in zip(arguments, shapes, targets):
        if (not isinstance(target, np.ndarray) or target.dtype != dtype
                or target.shape != shape or not target.flags.writeable):
            raise ShapeError(f'out for {argument.name} must be a writable {dtype} array of shape '
                             f'{shape}, got {_described(target)}')
    buffers = [t if t.flags.c_contiguous and t.dtype.isnative and t.flags.aligned
               else np.empty(t.shape, dtype) for t in targets]
    return targets, buffers


def finish(targets: list[Array], buffers: list[Array]) -> Array | tuple[Array, ...]:
    """Return the caller's arrays, filled from the buffers where they differ."""
    for target, buffer in zip(targets, buffers):
        if target is not buffer:
            target[...] = buffer
    return targets[0] if len(targets) == 1 else tuple(targets)


def _described(value: object) -> str:
    if isinstance(value, np.ndarray):
        lock = '' if value.flags.writeable else 'read-only '
        return f'a {lock}{value.dtype} array of shape {value.shape}'
    return f'{type(value).__name__}: {value!r:.60}'
