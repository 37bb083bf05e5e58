# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The machine that a controller runs on: what it allows, how it is set up, how late it wakes."""
