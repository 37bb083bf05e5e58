# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Payload and gravity: what is refused, how they change, and how old they may be."""

import math

import numpy as np
import pytest
from rbd_ros.compiler.procedure import bind
from rbd_ros.control.interface.causes import Cause
from rbd_ros.control.interface.events import Event, Kind, Result
from rbd_ros.control.interface.payload import (
    Body, judge_body, payload_vector, PayloadError, rotation)
from rbd_ros.control.interface.words import LoadWord
from rbd_ros.control.joint_states.ages import StreamAge
from rbd_ros.control.load.load import (
    apply_load, check_gravity, find_down, Load, LoadLimits, restart_load, take_gravity,
    take_payload, Tilt, update_load)
from scipy.spatial.transform import Rotation


def use(x: Load, p: LoadLimits, u: Event, y: Result) -> None:
    """Do what is asked."""
    if u.kind == Kind.PAYLOAD:
        take_payload(x, p, u, y)
    elif u.kind == Kind.GRAVITY:
        take_gravity(x, p, u, y)
    elif u.kind == Kind.PARAMETERS:
        apply_load(x, p, u.now)
    elif u.kind == Kind.ACTIVATE:
        restart_load(x, p)
    elif u.kind == Kind.TIMER:
        update_load(x, p, u.now)
        check_gravity(x, p, y)


class Rig:
    """Load of a robot whose gravity is constant, or measured and too old after a timeout."""

    def __init__(self, gravity=(0.0, 0.0, -10.0), *, timeout=0.0, slew=1e6, ramp_time=2.0):
        self.x, self.p, self.u, self.y = (
            kind({'n': 1, 'm': 1}) for kind in (Load, LoadLimits, Event, Result))
        self.p.timeout, self.p.slew, self.p.ramp_time = timeout, slew, ramp_time
        self._run = bind(use, self.x, self.p, self.u, self.y)
        self.configure(gravity, kind=Kind.ACTIVATE)

    def do(self, kind, now, numbers=()):
        """Ask for something; return the answer, 0: granted."""
        self.u.kind, self.u.now, self.y.answer, self.y.accused = kind, now, 0.0, 0.0
        self.u.numbers[:len(numbers)] = numbers
        self._run()
        return self.y.answer

    def configure(self, gravity, now=0.0, kind=Kind.PARAMETERS):
        """Take another gravity of the parameters."""
        self.p.gravity[:], self.p.size = gravity, np.linalg.norm(gravity)
        self.do(kind, now)

    def point(self, when, down):
        """Take a measured direction."""
        return self.do(Kind.GRAVITY, when, [*down, when])

    def update(self, now):
        """Advance; return whether the direction of gravity is known, else it is accused."""
        self.do(Kind.TIMER, now)
        assert self.y.accused == 0.0 or (
            self.y.accusations[0, :2] == (Cause.GRAVITY_STALE, LoadWord.GRAVITY_OLD)).all()
        return self.y.accused == 0.0


# -- payload --------------------------------------------------------------------------------------

def test_payload_in_another_frame_has_the_same_energy():
    """The kinetic energy of any motion is that of the body, whatever frame it was given in."""
    rng = np.random.default_rng(7)
    mass, com = 2.5, rng.normal(size=3)
    A = rng.normal(size=(3, 3))
    points = A @ rng.normal(size=(3, 8))  # eight equal point masses
    points -= points.mean(axis=1, keepdims=True)
    m = mass / 8
    I_c = sum(m * (x @ x * np.eye(3) - np.outer(x, x)) for x in points.T)
    R, p = Rotation.random(random_state=rng).as_matrix(), rng.normal(size=3)
    vector = payload_vector(mass, com, [I_c[i, j] for i, j in
                                        ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))], R, p)
    w, v = rng.normal(size=3), rng.normal(size=3)
    at = (R @ (points + com[:, None])).T + p
    energy = sum(0.5 * m * np.sum((v + np.cross(w, x)) ** 2) for x in at)
    h = vector[1:4]
    xx, xy, xz, yy, yz, zz = vector[4:]
    J = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    ours = 0.5 * mass * v @ v + v @ np.cross(w, h) + 0.5 * w @ J @ w
    assert ours == pytest.approx(energy, rel=1e-12)


