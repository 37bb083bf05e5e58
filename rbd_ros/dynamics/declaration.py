# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""A user's declaration of a quantity, checked before anything is made of it."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import replace

from rbd_ros.dynamics.quantity import LINEARISED, OnLoops, Quantity, Rule, TARGETS
from rbd_ros.errors import RbdError

#: What a robot may give to a rule.
ENVIRONMENT = ('gravity', 'time')


def declare(
    name: str, inputs: Sequence[str], rule: Rule | Mapping[str, Rule],
    derivative: Rule | Mapping[str, Rule] | None, shapes: Mapping[str, Sequence[int]] | None,
    target: str, environment: Sequence[str], meaning: str,
) -> list[Quantity]:
    """Return the declarations of a quantity and of its derivatives; see ``Dynamics.define``."""
    rules = _by_method(rule)
    declared = Quantity(
        name, tuple(inputs), rules, tuple(environment), target, meaning=meaning,
        shapes={key: tuple(int(n) for n in shape) for key, shape in (shapes or {}).items()},
        loops=OnLoops(rules))
    if derivative is None:
        return [declared]
    return [declared, replace(
        declared, name=f'{name}_derivatives', rules=_by_method(derivative),
        loops=OnLoops(instead=LINEARISED), meaning=f'partial derivatives of {name}')]


def _by_method(rule: Rule | Mapping[str, Rule]) -> Mapping[str, Rule]:
    return dict(rule) if isinstance(rule, Mapping) else {'rule': rule}


def check(
    quantity: Quantity, known: Mapping[str, tuple[int, ...]], library: Container[str],
) -> None:
    """
    Refuse a declaration that no kernel could be made of.

    :param known: shapes of the inputs that any quantity of the robot may name.
    :param library: names of quantities that the library has.
    """
    name, own = quantity.name, quantity.shapes
    if not (isinstance(name, str) and name.isascii() and name.isidentifier()):
        raise RbdError(f'a quantity cannot be named {name!r}: use letters, digits and underscores')
    if name in library:
        raise RbdError(f'"{name}" is a quantity of the library; choose another name')
    if not quantity.rules:
        raise RbdError(f'{name} has no rule; give a function that computes it from a state')
    for method, rule in quantity.rules.items():
        if not callable(rule):
            raise RbdError(f'rule "{method}" of {name} is {rule!r}: it must be a function of a '
                           'state')
    if quantity.target not in TARGETS:
        raise RbdError(f'target of {name} is {quantity.target!r}; it is one of '
                       f'{", ".join(TARGETS)}')
    for taken in sorted(own.keys() & known.keys()):
        raise RbdError(f'{name} declares the shape of {taken}, which every robot knows; choose '
                       'another name for an input of its own')
    for each in quantity.inputs:
        if each not in own and each not in known:
            raise RbdError(f'input {each} of {name} is not known: give its shape in shapes=, or '
                           f'take one of {", ".join(known)}')
    for each in quantity.environment:
        if each not in ENVIRONMENT or each in quantity.inputs:
            raise RbdError(f'environment of {name} holds {each!r}: it may hold gravity and time, '
                           'where they are not inputs')
