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

"""
A controller whose callbacks raise on request.

The environment names a file; what is written there is the next thing to break, once.
"""

from __future__ import annotations

from functools import wraps
import os
from pathlib import Path
import sys
import threading
import time

from rbd_ros.control.controller import Controller
from rbd_ros.nodes import parameters
from rbd_ros.nodes.controller.action import TrajectoryAction
from rbd_ros.nodes.controller.activation import Activation
from rbd_ros.nodes.controller.announcer import Announcer
from rbd_ros.nodes.controller.description_source import DescriptionSource
from rbd_ros.nodes.controller.diagnostics import Diagnostics
from rbd_ros.nodes.controller.inputs import ReferenceInputs
from rbd_ros.nodes.controller.loop_node import LoopNode
from rbd_ros.nodes.controller.node import ControllerNode
from rbd_ros.nodes.controller.parameter_changes import ParameterChanges
from rbd_ros.nodes.controller.process import main
from rbd_ros.nodes.controller.reports import Reports
from rclpy.lifecycle import LifecycleNode

#: where to break what
PLACES = {
    'state': (Controller, 'take_message'), 'timer': (Controller, 'take_timer'),
    'reset': (Controller, 'reset'), 'dead-man': (Controller, 'press'),
    'stop': (ControllerNode, '_cancel_activation'), 'heartbeat': (LoopNode, '_beat'),
    'request': (Controller, '_take_reference'),
    'goal': (TrajectoryAction, '_read'), 'acceptance': (TrajectoryAction, '_start_goal'),
    'cancellation': (TrajectoryAction, '_cancel_goal'), 'reference': (ReferenceInputs, '_on_pose'),
    'judgement': (parameters, 'check_changes'), 'parameters': (ParameterChanges, '_apply'),
    'report': (Reports, 'drain'), 'announcement': (Announcer, '_publish_saturation'),
    'diagnostics': (Diagnostics, '_parts'), 'description': (DescriptionSource, '_on_description'),
    'configuration': (ControllerNode, '_configure'),
    'activation': (Activation, 'output_is_free'),
    'late activation': (LifecycleNode, 'on_activate'),
    'deactivation': (LifecycleNode, 'on_deactivate'),
    'clean-up': (LoopNode, 'detach'), 'graph': (ReferenceInputs, '_check_publishers'),
}

armed: set[str] = set()


def sabotage(kind: str, owner: object, name: str) -> None:
    """Let a function raise once when it is armed."""
    plain = getattr(owner, name)

    @wraps(plain)
    def broken(*args: object, **more: object) -> object:
        if kind in armed:
            armed.discard(kind)
            raise RuntimeError(f'sabotage of {kind}')
        return plain(*args, **more)
    setattr(owner, name, broken)


def listen(file: Path) -> None:
    """Arm what is written into a file."""
    while True:
        if file.exists():
            armed.add(file.read_text())
            file.unlink()
        time.sleep(0.01)


if __name__ == '__main__':
    for kind, (owner, name) in PLACES.items():
        sabotage(kind, owner, name)
    threading.Thread(target=listen, args=(Path(os.environ['SABOTAGE']),), daemon=True).start()
    sys.exit(main())
