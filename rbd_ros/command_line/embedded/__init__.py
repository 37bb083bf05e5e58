# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Projects for processors without an operating system: firmware, and scripts of web pages."""
