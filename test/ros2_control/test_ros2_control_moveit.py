# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""What MoveIt needs inside ros2_control: goals of some joints, goals that switch the mode."""

from __future__ import annotations

import re

from bad_goals import FLAWS, good_goal, Sent
import numpy as np
import pytest
from rbd_ros.control.modes import DEFAULT, Takes, taking
from rbd_ros.control.supervisor.states import SupervisorState as State
from ros2_control_rig import arm_of, compiled, reason_to_skip, Run, run

pytestmark = [pytest.mark.slow, pytest.mark.sampled('simulations', 1, pool='plugins'),
              pytest.mark.skipif(bool(reason_to_skip()), reason=reason_to_skip() or 'none')]

ARM = arm_of('panda')
JOINTS, START = list(ARM.joints), np.array(ARM.start)
WANTED = taking(Takes.TRAJECTORY)[0]
RUNNING = f'until {tuple(State).index(State.RUNNING)} 6000'
ACTION, TOPIC = '/rbd_controller/follow_joint_trajectory', '/rbd_controller/joint_trajectory'


def written(file, joints, *rows) -> str:
    """Write points for the script: times and positions; return the name of the file."""
    file.write_text('\n'.join([' '.join(joints), *[' '.join(map(repr, map(float, row)))
                                                   for row in rows]]) + '\n')
    return str(file)


@pytest.fixture(scope='module')
def sent(tmp_path_factory) -> Run:
    """Return a run: a goal of two joints refused, then allowed; one from another mode."""
    folder = tmp_path_factory.mktemp('moveit')
    two = written(folder / 'two', [JOINTS[6], JOINTS[3]],
                  [0.5, START[6] + 0.1, START[3] + 0.05], [1.0, START[6] + 0.2, START[3] + 0.1])
    one = written(folder / 'one', [JOINTS[6]], [0.5, START[6] + 0.1], [1.0, START[6]])
    back = written(folder / 'back', JOINTS, [0.5, *(START + 0.02)], [1.0, *START])
    bad = written(folder / 'bad', JOINTS, [0.5, *(START + 9.0)])
    return run(compiled('panda', goal_mode=WANTED), ARM, folder, [
        '+100 load rbd_controller', '+200 switch +rbd_controller', f'+1 {RUNNING}',
        f'+100 goal {ACTION} {bad}', '+1 result', f'+1 goal {ACTION} {two}', '+1 result',
        '+10 see',
        '+1 flag rbd_controller allow_partial_joints_goal true',
        f'+100 goal {ACTION} {two} 0.03', '+1 result', '+1 see',
        f'+1 path {TOPIC} {one}', f'+1800 mode rbd_controller {DEFAULT}',
        f'+300 goal {ACTION} {back} 0.03', '+1 result', '+1 see'],
        cycles=0, parameters={'mode': DEFAULT})


def test_goals_of_some_joints_switch_the_mode(sent: Run) -> None:
    """A bad goal switches nothing; what is left out has to be allowed; the results are right."""
    found = sent.answers()
    assert found[3] == 'accepted'
    assert re.fullmatch('aborted -1 position .* is outside .*', found[4])
    assert found[5] == 'accepted' and found[6].startswith('aborted -2 joints [')
    assert found[6].endswith('; allow_partial_joints_goal lets a message leave joints out')
    assert found[8:11] == ['ok', 'accepted', 'succeeded 0 with feedback goal reached']
    assert found[12:16] == ['ok', 'ok', 'accepted', 'succeeded 0 with feedback goal reached']
    assert re.search('updates allocated 0 times', sent.output), sent.output[-2000:]


