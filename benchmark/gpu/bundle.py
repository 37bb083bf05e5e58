# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
One file with kernels, states and results, for a machine with a GPU and little else.

There the measurement needs Python, NumPy and the driver; LLVM, robots and their results are
needed where the file is written: ``./run python -m benchmark.gpu.bundle FILE [ROBOT ...]``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
import json
from pathlib import Path
import sys
import time
from typing import Any, NamedTuple
import warnings

from benchmark.gpu.jobs import Job, jobs, LETTERS
import numpy as np
from numpy.typing import NDArray

#: States of each robot, and those of them whose results are kept.
STATES, CHECKED = 1024, 64
#: Steps of a rollout that are checked.
CHECKED_STEPS = 5


class Packed(NamedTuple):
    """
    A kernel with what it is checked by.

    :param job: what it is.
    :param about: what ``DeviceKernel`` needs to know.
    :param code: PTX.
    :param inputs: arrays of STATES states, and of all.
    :param results: of the first CHECKED states, joined.
    """

    job: Job
    about: dict[str, Any]
    code: bytes
    inputs: list[NDArray[np.float64]]
    results: NDArray[np.float64]


class _Source(NamedTuple):
    """A graph, hints on it, stages of it, states, and what the first of them give."""

    graph: Any
    hints: Any
    stages: list[Any]
    inputs: list[NDArray[np.float64]]
    results: NDArray[np.float64]


def pack(file: Path, robots: Sequence[str] = ()) -> None:
    """
    Write jobs to a file.

    :param robots: whose, of all by default.
    """
    arrays: dict[str, Any] = {}
    listed, sources = [], {}
    made: dict[tuple[Any, ...], Any] = {}
    chosen = [job for job in jobs() if not robots or job.robot in robots]
    for number, job in enumerate(chosen):
        start = time.perf_counter()
        place = job.robot, job.quantity
        if place not in sources:
            source = sources[place] = _source(job)
            name = ' '.join(place)
            arrays.update({f'{name} {k}': x for k, x in enumerate(source.inputs)})
            arrays[name] = source.results
        about, code = _compiled(job, sources[place], made)
        listed.append([job, about, time.perf_counter() - start])
        arrays[f'code {number}'] = np.frombuffer(code, np.uint8)
        print(f'{" ".join(map(str, job))}: {len(about["entries"])} kernels, {about["slots"]} '
              f'slots, {len(code)} bytes, {listed[-1][-1]:.1f} s', flush=True)
    with file.open('wb') as written:  # of that name: NumPy would add an ending to another one
        np.savez_compressed(written, jobs=np.array(json.dumps(listed)), **arrays)
    print(f'written: {file}, {file.stat().st_size} bytes')


def _source(job: Job) -> _Source:
    """Return what is computed, of which states, and the results by Python's own floats."""
    from benchmark.robots import FLOATING, robot_file
    import rbd_ros
    from rbd_ros.dynamics.kernel_hints import kernel_hints
    from rbd_ros.dynamics.step_graph import step_graph
    from rbd_ros.model.positions import random_position
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        model = rbd_ros.load_urdf(robot_file(job.robot), job.robot in FLOATING)
    rolled, rng = job.quantity == 'rollout', np.random.default_rng(1)
    robot = rbd_ros.Dynamics(model, backend='reference')
    around = _floor(model) if rolled and job.robot in FLOATING else None
    graph = robot.kernel('forward_dynamics' if rolled else job.quantity).graph
    if rolled:
        inertia = None if around is None else robot.kernel('mass_matrix').graph
        graph = step_graph(model, graph, None, {}, around, inertia)
    positions = np.array([random_position(model, rng) for _ in range(STATES)])
    given = {'q': positions, 'gravity': np.array(model.gravity), 'time': np.zeros(1),
             'step': np.array(1e-3)}
    if around is not None:
        given |= {**around.inputs, 'q': _standing(model, rng)}
    inputs = [given.get(a.name, rng.uniform(-1.0, 1.0, (STATES, *a.shape)))
              for a in graph.inputs]
    names, ends = [a.name for a in graph.inputs], np.cumsum([a.size for a in graph.outputs])
    results = []
    for k in range(CHECKED):
        state = [(x[k] if x.ndim > len(a.shape) else x).ravel().tolist()
                 for a, x in zip(graph.inputs, inputs, strict=True)]
        for _ in range(CHECKED_STEPS if rolled else 1):
            found = graph.evaluate(*state)
            for argument, end in zip(graph.outputs, ends, strict=True) if rolled else ():
                state[names.index(argument.name)] = found[end - argument.size:end]
        results.append(found)
    return _Source(graph, kernel_hints(model, graph), _stages(robot, job.quantity), inputs,
                   np.array(results))


