# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Kernels on a GPU: packed where robots can be read, measured where there is a GPU."""
