# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Kernels on a GPU: ``./run bench gpu`` where everything is installed.

On a machine that has a GPU, NumPy and nothing else of what robots need, pack elsewhere and measure
there: ``python3 -m benchmark.gpu.report FILE [JSON]``, see :mod:`benchmark.gpu.bundle`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
import json
from pathlib import Path
import sys
import tempfile
import time
from typing import Any

from benchmark.gpu.bundle import CHECKED_STEPS, pack, Packed, STATES, unpacked
from benchmark.gpu.jobs import GOALS, Job, jobs, ROLLOUTS, STEPS
import numpy as np
from numpy.typing import NDArray

from rbd_ros.compiler.gpu.arrays import DeviceArray
from rbd_ros.compiler.gpu.device import cuda_device, CudaDevice
from rbd_ros.compiler.gpu.kernel import DeviceKernel
from rbd_ros.compiler.native.cache import Entry
from rbd_ros.compiler.scalar import scalar_type
from rbd_ros.errors import DeviceError, NonFiniteError

#: Exponents of two of the batches.
SIZES = (12, 16, 20)
#: Bytes of results past which the largest batch is left out.
_MOST = 40 * 2**30
#: Largest error, relative to the largest entry.
ERRORS = {'float64': 1e-12, 'float32': 1e-5}
_HEAD = ('robot quantity type variant', 'error', 'JIT s', 'regs', 'local', 'kernels',
         *[f'ns 2^{k}' for k in SIZES], 'memory ns', 'call us', 'goal ns')


def report() -> tuple[str, dict[str, Any]]:
    """Return the table, or what it would hold where there is no GPU."""
    try:
        cuda_device(0)
    except DeviceError as error:
        kernels = '\n'.join(f'  {robot} {quantity}, goal {goal} ns per state'
                            for (robot, quantity), goal in GOALS.items())
        return (f'{error}\nWith one, {len(jobs())} kernels would be measured in batches of 2^12, '
                f'2^16 and 2^20 states, in double and float, with registers, local memory, error, '
                f'the time of the driver to compile and of a call from Python; among them\n'
                f'{kernels}'), {'gpu': None}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / 'bundle.npz'
        pack(file)
        text, numbers = measured(file)
    if numbers['failed']:
        raise RuntimeError('\n'.join([text, 'failed:', *numbers['failed']]))
    return text, numbers


def measured(file: Path) -> tuple[str, dict[str, Any]]:
    """Return the table of a bundle, and its numbers; among them which of its rows failed."""
    from benchmark.gpu.clock import Clock
    device = cuda_device(0)
    clock = Clock(device)
    bandwidth = clock.bandwidth()
    print(f'{device.name}: a copy moves {bandwidth / 1e12:.2f} TB/s', flush=True)
    rows, lines = [], ['  '.join(_HEAD)]
    for packed in unpacked(file):
        try:
            row = measure(packed, device, clock, bandwidth)
        except Exception as error:          # the others must not be lost with it
            row = {'job': packed.job, 'failed': f'{type(error).__name__}: {error}'}
        rows.append(row)
        lines.append(line(row))
        print(lines[-1], flush=True)
    plain = next((each for each in unpacked(file) if each.job.quantity != 'rollout'), None)
    for name, check in CHECKS.items() if plain is not None else ():
        begin = time.perf_counter()
        try:
            found = check(plain, device)
        except ModuleNotFoundError as error:
            found = f'left out, {error}'
        except Exception as error:
            found = f'FAILED {type(error).__name__}: {error}'
        lines.append(f'{name}: {found} ({time.perf_counter() - begin:.1f} s)')
        print(lines[-1], flush=True)
    return '\n'.join(lines), {
        'gpu': device.name, 'bandwidth': bandwidth, 'rows': rows,
        'checks': lines[1 + len(rows):], 'failed': [each for each in lines if 'FAILED' in each]}


def refuse_wrong(job: Job, error: float) -> None:
    """
    Raise an error where results are not those of Python's own floats.

    :param job: what was computed.
    :param error: the largest of any state, as a share of the largest result.
    :raises RuntimeError: which names both.
    """
    if not error < ERRORS[job.scalar]:
        raise RuntimeError(f'results of {job.robot} {job.quantity} {job.scalar} are {error:.1e} '
                           'off: what was measured is something else')


def loaded(packed: Packed, device: CudaDevice) -> DeviceKernel:
    """Return the kernel of a job."""
    return DeviceKernel(Entry(packed.about, [packed.code]), device, scalar_type(packed.job.scalar))


