# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Files that are the same for every robot, but for names."""

from __future__ import annotations

from importlib.resources import files

from rbd_ros.quoting import filled as filled_text


def filled(template: str, **names: str) -> str:
    """
    Return a file of this folder with names replaced.

    :param template: name of the file.
    :param names: what stands for each ``@name@``.
    """
    return filled_text((files(__package__) / template).read_text(), names)
