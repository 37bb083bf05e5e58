# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
A generated controller is told by an IMU where down is, and works while a switch is held.

The hardware stays where it is, so that the base may turn as far as the IMU says.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pinocchio as pin
import pytest
from rbd_ros.control.interface.events import Kind
from rbd_ros.control.supervisor.states import StateCode
from ros2_control_rig import (
    arm_of, compiled, reason_to_skip, Run, run, settings_of, steps_of, worst_difference)
from scipy.spatial.transform import Rotation

pytestmark = [pytest.mark.slow, pytest.mark.sampled('simulations', 1, pool='plugins'),
              pytest.mark.skipif(bool(reason_to_skip()), reason=reason_to_skip() or 'none')]

ARM = arm_of('panda')
#: axes and place of the IMU on the base
AXES, ORIGIN = Rotation.from_euler('xyz', [0.4, -0.3, 1.1]), np.array([0.1, -0.2, 0.3])
SENSOR = ('<link name="sensor"/><joint name="mount" type="fixed"><parent link="panda_link0"/>'
          '<child link="sensor"/><origin rpy="0.4 -0.3 1.1" xyz="0.1 -0.2 0.3"/></joint>')
TIMEOUT = 4.0  # s, of the IMU and of the switch: threads of a busy machine may be late by 3 s
PACKAGE = {'added': SENSOR, 'gravity_source': 'imu', 'gravity_timeout': TIMEOUT,
           'dead_man_timeout': TIMEOUT, 'state_timeout': 0.6}  # more, and a stop takes too long
#: from the base to the world
TURNS = [Rotation.from_euler('xyz', angles) for angles in ([0.2, -0.5, 0.7], [-0.9, 0.4, -1.3])]
DOWN = [turn.inv().apply([0.0, 0.0, -1.0]) for turn in TURNS]
IMU, SWITCH = 'imu /rbd_controller/imu', 'press /rbd_controller/dead_man'
RUNNING, HOLDING, FAULT = (f'+0 until {StateCode[each].value} 60000'
                           for each in ('RUNNING', 'HOLDING', 'FAULT'))
RESET = '+100 call /rbd_controller/reset'


def numbers(*rows: npt.ArrayLike) -> str:
    """Return numbers as the script has them."""
    return ' '.join(map(repr, np.concatenate(rows).tolist()))


def seen(turn: Rotation) -> str:
    """Return what the IMU says of the base."""
    return f'{IMU} sensor {numbers((turn * AXES).as_quat())}'


def tip() -> pin.SE3:
    """Return where the tip is."""
    model, q, _ = peer()
    data = model.createData()
    pin.framesForwardKinematics(model, data, q)
    return data.oMf[model.getFrameId(ARM.tip)].copy()


def peer() -> tuple[pin.Model, np.ndarray, list[int]]:
    """Return the robot of Pinocchio, its position, and the places of the controlled joints."""
    model = pin.buildModelFromXML(ARM.urdf)
    q, places = pin.neutral(model), [
        model.joints[model.getJointId(name)].idx_v for name in ARM.joints]
    q[places] = ARM.start
    return model, q, places


#: of the tip in the frame of the IMU: position and quaternion where it is, and a slow twist
HERE = (AXES.inv().apply(tip().translation - ORIGIN),
        (AXES.inv() * Rotation.from_matrix(tip().rotation)).as_quat())
TWIST = np.array([[1e-4, -2e-4, 3e-4], [-1e-4, 1e-4, 2e-4]])


#: Messages that are warned of are at least 1 s apart.
SCRIPT = {
    'load': '+100 load rbd_controller', 'hold the switch': f'+1 {SWITCH} true',
    'activate': '+50 switch +rbd_controller', 'no IMU': '+1000 see',
    'wrong frame': f'+1 {IMU} panda_link3 0.0 0.0 0.0 1.0',
    'no number': f'+1500 {IMU} sensor nan 0.0 0.0 1.0',
    'no unit': f'+1500 {IMU} - 0.0 0.0 0.0 0.5', 'nothing good': '+1500 see',
    'first': f'+1 {seen(TURNS[0])}', 'start': RUNNING, 'along the first': '+1000 see',
    'second': f'+1 {seen(TURNS[1])}', 'along the second': '+1500 see',
    'silent IMU': f'+1 {IMU}', 'stopped': FAULT, 'IMU again': f'+1 {seen(TURNS[1])}',
    'reset': RESET, 'runs again': RUNNING, 'let go': f'+100 {SWITCH} false', 'holds': HOLDING,
    'reset too early': RESET, 'held again': f'+1 {SWITCH} true', 'reset again': RESET,
    'runs on': RUNNING, 'mode': '+100 mode rbd_controller operational_space',
    'pose': f'+200 pose /rbd_controller/target_pose sensor {numbers(*HERE)}',
    'twist': f'+10 twist /rbd_controller/target_twist {numbers(*TWIST)} sensor',
    'silent switch': f'+100 {SWITCH}', 'holds again': HOLDING,
    'end': '+100 see'}


@pytest.fixture(scope='module')
def tilted(tmp_path_factory) -> Run:
    """Return a run in which an IMU comes, is believed and goes, and so does who holds a switch."""
    return run(compiled('panda', **PACKAGE), ARM, tmp_path_factory.mktemp('imu'),
               list(SCRIPT.values()), cycles=0, parameters={'mode': 'gravity_compensation'},
               pace='real', mock=True)


