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
Build a generated controller and run it in a real controller manager.

The headers of ROS come from a machine on which ROS is installed, or from an archive that the
environment variable ``RBD_ROS2_HEADERS`` names; the libraries are those of the ROS that ``./run``
uses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
import hashlib
import json
import os
from pathlib import Path
import re
import shutil
import subprocess
import tarfile
import tempfile
from xml.sax.saxutils import escape

from benchmark.mujoco_plant import Plant, PlantOptions
import mujoco
import numpy as np

HERE = Path(__file__).parent

#: pal_statistics of the archive is older than the library
_DEFINES = ('-DFMT_HEADER_ONLY', '-DREGISTER_ENTITY(...)=', '-DUNREGISTER_ENTITY(...)=')
_LIBRARIES = (
    'controller_manager controller_interface hardware_interface rclcpp_lifecycle rclcpp rcl '
    'rcutils rcpputils rmw rosidl_runtime_c rosidl_typesupport_cpp class_loader '
    'std_srvs__rosidl_typesupport_cpp std_msgs__rosidl_typesupport_cpp ament_index_cpp '
    'trajectory_msgs__rosidl_typesupport_cpp '
    'realtime_tools pal_statistics tracetools_status rcl_lifecycle pthread dl').split()
_PACKAGE_XML = ('<package format="3"><name>{}</name><version>0.0.0</version><description>for a '
                'test</description><maintainer email="nobody@example.com">nobody</maintainer>'
                '<license>Apache-2.0</license></package>')


@cache
def reason_to_skip() -> str:
    """Return why nothing can be built here; empty: it can."""
    if shutil.which('g++') is None or shutil.which('gcc') is None:
        return 'no C++ compiler (g++)'
    if prefix() is None:
        return 'no libcontroller_manager in the ROS of this environment'
    if not _installed_headers() and not Path(os.environ.get('RBD_ROS2_HEADERS', '')).is_file():
        return ('no headers of ros2_control: install ros-jazzy-ros2-control, or let '
                'RBD_ROS2_HEADERS name an archive of them')
    return ''


@cache
def prefix() -> Path | None:
    """Return where the libraries of ros2_control are."""
    for each in os.environ.get('AMENT_PREFIX_PATH', '').split(':'):
        if each and (Path(each) / 'lib' / 'libcontroller_manager.so').exists():
            return Path(each)
    return None


def _installed_headers() -> list[Path]:
    """Return the folders of headers of a machine with ROS."""
    root = prefix()
    if root is None or not (root / 'include' / 'controller_manager').is_dir():
        return []
    return [Path('/usr/include/eigen3'), *sorted((root / 'include').iterdir())]


@cache
def headers() -> list[Path]:
    """Return the folders of headers; an archive is unpacked once."""
    installed = _installed_headers()
    if installed:
        return installed
    archive = Path(os.environ['RBD_ROS2_HEADERS'])
    folder = Path(tempfile.gettempdir()) / (
        'rbd_ros2_headers_' + hashlib.sha256(archive.read_bytes()).hexdigest()[:16])
    if not folder.is_dir():
        with tempfile.TemporaryDirectory(dir=folder.parent) as new:
            with tarfile.open(archive) as file:
                file.extractall(new, filter='data')
            os.rename(new, folder)
            os.mkdir(new)  # what the context removes
    include = folder / 'ros2_headers' / 'include'
    return [include, include / 'eigen3']


def _compile(*words: object) -> None:
    command = [str(word) for word in words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f'{" ".join(command)}\n{done.stderr}'


@dataclass(frozen=True)
class Built:
    """A workspace with a controller, a simulated robot, and a manager that runs them."""

    folder: Path
    package: str
    prefix: str

    @property
    def environment(self) -> dict[str, str]:
        """Return the environment in which the manager finds its plugins."""
        root = prefix()
        return {**os.environ, 'AMENT_PREFIX_PATH': f'{self.folder}:{root}', 'LD_LIBRARY_PATH':
                f'{self.folder / "lib"}:{root / "lib"}'}


def build(source: Path, folder: Path, name: str) -> Built:
    """
    Compile a generated package.

    :param source: what ``rbd codegen --ros2-control`` wrote.
    :param folder: where to.
    :param name: prefix of its C code.
    """
    package, root = f'{name}_rbd_controller', prefix()
    lib, include = folder / 'lib', source / 'include'
    lib.mkdir(parents=True)
    system = [word for each in headers() for word in ('-isystem', each)]
    plus = ('g++', '-std=c++17', '-O1', '-Wall', '-Wextra', '-Werror', *_DEFINES, *system,
            f'-L{root / "lib"}', '-Wl,--allow-shlib-undefined')
    wheel = Path(mujoco.__file__).parent
    objects = [folder / f'{each}.o' for each in (name, f'{name}_kernels')]
    jobs = [('gcc', '-std=c99', '-O2', '-fPIC', '-ffp-contract=off', '-Werror',
             f'-I{include / package}', '-c', source / 'src' / f'{each.stem}.c', '-o', each)
            for each in objects]
    jobs.append((*plus, '-fPIC', f'-I{include}', f'-I{include / package}', '-c',
                 source / 'src' / 'controller.cpp', '-o', folder / 'controller.o'))
    jobs.append((*plus, '-fPIC', '-shared', '-isystem', wheel / 'include',
                 HERE / 'mujoco_system.cpp', '-o', lib / 'libmujoco_system.so',
                 '-lhardware_interface', next(wheel.glob('libmujoco.so*')),
                 f'-Wl,-rpath,{wheel}'))
    jobs.append((*plus, f'-I{include / package}', f'-DSTEP_HEADER="{name}.h"',
                 f'-DSTEP={name}_step', f'-DMEMORY={name}_memory', f'-DSTEP_NAME="{name}_step"',
                 '-c', HERE / 'manager.cpp', '-o', folder / 'manager.o'))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda job: _compile(*job), jobs))
    _compile('g++', '-shared', *objects, folder / 'controller.o', '-o',
             lib / f'lib{package}.so', f'-L{root / "lib"}', '-Wl,--allow-shlib-undefined',
             '-lcontroller_interface', '-lrclcpp')
    _compile('g++', '-rdynamic', folder / 'manager.o', '-o', folder / 'manager', f'-L{lib}',
             f'-L{root / "lib"}', '-Wl,--allow-shlib-undefined', '-Wl,--no-as-needed',
             f'-l{package}', *[f'-l{each}' for each in _LIBRARIES])
    _register(folder, 'mujoco_system', 'hardware_interface', (
        '<library path="mujoco_system"><class name="mujoco_system/MujocoSystem" '
        'type="mujoco_system::MujocoSystem" base_class_type="hardware_interface::SystemInterface"'
        '><description>MuJoCo</description></class></library>'))
    _register(folder, package, 'controller_interface',
              (source / f'{package}_plugins.xml').read_text())
    return Built(folder, package, name)