def measure(packed: Packed, device: CudaDevice, clock: Any, bandwidth: float) -> dict[str, Any]:
    """Return the numbers of one kernel."""
    begin = time.perf_counter()
    kernel = loaded(packed, device)
    row: dict[str, Any] = {
        'job': packed.job, 'jit': time.perf_counter() - begin, 'kernels': len(kernel.functions),
        'registers': max(f.registers for f in kernel.functions),
        'local': max(f.local for f in kernel.functions)}
    rolled = packed.job.quantity == 'rollout'
    whole, kernel = kernel, kernel.over(CHECKED_STEPS, CHECKED_STEPS) if rolled else kernel
    found = kernel(*_few(packed))
    row['error'] = _error(packed, found if isinstance(found, tuple) else (found,))
    refuse_wrong(packed.job, row['error'])
    size = kernel.dtype.itemsize
    share = size * sum(a.size for k, a in enumerate((*kernel.inputs, *kernel.outputs))
                       if k >= len(packed.inputs) or batched(packed, k))
    row['memory'] = share / bandwidth * 1e9
    row['ns'] = {}
    kernel = whole.over(STEPS, STEPS) if rolled else whole
    for power in SIZES:
        count = 2**power
        if share * count > _MOST or rolled and power == SIZES[-1] or (
                packed.job.variant and power == SIZES[0]):
            continue
        there = _inputs(packed, device, kernel, count)
        out = [empty(device, kernel, a.shape, count) for a in kernel.outputs]
        start = kernel.bind(*there, out=out, stream=clock.stream)
        row['ns'][power] = clock.seconds(start) / count * 1e9
        if not rolled:
            refuse_wrong(packed.job, max(
                _error(packed, [y[first:first + len(packed.results)].numpy() for y in out])
                for first in (0, count - STATES)))      # states repeat after so many
        if 'call' not in row:
            row['call'] = clock.call_seconds(
                lambda there=there, out=out: kernel(*there, out=out, stream=clock.stream)) * 1e6
    try:
        kernel.check()
    except NonFiniteError as error:         # of a motion that nobody controls
        if not rolled:
            raise
        row['ended'] = str(error)
    return row


def _error(packed: Packed, found: Sequence[NDArray[Any]]) -> float:
    """Return the largest error of the first states."""
    count = len(packed.results)
    joined = np.concatenate([np.reshape(y[:count], (count, -1)) for y in found], axis=1)
    return float(np.abs(joined - packed.results).max() / max(1.0, np.abs(packed.results).max()))


#: Inputs that are on the device, of the last kernels and sizes: variants have the same ones.
_LAST: dict[tuple[Any, ...], list[DeviceArray]] = {}


def _inputs(packed: Packed, device: CudaDevice, kernel: DeviceKernel,
            count: int) -> list[DeviceArray]:
    """Return the states of a kernel on the device."""
    own = packed.job[:3]
    for key in [key for key in _LAST if key[0] != own]:
        del _LAST[key]
    if (own, count) not in _LAST:
        _LAST[own, count] = [on_device(device, kernel, x, count if batched(packed, k) else 0)
                             for k, x in enumerate(packed.inputs)]
    return _LAST[own, count]


def batched(packed: Packed, k: int) -> bool:
    """Return whether an input is one of each state."""
    return packed.inputs[k].ndim > len(packed.about['inputs'][k][1])


def empty(device: CudaDevice, kernel: DeviceKernel, shape: tuple[int, ...],
          count: int) -> DeviceArray:
    """Return an array for results, states next to each other."""
    steps, step = [], count
    for size in reversed(shape):
        steps.append(step)
        step *= size
    memory = device.keep(max(1, step) * kernel.dtype.itemsize)
    return DeviceArray(device, memory, kernel.dtype, (count, *shape), (1, *reversed(steps)), 0)


