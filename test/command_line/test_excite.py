# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""``rbd excite``: plans within limits, clear of everything, and nothing moves without a yes."""

from __future__ import annotations

from pathlib import Path
import re
import sys
import time
from types import ModuleType
import urllib.request

from command_rig import app, ARM, data, PLANAR, rbd
import numpy as np
from ports import free_port
import pytest
from rbd_env.pace import patient
import rbd_ros
from rbd_ros.command_line import excitation_plan, motion_page, robots
from rbd_ros.control.references.trajectory import read_points
from rbd_ros.errors import RbdError
from rbd_ros.identification.excitation import excite
from rbd_ros.model.collision_shapes import (
    Box, Capsule, CollisionShape, Cylinder, sample_points, Sphere)
from rbd_ros.model.urdf.collisions import load_collisions
from rbd_ros.sim.contact.clearance import Clearance, enclosing_capsule, segment_distance
from rbd_ros.sim.contact.distance import closest_on_segments
from rbd_ros.sim.contact.mesh import convex_mesh
from rbd_ros.view.motion import MotionPlayer
from rbd_ros.view.scene import RobotScene
from rbd_ros.view.server import start_server, stop_server
from typer.testing import CliRunner
import yaml

pytestmark = pytest.mark.slow

QUICK = ('--evaluations', '10', '--duration', '12')


@pytest.fixture(scope='module')
def plan(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict]:
    """Return a plan of the arm, and what was said of it."""
    file = tmp_path_factory.mktemp('plans') / 'excite.yaml'
    return file, data('excite', ARM, '--out', file, *QUICK)


def test_a_plan_keeps_its_limits(plan: tuple[Path, dict]) -> None:
    """At rest at both ends, within shares of the limits at all times, and it excites."""
    file, told = plan
    model = rbd_ros.load_urdf(ARM)
    path = excitation_plan.read_plan(file, model)
    assert path.t[-1] == pytest.approx(12.0) and told['points'] == len(path.t)
    for rest in (path.qd[0], path.qd[-1], path.qdd[0], path.qdd[-1], path.q[0] - path.q[-1]):
        np.testing.assert_allclose(rest, 0.0, atol=1e-7)
    t = np.linspace(0.0, 12.0, 5001)
    q = path.position(t)
    qd = np.gradient(q, t, axis=0)
    assert (q >= model.lower).all() and (q <= model.upper).all()
    assert (np.abs(qd) <= 0.605 * np.array(model.velocity_limit)).all()
    assert np.abs(np.gradient(qd, t, axis=0)[5:-5]).max() < 4.05
    torque = rbd_ros.Dynamics(model).inverse_dynamics(path.q, path.qd, path.qdd)
    assert (np.abs(torque) <= 0.8 * np.array(model.effort_limit)).all()
    assert 1.0 < told['excitation'] < 1e3
    assert (np.array(told['highest']) - told['lowest'] > 0.1).all()


@pytest.mark.parametrize(('duration', 'harmonics'), [(600.0, 300), (120.0, 60), (1.0, 5)])
def test_limits_hold_between_samples(duration: float, harmonics: int) -> None:
    """However long or short a plan is, its own check accepts it and its joints stay inside."""
    model = rbd_ros.load_urdf(ARM)
    robot, start = rbd_ros.Dynamics(model), np.array([0.0, 0.5, 0.0, -1.2, 0.0, 0.6, 0.0])
    bounds = excitation_plan.bounds_of(model, speed=0.6, acceleration=4.0, torque=0.8, share=0.9)
    series = excite(robot, start, bounds, lambda q: True, duration=duration, evaluations=1)
    assert len(series.sine) == harmonics
    scene = excitation_plan.Scene(robot, Unhindered(), 0.02)
    made = excitation_plan.planned(scene, bounds, start, duration, 0, 1, lambda: None)
    scene.refuse(made, bounds)
    t = np.sort(np.random.default_rng(0).uniform(0.0, duration, 40_000 if duration > 10 else 500))
    dense = series.at(t)
    half = 0.5 * (bounds.upper - bounds.lower)
    for share in (np.abs(dense[0] - bounds.lower - half) / half,
                  np.abs(dense[1]) / bounds.speed, np.abs(dense[2]) / bounds.acceleration):
        assert share.max() < 1.0 + 1e-9
    assert (np.abs(dense[2]) / bounds.acceleration).max() > 0.9  # of what it may
    # a limit that is broken between two points only is found, and where
    curve, k = made.curve(), int(np.argmax(np.abs(made.qdd).max(axis=0)))
    between = np.linspace(0.0, duration, 40 * len(made.t) + 7)
    seen = np.abs(curve(between, 2)[:, k])
    low = bounds._replace(acceleration=bounds.acceleration * 0.999 * seen.max() / 4.0 / 1.0011)
    with pytest.raises(RbdError, match='acceleration of') as told:
        scene.refuse(made, low)
    found = float(str(told.value).split('at ')[1].split(' s')[0])
    beyond = between[np.argmax((np.abs(curve(between, 2)) > 1.001 * low.acceleration).any(axis=1))]
    assert found == pytest.approx(beyond, abs=0.011 + between[1])


