# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The controller as one function of state, event and parameters: decide, compute, finish."""
