# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Sliders, jog buttons and poses: what the page sends of the joints, and when it stops."""

import math
import time

import numpy as np
from page_rig import HOLD, MODEL, PERIOD, START
import pytest
from rbd_ros.control.modes import MODES, Takes, taking
from rbd_ros.nodes.dashboard.dead_man import TIMEOUT
from rbd_ros.nodes.dashboard.joint_drive import AT_REST, ELSEWHERE, FASTEST, LEAD
from rbd_ros.nodes.dashboard.moving_point import LONGEST_TICK
from rbd_ros.nodes.dashboard.operator import SET_POINT_AHEAD
from rbd_ros.nodes.dashboard.poses import MIDDLE, START as FIRST, ZERO
from trajectory_msgs.msg import JointTrajectory

DRIVE = 'Drive the joints'
FOLLOWING = taking(Takes.TRAJECTORY)[0]
SPEED = np.array(MODEL.velocity_limit)
NAMES = MODEL.joint_names


@pytest.fixture
def desk(made):
    """Give the page of the arm."""
    return made


@pytest.fixture
def simulated(desk):
    """Drive the joints of a simulated robot."""
    desk.begin(simulated=True).tick(DRIVE)
    return desk


@pytest.fixture
def real(desk):
    """Drive the joints of a robot that is not simulated."""
    desk.begin(simulated=False).tick(DRIVE)
    return desk


def away_from(q, k, goal):
    """Return a position with one joint elsewhere."""
    return np.where(np.arange(7) == k, goal, q)


def assert_slow(desk, share=0.2):
    """Have no set-point further from the one before than the page says."""
    times = np.diff([each.time for each in desk.points])
    steps = np.abs(np.diff(desk.path, axis=0))
    assert (steps <= share * SPEED * np.minimum(times, LONGEST_TICK)[:, None] + 1e-12).all()


def test_a_slider_moves_the_simulated_robot_slowly(simulated):
    """From where it is, on a straight line, no faster than it may, and exactly to the target."""
    desk = simulated
    desk.run(1.0)
    assert not desk.points  # nothing is asked for yet
    desk.put('joint_1', 1.0)
    desk.put('joint_4', -1.5)
    desk.run(6.0)
    assert_slow(desk)
    path, goal = desk.path, away_from(away_from(START, 0, 1.0), 3, -1.5)
    np.testing.assert_allclose(path[-1], goal, atol=1e-12)
    steps, way = np.diff(path, axis=0), goal - path[0]  # where it was when both were asked for
    np.testing.assert_allclose(steps, np.outer(steps @ way / (way @ way), way), atol=1e-12)
    first = desk.points[0].message
    assert tuple(first.joint_names) == NAMES
    assert first.points[0].time_from_start.nanosec == SET_POINT_AHEAD
    assert desk.value('joint_1') == 1.0 and not desk.part(HOLD)['visible']


@pytest.mark.parametrize('button', [HOLD, '+', '−'])
def test_a_real_robot_moves_only_while_a_button_is_held(real, button):
    """Released, closed or cut off: it is told to hold, once, within the stated time."""
    desk = real
    assert desk.part(HOLD)['visible'] and not desk.part(HOLD)['disabled']
    desk.put('joint_2', 0.0)
    desk.run(2.0)
    assert not desk.sent['set-point'] and f'**{HOLD}** pressed' in desk.text('Joints')
    begin = desk.clock.now
    desk.run(1.0, button)
    assert len(desk.points) > 10 and not desk.holds
    last_sign = begin + 0.92  # ten signs per second, on the pictures of that second
    desk.run(3.0)
    [at] = desk.holds
    assert desk.points[-1].time < at <= last_sign + TIMEOUT + PERIOD
    if button == HOLD:
        assert desk.path[-1][1] > 0.3  # far from the target
        desk.run(8.0, HOLD)  # held again it goes on, to the target
        np.testing.assert_allclose(desk.path[-1], away_from(START, 1, 0.0), atol=1e-12)


