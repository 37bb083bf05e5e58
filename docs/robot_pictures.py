# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0


"""
Draw robots with nothing but Pillow: the moving picture of the first page, and small ones.

    ./run python docs/robot_pictures.py

writes docs/pictures/arm.webp, an arm that swings and the torques that this takes, and one picture
for each example that computes a robot, docs/pictures/examples/*.png, of which the gallery is made.
They are kept in the repository: the site is built without running the examples.
"""

import contextlib
import io
import math
from pathlib import Path
import runpy
import sys

import numpy as np
from PIL import Image, ImageDraw
import rbd_ros
from rbd_ros.model.positions import neutral
from rbd_ros.view.scene import inertia_box, link_poses
from rbd_ros.view.shapes import read_shapes
import trimesh

DOCS = Path(__file__).parent
ARM = DOCS.parent / 'urdf' / 'seven_joint_arm.urdf'
PICTURES = DOCS / 'pictures' / 'examples'
#: Picture: pixels drawn for each that is kept, focal length in heights, where light comes from.
FINER, FOCAL = 2, 1.4
LIGHT = np.array([0.4, 0.3, 0.85])
#: Where the camera is, seen from the robot.
DIRECTION = np.array([1.6, 1.2, 0.7])
AMBER, GREY, BLUE = (0.9, 0.55, 0.16), (0.55, 0.57, 0.6), (50, 110, 200)
RATE, SECONDS = 15, 4       # pictures per second, length of the loop
#: What is in view while the arm swings, m.
ROOM = np.array([[-0.1, -0.3, 0.05], [0.4, 0.3, 0.95]])


def mesh_of(shape):
    """Return a shape of a link as a mesh, and its colour; None for a mesh in a file."""
    size = shape.size
    made = {'box': lambda: trimesh.creation.box(size),
            'sphere': lambda: trimesh.creation.icosphere(2, size[0]),
            'cylinder': lambda: trimesh.creation.cylinder(size[0], size[1], sections=24),
            'capsule': lambda: trimesh.creation.capsule(size[1], size[0], count=(12, 12))}
    return made[shape.kind]() if shape.kind in made else None


def matrix(position, wxyz):
    """Return a pose as a homogeneous matrix."""
    T = trimesh.transformations.quaternion_matrix(wxyz)
    T[:3, 3] = position
    return T


def parts(model, shapes):
    """Return frame, triangles in that frame and colour of all that is drawn."""
    found = []
    for shape in shapes:
        mesh = mesh_of(shape)
        if mesh is not None and shape.link in model.frames:
            found.append((shape.link, mesh.apply_transform(shape.pose).triangles,
                          shape.colour[:3]))
    if found:
        return found
    for i in range(1, model.nb + 1):        # without shapes: boxes that have the inertia, and rods
        if float(model.inertia[i].m) > 0.0:
            edges, centre, turn = inertia_box(model.inertia[i])
            box = trimesh.creation.box(np.maximum(edges, 0.02))
            found.append((model.body_names[i], box.apply_transform(matrix(centre, turn)).triangles,
                          AMBER))
        p, end = model.parent[i], np.array(model.X_T[i].r.to_list(), float)
        if p and np.linalg.norm(end) > 1e-3:
            rod = trimesh.creation.cylinder(0.012, segment=[np.zeros(3), end], sections=8)
            found.append((model.body_names[p], rod.triangles, GREY))
    return found


def draw(model, drawn, q, size, around=None):
    """
    Return a picture of a robot on a transparent ground.

    :param drawn: its parts.
    :param size: width and height, pixels.
    :param around: lowest and highest corner of what is in view, m; by default the robot itself.
    """
    width, height = (FINER * each for each in size)
    poses = link_poses(model, q)
    world, colours = [], []
    for link, triangles, colour in drawn:
        T = matrix(*poses[link])
        world.append(triangles @ T[:3, :3].T + T[:3, 3])
        colours.append(np.tile(colour, (len(triangles), 1)))
    world, colours = np.concatenate(world), np.concatenate(colours)
    low, high = around if around is not None else (world.min(axis=(0, 1)), world.max(axis=(0, 1)))
    z = DIRECTION / np.linalg.norm(DIRECTION)
    eye = 0.5 * (low + high) + FOCAL * np.linalg.norm(high - low) * z
    x = np.cross([0.0, 0.0, 1.0], z)
    x /= np.linalg.norm(x)
    view = np.array([x, np.cross(z, x), z])
    normals = np.cross(world[:, 1] - world[:, 0], world[:, 2] - world[:, 0])
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-12)
    shade = 0.55 + 0.45 * np.clip(normals @ LIGHT, -0.4, 1.0)
    seen = (world - eye) @ view.T
    flat = FOCAL * height * seen[..., :2] / np.maximum(-seen[..., 2:], 1e-3)
    pixels = flat * [1, -1] + [width / 2, height / 2]
    facing = np.einsum('ij,ij->i', normals, eye - world.mean(axis=1)) > 0.0
    tones = np.clip(255 * colours * shade[:, None], 0, 255).astype(np.uint8)
    image = painted(pixels[facing], seen[facing, :, 2], tones[facing], width, height)
    return image.resize(size, Image.Resampling.LANCZOS)


