# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
A UR5 under the controller's whole step on a GPU: is it right, and how fast.

Where everything is installed, write a file: ``./run python -m benchmark.gpu.fleet pack FILE``.
Where a GPU is, with NumPy and the driver: ``python3 -m benchmark.gpu.fleet FILE [JSON]``. It
compares 64 robots with the processor's controller over their start and a motion, and measures
launches of many.
"""

from __future__ import annotations

import json
from pathlib import Path
import sys
import time
from typing import Any, NamedTuple
import warnings

import numpy as np

from rbd_ros.compiler.gpu.device import cuda_device, CudaDevice
from rbd_ros.compiler.gpu.procedures.places import TILE
from rbd_ros.compiler.gpu.procedures.procedure_program import ENTRIES

#: s of a step; steps until all controllers run, and of the motion that is compared.
STEP, START, MOVED = 1e-3, 800, 200
#: rad/s that a push gives every joint of those compared.
PUSH = 0.3
CHECKED, ERROR = 64, 1e-9
#: Robots of the measured launches, and steps of each.
COUNTS, STEPS = (2**14, 2**15, 2**16, 2**17), 200
#: Steps per second.
GOAL = 2e9
#: Registers of a thread that are tried.
REGISTERS = (255, 128, 64)


class Kernels(NamedTuple):
    """
    What was packed of a fleet.

    :param code: PTX by registers.
    :param about: numbers of each thread, and which of them matter.
    :param arrays: numbers that threads begin with, and those of all; what is expected.
    """

    code: dict[int, bytes]
    about: dict[str, Any]
    arrays: dict[str, np.ndarray]


def pack(file: Path) -> None:
    """Write a file."""
    from benchmark.robots import robot_file
    import rbd_ros
    from rbd_ros.compiler import compile as compile_graph
    from rbd_ros.compiler.gpu.dialect import NVIDIA
    from rbd_ros.compiler.gpu.emulation import EmulatedDevice
    from rbd_ros.compiler.gpu.procedures.device_procedure import DeviceProcedure
    from rbd_ros.compiler.gpu.procedures.places import Memory
    from rbd_ros.compiler.gpu.procedures.procedure_program import (
        Called, home, own_size, procedure_program)
    from rbd_ros.compiler.gpu.targets import emit, PTX
    from rbd_ros.compiler.procedure import bind
    from rbd_ros.control.controller import Controller
    from rbd_ros.control.fleet import bindings_of, closed_step, plant_of, World
    from rbd_ros.control.parameters.assembly import build_settings, compile_kernels
    from rbd_ros.control.parameters.table import defaults
    from rbd_ros.control.robot import make_robot
    from rbd_ros.dynamics.step_graph import step_graph
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        model = rbd_ros.load_urdf(robot_file('ur5'))
    values = defaults() | {'driver_adds': 'none', 'mode': 'computed_torque',
                           'nominal_rate': 1.0 / STEP, 'start.time': 0.0,
                           'start.watch_time': 0.0, 'ramp_time': 0.3}
    settings = build_settings(make_robot(model), values, simulated=True)
    kernels = compile_kernels(settings)
    graph = step_graph(model, rbd_ros.Dynamics(model).kernel('forward_dynamics').graph, None, {})
    plant = compile_graph(graph).bind()
    plant.inputs['gravity'][:], plant.inputs['step'][...] = model.gravity, STEP
    q = np.array([0.0, -1.2, 1.5, -1.0, -1.5, 0.0]) + np.random.default_rng(0).uniform(
        -0.3, 0.3, (CHECKED, model.nq))

    def begun() -> Controller:
        made = Controller(settings, kernels, lambda _: None)
        made.activate(0.0, 0.0)
        return made

    controller = begun()
    bindings = bindings_of(controller, (plant, graph))
    probe = DeviceProcedure(EmulatedDevice(), closed_step, bindings)
    places = probe.places
    about = {'own': own_size(places), 'n': model.nq,
             'watched': sum(each.numbers for each in probe.watched),
             **{name: home(places, places.of(array)) for name, array in (
                 ('q', plant.inputs['q']), ('qd', plant.inputs['qd']))}}
    arrays = {'q': q, 'common': places.values(Memory.COMMON), 'begin': np.concatenate(
        [places.values(Memory.OWN), places.values(Memory.NEAR)])}
    ends = []
    for i in range(CHECKED):
        other = begun()
        plant.inputs['q'][:], plant.inputs['qd'][:], plant.inputs['time'][:] = q[i], 0.0, 0.0
        run = bind(closed_step, *other.given, plant_of(plant, World(other.x.sizes)))
        for k in range(START + MOVED):
            if k == START:
                plant.inputs['qd'][:] = PUSH
            run()
        ends.append([*plant.inputs['q'], *plant.inputs['qd'], *other.y.torque,
                     other.x.command.supervisor.state])
    arrays['ends'] = np.array(ends)
    called = {id(bound): Called(each, bound.inputs, bound.outputs)
              for bound, each in bindings.kernels}
    for registers in REGISTERS:
        text, graphs = procedure_program(closed_step, bindings.given, places, called,
                                         probe.watched, NVIDIA, registers)
        code = emit(graphs, PTX, assembly=True, procedures=text)
        arrays[f'code {registers}'] = np.frombuffer(code, np.uint8)
        print(f'{registers} registers: {len(code)} bytes of PTX', flush=True)
    np.savez_compressed(file, about=np.array(json.dumps(about)), **arrays)
    print(f'written: {file}, {file.stat().st_size} bytes; states at the end '
          f'{np.unique(arrays["ends"][:, -1])}, moved {np.abs(ends[0][:6] - q[0]).max():.3f} rad')


def unpacked(file: Path) -> Kernels:
    """Return what a file holds."""
    with np.load(file) as data:
        arrays = {name: data[name] for name in data.files}
    code = {int(name.split()[1]): arrays.pop(name).tobytes() for name in list(arrays)
            if name.startswith('code ')}
    return Kernels(code, json.loads(str(arrays.pop('about'))), arrays)


class Threads:
    """
    Threads on a device, with the numbers of a file.

    :param device: where.
    :param kernels: what was packed.
    :param functions: the kernels by name.
    :param count: how many.
    """

    def __init__(self, device: CudaDevice, kernels: Kernels, functions: dict[str, Any],
                 count: int) -> None:
        self._device, self._functions, self.count = device, functions, count
        self._about, arrays = kernels.about, kernels.arrays
        self._own = device.keep(8 * -(-count // TILE) * TILE * self._about['own'])
        self._common = self._kept(arrays['common'])
        begin = self._kept(arrays['begin'])
        self.launch('rbd_fill', begin.address)
        q = arrays['q'][np.arange(count) % len(arrays['q'])]
        self.put('q', q)
        device.synchronize()

    def _kept(self, array: np.ndarray) -> Any:
        array = np.ascontiguousarray(array)
        memory = self._device.keep(max(8, array.nbytes))
        self._device.upload(memory.address, array, 0)
        self._device.synchronize()
        return memory

    def put(self, name: str, values: np.ndarray) -> None:
        """Give each thread numbers."""
        array, width = self._kept(values), values.shape[1]
        self.launch('rbd_put', array.address, self._about[name], width, width, 1)
        self._device.synchronize()

    def launch(self, name: str, *words: int) -> None:
        """Start a kernel."""
        self._device.prepared(self._functions[name], self.count,
                              [self._own.address, self.count, *words], 0)()

    def run(self, steps: int) -> tuple[np.ndarray, float]:
        """Return what is watched at the end, (count, numbers), and the time of the launch, s."""
        records = np.empty((self._about['watched'], self.count))
        room = self._device.keep(records.nbytes)
        self._device.synchronize()
        begin = time.perf_counter()
        self.launch('rbd_run', self._common.address, steps, steps, room.address)
        self._device.synchronize()
        took = time.perf_counter() - begin
        self._device.download(records, room.address, 0)
        self._device.synchronize()
        return records.T, took


def measured(file: Path) -> dict[str, Any]:
    """Print and return what a file gives on this machine's GPU."""
    device, kernels = cuda_device(0), unpacked(file)
    rows: list[dict[str, Any]] = []
    print(f'{device.name}: {kernels.about["own"]} numbers of a thread', flush=True)
    for registers, code in kernels.code.items():
        begin = time.perf_counter()
        functions = dict(zip(ENTRIES, device.load(code, ENTRIES), strict=True))
        row: dict[str, Any] = {'cap': registers, 'jit': time.perf_counter() - begin,
                               'registers': functions['rbd_run'].registers,
                               'local': functions['rbd_run'].local, 'rates': {}}
        threads = Threads(device, kernels, functions, CHECKED)
        threads.run(START)
        n = kernels.about['n']
        threads.put('qd', np.full((CHECKED, n), PUSH))
        found, _ = threads.run(MOVED)
        ends = kernels.arrays['ends']
        row['error'] = float(np.abs(found - ends)[:, :2 * n].max())
        row['states'] = bool((found[:, -1] == ends[:, -1]).all())
        for count in COUNTS:
            try:
                threads = Threads(device, kernels, functions, count)
                threads.run(START)
                best = min(threads.run(STEPS)[1] for _ in range(3))
                row['rates'][count] = count * STEPS / best
            except Exception as error:      # the others must not be lost with it
                row['rates'][count] = f'{type(error).__name__}: {error}'
        rows.append(row)
        wrong = '' if row['error'] < ERROR and row['states'] else ' WRONG'
        print(f'{registers} registers at most: {row["registers"]}, local {row["local"]} bytes, '
              f'driver {row["jit"]:.1f} s, error {row["error"]:.1e}{wrong}, steps/s '
              f'{row["rates"]} (goal {GOAL:.0e})', flush=True)
    return {'gpu': device.name, 'rows': rows}


if __name__ == '__main__':
    if sys.argv[1] == 'pack':
        pack(Path(sys.argv[2]))
    else:
        numbers = measured(Path(sys.argv[1]))
        if len(sys.argv) > 2:
            Path(sys.argv[2]).write_text(json.dumps(numbers, indent=1) + '\n')
