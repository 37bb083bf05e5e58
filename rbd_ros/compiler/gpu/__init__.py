# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Graphs as kernels of a GPU: one thread per state, numbers of neighbouring states together."""
