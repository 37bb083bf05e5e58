# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Build the plugin and the library of a robot, and run them in a real controller manager.

``benchmark.headers`` says where the headers of ROS come from; the libraries are those of the ROS
that ``./run`` uses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cache, cached_property
import json
import os
from pathlib import Path
import re
import shutil
import subprocess
import tempfile
from xml.sax.saxutils import escape

from benchmark.headers import headers, prefix
from benchmark.mujoco_plant import Plant, PlantOptions
from benchmark.mujoco_robots import ROBOTS
from benchmark.robots import robot_file
from isolation import own_domain
import mujoco
import numpy as np
from once import once
from rbd_ros.command_line.c_controller import controller_settings, law_kernels
from rbd_ros.command_line.ros2_control.package import PLUGIN, plugin_package, robot_package
from rbd_ros.control.controller import Controller
from rbd_ros.control.interface.events import Event, Kind, Result
from rbd_ros.control.load.load import restart_load
from rbd_ros.control.parameters.settings import Settings
from rbd_ros.control.references.trajectory import Knots
from rbd_ros.control.step.state import Parameters
from rbd_ros.control.supervisor.states import SupervisorState as State

HERE = Path(__file__).parent

#: package whose headers and library say that ros2_control is there
_NEEDED = 'controller_manager'
#: pal_statistics of the archive is older than the library
_DEFINES = ('-DFMT_HEADER_ONLY', '-DREGISTER_ENTITY(...)=', '-DUNREGISTER_ENTITY(...)=')
_LIBRARIES = (
    'controller_manager controller_interface hardware_interface rclcpp_lifecycle rclcpp rcl '
    'rcutils rcpputils rmw rosidl_runtime_c rosidl_typesupport_cpp class_loader '
    'std_srvs__rosidl_typesupport_cpp std_msgs__rosidl_typesupport_cpp ament_index_cpp '
    'trajectory_msgs__rosidl_typesupport_cpp control_msgs__rosidl_typesupport_cpp '
    'geometry_msgs__rosidl_typesupport_cpp sensor_msgs__rosidl_typesupport_cpp rclcpp_action '
    'rcl_action libstatistics_collector statistics_msgs__rosidl_typesupport_cpp '
    'action_msgs__rosidl_typesupport_cpp realtime_tools pal_statistics tracetools_status '
    'rcl_lifecycle pthread dl').split()
_PLAIN = ('gcc', '-std=c99', '-O1', '-fPIC', '-Wall', '-Wextra', '-Werror')
#: before the name of a step whose calls are watched
WRAP = '-Wl,--wrap='
_PACKAGE_XML = ('<package format="3"><name>{}</name><version>0.0.0</version><description>for a '
                'test</description><maintainer email="nobody@example.com">nobody</maintainer>'
                '<license>Apache-2.0</license></package>')


@cache
def reason_to_skip() -> str:
    """Return why nothing can be built here; empty: it can."""
    if shutil.which('g++') is None or shutil.which('gcc') is None:
        return 'this machine has no C++ compiler (g++)'
    if prefix(_NEEDED) is None:
        return 'this machine has no libcontroller_manager in its ROS'
    if not headers(_NEEDED):
        return ('this machine has no headers of ros2_control: install ros-jazzy-ros2-control, or '
                'let RBD_ROS2_HEADERS name an archive of them')
    return ''


