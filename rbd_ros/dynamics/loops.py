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

"""A compiled robot with closed loops: constraints, motion, and closed positions (RBDA 8)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple, TYPE_CHECKING

import numpy as np

from rbd_ros.algorithms.loops import closure, whole_system
from rbd_ros.algorithms.loops.loop_joints import joint_forces
from rbd_ros.algorithms.loops.motion import definite, METHODS, Nominal, REGULAR_PIVOT, solve
from rbd_ros.compiler import Argument
from rbd_ros.compiler.kernel import vector
from rbd_ros.dynamics.function_kernel import FunctionKernel
from rbd_ros.dynamics.kernel_store import KernelStore
from rbd_ros.dynamics.loop_rules import LARGE, suits_tree
from rbd_ros.dynamics.singular_inertia import massless_joint
from rbd_ros.dynamics.state import with_payloads
from rbd_ros.errors import ModelError, RbdError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from rbd_ros.dynamics.kernel_store import Call
    from rbd_ros.dynamics.quantity import Computation

    Array = NDArray[np.float64]


class LoopDynamics(NamedTuple):
    """
    Motion of a robot with closed loops, and the forces in its loop joints.

    :param qdd: accelerations, (nv,).
    :param multipliers: lambda, (n_c,); where constraints depend on others, one of many.
    :param forces: force of each loop joint on its successor, (loops, 6), in the coordinates of
        the joint's successor frame, angular first; undetermined where lambda is.
    :param rank: independent constraints at this position.
    :param residual: largest entry of K qdd - k, by which dependent constraints contradict.
    :param method: ``'regular'`` for the compiled solution, or that of ``loop_dynamics``.
    """

    qdd: Array
    multipliers: Array
    forces: Array
    rank: int
    residual: float
    method: str


class LoopMethods(KernelStore):
    """
    Quantities of robots with closed loops; for any other robot each method raises a ModelError.

    ``forward_dynamics`` takes the compiled solution for independent constraints, and goes on to
    the rank-revealing one of :func:`rbd_ros.algorithms.loops.motion.solve` where that is not
    regular: near a singularity, or where the mechanism has more or fewer freedoms than usual.
    """

    # --- constraints --------------------------------------------------------------------------

    def loop_jacobian(self, q: ArrayLike, *, out: Array | None = None) -> Array:
        """Return K: K qd = 0 for velocities that the loops allow (RBDA 8.19), (n_c, nv)."""
        return self._calls['loop_jacobian'](q, out=out)

    def loop_bias(self, q: ArrayLike, qd: ArrayLike, *, out: Array | None = None) -> Array:
        """Return k: K qdd = k for accelerations that the loops allow (RBDA 8.47), (n_c,)."""
        return self._calls['loop_bias'](q, qd, out=out)

    def loop_error(self, q: ArrayLike, *, out: Array | None = None) -> Array:
        """Return delta, by how much the loops are open, rad and m (RBDA 8.3), (n_c,)."""
        return self._calls['loop_error'](q, out=out)

    def loop_velocity(self, q: ArrayLike, qd: ArrayLike, *, out: Array | None = None) -> Array:
        """Return how fast the loops open: K qd, less what moves with time by itself, (n_c,)."""
        return self._calls['loop_velocity'](q, qd, out=out)

    def loop_drive(self, q: ArrayLike, loop_tau: ArrayLike, *, out: Array | None = None) -> Array:
        """
        Return tau^a, what drives or springs in loop joints do as joint forces (RBDA 8.31), (nv,).

        Add it to tau.

        :param loop_tau: generalised forces of all loop joints, one after the other.
        """
        return self._calls['loop_drive'](q, loop_tau, out=out)

    def bias_with_drives(
        self, q: ArrayLike, qd: ArrayLike, loop_tau: ArrayLike, *, out: Array | None = None,
    ) -> Array:
        """Return C - tau^a in one recursion (RBDA Table 8.3), (nv,)."""
        return self._calls['bias_with_drives'](q, qd, loop_tau, out=out)

    @cached_property
    def loop_report(self) -> closure.LoopReport:
        """
        Return mobility, number and rank of the constraints, clusters, and a closed position.

        :raises LoopError: for a mechanism that cannot be assembled, or cannot move.
        """
        return self._analysed[0]

    @cached_property
    def _analysed(self) -> tuple[closure.LoopReport, Nominal]:
        return closure.analyse(self.mechanism, self._closed_near)

    @cached_property
    def mechanism(self) -> closure.Mechanism:
        """Return the functions that :mod:`rbd_ros.algorithms.loops.closure` works with."""
        if not self.model.loops:
            raise ModelError(f'"{self.model.name}" has no closed loops; add a loop joint '
                             '(ModelBuilder.add_loop_joint or <loop_joint>)')
        # of many bodies H alone is a large kernel, and needed a few times only
        source = self if self.model.nv <= LARGE else self.sibling(backend='reference')
        return closure.Mechanism(
            self.model, source.loop_error, source.loop_jacobian, source._calls['mass_matrix'],
            lambda: float(self._common['time'][0]))

    def _nominal(self) -> Nominal:
        return self._analysed[1]

    # --- motion -------------------------------------------------------------------------------

    def set_stabilization(self, period: float | None) -> None:
        """
        Let loop errors die out in ``forward_dynamics`` by Baumgarte's method (RBDA 8.3).

        An error e then obeys e'' + 2 a e' + a^2 e = 0 with a = 1 / period.

        :param period: time constant T_stab, s, about as long as what matters in the motion: 0.1
            for an industrial robot. Shorter ones make the equations stiff, not more accurate.
            None for no stabilisation, which is the default.
        """
        if period is not None and not 0.0 < period < float('inf'):
            raise RbdError(f'period is {period}; it must be a positive number of seconds, or None')
        rate = 0.0 if period is None else 1.0 / period
        self._common['stabilization'][:] = 2.0 * rate, rate * rate                         # 8.22

    def loop_dynamics(
        self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, f_ext: ArrayLike | None = None, *,
        method: str = 'auto', rank: int | None = None,
    ) -> LoopDynamics:
        """
        Return accelerations, forces in the loop joints, and how they were found.

        :param tau: forces at the joints of the spanning tree, (nv,); see ``loop_drive``.
        :param method: ``'auto'`` for what ``forward_dynamics`` does; ``'direct'``,
            ``'multipliers'`` and ``'projection'`` for methods 1, 2 and 3 of RBDA 8.5 with a
            decision on the rank; ``'whole_system'`` for all bodies and joints at once (8.64).
        :param rank: that of the step before, near which the decision is kept.
        """
        if method not in ('auto', 'whole_system', *METHODS):
            raise RbdError(f'no method "{method}" for loops (known: auto, {", ".join(METHODS)}, '
                           'whole_system)')
        loads = () if f_ext is None else (f_ext,)
        if method == 'auto' and not self._massless and suits_tree(self.model):
            found = self._calls['loop_dynamics', None, bool(loads)](q, qd, tau, *loads)
            qdd, multipliers, forces, pivot, excess, residual = found
            if pivot[0] > REGULAR_PIVOT > excess[0]:
                return LoopDynamics(qdd, multipliers, forces, len(self._nominal().rows),
                                    float(residual[0]), 'regular')
        q, qd = vector('q', q, self.model.nq), vector('qd', qd, self.model.nv)
        tau = vector('tau', tau, self.model.nv)
        if method == 'whole_system':
            return self._whole_system(q, qd, tau, f_ext)
        return self._ranked(q, qd, tau, f_ext, method, rank)

    def _ranked(
        self, q: Array, qd: Array, tau: Array, f_ext: ArrayLike | None = None,
        method: str = 'auto', rank: int | None = None,
    ) -> LoopDynamics:
        """Return the motion with a decision on the rank."""
        C = self._calls['bias', None, f_ext is not None](
            *((q, qd) if f_ext is None else (q, qd, f_ext)))
        H, k = self.mechanism.inertia(q), self._stabilised(q, qd)
        if method == 'auto':
            # without inertia in some joint H has no inverse, but the loops may still decide
            method = 'multipliers' if definite(H) else 'projection'
        found = solve(H, tau - C, self.mechanism.jacobian(q), k, self._nominal().scale,
                      method=method, rank=rank, nominal=len(self._nominal().rows))
        return LoopDynamics(found.qdd, found.multipliers, self._forces(q, found.multipliers),
                            found.rank, found.residual, found.method)

    def _stabilised(self, q: Array, qd: Array) -> Array:
        """Return k with what ``set_stabilization`` asks for (8.22)."""
        two_alpha, beta_squared = self._common['stabilization'].tolist()
        return (self.loop_bias(q, qd) - two_alpha * self.loop_velocity(q, qd)
                - beta_squared * self.loop_error(q))

    def _whole_system(
        self, q: Array, qd: Array, tau: Array, f_ext: ArrayLike | None,
    ) -> LoopDynamics:
        """Return the motion of all bodies and joints at once."""
        two_alpha, beta_squared = self._common['stabilization'].tolist()
        found = whole_system.accelerations(
            self.model, q, qd, tau, f_ext, gravity=self._common['gravity'].tolist(),
            t=float(self._common['time'][0]),
            inertia=with_payloads(self.model, self._payload_frames, self._payloads.tolist()),
            stabilisation=(two_alpha, beta_squared))
        K, k = self.loop_jacobian(q), self._stabilised(q, qd)
        trees = found.constraints - self.model.loop_constraints
        return LoopDynamics(
            found.qdd, found.loop_multipliers, self._forces(q, found.loop_multipliers),
            found.rank - trees, float(np.abs(K @ found.qdd - k).max(initial=0.0)), 'whole_system')

    def _forces(self, q: Array, multipliers: Array) -> Array:
        """Return the forces of the loop joints on their successors."""
        forces = joint_forces(self.model, self.model.expand_q(q.tolist()), multipliers.tolist(),
                              float(self._common['time'][0]))
        return np.array([f.to_list() for f in forces], float)

    @cached_property
    def _massless(self) -> bool:
        """Return whether a joint moves without inertia, so that H has no inverse anywhere."""
        return massless_joint(self.model.spanning_tree) is not None

    def _caller(self, item: Computation, otherwise: Call | None = None) -> Call:
        if not self.model.loops or item.quantity.name != 'forward_dynamics':
            return super()._caller(item, otherwise)
        if self._massless:
            arguments = [Argument(name, self._shapes[name]) for name in item.inputs]
            return FunctionKernel(
                'forward_dynamics', arguments, Argument('qdd', (self.model.nv,)),
                lambda *state: self._ranked(*state).qdd).caller()
        call = super()._caller(item)

        def sure_call(*arrays: ArrayLike, out: Array | None = None) -> Array:
            if out is None:
                qdd: Array = call(*arrays)
            else:               # what is written over must be known, should the rank be decided
                if isinstance(out, np.ndarray):
                    arrays = tuple(np.array(x) if np.may_share_memory(np.asarray(x), out) else x
                                   for x in arrays)
                qdd = call(*arrays, out=out)
            first = qdd.item(0) if qdd.ndim == 1 else qdd.sum()
            return qdd if first == first else self._filled(qdd, arrays)
        return sure_call

    def _filled(self, qdd: Array, arrays: Sequence[ArrayLike]) -> Array:
        """Return accelerations with those found that the regular solution has left open."""
        model = self.model
        shapes = ((model.nq,), (model.nv,), (model.nv,), (model.nb, 6))
        rows = [np.broadcast_to(np.asarray(x, float), (*qdd.shape[:-1], *shape))
                for x, shape in zip(arrays, shapes)]
        for at in np.argwhere(np.isnan(qdd[..., 0])).tolist():
            place = tuple(at)
            state = [np.ascontiguousarray(row[place]) for row in rows]
            f_ext = state[3] if len(state) == 4 else None
            qdd[place] = self._ranked(state[0], state[1], state[2], f_ext).qdd
        return qdd

    # --- closed positions ---------------------------------------------------------------------

    def assemble(self, q: ArrayLike, fixed: Sequence[str] = ()) -> closure.Assembly:
        """
        Return a position near q that closes all loops, within the joint limits.

        ``robot.assemble(q).require()`` is the position, or an error that names the open loop.

        :param fixed: names of joints that stay where they are.
        """
        return closure.assemble(self.mechanism, vector('q', q, self.model.nq), fixed)

    def assemblies(
        self, q: ArrayLike, fixed: Sequence[str] = (), *, starts: int = closure.STARTS,
        seed: int = 0,
    ) -> list[Array]:
        """
        Return the different closed positions found from q and random starts, nearest to q first.

        :param fixed: names of joints that stay where they are; with as many as the mechanism has
            freedoms, the answers are its assembly modes.
        """
        return closure.assemblies(
            self.mechanism, vector('q', q, self.model.nq), fixed, starts=starts, seed=seed)

    def consistent_velocity(self, q: ArrayLike, qd: ArrayLike) -> Array:
        """Return the velocity nearest to qd, in the metric of H, that the loops allow, (nv,)."""
        q, qd = vector('q', q, self.model.nq), vector('qd', qd, self.model.nv)
        K = self.mechanism.jacobian(q)
        right = K @ qd - self.loop_velocity(q, qd)
        return closure.nearest_motion(
            self.mechanism.inertia(q), K, right, qd, len(self._nominal().rows))

    def consistent_acceleration(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Array:
        """Return the acceleration nearest to qdd, in the metric of H, that the loops allow."""
        q, qd = vector('q', q, self.model.nq), vector('qd', qd, self.model.nv)
        qdd = vector('qdd', qdd, self.model.nv)
        return closure.nearest_motion(
            self.mechanism.inertia(q), self.mechanism.jacobian(q), self.loop_bias(q, qd), qdd,
            len(self._nominal().rows))