def test_a_simulator_that_comes_later_switches_no_dead_man_off(real):
    """Ticked is decided: what was not simulated then needs the button, and what ceases to be."""
    desk = real
    desk.robot.become(simulated=True)
    desk.until(lambda: desk.look() or desk.node.tabs[0].page.simulated)
    desk.put('joint_2', 0.0)
    desk.run(1.0)
    assert not desk.points and desk.part(HOLD)['visible']
    desk.put(DRIVE, False)
    desk.tick(DRIVE)
    desk.put('joint_2', 0.0)
    desk.run(0.2)
    assert desk.points and desk.part(HOLD)['disabled']
    desk.robot.become(simulated=False)
    desk.until(lambda: desk.look() or not desk.node.tabs[0].page.simulated)
    count = len(desk.points)
    desk.run(1.0)
    assert len(desk.points) == count and not desk.part(HOLD)['disabled']


def test_signs_that_a_network_kept_back_move_nothing(real):
    """They come all at once, after the button was released."""
    real.put('joint_2', 0.0)
    for _ in range(50):
        real.visitor.hold(HOLD)
        real.clock.now += 0.002
        real.node.update()
    real.run(1.0)
    assert not real.points


@pytest.mark.parametrize('is_simulated', [False, True])
def test_a_jog_button_moves_one_joint_while_it_is_held(desk, is_simulated):
    """In its sense, of a real robot and of a simulated one; the slider follows."""
    desk.begin(simulated=is_simulated).tick(DRIVE)
    desk.put('Jog', NAMES[2])
    desk.run(2.0, '+')
    path = desk.path
    assert (np.diff(path[:, 2]) > 0.0).all() and path[-1, 2] > START[2] + 0.2
    np.testing.assert_array_equal(np.delete(path, 2, axis=1),
                                  np.tile(np.delete(START, 2), (len(path), 1)))
    desk.run(1.0)
    assert desk.value(NAMES[2]) == pytest.approx(desk.path[-1, 2], abs=2e-3)
    count, there = len(desk.points), desk.path[-1][2]
    desk.run(1.0)
    assert len(desk.points) == count
    desk.run(1.0, '−')
    assert desk.path[-1][2] < there
    desk.run(0.5)
    count = len(desk.points)
    desk.run(2.0, '+', '−')  # both at once: neither
    assert len(desk.points) == count


@pytest.mark.sampled('properties', 1)
@pytest.mark.parametrize('seed', range(8))
def test_nothing_leaves_the_limits_and_nothing_jumps(desk, seed):
    """Whatever a browser sends, of a real and of a simulated robot, with pauses of the process."""
    rng = np.random.default_rng(seed)
    desk.begin(simulated=bool(seed % 2)).tick(DRIVE)
    lower, upper = np.array(MODEL.lower), np.array(MODEL.upper)
    most, position = FASTEST / 100.0 * SPEED * LONGEST_TICK + 1e-9, START
    for _ in range(100):
        what = rng.integers(5)
        if what == 0:
            desk.visitor.put(str(rng.choice(NAMES)), float(rng.choice([-1e9, -1, 0.1, 2, 1e9])))
        elif what == 1:
            desk.visitor.put('Jog', str(rng.choice(NAMES)))
        elif what == 2:
            desk.visitor.put('Speed, %', float(rng.choice([-5, 1, 20, 50, 1e6])), 'Joints')
        desk.called()
        desk.visitor.hold(*rng.choice(['+', '−', HOLD], int(rng.integers(1, 3))))
        desk.talk()
        desk.node.update()
        desk.listen()
        desk.clock.now += float(rng.choice([0.04, 0.06, 0.1, 1.0, 30.0]))
        for sent in desk.path:
            assert (sent >= lower).all() and (sent <= upper).all()
            assert (np.abs(sent - position) <= most).all()
            position = desk.robot.q = sent
        desk.forget()
    desk.run(0.5)  # what was sent last is put right, too
    for name, low, high in zip(NAMES, lower, upper, strict=True):
        assert low <= desk.value(name) <= high


