# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The operational space of handles, by the method that suits the robot and the handles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rbd_ros.algorithms.handles.opspace import as_handles, FULL, Handle
from rbd_ros.compiler import Array
from rbd_ros.compiler.arguments import vector
from rbd_ros.dynamics.families.handles import rules
from rbd_ros.dynamics.families.handles.results import (
    bound, damped, HandleInertia, invert, listed, OperationalSpace, refuse_redundant,
    refuse_singular, TRUSTED_CONDITION)
from rbd_ros.dynamics.families.tree import GRAVITY, Q, QD
from rbd_ros.dynamics.handle_inputs import mask_of
from rbd_ros.dynamics.kernels.family import Family
from rbd_ros.dynamics.kernels.store import KernelStore
from rbd_ros.dynamics.quantity import Call, Choice, OnLoops, Quantity, Traits
from rbd_ros.errors import RbdError, SettingError, SingularError
from rbd_ros.model.model import Frame
from rbd_ros.spatial import Transform, Vec3

Frames = str | Handle | Sequence[str | Handle]

#: The largest number of directions whose eigenvalues are found inside the kernel.
KERNEL_ROWS = 6
#: The largest number of directions for which the kernel itself inverts Phi.
KERNEL_INVERSE = 30
NO_BOUND = bound(None)
_new = tuple.__new__        # of a named tuple, without the named arguments

# --- rows of the table ----------------------------------------------------------------------

_SOLVES = Traits(solves='joints')
_FEW = Choice(where=rules.WHERE, compared=('ltl', 'pv'), worth={'pv': rules.is_long})
_MANY = Choice(where=rules.WHERE, compared=rules.COMPARED)
_TREES = OnLoops(instead='operational_space, which knows loops')

PROJECTION = Quantity(
    'projection', QD, environment=GRAVITY, target='handles', rules=rules.PROJECTION, choice=_FEW,
    loops=OnLoops({'ltl': rules.projection_with_loops}, environment=('stabilization',),
                  regular=True),
    traits=_SOLVES,
    meaning='Phi, b, J and H^-1 J^T of some handles: all that needs no inverse of Phi')
OPERATIONAL_SPACE = Quantity(
    'operational_space', (*QD, 'max_condition'), environment=GRAVITY, target='handles',
    rules=rules.SPACE, choice=_FEW,
    loops=OnLoops({'ltl': rules.operational_space_with_loops}, environment=('stabilization',),
                  regular=True),
    traits=_SOLVES,
    meaning='operational-space inertia of some handles and what belongs to it (RBDA 7.2)')
INVERSE_HANDLE_INERTIA = Quantity(
    'inverse_handle_inertia', Q, target='handles', rules=rules.INVERSE, choice=_MANY,
    loops=_TREES, traits=_SOLVES, meaning='Phi = J H^-1 J^T of many handles (RBDA 7.9)')
HANDLE_INERTIA = Quantity(
    'handle_inertia', (*Q, 'damping'), target='handles', rules=rules.INERTIA, choice=_MANY,
    shapes={'damping': (1,)}, loops=_TREES, traits=_SOLVES,
    meaning='Lambda = (Phi + damping 1)^-1 of many handles, and Phi')

# --- methods --------------------------------------------------------------------------------


class Space(NamedTuple):
    """
    What is found once for a set of handles.

    :param few: whether the kernel itself solves for Lambda.
    :param mask: of the directions, where it does not.
    """

    handles: tuple[Handle, ...]
    few: bool
    call: Call
    mask: Array | None


