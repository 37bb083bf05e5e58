# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""One step of a simulation: integration, joint friction, stops and closed loops."""
