# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""
Random paths of real robots: what is accepted can be followed, what is refused fails where it says.

Pinocchio follows each curve by itself, in steps of its own: its kinematics and inverse
dynamics, velocities and accelerations by differences. MuJoCo is the robot that is led along paths.
"""

from functools import cache
from itertools import product
import re

from benchmark.mujoco_robots import described, ROBOTS
from mujoco_rig import Driven
import numpy as np
import pytest
from rbd_ros.control.interface.results import GoalError
from rbd_ros.control.kernels.tip import AXES, LENGTH
from rbd_ros.control.parameters.assembly import compile_kernels
from rbd_ros.control.parameters.settings import Settings
from rbd_ros.control.parameters.table import defaults
from rbd_ros.control.paths.curve import Curve, exponential, logarithm, WayPoints
from rbd_ros.control.paths.following import PathFollowing
from rbd_ros.control.paths.limits import path_limits
from rbd_ros.control.paths.postures import Postures
from rbd_ros.control.references.trajectory import Trajectory
from rbd_ros.peers.pinocchio_robot import PinocchioRobot
from sampling import some

pytestmark = pytest.mark.slow

NAMES = ('built-in', 'panda', 'ur5')
H = 4e-3  # s between two samples of Pinocchio


@cache
def robot_of(name):
    """Return a robot, its kernel of reports, and the same in Pinocchio."""
    text, robot = described(name)
    settings = Settings(robot, defaults() | {'driver_adds': 'none'}, simulated=False)
    return robot, compile_kernels(settings)['report'], PinocchioRobot(robot.model, text)


def limits_of(name, **values):
    """Return what the joints may do."""
    robot = robot_of(name)[0]
    return path_limits(Settings(robot, defaults() | {'driver_adds': 'none'} | values,
                                simulated=False))


def short_curve(rng, name, limits):
    """
    Return a curve through way-points that are milliseconds to seconds apart, some of them rounded.

    Its size makes it about as quick as the joints may be.
    """
    robot, bound, _ = robot_of(name)
    q = np.array(ROBOTS[name].pose) + rng.uniform(-0.2, 0.2, len(robot.joints))
    postures = Postures(bound, robot)
    here, count = postures.at(q), int(rng.integers(1, 7))
    steps = 10.0**rng.uniform(-2.3, -0.5, count if rng.random() < 0.5 else 1)
    h = np.broadcast_to(steps, count)
    size = np.cumsum(h**2 if rng.random() < 0.5 else h * h.sum()) * limits.acceleration.min()
    size = 10.0**rng.uniform(-1.5, 0.5) * 0.1 * np.concatenate([[0.0], size])
    p = here.p + size[:, None] * rng.uniform(-1.0, 1.0, (count + 1, 3))
    if rng.random() < 0.4:  # to a tenth of a millimetre or to one
        p = here.p + np.round(p - here.p, int(rng.integers(3, 5)))
    R = [here.R @ exponential(min(each, 1.0) * rng.uniform(-1.0, 1.0, 3)) for each in size]
    rest = np.zeros((count + 1, 6)) if rng.random() < 0.5 else None  # at rest at each way-point
    return postures, Curve(WayPoints(np.concatenate([[0.0], np.cumsum(h)]), p, np.array(R),
                                     rest)), q


def random_curve(rng, name, size, turn, speed):
    """Return a curve from the usual pose of a robot, and that pose."""
    robot, bound, _ = robot_of(name)
    q = np.array(ROBOTS[name].pose) + rng.uniform(-0.2, 0.2, len(robot.joints))
    postures = Postures(bound, robot)
    here, count = postures.at(q), int(rng.integers(2, 5))
    R = [here.R]
    for _ in range(count - 1):
        R.append(R[-1] @ exponential(turn * rng.uniform(-1.0, 1.0, 3)))
    times = np.concatenate([[0.0], np.cumsum(rng.uniform(0.5, 1.5, count - 1))]) / speed
    p = here.p + size * rng.uniform(-1.0, 1.0, (count, 3))
    p[0] = here.p
    return postures, Curve(WayPoints(times, p, np.array(R))), q


class Witness:
    """Pinocchio on its own way along a curve."""

    def __init__(self, name, limits):
        self.robot, _, self.peer = robot_of(name)
        self.limits, self.index = limits, list(self.robot.index)
        self.whole = np.zeros(self.robot.model.nq)

    def all(self, part):
        """Return a vector of all joints of the model."""
        whole = np.zeros(self.robot.model.nv)
        whole[self.index] = part
        return whole

    def error(self, q, wanted):
        """Return what is left to a pose, in the axes of the tip, and the Jacobian there."""
        T = self.peer.pose(self.all(q), self.robot.tip)
        J = self.peer.jacobian(self.all(q), self.robot.tip)[:, self.index]
        R = T[:3, :3]
        return np.concatenate([logarithm(R.T @ wanted.R), R.T @ (wanted.p - T[:3, 3])]), J

    def positions(self, curve, q, end, h=H):
        """Return positions up to a time, as far as the curve is reached."""
        W, found = np.minimum(self.limits.velocity, 1e3)**2, [q]
        for t in np.arange(h, min(end, curve.end) + 0.5 * h, h):
            wanted = curve.at(min(t, curve.end))
            # The least motion from the last sample but one on: differences of samples are then
            # the least velocities in between.
            q = found[-2] if len(found) > 1 else q
            for _ in range(3):
                error, J = self.error(q, wanted)
                q = q + W * (J.T @ np.linalg.solve((J * W) @ J.T, error))
            if np.abs(self.error(q, wanted)[0]).max() > 1e-6:
                break
            found.append(q)
        return np.array(found)

    def shares(self, q, qd=None, qdd=None):
        """Return by sample how much of each limit is used; 1: all of it."""
        limits = self.limits
        if qd is None:
            qd, qdd = np.gradient(q, H, axis=0), np.gradient(np.gradient(q, H, axis=0), H, axis=0)
        torque = np.array([self.peer.inverse_dynamics(*map(self.all, each))[self.index]
                           for each in zip(q, qd, qdd)])
        middle, half = 0.5 * (limits.upper + limits.lower), 0.5 * (limits.upper - limits.lower)
        scale = np.array([LENGTH] * 3 + [1.0] * 3)
        condition = []
        for each in q:
            J = scale[:, None] * self.peer.jacobian(self.all(each), self.robot.tip)[:, self.index]
            M = self.peer.mass_matrix(self.all(each))[np.ix_(self.index, self.index)]
            condition.append(np.linalg.cond(J @ np.linalg.solve(M, J.T)))
        return {'position': np.abs(q - middle) / half, 'velocity': np.abs(qd) / limits.velocity,
                'acceleration': np.abs(qdd) / limits.acceleration,
                'torque': np.abs(torque) / limits.torque,
                'singular': np.array(condition)[:, None] / limits.condition}


#: what a refusal says of, and how many shares of the limit the witness may differ by: velocities
#: and accelerations are differences there
KINDS = {'position': (r'joint (\S+) would be at', 1e-3),
         'velocity': (r'joint (\S+) would need the velocity', 0.02),
         'acceleration': (r'joint (\S+) would need the acceleration', 0.05),
         'torque': (r'joint (\S+) would need the torque', 0.05),
         'singular': ('singular position()', 0.05)}


FAST = {'reference.acceleration': [150.0], 'reference.velocity': [20.0], 'velocity_limits': [25.0]}
STRONG = FAST | {'torque_limits': [1e5], 'torque_rate_limits': [1e7]}

#: what makes one kind of end or another likely: parameters, m between way-points, speed
CASES = {'slow': ({}, 0.05, 0.7), 'usual': ({}, 0.2, 1.0),
         'quick': ({'reference.acceleration': [300.0]}, 0.3, 1.5), 'weak': (FAST, 0.3, 3.0),
         'far': (STRONG, 1.5, 2.0), 'turned': (STRONG, 0.3, 1.0), 'singular': (STRONG, 0.2, 1.0)}


@pytest.mark.sampled('robots', 1)
@pytest.mark.parametrize('name', NAMES)
def test_random_paths(name):
    """Accepted ones keep every limit by Pinocchio; refused ones name the first to be broken."""
    seen, every = set(), list(product(CASES, range(2)))
    chosen = some('properties', every, 6)
    for case, seed in chosen:
        (values, size, speed), rng = CASES[case], np.random.default_rng(seed)
        limits = limits_of(name, **values)
        postures, curve, q = random_curve(rng, name, size, 0.6, speed)
        here = postures.at(q)
        if case == 'singular':
            limits.condition = 1.03 * here.condition
        if case == 'weak':
            limits.torque = 1.1 * np.abs(here.bias) + 1.0
        following = PathFollowing(postures, limits, AXES, curve, q)
        witness = Witness(name, limits)
        try:
            while not following.work(0.005):
                pass
        except GoalError as error:
            seen.add(check_refusal(witness, curve, q, str(error)))
        else:
            seen.add('accepted')
            check_accepted(witness, curve, q, following.knots)
    if chosen == every:
        assert seen >= {'accepted', 'acceleration', 'velocity', 'torque'}, seen
        assert name == 'ur5' or 'singular' in seen, seen


def check_refusal(witness, curve, q, text):
    """Check that nothing is wrong before the point of a refusal, and what it names is there."""
    time = float(re.search('followed ([0-9.e-]+) s', text)[1])
    behind = re.search('between way-points (\\d+)|at way-point (\\d+)', text)
    assert abs(curve.piece(time) - int(behind[1] or behind[2])) <= 1, text
    path = witness.positions(curve, q, time + 5.0 * H)
    shares = {kind: share[2:-2] for kind, share in witness.shares(path).items()}
    before = max(round(time / H) - 4, 0)
    for kind, (_, slack) in KINDS.items():
        assert shares[kind][:before].max(initial=0.0) < 1.0 + slack, (kind, text)
    for kind, (pattern, slack) in KINDS.items():
        if found := re.search(pattern, text):
            j = witness.robot.joints.index(found[1]) if found[1] else 0
            assert shares[kind][before:, j].max() > 1.0 - slack, (kind, text)
            return kind
    assert 'does not reach' in text, text
    assert len(path) < time / H + 4, text  # nor does Pinocchio
    return 'reach'


def check_accepted(witness, curve, q, knots):
    """Check the polynomials that the controller gets, between the instants too."""
    still = np.zeros_like(q)
    path = Trajectory(knots, 0.0, 0.0, (q, still, still))
    pieces, times = path.pieces(0, len(knots.times)), np.array(path.times)
    at = np.arange(0.0, curve.end, 0.007)
    found = []
    for t in at:
        k = min(int(np.searchsorted(times, t, side='right')) - 1, len(pieces) - 1)
        found.append((t - times[k])**np.arange(6) @ pieces[k])
    for t, position in list(zip(at, found))[::5]:
        error, _ = witness.error(position, curve.at(t))
        assert np.abs(error[:3]).max() < 1e-3 and np.abs(error[3:]).max() < 1e-4
    dense = witness.positions(curve, q, curve.end)
    assert len(dense) >= curve.end / H - 1
    for kind, share in witness.shares(dense).items():
        assert share[2:-2].max() < 1.0 + KINDS[kind][1], kind


@pytest.mark.sampled('properties', 2)
@pytest.mark.parametrize('seed', range(10))
def test_short_segments(seed):
    """
    Accepted: inside all limits at 40 instants of each piece. Refused: so before, not after.

    Nothing that lies between way-points which are milliseconds apart may escape.
    """
    rng, ends = np.random.default_rng(seed), set()
    for _ in range(8):
        name = str(rng.choice(NAMES))
        limits = limits_of(name, **(FAST if rng.random() < 0.5 else {}))
        postures, curve, q = short_curve(rng, name, limits)
        following, witness = PathFollowing(postures, limits, AXES, curve, q), Witness(name, limits)
        try:
            while not following.work(0.005):
                pass
        except GoalError as error:
            ends.add('refused')
            time = float(re.search('followed ([0-9.e-]+) s', str(error))[1])
            behind = re.search('between way-points (\\d+)|at way-point (\\d+)', str(error))
            assert abs(curve.piece(time) - int(behind[1] or behind[2])) <= 1, error
            check_least(witness, curve, q, time, str(error))
        else:
            ends.add('accepted')
            check_pieces(witness, curve, q, following.knots)
    assert ends == {'accepted', 'refused'}


def check_pieces(witness, curve, q, knots):
    """Check what the controller gets: every limit and the tip, by Pinocchio."""
    still = np.zeros_like(q)
    path = Trajectory(knots, 0.0, 0.0, (q, still, still))
    times = np.array(path.times)
    for k, c in enumerate(path.pieces(0, len(knots.times))):
        s = np.linspace(0.0, times[k + 1] - times[k], 41)[:, None]
        shapes = [np.polynomial.Polynomial(each) for each in c.T]
        rows = [np.column_stack([each.deriv(order)(s[:, 0]) for each in shapes])
                for order in range(3)]
        for kind, share in witness.shares(*rows).items():
            assert share.max() < 1.0 + (2e-3 if kind in ('torque', 'singular') else 1e-5), kind
        for t, position in list(zip(s[:, 0], rows[0]))[::4]:
            error, _ = witness.error(position, curve.at(min(times[k] + t, curve.end)))
            assert np.abs(error[:3]).max() < 1.2e-3 and np.abs(error[3:]).max() < 1.2e-4


def check_least(witness, curve, q, time, text):
    """Check by differences of Pinocchio's positions that all is well before, and not there."""
    short = float(np.diff(curve.times).min())
    h = min(short / 25.0, 2e-3)
    path = witness.positions(curve, q, time + short, h)
    qd = np.gradient(path, h, axis=0)
    shares = {kind: share[2:-2] for kind, share in witness.shares(
        path, qd, np.gradient(qd, h, axis=0)).items()}
    # An interval is halved four times; the first point is known that closely.
    before = max(int((time - 2.6e-3) / h) - 4, 0)
    for kind, (_, slack) in KINDS.items():
        assert shares[kind][:before].max(initial=0.0) < 1.0 + slack, (kind, text)
        if found := re.search(KINDS[kind][0], text):
            j = witness.robot.joints.index(found[1]) if found[1] else 0
            assert shares[kind][before:, j].max() > 1.0 - slack, (kind, text)


