# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""With what the names in generated code begin: files and targets of a project get them, too."""

from __future__ import annotations

import re

from rbd_ros.errors import SettingError

__all__ = ['check_prefix', 'usual_prefix']

#: Names that a project has beside those of the robot.
_OWN = 'example events main board firmware semihosting startup'.split()
#: Targets of make and of CMake, and libraries that the linker finds by their name.
_TARGETS = (
    'all clean depend edit_cache help install list_install_components package package_source '
    'preinstall rebuild_cache test uninstall ALL_BUILD RUN_TESTS ZERO_CHECK Continuous '
    'Experimental Nightly NightlyMemoryCheck c dl gcc m pthread rt util').split()
#: Headers of C, which one of the robot would hide.
_HEADERS = (
    'assert complex ctype errno fenv features float inttypes iso646 limits locale math setjmp '
    'signal stdalign stdarg stdatomic stdbool stddef stdint stdio stdlib stdnoreturn string '
    'tgmath threads time uchar unistd wchar wctype alloca endian sched strings pthread').split()
_TAKEN = {name.lower() for name in (*_OWN, *_TARGETS, *_HEADERS)}


def usual_prefix(robot: str) -> str:
    """Return the prefix of a robot by its name, whatever that is."""
    name = re.sub(r'\W+', '_', robot, flags=re.ASCII)
    if not name.strip('_') or name[0].isdigit():
        name = f'r{name}'
    return f'{name}_robot' if name.lower() in _TAKEN else name


def check_prefix(prefix: str) -> None:
    """
    Refuse a prefix with which a project cannot be built.

    :raises SettingError: says why.
    """
    if not (prefix.isascii() and prefix.isidentifier()):
        raise SettingError(f'prefix "{prefix}" must be a C identifier: letters, digits and _')
    if prefix.lower() in _TAKEN:
        raise SettingError(f'prefix "{prefix}" is the name of a file, a target or a header that '
                           f'a project needs: choose another one, such as {prefix}_robot')
