# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Procedures on a GPU: the language's records and kernels, one set for each thread."""
