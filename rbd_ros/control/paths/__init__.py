# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Timed paths of a frame: blended, checked over their whole length, followed by the joints."""
