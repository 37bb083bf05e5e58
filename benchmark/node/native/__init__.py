# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Programs of C on rcl alone: a driver, and the floor under every controller."""
