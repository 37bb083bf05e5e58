# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Asking before a robot moves, and saying what becomes of a motion that is interrupted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
import sys
from typing import Protocol

from rbd_ros.errors import RbdError
from rbd_ros.signals import noted
import typer

__all__ = ['cancelling', 'confirm', 'interruptions_told', 'MOVED']

#: rad or m that the robot may move while somebody reads what it will do.
MOVED = 0.01


class _Driven(Protocol):

    ended: Callable[[], bool]

    def ending(self) -> str: ...


def confirm() -> None:
    """
    Ask whether the robot may move; what was typed before the question does not count.

    :raises RbdError: for any answer but yes.
    """
    _forget_what_was_typed()
    typer.echo('Type yes to move the robot [no]: ', err=True, nl=False)
    try:
        answer = input()
    except EOFError:
        answer = ''
    if answer.strip() != 'yes':
        raise RbdError('not confirmed; the robot has not moved')


@contextmanager
def interruptions_told(driven: _Driven) -> Iterator[None]:
    """Say after Ctrl-C whether the robot has moved, and whether it stops."""
    try:
        yield
    except KeyboardInterrupt:
        typer.echo(f'\n{driven.ending()}', err=True)
        raise


@contextmanager
def cancelling(driven: _Driven) -> Iterator[None]:
    """Let Ctrl-C cancel a motion: not inside a call of the middleware, which would be torn."""
    with noted() as ended:
        driven.ended = ended.is_set
        try:
            yield
        except RbdError:
            if not ended.is_set():
                raise
    if ended.is_set():
        raise KeyboardInterrupt


def _forget_what_was_typed() -> None:
    """Empty the input of a terminal; a pipe keeps its answer."""
    if sys.stdin.isatty():
        import termios
        termios.tcflush(sys.stdin, termios.TCIFLUSH)
