# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Gears, cams, differentials and rotors: q = gamma(y) with any law (RBDA 9.6)."""

import math

from gear_rig import FREE, in_order, LAWS, SHAPE, urdf
from hypothesis import given
import numpy as np
import pinocchio as pin
import pytest
import rbd_ros
from rbd_ros.algorithms import gears
from rbd_ros.algorithms.kinematics import Conditions
from rbd_ros.algorithms.loops import whole_system
from rbd_ros.algorithms.other_forms import lagrange
from rbd_ros.algorithms.other_forms.divide_and_conquer import divide_and_conquer
from rbd_ros.compiler import sin, trace
from rbd_ros.errors import ModelError, SingularError, UnknownName
from rbd_ros.joints import Prismatic, Revolute
from rbd_ros.samples import families
from rbd_ros.sim import Imperfections, Sensors, SimulatedRobot
from rbd_ros.spatial import Force, RigidInertia, Sym3, Transform, Vec3
from spatial_oracle import derivative
from tree_oracle import assert_near, examples, SEEDS, State

few = examples(15)


@pytest.fixture(scope='module')
def geared():
    """Return the tree with a cam, a gear on the cam's joint, and a differential."""
    return rbd_ros.load_urdf(urdf(), gears=LAWS)


@pytest.fixture(scope='module')
def peer():
    """Return Pinocchio's model of the tree without gears, and the order of its joints."""
    model = pin.buildModelFromXML(urdf())
    return model, list(model.names[1:])


@pytest.mark.seed('RBDA 3-08', 'RBDA 9-17')
def test_gamma_and_its_derivatives(geared):
    """The functions G and g are the derivatives of gamma, through chains and differentials."""
    coupling, names = geared.coupling, geared.joint_names
    assert geared.independent_joint_names == tuple(FREE) and not coupling.constant
    y, yd = [0.3, 0.7, -0.4, 0.9], [0.5, -1.1, 0.8, 0.6]
    np.testing.assert_allclose(coupling.gamma(y), in_order(y, names), rtol=1e-14)
    G = np.array(coupling.G(y))
    columns = [derivative(lambda s, e=e: in_order(np.array(y) + s * e, names)) for e in np.eye(4)]
    np.testing.assert_allclose(G, np.transpose(columns), atol=1e-10)

    def velocity(s):
        here = np.array(y) + s * np.array(yd)
        return np.array(coupling.G(here.tolist())) @ yd
    np.testing.assert_allclose(coupling.g(y, yd), derivative(velocity), atol=1e-9)
    assert np.abs(coupling.g(y, yd)).max() > 0.1
    graph = trace(lambda y, yd: {'q': coupling.gamma(y), 'G': coupling.G(y),
                                 'g': coupling.g(y, yd)}, {'y': (4,), 'yd': (4,)})
    plain = [*coupling.gamma(y), *G.ravel(), *coupling.g(y, yd)]
    np.testing.assert_allclose(graph.evaluate(y, yd), plain, rtol=1e-14)


@pytest.mark.seed('RBDA 9-17')
def test_differential_of_three_inputs():
    """A joint that follows three others: G and g are those of the law, by hand."""
    law = rbd_ros.Gear(('j2', 'j4', 'j5'), lambda a, b, c: a * b + 0.5 * sin(c) - 0.2 * a * c)
    model = rbd_ros.load_urdf(urdf(), gears={'j7': law})
    free = list(model.independent_joint_names)
    y = np.linspace(0.3, -0.7, len(free))
    yd = np.linspace(-1.1, 0.9, len(free))
    at, rate = dict(zip(free, y)), dict(zip(free, yd))
    a, b, c = (at[name] for name in law.joints)
    row = model.joint_names.index('j7')
    expected = dict.fromkeys(free, 0.0) | {
        'j2': b - 0.2 * c, 'j4': a, 'j5': 0.5 * np.cos(c) - 0.2 * a}
    coupling = model.coupling
    assert coupling.gamma(y.tolist())[row] == pytest.approx(
        a * b + 0.5 * np.sin(c) - 0.2 * a * c, rel=1e-14)
    np.testing.assert_allclose(coupling.G(y.tolist())[row], list(expected.values()), atol=1e-14)
    ad, bd, cd = (rate[name] for name in law.joints)
    second = 2.0 * ad * bd - 0.4 * ad * cd - 0.5 * np.sin(c) * cd * cd
    assert coupling.g(y.tolist(), yd.tolist())[row] == pytest.approx(second, rel=1e-13)
    tree = model.expand_v(yd, y)
    assert tree[row] == pytest.approx(np.dot(list(expected.values()), yd), rel=1e-13)


