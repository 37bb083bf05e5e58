# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""A generated controller inside a real controller manager, with a robot that MuJoCo simulates."""

from __future__ import annotations

import math
import re

from benchmark.robots import robot_file
import numpy as np
import pinocchio
import pytest
from rbd_ros.command_line.c_controller import law_kernels
from rbd_ros.control.controller import Controller
from rbd_ros.control.interface.events import Kind
from rbd_ros.control.modes import MODES
from rbd_ros.control.supervisor.states import StateCode, SupervisorState as State
from ros2_control_rig import (
    arm_of, compiled, reason_to_skip, Run, run, settings_of, worst_difference)

pytestmark = [pytest.mark.slow, pytest.mark.sampled('simulations', 1, pool='plugins'),
              pytest.mark.skipif(bool(reason_to_skip()), reason=reason_to_skip() or 'none')]

ARM = arm_of('panda')


@pytest.fixture(scope='module', params=[
    pytest.param(name, marks=pytest.mark.sampled('simulations', 1, pool='lives', unit=name))
    for name in ('panda', 'ur5')])
def robot(request: pytest.FixtureRequest) -> str:
    """Return the name of a robot."""
    return request.param


@pytest.fixture(scope='module')
def life(robot: str, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Return a run in which a robot floats, holds, is stopped, loses a sensor and goes on."""
    until = {state: f'+0 until {StateCode[state].value} 6000' for state in (
        'RUNNING', 'HOLDING', 'FAULT')}
    return run(compiled(robot), arm_of(robot), tmp_path_factory.mktemp('life'), [
        '+100 load rbd_controller', '+100 switch +rbd_controller', until['RUNNING'],
        '+500 mode rbd_controller hold', '+500 mode rbd_controller fly',
        '+100 call /rbd_controller/stop', until['HOLDING'], '+500 call /rbd_controller/reset',
        until['RUNNING'], f'+500 blind {arm_of(robot).joints[3]}', until['FAULT'], '+200 see',
        '+100 call /rbd_controller/reset', until['RUNNING'], '+500 switch -rbd_controller',
        '+500 switch +rbd_controller', until['RUNNING'], '+1000 see'], cycles=0,
        parameters={'mode': 'gravity_compensation'})


def test_life(life: Run) -> None:
    """
    The supervisor goes the way of the node, and answers are those of the node.

    A bad mode is refused with those that exist; a reset says what it led to.
    """
    answers = [each.strip() for each in life.answers()]
    assert answers.pop(4) == f"refused mode must be one of {list(MODES)}, got 'fly'"
    assert answers.pop(4) == 'ok braking'
    assert answers.pop(5) == 'ok faults cleared, ramping in'
    assert answers.pop(9) == 'ok faults cleared, probing'
    assert answers == ['ok'] * 14, life.output[-4000:]
    running, stopped = ['probing', 'ramping in', 'running'], ['braking', 'holding']
    lost = ['state lost', 'ramping down', 'releasing', 'fault']
    assert life.states() == ['inactive', *running, *stopped, *running[1:], *lost, *running,
                             'inactive', *running]
    # without updates nothing brakes
    assert not re.search(r'\]: deactivated\n.*\]: braking$', life.output, re.MULTILINE)


def test_robot_stays(life: Run) -> None:
    """The arm is held by torques alone, from its brakes on, through every change."""
    position = life.motion[:, :, 0]
    assert np.abs(position - position[0]).max() < 0.05
    assert np.abs(life.motion[-200:, :, 1]).max() < 0.02


def test_torques_are_those_of_the_node(life: Run, robot: str) -> None:
    """Every step gives what the step of the node gives for the same events."""
    sent, worst = worst_difference(life, settings_of(robot))
    assert sent > 8000
    assert worst < 1e-12


def test_updates_allocate_nothing(life: Run) -> None:
    """No update of the controller allocates, whatever it is asked."""
    assert re.search(r'^updates allocated 0 times', life.output, re.MULTILINE), life.output[-2000:]


def test_what_the_driver_adds_is_not_left_behind() -> None:
    """A controller that is taken away leaves what release_torque says, less what is added."""
    settings = settings_of('panda', driver_adds='gravity')
    laws = law_kernels(settings)
    controller = Controller(settings, {name: laws.compile(name) for name in laws.names},
                            lambda torque: None)
    controller.u.kind = Kind.LEAVE
    controller.run()
    assert controller.y.send == 0.0  # nothing was ever sent
    torque = controller.x.command.torque
    torque.sending, torque.gravity[:] = 1.0, 20.0
    torque.limiter.driver[:] = 20.0, 20.0, 15.0, 20.0, 30.0, 0.0, 20.0
    controller.run()
    assert controller.y.send == 1.0
    assert controller.y.torque.tolist() == [0.0, 0.0, 5.0, 0.0, -10.0, 12.0, 0.0]


@pytest.mark.parametrize('release', ['gravity', 'zero'])
def test_what_is_carried_before_the_first_torque(release: str) -> None:
    """Before the first torque, who is asked to carry the robot gives g(q), or nothing."""
    settings = settings_of('panda', release_torque=release)
    laws = law_kernels(settings)
    controller = Controller(settings, {name: laws.compile(name) for name in laws.names},
                            lambda torque: None)

    def carried() -> float:
        controller.u.kind = Kind.CARRY
        controller.run()
        return controller.y.send

    assert carried() == 0.0  # it is not active
    controller.activate(50.0, 50.0)
    controller.u.q[:7] = math.nan
    assert carried() == 0.0  # no state is known
    controller.u.q[:7] = ARM.start
    controller.u.q[3] = 0.5  # beyond its range
    assert carried() == 0.0
    controller.u.q[3] = ARM.start[3]
    assert controller.state == State.PROBING
    assert carried() == (1.0 if release == 'gravity' else 0.0)
    if release == 'gravity':
        model = pinocchio.buildModelFromUrdf(str(robot_file('panda')))
        q = np.concatenate([ARM.start, np.zeros(model.nq - 7)])
        expected = pinocchio.computeGeneralizedGravity(model, model.createData(), q)
        np.testing.assert_allclose(controller.y.torque, expected[:7], atol=1e-9)
