# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Rigid-body dynamics for ROS 2, after Featherstone, compiled for your robot.

The names listed in ``rbd_ros.public`` are those of the package. They are imported when the first
of them is asked for: what needs none of them, such as ``rbd --help``, starts without them.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from rbd_ros import source_state as _source_state    # noqa: F401 (before all others)
from rbd_ros.version import VERSION as __version__  # noqa: F401

if TYPE_CHECKING:
    from rbd_ros.public import *  # noqa: F401, F403, RUF100


def __getattr__(name: str) -> object:
    """Import the public names, and return the one that was asked for."""
    if name.startswith('__') and name != '__all__':
        raise AttributeError(f'module "rbd_ros" has no attribute "{name}"')
    public = import_module('rbd_ros.public')
    names = globals()
    names['__all__'] = public.__all__
    names.update({each: getattr(public, each) for each in public.__all__})
    try:
        return names[name]
    except KeyError:
        raise AttributeError(f'module "rbd_ros" has no attribute "{name}"') from None


def __dir__() -> list[str]:
    """Return the public names too."""
    return sorted({*globals(), *import_module('rbd_ros.public').__all__})
