# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Springs and dampers at the tip: their torque, energy and damping, what is refused, no step."""

from __future__ import annotations

import re

from controller_rig import ARM, TORQUE
import numpy as np
import pinocchio as pin
import pytest
from rbd_ros import load_urdf
from rbd_ros.control.kernels.barriers import Barrier
from rbd_ros.control.kernels.impedance import critical_damping, spring_wrench
from rbd_ros.control.kernels.kernels import LawKernels
from rbd_ros.control.parameters.settings import Settings
from rbd_ros.control.parameters.table import defaults
from rbd_ros.control.robot import make_robot
from scipy.linalg import sqrtm
from scipy.spatial.transform import Rotation

pytestmark = pytest.mark.slow

MODE = 'cartesian_impedance'
MODEL = load_urdf(ARM)
ROBOT = make_robot(MODEL, tip='tool0')
N = len(ROBOT.joints)
ALL = ('rx', 'ry', 'rz', 'x', 'y', 'z')


def kernel(axes=ALL):
    """Return the kernel of the law, without barriers and limits."""
    bound = LawKernels(ROBOT, driver_adds='none', driver_knows_payload=False,
                       axes=axes).compile('impedance')
    for name in ('limit', 'task_speed', 'joint_speed'):
        bound.inputs[name][:] = np.inf
    for name, value in {'lower': -np.inf, 'upper': np.inf, 'margin': 1.0, 'speed': np.inf}.items():
        bound.inputs['barrier'][Barrier._fields.index(name)] = value
    bound.inputs['gravity'][:] = MODEL.gravity
    bound.inputs['max_condition'][:] = 1e12
    bound.inputs['R_ref'][...] = np.eye(3)
    return bound


class Truth:
    """The same robot by Pinocchio, with its rotors by hand."""

    def __init__(self):
        self.model = pin.buildModelFromUrdf(str(ARM))
        self.model.gravity.linear = np.array(MODEL.gravity)
        self.data = self.model.createData()
        self.tip = self.model.getFrameId('tool0')

    def at(self, q):
        """Return axes, position and Jacobian of the tip, angular rows first, in its own axes."""
        pin.computeJointJacobians(self.model, self.data, q)
        pin.updateFramePlacements(self.model, self.data)
        J = pin.getFrameJacobian(self.model, self.data, self.tip, pin.LOCAL)
        pose = self.data.oMf[self.tip]
        return pose.rotation, pose.translation, np.vstack([J[3:], J[:3]])

    def inertia(self, q):
        """Return H."""
        H = pin.crba(self.model, self.data, q)
        return np.triu(H) + np.triu(H, 1).T + np.diag(MODEL.rotor_inertia)

    def law(self, x, rows):
        """Return the torque of the law from the inputs of the kernel."""
        q, qd = x['q'], x['qd']
        (R, p, J), H = self.at(q), self.inertia(q)
        turn = pin.log3(R.T @ x['R_ref'])
        way, k = R.T @ (x['p_ref'] - p), np.where(np.isin(range(6), rows), x['spring'], 0.0)
        force = np.concatenate([
            pin.Jlog3(R.T @ x['R_ref']) @ (k[:3] * turn) + np.cross(way, k[3:] * way),
            k[3:] * way])
        v_ref, wrench = (np.concatenate([R.T @ six[:3], R.T @ six[3:]]) for six in (
            x['velocity_ref'], x['wrench']))
        Jc = J[rows]
        Phi = Jc @ np.linalg.solve(H, Jc.T)
        Lambda = np.linalg.inv(Phi)
        D = 2.0 * x['damping_ratio'][0] * Lambda @ np.real(sqrtm(Phi @ np.diag(k[rows])))
        D += np.diag(x['damper'][rows])
        force += wrench
        rest = (x['posture_stiffness'] * (x['posture'] - q)
                + x['posture_damping'] * (x['drift'] - qd))
        force[rows] += D @ (v_ref - J @ qd)[rows] - Lambda @ Jc @ rest
        return (J.T @ force + H @ rest
                + pin.computeGeneralizedGravity(self.model, self.data, q))