def step_of(ran: Run, command: str) -> int:
    """Return how many updates were made before a command began."""
    begun = ran.begun()[list(SCRIPT).index(command)]
    return int((ran.trace[:begun - 1, 2] > 0.0).sum())


def updates(ran: Run) -> tuple[np.ndarray, np.ndarray]:
    """Return control time and state of the supervisor of each update."""
    times = [u.now for u, _, _ in steps_of(ran, settings_of('panda', **PACKAGE))
             if u.kind == Kind.TIMER]
    states = ran.trace[ran.trace[:, 2] > 0.0, 0]
    assert len(times) == len(states)
    return np.array(times), states


def test_answers(tilted: Run) -> None:
    """Everything is taken, but a reset while nobody holds the switch."""
    answers = dict(zip(SCRIPT, (each.strip() for each in tilted.answers()), strict=True))
    refused = answers.pop('reset too early')
    assert refused.startswith('refused') and 'dead-man' in refused
    assert answers.pop('reset') == 'ok faults cleared, probing'
    assert answers.pop('reset again') == 'ok faults cleared, ramping in'
    assert set(answers.values()) == {'ok'}, tilted.output[-4000:]
    assert tilted.states() == [
        'inactive', 'probing', 'ramping in', 'running', 'state lost', 'ramping down',
        'releasing', 'fault', 'probing', *['ramping in', 'running', 'braking', 'holding'] * 2]


def test_directions_are_those_of_the_base(tilted: Run) -> None:
    """An IMU that is mounted askew gives unit vectors in the base; nothing else reaches a step."""
    found = [u.numbers[:3].copy() for u, _, _ in steps_of(
        tilted, settings_of('panda', **PACKAGE)) if u.kind == Kind.GRAVITY]
    near = [min(range(2), key=lambda k: np.abs(each - DOWN[k]).max()) for each in found]
    np.testing.assert_allclose(found, np.array(DOWN)[near], atol=1e-12)
    assert min(near.count(0), near.count(1)) > 10 and near == sorted(near)


def test_nothing_is_sent_without_a_direction(tilted: Run) -> None:
    """Before the first one it stays probing, and says for what it waits and what it refused."""
    _, states = updates(tilted)
    first = step_of(tilted, 'first')
    assert first > 3000 and (states[:first] == StateCode.PROBING).all()
    kinds = [(u.kind, y.send) for u, _, y in steps_of(tilted, settings_of('panda', **PACKAGE))]
    given = [kind for kind, _ in kinds].index(Kind.GRAVITY)
    assert not any(send for _, send in kinds[:given])
    said = 'gravity from the topic /rbd_controller/imu'
    for text in (f'no direction of {said}: nothing received that could be used',
                 f'{said} rejected: frame "panda_link3" is not fixed to the base (known: '
                 'panda_link0, sensor)',
                 f'{said} rejected: its quaternion has length nan, not 1',
                 f'{said} rejected: its quaternion has length 0.5, not 1'):
        assert text in tilted.output, (text, tilted.output[-6000:])


def test_silence_ends_within_its_time(tilted: Run) -> None:
    """The first update that is later than the last direction by the timeout loses the state."""
    times, states = updates(tilted)
    lost = int(np.flatnonzero(states == StateCode.LOST)[0])
    last = max(u.numbers[3] for u, _, _ in steps_of(tilted, settings_of('panda', **PACKAGE))
               if u.kind == Kind.GRAVITY and u.now <= times[lost])
    assert times[lost - 1] - last <= TIMEOUT < times[lost] - last
    assert f'the gravity direction is too old: {TIMEOUT:g} s' in tilted.output


def test_switch_that_is_let_go_or_silent(tilted: Run) -> None:
    """Who lets go stops the robot in the same update; who falls silent, when the time is over."""
    times, states = updates(tilted)
    presses = np.array([(u.now, u.pressed) for u, _, _ in steps_of(
        tilted, settings_of('panda', **PACKAGE)) if u.kind == Kind.DEAD_MAN])
    let_go, silent = np.flatnonzero((states == StateCode.BRAKING)
                                    & (np.roll(states, 1) != StateCode.BRAKING))
    assert times[let_go] == presses[presses[:, 1] == 0.0, 0][0]
    last = presses[presses[:, 0] <= times[silent], 0][-1]
    assert times[silent - 1] - last <= TIMEOUT < times[silent] - last


def test_targets_in_a_frame_of_the_base(tilted: Run) -> None:
    """Pose and twist of the tip in the frame of the IMU reach the step in the base."""
    found = {u.kind: u.numbers.copy() for u, _, _ in steps_of(
        tilted, settings_of('panda', **PACKAGE)) if u.kind in (Kind.POSE, Kind.TWIST)}
    turn, place = found[Kind.POSE][:4], found[Kind.POSE][4:7]
    np.testing.assert_allclose(place, tip().translation, atol=1e-9)
    np.testing.assert_allclose(Rotation.from_quat(turn).as_matrix(), tip().rotation, atol=1e-9)
    linear, angular = AXES.apply(TWIST)
    np.testing.assert_allclose(found[Kind.TWIST][:6], [*angular, *linear], atol=1e-12)


def test_steps_are_those_of_the_node(tilted: Run) -> None:
    """The node makes the same of every event, and no update allocates."""
    sent, worst = worst_difference(tilted, settings_of('panda', **PACKAGE))
    assert sent > 3000
    assert worst < 1e-10
    assert 'updates allocated 0 times' in tilted.output
