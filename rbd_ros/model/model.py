# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The system model (RBDA 4.6, Table 4.3): everything that algorithms know of a robot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import dataclasses
from dataclasses import dataclass
from functools import cached_property
import math
from types import MappingProxyType
from typing import NoReturn, TypeVar

from rbd_ros.compiler.content_digest import digest, look, Seen
from rbd_ros.errors import ModelError, UnknownName, UnseenError
from rbd_ros.joints import Joint
from rbd_ros.model import connectivity
from rbd_ros.model.coupled_coordinates import CoupledCoordinates
from rbd_ros.model.coupling import Coupling
from rbd_ros.model.loop_structure import LoopStructure, offsets
from rbd_ros.model.parts import Frame, LoopJoint
from rbd_ros.spatial import RigidInertia, Transform

__all__ = ['Frame', 'gravity_vector', 'LoopJoint', 'Model']

Entry = TypeVar('Entry')
#: properties with one number per velocity variable
PER_VELOCITY = ('effort_limit', 'velocity_limit', 'friction', 'damping', 'rotor_inertia',
                'gear_ratio')


@dataclass(frozen=True, eq=False)
class Model(LoopStructure, CoupledCoordinates):
    """
    An immutable robot; build one with :class:`rbd_ros.ModelBuilder` or ``load_urdf``.

    Body 0 is the fixed base, bodies 1..nb move, and ``parent[i] < i``. Entry 0 of ``parent``
    and ``joint`` is a placeholder; ``inertia[0]`` is what is fixed to the base, which no
    algorithm uses. ``joint_names[i - 1]`` is the joint that carries body i. Joints without
    freedom do not appear: what they carry is part of the body before them, and its frame is
    in ``frames``.

    ``q`` and ``v`` of the public interface are the independent coordinates (``nq``, ``nv``);
    they are the coordinates of the joints (``tree_nq``, ``tree_nv``) unless ``coupling`` is set.
    Limits, friction, damping and rotor inertia belong to the independent coordinates, in SI
    units, with infinity for "no limit". ``rotor_inertia`` is the rotor as the joint feels it
    (its inertia times ``gear_ratio`` squared).
    """

    name: str
    parent: tuple[int, ...]
    joint: tuple[Joint, ...]
    X_T: tuple[Transform, ...]
    inertia: tuple[RigidInertia, ...]
    body_names: tuple[str, ...]
    joint_names: tuple[str, ...]
    frames: Mapping[str, Frame]
    lower: tuple[float, ...]
    upper: tuple[float, ...]
    effort_limit: tuple[float, ...]
    velocity_limit: tuple[float, ...]
    friction: tuple[float, ...]
    damping: tuple[float, ...]
    rotor_inertia: tuple[float, ...]
    gear_ratio: tuple[float, ...]
    gravity: tuple[float, float, float] = (0.0, 0.0, -9.81)
    coupling: Coupling | None = None
    loops: tuple[LoopJoint, ...] = ()

    def __post_init__(self) -> None:
        """Refuse what would make an algorithm fail far from the cause."""
        if not connectivity.is_regular(self.parent):
            raise ModelError(f'"{self.name}": parents {self.parent} are not numbered so that '
                             'each comes before its children; use ModelBuilder')
        self._keep_plain()
        sizes = {'joint': self.nb + 1, 'X_T': self.nb + 1, 'inertia': self.nb + 1,
                 'body_names': self.nb + 1, 'joint_names': self.nb, 'gravity': 3,
                 'lower': self.nq, 'upper': self.nq}
        for entry in PER_VELOCITY:
            sizes[entry] = self.nv
        for entry, size in sizes.items():
            if len(getattr(self, entry)) != size:
                raise ModelError(f'"{self.name}": {entry} has {len(getattr(self, entry))} '
                                 f'entries, the model needs {size}')

    def _keep_plain(self) -> None:
        """Copy what could be changed from outside: the digest must stay true."""
        def put(entry: str, value: object) -> None:
            object.__setattr__(self, entry, value)
        for entry in ('parent', 'joint', 'X_T', 'inertia', 'body_names', 'joint_names', 'loops'):
            put(entry, tuple(getattr(self, entry)))
        for entry in ('lower', 'upper', *PER_VELOCITY):
            put(entry, tuple(map(float, getattr(self, entry))))
        put('gravity', gravity_vector(self.gravity))
        put('frames', MappingProxyType(dict(self.frames)))

    def __getstate__(self) -> dict[str, object]:
        """Return the fields alone: the rest is derived, and a proxy does not pickle."""
        state = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return state | {'frames': dict(self.frames)}

    def __setstate__(self, state: dict[str, object]) -> None:
        """Restore the fields without running the checks again."""
        self.__dict__.update(state)
        object.__setattr__(self, 'frames', MappingProxyType(dict(self.frames)))

    def __eq__(self, other: object) -> bool:
        """Return whether both are the same robot to the last bit, the code of joints included."""
        return self is other or (isinstance(other, Model) and self.gravity == other.gravity
                                 and self._seen == other._seen)

    def __hash__(self) -> int:
        """Return a hash of what no code of a user can change."""
        return hash((self.name, self.parent, self.joint_names, self.body_names))

    def __repr__(self) -> str:
        """Return a line that distinguishes robots."""
        loops = f', {len(self.loops)} loops' if self.loops else ''
        return f'<Model "{self.name}": {self.nb} bodies, nq = {self.nq}, nv = {self.nv}{loops}>'

    # --- sizes and index sets -------------------------------------------------------------

    @cached_property
    def nb(self) -> int:
        """Return the number of movable bodies N_B."""
        return len(self.parent) - 1

    @cached_property
    def q_index(self) -> tuple[slice, ...]:
        """Return per body the slice of its joint in the tree position vector."""
        return offsets([0, *(joint.nq for joint in self.joint[1:])])

    @cached_property
    def v_index(self) -> tuple[slice, ...]:
        """Return per body the slice of its joint in the tree velocity vector."""
        return offsets([0, *(joint.nv for joint in self.joint[1:])])

    @cached_property
    def tree_nq(self) -> int:
        """Return the number of joint positions, followers included."""
        return self.q_index[-1].stop

    @cached_property
    def tree_nv(self) -> int:
        """Return the number of joint velocities, followers included."""
        return self.v_index[-1].stop

    @cached_property
    def nq(self) -> int:
        """Return the number of independent positions."""
        return self.tree_nq if self.coupling is None else self.coupling.nq

    @cached_property
    def nv(self) -> int:
        """Return the number of independent velocities: the degrees of freedom of the tree."""
        return self.tree_nv if self.coupling is None else self.coupling.nv

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """Return mu(i) for every body."""
        return connectivity.children_of(self.parent)

    @cached_property
    def support(self) -> tuple[tuple[int, ...], ...]:
        """Return kappa(i): the joints between base and body i."""
        return connectivity.support_of(self.parent)

    @cached_property
    def subtree(self) -> tuple[tuple[int, ...], ...]:
        """Return nu(i): body i and all it carries; entry 0 holds every body."""
        return connectivity.subtree_of(self.parent)

    @cached_property
    def expanded_parent(self) -> tuple[int, ...]:
        """Return lambda' over the tree velocities, 0-based, -1 at the root."""
        return connectivity.expanded_parent(self.parent, [0, *(j.nv for j in self.joint[1:])])

    @cached_property
    def time_dependent(self) -> bool:
        """Return whether any joint, loop joints among them, moves with time (RBDA 3.5)."""
        return any(joint.time_dependent
                   for joint in (*self.joint[1:], *(loop.joint for loop in self.loops)))

    @cached_property
    def total_mass(self) -> float:
        """Return the mass of all that moves; what is fixed to the base does not count."""
        return sum((float(inertia.m) for inertia in self.inertia[1:]), 0.0)

    @cached_property
    def spanning_tree(self) -> Model:
        """Return the robot without its loop joints: the tree whose H and C the loops constrain."""
        return dataclasses.replace(self, loops=()) if self.loops else self

    # --- names ----------------------------------------------------------------------------

    @property
    def frame_names(self) -> tuple[str, ...]:
        """Return the names of all frames, links first in body order."""
        return tuple(self.frames)

    @cached_property
    def independent_joint_names(self) -> tuple[str, ...]:
        """Return the joints that own coordinates: all but those that mimic another."""
        return tuple(name for name in self.joint_names if self._owned[name][1] is not None)

    @cached_property
    def looped_joints(self) -> tuple[str, ...]:
        """Return the names of the independent joints that loops connect with each other."""
        moved = set[int]().union(*(self._moved_by(path) for path in self.loop_paths))
        return tuple(name for name in self.independent_joint_names
                     if self.joint_index(name) in moved)

    def joint_index(self, name: str) -> int:
        """Return the index of the body that a joint carries."""
        return self._lookup('joint', name, self._joint_numbers)

    def body_index(self, name: str) -> int:
        """Return the index of a movable body (0 for the base) by name."""
        return self._lookup('body', name, self._body_numbers)

    def frame(self, name: str) -> Frame:
        """Return a frame by name."""
        return self._lookup('frame', name, self.frames)

    def position_slice(self, joint: str) -> slice:
        """Return where the positions of a joint are in q; a mimic joint has none."""
        return self._slices(joint)[0]

    def velocity_slice(self, joint: str) -> slice:
        """Return where the velocities of a joint are in v; a mimic joint has none."""
        return self._slices(joint)[1]

    def velocity_order(self, names: Sequence[str]) -> list[int]:
        """
        Return indices that pick from v the coordinates of named joints, in their order.

        ``v[model.velocity_order(names)]`` is v as another library or message orders it.
        """
        return [k for name in names for k in _range(self.velocity_slice(name))]

    def position_order(self, names: Sequence[str]) -> list[int]:
        """Return indices that pick from q the coordinates of named joints, in their order."""
        return [k for name in names for k in _range(self.position_slice(name))]

    @cached_property
    def _joint_numbers(self) -> dict[str, int]:
        return {name: i + 1 for i, name in enumerate(self.joint_names)}

    @cached_property
    def _body_numbers(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.body_names)}

    @cached_property
    def _owned(self) -> dict[str, tuple[slice | None, slice | None]]:
        """Return per joint the slices of its own independent coordinates, if it has them."""
        owned: dict[str, tuple[slice | None, slice | None]] = {}
        q = v = 0
        for i, name in enumerate(self.joint_names, 1):
            joint = self.joint[i]
            if self.coupling is not None and i in self.coupling.followers:
                owned[name] = (None, None)
                continue
            owned[name] = (slice(q, q + joint.nq), slice(v, v + joint.nv))
            q, v = q + joint.nq, v + joint.nv
        return owned

    def _slices(self, name: str) -> tuple[slice, slice]:
        own_q, own_v = self._lookup('joint', name, self._owned)
        if own_q is None or own_v is None:
            raise ModelError(f'joint "{name}" mimics another and has no coordinate of its own')
        return own_q, own_v

    def _lookup(self, kind: str, name: str, table: Mapping[str, Entry]) -> Entry:
        try:
            return table[name]
        except KeyError:
            raise UnknownName(kind, name, table) from None

    # --- variants and identity ------------------------------------------------------------

    def with_gravity(self, gravity: Sequence[float]) -> Model:
        """Return the same robot under another gravity, m/s^2 in base coordinates."""
        return dataclasses.replace(self, gravity=gravity_vector(gravity))

    def digest(self, *, gravity: bool = True) -> str:
        """
        Return a digest of the whole model, equal in every process.

        :param gravity: False for code that takes gravity as an input.
        :raises UnseenError: for a robot with joints of a user's own: their code may read anything.
        """
        if self.has_user_code:
            raise UnseenError(self.name, 'it has a joint of code that is not of this package')
        return digest(self._seen.text, tuple(self.gravity)) if gravity else self._seen.text

    @property
    def has_user_code(self) -> bool:
        """Return whether a joint runs code that is not this package's."""
        return self._seen.foreign

    @property
    def _seen(self) -> Seen:
        """Return what everything but gravity looks like; a user's joint may change."""
        return self._look() if self._looked.foreign else self._looked

    @cached_property
    def _looked(self) -> Seen:
        return self._look()

    def _look(self) -> Seen:
        state = self.__getstate__()
        del state['gravity']
        return look(state)


class Gravity(tuple[float, float, float]):
    """Three numbers in m/s^2, which say where torques are to be had when they are called."""

    __slots__ = ()

    def __call__(self, *arguments: object) -> NoReturn:
        """Refuse a call meant for the compiled robot."""
        raise TypeError('the gravity of a model is a vector in m/s^2; torques against gravity are '
                        'rbd_ros.Dynamics(model).gravity(q), or rbd_ros.gravity(model, q)')


def gravity_vector(gravity: Sequence[float]) -> tuple[float, float, float]:
    """Return gravity as plain floats, or refuse what is not three finite numbers."""
    vector = tuple(float(g) for g in gravity)
    if len(vector) != 3 or not all(map(math.isfinite, vector)):
        raise ModelError(f'gravity {vector} must be three finite numbers in m/s^2')
    return Gravity(vector)


def _range(part: slice) -> range:
    return range(part.start, part.stop)
