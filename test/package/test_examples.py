# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Every example runs, and what it prints is true by another way of finding it."""

import re
import runpy
import subprocess
import sys

from linted import ROOT
import numpy as np
import pytest
from tree_oracle import DenseTree

pytestmark = [pytest.mark.slow, pytest.mark.sampled('examples', 0.4)]

EXAMPLES = ROOT / 'examples'
PINOCCHIO = 'compare_with_pinocchio'


@pytest.fixture
def run(monkeypatch, capsys):
    """Return a function that runs an example and returns its variables and what it printed."""
    def run(name, *arguments):
        path = EXAMPLES / f'{name}.py'
        monkeypatch.setattr(sys, 'argv', [str(path), *map(str, arguments)])
        found = runpy.run_path(str(path))
        return found, capsys.readouterr().out
    return run


def test_examples_are_short_and_ask_a_question():
    """An example has 10 to 40 lines besides the licence, and its first line asks a question."""
    paths = sorted(EXAMPLES.glob('*.py'))
    assert len(paths) >= 15
    for path in paths:
        lines = path.read_text().splitlines()
        assert 10 <= len(lines) - 3 <= 40, path.name
        assert lines[3].startswith('"""') and '?' in lines[3], path.name


def test_torque_for_motion(run):
    """The torques of a motion are H qdd + C at each of its states."""
    x, printed = run('torque_for_motion')
    robot, k = x['robot'], 137
    expected = robot.mass_matrix(x['q'][k]) @ x['qdd'][k] + robot.bias(x['q'][k], x['qd'][k])
    np.testing.assert_allclose(x['tau'][k], expected, rtol=1e-11, atol=1e-11)
    assert printed.count('fits') == 7


@pytest.mark.parametrize('given', [(), (ROOT / 'urdf' / 'seven_joint_arm.urdf',)])
def test_gravity_torques(run, given):
    """Holding torques are the slope of the potential energy."""
    x, printed = run('gravity_torques', *given)
    robot, q, step = x['robot'], x['q'], 1e-6
    rates = [(robot.potential_energy(q + step * e) - robot.potential_energy(q - step * e))
             / (2.0 * step) for e in np.eye(7)]
    # Central differences of an energy of some 10 J are good to 1e-8.
    np.testing.assert_allclose(x['on_wall'], rates, atol=1e-7)
    assert printed.count('on the floor') == 7


def test_cartesian_path(run):
    """The tool is on the edges of the square at every point; in a hurry a joint is named."""
    x, printed = run('cartesian_path')
    at = np.array([x['postures'].at(q).p for q in x['slow'].q]) - x['here'].p
    sides = [np.abs(at[:, i] - edge) for i in (1, 2) for edge in (0.0, 0.1)]
    assert np.min(sides, axis=0).max() < 1e-8 and np.abs(at[:, 0]).max() < 1e-8
    assert 'between way-points 0 and 1: joint joint_' in printed or 'at way-point' in printed


def test_felt_inertia(run):
    """Equivalent inertias give the same torques in fewer operations."""
    x, printed = run('felt_inertia')
    assert x['difference'] < 1e-12 * np.abs(x['one']).max() and x['counts'][1] < x['counts'][0]
    assert ' m ' not in printed.partition('operations')[0]


def test_identify_payload(run):
    """The payload comes out of noisy recordings, mass and place within a hundredth."""
    x, printed = run('identify_payload')
    assert x['found'].mass == pytest.approx(2.4, rel=0.01)
    np.testing.assert_allclose(x['found'].com, [0.02, -0.03, 0.09], atol=1e-3)
    assert 'InertiaStamped' in printed