def _compile(*words: object) -> None:
    command = [str(word) for word in words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f'{" ".join(command)}\n{done.stderr}'


@dataclass(frozen=True)
class Built:
    """
    The controller of a robot and a manager that runs it.

    :param manager: the program.
    :param library: of the robot.
    :param places: where plugins and libraries are found.
    """

    manager: Path
    library: str
    places: tuple[Path, ...]

    @property
    def environment(self) -> dict[str, str]:
        """Return the environment in which the manager finds its plugins."""
        return {**os.environ, 'AMENT_PREFIX_PATH': ':'.join(map(str, self.places)),
                'LD_LIBRARY_PATH': ':'.join(str(place / 'lib') for place in self.places)}


def _plus() -> list[object]:
    """Return the words of the command that compiles C++ of ROS."""
    system = [word for each in headers(_NEEDED) for word in ('-isystem', each)]
    return ['g++', '-std=c++17', '-O1', '-fPIC', '-Wall', '-Wextra', '-Werror', *_DEFINES, *system]


@cache
def _with_headers() -> list[object]:
    """Return those words with all headers of ROS that are needed: to read them takes longest."""
    sources = [*[each.read_text() for each in HERE.glob('*.[ch]pp')],
               *[text for name, text in plugin_package().items() if name.endswith('pp')]]
    found = {name for text in sources for name in re.findall(
        rf'^#include "((?!{PLUGIN}/)[a-z_]+/[a-z_/]+\.hpp)"', text, re.MULTILINE)}

    def make(folder: Path) -> None:
        (folder / 'ros.hpp').write_text(''.join(f'#include "{each}"\n' for each in sorted(found)))
        _compile(*_plus(), '-x', 'c++-header', folder / 'ros.hpp')

    return [*_plus(), '-include', _once('precompiled', sorted(found), make) / 'ros.hpp']


def _linked() -> tuple[str, ...]:
    root = prefix(_NEEDED)
    assert root is not None
    return f'-L{root / "lib"}', '-Wl,--allow-shlib-undefined'


def _once(name: str, key: object, make: Callable[[Path], None]) -> Path:
    """
    Return a folder with what was made, by this process or by one before it.

    :param name: of it.
    :param key: all that it depends on, besides this file and what is installed.
    :param make: fills a folder.
    """
    return once(f'ros2_{name}', [key, Path(__file__).read_text(), prefix(_NEEDED), _plus(),
                                 mujoco.__version__, mujoco.__file__], make)


def _compile_all(jobs: Iterable[Sequence[object]]) -> None:
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda job: _compile(*job), jobs))


@cache
def _tools() -> Path:
    """Return the folder with what serves every robot: the manager and the hardware."""
    wheel = Path(mujoco.__file__).parent

    def make(folder: Path) -> None:
        (folder / 'lib').mkdir()
        _compile_all([
            (*_with_headers(), '-c', HERE / 'manager.cpp', '-o', folder / 'manager.o'),
            (*_with_headers(), '-shared', '-isystem', wheel / 'include',
             HERE / 'mujoco_system.cpp', '-o', folder / 'lib' / 'libmujoco_system.so', *_linked(),
             '-lhardware_interface', next(wheel.glob('libmujoco.so*')), f'-Wl,-rpath,{wheel}')])
        _compile('g++', '-rdynamic', folder / 'manager.o', '-o', folder / 'manager', *_linked(),
                 '-Wl,--no-as-needed', *[f'-l{each}' for each in _LIBRARIES])
        _register(folder, 'mujoco_system', 'hardware_interface', (
            '<library path="mujoco_system"><class name="mujoco_system/MujocoSystem" type='
            '"mujoco_system::MujocoSystem" base_class_type="hardware_interface::SystemInterface">'
            '<description>MuJoCo</description></class></library>'))

    return _once('tools', [(HERE / each).read_text() for each in (
        'manager.cpp', 'messages.hpp', 'step_watch.h', 'mujoco_system.cpp')], make)


def written_to(folder: Path, files: Mapping[str, str]) -> None:
    """Write files, by their names in a folder."""
    for name, content in files.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(content)


@cache
def plugin() -> Path:
    """Return the folder with the plugin that serves every robot."""
    files = plugin_package()

    def make(folder: Path) -> None:
        source = folder / 'source'
        written_to(source, files)
        (folder / 'lib').mkdir()
        sources = sorted(source.glob('src/*.cpp'))
        objects = [folder / f'{each.stem}.o' for each in sources]
        _compile_all([(*_with_headers(), '-Wconversion', f'-I{source / "include"}', '-c', each,
                       '-o', made) for each, made in zip(sources, objects, strict=True)])
        _compile('g++', '-shared', *objects, '-o', folder / 'lib' / f'lib{PLUGIN}.so', *_linked(),
                 '-lcontroller_interface', '-lrclcpp', '-lrclcpp_action', '-ldl')
        _register(folder, PLUGIN, 'controller_interface', files[f'{PLUGIN}_plugins.xml'])

    return _once('plugin', sorted(files.items()), make)