def _register(folder: Path, package: str, kind: str, plugins: str) -> None:
    """Let pluginlib find a library."""
    share = folder / 'share'
    index = share / 'ament_index' / 'resource_index'
    for place, text in (
            (share / package / 'plugins.xml', plugins),
            (share / package / 'package.xml', _PACKAGE_XML.format(package)),
            (index / 'packages' / package, ''),
            (index / f'{kind}__pluginlib__plugin' / package, f'share/{package}/plugins.xml')):
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)


@dataclass(frozen=True)
class Arm:
    """A robot of MuJoCo for the manager."""

    urdf: str
    joints: Sequence[str]
    start: Sequence[float]
    tip: str
    rotors: Sequence[float]

    def description(self, folder: Path, log: Path) -> str:
        """
        Return the description with its hardware.

        :param folder: gets the model of MuJoCo.
        :param log: gets positions, velocities and efforts.
        """
        options = PlantOptions(
            joints=self.joints, start=self.start, tip=self.tip, armature=self.rotors,
            damping=[0.5] * len(self.joints), friction=[0.3] * len(self.joints),
            brakes_hold=False)
        model = folder / 'robot.mjb'
        mujoco.mj_saveModel(Plant(self.urdf, options).model, str(model))
        joints = ''.join(
            f'<joint name="{escape(joint)}"><param name="start">{start}</param>'
            '<command_interface name="effort"/><state_interface name="position"/>'
            '<state_interface name="velocity"/><state_interface name="effort"/></joint>'
            for joint, start in zip(self.joints, self.start, strict=True))
        hardware = ('<ros2_control name="arm" type="system"><hardware><plugin>'
                    f'mujoco_system/MujocoSystem</plugin><param name="model">{model}</param>'
                    f'<param name="log">{log}</param></hardware>{joints}</ros2_control>')
        return self.urdf.replace('</robot>', f'{hardware}</robot>')


@dataclass(frozen=True)
class Run:
    """What happened in one run of the manager."""

    output: str
    motion: np.ndarray  # cycle, joint; position, velocity, effort
    steps: Path

    def answers(self) -> list[str]:
        """Return what the commands of the script were answered, in their order."""
        return [text for _, text in re.findall(r'^(\d+ \S+): (.*)$', self.output, re.MULTILINE)]

    def states(self) -> list[str]:
        """Return the states of the controller that were logged, in their order."""
        return re.findall(r'\[INFO\] .*\[rbd_controller\]: (.*)', self.output)


def run(built: Built, arm: Arm, folder: Path, script: Sequence[str], *, cycles: int,
        parameters: Mapping[str, object] | None = None, rate: int = 1000,
        controllers: Mapping[str, Mapping[str, object]] | None = None) -> Run:
    """
    Run the manager for some cycles.

    :param built: workspace.
    :param arm: robot.
    :param folder: for files.
    :param script: lines of commands, see manager.cpp.
    :param cycles: how many.
    :param parameters: of the controller.
    :param rate: Hz.
    :param controllers: others by name: their parameters, with ``type``.
    """
    folder.mkdir(parents=True, exist_ok=True)
    log, steps = folder / 'motion.bin', folder / 'steps.bin'
    (folder / 'robot.urdf').write_text(arm.description(folder, log))
    (folder / 'script').write_text('\n'.join(script) + '\n')
    others = dict(controllers or {})
    place = [str(folder / 'parameters.yaml')]
    types = {name: {'type': each['type'], 'params_file': place} for name, each in others.items()}
    own = {'type': f'{built.package}/Controller', 'params_file': place}
    manager = {'update_rate': rate, 'rbd_controller': own, **types}
    file = {'controller_manager': {'ros__parameters': manager},
            'rbd_controller': {'ros__parameters': dict(parameters or {'mode': 'hold'})}}
    for name, each in others.items():
        file[name] = {'ros__parameters': {k: v for k, v in each.items() if k != 'type'}}
    (folder / 'parameters.yaml').write_text(json.dumps(file))  # YAML without aliases
    done = subprocess.run(
        [built.folder / 'manager', folder / 'robot.urdf', folder / 'script', steps, str(rate),
         str(cycles), '--ros-args', '--params-file', folder / 'parameters.yaml'],
        env=built.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        timeout=60 + 4 * cycles / rate, check=False)
    assert done.returncode == 0, done.stdout[-4000:]
    motion = np.fromfile(log).reshape(-1, len(arm.joints), 3)
    return Run(done.stdout, motion, steps)
