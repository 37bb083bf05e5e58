# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Figures that show numbers: ellipsoids for matrices, bars for torques."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rbd_ros.compiler import Array
from rbd_ros.quoting import markup_text
from rbd_ros.spatial import Mat3
from rbd_ros.spatial.quaternion import from_rotation

__all__ = ['bars', 'Ellipsoid', 'ellipsoid', 'from_principal', 'principal', 'quaternion']

#: Colours of a torque that is free, at its rate limit, at its torque limit.
COLOURS = ('#2b8a3e', '#e8a600', '#d6336c')


class Ellipsoid(NamedTuple):
    """Half-axes and orientation (quaternion w, x, y, z) of an ellipsoid."""

    axes: tuple[float, float, float]
    wxyz: tuple[float, float, float, float]


def quaternion(R: Array) -> tuple[float, float, float, float]:
    """Return the rotation from a frame to its parent as a quaternion w, x, y, z."""
    x, y, z, w = from_rotation(Mat3(R.T.tolist()))
    return float(w), float(x), float(y), float(z)


def ellipsoid(A: Array, largest: float) -> Ellipsoid:
    """
    Return the ellipsoid with the principal values of a matrix as half-axes.

    :param A: symmetric and positive semidefinite, (3, 3).
    :param largest: length of the longest half-axis, m. The others are drawn with at least a
        fiftieth of it, so that a flat ellipsoid remains visible.
    """
    return from_principal(*principal(A), largest)


def from_principal(values: Array, R: Array, largest: float) -> Ellipsoid:
    """
    Return the ellipsoid with given principal values and axes.

    :param values: not negative; an infinite one is drawn as long as the largest that is not.
    :param R: the axes as the columns of a rotation.
    :param largest: as above.
    """
    top = float(values.max(where=np.isfinite(values), initial=0.0))
    share = values / top if top > 0.0 else np.where(np.isinf(values), 1.0, 0.0)
    a, b, c = largest * np.clip(share, 0.02, 1.0)
    return Ellipsoid((float(a), float(b), float(c)), quaternion(R))


def principal(A: Array) -> tuple[Array, Array]:
    """Return the principal values, and the axes as the columns of a rotation."""
    values, R = np.linalg.eigh(0.5 * (A + A.T))
    if np.linalg.det(R) < 0.0:
        R[:, 2] = -R[:, 2]
    return values, R


def bars(
    names: Sequence[str], torques: Sequence[float], limits: Sequence[float],
    saturation: Sequence[int] = (),
) -> str:
    """
    Return torques as horizontal bars, in HTML.

    :param limits: torque that fills half the width of the bar; infinite: no bar.
    :param saturation: 0 free, 1 at the rate limit, 2 at the torque limit, per joint.
    """
    rows = []
    for k, (name, torque, limit) in enumerate(zip(names, torques, limits, strict=True)):
        level = saturation[k] if k < len(saturation) else 0
        share = min(abs(torque) / limit, 1.0) if np.isfinite(limit) and limit > 0.0 else 0.0
        left = 50.0 if torque >= 0.0 else 50.0 - 50.0 * share
        rows.append(
            f'<tr><td>{markup_text(name)}</td><td style="width:45%"><div style="position:relative;'
            f'height:10px;background:#eee"><div style="position:absolute;left:{left:.1f}%;'
            f'width:{50.0 * share:.1f}%;height:10px;background:{COLOURS[min(level, 2)]}"></div>'
            f'</div></td><td style="text-align:right">{torque:.2f}</td></tr>')
    return ('<table class="torques" style="width:100%;font-size:12px">' + ''.join(rows)
            + '</table>')