def test_linear_differential_costs_no_more_than_a_mimic(geared):
    """A law whose slopes are constant is kept as numbers, whatever the function looks like."""
    laws = {'j7': LAWS['j7'], 'j6': rbd_ros.Mimic('j7', 3.0, 1.0),
            'j5': rbd_ros.Gear(('j2', 'j4'), lambda a, b: 0.5 * (a + b))}   # the other output
    model = rbd_ros.load_urdf(urdf(), gears=laws)
    assert model.coupling.constant
    assert model.gear_bias([0.0] * 4, [0.0] * 4) is None
    G = dict(zip(model.joint_names, model.coupling.G(())))
    free = list(model.independent_joint_names)
    assert G['j7'][free.index('j2')] == 0.5 and G['j7'][free.index('j4')] == -0.5
    assert G['j6'][free.index('j4')] == -1.5
    assert G['j5'][free.index('j2')] == G['j5'][free.index('j4')] == 0.5
    assert model.expand_q([0.0] * 4)[model.joint_names.index('j6')] == pytest.approx(1.3)


@pytest.mark.seed('RBDA 9-17', 'RBDA 9-16', 'RBDA 3-14')
@pytest.mark.parametrize('seed', range(3))
def test_geared_tree_is_pinocchios_projected(geared, peer, seed):
    """G^T H G and G^T (C + H g) of Pinocchio's H and C, with G and g by differences (9.26)."""
    theirs, names = peer
    data = theirs.createData()
    rng = np.random.default_rng(seed)
    y, yd, ydd = rng.normal(size=(3, 4))
    q = in_order(y, names)
    G = np.transpose([derivative(lambda s, e=e: in_order(y + s * e, names)) for e in np.eye(4)])
    h = 1e-3                # the second derivative of gamma along the motion
    path = [in_order(y + k * h * yd, names) for k in (-2, -1, 0, 1, 2)]
    g = np.array([-1.0, 16.0, -30.0, 16.0, -1.0]) @ path / (12.0 * h * h)
    H = pin.crba(theirs, data, q)
    H = np.triu(H) + np.triu(H, 1).T
    C = pin.nle(theirs, data, q, G @ yd)
    robot = rbd_ros.Dynamics(geared, backend='reference')
    assert_near(robot.mass_matrix(y), G.T @ H @ G, limit=1e-9)
    assert_near(robot.bias(y, yd), G.T @ (C + H @ g), limit=1e-8)
    assert_near(robot.inverse_dynamics(y, yd, ydd), G.T @ (H @ (G @ ydd + g) + C), limit=1e-8)
    tau = rng.normal(size=4)
    expected = np.linalg.solve(G.T @ H @ G, tau - G.T @ (C + H @ g))
    for method in ('crba', 'aba'):
        assert_near(robot.forward_dynamics(y, yd, tau, method=method), expected, limit=1e-7)
    assert_near(robot.forward_dynamics(y, yd, robot.inverse_dynamics(y, yd, ydd)), ydd)
    found = lagrange.equations(geared).evaluate(y.tolist(), yd.tolist(), ydd.tolist())
    assert_near(found, G.T @ (H @ (G @ ydd + g) + C), limit=1e-7)
    found = lagrange.inertia(geared).evaluate(y.tolist())
    assert_near(np.reshape(found, (4, 4)), G.T @ H @ G, limit=1e-9)


def test_frames_of_a_geared_tree_accelerate_with_g(geared):
    """J-dot y-dot of a frame contains J g: it is the derivative of its velocity at zero y_ddot."""
    robot = rbd_ros.Dynamics(geared, backend='reference')
    y, yd = np.array([0.3, 0.7, -0.4, 0.9]), np.array([0.5, -1.1, 0.8, 0.6])
    rate = derivative(lambda s: robot.velocity(y + s * yd, yd, 'l6'))
    assert_near(robot.jacobian_rate(y, yd, 'l6'), rate, limit=1e-9)
    assert_near(robot.jacobian(y, 'l6') @ yd, robot.velocity(y, yd, 'l6'), limit=1e-13)
    space = robot.operational_space(y, yd, robot.handle('l6', rows=rbd_ros.POINT))
    qdd = robot.forward_dynamics(y, yd, np.zeros(4))
    expected = (robot.jacobian(y, 'l6') @ qdd + robot.jacobian_rate(y, yd, 'l6'))[3:]
    assert_near(space.b, expected, limit=1e-9)


