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
"""A robot on a page: its links as the URDF shows them, or as boxes of their inertia."""

from __future__ import annotations

from typing import Any, TYPE_CHECKING

import numpy as np

from rbd_ros.errors import ModelError
from rbd_ros.sim.frames import Frames
from rbd_ros.view.figures import inertia_box, quaternion
from rbd_ros.view.shapes import mesh_file, read_shapes, Shape

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import ArrayLike
    from rbd_ros.model.model import Model
    from viser import ViserServer

__all__ = ['RobotScene']

_BOX = (110, 140, 190)  # colour of a box that stands for an inertia


class RobotScene:
    """
    The links of a robot, which move with its joints.

    :param server: of the page.
    :param model: the robot.
    :param urdf: the text of its description, for the shapes.
    :param near: the file of the description, from which relative paths of meshes count.
    """

    def __init__(self, server: ViserServer, model: Model, urdf: str,
                 near: str | Path | None = None) -> None:
        self._scene: Any = server.scene
        self.model = model
        self.problems: list[str] = []
        self._frames = Frames(model)
        self._nodes: dict[str, Any] = {}
        self._paths: dict[str, str] = {}
        self._add_frames()
        self._add_shapes(urdf, near)
        self._scene.add_grid('/floor', width=4.0, height=4.0, cell_size=0.1, section_size=1.0)

    def path(self, frame: str) -> str:
        """Return the place of a frame in the scene, below which something can be fixed to it."""
        return self._paths[frame]

    def move(self, q: ArrayLike) -> None:
        """Show the robot at position ``q``."""
        for pose in self._frames.moving(q):
            node = self._nodes[pose.child]
            x, y, z, w = pose.rotation
            node.wxyz, node.position = (w, x, y, z), pose.translation

    def _add_frames(self) -> None:
        names = self.model.body_names
        self._paths[names[0]] = '/robot'
        self._scene.add_frame('/robot', show_axes=False)
        for i in range(1, self.model.nb + 1):
            path = f'{self._paths[names[self.model.parent[i]]]}/{_word(names[i])}'
            self._paths[names[i]] = path
            self._nodes[names[i]] = self._scene.add_frame(path, show_axes=False)
        for pose in self._frames.fixed():
            x, y, z, w = pose.rotation
            path = self._paths[pose.child] = f'{self._paths[pose.parent]}/{_word(pose.child)}'
            self._scene.add_frame(path, show_axes=False, wxyz=(w, x, y, z),
                                  position=pose.translation)

    def _add_shapes(self, urdf: str, near: str | Path | None) -> None:
        """Draw what the description shows; a body of which nothing is seen gets a box."""
        try:
            shapes = read_shapes(urdf)
        except ModelError as error:
            self.problems.append(str(error))
            shapes = []
        seen = set()
        for k, shape in enumerate(shapes):
            if shape.link in self._paths and self._add(shape, k, near):
                seen.add(self.model.frame(shape.link).body)
        for i in range(1, self.model.nb + 1):
            box = None if i in seen else inertia_box(self.model.inertia[i])
            if box is not None:
                self._scene.add_box(
                    f'{self._paths[self.model.body_names[i]]}/inertia', color=_BOX, opacity=0.6,
                    dimensions=box.edges, position=box.centre, wxyz=box.wxyz)

    def _add(self, shape: Shape, number: int, near: str | Path | None) -> bool:
        place: dict[str, Any] = {
            'wxyz': quaternion(shape.pose[:3, :3]), 'position': shape.pose[:3, 3]}
        colour = tuple(round(255 * c) for c in shape.colour[:3])
        name = f'{self._paths[shape.link]}/shape_{number}'
        if shape.kind == 'box':
            self._scene.add_box(name, dimensions=shape.size, color=colour, **place)
        elif shape.kind == 'sphere':
            self._scene.add_icosphere(name, radius=shape.size[0], color=colour, **place)
        elif shape.kind == 'mesh':
            return self._add_mesh(shape, name, colour, near, place)
        else:
            radius, length = shape.size
            self._scene.add_cylinder(name, radius=radius, height=length, color=colour, **place)
        return True

    def _add_mesh(self, shape: Shape, name: str, colour: tuple[int, ...],
                  near: str | Path | None, place: dict[str, Any]) -> bool:
        file = mesh_file(shape.file, near)
        if file is None:
            self.problems.append(f'link "{shape.link}": mesh {shape.file} is not there; a box of '
                                 'its inertia stands in')
            return False
        import trimesh  # with viser; takes half a second
        try:
            mesh = trimesh.load(file, force='mesh')
        except Exception as error:  # whatever a file of another tool makes its reader raise
            self.problems.append(f'link "{shape.link}": mesh {file.name} cannot be read: {error}')
            return False
        mesh.apply_scale(shape.size)
        if file.suffix.lower() == '.stl':  # has no colours of its own
            self._scene.add_mesh_simple(name, np.asarray(mesh.vertices), np.asarray(mesh.faces),
                                        color=colour, **place)
        else:
            self._scene.add_mesh_trimesh(name, mesh, **place)
        return True


def _word(name: str) -> str:
    """Return a name without the sign that separates levels of the scene."""
    return name.replace('/', '_')
