# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""A force-torque sensor: what is read, what of it the tool makes, and control of the force."""
