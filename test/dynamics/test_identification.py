# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Identification: base parameters, least squares, physical consistency, recordings."""

import sys

from benchmark.bags import NUMBER, write
from linted import ROOT
import numpy as np
import pytest
import rbd_ros
from rbd_ros import identification as ident
from rbd_ros.joints import Prismatic, Revolute, Spherical
from rbd_ros.samples import families
from tree_oracle import assert_near

ARM = ROOT / 'urdf' / 'seven_joint_arm.urdf'


def chain(*joints, seed=3):
    """Return a robot of joints in a row, with general placements."""
    rng = np.random.default_rng(seed)
    builder, above = rbd_ros.ModelBuilder('chain'), 'base'
    for k, joint in enumerate(joints):
        builder.add_body(f'link_{k}', above, joint, families.random_transform(rng),
                         families.random_inertia(rng), joint_name=f'joint_{k}')
        above = f'link_{k}'
    return rbd_ros.Dynamics(builder.build(), backend='python', cache=False)


R, P, S = Revolute((0.6, 0.0, 0.8)), Prismatic((0.0, 0.6, 0.8)), Spherical()


@pytest.mark.seed('RBDA 9-22')
@pytest.mark.parametrize('joints, count', [
    ((R, R, R), 17), ((R, S), 12), ((R, P, R), 13)], ids=['RRR', 'RS', 'RPR'])
def test_number_of_base_parameters(joints, count):
    """Ranks of the regressor, one of them below what single joints suggest: 13, not 3 + 4 + 7."""
    base = ident.base_parameters(chain(*joints))
    assert len(base.independent) == count


def test_base_parameters_carry_the_torques():
    """The independent columns, with grouped parameters, give the torques of all."""
    robot = chain(R, P, R)
    pi = ident.body_parameters(robot.model)
    base = ident.base_parameters(robot)
    rng = np.random.default_rng(8)
    states = rng.normal(size=(3, 5, 3))
    A = ident.design(robot, *states)
    assert_near(A[:, base.independent] @ (base.grouping @ pi), A @ pi)
    assert_near(base.grouping[:, base.independent], np.eye(13))
    without_gravity = chain(R, R, R)
    without_gravity.set_gravity([0.0, 0.0, 0.0])
    assert len(ident.base_parameters(without_gravity).independent) == 15


@pytest.fixture(scope='module')
def arm():
    """Return the built-in arm, which has damping, friction and rotors."""
    return rbd_ros.Dynamics(rbd_ros.load_urdf(ARM, on_warning=lambda text: None))


@pytest.fixture(scope='module')
def states():
    """Return q, qd and qdd of forty random states of the arm."""
    return np.random.default_rng(4).normal(size=(3, 40, 7))


def test_fit_recovers_base_parameters_and_drives(arm, states):
    """Torques with friction, damping and rotors give back what made them, with a true error."""
    model = arm.model
    pi = np.concatenate([ident.body_parameters(model), ident.drive_parameters(model)])
    base = ident.base_parameters(arm, drives=True)
    A = ident.design(arm, *states, drives=True)
    _, qd, _ = states
    tau = (arm.inverse_dynamics(*states) + np.array(model.damping) * qd
           + np.array(model.friction) * np.sign(qd))
    assert_near(A @ pi, tau.ravel())
    noise = 0.01
    measured = tau.ravel() + np.random.default_rng(5).normal(0.0, noise, tau.size)
    found = ident.fit(A[:, base.independent], measured)
    error = (found.parameters - base.grouping @ pi) / found.deviation
    # Normalised errors of some sixty numbers have a spread of one.
    assert 0.7 < np.sqrt(np.mean(error**2)) < 1.4
    assert found.residual == pytest.approx(noise, rel=0.3) and 1.0 < found.condition < 1e5


def test_a_motion_that_tells_too_little(arm, states):
    """The error counts what is determined, and names parameters of links that are not felt."""
    names = ident.parameter_names(arm.model)
    A = ident.design(arm, *states)
    with pytest.raises(ident.SingularRegressor, match='determines 43 of 70 parameters: ') as told:
        ident.fit(A, A @ np.ones(70), names)
    assert told.value.rank == 43 and 'm of link_1' in told.value.names
    assert 'Izz of link_7' not in told.value.names
    still = np.zeros((5, 7))
    with pytest.raises(ident.SingularRegressor, match='of the payload'):
        ident.identify_payload(arm, 'tool0', still, still, still, still, slowest=0.0)
    with pytest.raises(rbd_ros.RbdError, match='no sample can be used: .* slowest = 0.05 rad/s'):
        ident.identify_payload(arm, 'tool0', still, still, still, still)
    with pytest.raises(ident.SingularRegressor, match='determines 0 of 2 parameters: a, b'):
        ident.fit(np.zeros((0, 2)), [], ['a', 'b'])
    with pytest.raises(rbd_ros.ShapeError, match='3 measurements for 280 rows'):
        ident.fit(A, np.zeros(3))


