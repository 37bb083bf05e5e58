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

"""A page of the dashboard without a browser and without a server."""

from __future__ import annotations

from unittest.mock import MagicMock

import rbd_ros
from rbd_ros.model.urdf.resources import find_resource
from rbd_ros.nodes.dashboard.operator import Operator
from rbd_ros.nodes.dashboard.page import Page
from rbd_ros.nodes.dashboard.settings import Settings
from rbd_ros.nodes.dashboard.telemetry import Telemetry
from rclpy.node import Node

ARM = find_resource('package://rbd_ros/urdf/seven_joint_arm.urdf')
DESCRIPTION = ARM.read_text()
MODEL = rbd_ros.load_urdf(ARM)


def page(node: Node, frame: str) -> tuple[Page, Telemetry]:
    """Return a page of the arm that may not command, and what it hears."""
    telemetry = Telemetry(node, 'controller', 'simulator')
    operator = Operator(node, 'controller', 'simulator', allowed=False)
    server = MagicMock()
    for made in (server.scene.add_arrows, server.scene.add_icosphere, server.scene.add_box,
                 server.scene.add_frame, server.scene.add_label, server.gui.add_checkbox):
        made.side_effect = lambda *_, **__: MagicMock()  # one handle for each
    server.gui.add_dropdown.side_effect = lambda label, options, **_: MagicMock(value=options[0])
    settings = Settings(node, 'controller')
    return Page(server, MODEL, DESCRIPTION, frame, MODEL.joint_names, telemetry, operator,
                settings), telemetry
