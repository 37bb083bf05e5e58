# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Parameters that change while a generated controller runs, by the bounds of the node."""

from __future__ import annotations

from pathlib import Path
import re
import subprocess

import numpy as np
import pytest
from random_values import random_values
from rbd_ros.command_line.ros2_control.package import robot_package, ros2_control_package
from rbd_ros.command_line.ros2_control.parameter_tables import live_places, NODE_ONLY
from rbd_ros.compiler.procedure import bind
from rbd_ros.control.interface.events import Event, Kind, Result
from rbd_ros.control.interface.row import INTEGER
from rbd_ros.control.parameters.judging import (
    judge_turn, judge_values, Judgement, RuleWord)
from rbd_ros.control.parameters.settings import Settings
from rbd_ros.control.parameters.table import PARAMETERS, with_modes
from rbd_ros.control.references.points import fill_point_limits, PointLimits
from rbd_ros.control.step.state import fill_parameters, Parameters
from rbd_ros.control.supervisor.states import StateCode
from rbd_ros.errors import SettingError
from ros2_control_rig import (
    arm_of, compiled, HERE, library, reason_to_skip, rows_of, Run, run, settings_of)

pytestmark = [pytest.mark.slow, pytest.mark.sampled('simulations', 1, pool='plugins')]
needs_ros = pytest.mark.skipif(bool(reason_to_skip()), reason=reason_to_skip() or 'none')

ARM = arm_of('panda')
RUNNING = f'until {StateCode.RUNNING.value} 6000'
#: what is filled in once, when the robot is configured
ONCE = ('states.ages', 'structure', 'command.supervisor.table', 'command.supervisor.first')
#: an update that lasts longer than services wait for it, s; nothing else is asked meanwhile
STUCK = f'amid {Kind.STATE.value} 5000'


def filled(values=()) -> Parameters:
    """Return the parameters of the step for changed values, as the node has them."""
    settings = settings_of('panda')
    p = Parameters({'n': 7, 'm': settings.robot.model.nv, 's': 8})
    given = Settings(settings.robot, {**settings.values, **dict(values)}, simulated=False).given
    bind(fill_parameters, p, given)()
    return p


def test_what_the_node_changes_is_live() -> None:
    """Only what nothing inside ros2_control uses is left out, and is used by nothing there."""
    settings = settings_of('panda')
    wanted = {row.name for row in with_modes(settings.robot.own_modes).values()
              if not row.structural and not row.fixed}
    live = {each.row.name for each in live_places(settings)}
    assert live | set(NODE_ONLY) == wanted and not live & set(NODE_ONLY)
    usual = filled().memory
    for name in NODE_ONLY:
        other = 3 if PARAMETERS[name].kind == INTEGER else 3.0
        np.testing.assert_array_equal(filled({name: other}.items()).memory, usual)


def test_the_library_fills_in_and_refuses_what_the_node_does(tmp_path: Path) -> None:
    """Whatever live values are given, numbers are the same to the last bit, and so are words."""
    settings, rng, count = settings_of('panda'), np.random.default_rng(9), 60
    sizes = {'n': 7, 'm': settings.robot.model.nv, 's': 8}
    p, limits, x = Parameters(sizes), PointLimits(sizes), Judgement(sizes)
    given, names = settings.given, {each.row.name for each in live_places(settings)}
    runs = [bind(function, record, given) for function, record in (
        (fill_parameters, p), (fill_point_limits, limits), (judge_values, x))]
    turned, data, expected = bind(judge_turn, x), list[np.ndarray](), list[np.ndarray]()
    for k in range(count):
        drawn, driven = random_values(rng, 7), k % 3 == 0
        values = {**settings.values, **{name: drawn[name] for name in names & set(drawn)}}
        given.memory[:] = Settings(settings.robot, values, simulated=k % 2 > 0).given.memory
        x.reset()
        x.gravity.started[:], x.gravity.gravity[:] = settings.numbers('gravity'), values['gravity']
        for judged in (turned, *runs) if driven else runs:
            judged()
        data += [np.array([k % 2, driven], float), given.values.memory.copy()]
        expected.append(np.concatenate([
            p.memory, limits.memory, [x.count == 0], x.rows[0] if x.count else np.zeros(5)]))
    folder = library(robot_package(settings, 'panda'), 'panda')
    program = tmp_path / 'play'
    subprocess.run(['gcc', '-std=c99', '-Wall', '-Wextra', '-Werror', HERE / 'fill_play.c', '-o',
                    program, f'-I{folder / "source" / "src"}', f'-L{folder / "lib"}',
                    '-lpanda_rbd_robot', f'-Wl,-rpath,{folder / "lib"}',
                    '-Wl,--allow-shlib-undefined'], check=True)
    done = subprocess.run([program], input=np.concatenate(data).tobytes(), capture_output=True,
                          check=True)
    once = [np.full(view.size, path.startswith(ONCE)) for path, _, view in p.walk()]
    same = ~np.concatenate([*once, np.zeros(limits.memory.size + 6, bool)])
    found = np.frombuffer(done.stdout).reshape(count, -1)
    np.testing.assert_array_equal(found[:, same], np.array(expected)[:, same])
    assert {0.0, float(RuleWord.GRAVITY)} < set(found[:, -5])  # taken, and gravity turned over


