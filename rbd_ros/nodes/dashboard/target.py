# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A handle in the scene that the controlled frame follows."""

from __future__ import annotations

import math
import threading
import time
from typing import Any, TYPE_CHECKING

import numpy as np
from rbd_ros.control.modes import names_in, Takes, taking
from rbd_ros.model.reach_bound import reach_bound
from rbd_ros.nodes.dashboard.adjust import by_hand
from rbd_ros.nodes.dashboard.dead_man import DeadMan, HOLD_RATE, renewing, TIMEOUT
from rbd_ros.nodes.dashboard.drawings import OF_ROBOT
from rbd_ros.nodes.dashboard.moving_pose import MovingPose, SPEED, TURN
from rbd_ros.nodes.dashboard.readiness import missing
from rbd_ros.nodes.dashboard.settings import task_frame
from rbd_ros.quoting import markdown_code
from rbd_ros.view.figures import quaternion

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from rbd_ros.dynamics.robot import Dynamics
    from rbd_ros.nodes.dashboard.operator import Operator
    from rbd_ros.nodes.dashboard.settings import Settings
    from rbd_ros.nodes.dashboard.telemetry import Telemetry

    Array = NDArray[np.float64]

__all__ = ['TargetHandle']

#: s of motion by which a target is ahead of the frame at most: 3 cm, or 9 degrees
LEAD = 0.3
#: m and rad from the last target within which the frame hangs there in its springs
NEAR, NEAR_TURN = 0.1, 0.3
HOLD = (f'Keep **Hold to follow** pressed: the frame goes to the target with {SPEED:g} m/s and '
        f'{TURN:g} rad/s at most, until {TIMEOUT:g} s after you let go.')


