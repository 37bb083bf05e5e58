# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The public names of the package, and where each of them lives."""

from rbd_ros.algorithms.handles.opspace import FULL, Handle, POINT
from rbd_ros.dynamics.families.handles.results import OperationalSpace
from rbd_ros.dynamics.families.hybrid import HybridDynamics
from rbd_ros.dynamics.families.reaching.search import InverseKinematics
from rbd_ros.dynamics.robot import Dynamics
from rbd_ros.dynamics.uncompiled import (
    bias, forward_dynamics, gravity, hybrid_dynamics, inverse_dynamics, jacobian, mass_matrix,
    operational_space)
from rbd_ros.errors import (
    DeviceError, LoopError, ModelError, NonFiniteError, RbdError, RbdWarning, SettingError,
    ShapeError, SingularError, UnknownName, UnseenError,
)
from rbd_ros.model.builder import ModelBuilder
from rbd_ros.model.coupling import Gear, Mimic
from rbd_ros.model.independent import JointData
from rbd_ros.model.model import Model
from rbd_ros.model.urdf import load_urdf

__all__ = [
    'bias', 'DeviceError', 'Dynamics', 'forward_dynamics', 'FULL', 'Gear', 'gravity', 'Handle',
    'hybrid_dynamics', 'HybridDynamics', 'inverse_dynamics', 'InverseKinematics', 'jacobian',
    'JointData', 'load_urdf', 'LoopError', 'mass_matrix', 'Mimic', 'Model', 'ModelBuilder',
    'ModelError', 'NonFiniteError', 'operational_space', 'OperationalSpace', 'POINT',
    'RbdError', 'RbdWarning', 'SettingError', 'ShapeError', 'SingularError', 'UnknownName',
    'UnseenError',
]
