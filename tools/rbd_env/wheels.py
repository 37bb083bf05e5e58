# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""One file of the package index that is fetched as it is, and what it must be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
import hashlib
import os
from pathlib import Path

from rbd_env import pip
from rbd_env.failure import Failure


@dataclass(frozen=True)
class Wheel:
    """For which platform it is, and its content."""

    platform: str
    sha256: str
    size: int


def download(
    pin: str, wheel: Wheel, staging: Path, python: Path, doing: str,
    show: Callable[[int], None] = lambda arrived: None,
) -> Path:
    """
    Fetch a wheel with pip, which knows the index, the proxy and the certificates of the user.

    :param pin: project and version.
    :param staging: a folder of its own, for all that pip writes.
    :param python: an interpreter with pip.
    :param doing: what the user is told has failed.
    :param show: called some times a second with the bytes that have arrived.
    """
    folder = staging / 'wheel'
    pip.run(
        python,
        ['download', '--no-deps', '--no-cache-dir', '--only-binary', ':all:', '--python-version',
         '3.12', '--platform', wheel.platform, '--dest', str(folder), pin],
        temporary=staging / 'tmp', log=staging / 'pip.log', doing=doing,
        tick=lambda: show(_arrived(staging)))
    return next(folder.glob('*.whl'))


def _arrived(staging: Path) -> int:
    sizes = [0]
    for folder, _, names in os.walk(staging):
        for name in names:
            try:
                sizes.append(os.stat(os.path.join(folder, name)).st_size)
            except FileNotFoundError:  # pip has just moved it
                continue
    return max(sizes)


def verify(file: Path, wheel: Wheel) -> None:
    """Raise unless a file is byte for byte the wheel that was tested."""
    with open(file, 'rb') as stream:
        found = hashlib.file_digest(stream, 'sha256').hexdigest()
    if found != wheel.sha256:
        raise Failure(
            f'the checksum of {file.name} is wrong: expected sha256 {wheel.sha256}, found '
            f'{found}. The file has been removed and nothing of it was used. Run the '
            'same command again; if it repeats, the package index or a proxy in between delivers '
            'another file: check the index settings of pip.')
