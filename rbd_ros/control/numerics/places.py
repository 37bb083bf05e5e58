# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Where controlled joints stand among all."""

from __future__ import annotations

from rbd_ros.control.interface.events import Structure

__all__ = ['place_of']


def place_of(s: Structure, j: int) -> int:
    """
    Return the place of a controlled joint among the joints of the model.

    :param j: its place among the controlled ones.
    """
    place = s.index[j]
    return int(place) if 0.0 <= place < len(s.controlled) else 0
