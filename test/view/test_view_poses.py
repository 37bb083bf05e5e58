# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Poses on their way to the browsers: found by machine code, sent as viser's setters send them."""

from unittest.mock import MagicMock

from command_rig import ARM
import numpy as np
from ports import free_port
import pytest
import rbd_ros
from rbd_ros.view.node_pose import NodePose
from rbd_ros.view.poses import compiled_poses, link_poses
from rbd_ros.view.scene import RobotScene
from rbd_ros.view.server import start_server, stop_server

DELTA = 'package://rbd_ros/urdf/delta.urdf'  # which has closed loops


@pytest.fixture(scope='module')
def server():
    """Serve an empty scene."""
    pytest.importorskip('viser', reason='viser is not installed: use ./run')
    made = start_server(port=free_port())
    yield made
    stop_server(made)


@pytest.mark.parametrize('file', [ARM, DELTA])
def test_compiled_poses_are_those_of_the_algorithm(file):
    """Of every frame, in the order of the model, also where loops are closed."""
    model = rbd_ros.load_urdf(file)
    find = compiled_poses(rbd_ros.Dynamics(model))
    for q in np.random.default_rng(1).uniform(-2.0, 2.0, (20, model.nq)):
        expected = [np.concatenate(each) for each in link_poses(model, q).values()]
        np.testing.assert_allclose(find(q), expected, atol=1e-12)


def test_a_robot_moves_alike_with_and_without_compiled_poses(server):
    """The links of both are in the same places."""
    model = rbd_ros.load_urdf(ARM)
    scenes = [RobotScene(server, model, [], root=f'/{k}', beside=(0.0, 0.0, 0.0), poses=poses)
              for k, poses in enumerate((None, compiled_poses(rbd_ros.Dynamics(model))))]
    for q in np.random.default_rng(1).uniform(-2.0, 2.0, (5, 7)):
        for scene in scenes:
            scene.show(q)
        for name, handle in scenes[0].links.items():
            other = scenes[1].links[name]
            np.testing.assert_allclose(other.position, handle.position, atol=1e-9)
            np.testing.assert_allclose(other.wxyz, handle.wxyz, atol=1e-9)


def test_a_node_that_is_gone_or_of_another_release_is_set_by_its_setters(server):
    """What viser refuses is refused; where its inner parts differ, its setters are used."""
    frame = server.scene.add_frame('/gone')
    pose = NodePose(frame)
    frame.remove()
    with pytest.raises(RuntimeError, match='removed'):
        pose.move((1.0, 2.0, 3.0))
    for other in (MagicMock(), type('Node', (), {})()):
        pose = NodePose(other)
        pose.move((1.0, 2.0, 3.0))
        pose.turn((1.0, 0.0, 0.0, 0.0))
        assert other.position == (1.0, 2.0, 3.0) and other.wxyz == (1.0, 0.0, 0.0, 0.0)


def sent(server, act):
    """Return the messages that are queued for the browsers meanwhile."""
    queued, queue = [], server.scene._websock_interface.queue_message
    server.scene._websock_interface.queue_message = queued.append
    try:
        act()
    finally:
        server.scene._websock_interface.queue_message = queue
    return queued


def test_what_is_sent_is_what_viser_sends(server):
    """The same messages, in the same order, and a handle that knows where it is."""
    plain, quick = (server.scene.add_frame(f'/{name}') for name in ('plain', 'quick'))
    place, turn = (0.1, -0.2, 0.3), (0.5, 0.5, -0.5, 0.5)

    def set_plainly():
        plain.position = place
        plain.wxyz = turn
    pose = NodePose(quick)
    expected, found = sent(server, set_plainly), sent(
        server, lambda: (pose.move(place), pose.turn(turn)))
    assert len(found) == 2
    for one, other in zip(expected, found, strict=True):
        assert type(one) is type(other)
        assert {**vars(one), 'name': '/quick'} == vars(other)
    assert tuple(quick.position) == place and tuple(quick.wxyz) == turn
