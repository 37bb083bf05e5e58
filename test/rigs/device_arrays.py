# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Arrays that show themselves as those of a GPU, in the memory of the emulation."""

from __future__ import annotations

import numpy as np


class Shown:
    """
    An array of NumPy that is seen only as Numba, CuPy and PyTorch show theirs.

    :param array: memory of the process, which is that of the emulation.
    :param stream: on which it would be written.
    """

    def __init__(self, array: np.ndarray, stream: int | None = None) -> None:
        self.array, self._stream = array, stream

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the shape of the array."""
        return self.array.shape

    @property
    def __cuda_array_interface__(self) -> dict[str, object]:
        """Return where it is."""
        return {'shape': self.array.shape, 'typestr': self.array.dtype.str, 'version': 3,
                'data': (self.array.ctypes.data, False), 'strides': self.array.strides,
                'stream': self._stream}