def _stages(robot: Any, quantity: str) -> list[Any]:
    """Return the stages of a quantity, none of most."""
    from rbd_ros.compiler.gpu.program import Stage
    from rbd_ros.dynamics.kernel_hints import kernel_hints
    from rbd_ros.dynamics.table import TABLE
    make = TABLE[quantity].traits.stages if quantity in TABLE else None
    return [Stage(graph, kernel_hints(robot.model, graph).ranks)
            for graph in (make(robot._store, False) if make else ())]


def _floor(model: Any) -> Any:
    """Return a soft floor under the feet of a robot, balls as in its description."""
    from rbd_ros.sim import read_balls, read_scene, soft_ground, World
    feet = ', '.join(f'{name}: 0.022' for name in model.frame_names if name.endswith('_foot'))
    scene = f'floor: 0.0\nballs: {{{feet}}}'
    return soft_ground(model, World('soft', read_balls(scene, model) or [], read_scene(scene)))


def _standing(model: Any, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return states of a quadruped about its stance, feet near the floor."""
    q = np.tile([0.0, 0.0, 0.3, 0.0, 0.0, 0.0, 1.0, *[0.0, 0.8, -1.6] * 4], (STATES, 1))
    assert q.shape[1] == model.nq
    q[:, 2] += rng.uniform(-0.02, 0.02, STATES)
    q[:, 7:] += rng.uniform(-0.1, 0.1, (STATES, model.nq - 7))
    return q


def _compiled(job: Job, source: _Source,
              made: dict[tuple[Any, ...], Any]) -> tuple[dict[str, Any], bytes]:
    """
    Return the kernels of a job for a GPU.

    :param made: forms and kernels that were made already: many variants have the same text.
    """
    from rbd_ros.compiler.gpu.dialect import NVIDIA
    from rbd_ros.compiler.gpu.program import best_form, Form, program
    from rbd_ros.compiler.gpu.rollout import rollout_program
    from rbd_ros.compiler.gpu.targets import emit, PTX, streamed
    from rbd_ros.compiler.scalar import scalar_type
    graph, kind, own = source.graph, scalar_type(job.scalar), job[:3]
    rolled = job.quantity == 'rollout'
    if own not in made:
        made[own] = Form.of(graph, kind) if rolled else best_form(
            graph, kind, source.hints, source.stages)
    form = made[own]._replace(**{
        LETTERS[word[0]]: int(word[1:]) for word in job.variant.split()})
    place = own, form._replace(level=0)
    if place not in made:
        carried = {a.name: a.name for a in graph.outputs}
        found = rollout_program(graph, carried, (), NVIDIA, kind, form) if rolled else program(
            graph, NVIDIA, kind, source.hints, form, source.stages)
        made[place] = found, streamed(emit(found.text, PTX, assembly=True))
    found, code = made[place]
    return found._replace(form=form).about(graph), code


def unpacked(file: Path) -> Iterator[Packed]:
    """Return what a file holds, job by job."""
    with np.load(file) as data:
        for number, (job, about, _) in enumerate(json.loads(str(data['jobs']))):
            job = Job(*job)
            place = f'{job.robot} {job.quantity}'
            inputs = [data[f'{place} {k}'] for k in range(len(about['inputs']))]
            yield Packed(job, about, data[f'code {number}'].tobytes(), inputs, data[place])


if __name__ == '__main__':
    pack(Path(sys.argv[1] if len(sys.argv) > 1 else 'gpu_bundle.npz'), sys.argv[2:])
