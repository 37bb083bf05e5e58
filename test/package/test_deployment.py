# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Container, service and metadata say what the program really needs and does."""

from __future__ import annotations

import ast
import configparser
import json
from pathlib import Path
import re
import shutil
import subprocess
from typing import Any
from xml.etree import ElementTree

from catkin_pkg.changelog import get_changelog_from_path
from catkin_pkg.package import parse_package
from linted import ROOT
import pytest
from rbd_env import packages, release
from rbd_ros.control.parameters.table import PARAMETERS
from rbd_ros.machine.rights import HIGHEST
from rbd_ros.version import VERSION
import yaml

DEPLOY = ROOT / 'deploy'
#: s that launch waits before SIGTERM and again before SIGKILL
LAUNCH_WAITS = 5.0 + 5.0
#: Keys of rosdep, and packages of ROS 2 Jazzy: seen in ros/rosdistro, state of 2026-08-22.
VERIFIED = {
    'python3-hypothesis', 'python3-lxml', 'python3-numpy', 'python3-pytest', 'python3-rich',
    'python3-scipy', 'python3-typer', 'python3-yaml',
    'action_msgs', 'ament_index_python', 'builtin_interfaces', 'control_msgs',
    'diagnostic_msgs', 'geometry_msgs', 'launch', 'launch_ros', 'launch_testing',
    'launch_testing_ros', 'lifecycle_msgs', 'moveit_msgs', 'nav_msgs', 'rcl_interfaces', 'rclpy',
    'ros2launch', 'rosgraph_msgs', 'sensor_msgs', 'shape_msgs', 'std_msgs', 'std_srvs', 'tf2_msgs',
    'tf2_ros_py', 'trajectory_msgs', 'visualization_msgs', 'xacro'}


@pytest.fixture(scope='module')
def unit() -> dict[str, str]:
    """Return the settings of the service."""
    parser = configparser.ConfigParser(strict=True, interpolation=None)
    parser.optionxform = str
    text = (DEPLOY / 'rbd-controller.service').read_text().replace('\\\n', ' ')
    parser.read_string(text)
    return dict(parser['Service'])


@pytest.fixture(scope='module')
def service() -> dict[str, Any]:
    """Return the settings of the container."""
    return yaml.safe_load((DEPLOY / 'compose.yaml').read_text())['services']['controller']


@pytest.fixture(scope='module')
def image() -> list[tuple[str, str]]:
    """Return the instructions of the image."""
    text = (DEPLOY / 'Dockerfile').read_text()
    text = '\n'.join(line for line in text.splitlines() if not line.startswith('#'))
    lines = [line for line in text.replace('\\\n', ' ').splitlines() if line.strip()]
    return [(word, rest.strip()) for word, _, rest in (line.partition(' ') for line in lines)]


def longest_stop() -> float:
    """Return how long the controller may take to brake and to ramp down, by its parameters."""
    return PARAMETERS['brake_time'].upper + PARAMETERS['release_time'].upper


def test_everybody_waits_long_enough(unit: dict[str, str], service: dict[str, Any]) -> None:
    """Brake and ramp fit into what launch waits for, and that into what the systems wait for."""
    assert longest_stop() < LAUNCH_WAITS / 2
    assert float(unit['TimeoutStopSec']) > LAUNCH_WAITS
    assert float(service['stop_grace_period'].removesuffix('s')) > LAUNCH_WAITS


def test_the_signal_is_that_of_ctrl_c(
    unit: dict[str, str], service: dict[str, Any], image: list[tuple[str, str]],
) -> None:
    """SIGINT to the first process, everywhere."""
    assert unit['KillSignal'] == service['stop_signal'] == dict(image)['STOPSIGNAL'] == 'SIGINT'
    assert unit['KillMode'] == 'mixed'
    for word in ('ENTRYPOINT', 'CMD'):  # in the list form no shell stands in between
        assert all(isinstance(part, str) for part in json.loads(dict(image)[word]))


def test_nothing_comes_back_by_itself(unit: dict[str, str], service: dict[str, Any]) -> None:
    """A robot does not begin to move because a process was started again."""
    assert unit['Restart'] == service['restart'] == 'no'


def test_rights_are_those_that_the_parameters_ask_for(
    unit: dict[str, str], service: dict[str, Any],
) -> None:
    """Priority and locked memory are allowed, by a user without other rights."""
    assert int(unit['LimitRTPRIO']) == service['ulimits']['rtprio'] == HIGHEST
    assert unit['LimitMEMLOCK'] == 'infinity' and service['ulimits']['memlock'] == -1
    assert unit['User'] != 'root'


