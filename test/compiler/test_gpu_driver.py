# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
What goes wrong at the driver: each is one error that says what to do.

A library of a few lines of C stands in for NVIDIA's, which cannot run here; it has the functions
that are called, and fails as it is told to.
"""

import ctypes
import os
import shutil
import subprocess
import textwrap

import numpy as np
import pytest
from rbd_ros.compiler import trace
from rbd_ros.errors import DeviceError, ShapeError

pytest.importorskip('llvmlite', reason='llvmlite is not installed')
from device_arrays import Shown  # noqa: I100
from rbd_ros.compiler.gpu import driver
from rbd_ros.compiler.gpu.device import CudaDevice
from rbd_ros.compiler.gpu.kernel import compile_for

COMPILER = shutil.which('cc') or shutil.which('gcc') or shutil.which('clang')
pytestmark = pytest.mark.skipif(COMPILER is None, reason='this machine has no C compiler')
#: What the library may be told: result of cuInit, version, devices, capability, whether memory and
#: text are taken, on which device memory lies, registers and local bytes of a kernel.
SETTINGS = {'start': 0, 'version': 12040, 'count': 2, 'major': 9, 'minor': 0, 'memory': 0,
            'text': 0, 'home': 0, 'registers': 96, 'local': 0, 'launch': 0}
SOURCE = """
    #include <stddef.h>
    #include <stdlib.h>
    #include <string.h>
    %s
    int launches = 0, blocks = 0, threads = 0, level = -1, opened = 0;
    int cuInit(unsigned flags) { return start; }
    int cuDriverGetVersion(int *v) { *v = version; return 0; }
    int cuGetErrorName(int e, const char **s) {
        *s = e == 2 ? "CUDA_ERROR_OUT_OF_MEMORY" : e == 100 ? "CUDA_ERROR_NO_DEVICE"
           : e == 218 ? "CUDA_ERROR_INVALID_PTX" : e == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS" : 0;
        return 0; }
    int cuDeviceGetCount(int *n) { *n = count; return 0; }
    int cuDeviceGet(int *d, int k) { *d = k; return 0; }
    int cuDeviceGetName(char *s, int n, int d) { strncpy(s, "a GPU of C", n); return 0; }
    int cuDeviceGetAttribute(int *v, int which, int d) {
        *v = which == 75 ? major : minor; return 0; }
    int cuDevicePrimaryCtxRetain(void **c, int d) { *c = &opened; opened++; return 0; }
    int cuCtxPushCurrent_v2(void *c) { return 0; }
    int cuCtxPopCurrent_v2(void **c) { return 0; }
    int cuCtxSynchronize(void) { return launch; }
    int cuModuleLoadDataEx(void **m, const char *ptx, unsigned n, int *keys, void **values) {
        for (unsigned k = 0; k < n; k++) {
            if (keys[k] == 7) level = (int)(size_t)values[k];
            if (keys[k] == 5 && text) strcpy(values[k], "line 3: what is this?"); }
        *m = &opened; return text; }
    int cuModuleUnload(void *m) { return 0; }
    int cuModuleGetFunction(void **f, void *m, const char *name) { *f = &launches; return 0; }
    int cuFuncGetAttribute(int *v, int which, void *f) {
        *v = which == 4 ? registers : local; return 0; }
    int cuLaunchKernel(void *f, unsigned x, unsigned y, unsigned z, unsigned a, unsigned b,
                       unsigned c, unsigned shared, void *s, void **p, void **extra) {
        launches++; blocks = x; threads = a; return launch; }
    static int give(void **p, size_t n) {
        if (memory || n > 1u << 30) return 2;
        *p = calloc(1, n); return 0; }
    int cuMemAlloc_v2(void **p, size_t n) { return give(p, n); }
    int cuMemAllocAsync(void **p, size_t n, void *s) { return give(p, n); }
    int cuMemFree_v2(size_t p) { free((void *)p); return 0; }
    int cuMemFreeAsync(size_t p, void *s) { free((void *)p); return 0; }
    int cuMemGetInfo_v2(size_t *f, size_t *t) { *f = 1000; *t = 5000; return 0; }
    int cuMemcpyHtoDAsync_v2(size_t to, void *from, size_t n, void *s) {
        memcpy((void *)to, from, n); return 0; }
    int cuMemcpyDtoHAsync_v2(void *to, size_t from, size_t n, void *s) {
        memcpy(to, (void *)from, n); return 0; }
    int cuPointerGetAttribute(int *v, int which, size_t p) { *v = home; return 0; }
    int cuStreamSynchronize(void *s) { return 0; }
    int cuStreamWaitEvent(void *s, void *e, unsigned f) { return 0; }
    int cuEventCreate(void **e, unsigned f) { *e = &opened; return 0; }
    int cuEventRecord(void *e, void *s) { return 0; }
    int cuEventSynchronize(void *e) { return 0; }
    int cuEventElapsedTime(float *t, void *a, void *b) { *t = 1; return 0; }
    int cuEventDestroy_v2(void *e) { return 0; }
