# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Speed compared with Pinocchio, both called from Python on the same states: ``./run bench``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path
import sys
from typing import NamedTuple

from benchmark.handles import HANDLES
from benchmark.proof import same
from benchmark.robots import robot_file
import numpy as np
import pinocchio as pin

import rbd_ros
from rbd_ros.command_line.timing import best_times
from rbd_ros.compiler import Bound
from rbd_ros.model.positions import random_position
from rbd_ros.peers.pinocchio_robot import PinocchioRobot

#: The built-in arm.
ARM = Path(__file__).parents[1] / 'urdf' / 'seven_joint_arm.urdf'

#: States that a measurement cycles through, and states of a batch.
STATES, BATCH = 64, 4096

#: How many times the time of a checked call a bound one may take: it does a part of its work. A
#: tenth is what places in memory and a busy machine make of equal calls that take turns; beyond
#: the second the kernels differ, on any machine.
EQUAL, CLEAR = 1.1, 1.25


class Row(NamedTuple):
    """One line of the table: seconds per state of Pinocchio and of this package."""

    robot: str
    quantity: str
    call: str
    theirs: float
    ours: float
    target: float | None

    @property
    def ratio(self) -> float:
        """Return how many times faster this package is."""
        return self.theirs / self.ours


class Case(NamedTuple):
    """A robot to measure, with the ratios that are asked of it."""

    robot: str
    floating: bool
    bound: float
    checked: dict[str, float]
    batch: dict[str, float]


CASES = (
    Case('ur5', False, 4.0, {'inverse_dynamics': 2.5, 'forward_dynamics': 2.5, 'gravity': 2.0,
                             'mass_matrix': 2.0},
         {'inverse_dynamics': 15.0, 'forward_dynamics': 8.0}),
    Case('panda', False, 4.0, {'inverse_dynamics': 2.5, 'forward_dynamics': 2.5, 'gravity': 2.0,
                               'mass_matrix': 2.0},
         {'inverse_dynamics': 15.0, 'forward_dynamics': 8.0}),
    Case('talos', True, 2.5, {'inverse_dynamics': 2.0, 'forward_dynamics': 2.0, 'gravity': 2.0,
                              'mass_matrix': 2.0},
         {'inverse_dynamics': 6.0, 'forward_dynamics': 4.0}),
)

#: Inputs of each measured quantity.
QUANTITIES = {
    'inverse_dynamics': ('q', 'qd', 'qdd'), 'gravity': ('q',), 'mass_matrix': ('q',),
    'forward_dynamics': ('q', 'qd', 'tau'),
}


class Twin:
    """The same robot in Pinocchio, called the way its users call it."""

    def __init__(self, robot: PinocchioRobot) -> None:
        self._robot = self.robot = robot

    def function(self, quantity: str) -> Callable[..., object]:
        """Return Pinocchio's function for a quantity, of inputs as :meth:`inputs` gives them."""
        model, data = self._robot.pin, self._robot.data
        function = {
            'inverse_dynamics': pin.rnea, 'gravity': pin.computeGeneralizedGravity,
            'mass_matrix': pin.crba, 'forward_dynamics': pin.aba,
            'inverse_dynamics_derivatives': pin.computeRNEADerivatives,
            'forward_dynamics_derivatives': pin.computeABADerivatives,
        }[quantity]
        return lambda *state: function(model, data, *state)

    def inputs(self, names: tuple[str, ...], state: tuple[np.ndarray, ...]) -> tuple:
        """Return a state in Pinocchio's coordinates."""
        return tuple(self._robot.position(value) if name == 'q' else self._robot.B @ value
                     for name, value in zip(names, state, strict=True))


def measure(case: Case) -> Iterator[Row]:
    """Yield the rows of one robot."""
    # Pinocchio's forward dynamics refuses mimic joints, so both libraries leave them free.
    file = robot_file(case.robot)
    model = rbd_ros.load_urdf(file, case.floating, mimic=False, on_warning=lambda text: None)
    robot = rbd_ros.Dynamics(model)
    twin = Twin(PinocchioRobot(model, file.read_text(), case.floating, mimic=False))
    states = _states(model, BATCH)
    for quantity, inputs in QUANTITIES.items():
        yield from _single(case, robot, twin, states, quantity, inputs)
    for quantity, target in case.batch.items():
        yield _batch(case, robot, twin, states, quantity, target)