def test_coriolis_matrix_and_momentum_of_changing_gears(geared):
    """C y_dot + g is the bias, dH/dt - 2 C skew, A y_dot the momentum and dA/dt its rate."""
    robot = rbd_ros.Dynamics(geared, backend='reference')
    y, yd = np.array([0.3, 0.7, -0.4, 0.9]), np.array([0.5, -1.1, 0.8, 0.6])
    C = robot.coriolis_matrix(y, yd)
    assert_near(C @ yd + robot.gravity(y), robot.bias(y, yd), limit=1e-12)
    rate = derivative(lambda s: robot.mass_matrix(y + s * yd))
    assert_near(rate - 2.0 * C, -(rate - 2.0 * C).T, scale=np.linalg.norm(rate), limit=1e-9)
    assert_near(robot.christoffel_symbols(y) @ yd, C, limit=1e-12)
    rate = derivative(lambda s: robot.centroidal_momentum_matrix(y + s * yd))
    assert_near(robot.centroidal_momentum_matrix_rate(y, yd), rate, limit=1e-9)
    linear = robot.centroidal_momentum_matrix(y)[3:] @ yd
    assert_near(linear, robot.momentum(y, yd)[3:], limit=1e-12)


@few
@given(SEEDS)
def test_all_methods_agree_with_projection(seed):
    """All methods give the projected equation's answer: any tree, joints, gears and rotors."""
    rng = np.random.default_rng(seed)
    nb = int(rng.integers(3, 9))
    builder = rbd_ros.ModelBuilder('random')
    single, names = [], ['base']
    for i in range(1, nb + 1):
        kind = str(rng.choice(list(families.JOINTS))) if rng.random() < 0.5 else 'revolute'
        axis = rng.normal(size=3)
        joint = families.JOINTS[kind](tuple((axis / np.linalg.norm(axis)).tolist()))
        law, free = None, joint.nq == joint.nv == 1
        if free and single and rng.random() < 0.6:
            leader, other = rng.choice(single, 2)
            law = [rbd_ros.Mimic(leader, -2.0, 0.1),
                   rbd_ros.Gear((leader, other), lambda a, b: 0.7 * sin(a) + b * b),
                   rbd_ros.Gear((leader, other), lambda a, b: a - 3.0 * b)][rng.integers(3)]
        rotor = rbd_ros.JointData(rotor_inertia=0.0 if law else float(rng.choice([0.0, 0.3])))
        builder.add_body(f'b{i}', str(rng.choice(names)), joint, families.random_transform(rng),
                         families.random_inertia(rng), joint_name=f'j{i}', mimic=law, data=rotor)
        names.append(f'b{i}')
        single += [f'j{i}'] if free else []
    model = builder.build()
    s, robot = State(model, seed), rbd_ros.Dynamics(model, backend='reference')
    H = robot.mass_matrix(s.q)
    aba = robot.forward_dynamics(s.q, s.qd, s.tau, s.f_ext, method='aba')
    size = np.linalg.norm(H) * np.linalg.norm(aba)
    assert_near(H @ aba + robot.bias(s.q, s.qd, s.f_ext), s.tau, scale=size, limit=1e-11)
    whole = whole_system.accelerations(model, s.q, s.qd, s.tau, s.f_ext)
    assert_near(H @ whole.qdd, H @ aba, scale=size, limit=1e-10)
    assert whole.rank == whole.constraints
    found = divide_and_conquer(model, s.q.tolist(), s.qd.tolist(), s.tau.tolist(), Conditions(
        Vec3(*model.gravity), [None, *(Force.from_list(f) for f in s.f_ext.tolist())]))
    # it inverts the inertia of each body by itself, which costs digits
    assert_near(H @ found, H @ aba, scale=size, limit=1e-8)


