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

"""Rates, ages, times and faults on /diagnostics, once per second."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rbd_ros.control.supervisor import State
from rclpy.clock import Clock, ClockType

if TYPE_CHECKING:
    from rbd_ros.nodes.cycle import Cycle
    from rbd_ros.nodes.lifecycle import ControllerNode

__all__ = ['Diagnostics']

_GOOD = (State.RUNNING, State.RAMPING_IN, State.PROBING, State.INACTIVE, State.RELEASED)


class Diagnostics:
    """Publish one status of the controller per second."""

    def __init__(self, node: ControllerNode) -> None:
        """
        Create the topic.

        :param node: the lifecycle node.
        """
        self._node = node
        self._publisher = node.create_publisher(DiagnosticArray, '/diagnostics', 1)
        self._last = (time.monotonic(), 0, 0)
        node.create_timer(1.0, self._publish, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def _publish(self) -> None:
        node = self._node
        cycle = node.cycle
        status = DiagnosticStatus(name=f'{node.get_fully_qualified_name()}: loop',
                                  level=DiagnosticStatus.OK, message='not configured')
        if cycle is not None:
            state, fault = cycle.supervisor.state, cycle.fault_text()
            status.hardware_id = cycle.settings.robot.model.name
            status.message = f'{state.value}: {fault}' if fault else state.value
            if state not in _GOOD:
                status.level = DiagnosticStatus.ERROR
            elif cycle.limiter.saturated.any() or cycle.supervisor.paused:
                status.level = DiagnosticStatus.WARN
            status.values = [KeyValue(key=key, value=str(value))
                             for key, value in self._values(cycle).items()]
        message = DiagnosticArray(status=[status])
        message.header.stamp = node.get_clock().now().to_msg()
        self._publisher.publish(message)

    def _values(self, cycle: Cycle) -> dict[str, object]:
        hot = self._node.hot
        now = time.monotonic()
        before, states, sent = self._last
        self._last = (now, cycle.states, cycle.loop.published)
        span = max(now - before, 1e-6)
        latency = hot.latency.take()
        limited = [name for name, full in zip(
            cycle.settings.robot.joints, cycle.limiter.saturated.tolist()) if full]
        values: dict[str, object] = {
            'state': cycle.supervisor.state.value, 'mode': cycle.mode,
            'state rate (Hz)': f'{(cycle.states - states) / span:.1f}',
            'command rate (Hz)': f'{(cycle.loop.published - sent) / span:.1f}',
            'rejected messages': cycle.joints.rejected,
            'messages read the slow way': hot.surprises,
            'saturated joints': ', '.join(limited) or 'none',
            'paused': cycle.supervisor.paused,
        }
        for key, value in latency.items():
            values[f'{key} from reception to command (us)'] = f'{1e6 * value:.0f}'
        if cycle.mode == 'operational_space':
            values['condition'] = f'{float(cycle.law.outputs["condition"][0]):.4g}'
        return values
