# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""An inertia of the tip that is shaped by a measured force: the formula, its bounds, refusals."""

from __future__ import annotations

import dataclasses
import re

from benchmark.mujoco_robots import described
import numpy as np
import pytest
from rbd_ros.control.kernels.impedance import HEAVIER, LIGHTER, shaped_force
from rbd_ros.control.modes import TIP_SPRINGS
from rbd_ros.control.parameters.settings import Settings
from rbd_ros.control.parameters.table import defaults
from rbd_ros.control.parameters.validation import refusals

LINEAR, ANGULAR = (f'{TIP_SPRINGS.name}.{part}_inertia' for part in ('linear', 'angular'))


def drawn(rng: np.random.Generator, m: int, low: float,
          high: float) -> tuple[np.ndarray, np.ndarray]:
    """Return Lambda, and an inertia of which it is a share between two numbers."""
    inertia = 10.0 ** rng.uniform(-1.5, 1.5, m)
    Q = np.linalg.qr(rng.normal(size=(m, m)))[0]
    share = np.exp(rng.uniform(np.log(low), np.log(high), m))
    root = np.sqrt(inertia)
    return root[:, None] * (Q * share @ Q.T) * root, inertia


def test_force_makes_the_robot_move_like_the_inertia() -> None:
    """Lambda^-1 (force + external) = M^-1 (F + external), for any coupled Lambda within bounds."""
    rng = np.random.default_rng(2)
    for _ in range(200):
        m = int(rng.integers(1, 7))
        Lambda, inertia = drawn(rng, m, 1.05 * HEAVIER, 0.95 * LIGHTER)
        pull, external = rng.normal(size=(2, m))
        force = np.array(shaped_force(Lambda.tolist(), inertia.tolist(), pull.tolist(),
                                      external.tolist()))
        np.testing.assert_allclose(np.linalg.solve(Lambda, force + external),
                                   (pull + external) / inertia, rtol=1e-8, atol=1e-9)


def test_beyond_the_bounds_the_share_is_kept() -> None:
    """However heavy or light the robot is, its force is 0.1 to 1 times what is wanted."""
    rng, seen = np.random.default_rng(3), []
    for _ in range(200):
        Lambda, inertia = drawn(rng, 6, 1.0 / 300.0, 300.0)
        root = np.sqrt(inertia)
        pull, external = rng.normal(size=(2, 6))
        force = np.array(shaped_force(Lambda.tolist(), inertia.tolist(), pull.tolist(),
                                      external.tolist()))
        asked, got = (pull + external) / root, (force + external) / root
        seen.append(np.linalg.norm(got) / np.linalg.norm(asked))
        w, V = np.linalg.eigh(Lambda / np.outer(root, root))
        np.testing.assert_allclose(got, V @ (np.clip(w, HEAVIER, LIGHTER) * (V.T @ asked)),
                                   rtol=1e-6, atol=1e-6)
    assert HEAVIER - 1e-9 <= min(seen) and max(seen) <= LIGHTER + 1e-9


# -- what is refused ------------------------------------------------------------------------------

def settings(sensor: str = 'panda_hand', **values: object) -> Settings:
    """Return a Panda with a sensor."""
    robot = dataclasses.replace(described('panda', (0.1,))[1], sensor=sensor)
    return Settings(robot, defaults() | {
        'driver_adds': 'none', 'mode': TIP_SPRINGS.name, 'force_torque.frame': sensor,
        LINEAR: [12.0], ANGULAR: [0.3]} | {
            key.replace('__', '.'): value for key, value in values.items()}, simulated=False)


def test_bounds_are_named_and_hold() -> None:
    """A little within the numbers that are named is accepted, a little beyond is not."""
    assert not settings().refusals()
    [reason] = settings(**{LINEAR: [12.0, 1e3, 12.0]}).refusals()
    print(reason)
    assert f'{LINEAR} 1000 kg of y is too far from the ' in reason
    low, high = map(float, re.search(r'give ([.e+0-9]+) to ([.e+0-9]+) kg$', reason).groups())
    assert high / low == pytest.approx(LIGHTER / HEAVIER, rel=0.01)
    for value, fits in ((1.01 * low, True), (0.99 * low, False), (0.99 * high, True),
                        (1.01 * high, False)):
        assert (not settings(**{LINEAR: [12.0, value, 12.0]}).inertia_refusals()) == fits
    # whatever the mode is: inside ros2_control it may be changed without another check
    assert settings(mode='hold', **{LINEAR: [1e3]}).inertia_refusals()


def test_what_is_missing_is_refused() -> None:
    """A sensor, a number for each axis, one link; and what is no inertia."""
    [reason] = settings(sensor='').refusals()
    assert 'need a sensor: give force_torque.frame' in reason
    [reason] = settings(**{ANGULAR: [0.0]}).refusals()
    assert 'for each of task.axes, or 0 for all of them' in reason
    assert not settings(**{ANGULAR: [0.0], 'task.axes': ['tx', 'ty', 'tz']}).refusals()
    [reason] = settings(sensor='panda_link3').inertia_refusals()
    assert 'both must be fixed to one link' in reason
    assert not settings(sensor='', **{LINEAR: [0.0], ANGULAR: [0.0]}).inertia_refusals()
    for value in ([-1.0], [float('nan')], [1.0, 2.0]):
        [reason] = refusals({LINEAR: value}, joints=7)
        assert LINEAR in reason


@pytest.mark.parametrize('more', [
    {}, {'mode': 'hold', 'contact.reaction': 'comply'}])
def test_springs_are_judged_with_the_inertia_of_the_robot(more: dict[str, object]) -> None:
    """Which the frame has where the force is not known, and in the reaction to a contact."""
    stiff = {f'{TIP_SPRINGS.name}.linear_stiffness': [2e5], 'nominal_rate': 100.0} | more
    natural = settings(**stiff, **{LINEAR: [0.0], ANGULAR: [0.0]}).live_refusals()
    assert natural and settings(**stiff).live_refusals() == natural
