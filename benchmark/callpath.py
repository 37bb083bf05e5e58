# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""What a call costs: the inverse dynamics of one robot, every way to reach it from Python."""

from __future__ import annotations

from collections.abc import Callable
import ctypes
import os

from benchmark.proof import same
from benchmark.robots import robot_file
import numpy as np
import rbd_ros
from rbd_ros.command_line.timing import best_times
from rbd_ros.compiler import Kernel

#: States in a batch.
COUNT = 4096


def paths(robot: rbd_ros.Dynamics, state: tuple[np.ndarray, ...]) -> dict[str, Callable]:
    """Return the ways to call, by name."""
    kernel = robot.kernel('inverse_dynamics')
    gravity = robot.gravity_vector
    bound = kernel.bind()
    for buffer, value in zip(bound.inputs.values(), (*state, gravity), strict=True):
        buffer[...] = value
    run, call, slow = bound.run, kernel.caller(gravity), Kernel.caller(kernel, gravity)
    method = robot.inverse_dynamics
    q, qd, qdd = state
    a, b, c, _ = bound.inputs.values()
    out = np.zeros(kernel.outputs[0].shape)

    def write_and_run() -> None:
        a[:], b[:], c[:] = q, qd, qdd
        run()

    def write_and_read() -> np.ndarray:
        write_and_run()
        return bound.outputs['tau'].copy()
    pointers = [ctypes.c_void_p(x.ctypes.data) for x in (*state, gravity, out)]
    function = kernel.program._function
    return {
        'bound.run()': run,
        'bound()': bound,
        'bound, inputs written': write_and_run,
        'bound, inputs written, result copied': write_and_read,
        'checked, out given': lambda: call(q, qd, qdd, out=out),
        'checked, new array': lambda: call(q, qd, qdd),
        'kernel, all arguments': lambda: kernel(q, qd, qdd, gravity),
        'robot.inverse_dynamics': lambda: method(q, qd, qdd),
        'checked in Python (no gate)': lambda: slow(q, qd, qdd),
        'ctypes with pointers, unchecked': lambda: function(*pointers),
    }


def prove(robot: rbd_ros.Dynamics, state: tuple[np.ndarray, ...],
          many: list[np.ndarray], ways: dict[str, Callable], other: np.ndarray) -> None:
    """
    Raise an error unless every way gives the same torques as another library.

    :param ways: by name; those that return nothing write into buffers that only they know.
    :param other: torques of the state by that library.
    """
    for way, call in ways.items():
        found = call()
        if isinstance(found, np.ndarray) and found.ndim == 1:
            same(way, found, other)
    found = robot.inverse_dynamics(*many)
    for k in (0, COUNT // 2, COUNT - 1):
        same('batch', found[k], robot.inverse_dynamics(*(part[k] for part in many)))
    bound = robot.kernel('inverse_dynamics').bind()
    for buffer, value in zip(bound.inputs.values(), (*state, robot.gravity_vector), strict=True):
        buffer[...] = value
    bound.run()
    same('bound', bound.outputs['tau'], other)


def batches(kernel: Kernel, states: list[np.ndarray], gravity: np.ndarray,
            ) -> dict[str, Callable]:
    """Return batches on one thread and on all cores, by name."""
    kernel.prepare_batch()
    cores = len(os.sched_getaffinity(0))
    return {f'batch of {COUNT}, {n} thread{"s" * (n > 1)}, per state':
            lambda n=n: kernel.batch(*states, gravity, threads=n) for n in sorted({1, cores})}


def peer(name: str, state: tuple[np.ndarray, ...]) -> Callable | None:
    """Return Pinocchio's call, None where it is not installed."""
    try:
        import pinocchio as pin
    except ImportError:
        return None
    model = pin.buildModelFromUrdf(str(robot_file(name)))
    data = model.createData()
    return lambda: pin.rnea(model, data, *state)


def report(name: str = 'ur5') -> tuple[str, dict[str, float]]:
    """Return the table and its numbers in microseconds, best of several turns."""
    model = rbd_ros.load_urdf(robot_file(name), on_warning=lambda text: None)
    robot = rbd_ros.Dynamics(model, backend='llvm')
    rng = np.random.default_rng(0)
    state = tuple(rng.uniform(-1.0, 1.0, n) for n in (model.nq, model.nv, model.nv))
    ways = paths(robot, state)
    other = peer(name, state)
    if other is not None:
        ways['pin.rnea'] = other
    kernel = robot.kernel('inverse_dynamics')
    many = [rng.uniform(-1.0, 1.0, (COUNT, x.size)) for x in state]
    grouped = batches(kernel, many, robot.gravity_vector)
    if other is not None:
        prove(robot, state, many, ways, np.array(other()))
    times = best_times(*ways.values(), *grouped.values())
    numbers = {way: 1e6 * t for way, t in zip((*ways, *grouped), times, strict=True)}
    numbers.update({way: numbers[way] / COUNT for way in grouped})
    lines = [f'{model.name}: inverse_dynamics, {kernel.count()}', f'{"":44}{"us":>9}']
    lines += [f'{way:44}{t:9.3f}' for way, t in numbers.items()]
    return '\n'.join(lines), numbers


if __name__ == '__main__':
    print(report()[0])