"""


@pytest.fixture(scope='module')
def library(tmp_path_factory):
    """Return the path of the library that stands in for the driver."""
    folder = tmp_path_factory.mktemp('driver')
    source = folder / 'driver.c'
    source.write_text(textwrap.dedent(SOURCE % ' '.join(
        f'int {name} = {value};' for name, value in SETTINGS.items())))
    subprocess.run([COMPILER, '-shared', '-fPIC', '-o', folder / 'libcuda.so', source], check=True)
    return folder / 'libcuda.so'


@pytest.fixture
def told(library, monkeypatch):
    """Return a function that tells the library what to do; afterwards all is as before."""
    loaded = ctypes.CDLL(str(library))
    monkeypatch.setattr(driver, 'LIBRARIES', (str(library),))

    def tell(**settings):
        for name, value in (SETTINGS | settings).items():
            ctypes.c_int.in_dll(loaded, name).value = value
        driver.driver.cache_clear()
        return lambda name: ctypes.c_int.in_dll(loaded, name).value
    tell()
    yield tell
    tell()
    driver.driver.cache_clear()


def kernel(device, **options):
    """Return a kernel on a device."""
    graph = trace(lambda x: {'y': x * 2.0}, {'x': ()}, name='twice')
    return compile_for(device, graph, cache=False, **options)


@pytest.mark.parametrize('settings,message', [
    ({'start': 100}, r'CUDA_ERROR_NO_DEVICE \(100\); the driver finds no GPU: nvidia-smi must'),
    ({'start': 803}, r'unknown error \(803\); the driver and its kernel module are of different'),
    ({'version': 11010}, r'the NVIDIA driver knows CUDA 11.1, kernels need 11.2: update'),
    ({'count': 0}, r'no CUDA device 0: there are 0, counted from 0; nvidia-smi -L lists'),
    ({'major': 7, 'minor': 0}, r'a GPU of C has compute capability 7.0, kernels need 7.5'),
])
def test_no_device(told, settings, message):
    """A driver without a GPU, an old driver, an old GPU and a wrong number are told apart."""
    told(**settings)
    with pytest.raises(DeviceError, match=message):
        CudaDevice(0)


def test_a_wrong_number(told):
    """The number of a device that is not there is named, with how many there are."""
    for number in (2, -1):
        with pytest.raises(DeviceError, match=f'no CUDA device {number}: there are 2'):
            CudaDevice(number)
    assert CudaDevice(1).number == 1


def test_no_memory(told):
    """Where memory is full, the error says how much was wanted, what is free, and what helps."""
    device = CudaDevice(0)
    with pytest.raises(DeviceError, match=(
            r'2147483648 bytes: CUDA_ERROR_OUT_OF_MEMORY \(2\); the memory of the GPU is full: '
            r'use smaller batches.* \(1000 of 5000 bytes are free\)')):
        device.keep(2**31)
    told(memory=1)
    with pytest.raises(DeviceError, match=r'8 bytes: CUDA_ERROR_OUT_OF_MEMORY'):
        kernel(device)


def test_a_refused_text(told):
    """What the driver says of a text that it does not take is in the error."""
    device = CudaDevice(0)
    told(text=218)
    with pytest.raises(DeviceError, match=(
            r'compiling a kernel for the GPU: CUDA_ERROR_INVALID_PTX \(218\); the driver refused '
            r'.*line 3: what is this\?')):
        kernel(device)


def test_loaded(told, caplog):
    """Registers and local memory of a loaded kernel are known; blocks are those of its form."""
    value = told(registers=77, local=24)
    caplog.set_level('INFO', 'rbd_ros')
    loaded = kernel(CudaDevice(0))
    assert [(f.registers, f.local) for f in loaded.functions] == [(77, 24)]
    assert 'kernel 0 of twice has 77 registers and 24 bytes of local memory' in caplog.text
    loaded([1.0] * 300)
    assert value('launches') > 0 and value('level') == 4
    assert (value('threads'), value('blocks')) == (128, 3)


def test_an_array_elsewhere(told):
    """An array on another device than the robot is refused, with both numbers."""
    loaded = kernel(CudaDevice(0))
    told(home=1)
    with pytest.raises(ShapeError, match=(
            r"x is on device 1, the robot is on device 0; move the array, or make robot.on\('cuda'"
            r', 1\)')):
        loaded(Shown(np.ones(3)))


def test_a_failed_launch(told):
    """A kernel that went wrong is an error with what to do."""
    loaded = kernel(CudaDevice(0))
    told(launch=700)
    with pytest.raises(DeviceError, match=r'starting a kernel: CUDA_ERROR_ILLEGAL_ADDRESS \(700\)'
                                          '.*must be started again'):
        loaded([1.0, 2.0])


def test_after_a_fork(told):
    """A child of a process that used the GPU is refused, with what to do; the parent goes on."""
    device = CudaDevice(0)
    readable, writable = os.pipe()
    child = os.fork()
    if child == 0:
        said = b'nothing'
        try:
            device.keep(8)
        except DeviceError as error:
            said = str(error).encode()
        os.write(writable, said)
        os._exit(0)
    os.waitpid(child, 0)
    os.close(writable)
    with os.fdopen(readable, 'rb') as pipe:
        text = pipe.read().decode()
    assert 'this process was forked after the GPU was used' in text
    assert "multiprocessing.get_context('spawn')" in text
    device.keep(8)