@pytest.fixture(scope='module')
def changed(tmp_path_factory) -> Run:
    """Return a run in which parameters are changed, some of them wrongly."""
    return run(compiled('panda'), ARM, tmp_path_factory.mktemp('live'), [
        '+100 load rbd_controller', '+200 switch +rbd_controller', f'+1 {RUNNING}',
        '+100 set rbd_controller stiffness 150.0,', '+50 set rbd_controller damping -1.0,',
        '+1 set rbd_controller stiffness 1.0 2.0', '+1 set rbd_controller damping 5000.0,',
        '+1 set rbd_controller velocity_limits 1.0,', '+1 set rbd_controller tolerance.goal 0.0,',
        '+1 set rbd_controller reference.velocity 0.5,',
        '+1 set rbd_controller task.linear_stiffness 80.0',
        '+1 set rbd_controller barrier.margin 0.4,',
        '+1 set rbd_controller velocity_patience 0.001',
        '+1 set rbd_controller posture.position 0.1,',
        '+1 set rbd_controller observer_feedback 1.0',
        '+1 flag rbd_controller observer_feedback true',
        '+1 set rbd_controller activation_timeout 3.0',
        '+1 set rbd_controller observer_gain 1e5,', '+1 set rbd_controller damping inf,',
        f'+1 {STUCK} call /rbd_controller/stop', '+2 answer',
        f'+0 until {StateCode.HOLDING.value} 6000',
        f'+100 {STUCK} call /rbd_controller/reset', '+2 answer', '+500 see',
        '+1 call /rbd_controller/reset', f'+1 {RUNNING}',
        '+100 call /rbd_controller/reset', '+1 switch -rbd_controller',
        '+1 call /rbd_controller/stop', '+1 call /rbd_controller/reset', '+1 see'], cycles=0,
        parameters={'mode': 'computed_torque', 'damping': [18.0]})


@needs_ros
def test_changes_are_taken_or_named(changed: Run) -> None:
    """What the table of the node refuses is refused by name, and so is what is not live."""
    found = changed.answers()
    assert found[:4] == ['ok'] * 4, changed.output[-3000:]
    assert found[4] == 'refused damping = -1 1/s is outside [0, 10000]'
    assert found[5] == 'refused stiffness has 2 entries; give one for all, or 7'
    assert found[6] == ('refused damping 5000 1/s cannot be stable at nominal_rate 1000 Hz: give '
                        'less than 2000 1/s')
    assert found[7:9] == ['ok', 'ok']
    assert found[9:14] == ['ok'] * 5
    assert re.match('refused .*observer_feedback', found[14]) and found[15] == 'ok'
    assert found[16].startswith('refused activation_timeout is what this controller was generated '
                                'with (nothing inside ros2_control uses it).')
    assert re.match(r'refused observer_gain = 100000 .* is outside \[', found[17])
    assert re.match(r'refused damping = inf .* is outside \[', found[18])


@needs_ros
def test_requests_that_cannot_be_granted_are_answered(changed: Run) -> None:
    """
    There is nothing to reset while the robot runs, or is not active, as the node says it.

    Without updates nobody is left waiting.

    When updates go on, a stop that was given up is carried out, and a reset is not.
    """
    found = [each.strip() for each in changed.answers()[19:]]
    unheard = 'refused no answer came within 0.5 s: is the controller active?'
    assert found == [
        'ok', unheard, 'ok', 'ok', unheard, 'ok', 'ok faults cleared, ramping in', 'ok',
        'refused nothing to reset, the controller is running', 'ok',
        'ok nothing to stop: no torque is published',
        'refused nothing to reset, the controller is inactive', 'ok'], changed.output[-4000:]
    end = changed.begun()[19 + 5]  # 500 cycles after the reset that nobody heard
    assert (changed.trace[end - 400:end, 0] == StateCode.HOLDING).all()


@needs_ros
def test_the_step_has_the_numbers_of_the_node(changed: Run) -> None:
    """After the changes, and after the file at the start, p is what the node would fill in."""
    p = filled()
    u, y = (kind(p.sizes).memory.size for kind in (Event, Result))
    found = [parameters for _, parameters, _ in rows_of(changed, u, p.memory.size, y)]
    # the first is without a ramp of the payload, because nothing moves yet
    for parameters, values in ((found[1], {}), (found[-1], {
            'stiffness': [150.0], 'reference.velocity': [0.5], 'task.linear_stiffness': 80.0,
            'barrier.margin': [0.4], 'velocity_patience': 0.001, 'posture.position': [0.1],
            'observer_feedback': True, 'velocity_limits': [1.0], 'tolerance.goal': [0.0]})):
        expected = filled({'mode': 'computed_torque', 'damping': [18.0], **values}.items())
        given = Parameters(p.sizes, parameters.copy())
        for (path, _, a), (_, _, b) in zip(given.walk(), expected.walk(), strict=True):
            if not path.startswith(ONCE):
                np.testing.assert_allclose(a, b, rtol=1e-12, err_msg=path)


@needs_ros
def test_no_change_allocates_in_an_update(changed: Run) -> None:
    """Parameters are handed over whole, without a lock or an allocation."""
    assert re.search(r'^updates allocated 0 times', changed.output, re.MULTILINE)


def test_tf_is_refused() -> None:
    """A package whose controller would wait for TF for ever is not generated."""
    settings = settings_of('panda')
    other = Settings(settings.robot, {**settings.values, 'gravity_source': 'tf'},
                     simulated=False)
    with pytest.raises(SettingError, match='gravity_source tf: .* does not listen to TF; set it '
                                           'to imu or parameter, or use the node'):
        ros2_control_package(other, 'panda')
