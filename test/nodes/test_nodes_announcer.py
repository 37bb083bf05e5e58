# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""What is announced about a robot, without a middleware."""

from types import SimpleNamespace

import pytest

pytest.importorskip('rclpy', reason='ROS is not sourced')
controller_rig = pytest.importorskip('controller_rig')
from rbd_ros.compiler import sqrt  # noqa: E402
from rbd_ros.control.interface.causes import Cause  # noqa: E402
from rbd_ros.control.modes import own_mode  # noqa: E402
from rbd_ros.nodes.controller.announcer import Announcer  # noqa: E402


class FakeNode:
    """Keeps what is published and logged."""

    def __init__(self):
        self.said, self.logged = {}, []

    def create_publisher(self, _, name, depth):
        """Return something to publish with."""
        return SimpleNamespace(publish=lambda message: self.said.update({name: message.data}))

    def create_timer(self, *_, **__):
        """Create none: the test drains."""

    def get_logger(self):
        """Return a logger that keeps the lines."""
        return SimpleNamespace(**dict.fromkeys(('info', 'warning', 'error'), self.logged.append))

    def get_fully_qualified_name(self):
        """Return the name of the node."""
        return '/arm/controller'


def test_what_was_seen_first_counts_until_it_is_cleared():
    """The same cause says nothing new while it is latched; after a reset it is told anew."""
    node, arm = FakeNode(), controller_rig.Arm(ramp_time=0.02)
    announcer = Announcer(node)
    announcer.attach(arm.controller)
    arm.activate()
    arm.run(0.1)
    for text in ('the first button', 'the second button'):
        arm.stop(Cause.OPERATOR_STOP, text)
        arm.stop(Cause.OPERATOR_STOP, 'another one')
        announcer.drain()
        assert node.said['~/fault'].endswith(f': {text}')
        arm.run(arm.controller.settings.number('brake_time') + 0.1)
        assert arm.controller.reset(arm.time, arm.time) == ''
        arm.run(0.1)
        announcer.drain()
        assert node.said['~/fault'] == '' and node.said['~/state'] == 'running'


def root(terms, _):
    """Return g(q), or what is no number where the first joint is beyond 0.1001 rad."""
    return [g + 1e-9 * sqrt(0.1001 - terms.q[0]) for g in terms.gravity]


def test_fault_in_the_step_that_ends_another_one():
    """A lost state returns, and its law cannot be computed: that is what stops the robot now."""
    node, arm = FakeNode(), controller_rig.Arm(
        ramp_time=0.02, modes=(own_mode('root', root, 'g(q)'),), mode='root',
        recover_lost_state=True)
    announcer = Announcer(node)
    announcer.attach(arm.controller)
    arm.activate()
    arm.run(0.1)
    assert arm.state == 'running'
    while not arm.controller.faults():
        arm.time += arm.period
        arm.controller.take_timer(arm.time, arm.time)
    announcer.drain()
    lost = node.said['~/fault']
    assert list(arm.controller.faults()) == [Cause.STATE_STALE.name] and lost
    arm.q[0] = 0.1002
    for _ in range(400):
        arm.run(arm.period)
        if arm.state != 'state lost':
            break
    assert arm.state == 'braking'
    announcer.drain()
    assert list(arm.controller.faults()) == [Cause.BAD_COMMAND.name]
    assert node.said['~/fault'].startswith(Cause.BAD_COMMAND.text)
    assert f'recovers by itself: {lost}' in node.logged
