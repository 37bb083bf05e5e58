# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Handles: the robot as it feels where it is touched (RBDA 7.2)."""
