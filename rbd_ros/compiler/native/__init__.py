# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The machine-code back end: LLVM, batches, the object cache and the call from Python."""
