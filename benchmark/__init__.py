# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Measurements of rbd_ros and other libraries, in one run on one machine."""
