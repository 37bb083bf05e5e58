# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
The source is a tower: a module imports from its own floor or from those below, never in a circle.

Rooms, the folders and files of a package, form no circle either.

What counts is every import statement, those inside functions and for type checking too: a name
that a module mentions is something that its reader has to know. import-linter has no words for it:
its layers share no module, and here a part of a package has a floor below or above the rest.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from linted import ROOT
import pytest

pytestmark = pytest.mark.slow

#: From the ground up. A part of a package may have a floor of its own.
FLOORS = (
    'version', 'source_state', 'interrupt', 'signals', 'errors', 'quoting', 'compiler.fork_lock',
    'compiler.source_digest', 'compiler.graph', 'compiler.scalar', 'compiler.records',
    'compiler.language', 'compiler.arguments', 'compiler.kernel', 'compiler.source',
    'compiler.native', 'compiler.gpu', 'compiler.embedded', 'compiler',
    'machine', 'wire', 'recording', 'spatial', 'joints', 'model', 'algorithms',
    'dynamics.handle_inputs', 'dynamics.prescribed', 'dynamics.quantity', 'dynamics.state',
    'dynamics.environment', 'dynamics.declaration', 'dynamics.kernels', 'dynamics.families',
    'dynamics', 'gradients', 'manifold', 'samples',
    'identification', 'teaching', 'peers',
    'control.interface', 'control.throttle', 'control.numerics', 'control.supervisor',
    'control.modes', 'control.robot', 'control.kernels', 'control.parameters',
    'control.joint_states', 'control.torque', 'control.force_torque', 'control.observers',
    'control.load', 'control.laws', 'control.monitors', 'control.references', 'control.step',
    'control', 'control.fleet', 'control.paths', 'loop',
    'sim', 'view', 'learn', 'robot_check', 'nodes', 'nodes.simulator', 'nodes.controller',
    'nodes.controller.node', 'nodes.controller.process', 'nodes.path_server', 'public',
    'command_line')
#: Packages that only a machine with ROS has.
ROS = ('ament_index_python', 'rclpy', 'rcl_interfaces', 'launch', 'launch_ros', 'lifecycle_msgs')
MESSAGES = ('_msgs', '_srvs', '_interfaces')

#: rooms that need each other; none is to be added
CIRCLES = [{'rbd_ros.sim.contact', 'rbd_ros.sim.steps'}]

Imports = Mapping[str, set[str]]


def read_modules(package: Path) -> dict[str, str]:
    """Return the text of every module by its dotted name."""
    return {'.'.join(path.relative_to(package.parent).with_suffix('').parts).removesuffix(
        '.__init__'): path.read_text() for path in package.rglob('*.py')}


@cache
def named_modules(text: str) -> list[str]:
    """Return what the import statements of a module name, wherever they stand in it."""
    return list(_named_modules(text))