def linked_with(program: Built) -> Built:
    """Return a program with a plugin into which the robot is linked."""
    def make(folder: Path) -> None:
        (folder / 'lib').mkdir()
        _compile('g++', '-shared', *sorted(plugin().glob('*.o')), '-o',
                 folder / 'lib' / f'lib{PLUGIN}.so', f'-L{program.places[0] / "lib"}', *_linked(),
                 '-Wl,--no-as-needed', f'-l:{program.library}', '-lcontroller_interface',
                 '-lrclcpp', '-lrclcpp_action', '-ldl')
        _register(folder, PLUGIN, 'controller_interface',
                  plugin_package()[f'{PLUGIN}_plugins.xml'])

    made = _once('linked', [*map(str, program.places), program.library], make)
    return replace(program, library='', places=(program.places[0], made, *program.places[2:]))


def library(files: Mapping[str, str], name: str) -> Path:
    """
    Return the folder with the compiled library of a robot.

    :param files: of its package, by name.
    :param name: prefix of its C code.
    """
    def make(folder: Path) -> None:
        source = folder / 'source' / 'src'
        written_to(folder / 'source', files)
        (folder / 'lib').mkdir()
        sources = sorted(source.glob('*.c'))
        objects = [folder / f'{each.stem}.o' for each in sources]
        _compile_all([(*_PLAIN, '-Wconversion', '-ffp-contract=off', '-c', each, '-o', made)
                      for each, made in zip(sources, objects, strict=True)])
        _compile('gcc', '-shared', *objects, watch(folder, source, name), f'{WRAP}{name}_step',
                 '-o', folder / 'lib' / f'lib{name}_rbd_robot.so', '-lm')

    return _once(name, [*sorted(files.items()), (HERE / 'step_watch.c').read_text()], make)


def watch(folder: Path, source: Path, name: str) -> Path:
    """
    Return the object file through which calls of a step come, if it is linked with ``WRAP``.

    :param folder: where it is made.
    :param source: folder with the C code of the robot.
    :param name: prefix of it.
    """
    made = folder / 'step_watch.o'
    _compile(*_PLAIN, f'-I{source}', f'-DSTEP_HEADER="{name}.h"', f'-DREAL=__real_{name}_step',
             f'-DWRAP=__wrap_{name}_step', f'-DMEMORY={name}_memory', '-c',
             HERE / 'step_watch.c', '-o', made)
    return made


def built(files: Mapping[str, str], name: str) -> Built:
    """
    Return the controller of a robot, compiled, with a manager that runs it.

    :param files: of the package of the robot, by name.
    :param name: prefix of its C code.
    """
    return installed((library(files, name), plugin()), name)


