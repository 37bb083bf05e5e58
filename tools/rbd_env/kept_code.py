# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
What tests have compiled: kernels in the user's cache, and C code below the state folder.

Each is kept under the digest of all that it depends on, for the next test and the next run.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from rbd_env.layout import made_folder, user_cache

VARIABLE = 'RBD_ROS_CACHE'


class Kept(NamedTuple):
    """How many of each kind there are."""

    kernels: int
    builds: int

    def told(self, before: Kept) -> str:
        """
        Return whether a run had to compile everything, and how much it compiled.

        :param before: what there was when it began.
        """
        made = Kept(*(max(0, now - then) for now, then in zip(self, before, strict=True)))
        return f'{before.text() if any(before) else "none"} from before; {made.text()} made'

    def text(self) -> str:
        """Return the numbers in words."""
        return f'{self.kernels} kernels and {self.builds} builds in C'


def count(root: Path, environ: Mapping[str, str]) -> Kept:
    """
    Return how much is kept.

    :param root: the checkout.
    :param environ: variables of the tests.
    """
    given = environ.get(VARIABLE)
    kernels = Path(given).expanduser() / 'rbd_ros' if given else user_cache(dict(environ))
    return Kept(sum(1 for _ in kernels.glob('*.rbd')),
                sum(1 for _ in (made_folder(root, environ) / 'made').glob('*-*/')))
