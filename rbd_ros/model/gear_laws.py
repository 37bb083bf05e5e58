# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Laws by which joints follow others, composed down to the joints that move freely (RBDA 9.6)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from rbd_ros.compiler import Expr, Scalar, trace, Values
from rbd_ros.errors import ModelError
from rbd_ros.model.coupling import Affine, Gear, Mimic, partials


class Composed(NamedTuple):
    """A linear law over joints that move freely: weight of each, and an offset."""

    weights: dict[str, float]
    offset: float


def compose(laws: Mapping[str, Mimic | Gear]) -> dict[str, Composed | None]:
    """
    Follow chains of linear laws down to the joints that move freely.

    :param laws: what each following joint follows.
    :returns: the same joints, each after those that it follows; None for one that does not
        follow linearly, by its own law or by another's on the way.
    :raises ModelError: for a joint that follows itself through others.
    """
    composed: dict[str, Composed | None] = {}
    for name in _in_order(laws):
        affine = _affine(name, laws[name])
        weights: dict[str, float] = {}
        offset = 0.0 if affine is None else affine.offset
        for weight, source in zip(affine.weights if affine else (), laws[name].joints):
            leader = composed[source] if source in laws else Composed({source: 1.0}, 0.0)
            if leader is None:
                affine = None
                break
            offset += weight * leader.offset
            for joint, factor in leader.weights.items():
                weights[joint] = weights.get(joint, 0.0) + weight * factor
        composed[name] = None if affine is None else Composed(weights, offset)
    return composed


def _affine(name: str, law: Mimic | Gear) -> Affine | None:
    """Return a law as weights and offset, None where its slopes depend on the position."""
    if isinstance(law, Mimic):
        return Affine((law.multiplier,), law.offset)
    n = len(law.joints)
    slopes: list[Scalar] = []

    def look(x: Values) -> dict[str, list[Scalar]]:
        slopes.extend(partials(law.function, x))
        return {'f': [law.function(*x)]}
    try:
        graph = trace(look, {'x': (n,)})
    except Exception as error:
        raise ModelError(f'joint "{name}": its gear cannot be compiled: {error}; write a function '
                         f'of {n} positions with the functions of rbd_ros.compiler (sin, cos, '
                         'where, ...)') from error
    if any(isinstance(slope, Expr) for slope in slopes):
        return None
    return Affine(tuple(float(slope) for slope in slopes), float(graph.evaluate([0.0] * n)[0]))


def _in_order(laws: Mapping[str, Mimic | Gear]) -> list[str]:
    """Return the following joints, each after those that it follows, or refuse a cycle."""
    done: dict[str, None] = {}
    for name in laws:
        chain: dict[str, list[str]] = {} if name in done else {name: list(laws[name].joints)}
        while chain:
            joint, left = next(reversed(chain.items()))
            if not left:
                del chain[joint]
                done[joint] = None
                continue
            leader = left.pop(0)
            if leader in chain:
                names = list(chain)
                ring = ' -> '.join([*names[names.index(leader):], leader])
                raise ModelError(f'joints follow each other in a cycle: {ring}; '
                                 'one of them must move freely')
            if leader in laws and leader not in done:
                chain[leader] = list(laws[leader].joints)
    return list(done)
