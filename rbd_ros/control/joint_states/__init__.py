# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""A joint state on its way in: who sent it, how old it is, whether it can be true."""