def _named_modules(text: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0 and node.module, 'relative imports hide the floor'
            yield from (f'{node.module}.{alias.name}' for alias in node.names)


def imports_within(modules: Mapping[str, str]) -> dict[str, set[str]]:
    """Return the modules that each module imports from, out of those given."""
    found: dict[str, set[str]] = {}
    for name, text in modules.items():
        found[name] = set()
        for target in named_modules(text):
            while target and target not in modules:  # a function of a module, a class
                target = target.rpartition('.')[0]
            if target and target != name:
                found[name].add(target)
    return found


def floor(module: str) -> int:
    """Return the floor of a module; the longest entry that it begins with counts."""
    inner = module.removeprefix('rbd_ros').removeprefix('.')
    if not inner:
        return len(FLOORS)  # the package itself exports from every floor
    for length in range(inner.count('.') + 1, 0, -1):
        entry = '.'.join(inner.split('.')[:length])
        if entry in FLOORS:
            return FLOORS.index(entry)
    raise AssertionError(f'{module} is on no floor: add it to FLOORS, or move it to its room')


def upward(imports: Imports) -> list[str]:
    """Return the imports that go up."""
    return [f'{module} imports {target}' for module, targets in sorted(imports.items())
            for target in sorted(targets) if floor(target) > floor(module)]


def rooms_of(imports: Imports) -> dict[str, set[str]]:
    """Return what the rooms of each package import from each other: its folders, and its files."""
    found: dict[str, set[str]] = {}
    for module, targets in imports.items():
        for target in targets:
            ours, theirs = module.split('.'), target.split('.')
            shared = next((k for k, pair in enumerate(zip(ours, theirs)) if pair[0] != pair[1]),
                          min(len(ours), len(theirs)))
            if shared < min(len(ours), len(theirs)):  # else one is the package of the other
                room, other = ('.'.join(path[:shared + 1]) for path in (ours, theirs))
                found.setdefault(room, set()).add(other)
                found.setdefault(other, set())
    return found


def circles(imports: Imports) -> list[set[str]]:
    """Return the groups of modules that import each other, directly or through others."""
    reach = {name: _reachable(name, imports) for name in imports}
    groups = {frozenset(other for other in reach[name] if name in reach[other])
              for name in imports if name in reach[name]}
    return sorted(map(set, groups), key=sorted)


def _reachable(start: str, imports: Imports) -> set[str]:
    found: set[str] = set()
    stack = list(imports[start])
    while stack:
        name = stack.pop()
        if name not in found:
            found.add(name)
            stack.extend(imports[name])
    return found


@pytest.fixture(scope='module')
def modules() -> dict[str, str]:
    """Return the source of the package."""
    return read_modules(ROOT / 'rbd_ros')


def test_no_import_goes_up(modules: dict[str, str]) -> None:
    """Each floor uses only the floors below it."""
    assert upward(imports_within(modules)) == []


def test_no_circle(modules: dict[str, str]) -> None:
    """No module needs one that needs it."""
    assert circles(imports_within(modules)) == []


def test_rooms_have_no_circle(modules: dict[str, str]) -> None:
    """No room needs one that needs it, through whichever of their modules."""
    assert circles(rooms_of(imports_within(modules))) == CIRCLES


def test_the_controller_has_few_rooms(modules: dict[str, str]) -> None:
    """A newcomer sees at most fifteen folders in it, each with a sentence of its own."""
    folders = [path for path in (ROOT / 'rbd_ros' / 'control').iterdir()
               if (path / '__init__.py').exists()]
    assert len(folders) <= 15
    known = ast.get_docstring(ast.parse(modules['rbd_ros.control']))
    for folder in folders:
        assert f'``{folder.name}``' in known, folder.name
        said = ast.get_docstring(ast.parse(modules[f'rbd_ros.control.{folder.name}']))
        assert said and said.endswith('.'), folder.name


def test_a_name_of_the_controller_means_one_class(modules: dict[str, str]) -> None:
    """No two public classes of the controller and its loop share a name."""
    found = Counter(
        node.name for name, text in modules.items()
        if name.startswith(('rbd_ros.control.', 'rbd_ros.loop.')) for node in ast.parse(text).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith('_'))
    assert len(found) > 200 and [name for name, count in found.items() if count > 1] == []


def test_only_the_nodes_know_ros(modules: dict[str, str]) -> None:
    """Everything below ``nodes`` imports on a machine without ROS."""
    for name, text in modules.items():
        if not name.startswith('rbd_ros.nodes'):
            roots = {target.partition('.')[0] for target in named_modules(text)}
            guests = [root for root in roots if root in ROS or root.endswith(MESSAGES)]
            assert not guests, f'{name} imports {", ".join(guests)}'


@pytest.mark.parametrize('where', ['at the top', 'in a function', 'for types'])
def test_a_planted_import_is_found(modules: dict[str, str], where: str) -> None:
    """An import that goes up is named, in whatever place it hides."""
    line = 'from rbd_ros.dynamics.robot import Dynamics'
    planted = {'at the top': line, 'in a function': f'def f():\n    {line}',
               'for types': f'from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    {line}'}
    guilty = 'rbd_ros.algorithms.crba'
    changed = {**modules, guilty: f'{modules[guilty]}\n\n{planted[where]}\n'}
    assert upward(imports_within(changed)) == [f'{guilty} imports rbd_ros.dynamics.robot']


def test_a_planted_circle_is_found(modules: dict[str, str]) -> None:
    """A circle inside one floor is found with its members, and with nothing else."""
    low, high = 'rbd_ros.algorithms.kinematics', 'rbd_ros.algorithms.rnea'
    changed = {**modules, low: f'{modules[low]}\nfrom rbd_ros.algorithms.rnea import rnea\n'}
    assert circles(imports_within(changed)) == [{low, high}]


def test_a_planted_circle_of_rooms_is_found(modules: dict[str, str]) -> None:
    """Two rooms that need each other are found where no module needs itself."""
    low, high = 'rbd_ros.control.modes', 'rbd_ros.control.kernels.impedance'
    changed = {**modules, low: f'{modules[low]}\nfrom {high} import HEAVIER\n'}
    assert circles(imports_within(changed)) == []
    assert {'rbd_ros.control.modes', 'rbd_ros.control.kernels', 'rbd_ros.control.robot'} in (
        circles(rooms_of(imports_within(changed))))
