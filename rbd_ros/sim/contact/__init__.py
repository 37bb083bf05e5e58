# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""What a simulated robot touches: shapes, distances, and contact in a step."""
