# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Build a Model from bodies and joints given in any order (RBDA 4.1, 4.2).

The builder finds the spanning tree, numbers it regularly, turns joints that point towards
the base around, merges bodies behind fixed joints into the body before them (keeping their
frames), and makes loop joints of the joints that close loops.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from rbd_ros.errors import LoopError, ModelError, UnknownName
from rbd_ros.joints import Fixed, Joint, Reversed
from rbd_ros.model.coupling import Gear, Mimic
from rbd_ros.model.independent import Arc, independent, JointData
from rbd_ros.model.model import Frame, gravity_vector, LoopJoint, Model
from rbd_ros.model.sound_numbers import floats, sound_inertia, sound_placement
from rbd_ros.model.spanning_trees import minimum_depth, spanning_tree
from rbd_ros.spatial import RigidInertia, Transform


@dataclass
class _Tree:
    """The arrays of the model while they grow; ``place`` maps nodes to (body, ^nodeX_body)."""

    parent: list[int] = field(default_factory=lambda: [-1])
    joint: list[Joint] = field(default_factory=lambda: [Fixed()])
    X_T: list[Transform] = field(default_factory=lambda: [Transform.identity()])
    arcs: list[Arc] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    inertia: list[RigidInertia] = field(default_factory=list)
    place: dict[int, tuple[int, Transform]] = field(default_factory=dict)


