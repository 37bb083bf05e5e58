# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The quantities of a robot by family: rule, row of the table and method of each together."""
