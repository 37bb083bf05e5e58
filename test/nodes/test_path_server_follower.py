# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Motions handed to a controller that is absent, silent, restarted or slow to be found."""

from __future__ import annotations

from types import SimpleNamespace

from control_msgs.action import FollowJointTrajectory
import pytest
from rbd_ros.control.interface.results import Outcome, Status
from rbd_ros.nodes.path_server import follower
from rclpy.task import Future
from trajectory_msgs.msg import JointTrajectoryPoint

LASTS = 3.0  # s of the motion


class Bench:
    """A follower, its clock, and the controller that it sees."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.ready, self.time, self.ended, self.cancelled = True, 100.0, [], 0
        self.answer, self.result, self.feedback = Future(), Future(), None
        monkeypatch.setattr(follower, 'ActionClient', lambda *_: SimpleNamespace(
            server_is_ready=lambda: self.ready, send_goal_async=self._send))
        monkeypatch.setattr(follower, 'ClientSigns', lambda *_: SimpleNamespace(
            answer=lambda _: None, promise=lambda: None))
        clock = SimpleNamespace(now=lambda: SimpleNamespace(nanoseconds=self.time * 1e9))
        self.follower = follower.Follower(SimpleNamespace(
            create_timer=self._timer, get_clock=lambda: clock), '/arm/follow_joint_trajectory')

    def _timer(self, period: float, look, **_) -> None:
        self.period, self._look = period, look

    def _send(self, _, feedback_callback, goal_uuid) -> Future:
        self.feedback = feedback_callback
        return self.answer

    def _cancel(self) -> None:
        self.cancelled += 1

    def begin(self, *, accepted: bool = False) -> None:
        """Ask for a motion."""
        goal = FollowJointTrajectory.Goal()
        goal.trajectory.points = [JointTrajectoryPoint()]
        goal.trajectory.points[0].time_from_start.sec = int(LASTS)
        self.follower.begin(goal, follower.Errand(lambda _: None, self.ended.append))
        if accepted:
            self.accept()

    def accept(self) -> None:
        """Have the controller take it."""
        self.answer.set_result(SimpleNamespace(
            accepted=True, cancel_goal_async=self._cancel,
            get_result_async=lambda: self.result))

    def looks(self, seconds: float) -> None:
        """Let time pass."""
        for _ in range(round(seconds / self.period)):
            self.time += self.period
            self._look()

    def end(self) -> Outcome:
        """Return how the motion has ended."""
        outcome, = self.ended
        assert outcome.status is Status.ABORTED and not self.follower.busy
        return outcome


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Bench:
    """Return one."""
    return Bench(monkeypatch)


def test_not_there(bench: Bench) -> None:
    """It is not asked."""
    bench.ready = False
    bench.begin()
    assert 'the action /arm/follow_joint_trajectory is not there' in bench.end().text


def test_silent(bench: Bench) -> None:
    """What it does not answer is over; taken later, it is stopped."""
    bench.begin()
    bench.looks(follower.ANSWER - bench.period)
    assert not bench.ended
    bench.looks(bench.period)
    assert 'has not answered' in bench.end().text
    bench.accept()
    assert bench.cancelled == 1


def test_vanished(bench: Bench) -> None:
    """Two looks in a row must miss it, and it is asked to stop, should it still be there."""
    bench.begin(accepted=True)
    for ready in (False, True, False):
        bench.ready = ready
        bench.looks(bench.period)
    assert not bench.ended and bench.follower.busy
    bench.looks(bench.period)
    assert 'has vanished' in bench.end().text and bench.cancelled == 1


def test_restarted(bench: Bench) -> None:
    """An action of that name which knows nothing of the motion does not keep it for ever."""
    bench.begin(accepted=True)
    bench.looks(LASTS + follower.PATIENCE - bench.period)
    assert not bench.ended
    bench.looks(bench.period)
    assert 'should have ended' in bench.end().text and bench.cancelled == 1


def test_paused(bench: Bench) -> None:
    """As long as there is feedback a motion may last; without a clock that runs, too."""
    bench.begin(accepted=True)
    for _ in range(20):
        bench.looks(follower.PATIENCE / 2.0)
        bench.feedback(SimpleNamespace(feedback=None))
    assert not bench.ended
    for _ in range(100):  # a simulator that is paused
        bench._look()
    bench.time += 1000.0  # a clock that is set
    bench._look()
    assert not bench.ended
    bench.looks(follower.PATIENCE)
    assert 'should have ended' in bench.end().text
