# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The period of a simulation as machine code, in a thread without the lock of the interpreter."""
