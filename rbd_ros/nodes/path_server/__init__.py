# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Timed paths of the tip for a controller elsewhere: checked here, followed there."""
