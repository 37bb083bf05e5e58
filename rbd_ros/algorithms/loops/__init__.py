# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Closed loops: constraints, closed positions, and motion under both (RBDA 3 and 8)."""
