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

"""A function of one state in NumPy, checked and called as any kernel is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from rbd_ros.compiler import Argument, Kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


class FunctionKernel(Kernel):
    """
    A kernel for what cannot be traced, because it decides by its values.

    :param inputs: names and shapes of the arguments.
    :param output: name and shape of the result.
    :param function: of one state.
    """

    backend = 'numpy'

    def __init__(
        self, name: str, inputs: Sequence[Argument], output: Argument,
        function: Callable[..., Array],
    ) -> None:
        self.name, self.inputs, self.outputs = name, tuple(inputs), (output,)
        self._function = function

    def run(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        """Compute the result of one state, unchecked."""
        outputs[0][...] = self._function(*inputs)

    def run_batch(self, inputs: Sequence[Array], batched: Sequence[bool],
                  outputs: Sequence[Array], count: int, threads: int | None) -> None:
        """Compute the results of many states, one by one."""
        rows = ([x[k] if many else x for x, many in zip(inputs, batched, strict=True)]
                for k in range(count))
        outputs[0][...] = [self._function(*row) for row in rows]    # an output may be an input
