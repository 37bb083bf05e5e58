# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Kernels of a robot: how one is made, kept and found again, and when it has no result."""
