# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Measure how long each quantity of a robot takes on this machine, and in Pinocchio if installed.

    rbd bench robot.urdf

"bound" is the call for control loops: fixed buffers, no checks. "checked" is the method of the
Python API. "batch" is the time per state for 4096 states in one call. Times are in microseconds,
the best of several rounds; compilation is not included.
"""

from __future__ import annotations

from functools import partial
from typing import Annotated, TYPE_CHECKING

from rbd_ros.command_line.options import AsJson, Floating, Robot
from rbd_ros.command_line.output import progress, show, table
import typer

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from rbd_ros.dynamics.robot import Dynamics

QUANTITIES = {
    'inverse_dynamics': ('q', 'qd', 'qdd'), 'gravity': ('q',), 'bias': ('q', 'qd'),
    'mass_matrix': ('q',), 'forward_dynamics': ('q', 'qd', 'tau'),
}
BATCH = 4096


def run(
    robot: Robot,
    repetitions: Annotated[int, typer.Option(
        min=1, help='Number of rounds; the best one counts.')] = 200,
    floating_base: Floating = False,
    as_json: AsJson = False,
) -> None:
    """Measure the calls of a robot."""
    from rbd_ros.command_line.robots import load
    from rbd_ros.command_line.timing import best_times, machine
    from rbd_ros.dynamics.robot import Dynamics
    model, text, _ = load(robot, floating_base, quiet=as_json)
    compiled = Dynamics(model)
    states = _states(compiled)
    pinocchio_calls, missing = _pinocchio(compiled, text, floating_base)
    rows, data = [], []
    with progress('measuring', len(QUANTITIES)) as step:
        for name, inputs in QUANTITIES.items():
            one = [states[key][0].copy() for key in inputs]
            many = [states[key] for key in inputs]
            bound, method = compiled.bind(name), getattr(compiled, name)
            for key, value in zip(inputs, one, strict=True):
                bound.inputs[key][:] = value
            calls: list[Callable[[], object]] = [
                bound, partial(method, *one), partial(method, *many)]
            if name in pinocchio_calls:
                calls.append(pinocchio_calls[name](one))
            times = [1e6 * each for each in best_times(*calls, repetitions=repetitions)]
            times[2] /= BATCH
            other = times[3] if len(times) > 3 else None
            ratio = f'{other / times[1]:.1f}' if other else '-'
            rows.append([name, *times[:3], other or '-', ratio])
            data.append({'quantity': name, 'bound_us': times[0], 'checked_us': times[1],
                         'batch_us': times[2], 'pinocchio_us': other})
            step()
    show({'robot': model.name, 'machine': machine(), 'times': data, 'pinocchio': missing or True},
         as_json, machine(), table(f'{model.name}, {model.nv} degrees of freedom, us per state', (
             'quantity', '>bound', '>checked', '>batch', '>Pinocchio', '>Pinocchio / checked'),
             rows), *([missing] if missing else []))


def _states(robot: Dynamics) -> dict[str, np.ndarray]:
    import numpy as np
    from rbd_ros.model.positions import random_position
    rng = np.random.default_rng(0)
    q = np.array([random_position(robot.model, rng) for _ in range(BATCH)])
    return {'q': q, **{name: rng.normal(size=(BATCH, robot.model.nv))
                       for name in ('qd', 'qdd', 'tau')}}


def _pinocchio(
    robot: Dynamics, text: str, floating_base: bool,
) -> tuple[dict[str, Callable[..., Callable[[], object]]], str]:
    """Return Pinocchio's calls by quantity, each for a given state; or why there are none."""
    try:
        import pinocchio as pin
        from rbd_ros.peers.pinocchio_robot import PinocchioRobot
    except ImportError:
        return {}, 'Pinocchio is not installed: pip install pin'
    try:
        peer = PinocchioRobot(robot.model, text, floating_base)
    except ValueError as error:
        return {}, f'Pinocchio cannot load this robot: {error}'
    if peer.projected:
        return {}, 'Pinocchio is not measured: it has no forward dynamics for mimic joints'
    functions = {'inverse_dynamics': pin.rnea, 'gravity': pin.computeGeneralizedGravity,
                 'bias': pin.nonLinearEffects, 'mass_matrix': pin.crba,
                 'forward_dynamics': pin.aba}

    def made(function: Callable[..., object]) -> Callable[..., Callable[[], object]]:
        def at_state(one: list[np.ndarray]) -> Callable[[], object]:
            state = [peer.position(one[0]), *(peer.B @ value for value in one[1:])]
            return lambda: function(peer.pin, peer.data, *state)
        return at_state
    return {name: made(function) for name, function in functions.items()}, ''
