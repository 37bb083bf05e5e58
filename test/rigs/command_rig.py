# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The command ``rbd`` in this process, and a robot small enough to know everything about."""

from __future__ import annotations

import json

from linted import ROOT
import pytest

pytest.importorskip('typer', reason='typer is not installed: use ./run')
from rbd_ros.command_line.app import app  # noqa: I100
from typer.testing import CliRunner

ARM = ROOT / 'urdf' / 'seven_joint_arm.urdf'
#: Two links in a plane, of 0.5 m and 0.3 m; the elbow cannot be stretched.
PLANAR = """<robot name="planar">
  <link name="base"/>
  <link name="upper"><inertial><origin xyz="0.25 0 0"/><mass value="2"/>
    <inertia ixx="0.01" iyy="0.05" izz="0.05" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="lower"><inertial><origin xyz="0.15 0 0"/><mass value="1"/>
    <inertia ixx="0.005" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="tip"/>
  <joint name="shoulder" type="continuous"><parent link="base"/><child link="upper"/>
    <axis xyz="0 1 0"/><limit effort="50" velocity="3"/></joint>
  <joint name="elbow" type="revolute"><parent link="upper"/><child link="lower"/>
    <origin xyz="0.5 0 0"/><axis xyz="0 1 0"/>
    <limit lower="1" upper="2" effort="20" velocity="3"/></joint>
  <joint name="end" type="fixed"><parent link="lower"/><child link="tip"/>
    <origin xyz="0.3 0 0"/></joint>
</robot>
"""


def rbd(*words: object, code: int | None = 0, stdin: str | None = None) -> tuple[str, str]:
    """Run a command in this process and return what it wrote to both outputs; None: any code."""
    done = CliRunner().invoke(app, [str(word) for word in words], input=stdin)
    assert done.exit_code == code or (code is None and done.exit_code in (0, 1)), (
        done.output + repr(done.exception))
    return done.stdout, done.stderr


def data(*words: object, code: int | None = 0, stdin: str | None = None) -> dict:
    """Run a command with ``--json`` and return what it says."""
    return json.loads(rbd(*words, '--json', code=code, stdin=stdin)[0])