def test_it_says_what_is_missing(desk):
    """Mode, state, joint states, another program: nothing is sent, and the sliders follow."""
    desk.begin(simulated=True)
    sliders = [desk.part(name) for name in NAMES]
    assert not desk.text('Joints') and all(each['disabled'] for each in sliders)
    topic = '/controller/joint_trajectory'
    assert desk.robot.controller.count_publishers(topic) == 0  # two publishers cancel
    desk.tick(DRIVE)
    desk.until(lambda: desk.robot.controller.count_publishers(topic) == 1)
    assert not desk.part(NAMES[0])['disabled']
    for mode in (*MODES, 'mine'):  # one of the user's may take them
        desk.say(mode=mode)
        fits = mode in (*taking(Takes.TRAJECTORY), 'mine')
        assert (f'The mode is {mode}: choose {FOLLOWING}' in desk.text('Joints')) != fits
        assert all(desk.part(each)['disabled'] != fits for each in NAMES)
    for state, words in (('holding', 'is holding, not running'), ('', 'is not there')):
        desk.say(state=state)
        assert words in desk.text('Joints')
    desk.say(state='running', mode=FOLLOWING)
    desk.robot.answers = False
    desk.clock.now += 4.0
    assert 'No joint states' in desk.text('Joints')
    desk.robot.answers = True
    desk.look()
    other = desk.robot.controller.create_publisher(JointTrajectory, topic, 1)
    desk.until(lambda: 'Another program' in desk.text('Joints'))
    desk.put('joint_1', 1.0)
    desk.robot.q = away_from(START, 1, 0.5)
    desk.run(1.0)
    assert not desk.points and desk.value('joint_2') == pytest.approx(0.5)
    desk.robot.controller.destroy_publisher(other)
    desk.until(lambda: 'Move a slider' in desk.text('Joints'))
    desk.put(DRIVE, False)
    desk.until(lambda: desk.robot.controller.count_publishers(topic) == 0)


def test_a_robot_that_others_moved_is_not_taken_back(simulated):
    """What was asked for before is forgotten; a small deflection is none."""
    desk = simulated
    desk.put('joint_1', 0.5)
    desk.run(2.0)
    sent = len(desk.points)
    desk.robot.reference = desk.robot.q + 0.9 * ELSEWHERE * (np.arange(7) == 0)
    desk.run(AT_REST + 1.0, follows=False)
    assert desk.value('joint_1') == 0.5 and 'Somebody else' not in desk.text('Joints')
    desk.robot.reference = away_from(desk.robot.q, 0, -0.8)
    desk.run(AT_REST + 1.0, follows=False)
    assert len(desk.points) == sent and desk.value('joint_1') == -0.8
    assert 'Somebody else' in desk.text('Joints')
    desk.put('joint_2', 0.7)
    desk.run(2 * PERIOD, follows=False)
    assert desk.path[-1][0] == -0.8


class Slow:
    """A robot whose controller follows with 0.01 rad/s what it is sent of joint 2."""

    def __init__(self, desk, way):
        self.desk, self.goal = desk, START[1] - way
        desk.robot.q = START.copy()
        desk.put('joint_2', self.goal)

    @property
    def q(self):
        """Return where it is."""
        return self.desk.robot.q[1]

    def run(self, seconds, *held):
        """Let time pass; whoever was told to hold stays."""
        desk = self.desk
        for _ in range(round(seconds / 0.2)):
            desk.run(0.2, *held, follows=False)
            if desk.points and not desk.holds:
                last = desk.points[-1].message.points[0].positions[1]
                desk.robot.q = away_from(desk.robot.q, 1, max(self.q - 0.002, last))