@pytest.mark.seed('RBDA 10-06')
def test_sensitivity(run):
    """The numbers of RBDA 10.2, and the growth of the worst condition with the fourth power."""
    x, printed = run('sensitivity')
    np.testing.assert_allclose(
        x['tau'], [126.4936759, 97.4663236, 69.9762284, 43.7998475, 21.9371809, 6.1646857])
    np.testing.assert_allclose(
        x['qdd'], [0.6592, 1.3654, 1.3808, 0.5894, 0.9057, 1.0705], atol=5e-5)
    assert x['condition'][0] == pytest.approx(725.388, abs=1e-3) and '41%' in printed
    for n in (6, 10):
        assert x['condition'][n] == pytest.approx(4 * n**4, rel=0.15)


def test_inertia_at_tool(run):
    """Lambda is the inverse of J H^-1 J^T, and predicts how the tip accelerates."""
    x, printed = run('inertia_at_tool')
    H, J = x['robot'].mass_matrix(x['q']), x['space'].J
    np.testing.assert_allclose(x['space'].Lambda @ J @ np.linalg.solve(H, J.T), np.eye(3),
                               atol=1e-11)
    np.testing.assert_allclose(x['acceleration'], x['expected'], rtol=1e-10)
    assert 'cannot be accelerated in every direction' in printed


def test_inertia_at_two_hands(run):
    """A hand feels less inertia where the other one is free to give way."""
    x, _ = run('inertia_at_two_hands')
    held, free = x['both'].Lambda[:3, :3], x['alone'].Lambda
    excess = np.linalg.eigvalsh(held - free)
    assert excess[0] > -1e-10 and excess[-1] > 0.01
    np.testing.assert_allclose(free, np.linalg.inv(x['both'].Phi[:3, :3]), rtol=1e-9, atol=1e-9)


def test_quadruped_stands(run, tmp_path):
    """It keeps its height, four feet carry its weight, and friction holds against the push."""
    x, _ = run('quadruped_stands', tmp_path / 'forces.png')
    model, robot = x['model'], x['robot']
    weight = 9.81 * sum(body.m for body in model.inertia[1:])
    assert abs(robot.q[2] - x['start'][2]) < 0.01 and robot.q[6] > 0.9999
    found = robot.contact_forces
    assert len({each.body for each in found}) == 4
    vertical = np.array([each.force[2] for each in found])
    assert vertical.min() > 0.1 * weight
    assert vertical.sum() == pytest.approx(weight, rel=0.05)
    # What the floor and the push of 20 N give in 0.5 s is the momentum, most of it held back.
    given = x['h'] * np.array(x['record']).sum(axis=(0, 1))[1] + 0.5 * 20.0
    momentum = x['dynamics'].momentum(robot.q, robot.v)
    assert given == pytest.approx(momentum[4], abs=0.05) and abs(momentum[4]) < 1.0
    assert all(np.hypot(*each.force[:2]) <= 0.6 * each.force[2] + 1e-9 for each in found)
    assert (tmp_path / 'forces.png').stat().st_size > 1000


def test_track_a_motion(run, tmp_path):
    """An exact model leaves what one period of delay leaves, PD the error that it predicts."""
    x, printed = run('track_a_motion', tmp_path / 'errors.png')
    pd, exact, wrong = (np.abs(each).max() for each in x['errors'].values())
    assert exact < 1e-4 < 10.0 * exact < wrong < 0.2 * pd
    # joint_1 is turned by the others, too; alone it would lag by what its spring must stretch
    assert pd > x['sway'] * x['omega']**2 / x['Kp']
    assert (tmp_path / 'errors.png').stat().st_size > 1000 and printed.count('mrad') == 3