def installed(places: tuple[Path, ...], name: str) -> Built:
    """
    Return a manager that runs what is installed.

    :param places: of the plugin and the library of the robot.
    :param name: prefix of its C code.
    """
    root = prefix(_NEEDED)
    assert root is not None
    return Built(_tools() / 'manager', f'lib{name}_rbd_robot.so', (*places, _tools(), root))


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
    """A robot for the manager, with hardware that simulates it."""

    urdf: str
    joints: Sequence[str]
    start: Sequence[float]
    tip: str
    rotors: Sequence[float]
    friction: float = 0.3  # N.m
    plate_below: float | None = None  # m from the tip; none: there is no plate
    plate_friction: float = 0.3
    payload: tuple[float, Sequence[float]] = (0.0, (0.0, 0.0, 0.0))  # kg, and m from the tip
    gravity: Sequence[float] = (0.0, 0.0, -9.81)  # m/s^2, in the base
    plate_stiffness: float = 0.0  # N/m; 0: the plate is fixed
    sensor: str = ''  # name of a force-torque sensor that carries the payload
    sensor_parameters: tuple[float, float] = (0.02, 0.0)  # N and N.m of noise and of bias
    sensor_axes: Sequence[str] = ('force.x', 'force.y', 'force.z', 'torque.x', 'torque.y',
                                  'torque.z')

    def description(self, folder: Path) -> str:
        """
        Return the description with its hardware.

        :param folder: gets the model of MuJoCo, and positions, velocities and efforts.
        """
        size = len(self.joints)
        options = PlantOptions(
            joints=self.joints, start=self.start, tip=self.tip, armature=self.rotors,
            damping=[0.5] * size, friction=[self.friction] * size, brakes_hold=False,
            plate_below=self.plate_below, plate_friction=self.plate_friction,
            payload_mass=self.payload[0], payload_com=self.payload[1], gravity=self.gravity,
            plate_stiffness=self.plate_stiffness, plate_damping=20.0, sensor=bool(self.sensor))
        model = folder / 'robot.mjb'
        mujoco.mj_saveModel(Plant(self.urdf, options).model, str(model))
        joints = self._joints('<param name="start">{}</param>', '') + self._sensor()
        return self._with(
            f'<plugin>mujoco_system/MujocoSystem</plugin><param name="model">{model}</param>'
            f'<param name="log">{folder / "motion"}</param>', joints)

    def at_rest(self) -> str:
        """Return the description with hardware that stays where it is: mock_components."""
        joints = self._joints('', '<param name="initial_value">{}</param>')
        return self._with('<plugin>mock_components/GenericSystem</plugin>', joints)

    def _joints(self, parameter: str, initial: str) -> str:
        return ''.join(
            f'<joint name="{escape(joint)}">{parameter.format(start)}'
            '<command_interface name="effort"/>'
            f'<state_interface name="position">{initial.format(start)}</state_interface>'
            f'<state_interface name="velocity">{initial.format(0.0)}</state_interface>'
            f'<state_interface name="effort">{initial.format(0.0)}</state_interface></joint>'
            for joint, start in zip(self.joints, self.start, strict=True))

    def _sensor(self) -> str:
        parameters = zip(('noise', 'bias'), self.sensor_parameters, strict=True)
        return f'<sensor name="{self.sensor}">' + ''.join(
            f'<state_interface name="{each}"/>' for each in self.sensor_axes) + ''.join(
            f'<param name="{name}">{value}</param>' for name, value in parameters
            ) + '</sensor>' if self.sensor else ''

    def _with(self, hardware: str, joints: str) -> str:
        return self.urdf.replace('</robot>', (
            f'<ros2_control name="arm" type="system"><hardware>{hardware}</hardware>{joints}'
            '</ros2_control></robot>'))


@dataclass(frozen=True)
class Run:
    """What happened in one run of the manager."""

    output: str
    folder: Path
    joints: int

    @property
    def steps(self) -> Path:
        """Return the file of what went into each step and came out."""
        return self.folder / 'steps'

    @cached_property
    def motion(self) -> np.ndarray:
        """Return position, velocity, commanded effort by cycle and joint."""
        return self._log[:, :-1]

    @cached_property
    def force(self) -> np.ndarray:
        """Return the force upon the plate by cycle, N."""
        return self._log[:, -1]

    @cached_property
    def _log(self) -> np.ndarray:
        return np.fromfile(self.folder / 'motion').reshape(-1, self.joints + 1, 3)

    @cached_property
    def trace(self) -> np.ndarray:
        """Return state of the supervisor, place of the mode, and activity by cycle."""
        return np.fromfile(self.folder / 'trace').reshape(-1, 3)

    @cached_property
    def times(self) -> np.ndarray:
        """Return by cycle how long the update took, how late it began, and periods missed."""
        return np.fromfile(self.folder / 'times').reshape(-1, 3)

    def answers(self) -> list[str]:
        """Return what the commands of the script were answered, in their order."""
        return [text for _, _, text in self._commands()]

    def begun(self) -> list[int]:
        """Return the cycles at which the commands began: nothing of them has happened there."""
        return [int(cycle) for cycle, _, _ in self._commands()]

    def cycles(self) -> list[int]:
        """Return the cycles at which the commands were done; a busy machine takes many for one."""
        return [int(cycle) for _, cycle, _ in self._commands()]

    def _commands(self) -> list[tuple[str, str, str]]:
        return re.findall(r'^(\d+) (\d+) \S+: (.*)$', self.output, re.MULTILINE)

    def states(self) -> list[str]:
        """Return the states of the supervisor, in their order."""
        codes = (self.trace[:, 0] * self.trace[:, 2]).astype(int)  # without updates: inactive
        changes = np.flatnonzero(np.diff(codes, prepend=-1))
        return [tuple(State)[code].value for code in codes[changes]]