class ModelBuilder:
    """
    Collect bodies, joints and frames by name, then ``build()`` the immutable model.

    :param name: the robot's name.
    :param base_name: the name of the fixed base, body 0.
    :param gravity: acceleration of free fall in base coordinates, m/s^2.
    :param base_inertia: of what is fixed to the base, in the base's frame.
    :param doubtful_inertias: accept inertias with a negative moment, as ``load_urdf`` does with a
        warning, since robots in use are described with them.
    """

    def __init__(self, name: str = 'robot', *, base_name: str = 'base',
                 gravity: Sequence[float] = (0.0, 0.0, -9.81),
                 base_inertia: RigidInertia | None = None,
                 doubtful_inertias: bool = False) -> None:
        self._name = name
        self._gravity = gravity_vector(gravity)
        self._nodes: dict[str, int] = {base_name: 0}
        self._doubtful = doubtful_inertias
        self._inertias = [self._inertia(base_inertia, base_name)]
        self._arcs: dict[str, Arc] = {}
        self._frames: dict[str, tuple[int, Transform]] = {}
        self._closing: set[str] = set()

    def add_body(self, name: str, parent: str | None = None, joint: Joint | None = None,
                 placement: Transform | None = None, inertia: RigidInertia | None = None, *,
                 joint_name: str | None = None, data: JointData | None = None,
                 mimic: Mimic | Gear | None = None) -> ModelBuilder:
        """
        Add a body and, if a parent is named, the joint that carries it.

        :param name: the body's name; its frame can be looked up under it.
        :param parent: name of a body or frame; None for a body that ``add_joint`` connects.
        :param joint: joint model from parent to body; None for a fixed one.
        :param placement: X_T, from parent coordinates to the joint's frame; None if the same.
        :param inertia: in the body's own frame; None for a massless body.
        :param joint_name: name of the joint, by default ``<name>_joint``.
        :param data: limits, friction and so on of the joint.
        :param mimic: the joint this one follows, or the gear by which it follows several.
        :returns: the builder itself.
        """
        self._claim(name)
        if parent is not None:
            self._find(parent)
        sound = self._inertia(inertia, name)
        self._nodes[name] = len(self._nodes)
        self._inertias.append(sound)
        if parent is not None:
            self.add_joint(joint_name or f'{name}_joint', parent, name, joint or Fixed(),
                           placement, data=data, mimic=mimic)
        return self

    def add_joint(self, name: str, predecessor: str, successor: str, joint: Joint,
                  X_P: Transform | None = None, X_S: Transform | None = None, *,
                  data: JointData | None = None,
                  mimic: Mimic | Gear | None = None) -> ModelBuilder:
        """
        Connect two bodies (or frames) by a joint; one that closes a loop is a loop joint.

        :param X_P: from predecessor coordinates to the joint's frame there; None if the same.
        :param X_S: from successor coordinates to the joint's frame there; None if the same.
        :returns: the builder itself.
        """
        if name in self._arcs:
            raise ModelError(f'two joints are named "{name}"; rename one of them')
        p, to_p = self._find(predecessor)
        s, to_s = self._find(successor)
        if p == s:
            raise ModelError(f'joint "{name}" connects body "{successor}" to itself; name two '
                             'bodies')
        _expect(joint, Joint, f'joint "{name}"')
        for given, kind, what in ((X_P, Transform, 'placement'), (X_S, Transform, 'placement'),
                                  (data, JointData, 'data'), (mimic, (Mimic, Gear), 'mimic')):
            _expect(given, kind, f'{what} of joint "{name}"')
        near, far = (sound_placement(X, f'placement of joint "{name}"') for X in (X_P, X_S))
        self._arcs[name] = Arc(name, p, s, joint, near @ to_p, far @ to_s, data or JointData(),
                               _law(mimic, name))
        return self

    def add_loop_joint(self, name: str, predecessor: str, successor: str, joint: Joint,
                       X_P: Transform | None = None,
                       X_S: Transform | None = None) -> ModelBuilder:
        """
        Close a loop between two bodies (or frames): the joint never is one of the spanning tree.

        It has no coordinate of its own and is passive; see ``Dynamics.loop_drive`` for a drive.

        :param X_P: from predecessor coordinates to the joint's frame there; None if the same.
        :param X_S: from successor coordinates to the joint's frame there; None if the same.
        :returns: the builder itself.
        """
        self.add_joint(name, predecessor, successor, joint, X_P, X_S)
        self._closing.add(name)
        return self

    def add_frame(self, name: str, body: str, placement: Transform | None = None) -> ModelBuilder:
        """
        Name a frame fixed in a body (or in another frame).

        :param placement: from body to frame coordinates; None if the same.
        :returns: the builder itself.
        """
        self._claim(name)
        _expect(placement, Transform, f'placement of frame "{name}"')
        node, to_body = self._find(body)
        placed = sound_placement(placement, f'placement of frame "{name}"')
        self._frames[name] = (node, placed @ to_body)
        return self

    def build(self, spanning_tree: str = 'order') -> Model:
        """
        Return the model; the builder may go on being used.

        :param spanning_tree: which joints close the loops, besides those of ``add_loop_joint``:
            ``'order'`` takes each joint that closes a loop with joints added before it,
            ``'depth'`` those that leave a tree of minimum depth (RBDA 10.2).
        """
        if spanning_tree not in ('order', 'depth'):
            raise ModelError(f'spanning_tree is {spanning_tree!r}; it is "order" or "depth"')
        tree, chords = self._grow(self._arcs_in_order(spanning_tree))
        frames = {name: Frame(name, *tree.place[node]) for name, node in self._nodes.items()}
        for name, (node, placement) in self._frames.items():
            body, to_node = tree.place[node]
            frames[name] = Frame(name, body, placement @ to_node)
        coupling, values = independent(list(zip(tree.arcs, tree.joint[1:], strict=True)))
        return Model(
            name=self._name, parent=tuple(tree.parent), joint=tuple(tree.joint),
            X_T=tuple(tree.X_T), inertia=tuple(tree.inertia), body_names=tuple(tree.names),
            joint_names=tuple(arc.name for arc in tree.arcs), frames=frames,
            gravity=self._gravity, coupling=coupling,
            loops=tuple(self._loop(arc, tree) for arc in chords), **values)

    def _inertia(self, inertia: RigidInertia | None, name: str) -> RigidInertia:
        _expect(inertia, RigidInertia, f'inertia of body "{name}"')
        if inertia is None:
            return RigidInertia.zero()
        return sound_inertia(inertia, f'body "{name}"', doubtful=self._doubtful)

    def _claim(self, name: str) -> None:
        if name in self._nodes or name in self._frames:
            raise ModelError(f'two bodies or frames are named "{name}"; rename one of them')

    def _find(self, name: str) -> tuple[int, Transform]:
        """Return the node of a body or frame and the transform from that node to it."""
        if name in self._nodes:
            return self._nodes[name], Transform.identity()
        if name in self._frames:
            return self._frames[name]
        raise UnknownName('body', name, [*self._nodes, *self._frames])

    def _arcs_in_order(self, spanning_tree: str) -> list[Arc]:
        """Return the joints, those of the spanning tree before those that may close loops."""
        arcs = [arc for arc in self._arcs.values() if arc.name not in self._closing]
        if spanning_tree == 'depth':
            chosen = set(minimum_depth(
                len(self._nodes), [(a.predecessor, a.successor) for a in arcs]))
            arcs = [arcs[k] for k in sorted(range(len(arcs)), key=lambda k: k not in chosen)]
        return arcs + [arc for arc in self._arcs.values() if arc.name in self._closing]

    def _grow(self, arcs: Sequence[Arc]) -> tuple[_Tree, list[Arc]]:
        """Give numbers to the bodies, outward from the base, and merge what is fixed."""
        names = list(self._nodes)
        found = spanning_tree(len(names), [(a.predecessor, a.successor) for a in arcs],
                              names=names)
        tree = _Tree(names=[names[0]], inertia=[self._inertias[0]],
                     place={0: (0, Transform.identity())})
        for number, node, parent_node in zip(found.tree, found.order, found.parent_node,
                                             strict=True):
            arc = arcs[number]
            if arc.name in self._closing:
                raise LoopError(f'joint "{arc.name}" closes no loop: nothing else connects '
                                f'"{names[node]}" to the base; use add_joint for it')
            forward = arc.successor == node                            # RBDA 4.1.4
            near, far = (arc.X_P, arc.X_S) if forward else (arc.X_S, arc.X_P)
            body, to_parent = tree.place[parent_node]
            X_T = near @ to_parent
            if isinstance(arc.joint, Fixed):
                tree.place[node] = (body, far.inverse() @ X_T)
            else:
                tree.place[node] = (len(tree.parent), far.inverse())
                tree.parent.append(body)
                tree.joint.append(arc.joint if forward else Reversed(arc.joint))
                tree.X_T.append(X_T)
                tree.arcs.append(arc)
                tree.names.append(names[node])
                tree.inertia.append(RigidInertia.zero())
            body, placement = tree.place[node]
            lumped = tree.inertia[body] + placement.inv_apply(self._inertias[node])
            tree.inertia[body] = sound_inertia(lumped, f'body "{names[node]}"', doubtful=True)
        return tree, [arcs[number] for number in found.chords]

    def _loop(self, arc: Arc, tree: _Tree) -> LoopJoint:
        p, to_p = tree.place[arc.predecessor]
        s, to_s = tree.place[arc.successor]
        if p == s:
            raise LoopError(
                f'loop joint "{arc.name}" connects body "{tree.names[p]}" to itself: the links at '
                'its ends are fixed to each other; leave it out, or let a joint between them move')
        if arc.mimic is not None:
            raise LoopError(f'loop joint "{arc.name}" has no coordinate and cannot follow '
                            'another; let a joint of the tree follow')
        return LoopJoint(arc.name, arc.joint, p, s, arc.X_P @ to_p, arc.X_S @ to_s)


def _expect(value: object, kind: type | tuple[type, ...], what: str) -> None:
    """Refuse a value of another kind; None stands for the default."""
    if value is not None and not isinstance(value, kind):
        got = f'the class {value.__name__}' if isinstance(value, type) else type(value).__name__
        kinds = kind if isinstance(kind, tuple) else (kind,)
        wanted = ' or '.join(f'a {each.__name__}' for each in kinds)
        raise TypeError(f'{what} must be {wanted}, got {got}')


def _law(mimic: Mimic | Gear | None, name: str) -> Mimic | Gear | None:
    """Return what a joint follows, with plain numbers and names."""
    if isinstance(mimic, Mimic):
        multiplier, offset = floats(mimic[1:], f'joint "{name}": multiplier and offset of mimic')
        return Mimic(mimic.joint, multiplier, offset)
    return mimic if mimic is None else mimic._replace(joints=tuple(mimic.joints))
