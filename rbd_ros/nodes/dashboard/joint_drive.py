# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Sliders and jog buttons of the joints, sent as a stream of set-points that move slowly."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
import math
import threading
import time
from typing import Any, TYPE_CHECKING

import numpy as np
from rbd_ros.control.modes import Takes
from rbd_ros.nodes.dashboard.adjust import by_hand
from rbd_ros.nodes.dashboard.dead_man import DeadMan, HOLD_RATE, renewing, TIMEOUT
from rbd_ros.nodes.dashboard.moving_point import MovingPoint
from rbd_ros.nodes.dashboard.readiness import missing
from rbd_ros.nodes.dashboard.telemetry import STALE_AFTER
from rbd_ros.quoting import markdown_code, markdown_text
from rbd_ros.view.joint_sliders import single_joints

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from rbd_ros.model.model import Model
    from rbd_ros.nodes.dashboard.operator import Operator
    from rbd_ros.nodes.dashboard.telemetry import Telemetry

    Array = NDArray[np.float64]

__all__ = ['JointDrive']

STEP = 1e-3  # rad or m, of a slider
SLOWEST, USUAL, FASTEST = 5, 20, 50  # percent of the velocity limits
#: s after which the robot counts as at rest: without a set-point, and without a reference on its
#: way to the last one; and rad or m from that at which somebody else has moved the robot
AT_REST, ELSEWHERE = 1.0, 0.1
NEARER = 1e-6  # rad or m between two looks, of all joints together
LEAD = 0.2  # s of motion by which the set-point is ahead of the controller's reference at most
#: rad and m by which it goes further from a robot that does not follow, as task.*_lead of tasks
ANGULAR_LAG, LINEAR_LAG = 0.2, 0.05
FRESH = 0.5  # s for which a reference of the controller is known
HOLD = ('Move a slider, then keep **Hold to move** pressed. The robot begins to stop at most '
        f'{TIMEOUT:g} s after you let go, or after this page is closed or cut off.')
READY = 'Move a slider: the robot goes there.'
NO_REFERENCE = ('The controller does not publish its reference. It does so on '
                '`~/controller_state`, '
                'unless `state_divider` is 0.')
OTHER_JOINTS = ('The controller does not drive {}. Start the dashboard with the parameter '
                '`joints` of the controller.')
WAITING = ('The robot does not follow: {} is {:.2g} {} behind. Something is in its way, or its '
           'springs are too soft for its friction.')
MOVED = 'Somebody else has moved the robot: the sliders are where it is now.'