def test_clusters_are_as_small_as_they_can_be(geared):
    """Bodies between leader and follower belong together; others stay alone."""
    def named(model):
        return [(model.body_names[c.parent], {model.body_names[k] for k in c.bodies})
                for c in gears.clusters(model)]
    assert named(geared) == [('l0', {'l1'}), ('l1', {'l2', 'l3', 'l4', 'l5', 'l6', 'l7'})]
    pair = rbd_ros.load_urdf(urdf(), gears={'j6': rbd_ros.Mimic('j4')})
    assert named(pair) == [('l0', {'l1'}), ('l1', {'l2'}), ('l2', {'l3'}),
                           ('l1', {'l4', 'l5', 'l6'}), ('l1', {'l7'})]


def test_compiled_gears_and_their_keys(geared, tmp_path, monkeypatch):
    """Machine code gives the reference's numbers; another law is another kernel."""
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path))
    s = State(geared, 4)
    answers = []
    for laws in (LAWS, {**LAWS, 'j3': rbd_ros.Gear(('j2',), lambda q: q + 0.31 * sin(2.0 * q))}):
        model = rbd_ros.load_urdf(urdf(), gears=laws)
        compiled, plain = (rbd_ros.Dynamics(model, backend=each) for each in ('auto', 'reference'))
        for method in ('aba', 'crba'):
            answers.append(compiled.forward_dynamics(s.q, s.qd, s.tau, method=method))
            assert_near(answers[-1], plain.forward_dynamics(s.q, s.qd, s.tau), limit=1e-9)
        assert_near(compiled.inverse_dynamics(s.q, s.qd, s.qdd),
                    plain.inverse_dynamics(s.q, s.qd, s.qdd), limit=1e-12)
    assert np.abs(answers[0] - answers[2]).max() > 1e-3


def test_simulator_takes_gears(geared):
    """The simulated robot keeps its energy, and its sensors read the joints that follow."""
    robot, dynamics = SimulatedRobot(geared), rbd_ros.Dynamics(geared)
    robot.place([0.3, 0.7, -0.4, 0.9], [0.5, -1.1, 0.8, 0.6])

    def energy():
        return dynamics.kinetic_energy(robot.q, robot.v) + dynamics.potential_energy(robot.q)
    start = energy()
    for _ in range(100):
        robot.step(1e-3)
    assert energy() == pytest.approx(start, abs=1e-6)
    sensors = Sensors(robot, Imperfections())
    sensors.read(0)
    sample, = sensors.delivered(0)
    expected = in_order(robot.q, sensors.names)
    np.testing.assert_allclose(sample.position, expected, rtol=1e-12)
    rates = derivative(lambda s: in_order(robot.q + s * robot.v, sensors.names))
    np.testing.assert_allclose(sample.velocity, rates, atol=1e-9)


def crank(law):
    """Return a pendulum on a pendulum, the second one geared to the first."""
    def rod(mass, length):
        moment = mass * length**2 / 12.0
        return RigidInertia.from_com(mass, Vec3(0.0, 0.0, -0.5 * length),
                                     Sym3.diagonal(moment, moment, 1e-4))
    builder = rbd_ros.ModelBuilder('crank')
    builder.add_body('one', 'base', Revolute((0.0, 1.0, 0.0)), inertia=rod(1.0, 0.6),
                     joint_name='a')
    builder.add_body('two', 'one', Revolute((0.0, 1.0, 0.0)),
                     Transform.translation(Vec3(0.0, 0.0, -0.6)), rod(0.7, 0.5), joint_name='b',
                     mimic=law)
    return builder.build()


MUJOCO = """
<mujoco><option timestep="1e-4" integrator="implicitfast"/>
<worldbody><body><joint name="a" type="hinge" axis="0 1 0"/>
<inertial pos="0 0 -0.3" mass="1.0" diaginertia="0.03 0.03 1e-4"/>
<body pos="0 0 -0.6"><joint name="b" type="hinge" axis="0 1 0"/>
<inertial pos="0 0 -0.25" mass="0.7" diaginertia="{moment} {moment} 1e-4"/>
</body></body></worldbody>
<equality><joint joint1="b" joint2="a" polycoef="0.2 -1.5 0.6 0.4 0" solref="{solref} 1"
 solimp="0.9999 0.9999 0.001"/></equality></mujoco>"""


