# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Gradients of the quantities of a robot, for PyTorch and JAX; each is imported by name only."""
