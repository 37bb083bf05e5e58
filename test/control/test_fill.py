# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Values become parameters of the step, and are judged, by procedures: the same in every form."""

from __future__ import annotations

import numpy as np
import pytest
from random_values import random_values
from rbd_ros.compiler.procedure import bind
from rbd_ros.control.joint_states.arrival import fill_states
from rbd_ros.control.modes import TIP_SPRINGS
from rbd_ros.control.parameters.judging import judge_values, Judgement
from rbd_ros.control.parameters.settings import Settings
from rbd_ros.control.parameters.table import defaults, PARAMETERS
from rbd_ros.control.parameters.values import places
from rbd_ros.control.references.points import fill_point_limits, PointLimits
from rbd_ros.control.step.state import fill_parameters, Parameters
from recorded_robots import controlled_robot, KINDS
from sampling import examples


@pytest.mark.parametrize('kind', KINDS)
def test_machine_code_fills_in_what_python_does(kind: str) -> None:
    """Whatever the values are, all numbers are the same to the last bit, and finite."""
    robot, rng = controlled_robot(kind), np.random.default_rng(1000 + len(kind))
    sizes = {'n': len(robot.joints), 'm': robot.model.nv, 's': 8}
    given = Settings(robot, random_values(rng, sizes['n']), simulated=False).given
    forms = []
    for backend in ('python', 'llvm'):
        p, limits, x = Parameters(sizes), PointLimits(sizes), Judgement(sizes)
        forms.append((p, limits, x, [bind(function, record, given, backend=backend) for
                                     function, record in (
            (fill_states, p.states), (fill_parameters, p), (fill_point_limits, limits),
            (judge_values, x))]))
    for k in range(examples('properties', 25)):
        settings = Settings(robot, random_values(rng, sizes['n']), simulated=k % 2 > 0)
        given.memory[:] = settings.given.memory
        for *_, x, runs in forms:
            x.reset()
            for run in runs if k % 5 == 0 else runs[:3]:  # rules take Python their time
                run()
        for first, second in zip(*(each[:3] for each in forms), strict=True):
            np.testing.assert_array_equal(first.memory, second.memory)
        assert np.isfinite(forms[0][0].memory).all() and np.isfinite(forms[0][1].memory).all()


def test_a_gpu_fills_in_what_python_does() -> None:
    """Each thread takes other values; functions of angles differ in their last bits."""
    pytest.importorskip('llvmlite', reason='llvmlite is not installed')
    from rbd_ros.compiler.gpu.emulation import EmulatedDevice
    from rbd_ros.compiler.gpu.procedures.device_procedure import Bindings, DeviceProcedure
    robot, rng, count = controlled_robot('arm'), np.random.default_rng(4), 5
    sizes = {'n': 3, 'm': robot.model.nv, 's': 8}
    sets = [Settings(robot, random_values(rng, 3), simulated=False).given.memory
            for _ in range(count)]
    p, given = Parameters(sizes), Settings(robot, random_values(rng, 3), simulated=False).given
    batch = DeviceProcedure(EmulatedDevice(), fill_parameters, Bindings((p, given), {}, []),
                            cache=False).batch(count)
    batch.write(given.memory, np.array(sets))
    batch.run()
    found, run = batch.read(p.memory), bind(fill_parameters, p, given, backend='python')
    for one, numbers in zip(found, sets, strict=True):
        given.memory[:] = numbers
        run()
        np.testing.assert_allclose(one, p.memory, rtol=1e-12)


def test_every_number_has_its_place() -> None:
    """Places follow each other without a gap, and hold what was given."""
    robot = controlled_robot('arm')
    found = sorted(places(robot.modes, 3).values(), key=lambda each: each.at)
    own = {name for mode in robot.modes.values() if mode.law for name in mode.rows}
    others = [each for each in found if each.row.name not in own]
    gaps = [after.at - each.at - each.size for each, after in zip(others, others[1:])]
    assert sorted(gaps)[:-1] == [0] * (len(gaps) - 1)  # between two stand those of the laws
    rng = np.random.default_rng(3)
    values = random_values(rng, 3)
    numbers = Settings(robot, values, simulated=False).given.values.memory
    for each in found:
        value = values[each.row.name]
        held = numbers[each.at:each.at + each.size]
        if isinstance(value, str):
            assert held == (each.names.index(value) if value in each.names else -1)
        elif not isinstance(value, list):
            assert held == float(value)
        elif PARAMETERS[each.row.name].choices:
            assert held.sum() == len(value)
        else:
            np.testing.assert_array_equal(held, np.resize(value or [np.nan], each.size))


def test_springs_of_a_contact_are_judged_in_other_modes() -> None:
    """They hold the robot after a contact; where they do not, they may be anything."""
    robot = controlled_robot('free seven')
    stiff = defaults() | {'cartesian_impedance.angular_stiffness': [1e5] * 3}
    words = [f'{TIP_SPRINGS.name}.angular_stiffness 100000 N.m/rad of {axis} with' for axis in (
        'rx', 'ry', 'rz')]
    for reaction, wrong in (('stop', 0), ('comply', 3)):
        found = Settings(robot, stiff | {'contact.reaction': reaction},
                         simulated=False).live_refusals()
        assert len(found) == wrong
        assert all(text.startswith(word) for text, word in zip(found, words))


def test_one_number_stands_for_all_where_it_may() -> None:
    """For joints and axes, and not for the places of a vector."""
    joints, axis, vector = (PARAMETERS[name] for name in (
        'stiffness', 'contact.force', 'payload.com'))
    assert not joints.refusal([1.0], 7) and not axis.refusal([1.0])
    assert not vector.refusal([0.1] * 3)
    assert 'give one for all, or 7' in joints.refusal([1.0, 2.0], 7)
    assert 'has 1 entries; give 3' in vector.refusal([0.1])
    assert 'has 0 entries' in joints.refusal([], 7)
    assert not PARAMETERS['reference.velocity'].refusal([], 7)


def test_what_depends_on_a_choice() -> None:
    """The sign of the sensor turns its bias, and force control bounds the speed of the tip."""
    robot, p = controlled_robot('arm'), Parameters({'n': 3, 'm': 3, 's': 8})
    values = defaults() | {
        'force_torque.force_bias': [1.0, 2.0, 3.0], 'force_torque.moment_bias': [4.0, 5.0, 6.0],
        'force_torque.convention': 'support', 'force_control.axes': ['tz'],
        'force_control.linear_speed': 0.03, 'force_control.angular_speed': 0.2,
        'task.linear_velocity': 0.5, 'task.angular_velocity': 0.1}
    fill_parameters(p.plain(), Settings(robot, values, simulated=False).given.plain())
    assert p.sensor.bias.tolist() == [-4.0, -5.0, -6.0, -1.0, -2.0, -3.0]
    assert p.laws.task.speed.tolist() == [0.1, 0.03]
