# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0


"""The panels that record and teach: what their buttons do, and what they refuse."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
import threading
import time
from types import SimpleNamespace
from typing import Any

from isolation import own_domain
import numpy as np
import pytest
from rbd_env.pace import patient
import rbd_ros
from rbd_ros.identification.bag import read_in_order, topics
from rbd_ros.model.urdf.resources import find_resource
from rbd_ros.nodes.dashboard import recorder_panel, teach_panel
from rbd_ros.nodes.dashboard.operator import VIEW_ONLY
from rbd_ros.nodes.dashboard.recorder_panel import END, RecorderPanel, START
from rbd_ros.nodes.dashboard.teach_panel import AGAIN, PLANNING, PLAY, SHOW, SHOWN, TeachPanel
from rbd_ros.teaching.lesson_file import read_lesson
from rbd_ros.teaching.repeat import repeated
import rclpy
from sensor_msgs.msg import JointState

MODEL = rbd_ros.load_urdf(find_resource('package://rbd_ros/urdf/seven_joint_arm.urdf'))
ROBOT = rbd_ros.Dynamics(MODEL)
JOINTS = MODEL.independent_joint_names
HOME = np.array([0.0, 0.4, 0.0, -1.2, 0.0, 0.8, 0.0])


class Handle(SimpleNamespace):
    """What the page has made."""

    def on_click(self, action: Any) -> None:
        """Keep what a click does."""
        self.click = lambda browser=1: action(SimpleNamespace(client_id=browser))


class Gui:
    """A page without a browser."""

    def __init__(self) -> None:
        self.made: dict[str, Handle] = {}

    def add_folder(self, *_: Any, **__: Any) -> Any:
        """Return what a with statement takes."""
        return nullcontext()

    def __getattr__(self, name: str) -> Any:
        def make(label: str, *given: Any, **more: Any) -> Handle:
            value = given[-1] if given else None
            handle = Handle(label=label, value=value, content=label, **more)
            self.made[label] = handle
            return handle
        return make


class Driven:
    """What moves the robot in these tests."""

    legs: list[Any] = []  # noqa: RUF012
    failure = ''

    def __init__(self, *names: Any) -> None:
        self.ended = lambda: False

    def __enter__(self) -> Driven:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def position(self) -> np.ndarray:
        """Return where it is."""
        return HOME - 0.2

    def follow(self, leg: Any) -> None:
        """Move, or wait until somebody wants to end it."""
        if self.failure == 'wait':
            while not self.ended():
                time.sleep(0.005)
            raise rbd_ros.RbdError('the motion was cancelled')
        self.legs.append(leg)


class Shown:
    """A robot that is led."""

    def __init__(self, *_: object) -> None:
        pass

    def __enter__(self) -> Shown:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def begin(self) -> None:
        """Begin."""

    def shown(self, joints: object) -> tuple[np.ndarray, np.ndarray]:
        """Return a swing of all joints."""
        t = np.linspace(0.0, 2.0, 300)
        return t, HOME + 0.2 * np.outer(1.0 - np.cos(np.pi * t), np.ones(7))


@pytest.fixture
def make(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Return what makes a panel."""
    monkeypatch.setattr(teach_panel, 'DrivenRobot', Driven)
    monkeypatch.setattr(teach_panel, 'TaughtRobot', Shown)
    Driven.legs, Driven.failure = [], ''

    def panel(*, simulated: bool = True, allowed: bool = True, joints: Sequence[str] = JOINTS,
              ) -> tuple[TeachPanel, Gui, Any]:
        here = SimpleNamespace(q=HOME.copy(), reference={}, age=0.0)
        telemetry = SimpleNamespace(controller='/controller', joint_states='/joint_states',
                                    position=lambda model: here.q, age=lambda what: here.age,
                                    reference_positions=here.reference)
        operator = SimpleNamespace(allowed=allowed, simulated=simulated)
        gui = Gui()
        return TeachPanel(gui, ROBOT, joints, telemetry, operator, tmp_path), gui, here
    return panel


def ended(panel: TeachPanel) -> str:
    """Wait for the end of a motion; return what the page says."""
    end = time.monotonic() + patient(20.0)
    while panel.is_playing:
        assert time.monotonic() < end
        time.sleep(0.01)
    panel.update()
    return panel.words.content


