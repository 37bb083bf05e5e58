# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""What the topics of a robot tell of it, joint by joint, and when they do not tell it any more."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

from control_msgs.msg import JointTrajectoryControllerState
import numpy as np
import pytest
from rbd_ros.control.interface.results import GoalError
from rbd_ros.control.parameters.assembly import settings_of_file
from rbd_ros.nodes.description import built_in_robot
from rbd_ros.nodes.path_server import robot_elsewhere
from sensor_msgs.msg import JointState
from std_msgs.msg import String

PARAMETERS = Path(__file__).parents[2] / 'config' / 'controller.yaml'
JOINTS = [f'joint_{k}' for k in range(1, 8)]


class Bench:
    """A robot elsewhere, its topics and the clock."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.time, self.callbacks, self.warned = 100.0, {}, []
        monkeypatch.setattr(robot_elsewhere, 'time',
                            SimpleNamespace(monotonic=lambda: self.time))
        settings = settings_of_file(built_in_robot().read_text(), str(PARAMETERS), '/controller',
                                    lambda _: None, simulated=False, named_by='')
        self.robot = robot_elsewhere.RobotElsewhere(SimpleNamespace(
            resolve_topic_name=lambda name: f'/{name}',
            create_subscription=lambda _, topic, heard, __: self.callbacks.update({topic: heard}),
            get_logger=lambda: SimpleNamespace(warning=self.warned.append)),
            settings, '/arm')

    def joints(self, place: float, names: list[str] = JOINTS, **fields) -> None:
        """Have joints be measured."""
        fields = {'position': [place] * len(names), 'velocity': [0.0] * len(names), **fields}
        self.callbacks['/joint_states'](JointState(name=names, **fields))

    def state(self, place: float) -> None:
        """Have the controller tell where it holds the joints."""
        message = JointTrajectoryControllerState(joint_names=JOINTS)
        message.reference.positions = [place] * 7
        self.callbacks['/arm/controller_state'](message)

    def reference(self) -> tuple[np.ndarray, np.ndarray]:
        """Return where the joints are held."""
        return self.robot.reference

    def wait(self) -> None:
        """Let time pass in which most of what was heard becomes old, if nothing follows."""
        self.time += 0.6 * robot_elsewhere.FRESH


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Bench:
    """Return one."""
    return Bench(monkeypatch)


def test_each_joint_must_be_fresh(bench: Bench) -> None:
    """States of others, of some, or without all velocities do not keep those of an arm fresh."""
    assert not bench.robot.ready
    bench.joints(0.1)
    bench.wait()
    assert bench.robot.ready
    bench.joints(0.2, ['finger', *JOINTS[:3]])
    bench.joints(0.3, velocity=[0.0] * 4)
    bench.wait()
    assert not bench.robot.ready
    with pytest.raises(GoalError, match='no states of joint_5, joint_6, joint_7 within'):
        bench.robot.refresh()
    bench.joints(0.4, JOINTS[4:], velocity=[])
    assert bench.robot.ready
    np.testing.assert_array_equal(bench.robot.q, [0.3] * 4 + [0.4] * 3)


def test_a_number_that_is_none_is_not_taken(bench: Bench) -> None:
    """The joint is not known any more in time, and again with the next good state."""
    bench.joints(0.1)
    bench.wait()
    for field in ('position', 'velocity'):
        bench.joints(0.1, **{field: [np.nan, *[0.1] * 6]})
    assert bench.robot.q[0] == 0.1
    bench.wait()
    with pytest.raises(GoalError, match='no states of joint_1 within'):
        bench.reference()
    bench.joints(0.1)
    np.testing.assert_array_equal(bench.reference(), [[0.1] * 7, [0.0] * 7])


def test_a_controller_that_falls_silent_holds_nothing_that_is_known(bench: Bench) -> None:
    """Measured joints stand in for its reference only where it has never told one."""
    bench.joints(0.1)
    np.testing.assert_array_equal(bench.reference()[0], [0.1] * 7)
    assert len(bench.warned) == 1
    bench.state(0.2)
    np.testing.assert_array_equal(bench.reference()[0], [0.2] * 7)
    for _ in range(2):
        bench.wait()
        bench.joints(0.1)
    with pytest.raises(GoalError, match='nothing on /arm/controller_state within'):
        bench.reference()
    bench.state(0.2)
    np.testing.assert_array_equal(bench.reference()[0], [0.2] * 7)
    assert len(bench.warned) == 1


@pytest.mark.parametrize('word', ['mode', 'state'])
def test_what_is_told_again_is_no_change(bench: Bench, word: str) -> None:
    """Only another mode or state makes a path that is being checked outdated."""
    seen = []
    for text in ('one', 'one', 'other', 'other', 'one'):
        bench.callbacks[f'/arm/{word}'](String(data=text))
        seen.append(bench.robot.changes)
    assert seen == [1, 1, 2, 2, 3] and getattr(bench.robot, word) == 'one'
