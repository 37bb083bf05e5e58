# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Other libraries with the methods of Dynamics, for comparison; all of them are optional."""
