# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Finds the file behind a path, a ``package://`` or ``file://`` address, or a robot's name."""

from __future__ import annotations

from collections.abc import Iterator
import os
from pathlib import Path
import sys
from urllib.parse import unquote, urlsplit

from rbd_ros.errors import ModelError, nearest, nearest_file, ROBOT_FILES, YAML_FILES
from rbd_ros.model.urdf.known_robots import known_robots

#: Packages of robot descriptions that pip installs, and that examples and tests use.
FROM_PIP = ('example-robot-data',)
OWN_SOURCE = Path(__file__).resolve().parents[3]


def find_resource(address: str | os.PathLike[str], *,
                  near: str | os.PathLike[str] | None = None) -> Path:
    """
    Return the existing file behind an address.

    ``package://name/rest`` is searched in ``share/name`` of every folder of AMENT_PREFIX_PATH,
    then in ROS_PACKAGE_PATH, in ``share/name`` of this Python installation and of its cmeel
    packages, and last in folders called ``name`` next to or above ``near``. A word such as
    ``panda`` that is no file is looked up among the robots that are known by name.

    :param address: a path, ``file://`` or ``package://`` address, or a name.
    :param near: file or folder to search around; the current folder if not given.
    :raises ModelError: if there is no such file; the message lists the places searched.
    """
    text = os.fspath(address)
    if text in known_robots() and not Path(text).is_file():
        text = known_robots()[text].address
    if text.startswith('package://'):
        package, _, rest = unquote(text.removeprefix('package://')).partition('/')
        if not package or not rest:
            raise ModelError(f'"{text}" must read package://<package>/<path>')
        candidates = [folder / rest for folder in _package_folders(package, near)]
    elif text.startswith('file://'):
        candidates = [Path(unquote(urlsplit(text).path))]
    else:
        candidates = [Path(text).expanduser()]
    for candidate in candidates:
        try:
            if candidate.is_file():
                return candidate
        except OSError as error:
            raise ModelError(f'"{text[:80]}" is not a valid path: {error.strerror}') from None
    if text.startswith('package://') and package in FROM_PIP:
        # Its place is known: a list of all the others would hide what to do.
        install = './run prepare' if os.environ.get('RBD_ROS_RUN') else f'pip install {package}'
        raise ModelError(f'file "{text}" not found: the package "{package}" with descriptions of '
                         f'robots is not installed, or has no such file; to install it: {install}')
    if any(candidate.is_dir() for candidate in candidates):
        raise ModelError(f'"{text}" is a folder; name the URDF or xacro file in it')
    searched = ', '.join(map(str, dict.fromkeys(candidates))) or 'no folder of that package'
    hint = nearest(text, known_robots())
    if text.startswith('package://'):
        there = next((each for each in candidates if each.parent.is_dir()), None)
        hint = (nearest_file(str(there), _like(text)) if there else
                '; source the workspace or set AMENT_PREFIX_PATH')
    elif text.endswith(YAML_FILES):
        hint = '; a robot is a URDF or xacro file, not YAML'
    elif not hint:
        hint = nearest_file(str(candidates[0]), _like(text))
    raise ModelError(f'file "{text}" not found (searched: {searched}){hint}')


def installed_file(address: str) -> Path | None:
    """
    Return the file of an installed package behind an address, None for anything else.

    For descriptions of strangers: the address is resolved before it is compared with the folder of
    the package, and no folder counts that is no package, as those around the current one.

    :param address: as a description has it.
    """
    if not address.startswith('package://'):
        return None
    package, _, rest = unquote(address.removeprefix('package://')).partition('/')
    for folder in _installed(package) if Path(package).name == package else ():
        file = Path(os.path.normpath(folder / rest))  # links were made by who installed it
        if folder in file.parents and file.is_file():
            return file
    return None


def _installed(package: str) -> Iterator[Path]:
    """Yield the folders of an installed package: those that say that they are one."""
    paths = [Path(prefix, 'share') for prefix in _paths('AMENT_PREFIX_PATH')]
    for parent in (*paths, *_paths('ROS_PACKAGE_PATH'), *_python_shares()):
        folder = Path(os.path.abspath(parent / package))
        if (folder / 'package.xml').is_file():
            yield folder


def _paths(variable: str) -> list[Path]:
    return [Path(each) for each in os.environ.get(variable, '').split(os.pathsep) if each]


def _python_shares() -> Iterator[Path]:
    """Yield where pip and conda packages have their data files."""
    yield Path(sys.prefix) / 'share'
    for place in map(Path, sys.path):
        if place.name == 'site-packages' and 'cmeel.prefix' not in place.parts:
            yield place / 'cmeel.prefix' / 'share'    # and C++ packages from pip


def _like(name: str) -> tuple[str, ...]:
    """Return the endings of files that can be meant by a name: meshes and pictures have others."""
    ending = os.path.splitext(name)[1]
    return ROBOT_FILES if not ending or ending in ROBOT_FILES else ()


def _package_folders(package: str, near: str | os.PathLike[str] | None) -> Iterator[Path]:
    """Yield the folders where a package may have its files, installed ones first."""
    for prefix in _paths('AMENT_PREFIX_PATH'):
        yield prefix / 'share' / package
    for folder in _paths('ROS_PACKAGE_PATH'):
        yield folder / package
        if folder.name == package:
            yield folder
    if package == 'rbd_ros':
        yield OWN_SOURCE
    for folder in _python_shares():
        yield folder / package
    start = Path(near or os.curdir).resolve()
    for above in (start, *start.parents):
        yield above / package
        if above.name == package:
            yield above