@pytest.mark.parametrize('mass, com, inertia, word', [
    (-1.0, [0, 0, 0], [0.1, 0, 0, 0.1, 0, 0.1], 'negative'),
    (1.0, [0, 0, math.nan], [0.1, 0, 0, 0.1, 0, 0.1], 'not finite'),
    (1.0, [0, 0, 0], [0.1, 0, 0, 0.1, 0, 0.5], 'impossible for a rigid body'),
    (1.0, [0, 0, 0], [0.1, 0, 0, 0.1, 0, 0.2001], 'impossible for a rigid body'),
    (1.0, [0, 0, 0], [-0.1, 0, 0, 0.1, 0, 0.1], 'impossible for a rigid body'),
    (0.0, [0, 0, 0], [0.1, 0, 0, 0.1, 0, 0.1], 'without mass'),
    (1e300, [0, 0, 0], [0.1, 0, 0, 0.1, 0, 0.1], r'mass 1e\+300 kg is beyond 10000 kg'),
    (1.0, [0, -1e300, 0], [0.1, 0, 0, 0.1, 0, 0.1], r'centre of mass -1e\+300 m is beyond 100'),
    (1.0, [0, 0, 0], [1e300, 0, 0, 1e300, 0, 1e300], r'inertia 1e\+300 kg.m\^2 is beyond')])
@pytest.mark.filterwarnings('error')
def test_impossible_payloads_are_refused(mass, com, inertia, word):
    """Each impossible payload has its reason."""
    with pytest.raises(PayloadError, match=word):
        payload_vector(mass, com, inertia)


def test_only_moments_of_bodies_are_taken():
    """Each principal moment is at most the sum of the others, by the eigenvalues of NumPy."""
    rng, body = np.random.default_rng(3), Body({})
    judge, verdicts = bind(judge_body, body), set()
    body.axes[:] = np.eye(3)
    for k in range(300):
        moments = np.sort(rng.uniform(0.0, 1.0, 3))
        if k % 3 == 0:  # almost a plate
            moments[2] = moments[0] + moments[1] * (1.0 + rng.choice([-1e-3, 0.0, 1e-3]))
        elif k % 3 == 1:  # a rod, or a ball
            moments[:] = rng.choice([0.0, moments[1]]), moments[1], moments[1]
        Q = Rotation.random(random_state=rng).as_matrix()
        I_c = Q @ np.diag(moments) @ Q.T
        body.mass, body.inertia[:] = 1.0, I_c[np.triu_indices(3)]
        judge()
        low, middle, high = np.linalg.eigvalsh(I_c)
        size = max(high, 1e-12)
        expected = LoadWord.IMPOSSIBLE * (low < -1e-9 * size or high > low + middle + 1e-6 * size)
        assert body.word == expected
        if expected:
            np.testing.assert_allclose([body.a, body.b, body.c], [low, middle, high], atol=1e-7)
        verdicts.add(expected)
    assert len(verdicts) == 2


def test_a_plate_without_thickness_is_a_payload():
    """One principal moment may be the sum of the others."""
    vector = payload_vector(1.0, [0, 0, 0], [0.1, 0, 0, 0.1, 0, 0.2])
    np.testing.assert_allclose(vector, [1, 0, 0, 0, 0.1, 0, 0, 0.1, 0, 0.2], atol=1e-15)


ONE = payload_vector(1.0, [0.1, 0, 0], [0.01, 0, 0, 0.01, 0, 0.01])


def test_payload_ramp_is_linear():
    """Half of the ramp time gives the mean; a new payload starts from where the ramp is."""
    rig = Rig()
    assert rig.do(Kind.PAYLOAD, 10.0, ONE) == 0.0
    for now, expected in ((9.0, 0.0 * ONE), (11.0, ONE / 2)):  # a clock may go back
        rig.update(now)
        np.testing.assert_allclose(rig.x.payload, expected, atol=1e-15)
    rig.do(Kind.PAYLOAD, 11.0, np.zeros(10))
    rig.update(12.0)
    np.testing.assert_allclose(rig.x.payload, ONE / 4, atol=1e-15)
    rig.update(13.0)
    assert not rig.x.payload.any() and not rig.x.ramping
    rig.p.given[0], rig.p.payload[:] = 1.0, ONE
    rig.do(Kind.PARAMETERS, 20.0)  # those of the parameters are ramped in, too
    rig.update(21.0)
    np.testing.assert_allclose(rig.x.payload, ONE / 2, atol=1e-15)


@pytest.mark.parametrize('bad', [math.nan, math.inf, -1e308])
def test_what_is_no_load_is_refused(bad):
    """Numbers that are none change neither payload nor gravity, at whatever place they stand."""
    rig = Rig(timeout=1.0)
    rig.point(0.0, [0.0, 0.6, -0.8])
    before = rig.x.memory.copy()
    for place in range(10):
        assert rig.do(Kind.PAYLOAD, 1.0, [*ONE[:place], bad, *ONE[place + 1:]]) == (
            LoadWord.BAD_PAYLOAD)
        numbers = [0.0, 0.0, -1.0, 1.0]
        numbers[place % 4] = bad
        assert rig.do(Kind.GRAVITY, 1.0, numbers) == LoadWord.BAD_DIRECTION
    assert rig.do(Kind.PAYLOAD, bad, ONE) == LoadWord.BAD_PAYLOAD
    np.testing.assert_array_equal(rig.x.memory, before)