class TargetHandle:
    """
    A checkbox, and the handle that it shows: it begins where the frame is.

    A simulated robot follows the handle at once. Another one follows while a button is held, by
    targets that move slowly from where its frame is, and stay near it.

    :param server: of the page.
    :param robot: its kinematics.
    :param frame: the frame, unless the controller says which.
    :param telemetry: where the robot is, and in what mode.
    :param operator: sends the target.
    :param settings: parameters of the controller, its frame among them.
    """

    def __init__(self, server: Any, robot: Dynamics, frame: str, telemetry: Telemetry,
                 operator: Operator, settings: Settings) -> None:
        self._robot, self._named, self._settings = robot, frame, settings
        self._telemetry, self._operator = telemetry, operator
        self._hold, self._moving = DeadMan(), MovingPose()
        self._simulated = self._ready = self._following = False
        self._now = -math.inf  # steady time of the last look
        self._last: Array | None = None  # target at which the last motion ended
        self._sag: Array = np.eye(4)  # from the frame to where its springs pull it
        self._placed = ''  # frame at which the handle was put
        self._reach = math.inf  # m from the base that this frame cannot leave
        self._lock = threading.RLock()  # it is switched in threads of the page
        gui, off = server.gui, not operator.allowed
        self._on = gui.add_checkbox(
            'Drag a target', False, disabled=off,
            hint=f'in mode {names_in(taking(Takes.TARGET), "or")} the controlled frame '
                 'follows it')
        self._on.on_update(by_hand(self.show))
        self._words = gui.add_markdown('', visible=False)
        self._button = gui.add_button('Hold to follow', color='orange', visible=False)
        self._button.on_hold(renewing(self._hold), HOLD_RATE)
        self._gizmo = server.scene.add_transform_controls(f'{OF_ROBOT}/target', scale=0.25,
                                                          visible=False)
        self._gizmo.on_update(self.dragged)

    @property
    def frame(self) -> str:
        """Return the frame that the controller moves."""
        return task_frame(self._settings.values, self._robot.model, self._named)

    def show(self) -> None:
        """Put the target where the frame is, and let it be dragged."""
        with self._lock:
            self._simulated = self._operator.simulated
            self._place()

    def _place(self) -> None:
        """Put the handle at the frame that the controller moves now."""
        with self._lock:
            self._placed = self.frame
            self._reach = reach_bound(self._robot.model, self._placed)
            self._release()
            self._last = None
        H = self._pose() if self._on.value else None
        if H is not None:
            self._gizmo.position, self._gizmo.wxyz = H[:3, 3], quaternion(H[:3, :3])
        # Without a position it would be at the origin of the base: no place to start from.
        self._gizmo.visible = H is not None
        self._operator.aim(self._gizmo.visible)

    async def dragged(self, _: Any) -> None:
        """Send the target of a simulated robot, in the order in which it is dragged."""
        if self._simulated and self._ready:
            # the controller refuses others, and several in a row are a fault
            share = min(self._reach / max(math.hypot(*self._gizmo.position), 1e-9), 1.0)
            self._operator.target([share * x for x in self._gizmo.position], self._gizmo.wxyz)

    def send(self) -> None:
        """Let another robot follow while the button is held; to be called 25 times per second."""
        with self._lock:
            before, self._now = self._now, time.monotonic()
            H = self._pose() if self._is_wanted() else None
            if H is None:
                self._release()
                return
            if not self._following:
                self._begin(H)
            # it waits for a frame that cannot follow, and would jump when it can again
            seconds = min(self._now - before, max(LEAD - self._moving.lead(*self._ends(H)), 0.0))
            if self._moving.approach(self._gizmo.position, self._gizmo.wxyz, seconds):
                self._operator.target(self._moving.position.tolist(), self._moving.wxyz.tolist())

    def _is_wanted(self) -> bool:
        """Return whether the robot shall move, and to numbers: a browser may send others."""
        return bool(self._ready and self._on.value and not self._simulated
                    and self._hold.is_held(self._now)
                    and all(map(math.isfinite, (*self._gizmo.position, *self._gizmo.wxyz))))

    def _begin(self, H: Array) -> None:
        """Go on from the last target if the frame hangs there in its springs, else from it."""
        self._sag, self._following = np.eye(4), True
        self._moving.begin(*self._ends(H))
        if self._last is not None:
            ends = self._last[:3, 3], quaternion(self._last[:3, :3])
            way, turn = self._moving.away(*ends)
            if way <= NEAR and turn <= NEAR_TURN:
                self._sag[:3, 3] = self._last[:3, 3] - H[:3, 3]
                self._sag[:3, :3] = self._last[:3, :3] @ H[:3, :3].T
                self._moving.begin(*ends)

    def _ends(self, H: Array) -> tuple[Array, Array]:
        """Return where the target is that holds the frame where it is."""
        return H[:3, 3] + self._sag[:3, 3], np.array(quaternion(self._sag[:3, :3] @ H[:3, :3]))

    def _release(self) -> None:
        """End a motion: the target is where the frame is, however far away the last one was."""
        # a controller that takes nothing now holds, or is stopped
        H = self._pose() if self._following and self._ready else None
        self._following = False
        if H is not None:
            position, wxyz = self._ends(H)
            self._operator.target(position.tolist(), wxyz.tolist())
            self._last = np.eye(4)
            self._last[:3, 3], self._last[:3, :3] = position, self._sag[:3, :3] @ H[:3, :3]
        self._moving.rest()

    def update(self) -> None:
        """Say what is missing, and where the target is."""
        on = bool(self._on.value) and self._operator.allowed
        # a simulator that comes while this is on switches no dead-man off
        self._simulated = self._operator.simulated and (self._simulated or not on)
        if on and (not self._gizmo.visible or self._placed != self.frame):
            self._place()
        H = self._pose() if on else None
        lack = missing(self._telemetry, Takes.TARGET, seen=H is not None,
                       crowded=self._operator.is_aim_crowded) if on else ''
        self._ready = on and not lack
        if not self._ready:
            self._last = None  # others may have sent targets, or moved it
        self._words.visible = on
        self._button.visible = on and not self._simulated
        self._button.disabled = self._simulated or not self._ready
        if on and H is not None:
            self._words.content = self._text(H, lack)
        elif on:
            self._words.content = lack

    def _text(self, H: Array, lack: str) -> str:
        """Return frame, target and distance in words."""
        away = math.dist(self._gizmo.position, H[:3, 3])
        x, y, z = (round(float(part), 3) + 0.0 for part in self._gizmo.position)  # no -0
        found = (f'Target of {markdown_code(self.frame)}: x {x:.3f}, y {y:.3f}, z {z:.3f} m in '
                 f'the base. The frame is {away:.3f} m away from it.')
        far = (f'It is out of reach, {self._reach:.3g} m from the base at most.'
               if math.hypot(*self._gizmo.position) > self._reach else '')
        return ' '.join(filter(None, (found, far, lack or ('' if self._simulated else HOLD))))

    def _pose(self) -> Array | None:
        """Return where the frame is, None while nobody knows."""
        q = self._telemetry.position(self._robot.model)
        return None if q is None else self._robot.pose(q, self.frame)
