# Copyright 2026 the rbd_ros developers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.
"""Sliders and buttons of the dashboard without a browser, on a clock of their own."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import numpy as np
from rbd_ros.control.modes.modes import Takes, taking
from rbd_ros.model.model import Model
from rbd_ros.nodes.dashboard import dead_man, joint_drive
from rbd_ros.nodes.dashboard.joint_drive import JointDrive

PERIOD = 0.04  # s between two pictures


class Handle(SimpleNamespace):
    """A part of the page that keeps its callbacks."""

    def on_update(self, call: Any) -> None:
        """Keep what to call after a change."""
        self.changed = call

    def on_click(self, call: Any) -> None:
        """Keep what to call after a click."""
        self.clicked = call

    def on_hold(self, call: Any, rate: float) -> None:
        """Keep what to call while it is held."""
        self.held, self.rate = call, rate

    def put(self, value: Any) -> None:
        """Change it as a person does."""
        self.value = value
        self.changed(SimpleNamespace(client=object()))


def handles(buttons: dict[str, Any]) -> Any:
    """Return a panel without a browser; its buttons by their labels."""
    gui = MagicMock()
    gui.add_checkbox.side_effect = lambda label, value, **_: Handle(value=value)
    gui.add_text.side_effect = lambda label, value, **_: Handle(value=value)
    gui.add_markdown.side_effect = lambda text: Handle(content=text)
    gui.add_slider.side_effect = lambda label, low, high, step, value, **more: Handle(
        min=low, max=high, value=value, **more)
    gui.add_dropdown.side_effect = lambda label, options, **_: Handle(
        value=options[0], options=options)

    def button(label: str, **more: Any) -> Handle:
        buttons[label] = Handle(**more)
        return buttons[label]
    gui.add_button.side_effect = button
    return gui


class JointPage:
    """
    The sliders of a robot that stands, or follows what is sent.

    :param monkeypatch: of pytest, puts the clock into its place.
    :param model: the robot.
    :param q: where it is.
    :param simulated: whether the page sees a simulator.
    :param allowed: whether the page may send.
    """

    def __init__(self, monkeypatch: Any, model: Model, q: Any, *, simulated: bool,
                 allowed: bool = True) -> None:
        self.clock = 1000.0
        self.sent: list[tuple[float, Any]] = []  # times and set-points
        self.holds: list[float] = []  # times at which the controller was told to hold
        self.buttons: dict[str, Any] = {}
        for module in (dead_man, joint_drive):
            monkeypatch.setattr(module, 'time', SimpleNamespace(monotonic=lambda: self.clock))
        self.joints = tuple(model.independent_joint_names)
        self.telemetry: Any = SimpleNamespace(state='running', mode=taking(Takes.TRAJECTORY)[0],
                                              positions={}, reference_positions={},
                                              age=lambda _: 0.0)
        self.operator: Any = SimpleNamespace(
            allowed=allowed, simulated=simulated, is_crowded=False, steer=MagicMock(),
            set_point=lambda names, q: self.sent.append((self.clock, np.array(q))),
            hold=lambda names: self.holds.append(self.clock))
        self.put(q)
        self.gui = handles(self.buttons)
        self.drive = JointDrive(self.gui, model, self.joints, self.telemetry, self.operator)

    def put(self, q: Any, reference: Any = None) -> None:
        """Put the robot somewhere, and what the controller follows, there unless told where."""
        for kept, numbers in ((self.telemetry.positions, q), (
                self.telemetry.reference_positions, q if reference is None else reference)):
            kept.update(zip(self.joints, map(float, numbers), strict=True))

    def on(self) -> JointPage:
        """Switch it on."""
        self.drive.box.put(True)
        self.drive.update()
        return self

    def hold(self, label: str) -> None:
        """Give one sign of a held button."""
        asyncio.run(self.buttons[label].held(SimpleNamespace(client_id=3)))

    def run(self, seconds: float, hold: str = '', *, follows: bool = True) -> None:
        """Let time pass, picture by picture; a held button gives its signs ten times a second."""
        signs = 0
        for k in range(round(seconds / PERIOD)):
            if hold and k * PERIOD >= signs / 10.0 - 1e-9:
                signs += 1
                self.hold(hold)
            self.drive.send()
            if k % 5 == 0:
                self.drive.update()
            if follows and self.sent:
                self.put(self.sent[-1][1])
            self.clock += PERIOD
        self.drive.update()

    @property
    def words(self) -> str:
        """What the page says."""
        return str(self.drive.words.content)
