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
"""Where the camera goes, and that lines can be seen on light and dark pages."""

from unittest.mock import MagicMock

import numpy as np
import pytest
import rbd_ros
from rbd_ros.nodes.dashboard import joint_plots
from rbd_ros.nodes.dashboard.look import ABOVE, BESIDE, fitted, Look, PRESETS
from rbd_ros.nodes.description import built_in_robot
from rbd_ros.view.scene import RobotScene
from rbd_ros.view.server_part import ServerPart
from rbd_ros.view.shapes import read_shapes

FOV = np.radians(75.0)
URDF = built_in_robot().read_text()
MODEL = rbd_ros.load_urdf(URDF)


def seen(points, eye, look, width, height):
    """Return where points are in a picture, pixels from its upper left corner: a pinhole."""
    forward = (look - eye) / np.linalg.norm(look - eye)
    right = np.cross(forward, [0.0, 0.0, 1.0])
    right /= np.linalg.norm(right)
    rays = np.asarray(points, float) - eye
    depth = rays @ forward
    assert (depth > 0.0).all()
    scale = 0.5 * height / np.tan(0.5 * FOV) / depth
    return np.column_stack([0.5 * width + scale * (rays @ right),
                            0.5 * height + scale * (rays @ np.cross(forward, right))])


@pytest.mark.parametrize(('width', 'height'), [
    (1200, 900), (1920, 1000), (390, 844), (780, 1688)])
def test_the_robot_is_in_the_part_that_the_panel_leaves_free(width, height):
    """Whatever its shape and from wherever it is seen, and it fills it up to an edge."""
    rng = np.random.default_rng(width)
    free = np.array([BESIDE * width, height] if width > height else [width, ABOVE * height])
    for back in [preset.back for preset in PRESETS.values()] * 20:
        points = rng.uniform(-1.0, 1.0, (12, 3)) * rng.uniform(0.1, 2.0, 3) + rng.normal(size=3)
        at = seen(points, *fitted(points, back, FOV, width / height), width, height)
        assert (at > -1e-6).all() and (at < free + 1e-6).all()
        assert (np.minimum(at, free - at) / free).min() < 1e-6


@pytest.fixture(scope='module')
def drawn():
    """Give a robot in a scene without a server, somewhere."""
    server = MagicMock()
    server.scene.add_frame.side_effect = lambda *_, **__: MagicMock(
        position=np.zeros(3), wxyz=np.array([1.0, 0.0, 0.0, 0.0]))
    robot = RobotScene(server, MODEL, read_shapes(URDF))
    robot.show([0.3, 0.8, -0.4, -1.1, 0.5, 0.9, 0.2])
    return robot


@pytest.mark.parametrize('name', PRESETS)
def test_a_button_moves_the_camera_of_the_one_who_pressed_it(drawn, name):
    """It looks at the robot, or at the tool from near, with z upward."""
    server, client = MagicMock(), MagicMock()
    look = Look(server, drawn, 'tool0')
    camera = client.camera
    camera.fov, camera.image_width, camera.image_height = FOV, 1200, 900
    look.go(client, name)
    assert camera.up_direction == (0.0, 0.0, 1.0)
    links = np.array([drawn.pose(link)[0] for link in drawn.links])
    at = seen(links, camera.position, camera.look_at, 1200, 900)
    tool = at[list(drawn.links).index('tool0')]
    if name == 'Tool':
        np.testing.assert_allclose(tool, [0.5 * BESIDE * 1200, 450.0], atol=1.0)
        far = PRESETS['Fit']
        eye, _ = fitted(links, far.back, FOV, 4.0 / 3.0)
        position, _ = drawn.pose('tool0')
        assert np.linalg.norm(camera.position - position) < 0.5 * np.linalg.norm(eye - position)
    else:
        assert (at > 0.0).all() and (at < [BESIDE * 1200, 900]).all()
    way = camera.position - camera.look_at
    assert way @ np.array(PRESETS[name].back) > 0.999 * np.linalg.norm(way) * np.linalg.norm(
        PRESETS[name].back)


@pytest.mark.parametrize(('width', 'height'), [(390, 844), (1200, 900)])
def test_whoever_opens_the_page_in_a_high_window_sees_the_robot_above_the_panel(
        drawn, width, height):
    """The camera of a phone is put there; that of another window is where the scene says."""
    server, client = MagicMock(), MagicMock()
    Look(server, drawn, 'tool0')
    [greet] = server.on_client_connect.call_args.args
    camera = client.camera
    camera.fov, camera.image_width, camera.image_height = FOV, width, height
    camera.position = untouched = object()
    greet(client)
    if width > height:
        assert camera.position is untouched
    else:
        links = np.array([drawn.pose(link)[0] for link in drawn.links])
        at = seen(links, camera.position, camera.look_at, width, height)
        assert (at > 0.0).all() and (at < [width, ABOVE * height]).all()


def test_a_robot_beside_others_is_looked_at_where_it_stands(drawn):
    """The camera stands as far aside as the robot."""
    clients = MagicMock(), MagicMock()
    for client, server in zip(clients, (
            MagicMock(), ServerPart(MagicMock(), 'left', (3.0, -2.0, 0.5))), strict=True):
        client.camera.fov, client.camera.image_width, client.camera.image_height = FOV, 1200, 900
        Look(server, drawn, 'tool0').go(client, 'Tool')
    alone, beside = (client.camera for client in clients)
    np.testing.assert_allclose(beside.position - alone.position, [3.0, -2.0, 0.5], atol=1e-9)
    np.testing.assert_allclose(beside.look_at - alone.look_at, [3.0, -2.0, 0.5], atol=1e-9)


def light(colour):
    """Return the relative luminance of a colour (WCAG 2.1)."""
    parts = [part / 255.0 for part in bytes.fromhex(colour[1:])]
    return sum(weight * (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4)
               for weight, part in zip((0.2126, 0.7152, 0.0722), parts, strict=True))


@pytest.mark.parametrize('ground', ['#ffffff', '#242424'])  # of the panel, light and dark
def test_every_line_can_be_seen(ground):
    """Graphics need a contrast of 3 with what is behind them (WCAG 2.1, 1.4.11)."""
    colours = {colour for plot in joint_plots.PLOTS for _, colour in plot.lines.values()}
    for colour in colours | {joint_plots.LIMIT, joint_plots.EVENT}:
        low, high = sorted((light(colour), light(ground)))
        assert (high + 0.05) / (low + 0.05) >= 3.0, colour


@pytest.mark.parametrize(('name', 'axis', 'sense'), [
    ('Front', 0, 1.0), ('Side', 1, -1.0), ('Top', 2, 1.0)])
def test_names_are_those_of_the_axes_of_ros(name, axis, sense):
    """REP 103: x is forward, y left, z up; a camera in front of the robot is at positive x."""
    back = np.array(PRESETS[name].back)
    assert sense * back[axis] > 0.99 * np.linalg.norm(back)
    assert [each for each, preset in PRESETS.items() if preset.tool] == ['Tool']
