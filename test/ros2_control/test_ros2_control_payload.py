# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""What an arm carries is told to a generated controller, by topic and by parameter."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
import re

import numpy as np
import pytest
from rbd_ros.control.interface.events import Kind
from rbd_ros.control.interface.payload import payload_vector
from rbd_ros.control.supervisor.states import StateCode
from rbd_ros.dynamics.robot import Dynamics
from ros2_control_rig import (
    arm_of, compiled, reason_to_skip, Run, run, settings_of, steps_of, worst_difference)
from scipy.spatial.transform import Rotation

pytestmark = [pytest.mark.slow, pytest.mark.sampled('simulations', 1, pool='plugins'),
              pytest.mark.skipif(bool(reason_to_skip()), reason=reason_to_skip() or 'none')]

#: kg that the arm carries and is told wrongly; m from the hand, and the same in another frame
MASS, LESS, COM = 1.0, 0.5, (0.03, -0.02, 0.1)
ELSEWHERE = ('panda_link8', *Rotation.from_euler('z', -np.pi / 4).apply(COM))
ARM = replace(arm_of('panda'), payload=(MASS, COM), friction=0.0)
RUNNING = f'+0 until {StateCode.RUNNING.value} 6000'
TOPIC, NODE = '/rbd_controller/payload', 'rbd_controller'
#: cycles after which a payload that is blended in over 1 s counts, and the arm is at rest
SETTLED = 3000


@pytest.fixture(scope='module')
def carried(tmp_path_factory) -> Run:
    """Return a run in which an arm with a weight that nobody has described is told of it."""
    where, elsewhere = ' '.join(map(str, COM)), ' '.join(map(str, ELSEWHERE[1:]))
    return run(compiled('panda'), ARM, tmp_path_factory.mktemp('payload'), [
        '+100 load rbd_controller', f'+1 payload {TOPIC} - {MASS} {where}',
        '+50 switch +rbd_controller', RUNNING, f'+{SETTLED} payload {TOPIC} - 400.0 {where}',
        f'+1 payload {TOPIC} - nan {where}', f'+1 payload {TOPIC} - -1.0 {where}',
        f'+1 payload {TOPIC} - 1.0 {where} 0.1 0.0 0.0 0.1 0.0 0.5',
        f'+1 payload {TOPIC} panda_link4 1.0 {where}', f'+1 payload {TOPIC} - {LESS} {where}',
        f'+{SETTLED} payload {TOPIC} {ELSEWHERE[0]} {MASS} {elsewhere}',
        f'+{SETTLED} switch -rbd_controller', '+1 switch +rbd_controller', RUNNING,
        f'+{SETTLED} set {NODE} payload.mass 400.0', f'+1 set {NODE} payload.inertia 0.1 0.0 0.0 '
        '0.1 0.0 0.5', f'+1 set {NODE} payload.com 0.0 0.0', f'+1 set {NODE} payload.mass {LESS}',
        f'+1 set {NODE} payload.com {where}', f'+{SETTLED} switch -rbd_controller',
        f'+1 payload {TOPIC} - {MASS} {where}', '+1 switch +rbd_controller', RUNNING,
        f'+{SETTLED} see'], cycles=0, parameters={'mode': 'hold'})


def test_answers(carried: Run) -> None:
    """What no arm can carry, and what no body is, is refused by name; the rest is taken."""
    found = carried.answers()
    assert found[:14] == ['ok'] * 14, carried.output[-4000:]
    heavy = (r'a payload of 400 kg cannot be held: at the present pose panda_joint\d would need '
             r'[\d.]+ N.m, its limit is [\d.]+ N.m')
    assert re.search(rf'{TOPIC}: rejected, {heavy}', carried.output)
    assert re.fullmatch(f'refused {heavy}', found[14])
    assert re.fullmatch(r'refused principal moments 0.1, 0.1 and 0.5 kg.m\^2 are impossible for a '
                        'rigid body: .*', found[15])
    assert found[16] == 'refused payload.com has 2 entries; give 3'
    assert found[17:] == ['ok'] * 7


def test_the_arm_carries_what_it_is_told(carried: Run) -> None:
    """
    It sags if it is told of less than it carries, and stays if it is told the truth.

    What is carried outlasts a deactivation, and may be told before an activation.
    """
    settings = settings_of('panda')
    index = list(settings.robot.index)
    dynamics = Dynamics(settings.robot.model, backend='reference',
                        payload_frame=settings.robot.payload_frame)
    q = np.zeros(settings.robot.model.nv)

    def gravity(mass: float, position: np.ndarray) -> np.ndarray:
        q[index] = position
        dynamics.set_payload(mass, COM, np.zeros((3, 3)))
        return dynamics.gravity(q)[index]

    begun, done, motion = carried.begun(), carried.cycles(), carried.motion
    for command in (4, 14, 23):  # half of the weight is more than 2 N.m
        position, velocity, effort = motion[begun[command] - 1].T
        assert np.abs(velocity).max() < 1e-2
        np.testing.assert_allclose(effort, gravity(MASS, position), atol=1.0)
    moved = {end: float(np.abs(motion[begun[end] - 1, :, 0] - motion[done[begin], :, 0]).max())
             for begin, end in ((3, 4), (9, 10), (13, 14), (18, 19), (22, 23))}
    assert min(moved[10], moved[19]) > 2.0 * max(moved[4], moved[14], moved[23]), moved


def test_told_in_the_midst_of_an_activation(tmp_path: Path) -> None:
    """A payload that comes when an activation has looked for one counts all the same."""
    where, settings = ' '.join(map(str, COM)), settings_of('panda')
    ran = run(compiled('panda'), ARM, tmp_path, [
        '+100 load rbd_controller',
        f'+1 amid {Kind.ACTIVATE.value} 200 payload {TOPIC} - {MASS} {where}',
        '+50 switch +rbd_controller', '+1 answer', '+100 see'], cycles=0, mock=True)
    assert ran.answers() == ['ok'] * 5, ran.output[-4000:]
    kinds = [u.kind for u, _, _ in steps_of(ran, settings)]
    assert kinds.count(Kind.PAYLOAD) == 1 and kinds.count(Kind.ACTIVATE) == 1
    assert kinds.index(Kind.PAYLOAD) > kinds.index(Kind.ACTIVATE)
    given = next(u.numbers[:10].copy() for u, _, _ in steps_of(ran, settings)
                 if u.kind == Kind.PAYLOAD)
    np.testing.assert_allclose(given, payload_vector(MASS, COM, [0.0] * 6), atol=1e-12)


def test_numbers_are_those_of_the_node(carried: Run) -> None:
    """What reaches the step is what the node makes of the message, and so are the torques."""
    settings = settings_of('panda')
    given = [u.numbers[:10].copy() for u, _, _ in steps_of(carried, settings)
             if u.kind == Kind.PAYLOAD]
    assert len(given) == 4
    for numbers, mass in zip(given, (MASS, LESS, MASS, MASS), strict=True):
        np.testing.assert_allclose(numbers, payload_vector(mass, COM, [0.0] * 6), atol=1e-12)
    sent, worst = worst_difference(carried, settings)
    assert sent > 5 * SETTLED
    assert worst < 1e-12
    assert re.search(r'^updates allocated 0 times', carried.output, re.MULTILINE)
