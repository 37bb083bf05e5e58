# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The compiled robot: quantities, their kernels and the class that offers them."""
