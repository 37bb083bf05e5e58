# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The tool behind a sensor and its bias, from poses at rest of a sensor that MuJoCo simulates."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from rbd_ros.errors import RbdError
from rbd_ros.identification.tool import identify_tool, PosesAlike

MASS, COM = 1.3, np.array([0.02, -0.03, 0.09])
BIAS = np.array([0.2, -0.1, 0.3, 4.0, -2.0, 1.0])  # moment first


def readings(turns: int, seed: int, noise: float) -> tuple[np.ndarray, np.ndarray]:
    """Return gravity in the sensor, and what MuJoCo's own sensor reads as a load, with a bias."""
    spec = mujoco.MjSpec()
    mount = spec.worldbody.add_body(name='mount')
    mount.add_joint(type=mujoco.mjtJoint.mjJNT_BALL)
    mount.mass, mount.inertia, mount.ipos = 1.0, [0.1] * 3, [0.0] * 3
    mount.explicitinertial = True
    tool = mount.add_body(name='tool')
    tool.mass, tool.inertia, tool.ipos = MASS, [0.01] * 3, COM.tolist()
    tool.explicitinertial = True
    tool.add_site(name='sensor')
    for kind, name in ((mujoco.mjtSensor.mjSENS_TORQUE, 'n'),
                       (mujoco.mjtSensor.mjSENS_FORCE, 'f')):
        spec.add_sensor(type=kind, name=name, objtype=mujoco.mjtObj.mjOBJ_SITE, objname='sensor')
    model = spec.compile()
    data, rng = mujoco.MjData(model), np.random.default_rng(seed)
    g, found = [], []
    for _ in range(turns):
        turn = rng.standard_normal(4)
        data.qpos[:] = turn / np.linalg.norm(turn)
        mujoco.mj_forward(model, data)
        data.qacc[:] = 0.0
        mujoco.mj_rnePostConstraint(model, data)
        mujoco.mj_sensorAcc(model, data)
        g.append(data.site('sensor').xmat.reshape(3, 3).T @ model.opt.gravity)
        found.append(-data.sensordata[:6] + BIAS + noise * rng.standard_normal(6))
    return np.array(g), np.array(found)


def test_exact_readings_give_the_tool():
    """Mass, centre and bias are found to rounding."""
    found = identify_tool(*readings(6, 0, 0.0))
    np.testing.assert_allclose(found.mass, MASS, rtol=1e-9)
    np.testing.assert_allclose(found.com, COM, rtol=0, atol=1e-9)
    np.testing.assert_allclose([*found.moment_bias, *found.force_bias], BIAS, rtol=0, atol=1e-8)


def test_deviations_are_those_of_many_trials():
    """Over 200 trials with noise the errors are as large as the stated deviations."""
    errors = []
    for seed in range(200):
        found = identify_tool(*readings(8, seed, 0.05))
        errors.append([(found.mass - MASS) / found.mass_deviation,
                       *((found.com - COM) / found.com_deviation),
                       *((found.force_bias - BIAS[3:]) / found.force_bias_deviation),
                       *((found.moment_bias - BIAS[:3]) / found.moment_bias_deviation)])
    spread = np.std(errors, axis=0)
    # Student's t of 18 or 20 degrees of freedom has 1.05; 200 trials give it within 0.3
    assert (spread > 0.75).all() and (spread < 1.35).all(), spread


@pytest.mark.parametrize('poses', [3, 4, 6])
def test_intervals_hold_the_truth(poses: int):
    """
    Of 95 %, however few the poses are: by Student's t, as residuals of few readings say little.

    With the normal distribution 3 poses gave 86 %. The share of 3,000 numbers, those of one trial
    alike, has a standard deviation below 0.8 %. The centre has the wider interval of the two that
    it hangs on.
    """
    rng, hits, centres = np.random.default_rng(poses), [], []
    while len(hits) < 400:
        g = 9.81 * np.linalg.qr(rng.standard_normal((3, 3)))[0]
        g = np.vstack([g, rng.standard_normal((poses - 3, 3)) * 5.0])
        wrench = np.hstack([np.cross(MASS * COM, g), MASS * g]) + BIAS
        found = identify_tool(g, wrench + 0.05 * rng.standard_normal(wrench.shape))
        half = found.intervals()
        hits.append([abs(found.mass - MASS) < half['mass'], *(
            np.abs(found.force_bias - BIAS[3:]) < half['force_bias']), *(
            np.abs(found.moment_bias - BIAS[:3]) < half['moment_bias'])])
        centres.append(np.abs(found.com - COM) < half['com'])
    assert 0.925 < np.mean(hits) < 0.975, np.mean(hits, axis=0)
    assert np.mean(centres) > 0.93


@pytest.mark.parametrize('seed', range(3))
def test_poses_that_say_nothing_are_refused(seed: int):
    """Poses of one direction, two of them, and a wrong sign are refused with what to do."""
    g, f = readings(8, seed, 0.0)
    with pytest.raises(PosesAlike, match='too much alike'):
        identify_tool(np.tile(g[:1], (5, 1)), np.tile(f[:1], (5, 1)))
    with pytest.raises(PosesAlike, match='at least 3'):
        identify_tool(g[:2], f[:2])
    with pytest.raises(RbdError, match='opposite sign'):
        identify_tool(g, -f)
    with pytest.raises(RbdError, match='not finite'):
        identify_tool(g, f * np.nan)
    with pytest.raises(RbdError, match='shape'):
        identify_tool(g, f[:, :3])
