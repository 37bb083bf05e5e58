# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The floor and the robot on it: what is sent to a browser is what has to be seen."""

from unittest.mock import MagicMock

import numpy as np
import pytest
import rbd_ros
from rbd_ros.model.urdf.resources import find_resource
from rbd_ros.view.scene import floor_lines, RobotScene
from rbd_ros.view.shapes import read_shapes

FILE = find_resource('package://rbd_ros/urdf/seven_joint_arm.urdf')


@pytest.mark.parametrize('width', [1, 3, 8])
def test_the_floor_is_a_square_of_lines(width):
    """Ten lines per metre along both axes, around the origin, darker at whole metres."""
    ends, colours = floor_lines(width)
    assert ends.shape == (2 * (10 * width + (width * 10 + 1) % 2), 2, 3)
    assert np.abs(ends[..., :2]).max() == pytest.approx(0.5 * width, abs=0.1)
    way = ends[:, 1] - ends[:, 0]
    assert (np.count_nonzero(way, axis=1) == 1).all() and len(set(way.sum(axis=1).round(9))) == 1
    across = np.where(way[:, :1] != 0.0, ends[:, 0, 1:2], ends[:, 0, :1])[:, 0]
    whole = np.abs(across - across.round()) < 1e-9
    assert set(colours[whole].ravel()) == {140} and set(colours[~whole].ravel()) == {200}
    assert colours.shape == ends.shape and colours.dtype == np.uint8


class Handle:
    """A frame of a scene that notes what is set."""

    def __init__(self, name, sent):
        vars(self).update(name=name, sent=sent)

    def __setattr__(self, name, value):
        self.sent.append((self.name, name))
        vars(self)[name] = value


def test_a_link_that_stays_is_not_sent_again():
    """Links before the joint that moves keep their poses, those behind it get new ones."""
    sent = []
    model = rbd_ros.load_urdf(FILE)
    server = MagicMock()
    server.scene.add_frame.side_effect = lambda path, **_: Handle(path.rpartition('/')[2], sent)
    scene = RobotScene(server, model, read_shapes(FILE.read_text()))
    q = np.full(7, 0.3)
    scene.show(q)
    sent.clear()
    scene.show(q)
    assert sent == []
    q[3] += 0.1
    scene.show(q)
    assert {name for name, _ in sent} == {'link_4', 'link_5', 'link_6', 'link_7', 'tool0'}
    assert ('link_4', 'wxyz') in sent and ('link_4', 'position') not in sent
    expected = rbd_ros.Dynamics(model).pose(q, 'tool0')[:3, 3]
    np.testing.assert_allclose(scene.links['tool0'].position, expected, atol=1e-9)
