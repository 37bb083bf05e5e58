# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Derivatives of dynamics, of the motion of frames and of handles."""