def worst_difference(ran: Run, settings: Settings,
                     after: Callable[[Controller], None] | None = None) -> tuple[int, float]:
    """
    Let the step of the node do what a controller has done, and compare.

    :param ran: run of the manager.
    :param settings: of its controller.
    :param after: is called after each step of the node.
    :returns: how many torques were sent, and the largest difference of one, as a share of its
        limit.
    """
    laws = law_kernels(settings)
    controller = Controller(settings, {name: laws.compile(name) for name in laws.names},
                            lambda torque: None)
    sent, worst, load = 0, 0.0, None
    limit, begin = np.asarray(settings.torque_limits), controller.x.memory.copy()
    kinds = [u.kind for u, _, _ in steps_of(ran, settings)]
    for k, (u, p, expected) in enumerate(steps_of(ran, settings)):
        controller.u.memory[:], controller.p.memory[:] = u.memory, p.memory
        if u.kind == Kind.PARAMETERS and Kind.ACTIVATE in kinds[k + 1:k + 3]:
            carried, bias = controller.x.load.memory.copy(), controller.x.sensor.bias.copy()
            controller.x.memory[:] = begin  # an activation begins with a new state
            if load is None:  # of the parameters, the first time
                restart_load(controller.x.load.plain(), controller.p.load.plain())
            else:
                controller.x.load.memory[:], controller.x.sensor.bias[:] = carried, bias
            load = carried
        controller.run()
        if after is not None:
            after(controller)
        assert controller.y.send == expected.send
        assert controller.y.answer == expected.answer
        assert controller.y.told == expected.told
        if expected.send:
            sent += 1
            error = np.abs(controller.y.torque - expected.torque) / limit
            worst = max(worst, float(error.max()))
    return sent, worst


def steps_of(ran: Run, settings: Settings) -> Iterator[tuple[Event, Parameters, Result]]:
    """
    Yield what went into each step, the parameters, and what came out; valid until the next.

    :param ran: run of the manager.
    :param settings: of its controller.
    """
    robot = settings.robot
    sizes = {'n': len(robot.joints), 'm': robot.model.nv, 's': 8}
    u, p, y = Event(sizes), Parameters(sizes), Result(sizes)
    for row in rows_of(ran, u.memory.size, p.memory.size, y.memory.size):
        u.memory[:], p.memory[:], y.memory[:] = row
        yield u, p, y


def rows_of(ran: Run, u: int, p: int, y: int) -> Iterator[tuple[np.ndarray, ...]]:
    """
    Yield the numbers of each step: its event, its parameters, its result.

    :param ran: run of the manager, which wrote parameters only where they changed.
    :param u: how many numbers an event has.
    :param p: likewise, the parameters.
    :param y: likewise, a result.
    """
    found = np.fromfile(ran.steps)
    parameters, at = found[:0], 0
    while at < found.size:
        event, changed = found[at:at + u], found[at + u] != 0.0
        at += u + 1
        if changed:
            parameters = found[at:at + p]
            at += p
        yield event, parameters, found[at:at + y]
        at += y
    assert at == found.size, 'the last step is not whole'


#: Parameters of every robot; a busy machine must not stop a test.
_COMMON: dict[str, object] = {
    'minimum_rate': 0.0, 'state_timeout': 0.3, 'driver_adds': 'none',
    'release_torque': 'gravity', 'nominal_rate': 1000.0}
#: Those of each.
_PARAMETERS: dict[str, dict[str, object]] = {
    'panda': {'fixed_positions.joints': ['panda_finger_joint1'], 'fixed_positions.values': [0.0],
              'torque_limits': [87.0, 87.0, 87.0, 87.0, 12.0, 12.0, 12.0],
              'rotor_inertia': [0.1]},
    'ur5': {'rotor_inertia': [0.1]}}