def painted(corners, depth, tones, width, height):
    """Return a picture of triangles, the nearest at each pixel."""
    nearest = np.full((height, width), -np.inf)
    colour = np.zeros((height, width, 4), np.uint8)
    for (a, b, c), z, tone in zip(corners, depth, tones, strict=True):
        low = np.maximum(np.floor(np.min([a, b, c], axis=0)), 0).astype(int)
        high = np.minimum(np.ceil(np.max([a, b, c], axis=0)) + 1, [width, height]).astype(int)
        area = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
        if area == 0.0 or (high <= low).any():
            continue
        x, y = np.arange(low[0], high[0]), np.arange(low[1], high[1])[:, None]
        v = ((x - a[0]) * (c[1] - a[1]) - (y - a[1]) * (c[0] - a[0])) / area
        w = ((b[0] - a[0]) * (y - a[1]) - (b[1] - a[1]) * (x - a[0])) / area
        here = z[0] + v * (z[1] - z[0]) + w * (z[2] - z[0])
        part = (slice(low[1], high[1]), slice(low[0], high[0]))
        front = (v >= 0) & (w >= 0) & (v + w <= 1) & (here > nearest[part])
        nearest[part][front] = here[front]
        colour[part][front] = [*tone, 255]
    return Image.fromarray(colour)


def moving_picture(file):
    """Write the arm that swings, with bars for the torques that inverse dynamics computes."""
    model = rbd_ros.load_urdf(ARM)
    robot = rbd_ros.Dynamics(model)
    drawn = parts(model, read_shapes(ARM.read_text()))
    turn = 2.0 * math.pi / SECONDS
    middle = np.array([0.0, 0.55, 0.0, -1.3, 0.0, 0.9, 0.0])
    sway = np.array([0.7, 0.35, 0.4, 0.45, 0.6, 0.5, 1.0])
    order = turn * np.array([1, 2, 1, 2, 1, 1, 2])      # the loop closes
    phase = np.array([0.0, 0.5, 1.5, 2.0, 0.3, 1.0, 0.0])
    frames = []
    for t in np.arange(0.0, SECONDS, 1.0 / RATE):
        s, c = np.sin(order * t + phase), np.cos(order * t + phase)
        q = middle + sway * s
        tau = robot.inverse_dynamics(q, sway * order * c, -sway * order**2 * s)
        image = draw(model, drawn, q, (480, 340), ROOM)
        pen = ImageDraw.Draw(image)
        for k, torque in enumerate(tau):
            y, length = 225 + 14 * k, 60.0 * math.tanh(torque / 30.0)
            pen.rectangle((400, y, 401, y + 9), fill=(128, 128, 128, 255))
            pen.rectangle((min(400, 400 + length), y, max(400, 400 + length), y + 9),
                          fill=(*BLUE, 255))
        frames.append(image)
    frames[0].save(file, save_all=True, append_images=frames[1:], duration=1000 // RATE, loop=0,
                   quality=70)


def robot_of(names):
    """Return the robot that an example computed, and a position of it; None: there is none."""
    models = [value if isinstance(value, rbd_ros.Model) else getattr(value, 'model', None)
              for value in names.values()]
    models = [each for each in models if isinstance(each, rbd_ros.Model)]
    if not models:
        return None
    model = max(models, key=lambda each: each.nb)
    for key in ('q', 'start', 'rest'):
        try:
            q = np.asarray(names.get(key), float)
        except (TypeError, ValueError):
            continue
        q = q[0] if q.ndim == 2 else q
        if q.shape == (model.nq,) and np.isfinite(q).all():
            return model, q
    return model, np.array(neutral(model), float)


def example_pictures(folder, chosen=()):
    """Write a picture for each example that has a robot; says which have none."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in sorted((DOCS.parent / 'examples').glob('*.py')):
        if (chosen and path.stem not in chosen) or 'rclpy' in path.read_text():
            continue                        # a node would not end
        sys.argv = [str(path)]
        with contextlib.redirect_stdout(io.StringIO()):
            found = robot_of(runpy.run_path(str(path)))
        if found is None:
            print(f'{path.name}: no robot')
            continue
        model, q = found
        text = ARM.read_text() if model.name == 'seven_joint_arm' else ''
        drawn = parts(model, read_shapes(text) if text else [])
        image = draw(model, drawn, q, (320, 220))
        image.quantize(64).save(folder / f'{path.stem}.png', optimize=True)


if __name__ == '__main__':
    if not sys.argv[1:]:
        moving_picture(DOCS / 'pictures' / 'arm.webp')
    example_pictures(PICTURES, sys.argv[1:])
