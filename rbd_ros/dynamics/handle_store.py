# Copyright 2026 the rbd_ros developers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""The inertia of many handles, by the method that suits the robot and the handles."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple, TYPE_CHECKING

import numpy as np

from rbd_ros.algorithms.handles.opspace import as_handles, Handle
from rbd_ros.dynamics.handle_inputs import mask_of
from rbd_ros.dynamics.kernel_store import HANDLES, KernelStore
from rbd_ros.dynamics.operational_space import (
    damped, HandleInertia, listed, refuse_redundant)
from rbd_ros.errors import SettingError, SingularError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from rbd_ros.dynamics.kernel_store import Call
    from rbd_ros.model.model import Model

    Array = NDArray[np.float64]
    Frames = str | Handle | Sequence[str | Handle]

#: The largest number of directions for which the kernel itself inverts Phi.
KERNEL_INVERSE = 30


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


class HandleStore(KernelStore):
    """Kernels of a robot, and the operational-space inertias of its handles."""

    def __init__(self, model: Model, **options: Any) -> None:
        super().__init__(model, **options)
        self._spaces = lru_cache(HANDLES)(self._space)

    def inverse_handle_inertia(
        self, q: ArrayLike, frames: Frames, *, method: str | None = 'auto',
        out: Array | None = None,
    ) -> Array:
        """
        Return Phi = J H^-1 J^T of one or more handles, which exists at every pose, (m, m).

        :param frames: as for ``operational_space``.
        :param method: ``'dense'`` (RBDA 7.2), ``'ltl'`` (branch-sparse factors, RBDA 6.5),
            ``'krj'``, ``'efpa'``, ``'pv'`` or ``'pvr'`` (articulated bodies; for robots without
            mimic joints); ``'auto'`` takes the one with the fewest operations for this robot and
            these handles.
        """
        space = self._spaces(
            cacheable(frames), 'inverse_handle_inertia', None, chosen(method))
        return space.call(q, out=out)

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
        space = self._spaces(cacheable(frames), 'handle_inertia', KERNEL_INVERSE, chosen(method))
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

    def _space(
        self, frames: Frames, name: str, limit: int | None, method: str | None,
    ) -> Space:
        """
        Return what is found once for a set of handles.

        :param name: quantity of up to ``limit`` directions; above, Phi or the projection is
            computed and the rest is left to LAPACK.
        """
        handles = as_handles(self.model, frames)
        few = limit is None or sum(len(handle.rows) for handle in handles) <= limit
        if not few:
            name = {'operational_space': 'projection'}.get(name, 'inverse_handle_inertia')
        carriers = {i for handle in handles for i in self.model.support[handle.frame.body]}
        if not any(self.model.joint[i].nv for i in carriers):
            raise SingularError(f'no joint moves {listed(handles)}: an operational space needs '
                                'handles on bodies that move')
        mask = mask_of(handles)
        return Space(handles, few, self._caller(self._item(name, handles, False, method)),
                     None if mask is None else np.array(mask, dtype=float))


def cacheable(frames: Frames) -> Frames:
    """Return frames in a form that a cache can keep."""
    return tuple(frames) if type(frames) is list else frames


def chosen(method: str | None) -> str | None:
    """Return a method, None where the choice is left open."""
    return None if method == 'auto' else method
