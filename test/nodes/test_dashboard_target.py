# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The handle of a target: where it is, when it is followed, and what is sent of it."""

from geometry_msgs.msg import PoseStamped
import numpy as np
from page_rig import MODEL, PERIOD, ROBOT, START
import pytest
from rbd_ros.control.modes import MODES, Takes, taking
from rbd_ros.model.reach_bound import reach_bound
from rbd_ros.nodes.dashboard.dead_man import TIMEOUT
from rbd_ros.nodes.dashboard.moving_point import LONGEST_TICK
from rbd_ros.nodes.dashboard.moving_pose import SPEED
from rbd_ros.nodes.dashboard.target import LEAD
from rbd_ros.view.figures import quaternion
from scipy.spatial.transform import Rotation

AIM, FOLLOW = 'Drag a target', 'Hold to follow'
MODE = taking(Takes.TARGET)[0]
TOPIC = '/controller/target_pose'


@pytest.fixture
def desk(made):
    """Give the page of the arm."""
    return made


@pytest.fixture
def aimed(desk):
    """Return what ticks the box, of a robot that is simulated or not."""
    def aim(*, simulated):
        if desk.robot.parameter('task.frame'):
            desk.give(**{'task.frame': ''})
        desk.begin(mode=MODE, simulated=simulated).tick(AIM)
        return desk
    return aim


def turn(wxyz):
    """Return the matrix of a quaternion."""
    w, x, y, z = wxyz
    return Rotation.from_quat([x, y, z, w]).as_matrix()


def pull(desk, way, wxyz=None):
    """Drag the handle from where it is; return where to."""
    goal = np.add(desk.drawn('target')['position'], way)
    desk.visitor.pull('target', goal, wxyz)
    return goal


def reached(q, p, wxyz):
    """Return positions with the tool at a pose, near others."""
    for _ in range(20):
        H = ROBOT.pose(q, 'tool0')
        apart = np.concatenate([Rotation.from_matrix(turn(wxyz) @ H[:3, :3].T).as_rotvec(),
                                p - H[:3, 3]])
        J = ROBOT.jacobian(q, 'tool0')
        J = np.vstack([H[:3, :3] @ J[:3], H[:3, :3] @ J[3:]])
        q = q + np.linalg.pinv(J) @ apart
    return q


def follow(desk, seconds, *held):
    """Let time pass while the tool is where the last target is."""
    for _ in range(round(seconds / 0.2)):
        for _ in range(5):
            desk.run(PERIOD)
            if desk.targets:
                desk.robot.q = reached(desk.robot.q, *desk.targets[-1][1:])
        if held:
            desk.visitor.hold(*held)


def test_the_handle_begins_at_the_frame_that_the_controller_moves(aimed):
    """Not at the one that the page was told, if they differ; with its axes and its numbers."""
    desk = aimed(simulated=True)
    for told, frame in (('', 'tool0'), ('link_5', 'link_5'), ('unknown', 'tool0')):
        desk.give(**{'task.frame': told})
        words = desk.text('Drive')
        H, gizmo = ROBOT.pose(START, frame), desk.drawn('target')
        np.testing.assert_allclose(gizmo['position'], H[:3, 3], atol=1e-6)
        np.testing.assert_allclose(turn(gizmo['wxyz']), H[:3, :3], atol=1e-6)
        x, y, z = H[:3, 3]
        assert f'Target of `{frame}`: x {x:.3f}, y {y:.3f}, z {z:.3f} m' in words
        assert '0.000 m away from it' in words
    pull(desk, (0.3, 0.0, 0.4))
    assert '0.500 m away from it' in desk.text('Drive')


def test_a_handle_out_of_reach_sends_what_the_controller_takes(aimed):
    """The simulated arm stretches out towards it; several refused targets would be a fault."""
    desk, reach = aimed(simulated=True), reach_bound(MODEL, 'tool0')
    for far in (0.5, 0.999, 1.001, 3.0):
        desk.visitor.pull('target', [0.6 * far * reach, 0.0, 0.8 * far * reach])
        words = desk.text('Drive')
        np.testing.assert_allclose(
            desk.targets[-1][1], min(far, 1.0) * reach * np.array([0.6, 0.0, 0.8]), atol=1e-9)
        assert (f'out of reach, {reach:.3g} m from the base at most' in words) is (far > 1.0)


def test_the_topic_of_targets_is_left_to_others_unless_one_is_dragged(aimed):
    """The controller drops the targets of two publishers; the page says so, and sends none."""
    desk = aimed(simulated=True)
    count = desk.robot.controller.count_publishers
    desk.until(lambda: count(TOPIC) == 1)
    other = desk.robot.controller.create_publisher(PoseStamped, TOPIC, 1)
    desk.until(lambda: 'Another program' in desk.text('Drive'))
    desk.forget()
    pull(desk, (0.1, 0.0, 0.0))
    desk.run(0.4)
    assert not desk.targets
    desk.robot.controller.destroy_publisher(other)
    desk.put(AIM, False)
    assert not desk.drawn('target')['visible'] and 'Target of' not in desk.text('Drive')
    desk.until(lambda: count(TOPIC) == 0)


