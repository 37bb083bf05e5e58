# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The family of errors that rbd_ros raises; every one derives from RbdError."""

from __future__ import annotations

from collections.abc import Iterable
import difflib
import os
from pathlib import Path
from typing import Any


def nearest(name: str, known: Iterable[str]) -> str:
    """Return a question that offers the known name most like a mistyped one, or nothing."""
    spelled = {each.casefold(): each for each in known}
    near = difflib.get_close_matches(name.casefold(), list(spelled), 1)
    begun = [each for each in spelled if len(name) > 2 and each.startswith(name.casefold())]
    if not near and len(begun) == 1:  # the rest was left out
        near = begun
    return f'; did you mean "{spelled[near[0]]}"?' if near else ''


#: Endings of the files that describe a robot, and of those with parameters, plans and lessons.
ROBOT_FILES, YAML_FILES = ('.urdf', '.xacro', '.xml'), ('.yaml', '.yml')


def nearest_file(path: str, kinds: tuple[str, ...] = ()) -> str:
    """
    Return a hint about a file that is not there: its folder, or a name there like it.

    :param kinds: endings of the files that can be meant; none: any.
    """
    file = Path(path).expanduser().absolute()
    if file.is_dir():
        return f'; {file} is a folder'
    if not file.parent.is_dir():
        return f'; there is no folder {file.parent}'
    names = [name for name in os.listdir(file.parent) if not kinds or name.endswith(kinds)]
    return nearest(file.name, names) or f'; {file.parent} has none like it'


LONGEST = 4000  # characters of a message: what it quotes of a file may be as long as the file


class RbdError(Exception):
    """Root of all errors of this package."""

    def __str__(self) -> str:
        """Return the message, of a very long one its two ends."""
        text = super().__str__()
        half = LONGEST // 2
        return text if len(text) <= LONGEST else f'{text[:half]} [...] {text[-half:]}'

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle message and attributes: an error may have other arguments than its message."""
        return _again, (type(self), self.args, vars(self))


def _again(kind: type[RbdError], args: tuple[Any, ...], state: dict[str, object]) -> RbdError:
    error = kind.__new__(kind)
    error.args = args
    vars(error).update(state)
    return error


class RbdWarning(UserWarning):
    """Something doubtful that is kept; the message names the element."""


class ModelError(RbdError):
    """A robot description that cannot be made into a model; the message names the element."""


class LoopError(ModelError):
    """Kinematic loops that cannot be, or where only trees are known; the message names a joint."""


class ShapeError(RbdError, ValueError):
    """An array whose shape or kind does not fit the model; the message names the array."""


class NonFiniteError(RbdError, ValueError):
    """An array that holds NaN or infinity; the message names the array and the entry."""


class SettingError(RbdError, ValueError):
    """A setting outside of what it may be; the message names it and says what it may be."""


class SingularError(RbdError, ArithmeticError):
    """A matrix that must be inverted and cannot be; the message names the directions."""


class DeviceError(RbdError, RuntimeError):
    """A GPU that is not there or does not do as told; the message says what to do."""


class UnseenError(RbdError, TypeError):
    """An object of which no digest can be made; the message says what hides its content."""

    def __init__(self, value: object, reason: str) -> None:
        self.value, self.reason = value, reason
        super().__init__(f'cannot make a digest of {value!r:.120}: {reason}')

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the value as text: it is one that hides its content."""
        return _again, (type(self), self.args, vars(self) | {'value': f'{self.value!r:.120}'})


class UnknownName(RbdError, KeyError):
    """A name that the model does not have; lists the nearest one and all known ones."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        self.kind, self.name, self.known = kind, name, tuple(known)
        listed = ', '.join(self.known) or 'none'
        super().__init__(f'no {kind} "{name}"{nearest(name, self.known)} (known: {listed})')

    def __str__(self) -> str:
        """Return the message itself: KeyError would print its repr."""
        return str(self.args[0])
