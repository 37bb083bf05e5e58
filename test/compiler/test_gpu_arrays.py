# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Arrays on a device, what is refused, and a machine without a GPU."""

import ctypes
import gc
import mmap

import numpy as np
import pytest
from rbd_ros.compiler import trace
from rbd_ros.errors import DeviceError, ShapeError

pytest.importorskip('llvmlite', reason='llvmlite is not installed')
from device_arrays import Shown  # noqa: I100
from rbd_ros.compiler.gpu import arrays, dlpack, driver
from rbd_ros.compiler.gpu.emulation import EmulatedDevice
from rbd_ros.compiler.gpu.kernel import compile_for

CPU = 1         # DLPack's number of the device that NumPy reads


@pytest.fixture(scope='module')
def kernel():
    """Return a kernel of two arguments."""
    graph = trace(lambda x, m: {'y': [a + m[0][0] for a in x]}, {'x': 3, 'm': (2, 2)}, name='f')
    return compile_for(EmulatedDevice(), graph, cache=False)


X, M = np.zeros((4, 3)), np.zeros((4, 2, 2))


@pytest.mark.parametrize('given,message', [
    ((Shown(X), M), 'm is in the memory of the process and other arguments are on'),
    ((Shown(X.astype('f4')), Shown(M)), 'x holds float32, this robot computes in float64'),
    ((Shown(X[:, :2]), Shown(M)), r'x has shape \(4, 2\), expected \(count, 3\) or \(3,\)'),
    ((Shown(X), Shown(M[:3])), 'm has 3 states, others have 4'),
    ((Shown(X), Shown(np.zeros((4, 2, 3))[:, :, :2])), 'm are not evenly spaced'),
])
def test_refused_arguments(kernel, given, message):
    """An argument that does not fit is refused by its name, with what was expected."""
    with pytest.raises(ShapeError, match=message):
        kernel(*given)


def test_memory_of_a_gpu_in_the_emulation(kernel):
    """What the process cannot read is refused, and does not end the process."""
    class Elsewhere(Shown):
        """An array of a GPU."""

        @property
        def __cuda_array_interface__(self):
            return {**super().__cuda_array_interface__, 'data': (address, False)}
    mapped = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE)
    address = ctypes.addressof(ctypes.c_char.from_buffer(mapped))
    kernel(Elsewhere(X), Shown(M))
    protect = ctypes.CDLL(None).mprotect
    assert protect(ctypes.c_void_p(address), mmap.PAGESIZE, 0) == 0
    with pytest.raises(DeviceError, match="lies in the memory of a GPU.*use robot.on.'cuda'"):
        kernel(Elsewhere(X), Shown(M))


@pytest.mark.parametrize('out,message', [
    (X.copy(), 'must be a float64 array of shape .* on the emulation, got ndarray'),
    (Shown(np.zeros((4, 2))), r'got \(4, 2\)'),
    (Shown(X), 'out for y shares memory with x'),
    ((Shown(X.copy()), Shown(X.copy())), r'out holds 2 arrays, expected 1 \(y\)'),
])
def test_refused_results(kernel, out, message):
    """An array for results that does not fit, or that is read too, is refused."""
    with pytest.raises(ShapeError, match=message):
        kernel(Shown(X), Shown(M), out=out)


def test_too_far_apart(kernel):
    """Elements farther apart than a kernel can count are refused before it starts."""
    x = np.lib.stride_tricks.as_strided(np.zeros(3), (4, 3), (0, 2**31))
    with pytest.raises(ShapeError, match='elements of a state of x are 2 GiB apart or more'):
        kernel(Shown(x), Shown(M))


def test_one_state_and_none(kernel):
    """One state has no leading axis; no states are no error."""
    one = kernel(np.ones(3), np.full((2, 2), 2.0))
    np.testing.assert_array_equal(one, [3.0] * 3)
    y = np.zeros(3)
    kernel(Shown(np.ones(3)), Shown(np.full((2, 2), 2.0)), out=Shown(y))
    np.testing.assert_array_equal(y, [3.0] * 3)
    np.testing.assert_array_equal(
        kernel(Shown(np.ones(3)), Shown(np.full((2, 2), 2.0))).numpy(), [3.0] * 3)
    assert kernel(Shown(X[:0]), Shown(M[:0])).shape == (0, 3)
    assert kernel(X[:0], M[:0]).shape == (0, 3)


def test_fixed(kernel):
    """What all states share is read again where it has changed."""
    m, x = np.zeros((2, 2)), Shown(np.ones((5, 3)))
    for value in (0.0, 2.0, 2.0, -1.0):
        m[0, 0] = value
        np.testing.assert_array_equal(kernel(x, fixed=[m]).numpy(), np.full((5, 3), 1.0 + value))


