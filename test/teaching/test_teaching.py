# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0


"""Taught motions, random ones: limits, points, tolerance, loops, and files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from controller_rig import ARM, MODEL
import numpy as np
import numpy.typing as npt
import pytest
from rbd_ros import Dynamics, load_urdf, RbdError
from rbd_ros.teaching.demonstration import shown_points
from rbd_ros.teaching.lesson import Lesson, Point
from rbd_ros.teaching.lesson_file import (
    has_comments, lesson_text, LessonError, read_lesson, write_lesson)
from rbd_ros.teaching.motion import Motion, torques, trajectory_text
from rbd_ros.teaching.repeat import approach, joined, repeated
from rbd_ros.teaching.strokes import limits_of
import yaml

Array = npt.NDArray[np.float64]
ROBOT = Dynamics(MODEL)
NAMES = MODEL.independent_joint_names
BOUNDS = limits_of(MODEL, acceleration=4.0, torque=0.8)
LOW, HIGH = BOUNDS.lower, BOUNDS.upper
TOLERANCE = 0.01
SPEEDS = (0.1, 0.5, 1.0, 3.0, 20.0)
SEEDS = range(6)


def random_shown(rng: np.random.Generator, noise: float = 2e-4) -> tuple[Array, Array]:
    """Return uneven times and positions of a hand that leads the arm about, up to a limit."""
    last = rng.uniform(3.0, 6.0)
    t = np.linspace(0.0, last, 500) + rng.uniform(-0.002, 0.002, 500)
    turn = np.outer(t, rng.uniform(0.5, 2.5, 7)) + rng.uniform(0.0, 6.0, 7)
    begun = np.clip(np.minimum(t, last - t) / 0.8, 0.0, 1.0)
    way = (begun**2 * (3.0 - 2.0 * begun))[:, None] * np.sin(turn)
    q = 0.5 * (LOW + HIGH) + rng.uniform(0.1, 0.6, 7) * way
    q[:, 1] += 0.51 * (HIGH[1] - LOW[1]) * way[:, 1]
    return t, np.clip(q, LOW, HIGH) + noise * rng.standard_normal(q.shape)


def random_lesson(seed: int) -> Lesson:
    """Return straight ways, shown motions and rests in a random order."""
    rng = np.random.default_rng(seed)
    points: list[Point] = []
    for _ in range(rng.integers(2, 5)):
        if rng.random() < 0.4:
            points += shown_points(*random_shown(rng), MODEL, TOLERANCE)
        else:
            points.append(Point(tuple(rng.uniform(LOW, HIGH) * 0.9)))
        if rng.random() < 0.5:
            points[-1] = replace(points[-1], dwell=float(rng.uniform(0.01, 2.0)))
    points.append(Point(tuple(rng.uniform(LOW, HIGH) * 0.9), name='the "end"'))
    return Lesson(NAMES, tuple(points))


def between(motion: Motion) -> Motion:
    """Return a motion at many times between its points, by the controller's polynomials."""
    t = np.unique(np.concatenate([np.linspace(a, b, 23) for a, b in zip(motion.t, motion.t[1:])]))
    curve = motion.curve()
    return Motion(motion.joints, t, curve(t), curve.derivative(1)(t), curve.derivative(2)(t))


def within(motion: Motion, low: Array = LOW, high: Array = HIGH) -> None:
    """Expect that a motion keeps all limits."""
    fine = between(motion)
    assert (fine.q >= low - 1e-6).all() and (fine.q <= high + 1e-6).all()
    assert (np.abs(fine.qd) <= BOUNDS.speed * (1.0 + 1e-6)).all()
    assert (np.abs(fine.qdd) <= BOUNDS.acceleration * (1.0 + 1e-6)).all()
    assert (np.abs(torques(ROBOT, fine)) <= 1.01 * BOUNDS.torque).all()


