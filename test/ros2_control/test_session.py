# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""One built plugin serves the libraries of all robots, and refuses those of another version."""

from __future__ import annotations

from dataclasses import replace
import hashlib
from pathlib import Path
import re
import subprocess

import pytest
from rbd_ros.command_line.ros2_control.package import PLUGIN, plugin_package
from rbd_ros.control.supervisor.states import StateCode
from ros2_control_rig import arm_of, compiled, linked_with, plugin, reason_to_skip, run

pytestmark = [pytest.mark.slow, pytest.mark.sampled('simulations', 1, pool='plugins')]
needs_ros = pytest.mark.skipif(bool(reason_to_skip()), reason=reason_to_skip() or 'none')

#: What the version stands for: code of the interface, without comments and spaces.
VERSION, MEANS = 4, '6358823631089a34'
LOAD = '+10 load rbd_controller'
#: A library with nothing but a version and a size.
OTHER = """
#include "session.h"
static const rbd_robot table = {.version = %s, .size = %s};
const rbd_robot *rbd_robot_library(void) {return &table;}
"""


def test_a_changed_interface_has_another_version() -> None:
    """Whoever changes what plugin and libraries have in common gives it the next number."""
    headers = [plugin_package()[f'include/{PLUGIN}/{name}'] for name in ('session.h', 'codes.h')]
    code = ''.join(re.sub(r'//.*|/\*.*?\*/|\s', '', text) for text in headers)
    assert f'#defineRBD_SESSION_VERSION{VERSION}' in code
    assert hashlib.sha256(code.encode()).hexdigest()[:16] == MEANS, (
        'give the interface the next version, in session.h and here')


@needs_ros
@pytest.mark.parametrize('version, size, said', [
    ('RBD_SESSION_VERSION + 6', 'sizeof(rbd_robot)',
     f'has version {VERSION + 6} .* this controller {VERSION} '),
    ('RBD_SESSION_VERSION', '16',
     rf'\(16 bytes\) of the interface, this controller {VERSION} \(\d+ b')])
def test_another_version_is_refused(tmp_path: Path, version: str, size: str, said: str) -> None:
    """Both numbers are said, and nothing of the library is used."""
    source, library = tmp_path / 'other.c', tmp_path / 'libother.so'
    source.write_text(OTHER % (version, size))
    subprocess.run(['gcc', '-std=c99', '-shared', '-fPIC', source, '-o', library,
                    f'-I{plugin() / "source" / "include" / PLUGIN}'], check=True)
    ran = run(replace(compiled('panda'), library=str(library)), arm_of('panda'), tmp_path, [LOAD],
              cycles=0)
    assert ran.answers() == ['failed']
    assert re.search(f'robot_library: {library} {said}' if said.startswith('has') else said,
                     ran.output), ran.output[-2000:]


@needs_ros
@pytest.mark.parametrize('library, said', [
    ('', 'robot_library is not set'), ('libno_such.so', 'robot_library: libno_such.so: cannot'),
    ('libm.so.6', 'robot_library: libm.so.6 is no library of "rbd codegen')])
def test_what_is_no_robot_is_refused(tmp_path: Path, library: str, said: str) -> None:
    """A name that is missing or leads to something else is named."""
    ran = run(replace(compiled('panda'), library=library), arm_of('panda'), tmp_path, [LOAD],
              cycles=0)
    assert ran.answers() == ['failed'] and said in ran.output, ran.output[-2000:]


@needs_ros
def test_a_robot_that_is_linked_in(tmp_path: Path) -> None:
    """Without a name the library that the plugin is linked with is the robot."""
    ran = run(linked_with(compiled('panda')), arm_of('panda'), tmp_path, [
        '+100 load rbd_controller', '+100 switch +rbd_controller',
        f'+0 until {StateCode.RUNNING.value} 6000', '+100 see'], cycles=0)
    assert ran.answers() == ['ok'] * 4, ran.output[-4000:]