def test_the_others_stay(sent: Run) -> None:
    """MuJoCo's arm: two joints go where they should, five stay, and nothing is jerked."""
    q, cycles = sent.motion[:, :, 0], sent.cycles()
    begin, end = sent.begun()[9], cycles[10]
    rest = [k for k in range(7) if k not in (3, 6)]
    np.testing.assert_allclose(q[end, [3, 6]], START[[3, 6]] + [0.1, 0.2], atol=0.03)
    np.testing.assert_allclose(q[begin:end, rest], np.broadcast_to(
        q[begin, rest], (end - begin, 5)), atol=0.01)
    topic = cycles[13] - 1
    np.testing.assert_allclose(q[topic, 6], START[6], atol=0.03)
    np.testing.assert_allclose(q[topic, 3], START[3] + 0.1, atol=0.03)
    np.testing.assert_allclose(q[cycles[15]], START, atol=0.03)
    assert np.abs(sent.motion[:, :, 1]).max() < 1.0


def test_streams_of_numbers(tmp_path) -> None:
    """A velocity counts for 0.1 s, then the joint brakes; positions are gone to; refusals."""
    def stream(name: str, numbers) -> str:
        return f'numbers /rbd_controller/target_{name} ' + ' '.join(map(repr, map(float, numbers)))
    there = START + [0.0, 0.0, 0.0, 0.05, 0.0, 0.0, 0.1]
    ran = run(compiled('panda', goal_mode=WANTED), ARM, tmp_path, [
        '+100 load rbd_controller', '+200 switch +rbd_controller', f'+1 {RUNNING}',
        f'+100 {stream("velocities", [0.0] * 6 + [0.5])}', '+1000 see',
        f'+1 {stream("positions", there)}', '+1500 see', f'+1 {stream("positions", there[:6])}',
        f'+1 {stream("velocities", [99.0] * 7)}', '+100 see'],
        cycles=0, parameters={'mode': WANTED})
    assert ran.answers() == ['ok'] * 3 + ['ok', *ran.answers()[4:]], ran.output[-3000:]
    q, cycles = ran.motion[:, :, 0], ran.cycles()
    np.testing.assert_allclose(q[cycles[4], 6] - START[6], 0.05 + 0.0125, atol=0.01)
    np.testing.assert_allclose(q[cycles[4], :6], START[:6], atol=0.01)
    np.testing.assert_allclose(q[cycles[6]], there, atol=0.01)
    assert '6 positions for 7 joints: one for each is needed' in ran.output
    np.testing.assert_allclose(q[-1], there, atol=0.01)  # 99 rad/s are refused, too
    assert np.abs(ran.motion[:, :, 1]).max() < 1.0


def test_random_bad_goals_switch_nothing(tmp_path) -> None:
    """Whatever is wrong with a goal, the mode stays; a good one after them switches it."""
    rng, script = np.random.default_rng(7), []

    def send(name: str, sent: Sent) -> None:
        rows = [[time, *row] for time, row in zip(sent.times, sent.rows, strict=True)]
        file = written(tmp_path / name, sent.names, *rows)
        stamp = '' if sent.stamp is None else repr(sent.stamp)
        script.extend([f'+10 goal {ACTION} {file} {sent.tolerance} {stamp}', '+1 result',
                       '+20 get rbd_controller mode'])
    for k in rng.permutation(len(FLAWS)):
        goal = good_goal(rng, JOINTS, START)
        FLAWS[k](rng, goal)
        send(FLAWS[k].__name__, goal)
    send('good', good_goal(rng, JOINTS, START))
    ran = run(compiled('panda', goal_mode=WANTED), ARM, tmp_path / 'run', [
        '+100 load rbd_controller', '+200 switch +rbd_controller', f'+1 {RUNNING}', *script],
        cycles=0, parameters={'mode': DEFAULT})
    answers = ran.answers()[3:]
    for k in range(0, 3 * len(FLAWS), 3):
        accepted, result, mode = answers[k:k + 3]
        assert accepted == 'accepted' and result.startswith('aborted -'), script[k]
        assert mode == DEFAULT, (script[k], result)
    assert answers[-2].startswith('succeeded') and answers[-1] == WANTED, answers[-3:]
    assert 'aborted -3 the trajectory ended' in ' '.join(answers)  # OLD_HEADER_TIMESTAMP