@pytest.mark.parametrize('seed', SEEDS)
def test_limits_and_points(seed: int) -> None:
    """At any speed all limits are kept, every point is passed exactly, and it begins at rest."""
    lesson = random_lesson(seed)
    for speed in SPEEDS:
        found = repeated(ROBOT, lesson, BOUNDS, speed)
        within(found.once)
        places = iter(found.once.q)
        for point in lesson.points:  # in their order
            assert any(np.abs(np.subtract(point.positions, q)).max() < 1e-9 for q in places)
        for end in (0, -1):
            assert np.abs(found.once.qd[end]).max() < 1e-9 > np.abs(found.once.qdd[end]).max()
        assert (np.diff(found.once.t) > 0.0).all()


@pytest.mark.parametrize('seed', SEEDS)
def test_a_loop_closes(seed: int) -> None:
    """Rounds of a loop follow each other without a jump, and the way to them neither has one."""
    rng = np.random.default_rng(seed)
    found = repeated(ROBOT, random_lesson(seed), BOUNDS, 0.7)
    cycle = found.cycle()
    np.testing.assert_allclose(cycle.q[0], cycle.q[-1], atol=1e-12)
    way = approach(ROBOT, rng.uniform(LOW, HIGH), cycle, BOUNDS)
    assert way is not None
    within(way)
    whole = joined([way, cycle, cycle])
    within(whole)
    fine = between(whole)
    steps = np.abs(np.diff(fine.q, axis=0))
    assert (steps <= np.outer(np.diff(fine.t), BOUNDS.speed) * (1.0 + 1e-6) + 1e-9).all()
    assert (np.abs(way.qd) <= 0.2501 * BOUNDS.speed).all()
    assert approach(ROBOT, cycle.q[0], cycle, BOUNDS) is None


@pytest.mark.parametrize('bound', [LOW - 0.02, HIGH + 0.02], ids=['lower', 'upper'])
def test_the_way_back_from_beyond_a_limit(bound: Array) -> None:
    """A robot that stands a little beyond its limits gets to the motion, and no further out."""
    once = repeated(ROBOT, random_lesson(0), BOUNDS).once
    for joint in range(7):
        here = once.q[0].copy()
        here[joint] = bound[joint]
        way = approach(ROBOT, here, once, BOUNDS)
        assert way is not None
        np.testing.assert_allclose(way.q[[0, -1]], [here, once.q[0]], rtol=0.0, atol=1e-12)
        within(way, np.minimum(LOW, here), np.maximum(HIGH, here))


@pytest.mark.parametrize('seed', SEEDS)
def test_shown_motions_are_repeated(seed: int) -> None:
    """Every sample is passed within the tolerance at its time, with far fewer points."""
    rng = np.random.default_rng(100 + seed)
    t, q = random_shown(rng)
    points = shown_points(t, q, MODEL, TOLERANCE)
    assert len(points) < 0.3 * len(t)
    loose = limits_of(replace(MODEL, velocity_limit=(1e3,) * 7, effort_limit=(1e6,) * 7),
                      acceleration=1e6, torque=1.0)
    motion = repeated(ROBOT, Lesson(NAMES, tuple(points)), loose).once
    length = t[-1] - t[0]
    begin = 0.3  # the rest before, unless nothing moved at first
    assert motion.t[-1] == pytest.approx(length + 2 * begin, abs=0.05)
    off = np.abs(motion.position(np.clip(t - t[0] + begin, 0.0, motion.t[-1])) - q).max(axis=1)
    print(f'{len(points)} of {len(t)} points, off by {off.max():.4f} of {TOLERANCE}')
    assert off.max() < TOLERANCE


def test_slower_is_said() -> None:
    """A shown motion that is asked for too fast is slowed down, and that is said."""
    rng = np.random.default_rng(7)
    lesson = Lesson(NAMES, tuple(shown_points(*random_shown(rng), MODEL, TOLERANCE)))
    slow, fast = (repeated(ROBOT, lesson, BOUNDS, speed) for speed in (0.02, 50.0))
    assert not slow.slowed
    assert len(fast.slowed) == 1 and 'times slower than requested' in fast.slowed[0]
    shown = sum(point.time or 0.0 for point in lesson.points)
    assert slow.once.t[-1] == pytest.approx(shown / 0.02)
    assert fast.once.t[-1] > shown / 50.0


