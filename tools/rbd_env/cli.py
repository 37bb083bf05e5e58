# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""What ``./run`` does with its arguments."""

from __future__ import annotations

import os
from pathlib import Path
import sys

from rbd_env import preparation, variables
from rbd_env.failure import Failure
from rbd_env.layout import Layout, locate

HELP = """\
Run a command inside the environment of rbd_ros, preparing it on first use.

    ./run ros2 launch rbd_ros controller.launch.py    the controller and a simulated robot
    ./run test [pytest arguments]                     build, linters, tests (heavy ones sampled)
    ./run test --all [KIND ...] | --seed N            all of what is heavy; another sample
    ./run test --disturb busy,stops | --shuffle N     on a busy machine, with halts; in any order
    ./run test scale                                  PyTorch, JAX, Dask and Ray (2 GB)
    ./run COMMAND [arguments]                         any other command, such as ros2 topic list

    ./run rbd           look at, check and compute with a robot; ./run rbd --help lists what
    ./run lint          linters only
    ./run seeds         all tests that check items of the source documents
    ./run bench         measure speed and accuracy; ./run bench --help lists what
    ./run crosscheck    compare with Pinocchio and MuJoCo on some seventy robots
    ./run record        record what the controller does, or compare it with its recording
    ./run mutants       plant faults at random in copies, see whether the tests find them
    ./run docs          build the documentation to HTML
    ./run release       make archive and wheel of a release, and check them
    ./run shell         a shell inside the environment
    ./run prepare       all that any of these needs, so that none needs the network later

First use fetches Python packages, and a ROS 2 Jazzy runtime where no ROS 2 is sourced. What is
made goes to .run in the checkout; RBD_ROS_STATE names another folder.
"""

EVERYTHING = ('runtime', 'test', 'robots', 'benchmark', 'docs', 'learn')
# subcommand: the groups of packages it needs, and the module that it runs, in the checkout
SUBCOMMANDS = {
    'test': (EVERYTHING, 'rbd_env.testing'),
    'lint': (EVERYTHING, 'rbd_env.linting'),
    'seeds': (EVERYTHING, 'rbd_env.seeds'),
    'bench': (EVERYTHING, 'benchmark'),
    'crosscheck': (EVERYTHING, 'benchmark.crosscheck'),
    'record': (('runtime',), 'rbd_env.recording'),
    'mutants': (EVERYTHING, 'mutants'),
    'docs': (('runtime', 'docs'), 'rbd_env.docs'),
    'release': (('runtime',), 'rbd_env.release'),
}
# words that ask rbd for help, which needs nothing else
FOR_HELP = {'-h', '--help'}
# what rbd compares with; its other commands need none of it
PEERS = ('runtime', 'robots', 'benchmark')
COMPARING = ('compare', 'bench')
# JupyterLab, which fills in its pages with packages of the documentation
LEARNING = ('runtime', 'docs', 'learn')
# a package that has the robots of some examples, and most that are known by name
ROBOTS = 'package://example-robot-data/'
WITH_ROBOTS = ('runtime', 'robots')
NAMES = Path(__file__).parents[2] / 'rbd_ros' / 'model' / 'urdf' / 'known_robots.csv'
OLD_DISTROS = ('ardent', 'bouncy', 'crystal', 'dashing', 'eloquent', 'foxy', 'galactic', 'humble',
               'iron')


def check_host(environ: dict[str, str], layout: Layout) -> None:
    """Refuse a sourced ROS that is too old; its Python would not fit the package."""
    distro = environ.get('ROS_DISTRO', '')
    if not layout.uses_wheel and (distro in OLD_DISTROS or environ.get('ROS_VERSION') == '1'):
        raise Failure(
            f'the sourced ROS is "{distro}", and rbd_ros needs ROS 2 Jazzy or newer. Run the same '
            'command in a shell that has not sourced it (./run then fetches a ROS 2 of its own), '
            'or source a newer one.')


