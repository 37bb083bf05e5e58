# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Clients of goals that are killed, suspended, or far away."""

from __future__ import annotations

import os
from pathlib import Path
import signal
import subprocess
import sys
import time

from action_msgs.msg import GoalInfo
from builtin_interfaces.msg import Time
from control_msgs.action import FollowJointTrajectory
from node_rig import Goal, JOINTS, START
import numpy as np
import pytest
from rbd_ros.control.step.progress import Progress
from rbd_ros.nodes.controller.goal_feedback import GoalLeases
from rbd_ros.nodes.goal_signs import ClientSigns
from trajectory_msgs.msg import JointTrajectoryPoint

LEASE, ACTION = 0.4, '/controller/follow_joint_trajectory'

#: asks for a slow motion of 60 s
CLIENT = f"""
from types import SimpleNamespace
import numpy as np
from rbd_ros.nodes.driven_robot import DrivenRobot
start, joints = np.array({START.tolist()}), {list(JOINTS)}
with DrivenRobot(joints, '{ACTION}', 'joint_states', 60.0, 60.0) as robot:
    robot.follow(SimpleNamespace(
        t=np.array([0.0, 60.0]), q=np.array([start, start + 0.6]), qd=np.zeros((2, 7)),
        qdd=np.zeros((2, 7))))
"""


@pytest.mark.parametrize('seed', range(20))
def test_a_client_is_silent_when_a_feedback_has_waited_too_long(seed):
    """Whatever delays answers have, and whichever are lost: an old answer is none."""
    rng, key, most = np.random.default_rng(seed), bytes(range(16)), 1.0
    told = np.cumsum(rng.uniform(0.05, 0.2, 200))
    late = rng.uniform(0.0, rng.choice([0.5, 1.2, 4.0]), 200)
    delay = np.maximum.accumulate(told + late) - told
    lost, excused = rng.random(200) < rng.choice([0.0, 0.3]), rng.choice([-1.0, 8.0])
    events = sorted([*((t, 'told', t) for t in told), *(
        (t + d, 'answer', t) for t, d, no in zip(told, delay, lost, strict=True) if not no)])
    leases, progress = GoalLeases(), Progress({'n': 1})
    progress.number = 1.0

    def stamp(at):
        return Time(sec=int(at), nanosec=int(1e9 * (at % 1.0)))

    def take(at):
        sign = GoalInfo(stamp=stamp(at))
        sign.goal_id.uuid = np.frombuffer(key, np.uint8)
        leases.take(sign)
    take(0.0)
    for k, (now, what, about) in enumerate(events):
        if what == 'told':
            leases.tell(key, stamp(now), now)
        else:
            take(about)
        progress.rests = what == 'told' and excused > 0.0 and now > excused
        if progress.rests:
            assert not leases.is_silent(progress, now, most, all_clients=False)
            progress.rests = False
            excused, events[:k + 1] = -1.0, [(now, 'answer', now)] * (k + 1)
        past = events[:k + 1]
        answered = max([about for _, what, about in past if what == 'answer'], default=-1.0)
        waiting = [at for at, what, _ in past if what == 'told' and at > answered]
        assert leases.is_silent(progress, now, most, all_clients=False) == (
            bool(waiting) and now - waiting[0] > most), (k, now)


def test_clients_that_have_promised_nothing():
    """They are silent only where all clients must give signs."""
    leases, key, progress = GoalLeases(), b'of somebody else', Progress({'n': 1})
    progress.number = 1.0
    leases.tell(key, Time(sec=1), 1.0)
    assert not leases.is_silent(progress, 9.0, 1.0, all_clients=False)
    assert leases.is_silent(progress, 9.0, 1.0, all_clients=True)


def test_what_was_sent_for_another_goal_needs_no_answer():
    """The goal after one whose client was silent is not ended before its own first feedback."""
    leases, progress = GoalLeases(), Progress({'n': 1})
    sign = GoalInfo()
    sign.goal_id.uuid = np.frombuffer(bytes(range(16)), np.uint8)
    leases.take(sign)
    leases.tell(bytes(range(16)), Time(sec=1), 1.0)
    progress.number = 1.0
    assert leases.is_silent(progress, 9.0, 1.0, all_clients=False)
    progress.number = 2.0
    for now in (9.1, 9.2, 99.0):
        assert not leases.is_silent(progress, now, 1.0, all_clients=False)
    leases.tell(b'of somebody else', Time(sec=99), 99.0)
    assert not leases.is_silent(progress, 199.0, 1.0, all_clients=False)


@pytest.fixture
def rig(started):
    """Return the rig, whose arm runs in computed torque at rest where it began."""
    started.begin(goal_lease=LEASE)
    return started


def slow(rig):
    """Return a goal of a minute."""
    made = FollowJointTrajectory.Goal()
    made.trajectory.joint_names = list(JOINTS)
    point = JointTrajectoryPoint(positions=(rig.q + 0.6).tolist())
    point.time_from_start.sec = 60
    made.trajectory.points = [point]
    return made


@pytest.mark.parametrize('whose', ['promised', 'foreign'])
def test_a_goal_without_signs(rig, whose):
    """It ends if signs were promised, and else goes on."""
    signs = ClientSigns(rig.client, ACTION)
    rig.wait(lambda: signs.are_heard() and rig.client.count_subscribers(f'{ACTION}/alive'),
             'a listener')
    sent = Goal(rig, slow(rig), **({'goal_uuid': signs.promise()} if whose == 'promised' else {}))
    begin = time.monotonic()
    rig.run_until(lambda: bool(sent.ended) or (
        whose == 'foreign' and time.monotonic() > begin + 3.0 * LEASE), 'an end')
    if whose == 'foreign':
        assert sent.ended == '' and sent.cancel() == 1
        return
    assert sent.ended == 'aborted' and 'no sign of life' in sent.result.error_string
    assert time.monotonic() - begin > LEASE
    rig.run(0.5)
    rested = rig.q.copy()
    rig.run(0.3)
    np.testing.assert_allclose(rig.q, rested, atol=1e-3)


def test_a_client_that_is_suspended_or_killed(rig):
    """Ctrl-Z pauses the motion until it is undone; a client that is killed moves it no further."""
    rig.must_set(goal_lease=2.0)
    process = subprocess.Popen([sys.executable, '-c', CLIENT], env=os.environ)
    try:
        rig.run_until(lambda: np.abs(rig.qd).max() > 5e-3, 'a motion', 1e3)
        process.send_signal(signal.SIGTSTP)
        status = Path(f'/proc/{process.pid}/stat')
        rig.run_until(lambda: status.read_text().rpartition(')')[2].split()[0] == 'T',
                      'a halt', 1e3)
        rig.run(1.0)
        rested = rig.q.copy()
        rig.run(1.0)
        np.testing.assert_allclose(rig.q, rested, atol=1e-4)
        process.send_signal(signal.SIGCONT)
        rig.run_until(lambda: np.abs(rig.qd).max() > 5e-3, 'a motion', 1e3)
        with rig.logs('its client has given no sign of life'):
            process.kill()
            rig.run(2.5)  # longer than its lease
        rig.run(1.0)
        rested = rig.q.copy()
        rig.run(1.0)
        np.testing.assert_allclose(rig.q, rested, atol=1e-4)
    finally:
        process.kill()
        process.wait()