def test_weight_counts() -> None:
    """With half of the torque the same way takes longer; with too little it is refused."""
    lesson = Lesson(NAMES, (Point((0.0,) * 7), Point((0.3, 1.2, 0.1, -0.5, 0.2, 0.3, 0.1))))
    weight = np.abs(ROBOT.gravity(np.array(lesson.points[1].positions)))
    tight = BOUNDS._replace(torque=1.3 * weight + 2.5, acceleration=np.full(7, 40.0))
    free = repeated(ROBOT, lesson, tight._replace(torque=np.full(7, 1e4)))
    held = repeated(ROBOT, lesson, tight)
    assert held.once.t[-1] > 1.05 * free.once.t[-1]
    assert (np.abs(torques(ROBOT, between(held.once))) <= 1.01 * tight.torque).all()
    with pytest.raises(RbdError, match='cannot carry its own weight'):
        repeated(ROBOT, lesson, tight._replace(torque=0.5 * weight))


@pytest.mark.parametrize('seed', SEEDS)
def test_files(seed: int, tmp_path: Path) -> None:
    """What is written is read to the last bit; so it is in another order of the joints."""
    lesson = random_lesson(seed)
    write_lesson(tmp_path / 'a.yaml', lesson)
    assert read_lesson(tmp_path / 'a.yaml') == lesson
    assert yaml.safe_load(lesson_text(lesson))['joints'] == list(NAMES)
    other = tuple(np.random.default_rng(seed).permutation(NAMES).tolist())
    assert lesson.ordered(other).ordered(NAMES) == lesson
    for tiny in (1e-7, -3e22, 5e-324, 0.1 + 0.2):
        odd = lesson.without(1).added(replace(lesson.points[0], positions=(tiny,) * 7), 1)
        write_lesson(tmp_path / 'b.yaml', odd)
        assert read_lesson(tmp_path / 'b.yaml') == odd
        values = yaml.safe_load(lesson_text(odd))['points'][0]['positions']
        assert values == [tiny] * 7
    assert not has_comments(tmp_path / 'b.yaml')


@pytest.mark.parametrize('line, own', [
    ('- {positions: [1.0, 2.0]}  # above the table', True), ('#- {positions: [1.0, 2.0]}', True),
    ('- {positions: [1.0, 2.0], name: "bin # 2"}', False),
    ("- {positions: [1.0, 2.0], name: 'bin # 2'}", False),
    ('- {positions: [1.0, 2.0], name: bin#2}', False),
    (r'- {positions: [1.0, 2.0], name: "a \" # b"}', False)])
def test_comments_of_somebody(line: str, own: bool, tmp_path: Path) -> None:
    """A sign within a name is none, nor are the lines that every file begins with."""
    file = tmp_path / 'a.yaml'
    write_lesson(file, Lesson(('a', 'b'), ()))
    file.write_text(file.read_text().replace('points: []', f'points:\n{line}'))
    assert has_comments(file) is own


GOOD = 'joints: [a, b]\npoints:\n- {positions: [0.0, 1.0]}\n- {positions: [1.0, 2.0], time: 0.5}\n'