def groups_of(arguments: list[str]) -> tuple[str, ...]:
    """Return the groups of packages that a command needs."""
    name = arguments[0]
    if name == 'prepare':
        return EVERYTHING
    if arguments[:2] == ['test', 'scale']:  # which has an environment of its own
        return ('runtime',)
    if name == 'rbd' and FOR_HELP.intersection(arguments):
        return ('runtime',)
    if name == 'rbd' and set(arguments[1:]).intersection(COMPARING):
        return PEERS
    if name == 'rbd' and opens_lesson(arguments[1:]):
        return LEARNING
    if name in SUBCOMMANDS:
        return SUBCOMMANDS[name][0]
    return WITH_ROBOTS if any(map(takes_robots, arguments[1:])) else ('runtime',)


def opens_lesson(words: list[str]) -> bool:
    """Return whether words of rbd name a lesson to open; without one it lists them."""
    return 'learn' in words and not all(
        word.startswith('-') for word in words[words.index('learn') + 1:])


def takes_robots(word: str) -> bool:
    """Return whether a word of a command is, or is a file that has, a robot of that package."""
    path = Path(word.rpartition(':=')[2])
    if str(path) in fetched_robots():
        return True
    try:
        return (path.suffix in ('.py', '.yaml') and path.is_file()
                and ROBOTS in path.read_text(errors='replace'))
    except OSError:  # a name that is too long, a file that may not be read: not ours to judge
        return False


def fetched_robots() -> set[str]:
    """Return the names of robots whose descriptions are fetched."""
    import csv

    with NAMES.open(encoding='utf-8', newline='') as file:
        return {row['name'] for row in csv.DictReader(file) if row['address'].startswith(ROBOTS)}


def starts_built_in_arm(arguments: list[str]) -> bool:
    """Return whether a command starts the controller of the arm that comes with the package."""
    return (arguments[:4] == ['ros2', 'launch', 'rbd_ros', 'controller.launch.py']
            and not any(word.startswith(('urdf:=', 'robot:=', 'params_file:='))
                        for word in arguments[4:]))


def command_line(layout: Layout, arguments: list[str], environ: dict[str, str]) -> list[str]:
    """Return the command to hand over to; may add variables that it needs."""
    name, *rest = arguments
    if name == 'shell':
        return [environ.get('SHELL') or '/bin/sh', *rest]
    if name in SUBCOMMANDS:
        module = SUBCOMMANDS[name][1]
        of_tools = module.partition('.')[0] in ('rbd_env', 'mutants')
        source = layout.root / 'tools' if of_tools else layout.root
        environ['PYTHONPATH'] = f'{source}:{environ["PYTHONPATH"]}'
        environ['RBD_ROS_ROOT'] = str(layout.root)
        environ['RBD_ROS_FOLDER'] = str(layout.folder)
        return [str(layout.python), '-m', module, *rest]
    return arguments


def main(arguments: list[str]) -> int:
    """Prepare, then replace this process by the command."""
    if not arguments or arguments[0] in ('-h', '--help', 'help'):
        print(HELP, end='')
        return 0
    try:
        environ = dict(os.environ)
        layout = locate(environ)
        check_host(environ, layout)
        name = arguments[0]
        found = preparation.prepare(
            layout, groups_of(arguments), environ.get('RBD_ROS_MACHINE', ''),
            compiling=starts_built_in_arm(arguments))
        if name == 'prepare':
            print(f'Everything is in place. ROS 2: {found or environ.get("ROS_DISTRO")}')
            return 0
        environ = variables.for_command(layout, found, environ)
        command = command_line(layout, arguments, environ)
        if name in SUBCOMMANDS:
            os.chdir(layout.root)
        return hand_over(command, environ)
    except Failure as failure:
        print(failure.paragraph(), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print('\n./run: interrupted; the next use goes on from here.', file=sys.stderr)
        return 130


def hand_over(command: list[str], environ: dict[str, str]) -> int:
    """Become the command; returns only when there is no such command, as shells do."""
    try:
        os.execvpe(command[0], command, environ)
    except FileNotFoundError:
        print(f'./run: no command "{command[0]}" in the environment', file=sys.stderr)
        return 127
    except PermissionError:
        print(f'./run: "{command[0]}" cannot be executed', file=sys.stderr)
        return 126
