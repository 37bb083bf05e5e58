# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Whether the files of this package are still those that were there when it was imported.

Modules are read one by one, some of them late. A digest of the files is one of the code that runs
only as long as no file changed since before the first of them was read.
"""

from __future__ import annotations

import os

#: of a file: inode, size, and when content and inode changed
State = tuple[int, int, int, int]

_CODE = ('.py', '.pyc')


def _state(found: os.stat_result) -> State:
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def states(folder: str) -> dict[str, State]:
    """
    Return the states of all files of code in a folder and those inside it.

    :param folder: may lie in an archive, whose own state then stands for all.
    """
    found: dict[str, State] = {}
    todo = [folder]
    while todo:
        place = todo.pop()
        try:
            with os.scandir(place) as items:
                for item in items:
                    if item.name.endswith(_CODE):
                        found[item.path] = _state(item.stat())
                    elif item.name != '__pycache__' and item.is_dir():
                        todo.append(item.path)
        except FileNotFoundError:       # it is being replaced
            found[place] = (0, 0, 0, 0)
        except NotADirectoryError:      # an archive is a file on the way
            while not os.path.exists(place):
                place = os.path.dirname(place)
            found[place] = _state(os.stat(place))
    return found


_PACKAGE = os.path.dirname(os.path.abspath(__file__))
_IMPORTED = states(_PACKAGE)


def changed() -> list[str]:
    """Return the files that changed, came or went since the package was imported."""
    now = states(_PACKAGE)
    return sorted(path for path in now.keys() | _IMPORTED.keys()
                  if now.get(path) != _IMPORTED.get(path))
