# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The generated package is one that colcon builds and a controller manager loads."""

from __future__ import annotations

import json
from pathlib import Path
import re
from xml.etree import ElementTree

from colcon_rig import colcon_build, compile_commands, why_no_colcon
import pytest
from rbd_ros.command_line.c_controller import controller_settings
from rbd_ros.command_line.ros2_control.package import (
    PLUGIN, plugin_package, ros2_control_package)
from rbd_ros.control.supervisor.states import StateCode
from ros2_control_rig import (
    Arm, installed, reason_to_skip, run, watch, WRAP, written_to)

pytestmark = [pytest.mark.slow, pytest.mark.sampled('simulations', 1, pool='plugins')]

ROBOT, PACKAGE = 'swivel', 'swivel_rbd_robot'
#: One joint about the vertical: quick to compile, and without motors it stays where it is.
URDF = """\
<robot name="swivel"><link name="base"/>
<joint name="turn" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/>
<limit lower="-3" upper="3" effort="10" velocity="2"/></joint>
<link name="arm"><inertial><origin xyz="0.2 0 0"/><mass value="2"/>
<inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial></link></robot>"""
ARM = Arm(URDF, ['turn'], [0.3], 'arm', [0.1])
PARAMETERS = {'joints': ['turn'], 'task.frame': 'arm', 'minimum_rate': 0.0, 'state_timeout': 0.3,
              'driver_adds': 'none', 'release_torque': 'zero', 'nominal_rate': 1000.0}


@pytest.fixture(scope='module')
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return the files of a package by name."""
    file = tmp_path_factory.mktemp('parameters') / 'swivel.yaml'
    file.write_text(json.dumps({'/controller': {'ros__parameters': PARAMETERS}}))
    return ros2_control_package(controller_settings(URDF, str(file), lambda _: None), ROBOT)


def test_every_header_has_its_package() -> None:
    """The manifest and the CMake file name exactly the packages whose headers are included."""
    files = plugin_package()
    included = {path.split('/')[0] for name, text in files.items() if name.endswith('pp')
                for path in re.findall(r'#include "(\w+/.*)"', text)} - {PLUGIN}
    manifest = ElementTree.fromstring(files['package.xml'])
    cmake = files['CMakeLists.txt']
    assert {each.text for each in manifest.findall('depend')} == included
    assert set(re.findall(r'find_package\((\w+)', cmake)) == {
        'ament_cmake', 'ament_cmake_gtest', *included}
    listed = re.search(r'ament_target_dependencies\(\w+ PUBLIC([^)]*)\)', cmake)
    assert listed is not None
    assert set(listed[1].split()) == included


@pytest.mark.skipif(bool(reason_to_skip()), reason=reason_to_skip() or 'none')
@pytest.mark.skipif(bool(why_no_colcon()), reason=why_no_colcon() or 'none')
def test_colcon_builds_what_the_manager_loads(files: dict[str, str], tmp_path: Path) -> None:
    """``colcon build`` makes a plugin, and a library with optimised C; the manager runs them."""
    written_to(tmp_path / 'source', files)
    watched = watch(tmp_path, tmp_path / 'source' / PACKAGE / 'src', ROBOT)
    place = colcon_build(
        tmp_path / 'source', tmp_path, f'-DCMAKE_SHARED_LINKER_FLAGS={WRAP}{ROBOT}_step',
        f'-DCMAKE_C_STANDARD_LIBRARIES={watched}')  # the plugin has none of C alone
    assert (place / 'share' / PACKAGE / 'config' / 'controllers.yaml').is_file()
    commands = compile_commands(tmp_path, PACKAGE)
    assert set(commands) == {Path(name).name for name in files if name.endswith('.c')}
    for name in commands:
        words = commands[name].split()
        levels = [word for word in words if word.startswith('-O')]
        assert levels[-1] == '-O2'  # the last one counts
        assert '-ffp-contract=off' in words
        assert '-ffast-math' not in words
    # the manager knows the package by its description alone, which colcon has installed
    program = installed((place,), ROBOT)
    ran = run(program, ARM, tmp_path / 'run', [
        '+100 load rbd_controller', '+100 switch +rbd_controller',
        f'+0 until {StateCode.RUNNING.value} 6000', '+200 see'], cycles=0, mock=True,
        parameters={'mode': 'gravity_compensation'})
    assert ran.answers() == ['ok'] * 4, ran.output[-4000:]
    assert ran.states() == ['inactive', 'probing', 'ramping in', 'running']
    assert ran.steps.stat().st_size > 0