class Unhindered:
    """Nothing is near."""

    def nearest(self, q: np.ndarray, margin: float) -> tuple[np.ndarray, list]:
        return np.full(len(q), margin), []

    def first_miss(self, *_: object) -> None:
        return None


def test_a_plan_is_a_goal(plan: tuple[Path, dict]) -> None:
    """The controller reads it, points in their order."""
    goal = yaml.safe_load(plan[0].read_text())['trajectory']
    points = goal['points']
    times = [p['time_from_start']['sec'] + 1e-9 * p['time_from_start']['nanosec'] for p in points]
    knots = read_points(goal['joint_names'], goal['joint_names'], times, *(
        [p[word] for p in points] for word in ('positions', 'velocities', 'accelerations')))
    assert len(knots.times) == len(points) and knots.qdd is not None


def test_a_seed_gives_the_same_plan(plan: tuple[Path, dict], tmp_path: Path) -> None:
    """To the last digit; another seed another one."""
    for seed, same in ((0, True), (1, False)):
        file = tmp_path / f'{seed}.yaml'
        data('excite', ARM, '--out', file, '--seed', seed, *QUICK)
        assert (file.read_text().splitlines()[1:] == plan[0].read_text().splitlines()[1:]) is same


def test_a_plan_that_is_read_is_checked_again(plan: tuple[Path, dict], tmp_path: Path) -> None:
    """Too fast, out of range, into a higher floor: the first moment is named."""
    file, told = plan
    assert data('excite', ARM, '--plan', file)['excitation'] == pytest.approx(
        told['excitation'], rel=1e-4)
    for options, words in (
            (('--speed', '0.2'), r'at \d+\.\d\d s the velocity of "joint_\d" is'),
            (('--acceleration', '3'), r'the acceleration of "joint_\d" is'),
            (('--range', '0.01'), r'the position of "joint_\d" is'),
            (('--torque', '0.05'), r'the torque of "joint_\d" is'),
            (('--floor', '0.35', '--ignore', 'link_1:floor'), r's "link_\d" comes within')):
        error = rbd('excite', ARM, '--plan', file, *options, code=2)[1]
        assert re.search(words, error), error
    bad = yaml.safe_load(file.read_text())
    bad['trajectory']['joint_names'][0] = 'elbow'
    (tmp_path / 'other.yaml').write_text(yaml.safe_dump(bad))
    assert 'moves elbow' in rbd('excite', ARM, '--plan', tmp_path / 'other.yaml', code=2)[1]
    (tmp_path / 'none.yaml').write_text('a: [')
    assert 'is not a plan' in rbd('excite', ARM, '--plan', tmp_path / 'none.yaml', code=2)[1]


