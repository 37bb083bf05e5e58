# Copyright 2026 the rbd_ros developers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""A quantity run as it stands in the source, on plain floats: slow, readable, no compiler."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from rbd_ros.compiler import Argument
from rbd_ros.compiler.kernel import checked, finish, prepare_outputs
from rbd_ros.quantity import Quantity, state

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from rbd_ros.model import Frame, Model

    Array = NDArray[np.float64]


class Interpreter:
    """
    Evaluates one quantity with the checks and the call of a compiled kernel.

    :param quantity: what to evaluate; of several methods, the first.
    :param arguments: names and shapes of its inputs.
    """

    def __init__(
        self, model: Model, quantity: Quantity, arguments: Sequence[Argument],
        payload_frame: Frame | None,
    ) -> None:
        self._model, self._payload_frame = model, payload_frame
        self._arguments = tuple(arguments)
        self._rule = next(iter(quantity.rules.values()))

    def __call__(
        self, *arrays: ArrayLike, out: Array | Sequence[Array] | None = None,
    ) -> Array | tuple[Array, ...]:
        """Return the outputs for one state, or for many where inputs have a leading axis."""
        count = self._batch(arrays)
        if count is None:
            results = self._evaluate(arrays)
        else:
            rows = [self._evaluate([self._row(a, x, k) for a, x in self._pairs(arrays)])
                    for k in range(count)]
            results = {name: np.array([row[name] for row in rows]) for name in rows[0]}
        shapes = [Argument(name, value.shape) for name, value in results.items()]
        targets, _ = prepare_outputs(shapes, out)
        return finish(targets, list(results.values()))

    def caller(self, *fixed: Array) -> Callable[..., Array | tuple[Array, ...]]:
        """Return the call with its last inputs given once; writing into them changes results."""
        def call(
            *arrays: ArrayLike, out: Array | Sequence[Array] | None = None,
        ) -> Array | tuple[Array, ...]:
            return self(*arrays, *fixed, out=out)
        return call

    def _pairs(self, arrays: Sequence[ArrayLike]) -> zip:
        return zip(self._arguments, arrays, strict=True)

    def _batch(self, arrays: Sequence[ArrayLike]) -> int | None:
        """Return the length of the batch axis, or None where no argument has one."""
        for argument, value in self._pairs(arrays):
            if np.ndim(value) == len(argument.shape) + 1:
                return len(value)
        return None

    @staticmethod
    def _row(argument: Argument, value: ArrayLike, k: int) -> ArrayLike:
        return np.asarray(value)[k] if np.ndim(value) == len(argument.shape) + 1 else value

    def _evaluate(self, arrays: Sequence[ArrayLike]) -> dict[str, Array]:
        given = {argument.name: checked(argument, value).tolist()
                 for argument, value in self._pairs(arrays)}
        results = self._rule(state(self._model, given, self._payload_frame))
        return {name: np.array(value, dtype=float) for name, value in results.items()}
