# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The command ``rbd``: what the package can do for a robot, without ROS."""
