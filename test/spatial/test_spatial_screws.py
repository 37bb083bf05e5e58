# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Screws: lines, pitches and magnitudes of spatial vectors (RBDA 2.5, 6-D guide 1)."""

from __future__ import annotations

import math

import numpy as np
import pytest
from rbd_ros.spatial import (
    decompose, Force, force_at, moment_at, Motion, rotation_about, Vec3, velocity_at)
from rbd_ros.spatial.screws import free_part, is_free, is_line, line_part, pitch
from spatial_oracle import array, assert_close, Sampler


@pytest.fixture
def sample():
    """Return a source of random spatial quantities."""
    return Sampler(4)


@pytest.mark.seed('RBDA 2-10', 'SIXD C03')
@pytest.mark.parametrize('kind', ['motion', 'force'])
def test_parts_of_a_screw(kind, sample):
    """A vector is a line vector plus a free vector along the line; the pitch is s.s_O / s.s."""
    vector = getattr(sample, kind)()
    assert_close(array(line_part(vector) + free_part(vector)), array(vector))
    assert is_line(line_part(vector))
    assert is_free(free_part(vector))
    screw = decompose(vector)
    assert screw.pitch == pytest.approx(pitch(vector), rel=1e-13)
    assert_close(array(screw.motion() if kind == 'motion' else screw.force()), array(vector))
    assert screw.direction.dot(screw.point) == pytest.approx(0.0, abs=1e-13)   # nearest point


@pytest.mark.seed('SIXD C03', 'RBDA 2-11')
def test_points_of_the_axis_move_along_it(sample):
    """On its axis, the velocity of a twist is pitch times w; likewise the moment of a wrench."""
    v, f = sample.motion(), sample.force()
    for vector, at, s in ((v, velocity_at, v.ang), (f, moment_at, f.lin)):
        screw = decompose(vector)
        for along in (0.0, 0.7):
            point = screw.point + screw.direction * along
            assert_close(array(at(vector, point)), screw.pitch * array(s))
        # elsewhere it has a part across the axis
        away = at(vector, screw.point + Vec3(*np.cross(array(s), [1.0, 0.2, 0.3]).tolist()))
        assert np.linalg.norm(np.cross(array(away), array(s))) > 1e-3


@pytest.mark.seed('RBDA 2-09')
def test_line_and_free_vectors(sample):
    """Rotations about and forces along a line are line vectors; OP x s = s_O on the line."""
    axis, P = sample.vec3(), sample.vec3()
    for line in (rotation_about(axis, P), force_at(axis, P)):
        assert is_line(line) and not is_free(line)
        assert pitch(line) == pytest.approx(0.0, abs=1e-14)
        screw = decompose(line)
        s_O = line.lin if isinstance(line, Motion) else line.ang
        for along in (-1.0, 2.0):
            point = screw.point + screw.direction * along
            assert_close(np.cross(array(point), array(axis)), array(s_O))
        # P itself lies on the line that was found
        offset = array(P) - array(screw.point)
        assert_close(np.cross(offset, array(screw.direction)), np.zeros(3))
    for free in (Motion(Vec3.zero(), axis), Force(axis, Vec3.zero())):
        assert is_free(free) and not is_line(free)
        assert decompose(free).pitch == math.inf
        assert_close(array(decompose(free).motion() if isinstance(free, Motion)
                           else decompose(free).force()), array(free))
    assert decompose(Motion.zero()).magnitude == 0.0


@pytest.mark.seed('RBDA 2-12')
def test_magnitudes_of_pure_motions_and_forces(sample):
    """Rotations, translations, forces and couples have a magnitude, the same in every frame."""
    axis = Vec3(1.0, 2.0, -2.0)                                       # of length 3
    pure = {
        'rotation': (rotation_about(axis, sample.vec3()), 0.0),
        'translation': (Motion(Vec3.zero(), axis), math.inf),
        'force': (force_at(axis, sample.vec3()), 0.0),
        'couple': (Force(axis, Vec3.zero()), math.inf)}
    X = sample.transform()
    for name, (vector, expected) in pure.items():
        for seen in (vector, X @ vector):
            screw = decompose(seen)
            assert screw.magnitude == pytest.approx(3.0, rel=1e-13), name
            assert screw.pitch == pytest.approx(expected, abs=1e-12), name
            assert screw.direction.dot(screw.direction) == pytest.approx(1.0, rel=1e-13)
    # of a screw, it is that of the part that no choice of origin changes
    twist = rotation_about(axis, sample.vec3()) + Motion(Vec3.zero(), axis * 0.7)
    assert decompose(X @ twist).magnitude == pytest.approx(3.0, rel=1e-13)
    assert decompose(X @ twist).pitch == pytest.approx(0.7, rel=1e-12)
    # there is no number that compares the two kinds: a vector offers none
    assert not any(hasattr(twist, word) for word in ('norm', 'magnitude', '__abs__'))