@cache
def arm_of(name: str) -> Arm:
    """
    Return a robot.

    :param name: of ``benchmark.mujoco_robots.ROBOTS``.
    """
    kind = ROBOTS[name]
    return Arm(robot_file(name).read_text(), kind.joints, kind.pose, kind.tip,
               [0.1] * len(kind.joints))


@cache
def settings_of(name: str, added: str = '', **changed: object) -> Settings:
    """
    Return the settings of the controller of a robot.

    :param name: of it.
    :param added: to its description.
    :param changed: parameters that are not as usual.
    """
    arm = arm_of(name)
    urdf = arm.urdf.replace('</robot>', f'{added}</robot>')
    with tempfile.NamedTemporaryFile('w', suffix='.yaml') as file:
        file.write(parameter_file(name, **changed))
        file.flush()
        return controller_settings(urdf, file.name, lambda _: None)


def parameter_file(name: str, **changed: object) -> str:
    """
    Return the parameter file of the controller of a robot.

    :param name: of it.
    :param changed: parameters that are not as usual.
    """
    arm = arm_of(name)
    values = {**_COMMON, **_PARAMETERS[name], 'joints': list(arm.joints), 'task.frame': arm.tip,
              **changed}
    return json.dumps({'/controller': {'ros__parameters': values}})


@cache
def compiled(name: str, added: str = '', **changed: object) -> Built:
    """
    Return the controller of a robot, generated and compiled.

    :param name: of it.
    :param added: see ``settings_of``.
    :param changed: see there, too.
    """
    return built(robot_package(settings_of(name, added, **changed), name), name)


def run(program: Built, arm: Arm, folder: Path, script: Sequence[str], *, cycles: int,
        parameters: Mapping[str, object] | None = None, rate: int = 1000,
        controllers: Mapping[str, Mapping[str, object]] | None = None, pace: str = 'hurry',
        mock: bool = False, domain: bool = True) -> Run:
    """
    Run the manager for some cycles.

    :param program: manager and controller.
    :param arm: robot.
    :param folder: for files.
    :param script: lines of commands, see manager.cpp.
    :param cycles: how many.
    :param parameters: of the controller.
    :param rate: Hz.
    :param controllers: others by name: their parameters, with ``type``.
    :param pace: how time passes, see manager.cpp.
    :param mock: whether the hardware is mock_components instead of MuJoCo.
    :param domain: whether it gets a ROS domain of its own; else the caller has one.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / 'robot.urdf').write_text(arm.at_rest() if mock else arm.description(folder))
    (folder / 'script').write_text('\n'.join(script) + '\n')
    others = dict(controllers or {})
    place = [str(folder / 'parameters.yaml')]
    types = {name: {'type': each['type'], 'params_file': place} for name, each in others.items()}
    own = {'type': f'{PLUGIN}/Controller', 'params_file': place}
    manager = {'update_rate': rate, 'rbd_controller': own, **types}
    file = {'controller_manager': {'ros__parameters': manager},
            'rbd_controller': {'ros__parameters': {
                'robot_library': program.library, **(parameters or {'mode': 'hold'})}}}
    for name, each in others.items():
        file[name] = {'ros__parameters': {k: v for k, v in each.items() if k != 'type'}}
    (folder / 'parameters.yaml').write_text(json.dumps(file))  # YAML without aliases
    with own_domain() if domain else nullcontext():
        done = subprocess.run(
            [program.manager, folder / 'robot.urdf', folder / 'script', folder,
             str(rate), str(cycles), pace, '--ros-args', '--params-file',
             folder / 'parameters.yaml'],
            env=program.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            timeout=500, check=False)
    (folder / 'output').write_text(done.stdout)
    assert done.returncode == 0, done.stdout[-4000:]
    return Run(done.stdout, folder, len(arm.joints))


def written(file: Path, knots: Knots, joints: Sequence[str]) -> str:
    """Write points for the script; return the name of the file."""
    rows = [[time, *q, *([] if knots.qd is None else knots.qd[k])]
            for k, (time, q) in enumerate(zip(knots.times, knots.q, strict=True))]
    file.write_text('\n'.join([' '.join(joints), *[' '.join(map(repr, map(float, row)))
                                                   for row in rows]]) + '\n')
    return str(file)
