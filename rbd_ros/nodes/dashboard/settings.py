# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Parameters of the controller as it has them. They are asked for, which changes nothing."""

from __future__ import annotations

import time
from typing import Any, TYPE_CHECKING

from rbd_ros.control.modes import MODES
from rbd_ros.view.stiffness import GAINS
from rcl_interfaces.srv import GetParameters
from rclpy.parameter import parameter_value_to_python

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rbd_ros.model.model import Model
    from rclpy.node import Node
    from rclpy.task import Future

__all__ = ['Settings', 'task_frame']

READ_PERIOD = 2.0  # s between two reads
ANSWER_TIMEOUT = 5.0  # s to wait for an answer
#: Names that are asked for together. A controller that lacks one answers none of its group.
GROUPS: tuple[tuple[str, ...], ...] = (
    ('payload.mass', 'stiffness', 'damping', 'gravity'),
    ('friction.viscous', 'friction.coulomb', 'friction.speed', 'rotor_inertia', 'driver_adds',
     'driver_knows_payload', 'effort_is_torque', 'payload.com', 'payload.inertia',
     'payload.frame', 'task.frame', 'task.axes', 'passive_joints',
     'fixed_positions.joints', 'fixed_positions.values'),
    tuple(sorted({name for names in GAINS.values() for name in names} - {'stiffness'}
                 | {name for mode in MODES.values() for name in mode.rows})))


class Settings:
    """
    Ask a controller for its parameters from time to time.

    The request goes to the node that serves parameters, never to the loop that drives the robot,
    and can change nothing: a page that only watches may ask, too.

    :param node: gives the client.
    :param controller: name of the controller.
    """

    def __init__(self, node: Node, controller: str) -> None:
        self._client = node.create_client(GetParameters, f'{controller}/get_parameters')
        self._pending: list[Future] = []
        self._next, self._end = 0.0, 0.0  # steady times of the next read, and to give up
        self._refused: set[Sequence[str]] = set()
        #: What it answered, by name; replaced as a whole when it answers again.
        self.values: dict[str, Any] = {}

    def refresh(self) -> None:
        """Ask again if it is time; to be called from time to time."""
        now = time.monotonic()
        if now > self._end:
            for future in self._pending:
                if not future.done():
                    self._client.remove_pending_request(future)
            self._pending = []
        if now < self._next or not all(future.done() for future in self._pending):
            return
        self._next, self._end = now + READ_PERIOD, now + ANSWER_TIMEOUT
        if not self._client.service_is_ready():
            self._refused.clear()  # another one may come
            return
        self._pending = [self._ask(names) for names in GROUPS if names not in self._refused]

    def postpone(self) -> None:
        """Leave time for a change to take effect before the next read."""
        self._next = time.monotonic() + READ_PERIOD

    def _ask(self, names: Sequence[str]) -> Future:
        def done(future: Any) -> None:
            if future.exception() is not None:
                return
            answers = [parameter_value_to_python(value) for value in future.result().values]
            if len(answers) != len(names):
                self._refused.add(names)
                return
            self.values = {**self.values, **{
                name: value if isinstance(value, (str, bool, int, float, type(None)))
                else list(value) for name, value in zip(names, answers, strict=True)}}
        future = self._client.call_async(GetParameters.Request(names=names))
        future.add_done_callback(done)
        return future


def task_frame(values: Mapping[str, Any], model: Model, otherwise: str) -> str:
    """
    Return the frame that the controller moves.

    :param values: parameters of the controller.
    :param otherwise: the frame if they name none of the robot.
    """
    told = values.get('task.frame')
    return str(told) if told in model.frames else otherwise
