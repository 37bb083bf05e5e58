# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The ROS 2 nodes: wiring only, all mathematics is in the library."""