@pytest.mark.parametrize('axes', [ALL, ('x', 'y', 'z'), ('rz', 'y')], ids='-'.join)
def test_torques_are_those_of_pinocchio(axes):
    """The whole law, at random states and references, along all directions and along some."""
    bound, truth, rng = kernel(axes), Truth(), np.random.default_rng(2)
    rows, worst, x = [ALL.index(axis) for axis in axes], 0.0, bound.inputs
    for _ in range(100):
        x['q'][:], x['qd'][:] = rng.uniform(-1.5, 1.5, (2, N))
        R, p, _ = truth.at(x['q'])
        x['R_ref'][...] = R @ Rotation.from_rotvec(rng.uniform(-0.4, 0.4, 3)).as_matrix()
        x['p_ref'][:] = p + rng.uniform(-0.1, 0.1, 3)
        for name, most in {'velocity_ref': 0.5, 'wrench': 20.0, 'drift': 0.2,
                           'posture': 1.0}.items():
            x[name][:] = rng.uniform(-most, most, len(x[name]))
        x['spring'][:] = rng.uniform(0.0, [50.0] * 3 + [2000.0] * 3)
        x['damper'][:] = rng.uniform(0.0, [1.0] * 3 + [20.0] * 3)
        x['posture_stiffness'][:], x['posture_damping'][:] = rng.uniform(0.0, 20.0, (2, N))
        x['damping_ratio'][:] = rng.uniform(0.0, 1.5)
        bound()
        if bound.outputs['condition'][0] < 1e4:  # near a singular pose both lose digits
            expected = truth.law(x, rows)
            worst = max(worst, np.abs(bound.outputs['law'] - expected).max()
                        / max(1.0, np.abs(expected).max() / 100.0))
    print(f'{worst:.1e} N.m')
    assert worst < 1e-9


def test_springs_are_the_gradient_of_their_energy():
    """No closed path gains energy, also where stiffnesses differ and errors are large."""
    truth, rng, h = Truth(), np.random.default_rng(3), 1e-6
    for _ in range(30):
        q, k = rng.uniform(-1.5, 1.5, N), rng.uniform(0.0, [50.0] * 3 + [2000.0] * 3)
        R, p, J = truth.at(q)
        R_ref = R @ Rotation.from_rotvec(rng.uniform(-1.0, 1.0, 3)).as_matrix()
        p_ref = p + rng.uniform(-0.2, 0.2, 3)

        def error(at):
            R, p, _ = truth.at(at)
            return np.concatenate([pin.log3(R.T @ R_ref), R.T @ (p_ref - p)])

        def energy(at):
            return 0.5 * error(at) @ (k * error(at))
        slope = [(energy(q + h * d) - energy(q - h * d)) / (2.0 * h) for d in np.eye(N)]
        found = J.T @ spring_wrench(error(q).tolist(), k.tolist())
        np.testing.assert_allclose(found, np.negative(slope), atol=1e-6 * np.abs(slope).max())


@pytest.mark.parametrize('ratio', [0.2, 0.7])
def test_every_mode_has_the_damping_ratio(ratio):
    """Poles of Lambda x'' + D x' + K x have that ratio, whatever the masses and stiffnesses."""
    rng = np.random.default_rng(6)
    for m in (1, 3, 6):
        for _ in range(20):
            Phi = rng.standard_normal((m, m)) * 10.0 ** rng.uniform(-1.0, 1.0, (m, 1))
            Phi = Phi @ Phi.T + 1e-3 * np.trace(Phi @ Phi.T) * np.eye(m)
            k = 10.0 ** rng.uniform(0.0, 3.5, m)
            D = ratio * np.array(critical_damping(Phi.tolist(), k.tolist()))
            np.testing.assert_allclose(D, D.T, rtol=1e-9, atol=1e-9 * np.abs(D).max())
            poles = np.linalg.eigvals(np.block([
                [np.zeros((m, m)), np.eye(m)], [-Phi * k, -Phi @ D]]))
            np.testing.assert_allclose(-poles.real / np.abs(poles), ratio, atol=1e-5)


def test_a_direction_without_stiffness_is_not_damped():
    """Its row is zero, and the others are as if it were not there."""
    Phi = np.array([[0.5, 0.1, 0.05], [0.1, 0.3, 0.0], [0.05, 0.0, 2.0]])
    D = np.array(critical_damping(Phi.tolist(), [400.0, 0.0, 100.0]))
    assert not D[1].any() and not D[:, 1].any() and np.isfinite(D).all()
    some = np.array(critical_damping(Phi[np.ix_([0, 2], [0, 2])].tolist(), [400.0, 100.0]))
    np.testing.assert_allclose(D[np.ix_([0, 2], [0, 2])], some, rtol=1e-4)


