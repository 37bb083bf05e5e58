# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""References by topic and action reach a generated controller, by the rules of the node."""

from __future__ import annotations

from dataclasses import replace
import re

import numpy as np
import pytest
from rbd_ros.control.references.trajectory import Knots
from rbd_ros.control.supervisor.states import SupervisorState as State
from rbd_ros.dynamics.robot import Dynamics
from ros2_control_rig import (
    arm_of, compiled, reason_to_skip, Run, run, settings_of, written)
from scipy.spatial.transform import Rotation

pytestmark = [pytest.mark.slow, pytest.mark.sampled('simulations', 1, pool='plugins'),
              pytest.mark.skipif(bool(reason_to_skip()), reason=reason_to_skip() or 'none')]

ARM = arm_of('panda')
JOINTS = list(ARM.joints)
RUNNING = f'until {tuple(State).index(State.RUNNING)} 6000'
ACTION = '/rbd_controller/follow_joint_trajectory'
POSE = '/rbd_controller/target_pose'
START = np.array(ARM.start)
#: a way that is away from the start for 1.2 s, by many points, and one that goes back in 1 s
AWAY = Knots(np.linspace(0.012, 1.2, 100), START + 0.1 * np.sin(
    np.linspace(0.0, np.pi / 2, 100))[:, None], None, None)
BACK = Knots(np.array([0.5, 1.0]), np.array([START + 0.05, START]), np.zeros((2, 7)), None)


@pytest.fixture(scope='module')
def sent(tmp_path_factory) -> Run:
    """Return a run in which goals come, are cancelled, stopped and refused."""
    folder = tmp_path_factory.mktemp('goals')
    turned = replace(AWAY, q=AWAY.q[:, ::-1])  # joints in another order
    away, back = written(
        folder / 'away', turned, JOINTS[::-1]), written(folder / 'back', BACK, JOINTS)
    bad = written(folder / 'bad', BACK, ['elbow', *JOINTS[1:]])
    fast = written(folder / 'fast', Knots(np.array([0.01, 0.02]), BACK.q + [[0.0], [1.0]],
                                          None, None), JOINTS)
    return run(compiled('panda'), ARM, folder, [
        '+100 load rbd_controller', '+200 switch +rbd_controller', f'+1 {RUNNING}',
        f'+100 goal {ACTION} {bad}', '+1 result', f'+1 goal {ACTION} {fast}', '+1 result',
        f'+1 goal {ACTION} {away} 0.03', '+1 result',
        f'+1 goal {ACTION} {back}', '+200 cancel', '+1 result',
        f'+100 path /rbd_controller/joint_trajectory {back}', '+1800 mode rbd_controller hold',
        f'+10 goal {ACTION} {away}', '+1 result', '+1 mode rbd_controller computed_torque',
        f'+100 goal {ACTION} {away}', '+300 call /rbd_controller/stop', '+1 result', '+500 see'],
        cycles=0, parameters={'mode': 'computed_torque'})


def test_answers_are_those_of_the_node(sent: Run) -> None:
    """Goals are followed, cancelled and stopped; what is refused is named."""
    found = sent.answers()
    assert found[:3] == ['ok'] * 3
    assert found[3:7] == [
        'accepted', "aborted -2 joints ['elbow', " + ', '.join(f"'{each}'" for each in JOINTS[1:])
        + f'] are not the controlled ones {JOINTS} (unknown: elbow; missing: panda_joint1)',
        'accepted', found[6]]
    assert re.fullmatch('aborted -1 panda_joint1 would move at 95 rad/s, beyond its '
                        r'reference.velocity [\d.]+ rad/s', found[6])
    assert found[7:11] == ['accepted', 'succeeded 0 with feedback goal reached', 'accepted', 'ok']
    # feedback comes by the clock, and hurried cycles may end before it
    assert re.fullmatch('canceled 0 (with feedback )?canceled by the client', found[11])
    assert found[12:14] == ['ok', 'ok']
    assert found[14:16] == ['accepted', 'aborted -1 the mode is hold; set the parameter mode to '
                                        'computed_torque or joint_impedance, or goal_mode, so '
                                        'that goals switch to it']
    assert found[17] == 'accepted'
    assert re.fullmatch('aborted -1 (with feedback )?the controller stopped: stop requested: '
                        '~/stop', found[19])


def test_the_arm_goes_there(sent: Run) -> None:
    """It is where the first goal ends, and where the path of the topic ends."""
    position, cycles = sent.motion[:, :, 0], sent.cycles()
    np.testing.assert_allclose(position[cycles[8]], AWAY.q[-1], atol=0.03)
    np.testing.assert_allclose(position[cycles[13] - 1], BACK.q[-1], atol=0.03)
    assert np.abs(sent.motion[:, :, 1]).max() < 1.0


def test_no_update_allocates(sent: Run) -> None:
    """Whatever comes, no update of the controller allocates."""
    assert re.search(r'^updates allocated 0 times', sent.output, re.MULTILINE), sent.output[-2000:]


def test_the_tip_follows_its_targets(tmp_path) -> None:
    """A pose moves the tip there, a twist moves it on; a moving frame and mm are refused."""
    tip = Dynamics(settings_of('panda').robot.model, backend='reference')
    q = np.zeros(settings_of('panda').robot.model.nv)
    index = list(settings_of('panda').robot.index)
    q[index] = ARM.start
    T = tip.pose(q, ARM.tip)
    wanted = T[:3, 3] + [0.03, -0.02, 0.04]
    turn = Rotation.from_matrix(T[:3, :3]).as_quat()
    where, away, in_mm = (' '.join(map(repr, [*map(float, place), *map(float, turn)]))
                          for place in (wanted, wanted + [0.0, 0.1, 0.0], 1000.0 * wanted))
    ran = run(compiled('panda'), ARM, tmp_path, [
        '+100 load rbd_controller', '+200 switch +rbd_controller', f'+1 {RUNNING}',
        f'+100 pose {POSE} - {where}',
        f'+2500 pose {POSE} panda_hand {where}',
        f'+50 pose {POSE} - {in_mm}', f'+50 rival {POSE}',
        f'+500 pose {POSE} - {away}', '+1000 rival',
        f'+500 pose {POSE} panda_link0 {where}',
        '+50 twist /rbd_controller/target_twist 0.0 0.0 0.05 0.0 0.0 0.0',
        '+1 wrench /rbd_controller/target_wrench nan 0.0 0.0 0.0 0.0 0.0', '+1500 see'],
        cycles=0, parameters={'mode': 'operational_space'})
    assert ran.answers() == ['ok'] * 13, ran.output[-4000:]
    q[index] = ran.motion[ran.cycles()[4], :, 0]
    np.testing.assert_allclose(tip.pose(q, ARM.tip)[:3, 3], wanted, atol=0.01)
    assert 'target_pose has 2 publishers: their messages are dropped' in ran.output
    q[index] = ran.motion[ran.begun()[8], :, 0]
    np.testing.assert_allclose(tip.pose(q, ARM.tip)[:3, 3], wanted, atol=0.01)
    assert 'rejected, frame "panda_hand" is not fixed to the base' in ran.output
    far, reach = float(np.linalg.norm(1000.0 * wanted)), settings_of('panda').robot.reach
    assert (f'target_pose is {far:.5g} m from the base; the tip reaches at most {reach:.5g} m. '
            'Send metres') in ran.output
    assert 'the target wrench must be six finite numbers' in ran.output
    q[index] = ran.motion[-1, :, 0]
    assert tip.pose(q, ARM.tip)[2, 3] > wanted[2] + 0.002  # the twist lasted for its timeout
