# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""A generated controller reads a force-torque sensor from state interfaces: that of MuJoCo."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
import re

import numpy as np
import numpy.typing as npt
import pytest
from rbd_ros.command_line.ros2_control.package import ros2_control_package
from rbd_ros.control.controller import Controller
from rbd_ros.control.interface.events import Kind
from rbd_ros.control.interface.words import SensorWord
from rbd_ros.control.supervisor.states import StateCode
from rbd_ros.errors import SettingError
from ros2_control_rig import (
    arm_of, compiled, reason_to_skip, Run, run, settings_of, steps_of, worst_difference)

pytestmark = [pytest.mark.slow, pytest.mark.sampled('simulations', 1, pool='plugins')]
needs_ros = pytest.mark.skipif(bool(reason_to_skip()), reason=reason_to_skip() or 'none')

Array = npt.NDArray[np.float64]

#: kg behind the sensor and m from the hand; N and N.m of noise and of bias
MASS, COM, NOISE, BIAS = 1.5, (0.02, -0.03, 0.08), 0.002, 0.5
#: s after which the sensor is silent, and frozen
TIMEOUT, FREEZE = 0.05, 0.1
#: MuJoCo reads what carries the tool
PACKAGE = {
    'force_torque.frame': 'panda_hand', 'force_torque.sensor_name': 'wrist',
    'force_torque.convention': 'support', 'force_torque.timeout': TIMEOUT,
    'force_torque.freeze_time': FREEZE, 'payload.mass': MASS, 'payload.com': COM,
    'contact.reaction': 'comply', 'task.axes': ('rx', 'ry', 'rz', 'tx', 'ty'),
    'force_control.axes': ('tz',)}
ARM = replace(arm_of('panda'), payload=(MASS, COM), friction=0.0, sensor='wrist',
              sensor_parameters=(NOISE, BIAS))
#: the hand points down, above a plate on a spring
PRESSING = replace(ARM, start=(0.0, -0.3, 0.0, -2.2, 0.0, 1.9, 0.785), plate_below=0.005,
                   plate_friction=0.0, plate_stiffness=1e4, friction=0.3,
                   sensor_parameters=(0.02, 0.0))
RUNNING, HOLDING = (f'+0 until {StateCode[each].value} 6000' for each in ('RUNNING', 'HOLDING'))
TARE, WRENCH = 'call /rbd_controller/tare_force_torque', 'sensed /rbd_controller/measured_wrench'
GOAL = ' '.join(f'{joint} {start + way}' for joint, start, way in zip(
    ARM.joints, ARM.start, (0.5, 0.3, -0.4, 0.4, 0.5, -0.5, 0.6), strict=True))
#: what a sensor does, and what is said of it
FAULTS = {'stuck': SensorWord.REPEATS, 'torque.y nan': SensorWord.NOT_FINITE,
          'busy': SensorWord.SILENT, 'force.z 300.0': SensorWord.JUMPED_FORCE}


def faults() -> Iterator[tuple[str, str]]:
    """Yield the part of the script in which the sensor fails, again and again."""
    for what in FAULTS:
        name, _, value = what.partition(' ')
        yield from (
            (what, f'+500 disturb wrist/{name} {value or 1.0}'), (f'{what}: held', HOLDING),
            (f'{what}: over', '+100 see'), (f'{what}: reset', '+300 call /rbd_controller/reset'),
            (f'{what}: runs', RUNNING))


SCRIPT = {
    'load': '+100 load rbd_controller', 'no number': '+1 disturb wrist/force.x nan',
    'activate': '+50 switch +rbd_controller', 'wait': '+1000 rest 1000',
    'no reading': f'+1 {TARE}', 'number': '+1 see', 'start': RUNNING, 'tare': f'+1500 {TARE}',
    'felt': f'+200 {WRENCH}',
    'move': f'+1 follow /rbd_controller/joint_trajectory 0.0 {GOAL}',
    'tare in motion': f'+300 {TARE}', 'moved': '+2500 see', 'end': '+1 switch -rbd_controller',
    'begin': '+50 switch +rbd_controller', 'run again': RUNNING, 'felt again': f'+200 {WRENCH}',
    **dict(faults()), 'last': '+100 see'}


