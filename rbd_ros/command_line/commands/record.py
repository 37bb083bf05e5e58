# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Record the topics of a robot and its controller in a file that Foxglove and rbd can read.

    rbd record
    rbd record run.mcap --for 20
    rbd record --topics /my_camera/image,/my_camera/info
    rbd record --namespace left --namespace right

It only listens. Without options it records what rbd plot, identify, tool, contact and replay
need, and what the layout for Foxglove shows: joint states, description, commands, references,
states, faults, forces, diagnostics and parameters. --namespace names a robot in a namespace; it
can be repeated to record several robots in one file. Ctrl-C ends the recording. A process that is
killed leaves a file that can be read up to its last chunk.
"""

from __future__ import annotations

from pathlib import Path
import time
from typing import Annotated, Optional, TYPE_CHECKING

from rbd_ros.command_line.options import AsJson
from rbd_ros.command_line.output import console, show, table, warn
from rbd_ros.signals import noted
import typer

if TYPE_CHECKING:
    from threading import Event

    from rbd_ros.nodes.recorder import Recorder

#: s between two lines of progress.
STEP = 0.2
#: s that a first message is waited for at least: on a busy machine, nodes find each other late.
SILENCE = 5.0


def run(
    file: Annotated[Optional[Path], typer.Argument(
        metavar='[FILE.mcap]', help='File to write; by default it is named after the time.',
        show_default=False)] = None,
    out: Annotated[Optional[Path], typer.Option(
        metavar='FILE.mcap', help='The same as FILE.mcap.')] = None,
    topics: Annotated[Optional[list[str]], typer.Option(
        metavar='A,B', help='More topics to record; can be repeated.')] = None,
    only: Annotated[bool, typer.Option('--only', help='Record those topics only.')] = False,
    every: Annotated[bool, typer.Option('--all', help='Record every topic of messages.')] = False,
    seconds: Annotated[Optional[float], typer.Option(
        '--for', metavar='S',
        help='How long from the first message; by default until Ctrl-C.')] = None,
    controller: Annotated[str, typer.Option(
        help='Node of the controller, with its namespace.')] = '/controller',
    namespace: Annotated[Optional[list[str]], typer.Option(
        metavar='NAME', help='Namespace of a robot; can be repeated.')] = None,
    as_json: AsJson = False,
) -> None:
    """Record topics."""
    from rbd_ros.errors import nearest, RbdError
    from rbd_ros.recording.mcap_file import McapFile
    from rbd_ros.recording.namespaces import full_namespace, next_steps
    from rbd_ros.recording.topics import default_topics, named_by_time
    given = [full_namespace(name.strip()) for each in topics or [] for name in each.split(',')
             if name.strip()]
    if only and not given:
        raise RbdError('--only needs topics; give some with --topics')
    node = controller.rpartition('/')[2]
    nodes = [f'{full_namespace(each)}/{node}' for each in namespace or []] or [
        full_namespace(controller)]
    wanted = None if every else [*given, *(
        topic for each in nodes if not only for topic in default_topics(each))]
    if seconds is not None and not seconds > 0.0:
        raise RbdError(f'--for is {seconds:g} s; it must be positive')
    if file and out:
        raise RbdError(f'both {file} and --out {out} are given; a recording is one file')
    path = file or out or Path(named_by_time())
    if path.suffix != '.mcap':
        raise RbdError(f'{path}: the name of a recording must end in .mcap; topics are given with '
                       '--topics')
    try:
        from rbd_ros.nodes.recorder import Recorder
    except ImportError as error:
        raise RbdError(f'recording needs ROS 2 ({error}); source it, or use ./run rbd record'
                       ) from None
    with noted() as ended, McapFile(path) as written, Recorder(
            written, wanted, *nodes) as recorder:
        _record(recorder, seconds, ended)
        silent = recorder.wait_for_parameters()
        told = recorder.recorded
    for name, why in recorder.refused.items():
        warn(f'{name} was not recorded: {why}')
    for name in dict.fromkeys(given):
        if name not in recorder.refused and name not in recorder.kinds:
            warn(f'{name} was not recorded: nothing was heard on it'
                 f'{nearest(name, recorder.others)}')
    if not told.messages:
        path.unlink()
        raise RbdError('nothing was heard: none of the topics has a publisher. Is the controller '
                       'running, with the same ROS_DOMAIN_ID?')
    heard = any(name.endswith('/joint_states') for name in recorder.kinds)
    others = sorted(name for name in recorder.others if name.endswith('/joint_states'))
    if others and not heard and not only:
        warn(f'no joint states were recorded, but there are some on {", ".join(others)}: give '
             'their namespace with --namespace')
    for name in silent:
        warn(f'{name} did not tell its parameters, which rbd replay needs: record again')
    if told.lost:
        warn(f'{told.lost} messages were lost: this machine was too busy')
    size = path.stat().st_size
    show({'file': str(path), **told._asdict(), 'bytes': size}, as_json,
         table(f'{told.seconds:.1f} s', ('topic', '>messages', '>per second'), [
             [name, count, count / told.seconds] for name, count in told.topics.items()]),
         f'written to {path}, {size / 1e6:.2f} MB; next: '
         f'{next_steps(str(path), recorder.kinds)}', wrap=False)


def _record(recorder: Recorder, seconds: float | None, ended: Event) -> None:
    """Record until the time since the first message is over, or until Ctrl-C."""
    begin = time.monotonic()

    def left() -> float:
        if seconds is None:
            return STEP
        if recorder.recorded.messages:
            return seconds - recorder.recorded.seconds
        return max(seconds, SILENCE) - (time.monotonic() - begin)
    with console(error=True).status('waiting for a first message; Ctrl-C ends it') as status:
        while not ended.is_set() and (rest := left()) > 0.0:
            recorder.spin(min(STEP, rest))
            if recorder.recorded.messages:
                status.update(f'recording; Ctrl-C ends it: {recorder.recorded.line()}')