@pytest.mark.sampled('robots', 1)
@pytest.mark.parametrize('name', NAMES)
def test_mujoco_is_led_along_a_path(name):
    """The tip of a robot that MuJoCo simulates stays within a millimetre of its path."""
    driven = Driven(name, rate=1000.0, mode='computed_torque')
    driven.start()
    assert driven.state == 'running', driven.fault
    controller = driven.controller
    rng, bound = np.random.default_rng(5), controller.kernels['report']
    postures = Postures(bound, driven.robot)
    q = controller.x.references.joint.profile.state[0].copy()
    here = postures.at(q)
    R = [here.R @ exponential(0.3 * rng.uniform(-1.0, 1.0, 3)) for _ in range(3)]
    p = here.p + 0.1 * rng.uniform(-1.0, 1.0, (3, 3))
    curve = Curve(WayPoints(np.array([1.5, 3.0, 4.5]), p, np.array(R)).after(here.p, here.R))
    following = PathFollowing(postures, path_limits(controller.settings),
                              controller.settings.task_axes, curve, q, -1)
    assert following.work(600.0)
    begin = driven.time
    controller.take_points(begin, begin, following.knots, begin)
    off = []
    driven.each = lambda time: off.append(np.linalg.norm(
        driven.plant.tip().position - curve.at(min(time - begin, curve.end)).p))
    driven.run(curve.end + 0.3)
    assert driven.state == 'running' and max(off) < 1e-3
    assert off[-1] < 1e-4
