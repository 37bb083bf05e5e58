# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The time of kernels on a GPU: many launches recorded once, and started together."""

from __future__ import annotations

from collections.abc import Callable
from ctypes import byref, c_uint, c_uint64, c_void_p
import time

from rbd_ros.compiler.gpu.device import CudaDevice
from rbd_ros.compiler.gpu.driver import driver

#: Wall time that one measurement should take, s, and most launches in it.
_TIME, _MOST = 0.02, 100
_REPEATS = 3


class Clock:
    """
    Measures on a device, on a stream of its own.

    :param device: where.
    """

    def __init__(self, device: CudaDevice) -> None:
        self._device, self._driver = device, driver()
        for name, types in {
            'cuStreamCreate': (c_void_p, c_uint), 'cuGraphLaunch': (c_void_p, c_void_p),
            'cuStreamBeginCapture_v2': (c_void_p, c_uint),
            'cuStreamEndCapture': (c_void_p, c_void_p),
            'cuGraphInstantiateWithFlags': (c_void_p, c_void_p, c_uint64),
            'cuGraphExecDestroy': (c_void_p,), 'cuGraphDestroy': (c_void_p,),
            'cuMemcpyDtoDAsync_v2': (c_uint64, c_uint64, c_uint64, c_void_p),
        }.items():
            self._driver.declare(name, *types)
        with device.current():
            #: Number of the stream on which what is measured must run.
            self.stream = self._driver.address('cuStreamCreate', 1)

    def seconds(self, start: Callable[[], None]) -> float:
        """Return the shortest time of what ``start`` starts on the stream."""
        with self._device.current():
            start()
            self._device.synchronize(self.stream)
            once = self._timed(start)
            times = max(2, min(_MOST, int(_TIME / max(once, 1e-6))))
            self._driver.call('cuStreamBeginCapture_v2', self.stream, 2)
            for _ in range(times):
                start()
            graph = c_void_p()
            self._driver.call('cuStreamEndCapture', self.stream, byref(graph))
            run = self._driver.address('cuGraphInstantiateWithFlags', graph, 0)
            best = min(self._timed(lambda: self._driver.call('cuGraphLaunch', run, self.stream))
                       for _ in range(_REPEATS))
            self._driver.call('cuGraphExecDestroy', run)
            self._driver.call('cuGraphDestroy', graph)
        return best / times

    def _timed(self, start: Callable[[], None]) -> float:
        device, stream = self._device, self.stream
        with device.current(), device.event(stream) as begin:
            start()
            with device.event(stream) as end:
                return device.seconds(begin, end)

    def call_seconds(self, call: Callable[[], object], times: int = 50) -> float:
        """Return the time that a call takes in Python, waiting not included."""
        call()
        self._device.synchronize()
        begin = time.perf_counter()
        for _ in range(times):
            call()
        spent = time.perf_counter() - begin
        self._device.synchronize()
        return spent / times

    def bandwidth(self, size: int = 2**31) -> float:
        """Return bytes read and written per second by a copy on the device."""
        a, b = self._device.keep(size), self._device.keep(size)

        def copy() -> None:
            self._driver.call('cuMemcpyDtoDAsync_v2', a.address, b.address, size, self.stream)
        with self._device.current():
            return 2 * size / min(self._timed(copy) for _ in range(5))
