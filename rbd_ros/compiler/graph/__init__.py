# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Expressions, tracing, simplification, differentiation and scheduling."""
