# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0


"""Teach and repeat: shown motions as files, and as motions within limits; without ROS."""
