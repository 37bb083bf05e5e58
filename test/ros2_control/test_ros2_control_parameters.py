# Copyright 2026 the rbd_ros developers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""Parameters that change while a generated controller runs, by the bounds of the node."""

from __future__ import annotations

import re

import numpy as np
import pytest
from rbd_ros.command_line.ros2_control.live import live_parameters, Numbers, why_fixed
from rbd_ros.command_line.ros2_control.package import ros2_control_package
from rbd_ros.control.interface.events import Event, Kind, Result
from rbd_ros.control.interface.row import BOOL, DOUBLES, INTEGER
from rbd_ros.control.parameters.settings import Settings
from rbd_ros.control.parameters.table import with_modes
from rbd_ros.control.step.state import fill_parameters, Parameters
from rbd_ros.control.supervisor.states import StateCode
from rbd_ros.errors import SettingError
from ros2_control_rig import arm_of, compiled, reason_to_skip, rows_of, Run, run, settings_of

pytestmark = [pytest.mark.slow, pytest.mark.sampled('simulations', 1, pool='plugins')]
needs_ros = pytest.mark.skipif(bool(reason_to_skip()), reason=reason_to_skip() or 'none')

ARM = arm_of('panda')
RUNNING = f'until {StateCode.RUNNING.value} 6000'
#: an update that lasts longer than services wait for it, s; nothing else is asked meanwhile
STUCK = f'amid {Kind.STATE.value} 5000'


def filled(values=()) -> Parameters:
    """Return the parameters of the step for changed values, as the node has them."""
    settings = settings_of('panda')
    p = Parameters({'n': 7, 'm': settings.robot.model.nv, 's': 8})
    fill_parameters(p, Settings(settings.robot, {**settings.values, **dict(values)},
                                simulated=False), tuple(settings.robot.modes))
    return p


def test_live_parameters_do_what_they_do_in_the_node() -> None:
    """Whatever values they have at once, the numbers of the step are those of the node."""
    settings, base = settings_of('panda'), filled()
    numbers = Numbers(settings, base)
    rows = live_parameters(settings, numbers)
    names = {each.row.name for each in rows}
    assert names >= {'stiffness', 'damping', 'integral', 'task.linear_stiffness', 'gravity',
                     'reference.velocity', 'tolerance.goal', 'tracking_limits', 'hold_torque'}
    assert 'velocity_limits' not in names  # others are made of it
    rng = np.random.default_rng(7)
    for _ in range(20):
        values, found = {}, numbers.of({})
        for each in rows:
            row = each.row
            low, high = max(row.lower, -50.0), min(row.upper, 500.0)
            drawn = rng.uniform(low + 1e-3 * (high - low), high, each.size)
            if row.kind in (BOOL, INTEGER):
                drawn = np.ceil(drawn) if row.kind == INTEGER else rng.integers(0, 2, 1) * 1.0
            values[row.name] = drawn.tolist() if row.kind == DOUBLES else (
                {BOOL: bool, INTEGER: int}.get(row.kind, float)(drawn[0]))
            for effect in each.effects:
                found[effect.place] = effect(drawn)
        expected = filled(values.items()).memory
        np.testing.assert_allclose(numbers.derived(found)[:expected.size], expected, rtol=1e-12)


def test_what_the_node_changes_is_live_or_has_a_reason() -> None:
    """Only those that others depend on, and those that only a node uses, are fixed."""
    settings, numbers = settings_of('panda'), Numbers(settings_of('panda'), filled())
    wanted = {row.name for row in with_modes(settings.robot.own_modes).values()
              if not row.structural and not row.fixed}
    names = {each.row.name for each in live_parameters(settings, numbers)}
    fixed = why_fixed(settings, numbers, names)
    assert names <= wanted and not names & set(fixed)
    assert {name: fixed[name] for name in wanted - names - {'mode'}} == {
        'velocity_limits': 'other parameters follow from it',
        'barrier.velocity': 'other parameters follow from it',
        'contact.reaction': 'only numbers are changed inside ros2_control',
        'goal_mode': 'only numbers are changed inside ros2_control',
        'dynamics_divider': 'nothing inside ros2_control uses it',
        'state_divider': 'only numbers of the step are changed inside ros2_control',
        **dict.fromkeys(('goal_lease', 'activation_timeout'),
                        'nothing inside ros2_control uses it')}
    assert len(names) >= 60


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
    assert found[7].startswith('refused velocity_limits is what this controller was generated '
                               'with (other parameters follow from it). Generate it again: ')
    assert re.match('refused tolerance.goal = 0 .* needs another controller', found[8])
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
    unheard = 'refused no update came to answer it: is the controller active?'
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
            'observer_feedback': True})):
        expected = filled({'mode': 'computed_torque', 'damping': [18.0], **values}.items())
        given = Parameters(p.sizes, parameters.copy())
        for (path, _, a), (_, _, b) in zip(given.walk(), expected.walk(), strict=True):
            if not path.startswith(('states.ages', 'structure')):  # filled in once
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
