# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Numbers of a robot as plain floats, or an error that names the part that cannot have them.

Plain floats cannot change later, as an array that somebody keeps can, and constants of other
types would not be folded when kernels are traced.
"""

from __future__ import annotations

from collections.abc import Iterable
import math

import numpy as np

from rbd_ros.errors import ModelError
from rbd_ros.spatial import Mat3, RigidInertia, Sym3, Transform, Vec3

#: How far a rotation matrix may be from an exact one: what single precision leaves of it.
ROUNDED = 1e-6
#: How negative a principal moment may be, relative to the moments about the origin of the frame.
NOTHING = 1e-9


def floats(values: Iterable[object], what: str, unit: str = '') -> list[float]:
    """
    Return finite numbers as plain floats.

    :param what: what to call them, such as ``body "x": mass``.
    :raises ModelError: for what is not a finite number.
    """
    listed = list(values)
    try:
        plain = [float(x) for x in listed]      # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        plain = [math.nan]
    if not all(map(math.isfinite, plain)):
        shown = ', '.join(str(x) for x in listed)
        raise ModelError(f'{what} is not finite: ({shown}); give numbers'
                         f'{unit and " in " + unit}')
    return plain


def sound_inertia(inertia: RigidInertia, what: str, *, doubtful: bool = False) -> RigidInertia:
    """
    Return an inertia in plain floats, or refuse one with which kinetic energy can be negative.

    :param what: what to call the body.
    :param doubtful: accept a negative moment, as descriptions have them.
    """
    m, *rest = floats((inertia.m, *inertia.h, *inertia.I.entries()), f'{what}: the inertia',
                      'kg, kg m and kg m^2')
    if m < 0.0:
        raise ModelError(f'{what}: mass {m} is negative; give zero or more, in kg')
    plain = RigidInertia(m, Vec3(*rest[:3]), Sym3(*rest[3:]))
    if doubtful:
        return plain
    if m == 0.0 and any(rest[:3]):
        raise ModelError(f'{what}: first moment {rest[:3]} kg m without mass; give the mass too')
    about = (plain.com_form()[2] if m else plain.I).to_list()
    least = float(np.linalg.eigvalsh(about)[0])
    if least < -NOTHING * float(np.abs(plain.I.to_list()).max()):
        raise ModelError(
            f'{what}: a principal moment about the centre of mass is {least:.6g} kg m^2, and no '
            'body has a negative one; RigidInertia takes moments about the origin of the frame, '
            'RigidInertia.from_com those about the centre of mass')
    return plain


def sound_placement(X: Transform | None, what: str) -> Transform:
    """
    Return a placement in plain floats; None stands for the identity.

    :param what: what to call it.
    :raises ModelError: where E is not a rotation or r not finite.
    """
    if X is None:
        return Transform.identity()
    r = floats(X.r, f'{what}: the origin', 'm')
    entries = floats((x for row in X.E.rows for x in row), f'{what}: the rotation')
    E = np.array(entries).reshape(3, 3)
    off = float(np.abs(E @ E.T - np.eye(3)).max())
    if off > ROUNDED or np.linalg.det(E) < 0.0:
        raise ModelError(f'{what}: E = {E.tolist()} is not a rotation (E E^T differs from the '
                         f'unit matrix by {off:.3g}, the determinant is {np.linalg.det(E):.3g}); '
                         'give an orthonormal, right-handed matrix')
    return Transform(Mat3(E.tolist()), Vec3(*r))
