# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""A planned motion in a viser scene: played in its own time, or looked at where one wants."""

from __future__ import annotations

from collections.abc import Callable, Sequence
import threading
import time
from types import TracebackType
from typing import Any

import numpy as np

from rbd_ros.compiler import Array
from rbd_ros.view.scene import link_poses, RobotScene

__all__ = ['MotionPlayer']

#: Pictures per second while it plays, and points of the line that a frame draws.
RATE, POINTS = 30.0, 400
PATH_COLOUR, PATH_WIDTH = (40, 90, 200), 0.004  # m
STEP = 0.01  # s, of the slider


class MotionPlayer:
    """
    Plays a motion, over and over, with a slider of its time and the lines that frames draw.

    :param server: the viser server.
    :param scene: the robot.
    :param position: returns positions at times, (count, nq).
    :param duration: s.
    :param frames: whose lines are drawn.
    :param show: moves the robot to a position.
    """

    def __init__(self, server: Any, scene: RobotScene, position: Callable[[Array], Array],
                 duration: float, frames: Sequence[str],
                 show: Callable[[Array], None]) -> None:
        self._position, self._show, self.duration = position, show, duration
        lines = self.traces(scene, frames)
        #: Handles of the lines by frame.
        self.lines = {frame: server.scene.add_line_segments(
            f'/motion/{frame}', np.stack([line[:-1], line[1:]], axis=1), PATH_COLOUR,
            thickness=PATH_WIDTH) for frame, line in lines.items()}
        with server.gui.add_folder('Motion'):
            self._slider = server.gui.add_slider('time, s', 0.0, duration, STEP, 0.0)
            self._button = server.gui.add_button('Pause')
        self.playing = True
        self.time = 0.0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._slider.on_update(self._moved)
        self._button.on_click(lambda _: self.pause(self.playing))

    def traces(self, scene: RobotScene, frames: Sequence[str]) -> dict[str, Array]:
        """Return the points that frames pass."""
        path = [link_poses(scene.model, q)
                for q in self._position(np.linspace(0.0, self.duration, POINTS))]
        return {frame: np.array([poses[frame][0] for poses in path]) for frame in frames}

    def seek(self, seconds: float) -> None:
        """Show the robot as it is at a time of the motion."""
        self.time = min(max(seconds, 0.0), self.duration)
        self._slider.value = round(self.time / STEP) * STEP
        self._show(self._position(np.array([self.time]))[0])

    def pause(self, stopped: bool = True) -> None:
        """Stop playing, or go on from where it stopped."""
        self.playing = not stopped
        self._button.label = 'Play' if stopped else 'Pause'

    def _moved(self, event: Any) -> None:
        if event.client is not None:  # by the user, not by ``seek``
            self.pause()
            self.seek(self._slider.value)

    def _run(self) -> None:
        before = time.monotonic()
        while not self._ended.wait(1.0 / RATE):
            now = time.monotonic()
            if self.playing:
                self.seek((self.time + now - before) % self.duration)
            before = now

    def __enter__(self) -> MotionPlayer:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self._ended.set()
        self._thread.join()