@pytest.mark.parametrize('simulated', [False, True])
def test_targets_are_sent_in_the_modes_that_take_them(aimed, simulated):
    """In another one the page says which to choose; and none is sent after a stop."""
    desk = aimed(simulated=simulated)
    for mode in MODES:
        desk.say(mode=mode)
        fits, words = mode in taking(Takes.TARGET), desk.text('Drive')
        assert (f'The mode is {mode}: choose {MODE}' in words) != fits
        assert desk.part(FOLLOW)['visible'] != simulated
        desk.forget()
        pull(desk, (0.02, 0.0, 0.0))
        desk.run(0.6, FOLLOW)
        assert bool(desk.targets) == fits
        desk.run(0.4)
    desk.say(mode=MODE, state='holding')
    desk.look()
    desk.forget()
    pull(desk, (0.02, 0.0, 0.0))
    desk.run(0.6, FOLLOW)
    assert not desk.targets


def test_a_simulated_robot_follows_the_mouse(aimed):
    """Each pull is sent as it is, with the axes of the handle."""
    desk = aimed(simulated=True)
    for x in (0.1, 0.2, 0.3):
        desk.visitor.pull('target', (x, 0.0, 0.5), (0.5, 0.5, -0.5, 0.5))
    desk.run(0.5, FOLLOW)
    assert [p.tolist() for _, p, _ in desk.targets] == [[x, 0.0, 0.5] for x in (0.1, 0.2, 0.3)]
    assert desk.targets[-1][2].tolist() == [0.5, 0.5, -0.5, 0.5]


@pytest.mark.parametrize('first', [False, True])
def test_a_simulator_that_comes_later_switches_no_dead_man_off(aimed, first):
    """And one that goes leaves a robot that moves while the button is held."""
    desk = aimed(simulated=first)
    desk.robot.become(simulated=not first)
    desk.until(lambda: desk.look() or desk.node.tabs[0].page.simulated != first)
    for frame in ('', 'link_5'):  # nor does another frame: what it is was decided before
        desk.give(**{'task.frame': frame})
        desk.forget()
        pull(desk, (0.1, 0.0, 0.0))
        assert not desk.targets and not desk.part(FOLLOW)['disabled']


def test_another_robot_follows_while_the_button_is_held(aimed):
    """Slowly from where its frame is; it stops within the stated time."""
    desk = aimed(simulated=False)
    begin = ROBOT.pose(START, 'tool0')[:3, 3]
    goal = pull(desk, (0.2, -0.1, 0.1))
    desk.run(1.0)
    assert not desk.targets and f'**{FOLLOW}** pressed' in desk.text('Drive')
    for _ in range(5):
        follow(desk, 0.2, FOLLOW)
    released = desk.clock.now
    follow(desk, 1.0)
    path = np.array([begin, *(p for _, p, _ in desk.targets)])
    steps = np.linalg.norm(np.diff(path, axis=0), axis=1)
    assert (steps[:-1] <= SPEED * PERIOD + 1e-9).all()
    assert desk.targets[-1][0] <= released + TIMEOUT + PERIOD
    assert 0.03 < np.linalg.norm(path[-1] - path[0]) < 0.2
    desk.robot.q = np.array([0.1, 0.5, 0.0, -1.0, 0.2, 0.6, 0.0])  # others have moved it
    desk.forget()
    follow(desk, 1.0, FOLLOW)
    first = desk.targets[0][1]
    moved = ROBOT.pose([0.1, 0.5, 0.0, -1.0, 0.2, 0.6, 0.0], 'tool0')[:3, 3]
    assert np.linalg.norm(first - moved) <= SPEED * LONGEST_TICK
    follow(desk, 8.0, FOLLOW)
    np.testing.assert_allclose(desk.targets[-1][1], goal, atol=1e-6)


def test_a_frame_that_cannot_follow_is_waited_for(aimed):
    """The target stays near, and is where the frame is after release."""
    desk = aimed(simulated=False)
    H = ROBOT.pose(START, 'tool0')
    pull(desk, (0.4, 0.0, 0.0))
    desk.run(5.0, FOLLOW)
    away = max(np.linalg.norm(p - H[:3, 3]) for _, p, _ in desk.targets)
    assert 0.5 * LEAD * SPEED < away <= LEAD * SPEED + 1e-9
    desk.run(1.0)
    _, p, wxyz = desk.targets[-1]
    np.testing.assert_allclose(p, H[:3, 3], atol=1e-9)
    np.testing.assert_allclose(turn(wxyz), H[:3, :3], atol=1e-9)
    assert abs(np.dot(wxyz, quaternion(H[:3, :3]))) == pytest.approx(1.0)


def test_the_handle_goes_to_another_frame_of_the_controller(aimed):
    """A target of the old frame would be none of the new one."""
    desk = aimed(simulated=False)
    pull(desk, (0.3, 0.0, 0.0))
    desk.give(**{'task.frame': 'link_5'})
    desk.look()
    np.testing.assert_allclose(desk.drawn('target')['position'],
                               ROBOT.pose(START, 'link_5')[:3, 3], atol=1e-6)
    desk.forget()
    desk.run(0.8, FOLLOW)
    assert not desk.targets