@pytest.mark.seed('RBDA 9-17')
def test_cam_moves_as_in_mujoco():
    """A cubic gear follows MuJoCo's joint equality, closer as that is made stiffer."""
    import mujoco
    model = crank(rbd_ros.Gear(('a',), lambda q: 0.2 - 1.5 * q + 0.6 * q * q + 0.4 * q * q * q))
    robot = rbd_ros.Dynamics(model)
    y, yd, h = np.array([0.6]), np.array([0.5]), 5e-4

    def rate(x):
        return np.array([x[1], robot.forward_dynamics(x[:1], x[1:], np.zeros(1))[0]])
    x = np.array([0.6, 0.5])
    for _ in range(1000):
        k1 = rate(x)
        k2 = rate(x + 0.5 * h * k1)
        k3 = rate(x + 0.5 * h * k2)
        x = x + h / 6.0 * (k1 + 2.0 * (k2 + k3) + rate(x + h * k3))
    errors = []
    for solref in (0.1, 0.001):
        mj = mujoco.MjModel.from_xml_string(
            MUJOCO.format(moment=0.7 * 0.25 / 12.0, solref=solref))
        data = mujoco.MjData(mj)
        data.qpos[:], data.qvel[:] = model.expand_q(y), model.expand_v(yd, y)
        mujoco.mj_step(mj, data, 5000)
        errors.append(abs(data.qpos[0] - x[0]))
    assert abs(x[0] - 0.6) > 0.3
    assert errors[1] < 1e-3 and errors[1] < 0.5 * errors[0]


# --- motors and rotors ------------------------------------------------------------------------


def arm_with_rotors():
    """Return the arm of Fig 9.2 with rotors geared by 100 and 80."""
    def body(m, x, moment):
        return RigidInertia.from_com(m, Vec3(x, 0.0, 0.0), Sym3.diagonal(moment, moment, moment))
    z = Revolute((0.0, 0.0, 1.0))
    builder = rbd_ros.ModelBuilder('geared', gravity=(0.0, -9.81, 0.0))
    builder.add_body('link_1', 'base', z, inertia=body(4.0, 0.25, 0.09), joint_name='shoulder')
    builder.add_body('rotor_1', 'base', z, Transform.translation(Vec3(0.0, 0.1, 0.0)),
                     body(0.3, 0.0, 1e-4), joint_name='motor_1',
                     mimic=rbd_ros.Mimic('shoulder', 100.0))
    builder.add_body('link_2', 'link_1', z, Transform.translation(Vec3(0.5, 0.0, 0.0)),
                     body(3.0, 0.2, 0.05), joint_name='elbow')
    builder.add_body('rotor_2', 'link_1', z, Transform.translation(Vec3(0.4, 0.0, 0.0)),
                     body(0.2, 0.0, 6e-5), joint_name='motor_2',
                     mimic=rbd_ros.Mimic('elbow', 80.0))
    return builder.build()


@pytest.mark.seed('RBDA 9-16', 'RBDA 9-18')
def test_motor_torques_of_a_geared_arm():
    """The golden accelerations need motor torques 0.5 and 0.2, and these give them (Fig 9.2)."""
    model = arm_with_rotors()
    robot = rbd_ros.Dynamics(model, backend='reference')
    y, yd, ydd = [0.3, 0.8], [0.5, -0.7], [5.6901336648, 20.0223643817]
    tau = robot.inverse_dynamics(y, yd, ydd)
    motors = gears.actuator_forces(model, y, tau, ['motor_1', 'motor_2'])
    np.testing.assert_allclose(motors, [0.5, 0.2], atol=1e-9)
    for method in ('aba', 'crba'):
        found = robot.forward_dynamics(y, yd, [100.0 * 0.5, 80.0 * 0.2], method=method)
        np.testing.assert_allclose(found, ydd, atol=1e-8)