def test_a_plan_keeps_its_options(plan: tuple[Path, dict], tmp_path: Path) -> None:
    """What it was made with holds when it is read; an option that is given comes first."""
    model, file = rbd_ros.load_urdf(ARM), tmp_path / 'floor.yaml'
    path = excitation_plan.read_plan(plan[0], model)
    made = excitation_plan.read_checks(plan[0])
    assert made == excitation_plan.Checks(0.6, 0.8, 0.9, 0.0, 0.02, (), 4.0)

    def written(**changes: object) -> Path:
        file.write_text(excitation_plan.plan_text(path, 'as made', made._replace(**changes)))
        return file

    # each of these is refused by itself, and only what the file says is different
    floor = ('--floor', '0.35', '--ignore', 'link_1:floor')
    below = r's "link_\d" comes within'
    pairs = tuple(f'link_{k}:floor' for k in range(1, 8))
    assert re.search(below, rbd('excite', ARM, '--plan', plan[0], *floor, code=2)[1])
    assert re.search(below, rbd('excite', ARM, '--plan', written(
        floor=0.35, ignore=('link_1:floor',)), code=2)[1])
    told = rbd('excite', ARM, '--plan', written(floor=0.35, ignore=pairs))[1]
    assert '--floor 0.35 --ignore link_1:floor' in told and '--ignore link_7:floor' in told
    rbd('excite', ARM, '--plan', written(floor=0.35), '--no-floor')
    rbd('excite', ARM, '--plan', written(floor=0.35), '--floor', '0')
    assert 'the velocity of' in rbd('excite', ARM, '--plan', written(speed=0.2), code=2)[1]
    rbd('excite', ARM, '--plan', written(speed=0.2), '--speed', '0.6')
    file.write_text(file.read_text().replace('"speed": 0.2', '"speed": "much"'))
    assert 'its first line does not give' in rbd('excite', ARM, '--plan', file, code=2)[1]
    file.write_text('\n'.join(plan[0].read_text().splitlines()[1:]))  # another's goal
    assert re.search(below, rbd('excite', ARM, '--plan', file, *floor, code=2)[1])
    rbd('excite', ARM, '--plan', file)


def test_bad_options_are_named(tmp_path: Path) -> None:
    """Each with what would be accepted."""
    bare = tmp_path / 'bare.urdf'
    bare.write_text(PLANAR)
    still = tmp_path / 'still.urdf'
    still.write_text(ARM.read_text().replace('velocity="3.2"', 'velocity="0"', 1))
    for words, text in (
            ((ARM, '--speed', '2'), '--speed is 2; it must be positive and at most 1'),
            ((ARM, '--acceleration', '0'), '--acceleration is 0; it must be positive'),
            ((ARM, '--ignore', 'link_1'), 'give two links'),
            ((ARM, '--ignore', 'link_1:hand'), '"hand"'),
            ((ARM, '--margin', '0', '--evaluations', '1'), 'margin is 0.0 m; it must be positive'),
            ((ARM, '--start', 'joint_2=5'), '"joint_2" at 5, not between'),
            ((ARM, '--duration', '0'), 'is no motion'),
            ((still,), '"joint_6" has the velocity limit 0, with which it cannot move'),
            ((bare,), 'has no <collision> shapes')):
        error = rbd('excite', *words, code=2)[1]
        lines = [line for line in error.splitlines() if not line.startswith('warning: ')]
        assert text in error and len(lines) == 1, error


# --- clearance -------------------------------------------------------------------------------


def test_distances_of_segments() -> None:
    """As those of one pair at a time, points and parallels among them."""
    rng = np.random.default_rng(0)
    one, two = rng.normal(size=(2, 300, 2, 3))
    one[:20, 1] = one[:20, 0]
    two[10:30, 1] = two[10:30, 0]
    two[40:60] = one[40:60] + rng.normal(size=(20, 1, 3))
    wanted = [np.linalg.norm(np.subtract(*closest_on_segments(*a, *b))) for a, b in zip(one, two)]
    np.testing.assert_allclose(segment_distance(one, two), wanted, atol=1e-9)


@pytest.mark.parametrize('shape', [
    Sphere(0.1), Capsule(0.1, 0.3), Cylinder(0.1, 0.05), Cylinder(0.1, 0.4), Box((0.1, 0.5, 0.2)),
    convex_mesh(np.random.default_rng(1).normal(size=(40, 3)), hull=True)], ids=str)
