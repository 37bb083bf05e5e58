# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Messages as bytes: what the network brings and takes, read and written without ROS."""
