# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The version of this package, as in package.xml; part of every key of compiled code."""

VERSION = '0.1.0'