def test_capsules_enclose_their_shapes(shape: object) -> None:
    """Every corner is inside."""
    points, radius = sample_points(shape)
    a, b, around = enclosing_capsule(shape)
    each = np.repeat(points[:, None], 2, axis=1)
    axis = np.broadcast_to(np.array([a, b]), each.shape)
    assert (segment_distance(each, axis) + radius <= around + 1e-9).all()


def test_the_first_moment_of_a_collision() -> None:
    """A falling upper arm meets the floor when its height says so, and the lower link first."""
    model = rbd_ros.load_urdf(PLANAR)
    robot = rbd_ros.Dynamics(model, backend='python', cache=False)
    shapes = [CollisionShape('lower', model.body_index('lower'), Sphere(0.05),
                             p=np.array([0.3, 0.0, 0.0]))]
    clearance = Clearance(robot, shapes, floor=-0.6)

    def path(t: np.ndarray) -> np.ndarray:
        return np.column_stack([0.5 * t - 1.5, 1.5 + 0.0 * t])
    miss = clearance.first_miss(path, 6.0, 0.02)
    t = np.linspace(0.0, 6.0, 100_001)
    q = path(t)
    height = -0.5 * np.sin(q[:, 0]) - 0.3 * np.sin(q.sum(axis=1)) - 0.05 + 0.6
    first = t[np.argmax(height < 0.02)]
    assert miss is not None and (miss.one, miss.two) == ('lower', 'floor')
    assert first <= miss.time < first + 0.02
    assert miss.distance == pytest.approx(np.interp(miss.time, t, height), abs=1e-6)
    assert f'at {miss.time:.2f} s "lower" comes within' in miss.text(0.02)
    assert clearance.first_miss(path, 0.9 * first, 0.02) is None
    low = np.array([[-0.5, 0.5 + np.arcsin((0.5 * np.sin(0.5) - 0.05 - 0.01) / 0.3)]])
    distance, names = Clearance(robot, shapes).nearest(low, 0.02)  # the floor is where the base is
    assert names == [('lower', 'floor')] and distance[0] == pytest.approx(0.01, abs=1e-9)
    assert Clearance(robot, shapes, floor=-0.6, ignored=[('floor', 'lower')]).first_miss(
        path, 6.0, 0.02) is None


def test_links_that_fold_onto_each_other() -> None:
    """An arm that folds comes too close to itself; links at one joint are not looked at."""
    model = rbd_ros.load_urdf(ARM)
    clearance = Clearance(rbd_ros.Dynamics(model), load_collisions(ARM, model), None)
    q = np.zeros((1, 7))
    assert clearance.nearest(q, 0.02)[0][0] > 0.02
    q[0, 3] = -2.9
    distance, names = clearance.nearest(q, 0.02)
    assert distance[0] < 0.0 and 'link_' in names[0][0]
    bodies = [(clearance.shapes[i].body, clearance.shapes[k].body) for i, k in clearance.pairs]
    assert all(abs(a - b) > 1 for a, b in bodies)


# --- running ---------------------------------------------------------------------------------


class FakeRobot:
    """A robot that writes down what it is asked to follow."""

    asked: list[tuple[object, Path | None]]
    here, drift = 0.1, 0.0

    def __init__(self, joints: object, action: str, topic: str) -> None:
        self.asked = FakeRobot.asked = []

    def __enter__(self) -> FakeRobot:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def position(self) -> np.ndarray:
        FakeRobot.here += FakeRobot.drift
        return np.full(7, FakeRobot.here)

    def ending(self) -> str:
        return ''

    def follow(self, motion: object, record: Path | None = None) -> None:
        self.asked.append((motion, record))


