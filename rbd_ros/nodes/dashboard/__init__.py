# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The dashboard: a web page that shows the robot and lets a person drive it."""
