# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Compare every quantity of a robot with another library, state by state and as a batch.

Single states and batches have the same limits, see :mod:`rbd_ros.peers.deviation`: no error above
1e-10, and what is solved with the inertia matrix must satisfy the other library's equation of
motion to 1e-13.
"""

from __future__ import annotations

from collections.abc import Iterator
import math
import re
from typing import NamedTuple

import numpy as np

from rbd_ros.compiler import Array
from rbd_ros.dynamics.robot import Dynamics
from rbd_ros.errors import SingularError
from rbd_ros.model.model import Model
from rbd_ros.model.urdf.loader import SNAP_ANGLE
from rbd_ros.peers.deviation import (
    ACCELERATION, comparable, FORCE, INERTIA, judge, judge_solution, LIMIT, MOBILITY, Peer, PLAIN,
    residual_of_inverse, residual_of_motion, Units, Verdict, worst)


class States(NamedTuple):
    """Random states of one robot; first axis: the states."""

    q: Array
    qd: Array
    qdd: Array
    tau: Array
    f_ext: Array


def random_position(model: Model, rng: np.random.Generator) -> Array:
    """Return a random position in the independent coordinates, regardless of joint limits."""
    q = np.zeros(model.nq)
    for name in model.independent_joint_names:
        q[model.position_slice(name)] = model.joint[model.joint_index(name)].random(rng)
    return q


def random_states(model: Model, count: int, seed: int = 0) -> States:
    """Return states with arbitrary positions and everything else of order one."""
    rng = np.random.default_rng(seed)
    q = np.array([random_position(model, rng) for _ in range(count)])
    qd, qdd, tau = rng.normal(size=(3, count, model.nv))
    return States(q, qd, qdd, tau, rng.normal(size=(count, model.nb, 6)))


class Quantity(NamedTuple):
    """
    A quantity that both libraries can compute.

    :param label: its name in reports.
    :param method: name of the method that computes it.
    :param inputs: fields of ``States`` that it needs.
    :param kind: of its units, see :mod:`rbd_ros.peers.deviation`; accelerations and H^-1 are
        solved for.
    :param by: algorithm that our library is to use.
    :param of_frame: whether it belongs to a frame.
    """

    label: str
    method: str
    inputs: tuple[str, ...]
    kind: str = PLAIN
    by: str | None = None
    of_frame: bool = False

    @property
    def solved(self) -> bool:
        """Return whether it is solved with H."""
        return self.kind in (ACCELERATION, MOBILITY)


QUANTITIES = (
    Quantity('inverse dynamics', 'inverse_dynamics', ('q', 'qd', 'qdd'), FORCE),
    Quantity('inverse dynamics, f_ext', 'inverse_dynamics', ('q', 'qd', 'qdd', 'f_ext'), FORCE),
    Quantity('gravity', 'gravity', ('q',), FORCE),
    Quantity('bias', 'bias', ('q', 'qd'), FORCE),
    Quantity('mass matrix', 'mass_matrix', ('q',), INERTIA),
    Quantity('inverse mass matrix', 'inverse_mass_matrix', ('q',), MOBILITY),
    Quantity('forward dynamics', 'forward_dynamics', ('q', 'qd', 'tau'), ACCELERATION),
    Quantity('forward dynamics, crba', 'forward_dynamics', ('q', 'qd', 'tau'), ACCELERATION,
             'crba'),
    Quantity('forward dynamics, f_ext', 'forward_dynamics', ('q', 'qd', 'tau', 'f_ext'),
             ACCELERATION, 'aba'),
    Quantity('kinetic energy', 'kinetic_energy', ('q', 'qd')),
    Quantity('potential energy', 'potential_energy', ('q',)),
    Quantity('centre of mass', 'center_of_mass', ('q',)),
    Quantity('momentum', 'momentum', ('q', 'qd')),
    Quantity('frame pose', 'pose', ('q',), of_frame=True),
    Quantity('frame Jacobian', 'jacobian', ('q',), of_frame=True),
    Quantity('frame velocity', 'velocity', ('q', 'qd'), of_frame=True),
    Quantity('Jdot qd', 'jacobian_rate', ('q', 'qd'), of_frame=True),
)
MUJOCO_QUANTITIES = tuple(each for each in QUANTITIES if each.label in (
    'inverse dynamics', 'bias', 'mass matrix', 'forward dynamics'))


class Result(NamedTuple):
    """The outcome of one quantity on one robot."""

    label: str
    verdict: Verdict


def compare(
    robot: Dynamics, peer: Peer, states: States,
    quantities: tuple[Quantity, ...] = QUANTITIES, *, batch: bool = True, singular: bool = False,
) -> Iterator[Result]:
    """
    Yield the verdict on each quantity.

    :param batch: whether to compute all states in one call as well.
    :param singular: whether H of this robot is singular; then, and only then, every quantity that
        is solved for must be refused.
    """
    units = Units([peer.mass_matrix(q) for q in states.q])
    for quantity in quantities:
        frames = some_frames(robot.model) if quantity.of_frame else ('',)
        for frame in frames:
            try:
                verdict = _compare_one(robot, peer, states, units, quantity, frame, batch)
                if singular and quantity.solved:
                    verdict = Verdict(np.inf, 0.0, 'a singular robot was not refused')
            except SingularError as error:
                refused = singular and quantity.solved
                verdict = Verdict(0.0 if refused else np.inf, 1.0, str(error))
            yield Result(f'{quantity.label}, {frame}' if frame else quantity.label, verdict)


def _compare_one(
    robot: Dynamics, peer: Peer, states: States, units: Units,
    quantity: Quantity, frame: str, batch: bool,
) -> Verdict:
    options = {'method': quantity.by} if quantity.by else {}
    inputs = [getattr(states, name) for name in quantity.inputs]
    tail = (frame,) if frame else ()
    ask = getattr(robot, quantity.method)
    answer = getattr(peer, quantity.method)
    found = [np.array([ask(*row, *tail, **options) for row in zip(*inputs)])]
    if batch:
        found.append(np.asarray(ask(*inputs, *tail, **options)))
    theirs = np.array([answer(*row, *tail) for row in zip(*inputs)])
    if not all(comparable(ours, theirs) for ours in found):
        return Verdict(np.inf, LIMIT)
    if not quantity.solved:
        return worst([judge(ours, theirs, quantity.kind, units) for ours in found])
    return worst([judge_solution(ours, theirs, quantity.kind, units,
                                 _residual(quantity, ours, states, units, peer))
                  for ours in found])


def _residual(
    quantity: Quantity, ours: Array, states: States, units: Units,
    peer: Peer,
) -> tuple[Array, Array]:
    if quantity.kind == MOBILITY:
        return residual_of_inverse(ours, units)
    f_ext = states.f_ext if 'f_ext' in quantity.inputs else None
    return residual_of_motion(ours, units, peer, states.q, states.qd, states.tau, f_ext)


def some_frames(model: Model) -> tuple[str, ...]:
    """Return the last link of the deepest body, and a link about half-way."""
    depth = [len(path) for path in model.support]
    bodies = [int(np.argmax(depth)), (model.nb + 1) // 2]
    return tuple(dict.fromkeys(
        [name for name, frame in model.frames.items() if frame.body == body][-1]
        for body in bodies))


def peer_text(urdf: str) -> str:
    """
    Return a URDF with right angles as exact as ``load_urdf`` takes them.

    A file that writes pi as 3.14159265359 means pi, and ``load_urdf`` reads it as pi. Other
    libraries do not: their robot differs by 2e-13 rad, which is more than rounding.
    """
    def exact(attribute: re.Match[str]) -> str:
        try:
            angles = [float(word) for word in attribute[2].split()]
        except ValueError:
            return attribute[0]  # inside a comment
        turns = [round(angle / (0.5 * math.pi)) * (0.5 * math.pi) for angle in angles]
        words = [turn if abs(turn - angle) <= SNAP_ANGLE else angle
                 for turn, angle in zip(turns, angles)]
        return f'{attribute[1]}{" ".join(map(repr, words))}{attribute[3]}'
    return re.sub(r"""(\srpy\s*=\s*["'])([^"']*)(["'])""", exact, urdf)