def test_a_lesson_on_the_page(make: Any, tmp_path: Path) -> None:
    """Points and a motion are kept, one is deleted, saved, loaded and played in rounds."""
    panel, gui, here = make()
    for k in range(3):
        here.q = HOME + 0.1 * k
        gui.made['Add a point'].click()
    gui.made['Point'].value = 2
    gui.made['Delete the point'].click()
    assert [point.positions[0] for point in panel.lesson.points] == [0.0, 0.2]
    gui.made['Dwell, s'].value = 0.5
    gui.made['Dwell at the point'].click()
    assert [point.dwell for point in panel.lesson.points] == [0.0, 0.5]
    assert ', dwell 0.5 s' in panel.list.content
    gui.made['Move it up'].click()
    assert [point.dwell for point in panel.lesson.points] == [0.5, 0.0]
    assert gui.made['Point'].value == 1
    gui.made['Move it up'].click()
    panel.update()
    assert 'there is no point 0' in panel.words.content and gui.made['Point'].value == 1
    gui.made['Move it down'].click()
    assert [point.dwell for point in panel.lesson.points] == [0.0, 0.5]
    gui.made[SHOW].click()
    panel.update()
    assert gui.made[SHOW].label == SHOWN
    gui.made[SHOW].click()
    panel.update()
    assert len(panel.lesson.points) > 4 and 'Stored' in panel.words.content
    assert 'more' in panel.list.content
    gui.made['Name'].value = 'my ../lesson'
    gui.made['Save'].click()
    file, = tmp_path.glob('*.yaml')
    assert read_lesson(file) == panel.lesson and '/' not in file.name
    other, gui, _ = make()
    gui.made['Name'].value = 'none'
    gui.made['Load'].click()
    other.update()
    assert 'saved ones: ' in other.words.content
    gui.made['Name'].value = 'my ../lesson'
    gui.made['Load'].click()
    assert other.lesson == panel.lesson
    gui.made['Rounds'].value = 2
    gui.made[PLAY].click()
    assert ended(other) == 'Played.'
    way, one, last = Driven.legs
    for before, after in ((way, one), (one, last)):
        np.testing.assert_allclose(before.q[-1], after.q[0], atol=1e-12)
    np.testing.assert_allclose(way.q[0], HOME - 0.2)


def test_a_real_robot_is_asked_for_twice(make: Any) -> None:
    """The first press warns; the second one, soon after, moves it. Another one stops it."""
    panel, gui, here = make(simulated=False)
    gui.made['Add a point'].click()
    here.q = HOME + 0.1
    gui.made['Add a point'].click()
    gui.made[PLAY].click()
    panel.update()
    assert panel.words.content == AGAIN and not panel.is_playing
    Driven.failure = 'wait'
    gui.made[PLAY].click(2)
    assert not panel.is_playing, 'another browser confirmed'
    gui.made[PLAY].click()
    assert panel.is_playing
    gui.made[PLAY].click()
    assert 'was cancelled' in ended(panel) and not Driven.legs


