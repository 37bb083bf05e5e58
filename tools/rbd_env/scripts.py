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

"""Scripts that start their interpreter wherever it lies."""

from __future__ import annotations

from pathlib import Path
import shlex

LONGEST_LINE = 127  # bytes behind #! that every Linux takes


def make_executable(script: Path, python: Path) -> None:
    """
    Let a script start its interpreter wherever that lies.

    setuptools quotes a path with a space behind ``#!``, which no system understands, and systems
    cut long ones. Then the first lines are both: a shell command, and a string for Python.

    :param script: made by setuptools.
    :param python: its interpreter.
    """
    line, _, rest = script.read_bytes().partition(b'\n')
    if not line.startswith(b'#!') or (b' ' not in bytes(python) and len(line) < LONGEST_LINE):
        return
    start = f"#!/bin/sh\n'''exec' {shlex.quote(str(python))} \"$0\" \"$@\"\n' '''\n"
    script.write_bytes(start.encode() + rest)
