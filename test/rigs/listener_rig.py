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

"""The references of a controller as topics bring them, without a middleware."""

from types import SimpleNamespace

from controller_rig import Arm
from rbd_ros.control.parameters.settings import Settings
from rbd_ros.control.parameters.validation import refusals
from rbd_ros.control.robot_now import ControlledRobot
from rbd_ros.nodes.controller import inputs
from rbd_ros.nodes.controller.path_planner import PathPlanner


class Listeners:
    """The references of an arm that stands, by topic, with what was logged and posted."""

    def __init__(self, monkeypatch, mode):
        self.arm = Arm(mode=mode, ramp_time=0.02)
        self.arm.activate()
        self.arm.run(0.1)
        self.controller, self.topics, self.logged = self.arm.controller, {}, []
        self.references, self.publishers = self.controller.x.references, {}
        assert self.arm.state == 'running'
        log = dict.fromkeys(('info', 'warning', 'error'),
                            lambda text, **_: self.logged.append(text))
        node = SimpleNamespace(
            resolve_topic_name=lambda name: name.replace('~', '/arm'),
            count_publishers=lambda topic: self.publishers.get(topic, 1),
            get_parameter=lambda name: SimpleNamespace(
                value=self.controller.accepted[name]),
            set_parameters_atomically=self._set, create_timer=self._timer,
            get_logger=lambda: SimpleNamespace(**log),
            get_clock=lambda: SimpleNamespace(now=lambda: SimpleNamespace(nanoseconds=7 * 10**9)))
        monkeypatch.setattr(inputs, 'time', SimpleNamespace(monotonic=lambda: self.arm.time))
        monkeypatch.setattr(inputs, 'BoundedInput', lambda _node, kind, topic, taken, *_: (
            self.topics.update({topic.removeprefix('/arm/'): taken})))
        self.planner = PathPlanner(node, ControlledRobot(self.controller),
                                   self.controller.kernels['report'])
        inputs.ReferenceInputs(node, self.controller, self.planner)

    def _timer(self, _, look, **__):
        self.look = look  # that of the references comes last
        return SimpleNamespace(reset=lambda: None, cancel=lambda: None)

    def _set(self, changes):
        """Take parameters as the node does."""
        wanted = {change.name: list(change.value) for change in changes}
        settings = Settings(self.arm.robot, self.controller.accepted.values | wanted,
                            simulated=False)
        reasons = refusals(wanted, joints=7) or settings.refusals()
        if not reasons:
            self.arm.change(**wanted)
        return SimpleNamespace(successful=not reasons, reason='; '.join(reasons))

    def take(self, topic, message, seconds=0.0):
        """Bring a message and let the loop take it."""
        self.topics[topic](message)
        self.controller.serve(self.arm.time, self.arm.time)
        self.arm.run(seconds)