@pytest.mark.seed('RBDA 9-16')
def test_projection_of_the_book_costs_five_products_and_three_sums():
    """With two gears and the zeros of H, G^T H G takes 5 multiplications and 3 additions."""
    from rbd_ros.model.coupling import Coupling
    r1, r2 = 100.0, 80.0
    rows = (((0, 1.0),), ((0, r1),), ((1, 1.0),), ((1, r2),))
    coupling = Coupling(rows, (0.0,) * 4, rows, 2, 2, (2, 4), ((1,), (3,)))

    def project(H11, H13, H14, H22, H33, H44):
        H = [[H11, 0.0, H13, H14], [0.0, H22, 0.0, 0.0], [H13, 0.0, H33, 0.0],
             [H14, 0.0, 0.0, H44]]
        return {'H': coupling.reduce_symmetric(H, ())}
    count = trace(project, {f'H{k}': () for k in (11, 13, 14, 22, 33, 44)}).count()
    assert (count.mul, count.add) == (5, 3)


@pytest.mark.seed('RBDA 9-18')
def test_motors_that_are_too_many_or_too_few():
    """Two motors on one axis share its force by least squares; a free axis is named."""
    model = arm_with_rotors()
    both = gears.actuator_forces(model, [0.0, 0.0], [1.0, 2.0], ['shoulder', 'motor_1', 'elbow'])
    np.testing.assert_allclose(both, [1.0 / 10001.0, 100.0 / 10001.0, 2.0], rtol=1e-12)
    with pytest.raises(SingularError, match='motors at motor_1 cannot.* 2 are missing.*"elbow"'):
        gears.actuator_forces(model, [0.0, 0.0], [1.0, 2.0], ['motor_1'])
    with pytest.raises(ModelError, match='joint "elbow" is named twice'):
        gears.actuator_forces(model, [0.0, 0.0], [1.0, 2.0], ['elbow', 'elbow'])
    with pytest.raises(UnknownName, match='no joint "elbo".*did you mean "elbow"'):
        gears.actuator_forces(model, [0.0, 0.0], [1.0, 2.0], ['elbo'])


def transmission(joint, ratio, inertia):
    """Return a transmission with a rotor."""
    return (f'<transmission name="t_{joint}"><joint name="{joint}"/>'
            f'<actuator name="m_{joint}"><mechanicalReduction>{ratio}</mechanicalReduction>'
            f'<rotorInertia>{inertia}</rotorInertia></actuator></transmission>')


ROTORS = {'j1': (50.0, 1e-3), 'j3': (-80.0, 5e-4), 'j5': (100.0, 2e-4), 'j7': (300.0, 1e-4)}


@pytest.mark.seed('RBDA 9-16', 'RBDA 9-19')
@pytest.mark.parametrize('seed', range(2))
def test_rotors_of_transmissions_as_bodies(seed):
    """They are Pinocchio's links on joints geared by G, gyroscopic torques and all."""
    text = urdf(''.join(transmission(name, *values) for name, values in ROTORS.items()))
    robot = rbd_ros.Dynamics(rbd_ros.load_urdf(text, rotor_bodies=True), backend='reference')
    quick = rbd_ros.Dynamics(rbd_ros.load_urdf(text), backend='reference')
    names = list(robot.model.independent_joint_names)
    assert names == list(quick.model.joint_names) and not any(robot.model.rotor_inertia)
    theirs = pin.buildModelFromXML(urdf())
    order = list(theirs.names[1:])
    for name, (_, J) in ROTORS.items():
        k = theirs.getJointId(name)
        axis = theirs.joints[k].axis if hasattr(theirs.joints[k], 'axis') else None
        axis = np.array([float(x) for x in SHAPE[name][1].split()]) if axis is None else axis
        spin = theirs.addJoint(theirs.parents[k], pin.JointModelRevoluteUnaligned(np.array(axis)),
                               theirs.jointPlacements[k], f'{name}_rotor')
        theirs.appendBodyToJoint(spin, pin.Inertia(0.0, np.zeros(3), J * np.outer(axis, axis)),
                                 pin.SE3.Identity())
    data = theirs.createData()
    G = np.zeros((theirs.nv, 7))
    for name in order:
        G[theirs.joints[theirs.getJointId(name)].idx_v, names.index(name)] = 1.0
    for name, (ratio, _) in ROTORS.items():
        G[theirs.joints[theirs.getJointId(f'{name}_rotor')].idx_v, names.index(name)] = ratio
    rng = np.random.default_rng(seed)
    y, yd, ydd = rng.normal(size=(3, 7))
    tau = G.T @ pin.rnea(theirs, data, G @ y, G @ yd, G @ ydd)
    assert_near(robot.inverse_dynamics(y, yd, ydd), tau, limit=1e-12)
    assert np.abs(quick.inverse_dynamics(y, yd, ydd) - tau).max() > 1e-2     # reflected is not all
    for method in ('aba', 'crba'):
        assert_near(robot.forward_dynamics(y, yd, tau, method=method), ydd, limit=1e-9)