def test_parameters_and_models_convert(arm):
    """A model made of parameters has them; a wrong number is refused."""
    model = arm.model
    pi = np.concatenate([ident.body_parameters(model), ident.drive_parameters(model)])
    other = ident.with_parameters(model, 1.1 * pi)
    assert_near(ident.body_parameters(other), 1.1 * ident.body_parameters(model))
    assert_near(ident.drive_parameters(other), 1.1 * ident.drive_parameters(model))
    assert ident.with_parameters(model, pi[:70]).damping == model.damping
    names = ident.parameter_names(model, drives=True)
    assert len(names) == pi.size and names[0] == 'm of link_1' and names[-1].startswith('rotor')
    with pytest.raises(rbd_ros.ShapeError, match='has 70, or 91 with those of its drives'):
        ident.with_parameters(model, pi[:5])


def test_parameters_that_no_robot_has(arm):
    """A model is not made of a negative mass, moment or friction, nor of what is not a number."""
    model = arm.model
    pi = np.concatenate([ident.body_parameters(model), ident.drive_parameters(model)])
    names = ident.parameter_names(model, drives=True)
    for name, value, words in [
            (f'm of {model.body_names[2]}', -1.0, f'body "{model.body_names[2]}": mass -1.0'),
            (f'm of {model.body_names[3]}', np.nan, f'"{model.body_names[3]}": the inertia'),
            (f'Ixx of {model.body_names[1]}', -1.0, f'"{model.body_names[1]}": a principal'),
            (f'friction of {model.joint_names[0]}', -0.1, 'is -0.1; it must be finite'),
            (f'rotor of {model.joint_names[4]}', np.inf, 'is inf; it must be finite')]:
        wrong = pi.copy()
        wrong[names.index(name)] = value
        with pytest.raises(rbd_ros.ModelError, match=words):
            ident.with_parameters(model, wrong)
    assert ident.with_parameters(model, pi) == model


def test_which_parameters_are_physical():
    """Real bodies are; a negative mass, a far centre and a broken triangle are not."""
    good = np.array([samples_parameters(seed) for seed in range(5)])
    assert ident.is_physical(good).all() and ident.is_physical(good.ravel()).all()
    particle = [2.0, 0.2, 0.0, 0.0, 0.0, 0.0, 0.0, 0.02, 0.0, 0.02]
    assert ident.is_physical([particle])[0]
    negative = [-1.0, *[0.0] * 9]
    far = [1.0, 0.5, 0.0, 0.0, 0.1, 0.0, 0.0, 0.1, 0.0, 0.1]
    triangle = [1.0, 0.0, 0.0, 0.0, 0.1, 0.0, 0.0, 0.1, 0.0, 0.3]
    assert not ident.is_physical([negative, far, triangle]).any()
    cloud = np.random.default_rng(0).normal(size=(3, 9))
    M = np.vstack([cloud, np.ones(9)])
    J = M @ M.T
    I = np.trace(J[:3, :3]) * np.eye(3) - J[:3, :3]
    x = [9.0, *J[:3, 3], I[0, 0], I[0, 1], I[0, 2], I[1, 1], I[1, 2], I[2, 2]]
    np.testing.assert_allclose(ident.pseudo_inertia(x), J, atol=1e-12)


def samples_parameters(seed):
    """Return the parameters of a random real body."""
    body = families.random_inertia(np.random.default_rng(seed))
    return [body.m, *body.h, *body.I.entries()]


def test_physical_fit(arm, states):
    """Noise makes least squares unphysical; the conic fit is physical and explains as much."""
    pi = ident.body_parameters(arm.model)
    A = ident.design(arm, *states)
    b = A @ pi
    exact = ident.physical_fit(A, b, 7, prior=pi)
    assert_near(exact, pi, limit=1e-4)          # a conic solver stops early: it squares
    noisy = b + np.random.default_rng(2).normal(0.0, 1.0, b.size)
    plain = np.linalg.lstsq(A, noisy, rcond=1e-9)[0]
    found = ident.physical_fit(A, noisy, 7, prior=pi)
    assert not ident.is_physical(plain).all() and ident.is_physical(found).all()
    assert np.linalg.norm(A @ found - b) < 0.5 * np.linalg.norm(noisy - b)
    with pytest.raises(rbd_ros.ShapeError, match='ten columns for each of 8 bodies'):
        ident.physical_fit(A, b, 8)