def test_stop_a_moving_arm(run, tmp_path):
    """It is braked, ramped down and released in the configured times, and slows down in each."""
    x, _ = run('stop_a_moving_arm', tmp_path / 'stop.png')
    assert list(x['record']) == ['probing', 'ramping in', 'running', 'braking', 'ramping down',
                                 'releasing', 'released']
    ends = {state: rows[-1] for state, rows in x['record'].items()}
    assert ends['braking'][0] == pytest.approx(0.5, abs=0.01)
    assert ends['ramping down'][0] == pytest.approx(1.0, abs=0.01)
    speeds = [ends[state][1] for state in ('running', 'braking', 'ramping down')]
    assert speeds[0] > 1.0
    assert abs(speeds[1]) < 0.02  # exp(-brake_rate brake_time), and how the rate rises
    assert abs(speeds[2]) < 0.005
    released = np.array(x['record']['released'])[:, 2]
    assert np.ptp(released) == 0.0  # nothing is sent any more
    assert (tmp_path / 'stop.png').stat().st_size > 1000


def test_bounce_on_a_soft_floor(run, tmp_path):
    """The first rebound rises to the square of the restitution."""
    x, printed = run('bounce_on_a_soft_floor', tmp_path / 'bounce.png')
    for share, height in x['simulated'].items():
        rise = height[np.argmax(height <= 0.0):].max()
        assert rise == pytest.approx(share**2 * 0.3, rel=0.01)
    assert printed.count('by the formula') == 3
    assert (tmp_path / 'bounce.png').stat().st_size > 1000


def test_inertia_at_four_feet(run):
    """Six methods count different operations; the second handle on one foot is refused, named."""
    x, printed = run('inertia_at_four_feet')
    assert len(x['costs']) == 6 and len(set(x['costs'].values())) > 4
    np.testing.assert_allclose(x['four'].Lambda @ x['four'].Phi, np.eye(12), atol=1e-8)
    assert 'handles (front_left_foot, trunk, front_left_foot at' in printed
    assert x['damped'].rank == pytest.approx(18.0, abs=0.1)


def test_cheapest_algorithm(run):
    """What Dynamics takes by itself is the cheaper of the methods."""
    x, _ = run('cheapest_algorithm')
    counts = x['counts']
    for quantity, methods in {'inverse_dynamics': ('spatial', '3d'),
                              'forward_dynamics': ('crba', 'aba')}.items():
        assert counts[quantity, None] == min(counts[quantity, m] for m in methods)


def test_export_c(run, tmp_path):
    """The exported files compile without a warning, and the Jacobian takes no payload."""
    _, printed = run('export_c', tmp_path)
    subprocess.run(['cc', '-std=c99', '-Wall', '-Wextra', '-Werror', '-c', 'arm.c'],
                   cwd=tmp_path, check=True)
    assert 'void arm_jacobian_tool0(const double q[7], double J[42]);' in printed


def test_payload(run):
    """The load adds what J^T says by hand."""
    x, _ = run('payload')
    np.testing.assert_allclose(x['more'], x['by_hand'], atol=1e-12)
    assert np.abs(x['more']).max() > 1.0


def test_simulate_arm(run):
    """The energy of the falling arm stays within the error of the integrator."""
    x, _ = run('simulate_arm')
    assert x['moving'] > 1.0
    assert abs(x['energy'](x['state']) - x['start']) < 1e-5     # RK4 at 1 ms, 70 J in motion


def test_robot_by_hand(run):
    """The cart with a pendulum has the inertia matrix of the textbook."""
    x, _ = run('robot_by_hand')
    expected = [[x['M'] + x['m'], -x['c']], [-x['c'], x['m'] * x['length']**2]]
    np.testing.assert_allclose(x['H'], expected, rtol=1e-14)


def test_robot_from_dh(run):
    """The tool of the PUMA is where the textbook's sum of its offsets puts it at q = 0."""
    x, _ = run('robot_from_dh')
    pose = x['robot'].pose(np.zeros(6), 'tool')
    np.testing.assert_allclose(pose[:3, 3], [0.4318 + 0.0203, 0.15, -0.4318 - 0.05], atol=1e-15)


def test_batch(run):
    """Rows of the batch are the results of single calls."""
    x, printed = run('batch')
    for k in (0, 4095):
        single = x['robot'].inverse_dynamics(x['q'][k], x['qd'][k], x['qdd'][k])
        np.testing.assert_allclose(x['out'][k], single, rtol=1e-11, atol=1e-11)
    assert '4096 states' in printed