class HandleMethods(Family):
    """Handles, and the operational space of one or more."""

    @cached_property
    def _spaces(self) -> Callable[..., Space]:
        return self._store.remembered(find_space)

    def handle(
        self, frame: str, *, point: ArrayLike = (0.0, 0.0, 0.0),
        rows: Sequence[Sequence[float]] = FULL, mask: Sequence[float] | None = None,
    ) -> Handle:
        """
        Return a handle for ``operational_space``: a frame, moved to a point, and directions.

        :param frame: name of a frame of the model.
        :param point: origin of the handle in that frame, m.
        :param rows: directions of motion that count, six numbers each, angular first; the last
            three of the default (``rows=rbd_ros.POINT``) make the handle a 3-D point.
        :param mask: for each direction 1, or 0 where it does not count now, such as at a foot in
            the air: results keep their shape, with zeros there. Handles that differ in their
            masks alone share a kernel.
        """
        base = self.model.frame(frame)
        origin = vector('point', point, 3).tolist()
        shifted = Transform.translation(Vec3(*origin)) @ base.placement
        directions = tuple(tuple(vector('rows', row, 6).tolist()) for row in rows)
        name = f'{frame} at {origin}' if any(origin) else frame
        if mask is None:
            return Handle(Frame(name, base.body, shifted), directions)
        flags = vector('mask', mask, len(directions))
        if not np.isin(flags, (0.0, 1.0)).all():
            raise RbdError(f'mask of the handle at "{frame}" is {flags.tolist()}; each entry must '
                           'be 0 or 1')
        return Handle(Frame(name, base.body, shifted), directions, tuple(flags.tolist()))

    def operational_space(
        self, q: ArrayLike, qd: ArrayLike, frames: Frames, *,
        max_condition: float | None = None, method: str | None = 'auto',
    ) -> OperationalSpace:
        """
        Return the operational-space inertia of one or more handles, and all that goes with it.

        At a singular pose some direction of the handles cannot be accelerated and Lambda does
        not exist. Without ``max_condition`` that is an error. With it, eigenvalues of Phi below
        1/max_condition of the largest are raised to that value: Lambda stays bounded, and
        ``condition`` shows by how much the bound was passed.

        :param frames: name of a frame (all six directions), or handles; several are stacked.
        :param max_condition: largest condition number of Phi that Lambda may show.
        :param method: ``'ltl'`` (projection, RBDA 7.2, by the factors of RBDA 6.5), ``'krj'``,
            ``'efpa'``, ``'pv'`` or ``'pvr'`` (articulated bodies; for robots without mimic
            joints); ``'auto'`` takes the cheaper one of ``'ltl'`` and ``'pv'``.
        """
        space = self._spaces(
            cacheable(frames), OPERATIONAL_SPACE, KERNEL_ROWS, chosen(method))
        limit = NO_BOUND if max_condition is None else bound(float(max_condition))
        if space.few:
            Lambda, bias, J, J_bar, condition, Phi, b = space.call(q, qd, limit)
        else:
            Lambda, bias, J, J_bar, condition, Phi, b = invert(
                space.call(q, qd), limit[0], space.mask)
        if condition.ndim == 1:         # one state: what follows costs as much as the rest
            size = condition.item()
            if not size <= TRUSTED_CONDITION:
                refuse_singular(space.handles, condition, bounded=max_condition is not None)
            return _new(OperationalSpace, (Lambda, bias, J, J_bar, size, Phi, b))
        refuse_singular(space.handles, condition, bounded=max_condition is not None)
        return OperationalSpace(Lambda, bias, J, J_bar, condition[:, 0], Phi, b)

    def inverse_handle_inertia(
        self, q: ArrayLike, frames: Frames, *, method: str | None = 'auto',
        out: Array | None = None,
    ) -> Array:
        """
        Return Phi = J H^-1 J^T of one or more handles, which exists wherever H^-1 does, (m, m).

        :param frames: as for ``operational_space``.
        :param method: ``'dense'`` (RBDA 7.2), ``'ltl'`` (branch-sparse factors, RBDA 6.5),
            ``'krj'``, ``'efpa'``, ``'pv'`` or ``'pvr'`` (articulated bodies; for robots without
            mimic joints); ``'auto'`` takes the one with the fewest operations for this robot and
            these handles.
        """
        space = self._spaces(
            cacheable(frames), INVERSE_HANDLE_INERTIA, None, chosen(method))
        Phi = space.call(q, out=out)
        if not np.isfinite(Phi).all():
            raise SingularError(f'the inverse inertia of {listed(space.handles)} does not exist '
                                'at this pose: some motion of the joints moves nothing with '
                                'inertia; give inertia to the links between them')
        return Phi

    def handle_inertia(
        self, q: ArrayLike, frames: Frames, *, damping: float = 0.0,
        method: str | None = 'auto',
    ) -> HandleInertia:
        """
        Return Lambda of one or more handles: what ``operational_space`` returns of it, for less.

        Redundant handles, such as two on one body, or one that a joint is missing for, have no
        Lambda. Without damping that is an error; with it, the result shows what was lost.

        :param frames: as for ``operational_space``.
        :param damping: what is added to the diagonal of Phi, 1/kg.
        :param method: as for ``inverse_handle_inertia``.
        """
        if not 0.0 <= damping < np.inf:
            raise SettingError(f'damping is {damping}; it must be zero or positive, and finite')
        space = self._spaces(cacheable(frames), HANDLE_INERTIA, KERNEL_INVERSE,
                             chosen(method))
        if not space.few:
            Phi = space.call(q)
            Lambda = damped(Phi, damping, space.mask)
        else:
            try:
                Lambda, Phi = space.call(q, (damping,))
            except SingularError:           # of the uncompiled rules, which divide as they go
                Phi = self.inverse_handle_inertia(q, frames, method=method)
                Lambda = damped(Phi, damping, space.mask)
        refuse_redundant(space.handles, Lambda, Phi)
        return HandleInertia(Lambda, Phi, float(damping), space.handles)


def find_space(
    store: KernelStore, frames: Frames, quantity: Quantity, limit: int | None,
    method: str | None,
) -> Space:
    """
    Return what is found once for a set of handles.

    :param quantity: of up to ``limit`` directions; above, Phi or the projection is computed and
        the rest is left to LAPACK.
    """
    handles = as_handles(store.model, frames)
    few = limit is None or sum(len(handle.rows) for handle in handles) <= limit
    if not few:
        quantity = PROJECTION if quantity is OPERATIONAL_SPACE else INVERSE_HANDLE_INERTIA
    carriers = {i for handle in handles for i in store.model.support[handle.frame.body]}
    if not any(store.model.joint[i].nv for i in carriers):
        raise SingularError(f'no joint moves {listed(handles)}: an operational space needs '
                            'handles on bodies that move')
    mask = mask_of(handles)
    return Space(handles, few, store.call_of(store.item(quantity, handles, False, method)),
                 None if mask is None else np.array(mask, dtype=float))


def cacheable(frames: Frames) -> Frames:
    """Return frames in a form that a cache can keep."""
    return tuple(frames) if type(frames) is list else frames


def chosen(method: str | None) -> str | None:
    """Return a method, None where the choice is left open."""
    return None if method == 'auto' else method
