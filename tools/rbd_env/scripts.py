# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

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