def test_a_slow_reference_holds_when_the_button_is_released(real):
    """However long ago the last set-point was sent, if the controller is on its way to that."""
    slow = Slow(real, 0.05)
    slow.run(3.0, HOLD)
    assert real.clock.now - real.points[-1].time > 2.0 * AT_REST and not real.holds
    released = real.clock.now
    slow.run(3.0)
    [at] = real.holds
    assert at <= released + TIMEOUT and slow.q > slow.goal + 0.01


def test_a_slow_reference_that_has_arrived_is_left_alone(real):
    """Somebody else may move the robot now."""
    slow = Slow(real, 0.02)
    slow.run(2.0 + AT_REST + 1.0, HOLD)
    assert slow.q == pytest.approx(slow.goal, abs=1e-12)
    slow.run(1.0)
    assert not real.holds


def test_a_slow_reference_is_not_somebody_else(simulated):
    """The slider stays where it was put, and nobody is blamed."""
    simulated.put('Speed, %', FASTEST, 'Joints')
    slow = Slow(simulated, 0.15)
    slow.run(3.0)
    assert slow.q - slow.goal > ELSEWHERE
    assert 'Move a slider: the robot goes there.' in simulated.text('Joints')
    assert simulated.value('joint_2') == pytest.approx(slow.goal)


@pytest.mark.parametrize('end', ['box', 'mode', 'reference'])
def test_whatever_ends_driving_ends_the_motion(real, end):
    """Switched off, another mode, a silent controller: hold, before the topic is left."""
    desk = real
    desk.put('joint_2', 0.0)
    desk.run(1.0, HOLD)
    count = len(desk.points)
    assert count > 5 and not desk.holds
    if end == 'box':
        desk.put(DRIVE, False)
    elif end == 'mode':
        desk.say(mode='hold')
    else:
        desk.robot.reference = []  # it follows nothing that the page knows
    desk.run(1.0, HOLD)
    assert len(desk.holds) == 1 and len(desk.points) <= count + 1
    if end == 'reference':
        assert 'does not publish its reference' in desk.text('Joints')


def test_a_joint_that_the_controller_does_not_drive_is_named(real):
    """The page was not told the joints of the controller; or nobody says what is followed."""
    desk = real
    desk.robot.follow(**{name: 0.0 for name in NAMES if name != 'joint_6'})
    heard = desk.node.tabs[0].page.telemetry
    desk.until(lambda: heard.take() or 'joint_6' not in heard.reference_positions, looks=False)
    desk.clock.now += 0.21
    desk.node.update()
    words = desk.visitor.look().text('Joints')
    assert 'does not drive `joint_6`' in words and 'publish' not in words
    desk.clock.now += 0.6
    desk.node.update()
    assert 'does not publish its reference' in desk.visitor.look().text('Joints')


def test_the_set_point_waits_for_the_reference(real):
    """A controller that does not move gets none further away than the stated lead."""
    real.put('joint_2', 0.0)
    real.run(4.0, HOLD, follows=False)
    away = np.abs(real.path[-1] - START) / (0.2 * SPEED)
    assert 0.5 * LEAD < away.max() <= LEAD + 1e-9


def test_another_joint_that_is_chosen_does_not_take_over_a_jog(real):
    """One browser holds a button, another one changes the joint: both joints rest."""
    desk = real
    desk.put('Jog', NAMES[2])
    desk.run(1.0, '+')
    desk.put('Jog', NAMES[4])
    count = len(desk.points)
    desk.run(1.0, '+')
    assert len(desk.points) == count and len(desk.holds) == 1
    desk.run(0.5)
    desk.run(1.0, '+')  # pressed anew it is meant
    assert desk.path[-1][4] > START[4]


