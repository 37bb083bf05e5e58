# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The verb ``ros2 launch`` for a ROS 2 runtime that lacks the package ros2launch."""
