# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Whether arrays that must be apart are, wherever a procedure is called."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from rbd_ros.compiler.language.signatures import Function
from rbd_ros.compiler.language.tree import Call, Held, Procedure


class Apart(NamedTuple):
    """
    Two arrays that are read and changed at other places, and so must not be one.

    :param a: the one, below a parameter.
    :param b: the other.
    :param where: words of the statement.
    """

    a: Held
    b: Held
    where: str


def check_apart(procedures: Mapping[Function, Procedure], calls: Mapping[Function, list[Call]],
                wanted: dict[Function, set[Apart]]) -> None:
    """
    Refuse calls that give one array for two that must be apart.

    What the outermost procedure is bound to is not looked at.

    :param procedures: all of them.
    :param calls: of each.
    :param wanted: for each what must be apart; what follows for callers is added.
    :raises TypeError: says who calls, and what for.
    """
    todo = [function for function, pairs in wanted.items() if pairs]
    while todo:
        called = todo.pop()
        names = [each.name for each in procedures[called].parameters]
        for caller, nodes in calls.items():
            for node in nodes:
                if node.function is not called:
                    continue
                given = dict(zip(names, node.given, strict=True))
                found = {_passed(each, given, caller) for each in wanted[called]}
                new = {each for each in found if each is not None} - wanted.setdefault(
                    caller, set())
                if new:
                    wanted[caller] |= new
                    todo.append(caller)


def _passed(pair: Apart, given: Mapping[str, object], caller: Function) -> Apart | None:
    """Return what a caller has to keep apart, None if it is apart for certain."""
    a, b = [_below(given[each.root], each) for each in (pair.a, pair.b)]
    if a.root != b.root:
        return Apart(a, b, pair.where)
    if a.path != b.path:
        return None
    raise TypeError(f'{caller.__module__}.{caller.__name__} gives {".".join((a.root, *a.path))} '
                    f'twice, for `{pair.where}`, which reads and changes it at other places; use '
                    'another array in between')


def _below(given: object, held: Held) -> Held:
    assert isinstance(given, Held)
    return Held(held.kind, given.root, (*given.path, *held.path))
