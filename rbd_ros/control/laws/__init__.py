# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Which law runs, with which inputs; stops and holds; gains that fit the delay."""
