# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""What a family of methods knows of its robot."""

from __future__ import annotations

from rbd_ros.dynamics.kernels.store import KernelStore
from rbd_ros.dynamics.quantity import Call, Quantity
from rbd_ros.model.model import Model


class Family:
    """
    Methods of a robot that need no more than its model and the store of its kernels.

    A method reads ``self._calls[QUANTITY](...)``: the first
    call compiles in the store, a later one finds what to call without a function in between.
    """

    model: Model
    _store: KernelStore
    _calls: dict[Quantity, Call]
