# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Traced dynamics and control laws of one robot, compiled before it runs."""
