# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The same dynamics in other forms: Lagrange, screws, link Jacobians, planar vectors."""
