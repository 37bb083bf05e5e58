# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Small parts of the simulator node: diagnostics, and conversions to messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from geometry_msgs.msg import TransformStamped
from rbd_ros.nodes.description import BUILT_IN_POSE
from tf2_msgs.msg import TFMessage

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rbd_ros.sim import Pose, Simulation
    from rbd_ros.sim.setting_table import Value
    from rclpy.topic_endpoint_info import TopicEndpointInfo


class Diagnosis:
    """
    Counters of a simulation, with a warning if steps since the last report were not solved.

    :param name: of the node.
    """

    def __init__(self, name: str, simulation: Simulation) -> None:
        self._name, self._simulation = name, simulation
        self._reported = (0, 0, 0)      # unsolved contacts, unsolved friction, periods

    def message(self, stamp: Time) -> DiagnosticArray:
        """Return the report, and begin the next one."""
        simulation = self._simulation
        counts = vars(simulation.counters) | {
            'late': simulation.pacer.late, 'skipped': simulation.pacer.skipped,
            'lost': simulation.sensors.lost, 'unresolved': simulation.robot.unresolved,
            'braked': simulation.braked, 'paused': simulation.paused,
            'waiting': simulation.waiting,
        }
        warnings = self._warnings()
        state = 'paused' if simulation.paused else 'running'
        status = DiagnosticStatus(
            level=DiagnosticStatus.WARN if warnings else DiagnosticStatus.OK,
            name=f'{self._name}: simulation', hardware_id=simulation.robot.model.name,
            message='; '.join([state, *warnings]),
            values=[KeyValue(key=key, value=str(value)) for key, value in counts.items()])
        message = DiagnosticArray(status=[status])
        message.header.stamp = stamp
        return message

    def _warnings(self) -> list[str]:
        """Return what the steps since the last report failed to solve, and what to do."""
        robot, schedule = self._simulation.robot, self._simulation.schedule
        contacts = robot.unsolved_contacts
        now = (contacts, robot.unresolved - contacts, self._simulation.counters.periods)
        contact, friction, periods = (a - b for a, b in zip(now, self._reported, strict=True))
        self._reported = now
        steps, found = periods * schedule.substeps, []
        if contact:
            found.append(
                f'rigid contacts were not solved in {contact} of {steps} steps: links may sink '
                'into what they touch, and contact forces are wrong. Look for a link that is '
                'squeezed between obstacles; otherwise raise substeps, or set contact to soft')
        if friction:
            found.append(
                f'dry friction of joints was not solved in {friction} of {steps} steps: joints '
                'may creep or stick wrongly. Raise substeps')
        return found


def with_built_in_pose(values: dict[str, Value]) -> dict[str, Value]:
    """Return the values with a pose for the built-in arm, if it is simulated and has none."""
    keys = ('robot_description', 'robot_description_file', 'initial_positions', 'joints')
    if any(values[key] for key in keys):
        return values
    return values | {'initial_positions': list(BUILT_IN_POSE)}


def endpoint_node_name(info: TopicEndpointInfo) -> str:
    """Return the name of the node behind an end of a topic."""
    return f'{info.node_namespace.rstrip("/")}/{info.node_name}'


def time_message(stamp_ns: int) -> Time:
    """Return nanoseconds as a message."""
    sec, nanosec = divmod(stamp_ns, 1_000_000_000)
    return Time(sec=sec, nanosec=nanosec)


def transforms(poses: Iterable[Pose], stamp: Time) -> TFMessage:
    """Return poses as a message."""
    message = TFMessage()
    for pose in poses:
        item = TransformStamped(child_frame_id=pose.child)
        item.header.frame_id, item.header.stamp = pose.parent, stamp
        t, r = item.transform.translation, item.transform.rotation
        t.x, t.y, t.z = pose.translation
        r.x, r.y, r.z, r.w = pose.rotation
        message.transforms.append(item)
    return message
