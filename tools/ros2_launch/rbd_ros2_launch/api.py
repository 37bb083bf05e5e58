# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Find a launch file, read its arguments, run it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
import signal
from types import FrameType
from typing import Any

from ament_index_python.packages import get_package_share_directory, PackageNotFoundError
from launch import launch_service, LaunchDescription, LaunchService
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import AnyLaunchDescriptionSource
from launch.utilities import perform_substitutions


class LaunchFileError(RuntimeError):
    """The launch file cannot be used; the message says why."""


def find(package: str, file: str | None) -> Path:
    """
    Return the launch file that the user named.

    :param package: a package, or the path of a launch file when ``file`` is None.
    :param file: the name of a file below the share folder of the package.
    """
    if file is None:
        path = Path(package)
        if path.is_file():
            return path.resolve()
        raise LaunchFileError(
            f'"{package}" is not a file; give a package and the name of one of its launch files, '
            'or the path of a launch file')
    try:
        share = Path(get_package_share_directory(package))
    except (PackageNotFoundError, ValueError) as error:
        raise LaunchFileError(f'no package "{package}" found in AMENT_PREFIX_PATH') from error
    found = sorted(path for path in share.rglob(Path(file).name)
                   if path.is_file() and path.parts[-len(Path(file).parts):] == Path(file).parts)
    if len(found) == 1:
        return found[0]
    if found:
        raise LaunchFileError(
            f'"{file}" is ambiguous in {share}: '
            + ', '.join(str(path.relative_to(share)) for path in found))
    known = sorted(path.name for path in share.rglob('*launch*') if path.is_file())
    raise LaunchFileError(
        f'no file "{file}" in the share folder of package "{package}" ({share}); '
        f'it has {", ".join(known) or "no launch file"}')


def parse(arguments: Sequence[str]) -> list[tuple[str, str]]:
    """Split ``name:=value`` words; a name given twice keeps its last value."""
    parsed: dict[str, str] = {}
    for word in arguments:
        name, separator, value = word.partition(':=')
        if not separator or not name:
            raise LaunchFileError(f'malformed launch argument "{word}", expected "name:=value"')
        parsed[name] = value
    return list(parsed.items())


def describe(path: Path) -> str:
    """Return a text that lists the arguments of a launch file."""
    service = LaunchService(argv=[])
    description = AnyLaunchDescriptionSource(str(path)).get_launch_description(service.context)
    arguments = description.get_launch_arguments()
    if not arguments:
        return 'No arguments.\n'
    lines = ["Arguments (pass arguments as '<name>:=<value>'):"]
    for argument in arguments:
        lines += ['', f"    '{argument.name}':", f'        {argument.description}']
        if argument.choices:
            lines.append(f'        one of: {", ".join(argument.choices)}')
        if argument.default_value is not None:
            default = ' + '.join(part.describe() for part in argument.default_value)
            try:
                default = repr(perform_substitutions(service.context, argument.default_value))
            except Exception:
                pass
            lines.append(f'        (default: {default})')
    return '\n'.join(lines) + '\n'


def run(path: Path, arguments: Sequence[str], *, noninteractive: bool, debug: bool) -> int:
    """
    Run a launch file until its processes end or the user interrupts.

    SIGTERM ends it as Ctrl-C does: launch itself would be gone at once, and its processes run on.

    :returns: the exit code of the launch service.
    """
    service = LaunchService(argv=list(arguments), noninteractive=noninteractive, debug=debug)
    before = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)}
    _end_by_signals(lambda: service.shutdown(force_sync=True))
    try:
        service.include_launch_description(LaunchDescription([
            IncludeLaunchDescription(
                AnyLaunchDescriptionSource(str(path)), launch_arguments=parse(arguments))]))
        return int(service.run())
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _end_by_signals(end: Callable[[], object]) -> None:
    """
    Let Ctrl-C reach launch by its file descriptor alone, and SIGTERM call a function.

    Launch listens to a descriptor, but leaves Python to raise KeyboardInterrupt as well, wherever
    its loop is. In the task that waits for a process this ended the task: launch never sent the
    process a signal and waited for it for ever. A signal from before launch listens is kept. A
    second one is raised if the first is not yet heard: code of a launch file holds up the loop.

    :param end: is called for SIGTERM, to which launch has a fixed answer.
    """
    unheard: set[int] = set()

    def again(number: int, frame: FrameType | None) -> None:
        if number in unheard:
            signal.default_int_handler(number, frame)
        unheard.add(number)

    class Signals(launch_service.AsyncSafeSignalManager):  # type: ignore[misc]

        def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
            super().__init__(loop)
            self._loop = loop

        def handle(self, signum: int, handler: Any) -> Any:
            if signum not in (signal.SIGINT, signal.SIGTERM) or handler is None:
                return super().handle(signum, handler)

            def hear(number: int) -> None:
                unheard.discard(number)
                answer(number)
            answer = handler if signum == signal.SIGINT else lambda _: end()
            known = super().handle(signum, hear)
            signal.signal(signum, again)
            if signum in unheard:
                self._loop.call_soon(hear, signum)
            return known

    launch_service.AsyncSafeSignalManager = Signals
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, lambda number, _: unheard.add(number))


def introspect(path: Path) -> str:
    """Return a text that shows the tree of a launch description, without running it."""
    from launch import LaunchIntrospector  # only this option needs it

    service = LaunchService(argv=[])
    description = AnyLaunchDescriptionSource(str(path)).get_launch_description(service.context)
    return str(LaunchIntrospector().format_launch_description(description))