# -- gravity --------------------------------------------------------------------------------------

def test_rotation_of_a_quaternion():
    """It agrees with SciPy; one that is none is refused."""
    for turn in Rotation.random(5, random_state=np.random.default_rng(8)):
        np.testing.assert_allclose(rotation(1.05 * turn.as_quat()), turn.as_matrix(), atol=1e-12)
    with pytest.raises(PayloadError, match='length'):
        rotation([0.0, 0.0, 0.0, 0.0])


def test_down_is_where_an_imu_says():
    """A message gives the direction that SciPy gives, once its stream has proved to be fresh."""
    rng, tilt, age = np.random.default_rng(9), Tilt({}), StreamAge(0.5, 3)
    for k in range(20):
        turn, axes = Rotation.random(random_state=rng), Rotation.random(random_state=rng)
        tilt.turn[:], tilt.axes[:] = 0.95 * turn.as_quat(), axes.as_matrix()
        tilt.now, tilt.stamp_s, tilt.stamp_ns = 5.0 + 0.1 * k, 70.0, 1e6 + 1e8 * k
        tilt.now += 0.02 * (k == 19)
        tilt.missing = float(k == 10)
        find_down(tilt, *age.records)
        assert tilt.word == (LoadWord.NO_ORIENTATION if k == 10 else 0.0)
        assert tilt.fresh == float(k >= 3 and k != 10)
        if tilt.fresh:
            down = axes.apply(turn.inv().apply([0.0, 0.0, -1.0]))
            np.testing.assert_allclose(tilt.down[:3], down, atol=1e-12)
    # the last one was later than the others by 0.02 s, but for the drift of clocks
    assert tilt.now - 0.02 <= tilt.down[3] <= tilt.now - 0.02 + 1e-2
    tilt.turn[:] = 0.0, 0.0, 0.0, 0.5
    find_down(tilt, *age.records)
    assert (tilt.word, tilt.a, tilt.fresh) == (LoadWord.BAD_QUATERNION, 0.5, 0.0)


def test_measured_gravity_times_out_and_slews():
    """The first direction counts at once; then it changes no faster than allowed."""
    rig = Rig(timeout=0.5, slew=5.0)
    assert not rig.update(0.0)
    rig.point(0.0, [0.6, 0.0, -0.8])
    np.testing.assert_allclose(rig.x.gravity, [6.0, 0.0, -8.0], rtol=1e-14)
    rig.point(0.0, [0.6, 0.0, 0.8])
    assert rig.update(0.1)
    np.testing.assert_allclose(rig.x.gravity, [6.0, 0.0, -7.5], rtol=1e-12)
    assert rig.update(0.5)  # exactly as old as it may be
    assert not rig.update(math.nextafter(0.5, 1.0))
    assert not rig.update(math.nan)  # an age that is none is too old
    assert Rig().update(1e9)  # a constant does not age


def test_gravity_parameters_change_a_constant_and_the_size_of_a_measured_one():
    """A new vector is reached at the slew rate; a measured direction keeps its direction."""
    rig = Rig(slew=5.0)
    rig.update(0.0)
    rig.p.slew = 2.0
    rig.configure([0.0, 10.0, 0.0])
    rig.update(1.0)
    assert np.linalg.norm(rig.x.gravity - [0.0, 0.0, -10.0]) == pytest.approx(2.0, rel=1e-12)
    rig.update(100.0)
    np.testing.assert_array_equal(rig.x.gravity, [0.0, 10.0, 0.0])
    rig = Rig(timeout=0.5)
    rig.point(0.0, [0.6, 0.0, -0.8])
    rig.configure([0.0, 0.0, -5.0])
    assert rig.update(0.1) and rig.update(0.2)  # it is as young as before
    np.testing.assert_allclose(rig.x.gravity, [3.0, 0.0, -4.0], rtol=1e-14)


def test_gravity_may_have_been_none():
    """Where there was no gravity a new size counts from the next direction on."""
    rig = Rig([0.0, 0.0, 0.0], timeout=1.0)
    rig.point(1.0, [0.0, 0.0, -1.0])
    rig.configure([0.0, 0.0, 3.7], 1.0)
    rig.point(1.1, [0.0, -1.0, 0.0])
    rig.update(1.1)
    rig.update(1.2)
    np.testing.assert_allclose(rig.x.gravity, [0.0, -3.7, 0.0])