@pytest.mark.parametrize('bad', [np.nan, np.inf])
def test_physical_fit_refuses_what_is_not_finite(bad):
    """One such number in any argument would make every parameter one."""
    A, b = np.eye(10), np.ones(10)
    for kind in ('A', 'b', 'prior'):
        given = {'A': A.copy(), 'b': b.copy(), 'prior': np.zeros(10)}
        given[kind].flat[3] = bad
        with pytest.raises(rbd_ros.NonFiniteError, match=kind if kind == 'prior' else 'finite'):
            ident.physical_fit(given['A'], given['b'], 1, prior=given['prior'])
    with pytest.raises(rbd_ros.ShapeError, match='prior has shape'):
        ident.physical_fit(A, b, 1, prior=np.zeros(3))
    for weight in (-1.0, bad):
        with pytest.raises(rbd_ros.SettingError, match='weight'):
            ident.physical_fit(A, b, 1, weight=weight)


def test_physical_fit_is_the_nearest():
    """Of one body with a negative moment, the projection is the best among many real bodies."""
    target = np.array([1.0, 0.0, 0.0, 0.0, 0.1, 0.0, 0.0, 0.1, 0.0, 0.3])
    found = ident.physical_fit(np.eye(10), target, 1, weight=1e-9)
    assert ident.is_physical(found).all()
    # diag(a, a, 2a) is the nearest with Izz = Ixx + Iyy: a = 0.8/6.
    np.testing.assert_allclose(found[[4, 7, 9]], np.array([0.8, 0.8, 1.6]) / 6.0, atol=1e-6)
    np.testing.assert_allclose(found[0], 1.0, atol=1e-6)


def test_payload(arm, states):
    """Ten numbers of a payload come back from torques, in any frame, and fit set_payload."""
    loaded = rbd_ros.Dynamics(arm.model, payload_frame='tool0')
    inertia = np.array([[0.02, 0.001, 0.0], [0.001, 0.03, -0.002], [0.0, -0.002, 0.015]])
    loaded.set_payload(1.7, [0.03, -0.02, 0.1], inertia)
    _, qd, _ = states
    tau = (loaded.inverse_dynamics(*states) + np.array(arm.model.damping) * qd
           + np.array(arm.model.friction) * np.sign(qd))
    found = ident.identify_payload(arm, 'tool0', *states, tau)
    assert found.mass == pytest.approx(1.7, rel=1e-9)
    np.testing.assert_allclose(found.com, [0.03, -0.02, 0.1], atol=1e-9)
    np.testing.assert_allclose(found.inertia, inertia, atol=1e-9)
    again = rbd_ros.Dynamics(arm.model, payload_frame='tool0')
    again.set_payload(found.mass, found.com, found.inertia)
    assert_near(again.inverse_dynamics(*states), loaded.inverse_dynamics(*states), limit=1e-9)
    message = found.message()
    assert message['header'] == {'frame_id': 'tool0'}
    assert message['inertia']['ixy'] == found.inertia[0, 1]
    bare = tau + (arm.inverse_dynamics(*states) - loaded.inverse_dynamics(*states))
    light = ident.identify_payload(arm, 'tool0', *states, bare + np.random.default_rng(
        0).normal(0.0, 0.02, bare.shape))
    assert 0.0 <= light.mass < 0.02 and np.linalg.eigvalsh(light.inertia)[0] >= -1e-9
    with pytest.raises(rbd_ros.RbdError, match='"base_link" does not move'):
        ident.identify_payload(arm, 'base_link', *states, tau)


# --- recordings -----------------------------------------------------------------------------


def rows_of(count, seed=0):
    """Return rows of random joint states."""
    rng = np.random.default_rng(seed)
    return [(100.0 + 0.01 * k, *rng.normal(size=(3, 7))) for k in range(count)]


def test_a_bag_is_read(tmp_path, arm):
    """What was written comes back, in the order of the model and of time."""
    rows = rows_of(4)
    recording = ident.read_joint_states(
        write(tmp_path / 'bag', arm.model, [rows[2], rows[0], rows[1], rows[3]]), arm.model)
    np.testing.assert_allclose(recording.t, [row[0] for row in rows], atol=1e-9)
    for k, values in ((1, recording.q), (2, recording.qd), (3, recording.tau)):
        np.testing.assert_array_equal(values, [row[k] for row in rows])
    assert np.isnan(recording.qdd).all()


