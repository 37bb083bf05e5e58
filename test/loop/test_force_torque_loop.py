# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The force-torque sensor on a real middleware: its messages as bytes, and the native loop."""

from __future__ import annotations

import dataclasses
import threading
import time

import controller_rig
from geometry_msgs.msg import WrenchStamped
from native_rig import activate, make_controller, Robot
import numpy as np
from rbd_env.pace import patient
from rbd_ros.nodes.controller.loop_node import READINGS
from rbd_ros.wire.wrench import read_wrench
from rclpy.serialization import serialize_message


def message(wrench, frame: str = '', stamp: int = 0) -> WrenchStamped:
    """Return a reading, moment first, with a stamp in ns."""
    made = WrenchStamped()
    made.header.frame_id = frame
    made.header.stamp.sec, made.header.stamp.nanosec = divmod(stamp, 10**9)
    moment, force = made.wrench.torque, made.wrench.force
    moment.x, moment.y, moment.z, force.x, force.y, force.z = map(float, wrench)
    return made


def test_bytes_of_a_message():
    """Moment, force and stamp are found whatever the frame is called; what is cut off is none."""
    rng, numbers = np.random.default_rng(0), np.zeros(8)
    for length in range(20):
        wrench, stamp = rng.standard_normal(6), int(rng.integers(0, 2**60))
        data = np.frombuffer(serialize_message(message(wrench, 'f' * length, stamp)), np.uint8)
        assert read_wrench(data, len(data), numbers)
        np.testing.assert_array_equal(numbers[:6], wrench)
        assert tuple(numbers[6:]) == divmod(stamp, 10**9)
        for size in range(0, len(data), 7):
            assert not read_wrench(data[:size].copy(), size, numbers)
    broken = data.copy()
    broken[12:16] = 255  # a name of 4 GB
    assert not read_wrench(broken, len(broken), numbers)


def test_the_loop_reads_the_sensor(monkeypatch):
    """Readings reach the step without Python; when they cease, the robot is stopped for it."""
    robot, dynamics = controller_rig.robot_and_dynamics()
    monkeypatch.setattr(controller_rig, 'robot_and_dynamics', lambda: (
        dataclasses.replace(robot, sensor='tool0'), dynamics))
    made = Robot()
    sensor = made.node.create_subscription(WrenchStamped, 'force_torque', lambda _: None,
                                           READINGS, raw=True)
    publisher = made.driver.create_publisher(WrenchStamped, 'force_torque', 10)
    ended, rng = threading.Event(), np.random.default_rng(1)
    wrench = np.array([0.1, -0.2, 0.3, 4.0, -5.0, 6.0])

    def send():
        while not ended.wait(0.005):
            publisher.publish(message(wrench + 1e-3 * rng.standard_normal(6), 'any',
                                      time.time_ns()))
    thread = threading.Thread(target=send, daemon=True)
    controller = make_controller(**{'force_torque.frame': 'tool0',
                                    'force_torque.timeout': min(patient(0.5), 1.0),
                                    'force_torque.freeze_time': 0.0})
    loop = made.loop(controller, sensor=sensor.handle.pointer)
    loop.start()
    try:
        made.wait(publisher.get_subscription_count)
        thread.start()
        activate(made, controller, loop)
        np.testing.assert_allclose(controller.x.sensor.reading, wrench, rtol=0, atol=0.01)
        ended.set()
        thread.join()

        def stopped():
            loop.look()
            return controller.state.value not in ('running', 'ramping in')
        made.wait(stopped)
        controller.attend()
        assert list(controller.faults()) == ['FORCE_SENSOR']
    finally:
        ended.set()
        assert loop.close(stop=True)
        made.close()
