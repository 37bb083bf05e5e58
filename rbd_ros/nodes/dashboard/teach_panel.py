# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0


"""Lessons on the page: keep points and motions, list and change them, save, load, play."""

from __future__ import annotations

import atexit
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
import re
import threading
import time
from typing import Any, TYPE_CHECKING

import numpy as np
from rbd_ros.errors import RbdError
from rbd_ros.model.positions import neutral
from rbd_ros.nodes.dashboard.operator import VIEW_ONLY
from rbd_ros.nodes.driven_robot import DrivenRobot
from rbd_ros.nodes.taught_robot import FRESH, TaughtRobot
from rbd_ros.quoting import markdown_text
from rbd_ros.teaching.demonstration import shown_points
from rbd_ros.teaching.lesson import Lesson, Point
from rbd_ros.teaching.lesson_file import read_lesson, write_lesson
from rbd_ros.teaching.repeat import approach, refuse_unplanned, repeated, whole_starts
from rbd_ros.teaching.strokes import limits_of

if TYPE_CHECKING:
    from rbd_ros.compiler import Array
    from rbd_ros.dynamics.robot import Dynamics
    from rbd_ros.nodes.dashboard.operator import Operator
    from rbd_ros.nodes.dashboard.telemetry import Telemetry

__all__ = ['TeachPanel']

SHOW, SHOWN = 'Show a motion', 'End the motion'
PLAY, STOP = 'Play', 'Stop playing'
AGAIN = 'A real robot will move. Keep clear of it, and press **Play** again within 5 s.'
PLANNING = 'Planning the motion.'
CONFIRM = 5.0  # s for the second press
ACCELERATION, TORQUE = 4.0, 0.8  # rad/s^2; share of the limits
MOST_LISTED = 12