# --- refusals -----------------------------------------------------------------------------------

@pytest.mark.parametrize(('laws', 'words'), [
    ({'j2': rbd_ros.Gear(('j3', 'j1'), lambda a, b: a * b), 'j3': rbd_ros.Mimic('j2')},
     'in a cycle: j2 -> j3 -> j2; one of them must move freely'),
    ({'j2': rbd_ros.Gear(('j1',), lambda q: math.sin(q))},
     'joint "j2": its gear cannot be compiled: .*rbd_ros.compiler'),
    ({'j2': rbd_ros.Gear(('j1', 'j3'), lambda q: q)}, 'joint "j2": its gear .* of 2 positions'),
    ({'j2': rbd_ros.Gear((), lambda: 0.0)}, 'joint "j2": its gear names no joint to follow'),
    ({'j2': rbd_ros.Gear(('ghost',), lambda q: q)}, 'joint "j2" mimics "ghost", which is not'),
    ({'ghost': rbd_ros.Mimic('j2')}, 'no joint "ghost"'),
])
def test_bad_gears_are_named(laws, words):
    """A gear that cannot be is refused with the names of its joints."""
    with pytest.raises(rbd_ros.RbdError, match=words):
        rbd_ros.load_urdf(urdf(), gears=laws)


def test_what_a_nonlinear_gear_cannot_reflect():
    """Damping of a joint with a changing ratio has no constant place at its leader."""
    builder = rbd_ros.ModelBuilder()
    builder.add_body('a', 'base', Prismatic((1.0, 0.0, 0.0)))
    builder.add_body('b', 'a', Prismatic((1.0, 0.0, 0.0)), data=rbd_ros.JointData(damping=0.5),
                     mimic=rbd_ros.Gear(('a_joint',), lambda q: q * q))
    with pytest.raises(ModelError, match='joint "b_joint": damping 0.5 cannot be moved'):
        builder.build()


def test_losses_of_a_nonlinear_follower_are_left_out_with_a_warning():
    """Friction and damping stay where they can; the warning names the joint."""
    text = urdf().replace('<axis xyz="1 0 0"/>', '<axis xyz="1 0 0"/><dynamics friction="0.5"/>')
    warnings = []
    model = rbd_ros.load_urdf(text, gears={
        'j3': LAWS['j3'], 'j6': rbd_ros.Gear(('j5',), lambda q: 0.1 - 2.0 * q)},
        on_warning=warnings.append)
    assert dict(zip(model.independent_joint_names, model.friction)) == {
        'j1': 0.0, 'j2': 0.0, 'j4': 0.0, 'j5': 1.0, 'j7': 0.0}
    assert ['<limit>' in warnings[0], 'friction and damping' in warnings[1]] == [True, True]
    assert len(warnings) == 2 and all('"j3"' in each for each in warnings)
    both = []
    model = rbd_ros.load_urdf(text, gears={'j6': rbd_ros.Gear(('j4', 'j5'), lambda a, b: a - b)},
                              on_warning=both.append)
    assert dict(zip(model.independent_joint_names, model.friction)) == {
        'j1': 0.0, 'j2': 0.0, 'j3': 0.5, 'j4': 0.0, 'j5': 0.0, 'j7': 0.0}
    assert ['<limit>' in both[0], 'friction and damping' in both[1]] == [True, True]
    assert len(both) == 2 and all('"j6"' in each for each in both)
    rotors = transmission('j3', 50.0, 1e-3)
    with pytest.raises(ModelError, match='"j3": rotor_inertia 2.5 .*rotor_bodies=True'):
        rbd_ros.load_urdf(urdf(rotors), gears=LAWS)
    assert rbd_ros.load_urdf(urdf(rotors), gears=LAWS, rotor_bodies=True).nb == 8


def test_forces_of_a_changing_gear_need_the_position(geared):
    """Without a position there is no G, and the message says so."""
    for call in (geared.expand_v, geared.reduce_force):
        with pytest.raises(ModelError, match='"tree" has gears whose ratio depends on the posit'):
            call([0.0] * 7)