def test_bags_that_cannot_serve(tmp_path, arm):
    """Each is refused with its reason: foreign file, topic, type, robot, no message, no effort."""
    model, rows = arm.model, rows_of(3)
    (tmp_path / 'text').mkdir()
    (tmp_path / 'text' / 'metadata.yaml').write_text('a: 1\n')
    (tmp_path / 'cut.mcap').write_bytes(b'\x89MCAP0\r\n')
    cases = [
        (tmp_path / 'cut.mcap', 'was cut off before its first chunk'),
        (tmp_path / 'nothing', 'nothing does not exist; give the folder'),
        (tmp_path / 'text', 'cannot be read as a rosbag'),
        (tmp_path, 'has no metadata.yaml: ros2 bag record has not made this folder'),
        (write(tmp_path / 'a', model, rows, topic='/other'), r'no topic .*topics: /other'),
        (write(tmp_path / 'b', model, rows, kind=NUMBER), 'has type std_msgs/msg/Float64'),
        (write(tmp_path / 'c', model, rows, names='abcdefg'), r'has joint "joint_1".*a, b, c'),
        (write(tmp_path / 'd', model, []), 'has no messages'),
        (write(tmp_path / 'e', model, rows, effort=False), 'record the efforts too'),
        (write(tmp_path / 'f', model, [(1.0, *np.full((3, 7), np.nan))]), 'NaN or infinity')]
    for path, text in cases:
        with pytest.raises(ident.BagError, match=text):
            ident.read_joint_states(path, model)
    floating = rbd_ros.load_urdf(ARM, floating_base=True, on_warning=lambda text: None)
    with pytest.raises(ident.BagError, match='several coordinates'):
        ident.read_joint_states(tmp_path / 'a', floating)


def test_measurements_that_are_no_numbers(arm):
    """A wrong shape and what is not finite are named, before a solver meets them."""
    q, qd, qdd = np.random.default_rng(4).normal(size=(3, 20, 7))
    tau = arm.inverse_dynamics(q, qd, qdd)
    tau[3, 2] = np.nan
    with pytest.raises(rbd_ros.errors.NonFiniteError, match=r'of 140 is not finite \(1 such'):
        ident.identify_payload(arm, 'tool0', q, qd, qdd, tau, slowest=0.0)
    with pytest.raises(rbd_ros.ShapeError, match=r'tau has shape \(20, 6\), expected \(20, 7\)'):
        ident.identify_payload(arm, 'tool0', q, qd, qdd, tau[:, :6])
    with pytest.raises(rbd_ros.errors.NonFiniteError, match='regressor 1 of 3 is not finite'):
        ident.fit([[1.0], [np.inf], [2.0]], [1.0, 2.0, 3.0])


def test_smoothing():
    """Velocity and acceleration of a noisy sine, within what the noise allows."""
    t = 0.002 * np.arange(3000)
    rng = np.random.default_rng(0)
    q = np.sin(2.0 * t)[:, None]
    noisy = ident.Recording(t, q + rng.normal(0.0, 1e-5, q.shape), 0.0 * q, 0.0 * q,
                            q + rng.normal(0.0, 0.05, q.shape))
    found = ident.smooth(noisy, 10.0)
    wanted = (np.sin(2 * found.t), 2 * np.cos(2 * found.t), -4 * np.sin(2 * found.t))
    # Of the noise of 1e-5, a fifth is below 10 Hz; each derivative multiplies it by up to 63/s.
    for values, expected, limit in zip(found[1:4], wanted, (5e-5, 3e-3, 0.1), strict=True):
        assert np.abs(values[:, 0] - expected).max() < limit
    assert np.std(found.tau[:, 0] - np.sin(2 * found.t)) < 0.02
    with pytest.raises(rbd_ros.RbdError, match='between 0 and half the rate'):
        ident.smooth(noisy, 400.0)
    with pytest.raises(ident.BagError, match='too few'):
        ident.smooth(ident.Recording(*(x[:5] for x in noisy)), 10.0)


def test_efforts_that_are_late():
    """Torques of the period before, moved back by half of it, are those of the positions."""
    t = np.arange(0.0, 4.0, 0.01)
    q = np.sin(3.0 * t)[:, None]
    held = np.cos(2.0 * (t - 0.005))[:, None]             # the mean of the period that has ended
    late = ident.Recording(t, q, np.zeros_like(q), np.full_like(q, np.nan), held)
    found, plain = ident.smooth(late, 10.0, 0.005), ident.smooth(late, 10.0)
    np.testing.assert_allclose(found.tau[:, 0], np.cos(2.0 * found.t), atol=2e-4)
    np.testing.assert_array_equal(found.q, plain.q)
    assert np.abs(plain.tau[:, 0] - np.cos(2.0 * plain.t)).max() > 5e-3
    with pytest.raises(rbd_ros.RbdError, match='effort_delay of 9 s must be shorter'):
        ident.smooth(late, 10.0, 9.0)


def test_without_the_optional_packages(monkeypatch, tmp_path, arm):
    """A missing package is named with the command that installs it."""
    for name in ('clarabel', 'rosbags.highlevel'):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(rbd_ros.RbdError, match='pip install clarabel'):
        ident.physical_fit(np.eye(10), np.zeros(10), 1)
    with pytest.raises(rbd_ros.RbdError, match='pip install rosbags'):
        ident.read_joint_states(tmp_path, arm.model)
