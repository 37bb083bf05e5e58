# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Small values whose components are written once: what vectors, matrices and inertias share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn


class Value:
    """
    Base of the small value types: equality, hash and text come from the components.

    A component is written once, by the constructor, through ``writers``.
    """

    __slots__: tuple[str, ...] = ()

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f'a {type(self).__name__} cannot be changed: "{name}" stays; '
                             'make a new one, and a new model with it')

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f'a {type(self).__name__} cannot be changed: "{name}" stays')

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._key()

    def to_list(self) -> list[Any]:
        """Return the components as a (possibly nested) list of scalars."""
        raise NotImplementedError

    def _key(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in self.__slots__)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash((type(self).__name__, self._key()))

    def __repr__(self) -> str:
        return f'{type(self).__name__}{self._key()!r}'


def writers(kind: type[Value]) -> tuple[Callable[[Any, Any], None], ...]:
    """
    Return what writes the components of a value type, in their order, for its constructor alone.

    The usual object.__setattr__ takes twice as long, and tracing makes values by the thousand.
    """
    return tuple(vars(kind)[name].__set__ for name in kind.__slots__)
