# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The qualities of service that every contender and the driver use."""

from rclpy.qos import QoSProfile, ReliabilityPolicy

STATES = QoSProfile(depth=10, reliability=ReliabilityPolicy.BEST_EFFORT)
COMMANDS = QoSProfile(depth=10, reliability=ReliabilityPolicy.RELIABLE)
