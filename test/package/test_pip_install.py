# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
``pip install .`` gives the library and the command ``rbd``, without ROS.

The environment is a real one with nothing but what the package says it needs, which pip checks:
packages of this environment, linked there, so that the test needs no network and copies nothing.
What builds the package is packed again as a wheel, for pip builds it in isolation.
"""

from __future__ import annotations

from importlib import metadata
import json
import os
from pathlib import Path
import re
import shutil
import subprocess
import sys
import zipfile

from linted import ROOT
import pytest
from rbd_env.pace import patient

pytestmark = pytest.mark.slow

#: What pip sees of the checkout.
SOURCES = ('rbd_ros', 'scripts', 'launch', 'config', 'urdf', 'resource', 'package.xml', 'setup.py',
           'setup.cfg', 'pyproject.toml')
PROGRAM = """
import importlib.util, numpy as np, rbd_ros
assert importlib.util.find_spec('rclpy') is None
robot = rbd_ros.Dynamics(rbd_ros.load_urdf('package://rbd_ros/urdf/seven_joint_arm.urdf'))
q, qd, qdd = np.full(7, -0.3), np.full(7, 0.2), np.ones(7)
tau = robot.inverse_dynamics(q, qd, qdd)
assert np.allclose(robot.forward_dynamics(q, qd, tau), qdd)
print(robot.kernel('gravity').backend, rbd_ros.__file__)
"""


def needed(names: list[str]) -> set[str]:
    """Return packages and all that they need in turn, without extras."""
    found: set[str] = set()
    while names:
        name = re.match(r'[\w.-]+', names.pop())[0].lower().replace('_', '-')
        if name not in found:
            found.add(name)
            names += [line for line in metadata.requires(name) or () if ';' not in line]
    return found


def link(name: str, folder: Path) -> None:
    """Put an installed package into another folder of packages."""
    package = metadata.distribution(name)
    if not package.files:
        pytest.skip(f'this machine has {name} not from pip: nobody knows its files')
    for top in {file.parts[0] for file in package.files} - {'..', '__pycache__'}:
        place = Path(str(package.locate_file(top)))
        if place.exists() and not (folder / top).exists():
            (folder / top).symlink_to(place)


def pack(name: str, folder: Path) -> None:
    """Write the wheel that an installed package came from, without its tests."""
    package = metadata.distribution(name)
    text, files = package.read_text('WHEEL'), package.files
    if text is None or not files:
        pytest.skip(f'this machine has {name} not from pip: no wheel can be made of it')
    tags = re.findall(r'^Tag: (\S+)', text, re.MULTILINE)
    tag = '-'.join('.'.join(dict.fromkeys(part)) for part in zip(*(t.split('-') for t in tags)))
    stem = f'{re.sub("[-.]+", "_", package.name)}-{package.version}-{tag}.whl'
    with zipfile.ZipFile(folder / stem, 'w') as wheel:
        for file in files:
            if not (str(file).startswith(('..', '/')) or {'__pycache__', 'tests'} & {*file.parts}):
                wheel.write(str(file.locate()), str(file))


def environment(home: Path) -> dict[str, str]:
    """Return an environment that knows neither ROS nor this checkout."""
    kept = {key: os.environ[key] for key in ('PATH', 'LANG', 'TMPDIR') if key in os.environ}
    path = [each for each in kept['PATH'].split(':') if str(ROOT) not in each]
    return {**kept, 'PATH': ':'.join(path), 'HOME': str(home), 'PIP_NO_INDEX': '1',
            'PIP_DISABLE_PIP_VERSION_CHECK': '1', 'PIP_NO_COMPILE': '1', 'PIP_NO_CACHE_DIR': '1'}


@pytest.fixture(scope='module')
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the package into an empty environment, and return where."""
    here = tmp_path_factory.mktemp('pip')
    for name in ('wheels', 'source', 'home'):
        (here / name).mkdir()
    for name in SOURCES:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, here / 'source' / name)
    named = subprocess.run(
        [sys.executable, 'setup.py', '--quiet', 'egg_info', '--egg-base', str(here)],
        cwd=here / 'source', capture_output=True, text=True, check=True)
    wanted = (here / 'rbd_ros.egg-info' / 'requires.txt').read_text().partition('[')[0].split()
    assert wanted, named.stdout
    pack('setuptools', here / 'wheels')
    base = getattr(sys, '_base_executable', sys.executable)
    subprocess.run([base, '-m', 'venv', '--without-pip', str(here / 'venv')], check=True,
                   env=environment(here / 'home'), capture_output=True, timeout=patient(120))
    (packages,) = (here / 'venv' / 'lib').glob('python*/site-packages')
    for name in needed(wanted):
        link(name, packages)
    done = subprocess.run(
        [sys.executable, '-m', 'pip', '--python', str(here / 'venv' / 'bin' / 'python'), 'install',
         '--find-links', str(here / 'wheels'), str(here / 'source')], capture_output=True,
        env=environment(here / 'home'), text=True, check=False, timeout=patient(250), cwd=here)
    assert done.returncode == 0, done.stdout + done.stderr
    return here


def run(folder: Path, *words: str) -> str:
    """Run a command of the environment and return what it prints."""
    done = subprocess.run([str(folder / 'venv' / 'bin' / words[0]), *words[1:]], text=True,
                          env=environment(folder / 'home'), capture_output=True, check=False,
                          timeout=patient(120), cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_library(folder: Path) -> None:
    """The library computes compiled, from its own files, and finds the robot it carries."""
    backend, place = run(folder, 'python', '-c', PROGRAM).split()
    assert backend == 'llvm' and place.startswith(str(folder / 'venv'))


def test_only_rbd_is_on_the_path(folder: Path) -> None:
    """The nodes need ROS; without it a shell must not find them, and ros2 run must."""
    assert not {'controller', 'simulator', 'dashboard', 'make_config', 'path_server', 'stand'} & {
        file.name for file in (folder / 'venv' / 'bin').iterdir()}
    nodes = folder / 'venv' / 'lib' / 'rbd_ros'
    assert {file.name for file in nodes.iterdir() if os.access(file, os.X_OK)} >= {
        'controller', 'simulator', 'dashboard', 'make_config', 'path_server', 'stand'}


def test_command(folder: Path) -> None:
    """The command is on the path, and every part that needs no extra works."""
    robot = 'package://rbd_ros/urdf/seven_joint_arm.urdf'
    assert json.loads(run(folder, 'rbd', 'info', robot, '--json'))['nv'] == 7
    assert 'torque_limits' in run(folder, 'rbd', 'config', robot)
    assert '0 failed' in run(folder, 'rbd', 'check', robot)
    assert json.loads(run(folder, 'rbd', 'learn', 'rnea', '--json'))['written']
    (folder / 'lesson.yaml').write_text('joints: [joint_1]\npoints:\n- positions: [0.5]\n')
    assert json.loads(run(folder, 'rbd', 'teach', 'edit', 'lesson.yaml', '--json'))['points']
