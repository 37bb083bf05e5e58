# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Build a generated package with colcon, as a user does.

The ROS that ``./run`` fetches has the libraries and the CMake files of ros2_control, but no
headers, and its CMake files name the folders of the machine on which it was built. So they are
copied into a prefix in which all is where they say, with the headers that ``benchmark.headers``
finds. What would come from the system, and the package does not use itself, is an empty target.
A machine with ROS installed needs none of this.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
import re
import shutil
import subprocess

from benchmark.headers import headers, prefix

#: Library whose place is that of ROS.
_LIBRARY = 'controller_manager'
#: Folder in which the ROS that ``./run`` fetches was built: its CMake files name it.
_BUILT_IN = re.compile(r'/\w+/\w+_ws/install(?=/|"|;|$)', re.MULTILINE)
#: Libraries of the system that its CMake files ask for: targets of each.
_SYSTEM = {'Boost': ('Boost::boost', 'Boost::headers'), 'Eigen3': ('Eigen3::Eigen',),
           'fastcdr': ('fastcdr',), 'fastrtps': ('fastrtps',), 'fmt': ('fmt::fmt',),
           'urdfdom': ('urdfdom::urdfdom_model',),
           'urdfdom_headers': ('urdfdom_headers::urdfdom_headers',)}
_TARGET = """\
if(NOT TARGET {target})
  add_library({target} INTERFACE IMPORTED)
  set_target_properties({target} PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "{include}" INTERFACE_COMPILE_DEFINITIONS FMT_HEADER_ONLY)
endif()
"""
_VERSION = 'set(PACKAGE_VERSION 99)\nset(PACKAGE_VERSION_COMPATIBLE TRUE)\n'
#: pal_statistics of the archive is older than the library.
_OLDER = '#define REGISTER_ENTITY(...)\n#define UNREGISTER_ENTITY(...)\n'


def why_no_colcon() -> str:
    """Return why colcon cannot build here; empty: it can."""
    missing = [each for each in ('colcon', 'cmake', 'make', 'g++') if shutil.which(each) is None]
    return f'this machine has no {" and no ".join(missing)}' if missing else ''


def colcon_build(source: Path, base: Path, *more: str) -> Path:
    """
    Build packages, and return where they are installed.

    :param source: their folder.
    :param base: folder for all that is made.
    :param more: arguments of CMake.
    """
    # C++ of ROS takes long to optimise, and it is the C that has to be fast.
    arguments = ['-DCMAKE_EXPORT_COMPILE_COMMANDS=ON', '-DCMAKE_CXX_FLAGS_RELEASE=-O0',
                 '-DBUILD_TESTING=OFF', *more]
    environment = dict(os.environ)
    root = prefix(_LIBRARY)
    assert root is not None
    if not (root / 'include' / _LIBRARY).is_dir():
        ros = base / 'ros'
        _make_prefix(root, ros)
        (base / 'older.h').write_text(_OLDER)
        arguments.append(f'-DCMAKE_CXX_FLAGS=-include {base / "older.h"}')
        before = environment['AMENT_PREFIX_PATH'].split(':')
        environment['AMENT_PREFIX_PATH'] = environment['CMAKE_PREFIX_PATH'] = ':'.join(
            str(ros) if Path(each) == root else each for each in before)
    done = subprocess.run(
        ['colcon', '--log-base', base / 'log', 'build', '--base-paths', source, '--build-base',
         base / 'build', '--install-base', base / 'install', '--merge-install',
         '--event-handlers', 'console_direct+', '--cmake-args', *arguments],
        cwd=base, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        check=False)
    assert done.returncode == 0, done.stdout[-6000:]
    return base / 'install'


def compile_commands(base: Path, package: str) -> dict[str, str]:
    """
    Return the commands by which the files of a package were compiled, by name.

    :param base: that was given to :func:`colcon_build`.
    :param package: its name.
    """
    listed = json.loads((base / 'build' / package / 'compile_commands.json').read_text())
    return {Path(each['file']).name: each['command'] for each in listed}


def _make_prefix(root: Path, ros: Path) -> None:
    """
    Make a prefix that CMake accepts.

    :param root: libraries and CMake files.
    :param ros: the new one.
    """
    include = headers(_LIBRARY)[0]
    (ros / 'include').mkdir(parents=True)
    (ros / 'lib').symlink_to(root / 'lib')
    for package in (root / 'share').iterdir():
        (ros / 'include' / package.name).symlink_to(include)
    (ros / 'include' / 'tinyxml2.h').symlink_to(include / 'tinyxml2.h')

    def moved(old: str, new: str) -> str:
        if old.endswith('.cmake'):
            Path(new).write_text(_moved(Path(old).read_text(), ros))
        else:
            os.symlink(old, new)
        return new

    shutil.copytree(root / 'share', ros / 'share', copy_function=moved,
                    ignore=lambda folder, names: {'fastrtps'} if Path(folder) == root / 'share'
                    else set())
    for package, targets in _SYSTEM.items():
        folder = ros / 'share' / package / 'cmake'
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f'{package}Config.cmake').write_text(''.join(
            _TARGET.format(target=each, include=include) for each in targets))
        (folder / f'{package}ConfigVersion.cmake').write_text(_VERSION)


def _moved(text: str, ros: Path) -> str:
    """
    Return a CMake file for another prefix.

    :param text: of the file.
    :param ros: the prefix.
    """
    text = re.sub(r'/usr/lib/[\w-]+/(lib\w+\.so)', rf'{ros}/lib/\1', text)
    text = text.replace(';cap"', '"')  # a library of the system; realtime_tools brings it along
    return _BUILT_IN.sub(lambda _: str(ros), text)