def test_dlpack_read():
    """What NumPy lends is read: address, type, shape and strides."""
    array = np.arange(24.0, dtype='f4').reshape(2, 3, 4)[:, ::2]
    found = dlpack.read(array.__dlpack__())
    assert found == (array.ctypes.data, CPU, 0, 'float32', (2, 2, 4), (12, 8, 1))


def test_dlpack_lent():
    """What is lent is read by NumPy, and the owner lives until it gives it back."""
    class Owner:
        pass
    memory = np.arange(12.0)
    before = len(dlpack.lent)

    def lend():
        return dlpack.lend(dlpack.Tensor(
            memory.ctypes.data, CPU, 0, 'float64', (4, 3), (1, 4)), Owner())

    class Lender:

        def __dlpack__(self, **_):
            return lend()

        def __dlpack_device__(self):
            return CPU, 0
    view = np.from_dlpack(Lender())
    np.testing.assert_array_equal(view, memory.reshape(3, 4).T)
    assert len(dlpack.lent) == before + 1
    del view
    gc.collect()
    assert len(dlpack.lent) == before
    lend()                  # nobody takes it out of its capsule
    gc.collect()
    assert len(dlpack.lent) == before


def test_dlpack_argument(kernel):
    """A result is an argument again, by DLPack alone as by the array interface."""
    class ByDlpack:

        def __init__(self, array):
            self.__dlpack__, self.__dlpack_device__ = array.__dlpack__, array.__dlpack_device__
    first = kernel(Shown(np.ones((5, 3))), Shown(np.full((2, 2), 0.5)))
    m = Shown(np.full((2, 2), 0.25))
    for again in (first, ByDlpack(first)):
        np.testing.assert_array_equal(kernel(again, m).numpy(), np.full((5, 3), 1.75))


@pytest.mark.parametrize('index', [
    0, -1, slice(1, 4), (slice(None), 1), (..., 0), (..., slice(0, 2)), (slice(None, None, -2), 1),
    (2, 0, 1), (slice(3, 3),), (..., slice(None, None, -1), 2), ...])
def test_parts_of_results(index):
    """A part of an array is a view, which all interfaces show as it lies."""
    device = EmulatedDevice()
    whole = np.random.default_rng(0).normal(size=(2, 3, 5)).transpose(2, 0, 1)
    made = arrays.maker(None, device, np.dtype(float), 0)(5, (2, 3))
    assert made.shape == whole.shape
    device.upload(made.__cuda_array_interface__['data'][0], whole.transpose(1, 2, 0).copy(), 0)
    part, expected = made[index], whole[index]
    assert part.shape == expected.shape
    np.testing.assert_array_equal(part.numpy(), expected)
    tensor = dlpack.read(part.__dlpack__())
    shown = part.__cuda_array_interface__
    assert tensor.address == shown['data'][0] and tensor.shape == shown['shape']
    assert tuple(8 * step for step in tensor.strides) == shown['strides']
    assert shown['data'][0] - made.__cuda_array_interface__['data'][0] == (
        expected.ctypes.data - whole.ctypes.data if np.ndim(expected) else 8 * 7)


def test_parts_that_are_none():
    """Beyond the end there is nothing, and lists of numbers are for libraries."""
    made = arrays.maker(None, EmulatedDevice(), np.dtype(float), 0)(5, (2,))
    for index in ([0, 1], np.array([True] * 5), None, 'q'):
        with pytest.raises(TypeError, match='whole numbers, slices and'):
            made[index]
    for index in (5, (0, 2), (0, 0, 0)):
        with pytest.raises(IndexError):
            made[index]
    assert len(list(made)) == 5


class OfTorch:
    """A stream as PyTorch has it."""

    cuda_stream = 7


class OfCuda:
    """A stream as NVIDIA's own Python packages have it."""

    def __cuda_stream__(self):
        """Return a version and the number."""
        return 0, 9


def test_streams():
    """Streams of several libraries are known by their numbers."""
    assert [arrays.stream_number(s, None) for s in (None, 5, OfTorch(), OfCuda())] == [0, 5, 7, 9]
    with pytest.raises(TypeError, match='stream is a str'):
        arrays.stream_number('default', None)


def test_no_driver(monkeypatch):
    """Without a driver there is one error that says what to do."""
    monkeypatch.setattr(driver, 'LIBRARIES', ('libcuda_that_is_not_there.so.1',))
    driver.driver.cache_clear()
    with pytest.raises(DeviceError, match='no GPU: the NVIDIA driver .* is not on this machine'):
        driver.driver()