def test_nothing_moves_without_a_yes(plan: tuple[Path, dict], tmp_path: Path,
                                     monkeypatch: pytest.MonkeyPatch) -> None:
    """Any other answer ends it; after a yes the robot moves to the start first, then along."""
    module = ModuleType('rbd_ros.nodes.driven_robot')
    module.DrivenRobot = FakeRobot
    monkeypatch.setitem(sys.modules, 'rbd_ros.nodes.driven_robot', module)
    bag = tmp_path / 'bag'
    words = ['excite', str(ARM), '--plan', str(plan[0]), '--run', '--record', str(bag)]
    for answer in ('no\n', '\n', 'y\n', 'YES\n'):
        done = CliRunner().invoke(app, words, input=answer)
        assert 'before the robot does, open http://127.0.0.1:' in done.stderr
        assert done.exit_code == 2 and 'the robot has not moved' in done.stderr
        assert FakeRobot.asked == []
    done = CliRunner().invoke(app, words, input='yes\n')
    assert done.exit_code == 0, done.output
    (way, none), (path, record) = FakeRobot.asked
    assert none is None and record == bag
    np.testing.assert_allclose(way.q[0], 0.1)
    np.testing.assert_allclose(way.q[-1], path.q[0], atol=1e-9)
    assert np.abs(way.qd).max() <= 0.25 * 2.7 and np.abs(way.qd[[0, -1]]).max() < 1e-12
    assert 'planned again' not in done.stderr
    monkeypatch.setattr(FakeRobot, 'drift', 0.02)
    done = CliRunner().invoke(app, words, input='yes\n')
    assert 'planned again' in done.stderr
    np.testing.assert_allclose(FakeRobot.asked[0][0].q[0], 0.14)
    bag.mkdir()
    assert 'exists already' in rbd(*words, code=2)[1]


def test_the_page_shows_what_will_move(plan: tuple[Path, dict]) -> None:
    """The way to the start, then the motion; each frame of the line where the robot has it."""
    viser = pytest.importorskip('viser', reason='viser is not installed: use ./run')
    loaded = robots.load(str(ARM))
    path = excitation_plan.read_plan(plan[0], loaded.model)
    here = np.full(7, 0.1)
    scene = excitation_plan.Scene.of(loaded.text, loaded.model, 0.0, [], 0.02)
    way = excitation_plan.approach(scene, here, path)
    position, duration = motion_page.joined((way, path))
    assert duration == pytest.approx(way.t[-1] + path.t[-1])
    t = np.array([0.0, way.t[-1], way.t[-1] + 1.0, duration])
    np.testing.assert_allclose(
        position(t), [here, path.q[0], path.position(np.array([1.0]))[0], path.q[-1]], atol=1e-9)
    with motion_page.motion_page(str(ARM), loaded, (way, path)) as address:
        assert b'<html' in urllib.request.urlopen(address, timeout=patient(20)).read()
    server = start_server(port=free_port())
    assert isinstance(server, viser.ViserServer)
    try:
        shown = RobotScene(server, loaded.model, [])
        player = MotionPlayer(server, shown, position, duration, ['tool0'], shown.show)
        line = player.lines['tool0'].points
        for k in (0, 100, 398):
            player.seek(k * duration / 399)
            np.testing.assert_allclose(shown.links['tool0'].position, line[k, 0], atol=1e-5)
            q = position(np.array([k * duration / 399]))[0]
            np.testing.assert_allclose(
                line[k, 0], scene.robot.pose(q, 'tool0')[:3, 3], atol=1e-5)
        with player:
            end = time.monotonic() + patient(20.0)
            player.seek(0.0)
            while player.time < 0.2:
                assert time.monotonic() < end, 'it does not play'
                time.sleep(0.01)
            player.pause()
        stood = player.time
        assert not player.playing and player.time == stood
    finally:
        stop_server(server)


def test_view_plays_a_plan(plan: tuple[Path, dict], tmp_path: Path) -> None:
    """For as long as it takes; a file that is no plan is refused."""
    pytest.importorskip('viser', reason='viser is not installed: use ./run')
    told = data('view', ARM, '--plan', plan[0], '--port', free_port(), '--seconds', '0.2')
    assert told['duration'] == pytest.approx(12.0)
    bad = tmp_path / 'bad.yaml'
    bad.write_text('nothing: 1')
    assert 'is not a plan' in rbd('view', ARM, '--plan', bad, code=2)[1]


def test_a_page_that_cannot_be_served(plan: tuple[Path, dict],
                                      monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the packages for it there is no address, and no error."""
    monkeypatch.setitem(sys.modules, 'viser', None)
    loaded = robots.load(str(ARM))
    path = excitation_plan.read_plan(plan[0], loaded.model)
    with motion_page.motion_page(str(ARM), loaded, (path,)) as address:
        assert address == ''