class JointDrive:
    """
    Sliders that are where the robot is until they are switched on, and then where it shall be.

    What is sent is one set-point after the other, each a little further than the reference of the
    controller: whatever ends the stream ends the motion. A robot that is not simulated moves only
    while a button is held, and is told to hold when it is released.

    :param gui: of the page.
    :param model: the robot.
    :param joints: that the controller commands; those with one coordinate have a slider.
    :param telemetry: where the robot is, and in what mode.
    :param operator: sends the set-points.
    """

    def __init__(self, gui: Any, model: Model, joints: Sequence[str], telemetry: Telemetry,
                 operator: Operator) -> None:
        self._telemetry, self._operator = telemetry, operator
        self.joints = tuple(name for name in single_joints(model) if name in joints)
        self.point = MovingPoint(model, self.joints)
        self.target: Array = self.point.q.copy()
        #: where the reference is, seen from the robot, when it is driven at first: what it hangs
        self._hang: Array = np.zeros(len(self.joints))
        self._units = ['m' if slides else 'rad' for slides in self.point.slides]
        self._lag = np.where(self.point.slides, LINEAR_LAG, ANGULAR_LAG)
        self._hold, self._jogs = DeadMan(), {-1.0: DeadMan(), 1.0: DeadMan()}
        self._simulated = self._driving = self._moving = False
        self._is_waiting = False  # for a robot that does not follow
        self._jogged = ''  # joint for which a jog button was pressed
        self._lock = threading.RLock()  # sliders are moved in threads of the page
        self._shown: Array = self.point.q.copy()  # where the sliders are
        self._windows = [self._window(k, 0.0) for k in range(len(self.joints))]
        #: steady times: of the last look, and at which a motion that was asked for went on
        self._now = self._moved = -math.inf
        self._away = math.inf  # rad or m, of all joints, from the reference to the set-point
        off = not operator.allowed
        with gui.add_folder('Joints', expand_by_default=False):
            self.box = gui.add_checkbox('Drive the joints', False, disabled=off)
            self.box.on_update(by_hand(self.switch))
            self.words = gui.add_markdown('')
            self._speed = gui.add_slider('Speed, %', SLOWEST, FASTEST, 1, USUAL, disabled=off,
                                         hint='of the velocity limits of the joints')
            self._button = gui.add_button('Hold to move', color='orange', disabled=True,
                                          visible=not off)
            self._button.on_hold(renewing(self._hold), HOLD_RATE)
            self.sliders = [self._slider(gui, k) for k in range(len(self.joints))]
            self._joint = gui.add_dropdown('Jog', self.joints or ('',), disabled=off)
            self._jog_buttons = [gui.add_button(label, disabled=True, hint='while you hold it')
                                 for label in ('−', '+')]
        for button, jog in zip(self._jog_buttons, self._jogs.values(), strict=True):
            button.on_hold(renewing(jog), HOLD_RATE)

    def _slider(self, gui: Any, k: int) -> Any:
        made = gui.add_slider(self.joints[k], *self._windows[k], STEP, float(self.point.q[k]),
                              disabled=True)
        made.on_update(by_hand(partial(self._ask, k)))
        return made

    def _window(self, k: int, q: float) -> tuple[float, float]:
        """Return the ends of a slider: the limits, or a turn around where the joint is."""
        low, high = float(self.point.lower[k]), float(self.point.upper[k])
        low = low if math.isfinite(low) else min(q, high) - math.pi
        high = high if math.isfinite(high) else max(q, low) + math.pi
        return low, max(high, low + STEP)

    def _ask(self, k: int) -> None:
        """Take a slider that was moved by hand; a browser may send more than a slider has."""
        with self._lock:
            self._shown[k] = value = float(self.sliders[k].value)
            if self._driving:
                low, high = self._windows[k]
                self.ask({self.joints[k]: min(max(value, low), high)})

    def ask(self, positions: dict[str, float]) -> None:
        """
        Ask for positions of some joints; those beyond a limit become the limit.

        :param positions: by name; of joints that are not driven here nothing is asked.
        """
        with self._lock:
            target = self.target.copy()
            for k, name in enumerate(self.joints):
                if math.isfinite(positions.get(name, math.nan)):
                    target[k] = positions[name]
            self.target = self.point.inside(target)

    @property
    def is_driving(self) -> bool:
        """Return whether what is asked for is sent."""
        return self._driving

    @property
    def positions(self) -> dict[str, float] | None:
        """Return where the joints are by name, None while that is not known."""
        measured = self._measured()
        if measured is None or self._telemetry.age('states') > STALE_AFTER:
            return None
        return dict(zip(self.joints, measured.tolist(), strict=True))

    def switch(self) -> None:
        """Get ready to send set-points, or leave the topic to others."""
        with self._lock:
            self._simulated = self._operator.simulated
            if not self.box.value:
                self._release()
            self._operator.steer(bool(self.box.value))

    def send(self) -> None:
        """Move the set-point by what the time since the last call allows, and send it."""
        with self._lock:
            before, self._now = self._now, time.monotonic()
            reference = self._reference()
            if not (self._driving and self.box.value) or reference is None:
                self._release()
            elif self._is_at_rest and self._is_elsewhere(reference):
                self._begin()
                self.words.content = MOVED
            else:
                self._move(reference, self._now - before)

    def _move(self, reference: Array, seconds: float) -> None:
        """Go on from the reference, or come to rest if no button is held."""
        sense = self._jog()
        if not (sense or self._simulated or self._hold.is_held(self._now)):
            self._release()
            if not self._is_at_rest:  # it brakes
                self.point.begin(self.point.near(reference))
            return
        if not self._moving:
            self.point.begin(self.point.near(reference))
            self._moving = True
        old, share = self.point.q, self._share()
        # it waits for a reference that cannot follow: what is ahead is what goes on after release
        seconds = min(seconds, max(LEAD - self.point.lead(reference, share), 0.0))
        if sense:
            k = self.joints.index(self._jogged)
            self.point.jog(k, sense, seconds, share)
            self.ask({self._jogged: float(self.point.q[k])})
        else:
            self.point.approach(self.target, seconds, share)
        self._wait_for_the_robot(old, share)
        if not np.array_equal(old, self.point.q):
            self._operator.set_point(self.joints, self.point.q.tolist())
            self._moved = self._now
        self._watch_the_reference(reference)

    def _watch_the_reference(self, reference: Array) -> None:
        """Take note of a reference that is still on its way to the last set-point."""
        # a slow one goes on long after that was sent, and has to hold when the button is released
        before, self._away = self._away, float(
            np.abs(self.point.near(reference) - self.point.q).sum())
        if not self._is_at_rest and self._away < before - NEARER:
            self._moved = self._now

    @property
    def _is_at_rest(self) -> bool:
        """Return whether nothing that was asked for goes on: others may move the robot."""
        return self._now - self._moved > AT_REST

    def _wait_for_the_robot(self, old: Array, share: float) -> None:
        """Go back to the old set-point if the new one leaves a blocked robot further behind."""
        # what springs store while a robot is held up is let go when it gets free
        measured = self._measured()
        if measured is None:
            return
        robot = self.point.near(measured + self._hang)
        behind = np.abs(self.point.q - robot)
        most = self._lag + LEAD * share * self.point.speed
        blocked = np.flatnonzero((behind > most) & (behind > np.abs(old - robot)))
        if len(blocked):
            self.point.begin(old)
            k = blocked[0]
            self.words.content = WAITING.format(
                markdown_text(self.joints[k]), behind[k], self._units[k])
            self._is_waiting = True
        elif not np.array_equal(old, self.point.q):
            self._is_waiting = False

    def _jog(self) -> float:
        """Return the sense in which a joint is jogged; 0: none, or another one than was meant."""
        held = [sense for sense, jog in self._jogs.items() if jog.is_held(self._now)]
        chosen = self._joint.value if self._joint.value in self.joints else ''
        self._jogged = (self._jogged or chosen) if held else ''
        return held[0] if len(held) == 1 and chosen and self._jogged == chosen else 0.0

    def _share(self) -> float:
        """Return the part of the velocity limits; a browser may send more than a slider has."""
        percent = float(self._speed.value)
        return min(max(percent, SLOWEST), FASTEST) / 100.0 if math.isfinite(percent) else (
            SLOWEST / 100.0)

    def _release(self) -> None:
        """End a motion: the controller holds, wherever the last set-point is."""
        if self._moving and not self._is_at_rest:
            self._operator.hold(self.joints)
        self._moving = self._is_waiting = False
        self.point.rest()

    def update(self) -> None:
        """Say what is missing, and show where the joints are or shall be."""
        with self._lock:
            self._update()

    def _update(self) -> None:
        on = bool(self.box.value and self._operator.allowed and self.joints)
        # a simulator that comes while this is on switches no dead-man off
        self._simulated = self._operator.simulated and (self._simulated or not on)
        lack = missing(self._telemetry, Takes.TRAJECTORY, seen=self._measured() is not None,
                       crowded=self._operator.is_crowded) if on else ''
        if on and not lack and self._reference() is None:
            lack = self._without_reference()
        driving = on and not lack
        if driving != self._driving:
            self._release()
            self._begin()
            self._driving = driving
            for each in (*self.sliders, *self._jog_buttons):
                each.disabled = not driving
        self._button.visible = not self._simulated and self._operator.allowed
        self._button.disabled = self._simulated or not driving
        if not driving or not (self._is_waiting or self.words.content == MOVED):
            self.words.content = lack or (
                '' if not driving else READY if self._simulated else HOLD)
        shown = self.target if driving else self._measured()
        if shown is not None:
            self._show(shown)

    def _without_reference(self) -> str:
        """Return why it is not known what the controller follows."""
        heard = self._telemetry.reference_positions
        others = [name for name in self.joints if name not in heard]
        if self._telemetry.age('reference') > FRESH or not heard or not others:
            return NO_REFERENCE
        return OTHER_JOINTS.format(', '.join(map(markdown_code, others)))

    def _begin(self) -> None:
        """Ask for what is: set-point and target are where the controller's reference is."""
        # not where the robot is: one that hangs in its springs would sink again at each start
        reference = self._reference()
        measured = self._measured()
        if reference is not None:
            self.point.begin(reference)
            if measured is not None:
                # bounded: switched on anew each time, a blocked robot would be wound up further
                self._hang = np.clip(self.point.q - self.point.near(measured),
                                     -0.5 * self._lag, 0.5 * self._lag)
            for k in np.flatnonzero(self.point.endless):
                self._place(int(k), float(reference[k]))
        self.target = self.point.q.copy()

    def _is_elsewhere(self, reference: Array) -> bool:
        away = self.point.inside(self.point.near(reference)) - self.point.q
        return bool(np.abs(away).max(initial=0.0) > ELSEWHERE)

    def _reference(self) -> Array | None:
        """Return what the controller follows, None if it has not said so just now."""
        if self._telemetry.age('reference') > FRESH:
            return None
        return self._all_of(self._telemetry.reference_positions)

    def _measured(self) -> Array | None:
        """Return where the joints are, None while one has never been seen."""
        return self._all_of(self._telemetry.positions)

    def _all_of(self, positions: dict[str, float]) -> Array | None:
        found = [positions.get(name, math.nan) for name in self.joints]
        return np.array(found) if all(map(math.isfinite, found)) else None

    def _show(self, q: Array) -> None:
        """Move the sliders; what does not change is not sent to the browsers."""
        for k, slider in enumerate(self.sliders):
            # compared with what was shown, not with the slider: that may have been moved by hand
            if abs(self._shown[k] - q[k]) <= STEP:
                continue
            low, high = self._windows[k]
            if not low <= q[k] <= high:
                self._place(k, float(q[k]))
                low, high = self._windows[k]
            slider.value = min(max(float(q[k]), low), high)
            self._shown[k] = q[k]

    def _place(self, k: int, q: float) -> None:
        """Have a slider around a position."""
        slider = self.sliders[k]
        self._windows[k] = slider.min, slider.max = self._window(k, q)
