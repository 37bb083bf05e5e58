# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Robots from URDF (the Unified Robot Description Format): ``load_urdf``."""

from rbd_ros.model.urdf.loader import load_urdf
from rbd_ros.model.urdf.resources import find_resource

__all__ = ['find_resource', 'load_urdf']
