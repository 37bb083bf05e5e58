# Copyright 2026 the rbd_ros developers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""Rotations and their vectors: exponential, logarithm, and angular velocities in between."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

__all__ = ['exponential', 'logarithm', 'right_jacobian', 'right_jacobian_rate']

Array = npt.NDArray[np.float64]

#: rad below which series take the place of quotients; what they leave out is below rounding
_SMALL = 0.02


def _skew(r: Array) -> Array:
    x, y, z = r.tolist()
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def exponential(r: Array) -> Array:
    """
    Return the rotation matrix of a rotation vector (Rodrigues).

    :param r: axis times angle, rad.
    """
    angle = math.sqrt(float(r @ r))
    S = _skew(r)
    if angle < _SMALL:
        x = angle * angle
        a, b = 1.0 - x / 6.0 * (1.0 - x / 20.0), 0.5 - x / 24.0 * (1.0 - x / 30.0)
    else:
        a, b = math.sin(angle) / angle, 2.0 * math.sin(0.5 * angle)**2 / angle**2
    return np.eye(3) + a * S + b * S @ S


def logarithm(R: Array) -> Array:
    """
    Return the rotation vector of a rotation matrix; of half a turn it has no accuracy.

    :param R: rotation by less than half a turn.
    """
    twice = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    sine, cosine = 0.5 * math.sqrt(float(twice @ twice)), 0.5 * (float(np.trace(R)) - 1.0)
    angle = math.atan2(sine, cosine)
    if angle < _SMALL:
        return 0.5 * (1.0 + angle * angle / 6.0) * twice
    return (0.5 * angle / max(sine, 1e-300)) * twice


def _coefficients(angle: float) -> tuple[float, float, float, float]:
    """Return (1 - cos x)/x^2, (x - sin x)/x^3, and the slope of each divided by x."""
    x = angle * angle
    if angle < _SMALL:
        return (0.5 - x / 24.0 * (1.0 - x / 30.0), 1.0 / 6.0 - x / 120.0 * (1.0 - x / 42.0),
                -1.0 / 12.0 + x / 180.0, -1.0 / 60.0 + x / 1260.0)
    sine, versine = math.sin(angle), 2.0 * math.sin(0.5 * angle)**2
    b, c = versine / x, (angle - sine) / (x * angle)
    return b, c, (sine / angle - 2.0 * b) / x, (versine / x - 3.0 * c) / x


def right_jacobian(r: Array) -> Array:
    """
    Return what makes the rate of a rotation vector an angular velocity in the turned axes.

    :param r: rotation vector.
    """
    S = _skew(r)
    b, c, _, _ = _coefficients(math.sqrt(float(r @ r)))
    return np.eye(3) - b * S + c * S @ S


def right_jacobian_rate(r: Array, rate: Array) -> Array:
    """
    Return how that matrix changes.

    :param r: rotation vector.
    :param rate: of it, rad/s.
    """
    S, T = _skew(r), _skew(rate)
    b, c, db, dc = _coefficients(math.sqrt(float(r @ r)))
    speed = float(r @ rate)  # angle times its rate
    return -b * T - db * speed * S + c * (S @ T + T @ S) + dc * speed * S @ S
