# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Check whether a robot is plausible: inertias, limits, units, strength, files. Also for use in CI.

    rbd check robot.urdf
    rbd check robot.urdf --strict        # warnings fail too

It lists every test with what it found and what to do about it. The exit code is 1 if there is an
error or, with --strict, a warning; otherwise 0.
"""

from __future__ import annotations

from typing import Annotated

from rbd_ros.command_line.options import AsJson, Robot
from rbd_ros.command_line.output import progress, show
import typer

_LABELS = {'ok': '[green]ok[/]     ', 'warning': '[yellow]warning[/]', 'error': '[red]error[/]  '}


def run(
    robot: Robot,
    strict: Annotated[bool, typer.Option('--strict', help='Treat warnings as errors.')] = False,
    as_json: AsJson = False,
) -> None:
    """Check a robot; exit with 1 if something is wrong."""
    from rich.markup import escape

    from rbd_ros.command_line.robots import read
    from rbd_ros.robot_check import examine, TESTS
    text = read(robot)
    with progress('examining', len(TESTS)) as step:
        found = examine(text, '' if robot == '-' else robot, step)
    data, lines = [], []
    for test, elements in found:
        outcome = test.severity if elements else 'ok'
        data.append({'test': test.name, 'question': test.question, 'outcome': outcome,
                     'findings': elements, 'advice': test.advice if elements else ''})
        lines.append(f'{_LABELS[outcome]}  {test.name:<12} {test.question}')
        lines += [f'{"":9}- {escape(element)}' for element in elements]
        lines += [f'{"":9}[bold]do:[/] {escape(test.advice)}'] if elements else []
    count = {kind: sum(each['outcome'] == kind for each in data) for kind in ('error', 'warning')}
    tests = 'test' if len(data) == 1 else 'tests'
    lines.append(f'{len(data)} {tests}: {count["error"]} failed, {count["warning"]} with warnings')
    show({'robot': robot, 'tests': data, 'errors': count['error'],
          'warnings': count['warning']}, as_json, *lines)
    if count['error'] or (strict and count['warning']):
        raise typer.Exit(1)
