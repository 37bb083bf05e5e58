# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The most used verbs of ros2action, ros2interface and ros2lifecycle, with the same words."""
