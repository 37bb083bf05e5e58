# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Robots with closed loops (RBDA 8): constraints, what is found once, motion, drives."""