def test_the_end_of_the_page_ends_the_motion(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the dashboard ends, the goal is cancelled before."""
    at_exit: list[Any] = []
    monkeypatch.setattr(teach_panel.atexit, 'register', at_exit.append)
    panel, gui, here = make()
    for k in range(2):
        here.q = HOME + 0.1 * k
        gui.made['Add a point'].click()
    Driven.failure = 'wait'
    gui.made[PLAY].click()
    assert panel.is_playing
    for end in at_exit:
        end()
    assert not panel.is_playing and 'was cancelled' in ended(panel)


def test_presses_at_the_same_time(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two browsers press Play while the first motion is being planned: one thread leads it."""
    panel, gui, here = make()
    for k in range(2):
        here.q = HOME + 0.1 * k
        gui.made['Add a point'].click()
    Driven.failure, planned = 'wait', []

    def slow(*given: Any) -> Any:
        planned.append(given)
        time.sleep(0.3)
        return repeated(*given)
    monkeypatch.setattr(teach_panel, 'repeated', slow)
    presses = [threading.Thread(target=gui.made[PLAY].click, args=(k,)) for k in range(2)]
    for press in presses:
        press.start()
    for press in presses:
        press.join()
    panel.end()
    assert len(planned) == 1


def test_the_way_begins_at_the_reference(make: Any) -> None:
    """Where the reference is farther off than the robot, the way to the start takes longer."""
    times = []
    for off in (None, -0.6):
        panel, gui, here = make()
        for k in range(2):
            here.q = HOME + 0.1 * k
            gui.made['Add a point'].click()
        if off is not None:
            here.reference.update(zip(panel.lesson.joints, HOME + off))
        gui.made[PLAY].click()
        ended(panel)
        times.append(Driven.legs[-2].t[-1])
    assert times[1] > 1.5 * times[0]


def test_refusals_are_words(make: Any) -> None:
    """A page that only watches does nothing; what cannot be done is said."""
    panel, gui, here = make(allowed=False)
    for name in ('Add a point', SHOW, 'Delete the point', PLAY, 'Save', 'Load'):
        gui.made[name].click()
        panel.update()
        assert panel.words.content == VIEW_ONLY
    assert not panel.lesson.points
    panel, gui, here = make()
    here.q = None
    for name, words in (('Add a point', 'is unknown'), ('Delete the point', 'no point 1'),
                        (PLAY, 'at least two')):
        gui.made[name].click()
        panel.update()
        assert words in panel.words.content
    here.q, here.age = HOME.copy(), 9.0  # it may have been moved since
    gui.made['Add a point'].click()
    panel.update()
    assert 'no joint states' in panel.words.content and not panel.lesson.points
    gui.made['Name'].value = ' '
    gui.made['Save'].click()
    panel.update()
    assert 'needs a name' in panel.words.content


def test_the_page_says_that_it_plans(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A plan may take seconds, in which nothing moves."""
    panel, gui, here = make()
    for k in range(2):
        here.q = HOME + 0.1 * k
        gui.made['Add a point'].click()
    said = []

    def planned(*words: Any) -> Any:
        panel.update()
        said.append(panel.words.content)
        return repeated(*words)
    monkeypatch.setattr(teach_panel, 'repeated', planned)
    gui.made[PLAY].click()
    assert said == [PLANNING] and ended(panel) == 'Played.'


def recorded(panel: RecorderPanel, done: Any) -> None:
    """Wait for the panel."""
    end = time.monotonic() + patient(30.0)
    while not done():
        assert time.monotonic() < end, panel.words.content
        panel.update()
        time.sleep(0.05)
    panel.update()


def test_the_button_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One press begins, another ends; the file is whole, its place is shown; a full disk ends."""
    with own_domain():
        rclpy.init()
        node = rclpy.create_node('robot')
        states = node.create_publisher(JointState, '/left/joint_states', 10)
        gui = Gui()
        panel = RecorderPanel(gui, '/left/controller', '/left/joint_states', tmp_path / 'new',
                              allowed=True)
        panel.update()
        assert str(tmp_path / 'new') in panel.words.content

        def heard() -> bool:
            states.publish(JointState(name=['a'], position=[1.0]))
            return 'Recording' in panel.words.content and ' 0 messages' not in (
                panel.words.content) and 'messages' in panel.words.content
        gui.made[START].click()
        recorded(panel, heard)
        assert gui.made[START].label == END
        gui.made[START].click()
        recorded(panel, lambda: not panel.is_recording)
        file, = (tmp_path / 'new').glob('*.mcap')
        assert str(file) in panel.words.content and gui.made[START].label == START
        assert '/left/joint_states' in topics(file)
        assert read_in_order(file, ['/left/joint_states'])[0][2].name == ['a']
        file.unlink()
        monkeypatch.setattr(recorder_panel, 'LONGEST', 0)
        gui.made[START].click()
        recorded(panel, lambda: 'before the disk is full' in panel.words.content)
        panel.end()
        node.destroy_node()
        rclpy.shutdown()


def test_who_only_looks_cannot_record(tmp_path: Path) -> None:
    """A browser may press a grey button: no file is begun."""
    gui = Gui()
    panel = RecorderPanel(gui, '/controller', '/joint_states', tmp_path / 'new', allowed=False)
    assert gui.made[START].disabled
    gui.made[START].click()
    panel.update()
    assert not panel.is_recording and not (tmp_path / 'new').exists()
    panel.end()
