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

"""A trajectory that is sampled by itself."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

import numpy as np
import numpy.typing as npt
from rbd_ros.control.former.references.profiles import polynomial_kernel
from rbd_ros.control.references import trajectory

__all__ = ['Trajectory']


class Trajectory(trajectory.Trajectory):
    """Polynomials between knots; sampled without allocation."""

    def __init__(self, *args: Any, **options: Any) -> None:
        """Join the present reference and the knots that are still to come."""
        super().__init__(*args, **options)
        self._bound = polynomial_kernel(len(self.final)).bind()
        self._coefficients, self._progress = self._bound.inputs['c'], self._bound.inputs['s']
        self._loaded = -1  # piece whose coefficients the kernel has

    def sample(self, now: float, out: npt.NDArray[np.float64]) -> bool:
        """Evaluate position, velocity and acceleration; False after the end."""
        if now >= self.end:
            out[0] = self.final
            out[1:] = 0.0
            return False
        i = max(bisect_right(self.times, now) - 1, 0)
        if i != self._loaded:
            self._coefficients[:] = self.pieces(i, 1)[0]
            self._loaded = i
        self._progress[()] = max(now - self.times[i], 0.0)
        self._bound()
        out[:] = self._bound.outputs['values']
        return True
