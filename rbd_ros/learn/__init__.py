# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Lessons on the algorithms of the book: notebooks that compute, check and draw."""