def test_a_browser_may_send_anything(real):
    """What is no number, or no joint of the list, has no effect; a speed has its bounds."""
    desk = real
    for label, value in (('joint_2', math.nan), ('joint_2', 'left'), ('Speed, %', math.inf),
                         ('Jog', 'none of them')):
        before = desk.value(label, 'Joints')
        desk.put(label, value, 'Joints')
        desk.visitor.find(label, 'Joints')['value'] = before
    desk.put('Speed, %', -100, 'Joints')
    desk.put('joint_3', 0.0)
    desk.run(1.0, HOLD)
    assert np.isfinite(desk.path).all() and len(desk.points) > 5
    assert_slow(desk, 0.05)


def test_a_slider_waits_while_the_page_looks(real, monkeypatch):
    """What a thread asks for is neither lost nor mixed with what another one begins."""
    desk, publisher, waited = real, type(next(iter(real._out()))), []
    publish = publisher.publish

    def slow(each, message):
        if each.topic_name.endswith('joint_trajectory') and not waited:
            desk.visitor.put('joint_4', -0.5)
            time.sleep(0.1)
            waited.append(not desk._calls[-1].done())
        publish(each, message)
    monkeypatch.setattr(publisher, 'publish', slow)
    desk.put('joint_2', 0.0)
    desk.run(0.4, HOLD)
    assert waited == [True]
    desk.called()
    desk.run(8.0, HOLD)
    np.testing.assert_allclose(desk.path[-1], away_from(away_from(START, 1, 0.0), 3, -0.5))


# -- poses ------------------------------------------------------------------------------------


def go(desk, name):
    """Choose a pose, and ask for it."""
    desk.put('Pose', name)
    desk.press('Go to the pose')


def save(desk, name):
    """Save where the robot is; return what the page says."""
    desk.put('Name', name, 'Poses')
    desk.press('Save where it is')
    return desk.text('Poses')


def test_a_pose_is_saved_and_gone_to(desk):
    """At the speed of the sliders, and no further than a joint may."""
    desk.begin(simulated=True)
    assert desk.part('Pose')['options'] == [FIRST, ZERO, MIDDLE]
    assert 'Saved' in save(desk, ' home ')
    assert desk.part('Pose')['options'] == [FIRST, ZERO, MIDDLE, 'home']
    go(desk, ZERO)
    assert 'Drive the joints' in desk.text('Poses')
    desk.tick(DRIVE)
    lower, upper = np.array(MODEL.lower), np.array(MODEL.upper)
    for name, goal in ((ZERO, np.clip(np.zeros(7), lower, upper)), ('home', START),
                       (MIDDLE, 0.5 * (lower + upper)), (FIRST, START)):
        desk.forget()
        go(desk, name)
        assert f'Going to "{name}"' in desk.text('Poses')
        desk.run(8.0)
        np.testing.assert_allclose(desk.path[-1], goal, atol=1e-12)
        assert_slow(desk)
    desk.put('Pose', 'home')
    desk.press('Forget the pose')
    assert desk.part('Pose')['options'] == [FIRST, ZERO, MIDDLE]
    desk.put('Pose', ZERO)
    desk.press('Forget the pose')
    assert 'stays' in desk.text('Poses')
    for name in (ZERO, ' '):
        assert 'name' in save(desk, name)
    assert desk.part('Pose')['options'] == [FIRST, ZERO, MIDDLE]


def test_a_real_robot_goes_to_a_pose_while_the_button_is_held(real):
    """And stops on the way when it is released."""
    go(real, ZERO)
    real.run(1.0)
    assert not real.points
    real.run(1.0, HOLD)
    released = real.clock.now
    real.run(1.0)
    assert real.points and real.points[-1].time <= released + TIMEOUT
    assert np.abs(real.path[-1]).max() > 0.5
    real.run(8.0, HOLD)
    np.testing.assert_allclose(real.path[-1], 0.0, atol=1e-12)


def test_no_pose_is_saved_while_the_robot_is_silent(desk):
    """It may have been moved since."""
    desk.begin(simulated=True)
    desk.robot.answers = False
    desk.clock.now += 4.0
    assert 'unknown' in save(desk, 'blind') and 'blind' not in desk.part('Pose')['options']
