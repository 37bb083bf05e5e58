# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Forces as arrows, of one length in every picture."""

__all__ = ['PER_NEWTON']

#: m of arrow per N
PER_NEWTON = 0.005
