# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Identification of the parameters of a real robot: regressors fitted to recorded motion.

Works on arrays, with the regressors of :class:`rbd_ros.Dynamics`; needs no ROS.
"""

from rbd_ros.identification.bag import BagError
from rbd_ros.identification.equations import Motion, settle
from rbd_ros.identification.fit import (
    base_parameters, BaseParameters, design, Estimate, fit, SingularRegressor)
from rbd_ros.identification.parameters import (
    body_parameters, drive_parameters, is_physical, parameter_names, pseudo_inertia,
    with_parameters)
from rbd_ros.identification.payload import identify_payload, Payload, payload_of
from rbd_ros.identification.physical import physical_fit
from rbd_ros.identification.recording import (
    read_joint_states, read_recording, read_table, Recording, smooth)
from rbd_ros.identification.whole_robot import (
    BaseEstimate, Identified, identify_robot, predicted_torque)
from rbd_ros.identification.written import controller_parameters, corrected_urdf

__all__ = [
    'BagError', 'base_parameters', 'BaseEstimate', 'BaseParameters', 'body_parameters',
    'controller_parameters', 'corrected_urdf', 'design', 'drive_parameters', 'Estimate', 'fit',
    'Identified', 'identify_payload', 'identify_robot', 'is_physical', 'Motion',
    'parameter_names', 'Payload', 'payload_of', 'physical_fit', 'predicted_torque',
    'pseudo_inertia',
    'read_joint_states', 'read_recording', 'read_table', 'Recording', 'settle',
    'SingularRegressor', 'smooth', 'with_parameters',
]
