# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Contact (RBDA 11): rigid and soft, with friction, and impacts."""
