# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Robots of the PyPI package example-robot-data, and the map between our q and Pinocchio's."""

from __future__ import annotations

from functools import cache
import importlib.metadata
import math
from pathlib import Path

from linted import ROOT
import numpy as np
import pinocchio as pin

import rbd_ros
from rbd_ros.model.model import Model
from rbd_ros.peers.pinocchio_robot import PinocchioRobot

SPATIAL = [3, 4, 5, 0, 1, 2]        # angular first from linear first, and back


@cache
def robot_folder() -> Path | None:
    """Return the folder of robots of example-robot-data, or None if it is not installed."""
    try:
        files = importlib.metadata.files('example-robot-data') or []
    except importlib.metadata.PackageNotFoundError:
        return None
    for each in files:
        path = Path(each.locate())
        if path.suffix == '.urdf' and 'robots' in path.parts:
            parts = path.parts
            where = len(parts) - 1 - parts[::-1].index('example-robot-data')
            return Path(*parts[:where + 1]) / 'robots'
    return None


def robot_files() -> list[str]:
    """Return every URDF of the package, relative to its folder."""
    folder = robot_folder()
    if folder is None:
        return []
    return sorted(str(path.relative_to(folder)) for path in folder.rglob('*.urdf'))


def load_pinocchio(path: str | Path, floating_base: bool = False, mimic: bool = False
                   ) -> pin.Model:
    """Load a robot with Pinocchio; raises ValueError for what it does not accept."""
    if floating_base:
        return pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer(), mimic)
    return pin.buildModelFromUrdf(str(path), mimic)


def pinocchio_position(model: Model, peer: pin.Model, q: list[float]) -> np.ndarray:
    """
    Return Pinocchio's q of our tree position: by name, with its forms of angles.

    Its continuous joints have cosine and sine, its planar joints x, y, cosine and sine.
    """
    out = pin.neutral(peer)
    for i, name in enumerate(model.joint_names, 1):
        joint = peer.joints[peer.getJointId(name)]
        own = q[model.q_index[i]]
        if joint.nq == 2:
            own = [math.cos(own[0]), math.sin(own[0])]
        elif joint.nq == 4 and joint.shortname() == 'JointModelPlanar':
            own = [own[1], own[2], math.cos(own[0]), math.sin(own[0])]
        if joint.nq:
            out[joint.idx_q:joint.idx_q + joint.nq] = own
    return out


def arm_and_twin(floating_base: bool) -> tuple[rbd_ros.Dynamics, PinocchioRobot]:
    """Return the built-in arm, compiled, and the same robot in Pinocchio."""
    urdf = ROOT / 'urdf' / 'seven_joint_arm.urdf'
    model = rbd_ros.load_urdf(urdf, floating_base, on_warning=lambda text: None)
    return rbd_ros.Dynamics(model), PinocchioRobot(model, urdf.read_text(), floating_base)
