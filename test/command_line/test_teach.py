# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0


"""``rbd teach``: lessons are kept, listed, edited and exported; nothing moves without a yes."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
import signal
import sys
import threading
from types import ModuleType
from typing import Any

from command_rig import ARM, data, rbd
import numpy as np
import pytest
import rbd_ros
from rbd_ros.command_line.confirmation import confirm
from rbd_ros.signals import as_interrupts, noted
from rbd_ros.teaching.lesson import Lesson, Point
from rbd_ros.teaching.lesson_file import read_lesson, write_lesson
from rbd_ros.teaching.motion import Motion
import yaml

pytestmark = pytest.mark.slow

JOINTS = rbd_ros.load_urdf(ARM).independent_joint_names
HOME = (0.0, 0.4, 0.0, -1.2, 0.0, 0.8, 0.0)


@pytest.fixture
def lesson(tmp_path: Path) -> Path:
    """Return a file of three points."""
    file = tmp_path / 'lesson.yaml'
    points = [Point(tuple(x + 0.1 * k for x in HOME)) for k in range(3)]
    write_lesson(file, Lesson(JOINTS, tuple(points)))
    return file


class Robot:
    """A robot for the commands: where it is led, and where it was sent."""

    sent: list[Motion] = []  # noqa: RUF012
    here = np.array(HOME)
    mode = ''
    step = 0.01
    off = 0.0
    moves: tuple[str, ...] = ()
    most: list[dict[str, float]] = [{}, {}]  # noqa: RUF012
    joints: list[tuple[str, ...]] = []  # noqa: RUF012

    def __init__(self, joints: Any, *more: object) -> None:
        self.led, self.ended = 0, lambda: False
        if len(more) > 1:
            self.joints.append(joints)

    def __enter__(self) -> Robot:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def description(self) -> str:
        """Return the arm."""
        return ARM.read_text()

    def controlled(self) -> tuple[str, ...]:
        """Return the joints that the controller moves, if it says so."""
        return self.moves

    def seen(self) -> dict[str, float]:
        """Return where all joints are."""
        return dict(zip(JOINTS, self.here.tolist()))

    def limits(self) -> list[dict[str, float]]:
        """Return what the reference of its controller may do, if it says so."""
        return self.most

    def position(self, joints: tuple[str, ...] = JOINTS) -> np.ndarray:
        """Return a place; at each look it was led a little further."""
        self.led += 1
        return (self.here + self.step * (self.led - 1))[[JOINTS.index(name) for name in joints]]

    def reference(self, joints: tuple[str, ...]) -> np.ndarray:
        """Return what its controller follows."""
        return (self.here + self.off)[[JOINTS.index(name) for name in joints]]

    def stiffness_warning(self) -> str:
        """Return what was said of the mode."""
        return self.mode

    def refusal_warning(self) -> str:
        """Return what was said of the mode."""
        return self.mode

    def ending(self) -> str:
        """Return what becomes of a motion."""
        return 'it comes to rest'

    def begin(self) -> None:
        """Begin to show."""

    def shown(self, joints: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray]:
        """Return a swing of these joints."""
        t = np.linspace(0.0, 2.0, 300)
        q = HOME + 0.2 * np.outer(1.0 - np.cos(np.pi * t), np.ones(7))
        return t, q[:, [JOINTS.index(name) for name in joints]]

    def follow(self, motion: Motion) -> None:
        """Move."""
        self.sent.append(motion)


@pytest.fixture
def robot(monkeypatch: pytest.MonkeyPatch) -> type[Robot]:
    """Put the robot where the commands look for one; no page is served."""
    for name, word in (('taught_robot', 'TaughtRobot'), ('driven_robot', 'DrivenRobot')):
        module = ModuleType(name)
        setattr(module, word, Robot)
        monkeypatch.setitem(sys.modules, f'rbd_ros.nodes.{name}', module)
    for name in ('viser', 'viser.transforms'):
        monkeypatch.setitem(sys.modules, name, None)
    Robot.sent, Robot.mode, Robot.step, Robot.off = [], '', 0.01, 0.0
    Robot.here, Robot.moves, Robot.joints, Robot.most = np.array(HOME), (), [], [{}, {}]
    return Robot


def test_points_are_kept(robot: type[Robot], tmp_path: Path) -> None:
    """Enter keeps one, u takes it back, the end of input saves; a file is gone on with."""
    file = tmp_path / 'new.yaml'
    robot.mode = 'it holds the robot'
    said = rbd('teach', 'record', file, stdin='\n\n\nu\n')
    assert 'it holds the robot' in said[1] and f'written to {file}' in said[0].replace('\n', '')
    first = read_lesson(file)
    assert len(first.points) == 2 and first.joints == JOINTS
    rbd('teach', 'record', file, stdin='\nq\n')
    assert read_lesson(file).points[:2] == first.points and len(read_lesson(file).points) == 3
    said = rbd('teach', 'record', tmp_path / 'none.yaml', stdin='q\n')
    assert 'nothing was stored' in said[1] and not (tmp_path / 'none.yaml').exists()


def test_what_is_typed_besides(robot: type[Robot], tmp_path: Path) -> None:
    """An unknown key is answered; so is u where nothing is left."""
    said = rbd('teach', 'record', tmp_path / 'new.yaml', stdin='x\nu\n\nq\n')[1]
    assert '"x" is none of the keys' in said and 'nothing to remove' in said
    assert len(read_lesson(tmp_path / 'new.yaml').points) == 1


def test_a_file_that_nobody_changed_is_left_alone(robot: type[Robot], lesson: Path) -> None:
    """Its comments too; one that cannot be written is refused before anything is shown."""
    lesson.write_text(lesson.read_text() + '# mine\n')
    before = lesson.read_text()
    for keys in ('q\n', '\nu\nq\n', 'u\nu\nu\nq\n'):
        assert 'is unchanged' in rbd('teach', 'record', lesson, stdin=keys)[1]
        assert lesson.read_text() == before
    assert len(read_lesson(lesson).points) == 3
    rbd('teach', 'record', lesson, stdin='u\n\nq\n')
    assert len(read_lesson(lesson).points) == 3 and '# mine' not in lesson.read_text()
    error = rbd('teach', 'record', lesson / 'below.yaml', code=2, stdin='\nq\n')[1]
    assert 'cannot be written' in error


def test_a_lost_robot_loses_no_point(robot: type[Robot], tmp_path: Path,
                                     monkeypatch: pytest.MonkeyPatch) -> None:
    """A robot that says nothing more is told; what was stored before is kept."""
    position = Robot.position

    def lost(self: Robot, joints: object = None) -> np.ndarray:
        if self.led == 3:
            raise rbd_ros.RbdError('no joint states')
        return position(self, joints)
    monkeypatch.setattr(Robot, 'position', lost)
    said = rbd('teach', 'record', tmp_path / 'new.yaml', stdin='\n\n\n\nq\n')[1]
    assert said.count('no point was stored: no joint states') == 2
    assert len(read_lesson(tmp_path / 'new.yaml').points) == 2


def test_an_interruption_loses_no_motion(robot: type[Robot], tmp_path: Path,
                                         monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C, or the end of the terminal, while a motion is worked on, saves it and ends."""
    shown = Robot.shown
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        def interrupted(self: Robot, joints: object, number: int = number) -> object:
            signal.raise_signal(number)
            return shown(self, joints)
        monkeypatch.setattr(Robot, 'shown', interrupted)
        file = tmp_path / f'{number}.yaml'
        rbd('teach', 'record', file, '--continuous', stdin='\n\n\n\n')
        assert len({point.time for point in read_lesson(file).points}) > 2


