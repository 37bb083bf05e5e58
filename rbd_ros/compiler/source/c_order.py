# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Whether an expression has the same value in whatever order its operands are found.

C leaves the order open, Python does not. It makes a difference where one operand calls a
procedure, which may change what another one reads.
"""

from __future__ import annotations

from typing import Any

from rbd_ros.compiler.language.tree import (
    below, Call, Choice, Comparison, Element, Expression, Held, KernelCall, Logic, Number, Octets)


def operands(node: Expression) -> list[Any]:
    """Return the expressions that an expression is made of."""
    parts: list[Any] = []
    for each in node:
        parts += each if type(each) is tuple else [each]
    return [each for each in parts if hasattr(each, '_fields') and not isinstance(each, Held)]


def plain(node: Expression) -> bool:
    """Return whether nothing is called that may change a number."""
    return not any(isinstance(each, (Call, KernelCall)) for each in below(node))


def immune(node: Expression) -> bool:
    """Return whether no call can change its value, as it reads no memory."""
    return not any(isinstance(each, (Call, KernelCall, Number, Element, Octets))
                   for each in below(node))


def safe(node: Expression) -> bool:
    """Return whether C finds the same value in whatever order it takes the operands."""
    if plain(node):
        return True
    parts = operands(node)
    if isinstance(node, (Logic, Choice)):       # these have an order in C
        return all(safe(each) for each in parts)
    if isinstance(node, Comparison) and len(node.operations) > 1:
        return False        # the operand in the middle is written twice
    if isinstance(node, (Call, KernelCall)):
        return all(plain(each) for each in parts)
    return all(safe(each) for each in parts) and sum(not immune(each) for each in parts) < 2