def on_device(device: CudaDevice, kernel: DeviceKernel, values: Any, count: int) -> DeviceArray:
    """Return values on the device, repeated to a number of states; 0 for those of all."""
    if not count:
        flat = np.array(values, kernel.dtype)
        memory = device.keep(flat.nbytes)
        device.upload(memory.address, flat, 0)
        device.synchronize()
        strides = tuple(s // flat.itemsize for s in flat.strides)
        return DeviceArray(device, memory, kernel.dtype, flat.shape, strides, 0)
    array = empty(device, kernel, values.shape[1:], count)
    few = np.moveaxis(values[:count], 0, -1).astype(kernel.dtype)
    times = -(-count // few.shape[-1])
    flat = np.ascontiguousarray(np.tile(few, times)[..., :count])
    device.upload(array.__cuda_array_interface__['data'][0], flat, 0)   # type: ignore[index]
    device.synchronize()
    return array


def line(row: dict[str, Any]) -> str:
    """Return a row of the table."""
    job = row['job']
    name = f'{job.robot} {job.quantity} {job.scalar} [{job.variant}]'
    if 'failed' in row:
        return f'{name}  FAILED {row["failed"]}'
    times = '  '.join(f'{row["ns"].get(power, float("nan")):.4f}' for power in SIZES)
    goal = GOALS.get((job.robot, job.quantity), '') if job.scalar == 'float64' else ''
    if job.quantity == 'rollout':
        rate = STEPS * 1e9 / row['ns'][16]
        goal = (f'{rate:.2e} steps/s, goal of double {ROLLOUTS[job.robot]:.1e} '
                f'{row.get("ended", "")}')
    return (f'{name}  {row["error"]:.1e}  {row["jit"]:.2f}  {row["registers"]}  '
            f'{row["local"]}  {row["kernels"]}  {times}  {row["memory"]:.4f}  '
            f'{row["call"]:.1f}  {goal}')


# --- what only a GPU can show ---------------------------------------------------------------


def _few(packed: Packed) -> list[Any]:
    """Return the inputs of the states whose results are known."""
    count = len(packed.results)
    return [x[:count] if batched(packed, k) else x for k, x in enumerate(packed.inputs)]


def _alike(found: NDArray[Any], packed: Packed) -> float:
    """Return the error of a first result; one that is too large is refused."""
    error = _error(packed, [found])
    refuse_wrong(packed.job, error)
    return error


def check_torch(packed: Packed, device: CudaDevice) -> str:
    """Use tensors of PyTorch where they lie, on a stream of its own, and in a CUDA graph."""
    import torch
    kernel, inputs = loaded(packed, device), _few(packed)
    there = [torch.as_tensor(x, device='cuda') for x in inputs[:-1]]
    found = kernel(*there, fixed=[inputs[-1]])
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        again = kernel(*there, fixed=[inputs[-1]])
    side.synchronize()
    out = torch.empty_like(found)
    graph = torch.cuda.CUDAGraph()
    kernel(*there, fixed=[inputs[-1]], out=out)
    with torch.cuda.graph(graph):
        kernel(*there, fixed=[inputs[-1]], out=out)
    out.fill_(0.0)
    graph.replay()
    torch.cuda.synchronize()
    worst = max(_alike(y.cpu().numpy(), packed) for y in (found, again, out))
    kernel.check()
    return f'{type(found).__name__} {tuple(found.shape)} {found.stride()}, error {worst:.1e}'


def check_cupy(packed: Packed, device: CudaDevice) -> str:
    """Use arrays of CuPy where they lie."""
    import cupy
    kernel, inputs = loaded(packed, device), _few(packed)
    found = kernel(*[cupy.asarray(x) for x in inputs[:-1]], fixed=[inputs[-1]])
    return f'{type(found)}, error {_alike(found.get(), packed):.1e}'


def check_jax(packed: Packed, device: CudaDevice) -> str:
    """Use arrays of JAX where they lie; those of a DeviceArray come back by DLPack."""
    import os
    os.environ.setdefault('XLA_PYTHON_CLIENT_PREALLOCATE', 'false')
    import jax
    jax.config.update('jax_enable_x64', True)
    kernel, inputs = loaded(packed, device), _few(packed)
    found = kernel(*[jax.numpy.asarray(x) for x in inputs[:-1]], fixed=[inputs[-1]])
    return f'{type(found)}, error {_alike(np.asarray(found), packed):.1e}'


def check_refused(packed: Packed, device: CudaDevice) -> str:
    """Look at the errors that only a driver can cause."""
    import os
    said = []
    for what, attempt in (('device 99', lambda: cuda_device(99)),
                          ('64 TB', lambda: device.keep(2**46))):
        try:
            attempt()
        except DeviceError as error:
            said.append(str(error)[:90])
        else:
            raise RuntimeError(f'{what} was not refused')
    child = os.fork()
    if child == 0:
        try:
            device.keep(8)
            os._exit(1)
        except DeviceError:
            os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code:
        raise RuntimeError(f'a process that was forked was not refused, it ended with {code}')
    return ' | '.join([*said, 'fork refused'])


def check_status(packed: Packed, device: CudaDevice) -> str:
    """Give one state that is not finite, on the device."""
    kernel, inputs = loaded(packed, device), _few(packed)
    spoilt = inputs[0].copy()
    spoilt[17] = np.nan
    there = [on_device(device, kernel, x, len(x)) for x in (spoilt, *inputs[1:-1])]
    kernel(*there, fixed=[inputs[-1]])
    try:
        kernel.check()
    except ValueError as error:
        return str(error)
    raise RuntimeError('a state that is not finite was not seen')


CHECKS: dict[str, Callable[[Packed, CudaDevice], str]] = {
    'status': check_status, 'refused': check_refused, 'torch': check_torch, 'cupy': check_cupy,
    'jax': check_jax}

if __name__ == '__main__':
    text, numbers = measured(Path(sys.argv[1]))
    if len(sys.argv) > 2:
        Path(sys.argv[2]).write_text(json.dumps(numbers, indent=1, default=str) + '\n')
    sys.exit(1 if numbers['failed'] else 0)
