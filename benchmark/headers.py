# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Headers of ROS with which a program of C or C++ can be compiled.

They come from a machine on which ROS is installed, or from an archive that the environment
variable ``RBD_ROS2_HEADERS`` names; the libraries are those of the ROS that ``./run`` uses.
"""

from __future__ import annotations

from functools import cache
import hashlib
import os
from pathlib import Path
import tarfile
import tempfile


@cache
def prefix(library: str) -> Path | None:
    """
    Return where the ROS lies that has a library, or nothing.

    :param library: its name without ``lib`` and ``.so``.
    """
    for each in os.environ.get('AMENT_PREFIX_PATH', '').split(':'):
        if each and (Path(each) / 'lib' / f'lib{library}.so').exists():
            return Path(each)
    return None


@cache
def headers(package: str) -> list[Path]:
    """
    Return the folders to include, none if there are no headers; an archive is unpacked once.

    :param package: one of which a library and the headers are needed.
    """
    root = prefix(package)
    if root is not None and (root / 'include' / package).is_dir():
        return [Path('/usr/include/eigen3'), *sorted((root / 'include').iterdir())]
    archive = Path(os.environ.get('RBD_ROS2_HEADERS', ''))
    if not archive.is_file():
        return []
    folder = Path(tempfile.gettempdir()) / (
        'rbd_ros2_headers_' + hashlib.sha256(archive.read_bytes()).hexdigest()[:16])
    if not folder.is_dir():
        with tempfile.TemporaryDirectory(dir=folder.parent) as new:
            with tarfile.open(archive) as file:
                file.extractall(f'{new}/all', filter='data')
            try:
                os.rename(f'{new}/all', folder)
            except OSError:
                if not folder.is_dir():  # else another process was faster
                    raise
    include = folder / 'ros2_headers' / 'include'
    return [include, include / 'eigen3']