@pytest.mark.parametrize('old, new, line, words', [
    ('joints', 'joint', 1, '"joint" is unknown'),
    ('[a, b]', '[a, a]', 1, 'one or more joints, each once'),
    ('[a, b]', 'a', 1, 'expected a list of joint names'),
    ('[0.0, 1.0]', '[0.0]', 3, 'expected 2 positions, of a, b; got 1'),
    ('[0.0, 1.0]', '[0.0, x]', 3, 'expected a position in rad or m; got x'),
    ('[0.0, 1.0]', '[0.0, .nan]', 3, 'expected a position in rad or m'),
    ('time: 0.5', 'time: -1', 4, 'expected a time in s, more than 0; got -1'),
    ('time: 0.5', 'dwel: 1', 4, '"dwel" is unknown; did you mean "dwell"?'),
    ('time: 0.5', 'dwell: [1]', 4, 'expected a dwell in s, 0 or more'),
    ('{positions: [0.0, 1.0]}', 'home', 3, 'expected a point such as'),
    ('{positions: [0.0, 1.0]}', '{dwell: 1}', 3, 'a point needs positions'),
    ('{positions: [0.0, 1.0]}', '{positions: [0.0, 1.0], time: 2}', 3, 'the first point has a'),
    ('points:\n', 'points: [\n', 3, 'cannot be read as YAML'),
    (GOOD, '', 1, 'expected a file with joints and points'),
    (GOOD, 'joints: [a]', 1, 'points: is missing'),
])
def test_bad_files(tmp_path: Path, old: str, new: str, line: int, words: str) -> None:
    """Each is refused with its line and with what is expected."""
    file = tmp_path / 'bad.yaml'
    file.write_text(GOOD)
    assert len(read_lesson(file).points) == 2
    assert old in GOOD
    file.write_text(GOOD.replace(old, new, 1))
    with pytest.raises(LessonError) as caught:
        read_lesson(file)
    assert f'line {line}' in str(caught.value) and words in str(caught.value), caught.value


def test_editing() -> None:
    """Points are counted from one; what is not there is refused with what there is."""
    lesson = Lesson(('a',), tuple(Point((float(k),)) for k in range(4)))
    places = [point.positions[0] for point in lesson.without(2).moved(3, 1).points]
    assert places == [3.0, 0.0, 2.0]
    assert [p.positions[0] for p in lesson.added(Point((9.0,)), 2).points][:3] == [0.0, 9.0, 1.0]
    assert lesson.changed(4, dwell=2.0).points[3].dwell == 2.0
    for wrong in (lambda: lesson.without(5), lambda: lesson.moved(1, 0), lambda: lesson.changed(0),
                  lambda: lesson.added(Point((1.0,)), 6)):
        with pytest.raises(RbdError, match=r'there is no point \d; points are 1 to'):
            wrong()
    with pytest.raises(RbdError, match='a point needs 1 positions'):
        lesson.added(Point((1.0, 2.0)))
    with pytest.raises(RbdError, match='the lesson moves a; the robot has b'):
        lesson.ordered(['b'])
    shown = Lesson(('a',), tuple(Point((float(k),), time=0.1 if k else None) for k in range(4)))
    for edited in (shown.without(1), shown.moved(3, 1), shown.added(Point((1.0,), time=1.0), 1)):
        assert edited.points[0].time is None and edited.points[2].time == 0.1


def test_edited_motions_keep_their_pace_and_path() -> None:
    """No edit makes a short time that of a long way: the curve would swing far to both sides."""
    s = np.linspace(0.0, 1.0, 21)
    shown = [Point((float(x), *[0.0] * 6), time=0.2 if k else None)
             for k, x in enumerate(1.0 + 0.2 * s**2 * (3.0 - 2.0 * s))]
    home = Point((0.0,) * 7)
    lesson = Lesson(NAMES, (home, *shown))
    assert lesson.without(5).points[4].time == pytest.approx(0.4)
    for edited, places in ((lesson.without(2), [1]), (lesson.moved(2, 1), [2]),
                           (lesson.added(home, 10), [9, 10]), (lesson.moved(1, 10), [9, 10]),
                           (lesson.moved(12, 1), [2]), (lesson.moved(22, 5), [4, 5])):
        assert [k for k, point in enumerate(edited.points) if k and point.time is None][
            -len(places):] == places, edited
        found = repeated(ROBOT, edited, BOUNDS)
        q = between(found.once).q[:, 0]
        assert not found.slowed and q.min() > -1e-3 and q.max() < 1.2 + 1e-3
    assert lesson.moved(12, 12) == lesson