@pytest.fixture(scope='module')
def sensed(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Return a run with a sensor that comes late, is tared, moves, and fails in several ways."""
    return run(compiled('panda', **PACKAGE), ARM, tmp_path_factory.mktemp('sensed'),
               list(SCRIPT.values()), cycles=0, parameters={'mode': 'computed_torque'})


def answers(ran: Run) -> dict[str, str]:
    """Return what each command was answered."""
    return dict(zip(SCRIPT, (each.strip() for each in ran.answers()), strict=True))


def wrench(answer: str) -> Array:
    """Return force and moment of a message, which is of the tip."""
    frame, *numbers = answer.split()
    assert frame == ARM.tip
    return np.array(numbers, float)


@cache
def readings(ran: Run) -> tuple[Array, Array, Array]:
    """Return times of all updates, and times and numbers of readings that reached the step."""
    updates, when, numbers = [], [], []
    for u, _, _ in steps_of(ran, settings_of('panda', **PACKAGE)):
        if u.kind == Kind.TIMER:
            updates.append(float(u.now))
        elif u.kind == Kind.READING:
            when.append(float(u.now))
            numbers.append(u.numbers[:6].copy())
    return np.array(updates), np.array(when), np.array(numbers)


@needs_ros
def test_answers(sensed: Run) -> None:
    """Everything is taken, but a bias without a reading and one in motion."""
    found = answers(sensed)
    assert found.pop('no reading') == (
        'refused there is no fresh reading of a force-torque sensor')
    assert re.fullmatch(r'refused the robot has been at rest for \S+ s only: 0.5 s are needed '
                        r'\(force_torque.tare_time\)', found.pop('tare in motion'))
    for name in ('tare', 'felt', 'felt again'):
        found.pop(name)
    resets = {found.pop(name) for name in list(found) if name.endswith(': reset')}
    assert resets == {'ok faults cleared, ramping in'}
    assert set(found.values()) == {'ok'}, sensed.output[-6000:]
    start, stopped = ['probing', 'ramping in', 'running'], ['braking', 'holding']
    assert sensed.states() == ['inactive', *start, 'inactive', *start,
                               *[*stopped, *start[1:]] * len(FAULTS)]


@needs_ros
def test_nothing_starts_without_a_reading(sensed: Run) -> None:
    """While one number is none, the controller stays probing and says for what it waits."""
    begun = sensed.begun()[list(SCRIPT).index('number')]
    states = sensed.trace[:begun - 1, 0][sensed.trace[:begun - 1, 2] > 0.0]
    assert len(states) > 1000 and (states == StateCode.PROBING).all()
    assert ('no fresh reading of the force-torque sensor: wrist/torque.x to wrist/force.z are not '
            'finite, or are the same all the time') in sensed.output


@needs_ros
def test_bias_is_found_and_outlasts_a_deactivation(sensed: Run) -> None:
    """The answer has the bias of the hardware; afterwards nothing is felt, then and later."""
    found = answers(sensed)
    numbers = re.fullmatch(r'ok force_torque.force_bias: \[(.*)\], force_torque.moment_bias: '
                           r'\[(.*)\]', found['tare'])
    assert numbers is not None, found['tare']
    bias = np.array([part.split(', ') for part in numbers.groups()], float)
    np.testing.assert_allclose(bias, BIAS, atol=0.01)
    for name in ('felt', 'felt again'):
        left = np.abs(wrench(found[name]))
        print(name, left)
        assert left[:3].max() < 0.05 and left[3:].max() < 0.01


@needs_ros
def test_tool_is_removed_in_motion(sensed: Run) -> None:
    """What is left of the weight that seven joints move; every step is that of the node."""
    settings, left = settings_of('panda', **PACKAGE), []

    def note(controller: Controller) -> None:
        if controller.u.kind == Kind.STATE:
            left.append(controller.x.sensor.external.copy())
    sent, worst = worst_difference(sensed, settings, note)
    assert sent > 5000
    assert worst < 1e-10
    assert 'updates allocated 0 times' in sensed.output
    begin, end = (int((sensed.trace[:sensed.begun()[list(SCRIPT).index(each)] - 1, 2] > 0).sum())
                  for each in ('move', 'moved'))
    times, when, numbers = readings(sensed)
    assert len(left) == len(times)
    chosen = (times[begin] <= when) & (when <= times[end])
    changes, most = np.ptp(numbers[chosen], axis=0), np.abs(left[begin:end]).max(axis=0)
    print(f'readings change by {changes.round(3)}, {most.round(4)} is left')
    assert changes[3:].max() > 5.0 and changes[:3].max() > 0.5
    assert most[3:].max() < 0.05 and most[:3].max() < 0.01


@needs_ros
@pytest.mark.parametrize('what', FAULTS)
def test_a_sensor_that_fails_stops_the_robot_in_its_time(sensed: Run, what: str) -> None:
    """The first update later than the stated time brakes; bad numbers do so in their own."""
    word, (now, when, numbers) = FAULTS[what], readings(sensed)
    active = sensed.trace[:, 2] > 0.0
    states = sensed.trace[active, 0]
    assert len(now) == len(states)
    begun = int(active[:sensed.begun()[list(SCRIPT).index(what)] - 1].sum())
    braked = begun + int(np.argmax(states[begun:] == StateCode.BRAKING))
    until = when <= now[braked]
    when, numbers = when[until], numbers[until]
    if word == SensorWord.SILENT:
        assert now[braked - 1] - when[-1] <= TIMEOUT < now[braked] - when[-1]
    elif word == SensorWord.REPEATS:
        last = when[np.flatnonzero((np.diff(numbers, axis=0) != 0.0).any(axis=1))[-1] + 1]
        assert now[braked - 1] - last <= FREEZE < now[braked] - last
    else:
        good = np.isfinite(numbers).all(axis=1) & (np.abs(numbers).max(axis=1) < 100.0)
        assert when[~good][-1] == now[braked] and good[when > now[braked] - 0.4][:-1].all()
    said = {SensorWord.SILENT: rf'no reading for 0.05\d* s, force_torque.timeout {TIMEOUT:g} s',
            SensorWord.REPEATS: r'all six numbers have been exactly the same for 0.1\d* s, '
                                rf'force_torque.freeze_time {FREEZE:g} s',
            SensorWord.NOT_FINITE: 'a reading is not finite'}.get(word, 'the force jumped by ')
    assert re.search(f'the force-torque sensor cannot be used: {said}', sensed.output)


@needs_ros
def test_force_control(tmp_path: Path) -> None:
    """10, 20 and 40 N upon a spring within 2 %, though friction and a push are not known."""
    forces, settings, integral = (10.0, 20.0, 40.0), settings_of('panda', **PACKAGE), []
    script = [
        '+100 load rbd_controller', '+50 switch +rbd_controller', RUNNING,
        '+100 disturb panda_joint4/push 2.0',
        *[f'+2800 wrench /rbd_controller/target_wrench 0.0 0.0 {-force} 0.0 0.0 0.0'
          for force in forces], '+2800 see']
    ran = run(compiled('panda', **PACKAGE), PRESSING, tmp_path, script, cycles=0,
              parameters={'mode': 'operational_space', 'task.timeout': 10.0,
                          'contact.torque': [1e4]})  # what is pressed on is no contact
    assert ran.answers() == ['ok'] * len(script), ran.output[-4000:]
    assert ran.states()[-1] == 'running'
    begun = ran.begun()
    for force, end in zip(forces, begun[5:], strict=True):
        found = ran.force[end - 500:end].mean(axis=0)
        print(f'{force:g} N: {found.round(3)} N')
        np.testing.assert_allclose(found, [0.0, 0.0, -force], atol=0.02 * force)
    sent, worst = worst_difference(ran, settings, lambda controller: integral.append(
        controller.x.force.integral.copy()))
    print(f'the integral corrects {np.abs(integral).max(axis=0).round(2)}')
    assert np.abs(integral)[:, 5].max() > 2.0  # N that feeding forward would have been off by
    assert sent > 8000
    assert worst < 1e-10


@needs_ros
def test_an_interface_that_is_missing_is_named(tmp_path: Path) -> None:
    """A sensor with five interfaces does not do: the sixth is named, and nothing is activated."""
    five = replace(ARM, sensor_axes=ARM.sensor_axes[:5])
    ran = run(compiled('panda', **PACKAGE), five, tmp_path, [
        '+100 load rbd_controller', '+50 switch +rbd_controller', '+50 see'], cycles=0)
    assert ran.answers() == ['ok', 'failed', 'ok'], ran.output[-4000:]
    assert ran.states() == ['inactive']
    assert re.search(r'wrist/torque\.z', ran.output), ran.output[-4000:]


@pytest.mark.parametrize('name, message', [
    ('force_torque.frame', 'force_torque.frame: .* give force_torque.sensor_name'),
    ('force_torque.sensor_name', 'force_torque.sensor_name "wrist": give force_torque.frame')])
def test_half_of_a_sensor_is_refused(name: str, message: str) -> None:
    """A sensor needs its frame and the name of its interfaces."""
    given = {name: PACKAGE[name]}
    with pytest.raises(SettingError, match=message):
        ros2_control_package(settings_of('panda', **given), 'panda')
