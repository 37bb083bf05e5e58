# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Where everything lies: the checkout, what is made for it and the user's cache."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
import os
from pathlib import Path

WHEEL = 'wheel'


@dataclass(frozen=True)
class Layout:
    """
    The folders of one checkout used with one ROS.

    A checkout has one state folder for the runtime of the wheel and one for each sourced ROS,
    so that changing between shells does not rebuild anything.
    """

    root: Path
    flavour: str
    cache: Path
    folder: Path

    @property
    def uses_wheel(self) -> bool:
        """Whether ROS comes from the wheel, not from an installation that was sourced."""
        return self.flavour == WHEEL

    @property
    def state(self) -> Path:
        """Return the folder that holds all that is made for this flavour."""
        return self.folder / self.flavour

    @property
    def venv(self) -> Path:
        """Return the virtual environment."""
        return self.state / 'venv'

    @property
    def python(self) -> Path:
        """Return the interpreter of the virtual environment."""
        return self.venv / 'bin' / 'python'

    @property
    def install(self) -> Path:
        """Return the folder that colcon installs the package into."""
        return self.state / 'install' / 'rbd_ros'


def user_cache(environ: dict[str, str]) -> Path:
    """Return the folder shared by all checkouts of this user."""
    base = environ.get('XDG_CACHE_HOME') or os.path.join(os.path.expanduser('~'), '.cache')
    return Path(base) / 'rbd_ros'


def made_folder(root: Path, environ: Mapping[str, str]) -> Path:
    """
    Return the folder for all that is made: as the script ``run`` chose it, else ``.run``.

    :param root: the checkout.
    :param environ: variables of the process.
    """
    return Path(environ.get('RBD_ROS_FOLDER') or root / '.run')


def locate(environ: dict[str, str]) -> Layout:
    """Return the layout of the checkout that this file belongs to."""
    root = Path(__file__).resolve().parents[2]
    return Layout(root=root, flavour=environ.get('RBD_ROS_FLAVOUR', WHEEL),
                  cache=user_cache(environ), folder=made_folder(root, environ))
