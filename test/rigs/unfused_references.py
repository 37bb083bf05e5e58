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

"""References of the old classes, computed as Python: every rounding is where the source has it."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from types import SimpleNamespace

import pytest
from rbd_ros import compiler
from rbd_ros.control.former.references import profiles


@contextmanager
def unfused() -> Iterator[None]:
    """
    Run the kernels of the references as Python.

    Machine code of kernels may fuse products into sums, as the processor can. A residue of 1e-100
    that is left of a velocity then decides on the side from which a joint leaves a limit.
    """
    kernels = (profiles.joint_kernel, profiles.polynomial_kernel, profiles.pose_kernel)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(profiles, 'compiler', SimpleNamespace(
            trace=compiler.trace, compile=partial(compiler.compile, backend='python')))
        for each in kernels:
            each.cache_clear()
        yield
    for each in kernels:
        each.cache_clear()
