# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""What libraries that differentiate share: a quantity as value and slopes, of arrays of states."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from rbd_ros.compiler.fork_lock import ForkLock
from rbd_ros.compiler.gpu.emulation import EmulatedDevice
from rbd_ros.dynamics.families.derivatives.slopes import single_output, Slopes, slopes_of
from rbd_ros.dynamics.on_device import DeviceDynamics
from rbd_ros.dynamics.quantity import Quantity, Target
from rbd_ros.dynamics.robot import Dynamics
from rbd_ros.errors import RbdError, ShapeError

Robot = Dynamics | DeviceDynamics
Shape = tuple[int, ...]
#: What quantities of these may be called as a method: the target follows the inputs.
_METHODS = ('robot', 'frame')


class Function:
    """
    A quantity of a robot that can be differentiated by its inputs.

    :param robot: on the processor or on a device.
    :param name: of a quantity that has one result.
    :param target: frame or handles that it is about.
    """

    def __init__(self, robot: Robot, name: str, target: Target = None) -> None:
        self.robot, self.target = robot, target
        self.quantity: Quantity = robot.quantity(name)
        kernel = robot.kernel(name, target)
        output = single_output(name, kernel.outputs)
        #: Names of the inputs, and their shapes for one state.
        self.inputs = self.quantity.inputs
        self.shapes: tuple[Shape, ...] = tuple(
            [a.shape for a in kernel.inputs[:len(self.inputs)]])
        self.output: Shape = output.shape
        self.slopes: Slopes = slopes_of(self.quantity, robot.model, output.name)

    @property
    def on_device(self) -> bool:
        """Return whether arrays may lie in the memory of a GPU."""
        return isinstance(self.robot, DeviceDynamics) and not isinstance(
            self.robot.device, EmulatedDevice)

    def value(self, *arrays: Any) -> Any:
        """Return the quantity of one state, or of many along a leading axis."""
        return self.robot.compute(self.quantity, *arrays, target=self.target)

    def derivatives(self, *arrays: Any) -> tuple[Any, ...]:
        """Return the matrices of ``Slopes``, of the same states."""
        found = self.robot.compute(self.slopes.quantity, *arrays, target=self.target)
        return tuple(found) if isinstance(found, tuple) else (found,)

    def derivative_shapes(self) -> list[Shape]:
        """Return the shape of each derivative for one state."""
        sizes = dict(zip(self.inputs, self.shapes, strict=True))
        found = [(*self.output, *sizes[name]) for name in self.slopes.by]
        return found + [self.output * 2] if self.slopes.has_left else found

    def leading(self, shapes: Sequence[Shape]) -> list[Shape]:
        """
        Return the leading axes of each argument, which broadcast as those of NumPy do.

        :param shapes: of the arguments.
        """
        if len(shapes) != len(self.inputs):
            raise TypeError(f'{self.quantity.name} takes {", ".join(self.inputs)}; got '
                            f'{len(shapes)} arrays')
        found = []
        for name, own, shape in zip(self.inputs, self.shapes, shapes, strict=True):
            cut = len(shape) - len(own)
            if cut < 0 or shape[cut:] != own:
                raise ShapeError(f'{name} has shape {shape}, expected '
                                 f'(..., {", ".join(map(str, own))})')
            found.append(tuple(shape[:cut]))
        try:
            np.broadcast_shapes(*found)
        except ValueError:
            raise ShapeError(
                f'{self.quantity.name}: leading axes {", ".join(map(str, found))} of '
                f'{", ".join(self.inputs)} do not broadcast; give each the same, or none',
            ) from None
        return found


def pushed(slopes: Slopes, matrices: Sequence[Any], changes: dict[str, Any],
           times: Callable[[Any, Any], Any]) -> Any:
    """
    Return the change of a result from those of its inputs.

    :param matrices: of the slopes, each (..., result, input).
    :param changes: of inputs by name, (..., input); one that is missing does not change.
    :param times: product of matrices and vectors.
    """
    parts = [times(A, changes[name]) for name, A in zip(slopes.by, matrices) if name in changes]
    if slopes.direct in changes:
        parts.append(changes[slopes.direct])
    total = sum(parts[1:], parts[0])
    return times(matrices[-1], total) if slopes.has_left else total


def pulled(slopes: Slopes, matrices: Sequence[Any], gradient: Any,
           times: Callable[[Any, Any], Any]) -> dict[str, Any]:
    """
    Return the gradients by the inputs from that by the result.

    :param matrices: of the slopes, each (..., result, input).
    :param gradient: by the result, (..., result).
    :param times: product of transposed matrices and vectors.
    """
    if slopes.has_left:
        gradient = times(matrices[-1], gradient)
    found = {name: times(A, gradient) for name, A in zip(slopes.by, matrices)}
    return found | ({slopes.direct: gradient} if slopes.direct else {})


def refuse_second(name: str) -> RbdError:
    """Return the error for a second derivative."""
    return RbdError(f'a second derivative of {name} was asked for, and there is the first one '
                    'only; Dynamics.inverse_dynamics_second_derivatives has those of '
                    'inverse_dynamics')


class Functions:
    """
    The quantities of a robot as methods of a library that differentiates.

    :param robot: on the processor, or on a device (``robot.on('cuda')``).
    """

    def __init__(self, robot: Robot) -> None:
        if not isinstance(robot, (Dynamics, DeviceDynamics)):
            raise TypeError(f'gradients are of a Dynamics or of robot.on(...), got '
                            f'{type(robot).__name__}')
        self.robot = robot
        self._made: dict[tuple[Quantity, Target], Callable[..., Any]] = {}
        self._lock = ForkLock()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the robot."""
        return type(self), (self.robot,)

    def __repr__(self) -> str:
        """Return what it is of."""
        return f'<{type(self).__name__} of {self.robot!r}>'

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Return the method of a quantity of the whole robot or of a frame."""
        if name.startswith('_'):
            raise AttributeError(name)
        try:
            quantity = self.robot.quantity(name)
        except RbdError as error:
            raise AttributeError(str(error)) from None
        if quantity.target not in _METHODS:
            raise AttributeError(f'{name} is about {quantity.target}: use compute("{name}", ..., '
                                 'target=...)')
        return partial(self._method, quantity)

    def _method(self, quantity: Quantity, *arguments: Any, frame: str | None = None) -> Any:
        """Compute a quantity called as the robot's own method is."""
        wanted = len(quantity.inputs)
        arrays, rest = arguments[:wanted], list(arguments[wanted:])
        if rest and quantity.target == 'frame':
            frame = rest.pop(0)
        if rest:
            raise TypeError(f'{quantity.name} takes {", ".join(quantity.inputs)}'
                            f'{", frame" if quantity.target == "frame" else ""}, and nothing else '
                            f'where it is differentiated; got {len(arguments)} arguments')
        return self.compute(quantity.name, *arrays, target=frame)

    def compute(self, name: str, *arrays: Any, target: Target = None) -> Any:
        """
        Return a quantity by name.

        :param arrays: its inputs, (..., n); leading axes broadcast.
        :param target: name of a frame, or frames and handles, where the quantity needs them.
        """
        if not (target is None or isinstance(target, str)):
            target = tuple(target) if isinstance(target, list) else target
        place = self.robot.quantity(name), target     # one defined anew is another
        with self._lock:
            call = self._made.get(place)
            if call is None:
                call = self._made[place] = self._make(Function(self.robot, name, target))
        return call(*arrays)

    def _make(self, function: Function) -> Callable[..., Any]:
        raise NotImplementedError