def test_step_through_rnea(run):
    """The torques that it prints are those of dense 6 x 6 matrices."""
    x, printed = run('step_through_rnea')
    dense = DenseTree(x['model'], x['q'], x['qd']).rnea(x['qdd'], x['model'].gravity)
    np.testing.assert_allclose(x['tau'], dense, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(x['compiled'] - x['rotors'], dense, rtol=1e-12, atol=1e-12)
    assert printed.count('tau =') == 7


def test_step_through_the_controller(run):
    """Plain numbers and machine code agree, and the page shows what it prints, and where."""
    _, printed = run('step_through_the_controller')
    *lines, last = printed.splitlines()
    page = (ROOT / 'docs' / 'step_through_the_controller.md').read_text()
    assert '\n'.join(['```', *lines, '```']) in page
    assert float(last.rpartition(' ')[2]) < 1e-12
    source = (EXAMPLES / 'step_through_the_controller.py').read_text().splitlines()
    assert source[int(re.search(r"-c 'b (\d+)'", page)[1]) - 1].strip().startswith('step()')


def test_compare_with_pinocchio(run):
    """All five quantities agree to rounding."""
    pytest.importorskip('pinocchio')
    x, printed = run(PINOCCHIO)
    assert x['worst'] < 1e-12 and printed.count('relative difference') == 5


def test_own_quantity(run):
    """The derivative of the traced height is the vertical row of the Jacobian."""
    x, _ = run('own_quantity')
    np.testing.assert_allclose(x['dz'](x['q']), x['vertical'], atol=1e-14)
    np.testing.assert_allclose(x['ddz'](x['q']), x['ddz'](x['q']).T, atol=1e-14)


def test_floating_base(run):
    """Without gravity and outer forces the centre of mass stays, while the base moves."""
    x, _ = run('floating_base')
    robot, q = x['robot'], x['q']
    moved = robot.center_of_mass(q) - robot.center_of_mass(x['neutral'](x['model']))
    # Euler's method keeps momentum to first order in the step of 1 ms.
    assert np.abs(moved).max() < 1e-3 < np.abs(q[:2]).max()
    assert abs(np.linalg.norm(q[3:7]) - 1.0) < 1e-12


def test_screws_of_a_robot(run):
    """Four ways to the torques of one motion agree."""
    x, printed = run('screws_of_a_robot')
    for name in ('tau', 'back'):
        np.testing.assert_allclose(x[name], x['ours'], rtol=1e-10, atol=1e-10)
    assert printed.count('S_') == 7


def test_drive_free_bodies(run):
    """Wrenches on bodies accelerate the arm as its torques do; its velocities come back."""
    x, _ = run('drive_free_bodies')
    np.testing.assert_allclose(x['outside'], x['inside'], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(x['found'].qd, x['qd'], rtol=1e-10, atol=1e-10)
    assert np.abs(x['wrenches'][:, :3]).max() == 0.0 and x['found'].residual < 1e-12


def test_reach_a_pose(run):
    """The tool is where it was asked for; what is out of reach is reported."""
    x, printed = run('reach_a_pose')
    pose = x['robot'].pose(x['q'], 'tool0')
    np.testing.assert_allclose(pose[:3, 3], [0.5, 0.1, 0.4], atol=1e-6)
    np.testing.assert_allclose(pose[:3, :3], np.diag([1.0, -1.0, -1.0]), atol=1e-5)
    assert x['near'].success and not x['far'].success and 'not reached' in printed


def test_equations_from_energies(run):
    """The traced equations of the cart are those that one derives by hand."""
    x, printed = run('equations_from_energies')
    m, M, a, g, (_, th), (_, w) = (x[k] for k in ('m', 'M', 'length', 'g', 'q', 'qd'))
    xdd, thdd = x['qdd']
    force = (M + m) * xdd + m * a * (np.cos(th) * thdd - np.sin(th) * w * w)
    torque = m * a * (np.cos(th) * xdd + a * thdd + g * np.sin(th))
    np.testing.assert_allclose(x['tau'](x['q'], x['qd'], x['qdd']), [force, torque], rtol=1e-12)
    assert '(0, 1, 1): -0.3894' in printed


def test_linearize_an_arm(run):
    """The linear model foresees the motion: twice the push, four times the error."""
    x, printed = run('linearize_an_arm')
    A, B, n = x['A'], x['B'], x['n']
    assert np.linalg.eigvals(A).real.max() > 1.0 > 0.0 > x['slowest']
    assert x['error'] < 0.02 * np.abs(x['q'] - x['pose']).max() and '1/s' in printed
    np.testing.assert_allclose(B[n:] @ x['robot'].mass_matrix(x['pose']), np.eye(n), atol=1e-9)


def test_passivity(run):
    """The energy of the error falls by exactly what the law dissipates."""
    x, printed = run('passivity')
    assert x['largest'] < 1e-10 and x['error'] < 0.02 and 'W' in printed
    assert x['K'] * x['s'] @ x['s'] > 1e-6


def test_close_a_four_bar(run):
    """Both ways to assemble it are closed, and the fall keeps the energy that the steps can."""
    x, printed = run('close_a_four_bar')
    assert printed.count('elbow at') == 2
    robot, q = x['robot'], x['q']
    assert np.abs(robot.loop_error(q)).max() < 1e-6 and abs(x['total'] - x['energy']) < 1e-3
    # the force in the last pivot is what the last bar needs besides its own weight and motion
    tree = robot.loop_jacobian(q).T @ x['folded'].multipliers
    qdd, C = x['folded'].qdd, robot.bias(q, x['qd'])
    np.testing.assert_allclose(robot.mass_matrix(q) @ qdd + C, tree, atol=1e-9)


def test_torques_of_a_delta_robot(run):
    """Holding torques are the slope of the potential energy over the motors' angles."""
    x, printed = run('torques_of_a_delta_robot')
    robot, q, step = x['robot'], x['q'], 1e-5
    slopes = []
    for arm in x['motors']:
        at, energies = x['model'].position_slice(arm).start, []
        for sign in (1.0, -1.0):
            moved = q.copy()
            moved[at] += sign * step
            closed = robot.assemble(moved, x['motors']).require()
            energies.append(robot.potential_energy(closed))
        slopes.append((energies[0] - energies[1]) / (2.0 * step))
    still = np.zeros(robot.model.nv)
    held = robot.actuator_forces(q, still, still, x['motors'])
    np.testing.assert_allclose(held.tau[x['arms']], slopes, rtol=1e-6)
    assert printed.count('carries') == 5 and 'proper' in printed


def test_motor_behind_a_gear(run):
    """The power of the motor is the change of energy of the cam and the lever."""
    x, printed = run('motor_behind_a_gear')
    robot, w, angle, step = x['robot'], [x['speed']], 0.7, 1e-4

    def energy(q):
        return robot.kinetic_energy([q], w) + robot.potential_energy([q])
    slope = (energy(angle + step) - energy(angle - step)) / (2.0 * step)
    tau = robot.inverse_dynamics([angle], w, [0.0])
    motor = x['actuator_forces'](x['model'], [angle], tau, ['motor'])
    np.testing.assert_allclose(motor * x['RATIO'], [slope], rtol=1e-6)
    assert printed.count('motor') == 5


def test_some_joints_follow_a_plan(run):
    """The shoulder does what was planned, and the work of its drives is the energy gained."""
    x, printed = run('some_joints_follow_a_plan')
    planned = x['rate'] * x['wave'] * np.cos(x['rate'] * x['t'])
    # The midpoint rule is of second order in the step of 1 ms.
    np.testing.assert_allclose(x['qd'][:4], planned[:4], atol=1e-5)
    assert x['work'] == pytest.approx(x['energy'], abs=1e-3) and abs(x['work']) > 0.1
    np.testing.assert_array_equal(x['middle'].tau[4:], 0.0)
    assert printed.count('wrist') == 4


def test_lift_off(run):
    """Pushed by more than half its weight, the box lifts the corners behind."""
    x, printed = run('lift_off')
    stays, tips = x['found'][10.0][0], x['found'][30.0][0]
    np.testing.assert_allclose(stays.acceleration, [0, 0, 0, 2, 0, 0], atol=1e-9)
    np.testing.assert_allclose(stays.force.sum(), 5.0 * 9.81)
    assert x['found'][30.0][1].current.tolist() == [2, 3] and tips.acceleration[1] > 0.1
    assert 'corners [0, 1, 2, 3] stay' in printed


@pytest.mark.seed('SPENCER 11', 'SPENCER 18')
def test_coordinates_of_a_mechanism(run):
    """Pivoting takes the pair of joints of least condition; the parallel robot's G is constant."""
    x, printed = run('coordinates_of_a_mechanism')
    assert x['best'] == min(x['conditions'], key=x['conditions'].get) == (0, 3)
    np.testing.assert_allclose(x['G'], [[1, 0], [0, 1], [1, -1], [-1, 1]], atol=1e-13)
    assert 'condition inf' in printed


def test_linearize_a_five_bar(run):
    """It hangs where its energy is least; there all coordinates agree, elsewhere they do not."""
    x, _ = run('linearize_a_five_bar')
    np.testing.assert_allclose(x['hanging'].q, [4.815082, -2.976091, 5.746795, -2.976091],
                               atol=1e-4)
    for pair in x['PAIRS']:
        sizes = np.sort(np.abs(x['values']['hanging', pair]))
        np.testing.assert_allclose(sizes, [3.373259, 3.373259, 3.968914, 3.968914], atol=1e-3)
    one, two = (np.abs(x['values']['falling', pair]).max() for pair in x['PAIRS'][:2])
    assert abs(one - two) > 0.5


def test_drift_of_a_five_bar(run):
    """Each remedy does better than the one before; all end in the same place."""
    x, printed = run('drift_of_a_five_bar', '0.01', '1')
    drift = {name: columns[1].max() for name, columns in x['record'].items()}
    assert drift['projection'] < 1e-11 < drift['Baumgarte'] < drift['nothing'] < 1e-6
    assert drift['local form'] < 1e-12
    for end in x['ends'].values():
        np.testing.assert_allclose(end, x['ends']['local form'], atol=1e-5)
    assert printed.count('drift') == 4


def test_five_bar_at_its_singularity(run):
    """Released where it has lost a constraint it falls, within the error of the integrator."""
    x, printed = run('five_bar_at_its_singularity', '4e-3', '1.2')
    assert x['conditions'][0] > 1e12 and min(x['conditions']) < 2.0
    assert x['drift'] < 1e-3 and max(x['errors']) < 0.1 and '2.82 s' in printed


def test_five_bar_through_its_singularity(run):
    """Both methods cross at 0.651 s and agree until then; projection keeps the energy."""
    x, printed = run('five_bar_through_its_singularity', '2e-3', '0.8')
    assert printed.count('0.65') == 2
    name = 'singular values and projection'
    assert x['record'][name][3].max() < 1e-3 and x['record'][name][2].max() < 1e-5


def test_drop_on_the_floor(run):
    """The arm rests on the floor; the impact is harder than what it weighs in the end."""
    x, printed = run('drop_on_the_floor')
    force, = x['robot'].contact_forces
    assert np.abs(x['robot'].v).max() < 0.05 and 1.0 < force.force[2] < x['largest']
    assert 'rests on the floor with' in printed
