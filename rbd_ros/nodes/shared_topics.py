# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Topics that all robots of a domain share, unless one is started beside another."""

__all__ = ['SHARED']

SHARED = 'tf', 'tf_static', 'diagnostics'
