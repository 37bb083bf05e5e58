# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Services that the control loop answers: what a client hears, and what stands in the log."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from rbd_env.pace import patient
from rbd_ros.nodes.controller.loop_services import offered_services
import rclpy
from rclpy.node import Node
from std_srvs.srv import SetBool, Trigger


class Robot:
    """
    Stands for a controller whose loop answers at once.

    :param sensor: name of its force-torque frame, '' if there is none.
    """

    def __init__(self, sensor: str) -> None:
        self.settings = SimpleNamespace(robot=SimpleNamespace(sensor=sensor))
        self.refused, self.answer, self.asked = '', 'it is done', []

    def post(self, request: Callable[[float, float], None]) -> None:
        """Let a request happen, at control time 3 s and steady time 5 s."""
        request(3.0, 5.0)

    def pause(self, now: float, steady: float, rest: bool) -> str:
        """Note what was asked for."""
        self.asked.append(('pause', now, steady, rest))
        return self.refused

    def tare(self, now: float, steady: float) -> str:
        """Note what was asked for."""
        self.asked.append(('tare', now, steady))
        return self.refused


def call(node: Node, kind: type, name: str, request: Any) -> Any:
    """Return what a client hears."""
    client = node.create_client(kind, name)
    assert client.wait_for_service(patient(20.0))
    future = client.call_async(request)
    rclpy.spin_until_future_complete(node, future, timeout_sec=patient(20.0))
    node.destroy_client(client)
    assert future.result() is not None, 'no answer'
    return future.result()


@pytest.mark.parametrize('kind, name, request_, asked', [
    (SetBool, '~/pause', SetBool.Request(data=True), ('pause', 3.0, 5.0, True)),
    (SetBool, '~/pause', SetBool.Request(data=False), ('pause', 3.0, 5.0, False)),
    (Trigger, '~/tare_force_torque', Trigger.Request(), ('tare', 3.0, 5.0))])
def test_a_client_hears_what_the_loop_did(node, capfd, kind, name, request_, asked):
    """Granted or refused with the reason, which the log has as well; then nobody serves."""
    robot = Robot('tool')
    services = offered_services(node, robot)
    for refused in ('', 'nothing moves'):
        robot.refused = refused
        response = call(node, kind, name, request_)
        assert (response.success, response.message) == (not refused, refused or robot.answer)
        assert robot.asked.pop() == asked and not robot.asked
        assert f'{name}: {response.message}' in capfd.readouterr().err
    for each in services:
        each.destroy()
    assert not [each for each in node.services if each.srv_name.endswith(name[2:])]


def test_only_a_robot_with_a_sensor_is_tared(node):
    """Without one the service is not there."""
    services = offered_services(node, Robot(''))
    names = [each.srv_name.rpartition('/')[2] for each in node.services]
    assert 'pause' in names and 'tare_force_torque' not in names
    for each in services:
        each.destroy()
