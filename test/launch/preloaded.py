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

"""Libraries that are loaded before the middleware, and take its place in some functions."""

from __future__ import annotations

from pathlib import Path
import shutil
import subprocess

import pytest

COMPILER = shutil.which('gcc') or shutil.which('cc') or shutil.which('clang')


def build(folder: Path, source: str) -> Path:
    """
    Return a library for LD_PRELOAD; where there is no compiler, the test is skipped.

    :param folder: where to.
    :param source: in C.
    """
    if COMPILER is None:
        pytest.skip('this machine has no C compiler')
    code, library = folder / 'preloaded.c', folder / 'libpreloaded.so'
    code.write_text(source)
    subprocess.run([COMPILER, '-shared', '-fPIC', '-Wall', '-Werror', '-o', library, code,
                    '-ldl'], check=True)
    return library