class TeachPanel:
    """
    What ``rbd teach`` does, on the page.

    :param gui: of the page.
    :param robot: the robot.
    :param joints: that the controller moves; others stand.
    :param telemetry: where it is.
    :param operator: whether something may be sent.
    :param folder: of the lessons.
    """

    def __init__(self, gui: Any, robot: Dynamics, joints: Collection[str],
                 telemetry: Telemetry, operator: Operator, folder: Path) -> None:
        self._robot, self._telemetry, self._operator = robot, telemetry, operator
        self._folder = folder
        self.lesson = Lesson(tuple(
            name for name in robot.model.independent_joint_names if name in joints), ())
        self._joints = self.lesson.joints
        self._shown: TaughtRobot | None = None
        self._asked: dict[int, float] = {}  # steady time of the first press, by browser
        self._ending, self._lock = threading.Event(), threading.Lock()
        self._thread: threading.Thread | None = None
        self._said = ''
        off = not operator.allowed
        with gui.add_folder('Teach', expand_by_default=False):
            self.buttons = {name: gui.add_button(name, disabled=off) for name in (
                'Add a point', SHOW)}
            self.list = gui.add_markdown('')
            self.number = gui.add_number('Point', 1, min=1, step=1, disabled=off)
            delete, sooner, later = (gui.add_button(word, disabled=off) for word in (
                'Delete the point', 'Move it up', 'Move it down'))
            self.dwell = gui.add_number('Dwell, s', 0.0, min=0.0, step=0.1, disabled=off)
            rest = gui.add_button('Dwell at the point', disabled=off)
            self.speed = gui.add_slider('Speed, %', 5, 200, 5, 50, disabled=off)
            self.rounds = gui.add_number('Rounds', 1, min=1, step=1, disabled=off)
            self.play_button = gui.add_button(PLAY, color='orange', disabled=off)
            self.name = gui.add_text('Name', 'lesson', disabled=off)
            save, load = (gui.add_button(word, disabled=off) for word in ('Save', 'Load'))
            self.words = gui.add_markdown('')
        for button, action in ((self.buttons['Add a point'], self.add),
                               (self.buttons[SHOW], self.show), (delete, self.delete),
                               (sooner, lambda: self.move(-1)), (later, lambda: self.move(1)),
                               (rest, self.rest), (save, self.save), (load, self.load)):
            button.on_click(self._guarded(self._alone(action)))
        self.play_button.on_click(self._guarded(self.play))
        atexit.register(self.end)  # the controller would go on without this page
        self._list()

    def _alone(self, action: Callable[[], None]) -> Callable[[int], None]:
        def run(_: int) -> None:
            with self._lock:  # browsers press at the same time
                action()
        return run

    def _guarded(self, action: Callable[[int], None]) -> Callable[[Any], None]:
        def run(event: Any) -> None:
            if not self._operator.allowed:  # a browser may press a grey button
                self._said = VIEW_ONLY
                return
            try:
                action(event.client_id)
            except (RbdError, OSError) as error:
                self._said = f'**{markdown_text(str(error))}**'
            self._list()
        return run

    @property
    def is_playing(self) -> bool:
        """Return whether the robot is led by this page."""
        return self._thread is not None and self._thread.is_alive()

    def update(self) -> None:
        """Show what is done; to be called some times per second."""
        self.words.content = self._said
        self.buttons[SHOW].label = SHOW if self._shown is None else SHOWN
        self.play_button.label = STOP if self.is_playing else PLAY

    def add(self) -> None:
        """Keep where the robot is."""
        q = self._telemetry.position(self._robot.model)
        if q is None or self._telemetry.age('states') > FRESH:
            raise RbdError('the position of the robot is unknown: no joint states arrive')
        places = [self._robot.model.position_slice(name).start for name in self.lesson.joints]
        self.lesson = self.lesson.added(Point(tuple(q[places].tolist())))
        self._said = ''

    def show(self) -> None:
        """Begin to keep a motion, or end it."""
        if self._shown is None:
            self._shown = TaughtRobot(self._telemetry.joint_states, self._telemetry.controller)
            self._shown.begin()
            self._said = 'Guide the robot by hand, then press the button again.'
            return
        taught, self._shown = self._shown, None
        with taught:
            t, q = taught.shown(self.lesson.joints)
        points = shown_points(t, q, self._robot.model, joints=self.lesson.joints)
        for point in points:
            self.lesson = self.lesson.added(point)
        self._said = f'Stored {len(points)} points.'

    def delete(self) -> None:
        """Delete the point with the number that was typed."""
        self.lesson = self.lesson.without(int(self.number.value))

    def move(self, by: int) -> None:
        """Move the point with the number that was typed in the order; the number goes with it."""
        here = int(self.number.value)
        self.lesson = self.lesson.moved(here, here + by)
        self.number.value = here + by

    def rest(self) -> None:
        """Let the robot rest at the point with the number that was typed."""
        self.lesson = self.lesson.changed(int(self.number.value), dwell=float(self.dwell.value))

    def save(self) -> None:
        """Write the lesson."""
        write_lesson(self._file(), self.lesson)
        self._said = f'Saved as `{self._file()}`. `rbd teach play` reads it, too.'

    def load(self) -> None:
        """Read the lesson with the name that was typed."""
        if not self._file().exists():
            known = ', '.join(sorted(each.stem for each in self._folder.glob('*.yaml')))
            raise RbdError(f'there is no such lesson; saved ones: {known or "none"}')
        self.lesson = read_lesson(self._file()).among(self._joints)
        self._said = f'Loaded `{self._file()}`.'

    def _file(self) -> Path:
        name = re.sub('[^A-Za-z0-9_-]', '_', str(self.name.value).strip())
        if not name:
            raise RbdError('a lesson needs a name')
        return self._folder / f'{name}.yaml'

    def play(self, browser: int) -> None:
        """
        Repeat the lesson, or stop that; a real robot moves after a second press only.

        :param browser: number of that in which it was pressed; another one does not confirm.
        """
        if self.is_playing:  # at once, whatever else is being done
            self._ending.set()
            return
        with self._lock:
            if not self.is_playing:  # nobody was faster
                self._play(browser)

    def end(self) -> None:
        """Stop playing, and wait until the controller was told; a motion that is shown is lost."""
        self._ending.set()
        with self._lock:
            taught, self._shown = self._shown, None
        if taught is not None:
            with taught:
                pass
        if self._thread is not None:
            self._thread.join(5.0)
        atexit.unregister(self.end)

    def _play(self, browser: int) -> None:
        now = time.monotonic()
        if not self._operator.simulated and now - self._asked.get(browser, -CONFIRM) > CONFIRM:
            self._asked[browser], self._said = now, AGAIN
            return
        self._asked.clear()
        self._said = PLANNING  # seconds for a long lesson, or while kernels are compiled
        model, joints = self._robot.model, self.lesson.joints
        refuse_unplanned(model)
        bounds = limits_of(model, acceleration=ACCELERATION, torque=TORQUE, joints=joints)
        q = self._telemetry.position(model)
        found = repeated(self._robot, self.lesson, bounds, 0.01 * float(self.speed.value),
                         np.array(neutral(model) if q is None else q, float))
        rounds = int(self.rounds.value)

        def run() -> None:
            try:
                with DrivenRobot(joints,
                                 f'{self._telemetry.controller}/follow_joint_trajectory',
                                 self._telemetry.joint_states) as driven:
                    driven.ended = self._ending.is_set
                    way = approach(self._robot, whole_starts(
                        found.once, joints, self._starts(joints, driven.position())), found.once,
                        bounds)
                    for leg in [*([] if way is None else [way]),
                                *(rounds - 1) * [found.cycle()], found.once]:
                        if self._ending.is_set():
                            raise RbdError('the motion was cancelled')
                        driven.follow(leg.of(joints))
                self._said = 'Played.'
            except RbdError as error:
                self._said = f'**{markdown_text(str(error))}**'
        self._ending.clear()
        self._said = 'Playing. ' + markdown_text('; '.join(found.slowed))
        self._thread = threading.Thread(target=run, name='teach', daemon=True)
        self._thread.start()

    def _starts(self, joints: Sequence[str], here: Array) -> list[Array]:
        """Return where joints are, and where the controller's reference is, if it says so."""
        reference = self._telemetry.reference_positions
        known = self._telemetry.age('reference') < FRESH and set(joints) <= reference.keys()
        return [here, np.array([reference[name] for name in joints]) if known else here]

    def _list(self) -> None:
        """Show the points."""
        points = self.lesson.points
        rows = [f'{k}. {" ".join(f"{x:.2f}" for x in point.positions)}'
                + ('' if point.time is None else f', {point.time:.2f} s')
                + (f', dwell {point.dwell:g} s' if point.dwell else '')
                + (f', {markdown_text(point.name)}' if point.name else '')
                for k, point in enumerate(points, 1)]
        more = len(rows) - MOST_LISTED
        if more > 0:
            rows = [*rows[:MOST_LISTED - 1], f'and {more + 1} more']
        self.list.content = '\n\n'.join(rows) or 'No points yet: guide the robot by hand.'