def test_what_cannot_be_repeated() -> None:
    """Each refusal names the point and says what to do."""
    home = Point((0.0,) * 7)
    beyond = Point((0.0, 9.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    for points, speed, words in (
            ((home,), 1.0, 'at least two'), ((home, home), 1.0, 'are the same'),
            ((home, beyond), 1.0, r'point 2: "joint_2" is at 9, not between'),
            ((home, replace(home, positions=(0.1,) * 7, time=1e-30)), 1.0, 'point 2: its time is'),
            ((home, replace(home, positions=(0.1,) * 7, dwell=1e-9)), 1.0, 'its dwell is 1e-09 s'),
            ((home, replace(home, positions=(0.1,) * 7)), 0.0, 'must be positive')):
        with pytest.raises(RbdError, match=words):
            repeated(ROBOT, Lesson(NAMES, points), BOUNDS, speed)
    edge = float(HIGH[1]) - 1e-4
    swing = [Point((0.0, x, *[0.0] * 5), time=None if k == 0 else 0.2)
             for k, x in enumerate((0.0, edge, edge, 0.0))]
    with pytest.raises(RbdError, match='between points 1 and 4 "joint_2" would move'):
        repeated(ROBOT, Lesson(NAMES, tuple(swing)), BOUNDS)
    still = np.zeros((100, 7))
    with pytest.raises(RbdError, match='no joint moved'):
        shown_points(np.linspace(0.0, 1.0, 100), still, MODEL)
    with pytest.raises(RbdError, match='fewer than two joint states'):
        shown_points(np.zeros(1), np.zeros((1, 7)), MODEL)
    with pytest.raises(RbdError, match='do not change; is the clock running'):
        shown_points(np.zeros(3), np.zeros((3, 7)), MODEL)
    t = np.linspace(0.0, 4.0, 400)
    swing = np.outer(0.2 * np.sin(t), np.ones(7))
    late = t[:, None] > 2.0
    for jump, words in ((-0.7, r'jumped back by 0\.7 s'), (0.7, r'no joint states for 0\.7 s')):
        with pytest.raises(RbdError, match=words):
            shown_points(t + jump * late[:, 0], swing, MODEL)
    assert shown_points(t - 0.3 * late[:, 0], swing, MODEL)


def test_joints_that_turn_without_end() -> None:
    """A driver that wraps, points half a turn apart, and loops: steps are short, as followed."""
    free = replace(MODEL, lower=(-np.inf, *LOW[1:]), upper=(np.inf, *HIGH[1:]))
    robot, bounds = Dynamics(free), limits_of(free, acceleration=4.0, torque=0.8)
    t = np.linspace(0.0, 8.0, 900)
    turn = 10.0 * (t / 8.0)**3 * (10.0 - 15.0 * t / 8.0 + 6.0 * (t / 8.0)**2)
    q = np.zeros((900, 7))
    q[:, 0] = (turn + np.pi) % (2.0 * np.pi) - np.pi
    points = shown_points(t, q, free, TOLERANCE)
    assert points[-1].positions[0] == pytest.approx(10.0, abs=TOLERANCE)
    assert max(np.diff([point.positions[0] for point in points])) < 0.6 * np.pi
    found = repeated(robot, Lesson(NAMES, tuple(points)), bounds)
    assert found.back is not None
    assert abs(found.back.q[-1, 0] - found.back.q[0, 0]) < np.pi
    assert np.cos(found.back.q[-1, 0]) == pytest.approx(np.cos(points[0].positions[0]))
    for here in (-9.0, 3.0, 3.14, 40.0):
        way = approach(robot, np.array([here, *[0.0] * 6]), found.once, bounds)
        assert way is not None and abs(way.q[-1, 0] - way.q[0, 0]) < 1.01 * np.pi
        assert np.abs(np.diff(way.q[:, 0])).max() <= 0.5 * np.pi + 1e-9
    ends = [Point((x, *[0.0] * 6)) for x in (3.0, -3.0, 0.14)]
    once = repeated(robot, Lesson(NAMES, tuple(ends)), bounds).once
    assert once.q[:, 0].max() == pytest.approx(2.0 * np.pi + 0.14)
    assert once.q[:, 0].min() == 3.0 and np.abs(np.diff(once.q[:, 0])).max() <= 0.5 * np.pi + 1e-9


def test_some_joints() -> None:
    """Those that a lesson leaves out stand where they are, with their weight, without limits."""
    here = np.array([0.3, 0.4, 0.0, -1.2, 0.0, 0.8, 9.0])
    some, places = ('joint_4', 'joint_2'), [3, 1]
    rows = [here + step * np.isin(np.arange(7), places) for step in (0.0, 0.3, -0.2)]
    bare = replace(MODEL, velocity_limit=(*MODEL.velocity_limit[:6], np.inf))
    robot, bounds = Dynamics(bare), limits_of(bare, acceleration=4.0, torque=0.8, joints=some)
    lesson = Lesson(some, tuple(Point(tuple(row[places].tolist())) for row in rows))
    found = repeated(robot, lesson, bounds, here=here)
    stand = [k for k in range(7) if k not in places]
    for motion in (found.once, found.back):
        assert motion is not None and motion.joints == NAMES
        np.testing.assert_array_equal(motion.q[:, stand], np.tile(here[stand], (len(motion.t), 1)))
        np.testing.assert_array_equal(motion.of(some).q, motion.q[:, places])
    np.testing.assert_allclose(found.once.q[-1], rows[-1])
    whole = Lesson(NAMES, tuple(Point(tuple(row.tolist())) for row in rows))
    wide = BOUNDS._replace(upper=HIGH + 9.0)
    np.testing.assert_allclose(repeated(ROBOT, whole, wide).once.t, found.once.t)
    weak = replace(MODEL, effort_limit=(0.0, *MODEL.effort_limit[1:]))
    limits_of(weak, acceleration=4.0, torque=0.8, joints=some)
    with pytest.raises(RbdError, match='has no velocity limit'):
        limits_of(bare, acceleration=4.0, torque=0.8)
    with pytest.raises(RbdError, match='the lesson moves joint_4, wheel; the robot has joint_1'):
        repeated(robot, Lesson(('joint_4', 'wheel'), lesson.points), bounds, here=here)
    t, q = random_shown(np.random.default_rng(3))
    chosen = shown_points(t, q[:, [1, 3]], MODEL, TOLERANCE, some[::-1])
    taught = np.array([point.positions for point in chosen])
    assert HIGH[1] - TOLERANCE < np.abs(taught[:, 0]).max() < HIGH[1] - 0.1 * TOLERANCE


def test_limits_of_zero() -> None:
    """Some programs write them where nobody gave any: nothing can be planned, which is said."""
    for entry, what in (('velocity_limit', 'velocity'), ('effort_limit', 'effort')):
        still = replace(MODEL, **{entry: (*getattr(MODEL, entry)[:6], 0.0)})
        with pytest.raises(RbdError, match=f'"joint_7" has the {what} limit 0, with which it'):
            limits_of(still, acceleration=4.0, torque=0.8)


def test_speed_stays_below_the_barrier() -> None:
    """A tenth of the velocity limits is left to the controller."""
    np.testing.assert_allclose(BOUNDS.speed, 0.9 * np.array(MODEL.velocity_limit))


def test_a_trajectory_message() -> None:
    """The exported text has the motion, in the fields of trajectory_msgs/JointTrajectory."""
    motion = repeated(Dynamics(load_urdf(ARM)), random_lesson(2), BOUNDS).once
    found = yaml.safe_load(trajectory_text(motion, 'a title'))
    assert found['joint_names'] == list(NAMES) and len(found['points']) == len(motion.t)
    last = found['points'][-1]
    np.testing.assert_allclose(last['positions'], motion.q[-1], atol=1e-8)
    stamp = last['time_from_start']
    assert stamp['sec'] + 1e-9 * stamp['nanosec'] == pytest.approx(motion.t[-1])
    odd = ('1', 'no', 'left: 3', *NAMES[3:])  # which YAML takes for something else
    found = yaml.safe_load(trajectory_text(motion._replace(joints=odd), ''))
    assert found['joint_names'] == list(odd)