def _states(model: rbd_ros.Model, count: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    q = np.array([random_position(model, rng) for _ in range(count)])
    rest = {name: rng.normal(size=(count, model.nv)) for name in ('qd', 'qdd', 'tau')}
    return {'q': q, **rest}


def _single(
    case: Case, robot: rbd_ros.Dynamics, twin: Twin, states: dict[str, np.ndarray],
    quantity: str, inputs: tuple[str, ...],
) -> Iterator[Row]:
    bound = robot.bind(quantity)
    method = getattr(robot, quantity)
    ours = [tuple(states[name][k].copy() for name in inputs) for k in range(STATES)]
    for name, value in zip(inputs, ours[0], strict=True):
        bound.inputs[name][:] = value
    buffers = [bound.inputs[name] for name in inputs]

    def written(values: tuple[np.ndarray, ...]) -> None:
        for buffer, value in zip(buffers, values):
            buffer[:] = value
        bound()

    reference = cycling(twin.function(quantity), [twin.inputs(inputs, state) for state in ours])
    for state in ours[:4]:
        wanted = getattr(twin.robot, quantity)(*state)
        written(state)
        for way, got in (('bound', bound.outputs[next(iter(bound.outputs))]),
                         ('checked', method(*state))):
            same(f'{case.robot}, {quantity}, {way}', got, wanted)
    written(ours[0])
    fixed, writing, checked, theirs = best_times(
        bound, cycling_one(written, ours), cycling(method, ours), reference)
    yield Row(case.robot, quantity, 'bound', theirs, fixed, case.bound)
    yield Row(case.robot, quantity, 'bound, inputs written', theirs, writing, None)
    yield Row(case.robot, quantity, 'checked', theirs, checked, case.checked[quantity])


def cycling(function: Callable[..., object], states: list[tuple]) -> Callable[[], object]:
    """Return a call without arguments that goes through states one after another."""
    turn = cycle(states).__next__
    return lambda: function(*turn())


def cycling_one(function: Callable[[tuple], object], states: list[tuple]) -> Callable[[], object]:
    """Return the same for a function that takes a state as one tuple."""
    turn = cycle(states).__next__
    return lambda: function(turn())


def _batch(
    case: Case, robot: rbd_ros.Dynamics, twin: Twin, states: dict[str, np.ndarray],
    quantity: str, target: float,
) -> Row:
    inputs = QUANTITIES[quantity]
    arrays = [states[name] for name in inputs]
    method = getattr(robot, quantity)
    function = twin.function(quantity)
    converted = [twin.inputs(inputs, tuple(array[k] for array in arrays)) for k in range(BATCH)]

    def loop() -> None:
        for state in converted:
            function(*state)

    found = method(*arrays)
    for k in range(0, BATCH, BATCH // 8):
        same(f'{case.robot}, {quantity}, batch', found[k], getattr(twin.robot, quantity)(
            *(array[k] for array in arrays)))
    ours, theirs = best_times(lambda: method(*arrays), loop, repetitions=15)
    return Row(case.robot, quantity, f'batch of {BATCH}', theirs / BATCH, ours / BATCH, target)


def verdict(met: bool) -> str:
    """Return the word behind a number that has a target."""
    return ' ok' if met else ' MISSED'


def slower_than_checked(rows: list[Row], limit: float = EQUAL) -> list[str]:
    """
    Return a line for each bound call that takes longer than the call around it.

    :param limit: how many times as long it may take.
    """
    checked = {(row.robot, row.quantity): row.ours for row in rows if row.call == 'checked'}
    return [f'{row.robot}, {row.quantity}: the bound call takes {row.ours * 1e6:.3g} us, the '
            f'checked one {checked[row.robot, row.quantity] * 1e6:.3g} us: MISSED'
            for row in rows if row.call == 'bound'
            and row.ours > limit * checked.get((row.robot, row.quantity), np.inf)]


def table(rows: list[Row]) -> str:
    """Return the rows as an aligned table."""
    lines = [f'{"robot":8}{"quantity":22}{"call":24}{"pin us":>9}{"ours us":>9}{"ratio":>8}'
             f'{"target":>8}']
    for row in rows:
        goal = '' if row.target is None else f'{row.target:.1f}'
        met = '' if row.target is None else verdict(row.ratio >= row.target)
        lines.append(f'{row.robot:8}{row.quantity:22}{row.call:24}{row.theirs * 1e6:9.3f}'
                     f'{row.ours * 1e6:9.3f}{row.ratio:8.2f}{goal:>8}{met}')
    return '\n'.join(lines)


def operational_space() -> tuple[str, dict[str, float]]:
    """Return lines about, and the seconds of, the operational-space inertia of one frame."""
    model = rbd_ros.load_urdf(ARM, on_warning=lambda text: None)
    robot = rbd_ros.Dynamics(model)
    bound = robot.bind('operational_space', 'tool0')
    bound.inputs['q'][:] = q = np.linspace(-1.0, 1.0, model.nq)
    bound.inputs['max_condition'][:] = 1e6
    qd = np.zeros(model.nv)
    point = robot.handle('tool0', point=(0.0, 0.0, 0.1))
    calls = {
        'bound': (bound.run, 6.0),
        'as users call it': (lambda: robot.operational_space(q, qd, 'tool0'), 8.0),
        'with max_condition': (
            lambda: robot.operational_space(q, qd, 'tool0', max_condition=1e6), 8.0),
        'of a handle': (lambda: robot.operational_space(q, qd, point), 8.0)}
    bound.run()
    for frame, found in (('tool0', bound.outputs['Lambda']),
                         ('tool0', robot.operational_space(q, qd, 'tool0').Lambda),
                         (point, robot.operational_space(q, qd, point).Lambda)):
        J = robot.operational_space(q, qd, frame).J
        same('operational space', found, np.linalg.inv(
            J @ np.linalg.solve(robot.mass_matrix(q), J.T)), 1e-6)
    seconds = dict(zip(calls, best_times(*(call for call, _ in calls.values())), strict=True))
    title = f'operational-space inertia of a 6-D frame with condition number, {model.nv} joints:'
    return '\n'.join([title, *(
        f'    {name:24}{seconds[name] * 1e6:9.2f} us, target {limit:.0f}'
        f'{verdict(seconds[name] * 1e6 <= limit)}'
        for name, (_, limit) in calls.items())]), seconds


#: Robots whose derivatives are measured: description, free base, and the ratios asked for, of
#: inverse and of forward dynamics.
DERIVATIVES = {
    'arm (7)': (lambda: ARM, False, (3.0, 3.0)),
    'panda': (lambda: robot_file('panda'), False, (3.0, 3.0)),
    'talos': (lambda: robot_file('talos'), True, (1.5, 2.25))}


def derivatives() -> list[Row]:
    """Return the rows of derivatives, called as users call them."""
    rows = []
    for name, (find, floating, targets) in DERIVATIVES.items():
        file = find()
        model = rbd_ros.load_urdf(file, floating, mimic=False, on_warning=lambda text: None)
        robot = rbd_ros.Dynamics(model)
        twin = Twin(PinocchioRobot(model, file.read_text(), floating, mimic=False))
        states = _states(model, STATES)
        for quantity, third, target in zip(
                ('inverse_dynamics_derivatives', 'forward_dynamics_derivatives'),
                ('qdd', 'tau'), targets, strict=True):
            inputs = 'q', 'qd', third
            ours = [tuple(states[key][k].copy() for key in inputs) for k in range(STATES)]
            getattr(robot, quantity)(*ours[0])      # from the second call on it is machine code
            bound = robot.bind(quantity)
            for key, value in zip(inputs, ours[0], strict=True):
                bound.inputs[key][:] = value
            bound()
            _check_slope(robot, quantity, ours[0], getattr(robot, quantity)(*ours[0]), bound)
            fixed, checked, theirs = best_times(
                bound, cycling(getattr(robot, quantity), ours),
                cycling(twin.function(quantity), [twin.inputs(inputs, state) for state in ours]))
            title = quantity.replace('dynamics_derivatives', 'dyn. deriv.')
            rows += [Row(name, title, 'bound', theirs, fixed, target),
                     Row(name, title, 'checked', theirs, checked, target)]
    return rows


def _check_slope(robot: rbd_ros.Dynamics, quantity: str, state: tuple[np.ndarray, ...],
                 found: NamedTuple, bound: Bound) -> None:
    """Compare derivatives by velocity with differences, and a bound call with a checked one."""
    q, qd, x = state
    h, way = 1e-5, np.random.default_rng(0).normal(size=len(qd))
    function = getattr(robot, quantity.removesuffix('_derivatives'))
    slope = (function(q, qd + h * way, x) - function(q, qd - h * way, x)) / (2.0 * h)
    name = next(each for each in found._fields if each.endswith('_dqd'))
    same(f'{quantity}, checked', getattr(found, name) @ way, slope, 1e-5)
    for each in found._fields:
        same(f'{quantity}, bound', bound.outputs[each], getattr(found, each))


#: Kernels compared with the one of articulated bodies, which each may take three times as long.
BESIDE_ABA = ('coriolis_matrix', 'centroidal_momentum_matrix', 'centroidal_momentum_matrix_rate',
              'torque_regressor')


def beside_articulated_bodies() -> tuple[str, dict[str, float]]:
    """Return lines about, and the times of, kernels of Talos in units of its ABA kernel."""
    model = rbd_ros.load_urdf(robot_file('talos'), True, mimic=False, on_warning=lambda text: None)
    robot = rbd_ros.Dynamics(model)
    states = _states(model, 1)
    kernels = {name: robot.bind(name) for name in BESIDE_ABA}
    kernels['hybrid, every second joint'] = robot.bind(
        'hybrid_dynamics', model.independent_joint_names[1::2])
    kernels['hybrid, half of the joints'] = robot.bind(
        'hybrid_dynamics', model.independent_joint_names[model.nb // 2:])
    kernels['inertia of four handles'] = robot.bind('handle_inertia', HANDLES[:4])
    kernels['its inverse'] = robot.bind('inverse_handle_inertia', HANDLES[:4])
    reference = robot.bind('forward_dynamics', method='aba')
    states['known'] = states['tau']
    for bound in (reference, *kernels.values()):
        for name in bound.inputs.keys() & states.keys():
            bound.inputs[name][:] = states[name][0]
    plain = rbd_ros.Dynamics(model, backend='python', cache=False)
    for name in BESIDE_ABA:
        kernels[name]()
        for got, wanted in zip(kernels[name].outputs.values(), plain.kernel(name)(
                *(array for array in kernels[name].inputs.values())), strict=True):
            same(name, got, wanted)
    aba, *times = best_times(reference, *kernels.values())
    ratios = dict(zip(kernels, (time / aba for time in times), strict=True))
    return '\n'.join([
        f'kernels of Talos, floating, compared with its articulated bodies ({aba * 1e6:.2f} us):',
        *(f'    {name:34}{ratio:6.2f} x, target 3.00{verdict(ratio <= 3.0)}'
          for name, ratio in ratios.items())]), ratios


def report() -> tuple[str, dict[str, object]]:
    """
    Return the table as text and as data.

    :raises RuntimeError: with the table, if a bound call is clearly slower than its checked one.
    """
    rows = []
    for case in CASES:
        print(f'measuring {case.robot} ...', file=sys.stderr, flush=True)
        rows += list(measure(case))
    rows += derivatives()
    line, seconds = operational_space()
    data = [{**row._asdict(), 'ratio': row.ratio} for row in rows]
    beside, ratios = beside_articulated_bodies()
    text = '\n'.join([table(rows), *slower_than_checked(rows), line, beside])
    wrong = slower_than_checked(rows, CLEAR)
    if wrong:
        raise RuntimeError('\n'.join([text, f'more than {CLEAR:g} times as long as the call '
                                      'that does the same and more:', *wrong]))
    return text, {
        'calls': data, 'operational_space': seconds, 'beside_aba': ratios}