def test_nohup_is_respected() -> None:
    """A hang-up that the user chose to ignore ends nothing."""
    former = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with noted() as ended:
            signal.raise_signal(signal.SIGHUP)
            assert not ended.is_set()
        with as_interrupts():
            signal.raise_signal(signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, former)


def test_a_terminal_that_has_gone_loses_no_point(robot: type[Robot], tmp_path: Path,
                                                 monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing can be printed any more, but the points are written."""
    def gone(self: Robot) -> str:
        if self.led > 2:
            raise OSError(5, 'Input/output error', 'stderr')
        return ''
    monkeypatch.setattr(Robot, 'stiffness_warning', gone)
    rbd('teach', 'record', tmp_path / 'new.yaml', code=2, stdin='\n\n\n\n')
    assert len(read_lesson(tmp_path / 'new.yaml').points) == 2


def test_comments_that_are_lost_are_named(tmp_path: Path) -> None:
    """A change writes the whole file anew, and says so; a look does not."""
    file = tmp_path / 'own.yaml'
    write_lesson(file, Lesson(JOINTS, (Point((0.0,) * 7),)))
    assert 'lost' not in rbd('teach', 'edit', file, '--name', '1=home')[1]
    file.write_text(file.read_text() + '# mine\n')
    assert 'lost' not in rbd('teach', 'edit', file)[1] and '# mine' in file.read_text()
    said = rbd('teach', 'edit', file, '--dwell', '1=0.5')[1]
    assert 'your comments' in said and 'are lost' in said and '# mine' not in file.read_text()


def test_motions_are_kept(robot: type[Robot], tmp_path: Path) -> None:
    """Two Enters keep a motion; what cannot be kept is said, and the lesson goes on."""
    file = tmp_path / 'swing.yaml'
    rbd('teach', 'record', file, '--continuous', stdin='\n\nq\n')
    found = read_lesson(file)
    assert len(found.points) > 3 and all(point.time for point in found.points[1:])
    said = rbd('teach', 'record', file, '--continuous', '--tolerance', -1, stdin='\n\nq\n')[1]
    assert 'it must be positive' in said and read_lesson(file) == found
    said = rbd('teach', 'record', file, '--continuous', stdin='\n\nu\nq\n')[1]
    assert 'u removes the last motion' in said and 'is unchanged' in said


def test_nothing_moves_without_a_yes(robot: type[Robot], lesson: Path) -> None:
    """Another answer, or none, sends nothing."""
    robot.mode = 'it refuses motions'
    for answer in ('no\n', '\n', 'y\n', ''):
        error = rbd('teach', 'play', lesson, code=2, stdin=answer)[1]
        assert 'not confirmed; the robot has not moved' in error and not robot.sent
        assert error.index('it refuses motions') < error.index('Type yes')


def test_a_yes_before_the_question_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was typed into a terminal before the question does not move the robot."""
    keyboard, terminal = os.openpty()
    with os.fdopen(terminal) as stdin:
        monkeypatch.setattr(sys, 'stdin', stdin)
        for typed, answer in (('yes', 'no'), ('no', 'yes')):
            os.write(keyboard, f'{typed}\n'.encode())
            later = threading.Timer(0.5, os.write, (keyboard, f'{answer}\n'.encode()))
            later.start()
            with contextlib.nullcontext() if answer == 'yes' else pytest.raises(
                    rbd_ros.RbdError, match='has not moved'):
                confirm()
            later.join()
    os.close(keyboard)


def test_an_interrupted_motion_is_told(robot: type[Robot], lesson: Path,
                                       monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C at any moment is answered with what becomes of the robot."""
    def interrupt(self: Robot, _: object) -> None:
        signal.raise_signal(signal.SIGINT)
        if self.ended():
            raise rbd_ros.RbdError('the motion was cancelled')
    for where in ('follow', 'reference'):
        monkeypatch.setattr(Robot, where, interrupt)
        assert 'it comes to rest' in rbd('teach', 'play', lesson, code=130, stdin='yes\n')[1]


def test_play(robot: type[Robot], lesson: Path) -> None:
    """First to the start, slowly; then each round, which closes, and the last one ends."""
    robot.here, robot.step = np.array(HOME) - 0.3, 0.0
    said = rbd('teach', 'play', lesson, '--loop', 3, '--speed', 0.5, stdin='yes\n')[1]
    assert '25% of its speed limits' in said and 'round 3 of 3' in said
    way, one, two, last = robot.sent
    np.testing.assert_allclose(way.q[[0, -1]], [robot.here, HOME], atol=1e-12)
    for before, after in ((way, one), (one, two), (two, last)):
        np.testing.assert_allclose(before.q[-1], after.q[0], atol=1e-12)
    np.testing.assert_allclose(last.q[-1], np.add(HOME, 0.2), atol=1e-12)
    limit = np.array(rbd_ros.load_urdf(ARM).velocity_limit)
    assert (np.abs(way.curve().derivative(1)(np.linspace(0.0, way.t[-1], 300)))
            <= 0.2501 * limit).all()
    for words, text in ((('--speed', 0), 'must be positive'), (('--approach', 2), 'at most 1'),
                        (('--torque', 3), 'at most 1'), (('--torque', 0.01), 'own weight')):
        assert text in rbd('teach', 'play', lesson, *words, code=2, stdin='yes\n')[1]


def test_the_way_begins_where_the_robot_is(robot: type[Robot], lesson: Path) -> None:
    """One that moved before the yes is looked at again; the reference counts where it is off."""
    robot.here, robot.step = np.array(HOME) - 0.3, 0.0
    assert 'planned again' not in rbd('teach', 'play', lesson, stdin='yes\n')[1]
    usual = robot.sent[0]
    robot.off = -0.3
    rbd('teach', 'play', lesson, stdin='yes\n')
    assert robot.sent[2].t[-1] > 1.2 * usual.t[-1]
    robot.step, robot.off = -0.1, 0.0
    assert 'planned again' in rbd('teach', 'play', lesson, stdin='yes\n')[1]
    assert robot.sent[4].q[0, 0] < robot.here[0] - 0.09


def test_the_reference_keeps_up(robot: type[Robot], lesson: Path) -> None:
    """What it may not do is not planned: it would be behind at the end, beyond a tolerance."""
    robot.step = 0.0
    assert 'reference.acceleration' not in rbd('teach', 'play', lesson, stdin='yes\n')[1]
    for k, (velocity, acceleration) in enumerate(((9.0, 2.0), (0.05, 9.0))):
        robot.most = [dict.fromkeys(JOINTS, velocity), dict.fromkeys(JOINTS, acceleration)]
        said = rbd('teach', 'play', lesson, '--acceleration', 8, stdin='yes\n')[1]
        assert ('reference.acceleration of the controller is 2, less' in said) is (k == 0)
        motion = robot.sent[-1]
        curve, t = motion.curve(), np.linspace(0.0, motion.t[-1], 999)
        for order, most in ((1, velocity), (2, acceleration)):
            fastest = np.abs(curve.derivative(order)(t)).max()
            assert fastest < most * (1.0 + 1e-6) and (order - 1 == k or fastest > 0.99 * most)


def test_some_joints(robot: type[Robot], tmp_path: Path) -> None:
    """A new lesson has those that the controller moves, or that are named; the others stand."""
    file, some = tmp_path / 'some.yaml', ('joint_2', 'joint_4')
    robot.moves = ('gripper', 'joint_4', 'joint_2')
    said = rbd('teach', 'record', file, stdin='\n\nq\n')[1]
    assert 'left out: joint_1, joint_3, joint_5, joint_6, joint_7' in said
    assert read_lesson(file).joints == some
    robot.moves, robot.step = (), 0.1  # what it has said at first counts
    rbd('teach', 'record', file, '--joints', 'joint_4,joint_2', stdin='\n\nq\n')
    rbd('teach', 'record', file, '--continuous', stdin='\n\nq\n')
    taught = read_lesson(file)
    assert taught.joints == some and len(taught.points) > 6
    robot.step = 0.0
    said = rbd('teach', 'play', file, '--loop', 2, stdin='yes\n')[1]
    assert 'Joints that stand: joint_1, joint_3' in said
    assert robot.joints == [some] and {each.joints for each in robot.sent} == {some}
    assert all(each.q.shape == (len(each.t), 2) for each in robot.sent)
    np.testing.assert_allclose(robot.sent[-1].q[-1], taught.points[-1].positions)
    out = tmp_path / 'out.yaml'
    rbd('teach', 'export', file, '--urdf', ARM, '--trajectory', out)
    found = yaml.safe_load(out.read_text())
    assert found['joint_names'] == list(some)
    np.testing.assert_allclose([point['positions'] for point in found['points']],
                               robot.sent[-1].q, atol=1e-8)
    for words, text in (((file, '--joints', 'joint_2'), f'{file} has joint_2, joint_4'),
                        ((tmp_path / 'new.yaml', '--joints', 'joint_9'), 'no joint "joint_9"'),
                        ((tmp_path / 'new.yaml', '--joints', ','), 'name one or more')):
        said = rbd('teach', 'record', *words, code=2, stdin='\nq\n')[1]
        assert text in said
    assert not (tmp_path / 'new.yaml').exists()
    file.write_text(file.read_text().replace('joint_4', 'wheel'))
    assert 'the lesson moves joint_2, wheel' in rbd('teach', 'play', file, code=2)[1]


def test_a_point_that_cannot_be_repeated_is_not_stored(robot: type[Robot],
                                                       tmp_path: Path) -> None:
    """A joint beyond its limit is told while somebody can still guide it back."""
    robot.here, robot.step = np.array(HOME) + 1.6 * (np.arange(7) == 1), 0.0
    said = rbd('teach', 'record', tmp_path / 'new.yaml', stdin='\nq\n')[1]
    assert 'no point was stored: "joint_2" is at 2, not between its limits -1.9 and 1.9' in said


def test_closed_loops_are_refused(lesson: Path, tmp_path: Path) -> None:
    """Passive joints follow the driven ones: they neither stand nor have motions of their own."""
    robot = 'package://rbd_ros/urdf/five_bar.urdf'
    assert 'has closed loops' in rbd('teach', 'export', lesson, '--urdf', robot, '--trajectory',
                                     tmp_path / 'out.yaml', code=2)[1]


def test_edit(lesson: Path) -> None:
    """Each change is written, and listed."""
    assert len(data('teach', 'edit', lesson)['points']) == 3
    found = data('teach', 'edit', lesson, '--dwell', '2=0.5', '--name', '1=home')['points']
    assert found[1]['dwell'] == 0.5 and found[0]['name'] == 'home'
    found = data('teach', 'edit', lesson, '--move', '1,3', '--insert',
                 '1=' + ','.join(['0.1'] * 7))['points']
    assert found[3]['name'] == 'home' and found[0]['positions'] == [0.1] * 7
    found = data('teach', 'edit', lesson, '--delete', 1, '--delete', 3)['points']
    assert len(found) == 2 and len(read_lesson(lesson).points) == 2
    assert 'home' in rbd('teach', 'edit', lesson)[0]
    for words, text in (
            (('--delete', 9), 'points are 1 to 2'), (('--dwell', '1'), 'as in 2=1'),
            (('--dwell', '1=-2'), 'is negative'), (('--dwell', '1=x'), 'is not a number'),
            (('--dwell', '1=0,5'), 'write a decimal point, as in 0.5'),
            (('--insert', '1=0.1,0.2'), 'needs 7 positions')):
        assert text in rbd('teach', 'edit', lesson, *words, code=2)[1]
    lesson.write_text('points: []\n')
    assert 'line 1: joints: is missing' in rbd('teach', 'edit', lesson, code=2)[1]


def test_export(lesson: Path, tmp_path: Path) -> None:
    """A JointTrajectory; at twice the speed of the limits nothing is faster than at once."""
    ends = []
    for speed in (0.5, 1.0, 2.0):
        out = tmp_path / 'out.yaml'
        told = data('teach', 'export', lesson, '--urdf', ARM, '--trajectory', out, '--speed',
                    speed, '--loop')
        found = yaml.safe_load(out.read_text())
        assert found['joint_names'] == list(JOINTS) and len(found['points']) == told['points']
        assert found['points'][0]['positions'] == found['points'][-1]['positions']
        ends.append(told['seconds'])
    assert ends[0] == pytest.approx(2.0 * ends[1]) and ends[2] == pytest.approx(ends[1])
    assert 'ros2 topic pub --once' in rbd(
        'teach', 'export', lesson, '--urdf', ARM, '--trajectory', out)[0]
