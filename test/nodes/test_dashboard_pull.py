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
"""Links of the simulated robot that are pulled with the mouse."""

import asyncio
from types import SimpleNamespace

import numpy as np
from ports import free_port
import pytest
import rbd_ros
from rbd_ros.model.urdf.resources import find_resource
from rbd_ros.nodes.dashboard.pull import LinkPull, MOST, USUAL
from rbd_ros.view.frames import is_wanted, read_frame
from rbd_ros.view.scene import link_poses, RobotScene
from rbd_ros.view.server import start_server, stop_server
from rbd_ros.view.shapes import read_shapes
from scipy.spatial.transform import Rotation

URDF = find_resource('package://rbd_ros/urdf/seven_joint_arm.urdf').read_text()
MODEL = rbd_ros.load_urdf(URDF)
ROBOT = rbd_ros.Dynamics(MODEL)


@pytest.fixture(scope='module')
def server():
    """Serve a scene that nobody looks at."""
    made = start_server(port=free_port())
    yield made
    stop_server(made)


@pytest.fixture
def rig(server):
    """Give the robot in a scene, what pulls at it, and what was sent."""
    drawn, sent = RobotScene(server, MODEL, read_shapes(URDF)), []
    operator = SimpleNamespace(
        allowed=True, simulated=True,
        push=lambda frame, force, torque=(0.0, 0.0, 0.0): sent.append(
            (frame, np.array(force), np.array(torque))))
    pull = LinkPull(server, drawn, operator)

    def drag(phase, handle, start, end, browser=1):
        asyncio.run(pull.drag(SimpleNamespace(
            phase=phase, target=handle, start_position=tuple(start), end_position=tuple(end),
            client_id=browser)))
    return SimpleNamespace(drawn=drawn, sent=sent, operator=operator, pull=pull, drag=drag)


def world(q, base, R, link, point):
    """Return where a point of a link is in the world."""
    p, (w, x, y, z) = link_poses(MODEL, q)[link]
    return base + R @ (p + Rotation.from_quat([x, y, z, w]).apply(point))


@pytest.mark.parametrize('seed', range(6))
def test_the_wrench_does_the_work_of_the_force_at_the_point(rig, seed):
    """Joint torques of what is sent are those of the band, by differences of the point's place."""
    rng = np.random.default_rng(seed)
    q, base = rng.uniform(-1.5, 1.5, 7), rng.uniform(-1.0, 1.0, 3)
    R = Rotation.random(random_state=seed)
    x, y, z, w = R.as_quat()
    rig.drawn.show(q)
    rig.drawn.place(MODEL.body_names[0], base, (w, x, y, z))
    handle = rig.drawn.drawn[rng.integers(len(rig.drawn.drawn))]
    link, point = rig.drawn.link_of(handle), rng.uniform(-0.2, 0.2, 3)
    at = world(q, base, R.as_matrix(), link, point)
    end = at + rng.uniform(-0.5, 0.5, 3)
    rig.drag('start', handle, at, end)
    later = q + rng.uniform(-0.2, 0.2, 7)  # the robot moves, and takes the point with it
    rig.drawn.show(later)
    rig.pull.send()
    frame, force, torque = rig.sent[-1]
    assert frame == link
    band = USUAL * (end - world(later, base, R.as_matrix(), link, point))
    np.testing.assert_allclose(np.linalg.norm(force), np.linalg.norm(band))
    h = 1e-6
    expected = [band @ (world(later + h * e, base, R.as_matrix(), link, point)
                        - world(later - h * e, base, R.as_matrix(), link, point)) / (2.0 * h)
                for e in np.eye(7)]
    found = ROBOT.jacobian(later, link).T @ np.concatenate([torque, force])
    np.testing.assert_allclose(found, expected, atol=1e-6)
    a, b = rig.pull._arrow.points[0]
    np.testing.assert_allclose(USUAL * (b - a), band, atol=1e-3)


def test_a_pull_ends_with_the_mouse(rig):
    """With a force of nothing, once; another browser neither moves nor ends it."""
    handle = rig.drawn.drawn[3]
    rig.pull.send()
    assert not rig.sent and not rig.pull._arrow.visible
    rig.drag('start', handle, (0.0, 0.0, 0.5), (0.0, 0.1, 0.5))
    rig.drag('update', handle, (0.0, 0.0, 0.5), (0.0, 90.0, 0.5))
    rig.drag('update', handle, (0.0, 0.0, 0.5), (0.0, 0.2, 0.5), browser=2)
    rig.drag('end', handle, (0.0, 0.0, 0.5), (0.0, 0.2, 0.5), browser=2)
    rig.pull.send()
    assert np.linalg.norm(rig.sent[-1][1]) == pytest.approx(MOST)  # however far the mouse is
    assert rig.pull._arrow.visible
    rig.drag('end', handle, (0.0, 0.0, 0.5), (0.0, 0.2, 0.5))
    assert not rig.sent[-1][1].any() and not rig.sent[-1][2].any()
    count = len(rig.sent)
    rig.pull.send()
    assert len(rig.sent) == count and not rig.pull._arrow.visible


def test_only_what_is_simulated_is_pulled(rig):
    """And only while the box is ticked: the mouse belongs to the camera otherwise."""
    handles = [*rig.drawn.drawn, *rig.drawn.boxes]
    assert not any(handle._has_any_drag_callbacks() for handle in handles)
    rig.pull._on.value = True
    rig.pull.switch()
    rig.pull.switch()
    assert all(len(handle._impl.drag_cb) == 1 for handle in handles)
    rig.drag('start', handles[0], (0.0, 0.0, 0.5), (0.0, 0.1, 0.5))
    rig.pull._on.value = False
    rig.pull.switch()
    assert len(rig.sent) == 1 and not rig.sent[0][1].any()
    assert not any(handle._has_any_drag_callbacks() for handle in handles)
    rig.operator.simulated = False
    rig.drag('start', handles[0], (0.0, 0.0, 0.5), (0.0, 0.1, 0.5))
    rig.pull.send()
    assert len(rig.sent) == 1


def test_every_link_that_is_drawn_can_be_named(rig):
    """Shapes and inertia boxes belong to links of the robot."""
    for handle in (*rig.drawn.drawn, *rig.drawn.boxes):
        assert rig.drawn.link_of(handle) in MODEL.frames


def test_frames_of_a_drag():
    """Points are three finite numbers; a phase is a text."""
    import msgspec
    whole = {'type': 'SceneNodeDragMessage', 'phase': 'start', 'name': '/robot/link_1/shape_0',
             'instance_index': None, 'start_position': [0.0, 0.0, 0.5], 'button': 'left',
             'start_screen_pos': [0.5, 0.5], 'end_position': [0.0, 0.1, 0.5],
             'end_screen_pos': [0.5, 0.6], 'modifier': None, 'owner': ''}

    def read(**other):
        return read_frame(msgspec.msgpack.encode({**whole, **other}))
    assert is_wanted(read(), {})
    for wrong in ({'phase': 3}, {'start_position': [0.0, float('nan'), 0.0]},
                  {'end_position': [0.0]}, {'end_screen_pos': 'ab'}, {'button': ['left']}):
        assert read(**wrong) is None
