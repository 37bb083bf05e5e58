# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""A robot as it is now: what paths and frames of messages need to know of it."""

from __future__ import annotations

from typing import Protocol, TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from rbd_ros.control.parameters.settings import Settings

if TYPE_CHECKING:
    from rbd_ros.control.controller import Controller

__all__ = ['ControlledRobot', 'RobotNow']

Array = npt.NDArray[np.float64]


class RobotNow(Protocol):
    """A robot that a controller moves, here or elsewhere; nothing of it is changed."""

    @property
    def settings(self) -> Settings:
        """Return the parameters in force."""

    @property
    def ready(self) -> bool:
        """Return whether there is a fresh state."""

    @property
    def changes(self) -> int:
        """Return a number that grows when the controller gets something else to do."""

    def refresh(self) -> None:
        """Have the numbers below be those of now."""

    @property
    def q(self) -> Array:
        """Return the measured positions of all joints."""

    @property
    def reference(self) -> tuple[Array, Array]:
        """Return position and velocity to which the controlled joints are held."""

    @property
    def gravity(self) -> Array:
        """Return it in the base, m/s^2."""

    @property
    def payload(self) -> Array:
        """Return the ten numbers of ``payload_vector``."""


class ControlledRobot:
    """
    The robot of a controller in this process.

    :param controller: it is read.
    """

    def __init__(self, controller: Controller) -> None:
        self._controller = controller

    def refresh(self) -> None:
        """Have the numbers be those of now."""
        self._controller.refresh()

    @property
    def settings(self) -> Settings:
        """Return the parameters in force."""
        return self._controller.settings

    @property
    def ready(self) -> bool:
        """Return whether there is a fresh state."""
        return self._controller.ready

    @property
    def changes(self) -> int:
        """Return a number that grows when the controller gets something else to do."""
        return self._controller.changes

    @property
    def q(self) -> Array:
        """Return the measured positions of all joints."""
        return self._controller.x.joints.q.copy()

    @property
    def reference(self) -> tuple[Array, Array]:
        """Return position and velocity to which the controlled joints are held."""
        q, qd, _ = self._controller.x.references.joint.profile.state.copy()
        return q, qd

    @property
    def gravity(self) -> Array:
        """Return it in the base, m/s^2."""
        return self._controller.x.load.gravity

    @property
    def payload(self) -> Array:
        """Return the ten numbers of ``payload_vector``."""
        return self._controller.x.load.payload
