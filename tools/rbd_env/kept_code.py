# Copyright 2026 the rbd_ros developers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

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
