# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Frames that carry a task: operational-space inertia, propagators, steps towards a target."""
