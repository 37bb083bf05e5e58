# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
A robot in a viser scene: meshes, primitive shapes and inertia boxes, posed by the model.

The scene needs a running ``viser.ViserServer``; trimesh is imported only when a mesh is loaded.
Each link is a frame of the scene below ``root``, and its shapes are attached to that frame.
"""

from __future__ import annotations

from collections.abc import Sequence
import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rbd_ros.compiler import Array
from rbd_ros.model.model import Model
from rbd_ros.model.positions import neutral
from rbd_ros.spatial import quaternion, RigidInertia
from rbd_ros.view import figures
from rbd_ros.view.node_pose import NodePose
from rbd_ros.view.poses import link_poses, Poses, read_poses
from rbd_ros.view.shapes import mesh_file, Shape

__all__ = ['add_floor', 'inertia_box', 'link_poses', 'RobotScene', 'VIEW_DIRECTION', 'Viewpoint',
           'viewpoint']

INERTIA_COLOUR, STICK_COLOUR = (230, 140, 40), (60, 60, 70)
#: m, width and smallest length of the line between two joints of a link that has no shape.
STICK, SHORTEST = 0.015, 1e-3
SAME = 1e-9  # m, or part of a quaternion: what moves less has only been rounded otherwise
#: The largest mesh that is sent to a browser, bytes.
LARGEST_MESH = 100 * 2**20
#: The view: smallest radius of a robot, m; direction of the camera; its distance and the width of
#: the floor, in units of the radius.
MIN_RADIUS, VIEW_DIRECTION, DISTANCE, FLOOR = 0.15, (1.6, 1.2, 0.7), 2.4, 3.0
#: How far the camera stands to the right, in units of its distance: the panel covers that side.
ASIDE = 0.25
#: The floor: height of its lines, m, a little above the ground, as in one plane with an obstacle
#: the two would flicker; lines per metre; colours of most of them and of whole metres.
GRID_HEIGHT, PER_METRE, CELL, SECTION = 2e-3, 10, 200, 140


def _matrix(wxyz: ArrayLike) -> Array:
    """Return the rotation from a frame to its parent that a quaternion stands for."""
    w, x, y, z = np.asarray(wxyz, float).tolist()
    return np.array(quaternion.rotation((x, y, z, w)).to_list(), float).T


def inertia_box(inertia: RigidInertia) -> tuple[Array, Array, Array]:
    """
    Return edges, centre and quaternion (w, x, y, z) of the box with a given inertia.

    :param inertia: with mass; an edge whose square would be negative is zero.
    """
    m, c, I_c = inertia.com_form()
    moments, axes = figures.principal(np.array(I_c.to_list(), float))
    edges = np.sqrt(np.maximum(6.0 / float(m) * (moments.sum() - 2.0 * moments), 0.0))
    return edges, np.array(c.to_list(), float), np.array(figures.quaternion(axes))


class Viewpoint(NamedTuple):
    """Position of the camera, the point it looks at, and the width of the floor, m."""

    eye: tuple[float, float, float]
    look: tuple[float, float, float]
    floor: float


def viewpoint(model: Model, aside: float = ASIDE) -> Viewpoint:
    """
    Return the viewpoint from which a robot in its neutral position fills the free view.

    :param aside: how far the camera stands to the right, in units of its distance.
    """
    poses = link_poses(model, neutral(model)).values()
    points = np.array([position for position, _ in poses])
    low, high = points.min(axis=0), points.max(axis=0)
    radius = max(0.5 * float(np.linalg.norm(high - low)), MIN_RADIUS)
    middle = 0.5 * (low + high)
    back = np.array(VIEW_DIRECTION) / np.linalg.norm(VIEW_DIRECTION)
    right = np.cross([0.0, 0.0, 1.0], back)
    look = middle + aside * DISTANCE * radius * right / np.linalg.norm(right)
    (a, b, c), (x, y, z) = (look + DISTANCE * radius * back).tolist(), look.tolist()
    return Viewpoint((a, b, c), (x, y, z), math.ceil(FLOOR * radius))


def floor_lines(width: float) -> tuple[Array, NDArray[np.uint8]]:
    """
    Return both ends of each line of a square grid, and their colours.

    :param width: m.
    """
    half = math.ceil(0.5 * width * PER_METRE)
    at = np.arange(-half, half + 1)
    along, edge, height = at / PER_METRE, half / PER_METRE, GRID_HEIGHT
    ends = np.array([[(x, -edge, height), (x, edge, height)] for x in along]
                    + [[(-edge, y, height), (edge, y, height)] for y in along])
    grey = np.where(at % PER_METRE == 0, SECTION, CELL).astype(np.uint8)
    return ends, np.broadcast_to(np.tile(grey, 2)[:, None, None], (*ends.shape[:2], 3)).copy()


def add_floor(scene: Any, width: float) -> None:
    """
    Draw a floor.

    As lines it costs a browser without a graphics card half as much as viser's grid, which is
    computed anew for each pixel of the floor.

    :param scene: of the server.
    :param width: m.
    """
    ends, colours = floor_lines(width)
    scene.add_line_segments('/floor', ends, colours, thickness=1.0, thickness_units='screen')


class RobotScene:
    """
    A robot in a scene; the first one has a floor, and the camera looks at it.

    :param server: the viser server.
    :param model: the robot; ``show`` moves it.
    :param shapes: of its links.
    :param near: file or folder of its description, to find meshes.
    :param root: its path in the scene.
    :param beside: of another robot, where it stands in the world, m; None: there is no other.
    :param poses: of its frames, for a robot that moves often; None: it is not compiled.
    """

    def __init__(
        self, server: Any, model: Model, shapes: Sequence[Shape], *,
        near: str | Path | None = None, root: str = '/robot',
        beside: tuple[float, float, float] | None = None, poses: Poses | None = None,
    ) -> None:
        self.model = model
        #: Meshes that could not be shown, each with the reason.
        self.problems: list[str] = []
        #: Viser handles: links by name, their shapes, inertia boxes and sticks.
        self.links: dict[str, Any] = {}
        self.drawn: list[Any] = []
        self.boxes: list[Any] = []
        self.sticks: list[Any] = []
        self._find = poses or read_poses(model)
        self._poses: Array = np.full((len(model.frames), 7), np.inf)  # that are shown
        self._scene, self._near, self._root = server.scene, near, root
        self._belongs: dict[str, str] = {}  # links, by the paths of what is drawn
        if beside is None:
            self._look(server)
        self._base = server.scene.add_frame(root, show_axes=False,
                                            position=beside or (0.0, 0.0, 0.0))
        for name in model.frames:
            self.links[name] = server.scene.add_frame(f'{root}/{name}', show_axes=False)
        self._nodes = [NodePose(handle) for handle in self.links.values()]
        seen = set()
        for number, shape in enumerate(shapes):
            if shape.link in self.links and self._add(shape, number):
                seen.add(model.frame(shape.link).body)
        for i in range(model.nb + 1):
            if float(model.inertia[i].m) > 0.0:
                self._add_box(i, visible=i not in seen)     # stands for missing shapes
        for i in range(model.nb + 1):
            if i not in seen:
                self._add_sticks(i)
        self.show(neutral(model))

    def _look(self, server: Any) -> None:
        """Put the camera before the robot, and a floor below it."""
        place = viewpoint(self.model)
        server.initial_camera.position, server.initial_camera.look_at = place.eye, place.look
        add_floor(server.scene, place.floor)

    def remove(self) -> None:
        """Take the robot out of the scene."""
        self._base.remove()

    def show(self, q: ArrayLike) -> None:
        """
        Move the robot.

        :param q: independent positions, (nq,).
        """
        poses = self._find(q)
        # What does not change is not sent: a browser would draw it all the same.
        changed = np.abs(poses - self._poses) > SAME
        self._poses = poses
        for k in np.flatnonzero(changed[:, :3].any(axis=1)).tolist():
            self._nodes[k].move(tuple(poses[k, :3].tolist()))
        for k in np.flatnonzero(changed[:, 3:].any(axis=1)).tolist():
            self._nodes[k].turn(tuple(poses[k, 3:].tolist()))

    def pose(self, link: str) -> tuple[Array, Array]:
        """Return where a link is drawn in its scene, m, and the rotation from it to the scene."""
        held, R = self.links[link], _matrix(self._base.wxyz)
        return (np.asarray(self._base.position, float) + R @ np.asarray(held.position, float),
                R @ _matrix(held.wxyz))

    def link_of(self, handle: Any) -> str:
        """
        Return the name of the link that something drawn belongs to.

        :param handle: one of ``drawn`` or ``boxes``.
        """
        return self._belongs[handle.name]

    def place(self, link: str, position: ArrayLike, wxyz: ArrayLike) -> None:
        """
        Put the robot where a floating base is.

        :param link: that is there; others have the poses that they have to it.
        :param position: of the link in the world, m.
        :param wxyz: its orientation, quaternion.
        """
        held = self.links[link]  # in the robot
        R = _matrix(wxyz) @ _matrix(held.wxyz).T
        self._base.position = np.asarray(position, float) - R @ np.asarray(held.position, float)
        self._base.wxyz = np.array(figures.quaternion(R))

    def _add(self, shape: Shape, number: int) -> bool:
        """Draw a shape; return whether it can be seen."""
        name = f'{self._root}/{shape.link}/shape_{number}'
        place = {'position': shape.pose[:3, 3],
                 'wxyz': np.array(figures.quaternion(shape.pose[:3, :3]))}
        colour = tuple(round(255 * min(max(part, 0.0), 1.0)) for part in shape.colour[:3])
        opacity = shape.colour[3] if shape.colour[3] < 1.0 else None
        scene = self._scene
        if shape.kind == 'mesh':
            mesh = self._mesh(shape)
            if mesh is None:
                return False
            self.drawn.append(scene.add_mesh_trimesh(name, mesh, **place))
        elif shape.kind == 'box':
            self.drawn.append(scene.add_box(name, colour, shape.size, opacity=opacity, **place))
        elif shape.kind == 'sphere':
            self.drawn.append(scene.add_icosphere(name, shape.size[0], colour, opacity=opacity,
                                                  **place))
        else:
            radius, length = shape.size
            self.drawn.append(self._cylinder(name, radius, length, colour, opacity, place))
        self._belongs[self.drawn[-1].name] = shape.link
        return True

    def _cylinder(self, name: str, radius: float, length: float, colour: tuple[int, ...],
                  opacity: float | None, place: dict[str, Any]) -> Any:
        """Draw a cylinder along z, as in URDF; as a mesh, to be independent of viser's axes."""
        turns = np.linspace(0.0, 2.0 * math.pi, 33)[:-1]
        ring = np.stack([radius * np.cos(turns), radius * np.sin(turns)], axis=1)
        ends = [np.column_stack([ring, np.full(32, z)]) for z in (-0.5 * length, 0.5 * length)]
        middle = np.array([[0.0, 0.0, -0.5 * length], [0.0, 0.0, 0.5 * length]])
        k, n = np.arange(32), (np.arange(32) + 1) % 32
        faces = np.concatenate([
            np.stack([k, n, 32 + k], axis=1), np.stack([n, 32 + n, 32 + k], axis=1),
            np.stack([n, k, np.full(32, 64)], axis=1),
            np.stack([32 + k, 32 + n, np.full(32, 65)], axis=1)])
        return self._scene.add_mesh_simple(
            name, np.concatenate([*ends, middle]), faces, color=colour, opacity=opacity,
            flat_shading=False, **place)

    def _mesh(self, shape: Shape) -> Any:
        """Return a mesh; if it cannot be shown, note the problem and return None."""
        file = mesh_file(shape.file, self._near)
        if file is None:
            self.problems.append(f'{shape.link}: mesh file "{shape.file}" not found')
            return None
        if file.stat().st_size > LARGEST_MESH:
            self.problems.append(f'{shape.link}: mesh "{file}" is larger than '
                                 f'{LARGEST_MESH // 2**20} MB and not shown')
            return None
        try:
            import trimesh
            mesh = trimesh.load(str(file), force='mesh')
        except Exception as error:  # each mesh format has a reader with its own exceptions
            self.problems.append(f'{shape.link}: mesh "{file}" cannot be read: {error}')
            return None
        mesh.apply_scale(shape.size)
        if file.suffix.lower() == '.stl':
            mesh.visual.face_colors = [round(255 * part) for part in shape.colour]
        return mesh

    def _add_sticks(self, body: int) -> None:
        """Draw lines from the joint of a body to its child joints, which a box does not show."""
        model = self.model
        ends = [np.array(model.X_T[k].r.to_list(), float) for k in range(1, model.nb + 1)
                if model.parent[k] == body]
        ends = [end for end in ends if np.linalg.norm(end) > SHORTEST]
        if ends:
            self.sticks.append(self._scene.add_line_segments(
                f'{self._root}/{model.body_names[body]}/sticks',
                np.array([[np.zeros(3), end] for end in ends]), STICK_COLOUR, thickness=STICK))

    def _add_box(self, body: int, visible: bool) -> None:
        edges, centre, turn = inertia_box(self.model.inertia[body])
        name = f'{self._root}/{self.model.body_names[body]}/inertia'
        self.boxes.append(self._scene.add_box(
            name, INERTIA_COLOUR, tuple(np.maximum(edges, 1e-3)), opacity=0.5, position=centre,
            wxyz=turn, visible=visible))
        self._belongs[self.boxes[-1].name] = self.model.body_names[body]