# -- what is refused ------------------------------------------------------------------------------

def settings(**values):
    """Return the settings of the arm in the mode."""
    return Settings(ROBOT, defaults() | {'driver_adds': 'none', 'mode': MODE} | {
        name if name in defaults() else f'{MODE}.{name}': value for name, value in values.items()},
        simulated=False)


UNDAMPED = {'damping_ratio': 0.0, 'angular_stiffness': [0.0] * 3, 'linear_stiffness': [0.0] * 3}


@pytest.mark.parametrize('name, more, first', [
    ('linear_stiffness', {'nominal_rate': 100.0}, 'x'),
    ('angular_stiffness', {'nominal_rate': 200.0}, 'rx'),
    ('linear_stiffness', {'delay': 0.01}, 'x'), ('angular_stiffness', {'delay': 0.004}, 'rx'),
    ('linear_damping', UNDAMPED, 'x'), ('angular_damping', UNDAMPED | {'delay': 0.01}, 'rx')])
def test_what_the_rate_cannot_hold_is_refused_with_the_most_that_it_can(name, more, first):
    """Just below the number that is named a direction is accepted, just above it is not."""
    fine = {'angular_stiffness': [1.0] * 3, 'linear_stiffness': [10.0] * 3, **more}
    assert not settings(**fine).refusals()
    upper = {'linear_stiffness': 1e6, 'angular_damping': 1e4}.get(name, 1e5)
    [reason] = settings(**fine | {name: [upper, 1.0, 1.0]}).refusals()
    assert re.search(rf'{MODE}.{name} \S+ \S+ of {first} .*cannot be stable', reason), reason
    most = float(re.search(r'give less than ([-+.e0-9]+)', reason)[1])
    assert 0.0 < most < upper
    below, above = (settings(**fine | {name: [share * most, 1.0, 1.0]}).refusals()
                    for share in (0.999, 1.001))
    assert not below and above


def test_no_damping_at_all_is_refused():
    """A spring without damping swings for ever, or worse: the rate decides nothing."""
    reasons = settings(damping_ratio=0.0).refusals()
    assert len(reasons) == 6 and all('give less than 0' in reason for reason in reasons)


def test_directions_that_are_not_controlled_are_not_judged():
    """Only springs along task.axes act."""
    stiff = {'angular_stiffness': [1e5] * 3}
    assert settings(**stiff).refusals()
    assert not settings(**stiff | {'task.axes': ['tx', 'ty', 'tz']}).refusals()


# -- without a step -------------------------------------------------------------------------------

def test_torque_is_continuous_through_a_singular_pose():
    """Past a stretched elbow, along a reference that moves: half the way, half the step."""
    bound, truth = kernel(), Truth()
    x = bound.inputs
    x['max_condition'][:] = 1e3
    x['spring'][:], x['damping_ratio'][:] = [20.0] * 3 + [500.0] * 3, 0.7
    x['posture_stiffness'][:], x['posture_damping'][:] = 10.0, 6.0
    start = np.array([0.3, 0.5, -0.4, 0.0, 0.6, 0.7, 0.9])
    R, p, _ = truth.at(start)
    out = (p - [0.0, 0.0, 0.34]) / np.linalg.norm(p - [0.0, 0.0, 0.34])
    x['R_ref'][...], x['p_ref'][:] = R, p + 0.02 * out
    x['velocity_ref'][3:] = 0.2 * out
    x['qd'][:] = [0.1, -0.1, 0.2, 0.3, 0.1, -0.2, 0.1]
    steps = []
    for count in (2001, 4001):
        torques = []
        for elbow in np.linspace(-0.2, 0.2, count):
            x['q'][:] = start
            x['q'][3] = elbow
            bound()
            torques.append(bound.outputs['law'].copy())
        assert np.isfinite(torques).all()
        steps.append(np.abs(np.diff(torques, axis=0)).max(axis=0) / TORQUE)
    print(f'{steps[0].max():.2e} of the limit per 0.2 mrad, then {steps[1].max():.2e}')
    assert (steps[1] < 0.6 * steps[0] + 1e-9).all()
    assert steps[0].max() < 1e-2