def test_image(image: list[tuple[str, str]]) -> None:
    """It runs as a user, leaves no lists of apt behind, and its base may be named by a digest."""
    words = [word for word, _ in image]
    assert image[0][0] == 'ARG' and image[1] == ('FROM', f'${{{image[0][1].partition("=")[0]}}}')
    assert set(words[1:]) <= {
        'FROM', 'RUN', 'USER', 'WORKDIR', 'COPY', 'STOPSIGNAL', 'ENTRYPOINT', 'CMD'}
    assert dict(image)['USER'] == 'ubuntu'
    for word, rest in image:
        if word == 'RUN' and 'apt-get update' in rest:
            assert rest.endswith('rm -rf /var/lib/apt/lists/*')
            assert '--no-install-recommends' in rest


def test_commands_start_what_there_is(
    unit: dict[str, str], service: dict[str, Any], image: list[tuple[str, str]],
) -> None:
    """Launch file and arguments exist."""
    tree = ast.parse((ROOT / 'launch' / 'controller.launch.py').read_text())
    declared = {node.args[0].value for node in ast.walk(tree) if isinstance(node, ast.Call)
                and ast.unparse(node.func) == 'DeclareLaunchArgument'}
    commands = [unit['ExecStart'].split()[1:], service['command'], json.loads(dict(image)['CMD'])]
    for command in commands:
        assert command[:4] == ['ros2', 'launch', 'rbd_ros', 'controller.launch.py']
        assert {word.partition(':=')[0] for word in command[4:]} <= declared


def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    """Its own checker has nothing against it but for the paths, which are examples."""
    program = shutil.which('systemd-analyze')
    if program is None:
        pytest.skip('this machine has no systemd-analyze')
    text = (DEPLOY / 'rbd-controller.service').read_text()
    copy = tmp_path / 'rbd-controller.service'
    copy.write_text(re.sub(r'/opt/rbd_ros/run', '/bin/true', text))
    done = subprocess.run([program, 'verify', str(copy)], capture_output=True, text=True,
                          check=False)
    assert 'rbd-controller.service' not in done.stderr, done.stderr


def test_every_dependency_has_a_key_of_rosdep() -> None:
    """A new one is looked up in ros/rosdistro first, then named here."""
    tree = ElementTree.parse(ROOT / 'package.xml')
    named = {node.text for node in tree.iter() if node.tag.endswith('depend')}
    assert named <= VERIFIED, named - VERIFIED


def test_package_follows_the_rules_of_its_format() -> None:
    """catkin_pkg has no warning, and bloom will find the changelog."""
    warnings: list[str] = []
    package = parse_package(str(ROOT), warnings=warnings)
    package.validate(warnings=warnings)
    assert not warnings and package.package_format == 3
    changelog = get_changelog_from_path(str(ROOT), package.name)
    assert changelog is not None
    assert 'Forthcoming' in (ROOT / 'CHANGELOG.rst').read_text()


def test_one_version_everywhere() -> None:
    """The package, package.xml, setup.py and CITATION.cff agree."""
    assert parse_package(str(ROOT)).version == VERSION
    assert f"version='{VERSION}'" in (ROOT / 'setup.py').read_text()
    assert yaml.safe_load((ROOT / 'CITATION.cff').read_text())['version'] == VERSION


def test_what_a_wheel_must_and_must_not_hold() -> None:
    """Each thing that is missing or foreign is named."""
    whole = [f'rbd_ros-0.1.0.data/data/{name}' for name in release.CARRIED]
    assert not list(release.faults(whole))
    assert list(release.faults([*whole, 'test/test_x.py'])) == [
        'test/test_x.py does not belong into it']
    assert list(release.faults(whole[1:])) == [f'{release.CARRIED[0]} is missing']


def test_program_of_the_readme_is_found() -> None:
    """It is what a release is tried with."""
    tree = ast.parse(release.quick_start(ROOT))
    assert 'rbd_ros' in {name.name for node in ast.walk(tree) if isinstance(node, ast.Import)
                         for name in node.names}


def test_requirements_of_release() -> None:
    """The environment of the checkers has exact versions and nothing else."""
    groups = packages.read_groups((ROOT / release.REQUIREMENTS).read_text())
    pins = dict(line.split('==') for line in groups.pop('release'))
    assert not groups and {'build', 'twine', 'check-wheel-contents', 'pyroma'} <= set(pins)


def test_description_of_the_index_has_no_dead_links() -> None:
    """Links and pictures of the checkout are left out of it, addresses stay."""
    words = ast.parse((ROOT / 'setup.py').read_text())
    function = next(node for node in words.body if isinstance(node, ast.FunctionDef))
    names: dict[str, Any] = {'Path': Path, 're': re, '__file__': str(ROOT / 'setup.py')}
    exec(compile(ast.Module([function], []), 'setup.py', 'exec'), names)
    text = names['readme']()
    assert 'Quick start' in text and 'Safety' in text
    assert not re.findall(r'\]\((?!https?:)', text)
