# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The way to a better model, step by step, with what holds of it now."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TYPE_CHECKING

from rbd_ros.control.modes import names_in, Takes, taking
from rbd_ros.control.supervisor.states import SupervisorState as State
from rbd_ros.quoting import markup_text

if TYPE_CHECKING:
    from rbd_ros.nodes.dashboard.telemetry import Telemetry

__all__ = ['guide', 'steps']

TITLE = 'Identify the robot'
DONE, OPEN = '&#10003;', '&#9675;'  # a tick, an empty circle
COMMANDS = (
    ('Plan a motion and look at it. Nothing moves.', 'rbd excite robot.urdf --out excite.yaml'),
    ('Keep people and things away. It moves after you type yes; Ctrl-C ends it.',
     'rbd excite robot.urdf --plan excite.yaml --run --record used'),
    ('Run another motion, to check the result.',
     'rbd excite robot.urdf --seed 1 --run --record other'),
    ('Find the parameters; the plot compares both models on the other motion.',
     'rbd identify used --check other --urdf robot.urdf --plot torques.html '
     '--write-urdf better.urdf --write-params friction.yaml'),
    ('Start the controller with both files, move the arm again, and compare the rms difference '
     'with the one that you remembered.', ''))


def steps(telemetry: Telemetry, settings: Mapping[str, Any], moving: bool
          ) -> list[tuple[bool, str]]:
    """
    Return what has to hold before the robot may be moved, and whether it does.

    :param telemetry: what is heard.
    :param settings: parameters of the controller.
    :param moving: whether measured and predicted torque are known.
    """
    follows = taking(Takes.TRAJECTORY)
    return [
        (settings.get('effort_is_torque') is True,
         'effort in joint_states is the torque of the joint: effort_is_torque is true'),
        (telemetry.state == State.RUNNING.value and not telemetry.fault, 'the controller runs'),
        (telemetry.mode in follows, f'in mode {names_in(follows, "or")}'),
        (moving, '"Measured and predicted torque" has a table: press Remember there '
                 'while the arm moves')]


def guide(telemetry: Telemetry, settings: Mapping[str, Any], moving: bool) -> str:
    """Return the steps in HTML; parameters as for ``steps``."""
    found = ''.join(f'<div>{DONE if holds else OPEN} {markup_text(text)}</div>'
                    for holds, text in steps(telemetry, settings, moving))
    code = '<br><code style="overflow-wrap:anywhere">{}</code>'
    ways = ''.join(f'<li>{markup_text(text)}'
                   + (code.format(markup_text(command)) if command else '') + '</li>'
                   for text, command in COMMANDS)
    return (f'<div class="guide" style="margin:2px 8px;font-size:12px">{found}'
            f'<ol style="padding-left:18px">{ways}</ol></div>')
