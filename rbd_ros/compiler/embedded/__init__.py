# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Graphs for processors without an operating system: microcontrollers, and browsers."""
