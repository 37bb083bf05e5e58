# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""Robots that the page shows, cannot show, or shows in part; two of them, one to watch."""

import math
from pathlib import Path
import time

import numpy as np
from page_rig import ARM, HOLD, MODEL, page, PERIOD, Robot, START
import pytest
import rbd_ros
from rbd_ros.errors import RbdError
from rbd_ros.nodes.dashboard.node import Dashboard
from rbd_ros.nodes.dashboard.page import problems_text
from rbd_ros.nodes.dashboard.poses import ZERO
from rbd_ros.nodes.dashboard.robot_tab import DESCRIPTION_TIMEOUT
from rbd_ros.nodes.dashboard.telemetry import LATCHED
from rbd_ros.nodes.dashboard.torque_table import NOT_FOR
from rbd_ros.view.scene import link_poses
import rclpy
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String

URDF = ARM.read_text()
NAMES = MODEL.joint_names
LINK = ('<link name="{}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" '
        'ixz="0" iyz="0"/></inertial>{}</link>')
MESH = '<visual><geometry><mesh filename="{}"/></geometry></visual>'
JOINT = ('<joint name="{0}" type="{1}"><parent link="{2}"/><child link="{3}"/><axis xyz="0 0 1"/>'
         '<limit lower="-1" upper="1" effort="9" velocity="2"/></joint>')
TWO_ROOTS = '<robot name="r"><link name="a"/><link name="b"/></robot>'


@pytest.fixture
def waiting(tmp_path):
    """Give a page that waits for a description, and what publishes one."""
    with page(tmp_path, arm=False) as desk:
        tell = desk.robot.controller.create_publisher(String, '/robot_description', LATCHED)
        desk.until(tell.get_subscription_count, looks=False)

        def give(text):
            tell.publish(String(data=text))
        desk.give_robot = give
        yield desk


def says(desk, words):
    """Wait until the page says something."""
    def said():
        desk.node.update()
        return words in desk.shown()
    desk.until(said, words, looks=False)


def test_a_bad_robot_is_a_message_until_a_good_one_comes(waiting):
    """Whoever opens the page reads what is wrong; the process does not end."""
    desk = waiting
    desk.node.update()
    assert 'Waiting for the robot' in desk.shown() and not desk.node.problem
    desk.clock.now += DESCRIPTION_TIMEOUT + 1.0
    says(desk, 'No robot yet')
    desk.give_robot(TWO_ROOTS)
    says(desk, 'The robot cannot be shown')
    assert 'child of no joint' in desk.node.problem
    desk.give_robot(f'<robot name="rock">{LINK.format("a", "")}</robot>')
    says(desk, '"rock" has no movable joint')
    desk.give_robot(URDF)
    desk.until(lambda: desk.node.tabs[0].page)
    assert not desk.node.problem and 'cannot be shown' not in desk.shown()
    desk.give_robot(URDF.replace('effort="120"', 'effort="60"'))
    says(desk, 'still shows the first one')
    desk.give_robot(URDF)
    desk.until(lambda: 'still shows the first' not in desk.shown())


def test_a_robot_that_comes_while_another_one_is_tried(waiting, monkeypatch):
    """It is not lost."""
    desk, tab = waiting, waiting.node.tabs[0]
    make = tab._make

    def slow(text):
        monkeypatch.setattr(tab, '_make', make)
        desk.give_robot(URDF)
        ends = time.monotonic() + 0.3
        while time.monotonic() < ends:
            desk.spin()
        raise RbdError('it is bad')
    monkeypatch.setattr(tab, '_make', slow)
    desk.give_robot('bad')
    desk.until(lambda: tab.page)
    assert not desk.node.problem


def test_meshes_are_searched_beside_the_file_of_the_robot(tmp_path):
    """A path counts from the file; what is not there is named; a given robot is no other one."""
    (tmp_path / 'ball.obj').write_text(
        'v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n')
    (tmp_path / 'robot.urdf').write_text(
        f'<robot name="r">{LINK.format("a", MESH.format("ball.obj"))}'
        f'{LINK.format("b", MESH.format("gone.obj"))}{LINK.format("c", "")}'
        f'{JOINT.format("s", "prismatic", "a", "b")}{JOINT.format("j", "floating", "b", "c")}'
        '</robot>')
    with page(tmp_path, f'robot_description_file:={tmp_path}/robot.urdf', joints=['s']) as desk:
        tell = desk.robot.controller.create_publisher(String, '/robot_description', LATCHED)
        tell.publish(String(data=URDF))
        desk.until(tell.get_subscription_count)
        desk.robot.q = np.array([0.5])
        words = desk.text()
        assert 'b: mesh file "gone.obj" not found' in words and '"ball.obj"' not in words
        assert 'Another robot description' not in words
        assert desk.visitor.has('Torques, N.m or N')
        # nobody publishes the floating joint: its body is where the description has it
        np.testing.assert_allclose(desk.drawn('robot/c')['position'], [0.0, 0.0, 0.5])


def test_a_robot_with_loops_has_no_table_of_torques(tmp_path):
    """It says so, and offers nothing to remember; the rest of the page is there."""
    file = Path(__file__).parents[1] / 'urdf' / 'four_bar.urdf'
    joints = rbd_ros.load_urdf(file).independent_joint_names
    with page(tmp_path, f'robot_description_file:={file}', joints=joints) as desk:
        assert NOT_FOR in desk.text() and not desk.visitor.has('Remember')
        assert 'State running' in desk.text()


def test_of_many_missing_meshes_some_are_named():
    """The page is not filled with them."""
    text = problems_text([f'link_{k}: no mesh file' for k in range(8)])
    assert 'link\\_4' in text and 'link\\_5' not in text and 'and 3 more' in text
    assert 'more' not in problems_text(['link_0: no mesh file'])
    assert '//' not in problems_text(['link_0: no mesh file "package://a/b"'])  # can be broken


def test_a_joint_that_nobody_publishes_is_where_the_controller_has_it(tmp_path):
    """It is read from the parameters; until then nothing is drawn and no target is placed."""
    with page(tmp_path, joints=NAMES[:6]) as desk:
        desk.put('Drag a target', True)
        assert 'No joint states' in desk.text('Drive') and not desk.drawn('target')['visible']
        for name in ('inertia', 'manipulability', 'stiffness', 'force', 'stiffness_0'):
            assert not desk.drawn(f'~/{name}')['visible']  # at the base it would hide the robot
        count = desk.robot.controller.count_publishers
        assert count('/controller/target_pose') == 0
        desk.give(**{'fixed_positions.joints': [NAMES[6]], 'fixed_positions.values': [0.02]})
        desk.look(2)
        q = [*START[:6], 0.02]
        expected = link_poses(MODEL, q)['tool0'][0]
        np.testing.assert_allclose(desk.drawn('target')['position'], expected, atol=1e-6)
        np.testing.assert_allclose(desk.drawn('robot/tool0')['position'], expected, atol=1e-6)
        assert desk.drawn('target')['visible'] and desk.drawn('~/inertia')['visible']
        desk.until(lambda: count('/controller/target_pose') == 1)


def test_a_page_that_only_watches_neither_moves_nor_writes(tmp_path):
    """Its controls are grey, follow the robot, and do nothing whatever a browser sends."""
    with page(tmp_path, commands=False, simulated=False) as desk:
        for label in ('Drive the joints', HOLD, '+', 'Go to the pose', 'Save where it is', 'Stop',
                      'Reset', 'Drag a target', 'Add a point', 'Play', *NAMES):
            assert desk.part(label)['disabled'], label
        assert not desk.part(HOLD)['visible'] and not desk.part('Hold to follow')['visible']
        desk.put('Drive the joints', True)
        desk.put('joint_1', 1.0)
        desk.put('Pose', ZERO)
        desk.put('Name', 'other', 'Poses')
        for label in ('Go to the pose', 'Save where it is', 'Stop', 'Reset', 'Push', 'Apply',
                      'Back to the start pose', 'Forget the pose', 'Add a point', 'Play'):
            desk.press(label)
        assert 'only watches' in desk.text('Poses') and 'only watches' in desk.text('Teach')
        desk.put('Drag a target', True)
        desk.visitor.pull('target', (0.1, 0.2, 0.3))
        desk.run(1.0, HOLD)
        desk.run(1.0, '+', 'Hold to follow')
        desk.robot.q = np.where(np.arange(7) == 1, 0.5, START)
        desk.look(2)
        assert desk.value('joint_2') == 0.5 and desk.part('joint_2')['disabled']
        assert not any(desk.sent.values()) and not desk.robot.asked
        assert 'Nothing is sent' in desk.text() and not list(tmp_path.rglob('*.yaml'))
        topics = {each.topic_name.rpartition('/')[2] for each in desk.node.publishers}
        assert topics <= {'rosout', 'parameter_events'}  # there is nothing to send with
        assert [each.srv_name for each in desk.node.clients] == ['controller/get_parameters']
        assert desk.node.beside is None and not desk.visitor.has('Another robot')


def test_a_joint_without_limits(tmp_path):
    """It has a slider around it, on which a whole turn is no motion."""
    (tmp_path / 'r.urdf').write_text(
        f'<robot name="r">{LINK.format("a", "")}{LINK.format("b", "")}<joint name="j" '
        'type="continuous"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/></joint></robot>')
    with page(tmp_path, f'robot_description_file:={tmp_path}/r.urdf', joints=['j']) as desk:
        desk.begin(q=[3.1], simulated=True).tick('Drive the joints')
        slider = desk.part('j')
        assert (slider['min'], slider['max']) == pytest.approx((3.1 - math.pi, 3.1 + math.pi))
        desk.put('j', 3.5)
        last = 3.1
        for _ in range(80):
            desk.run(PERIOD, follows=False)
            if desk.points:
                assert abs(desk.path[-1][0] - last) <= 0.5 * 0.201
                last = desk.path[-1][0]
                desk.robot.q = [math.remainder(last, 2.0 * math.pi)]  # as drivers wrap it
        assert last == 3.5 and 'Move a slider: the robot goes there.' in desk.text('Joints')


def test_joints_that_the_controller_does_not_move(tmp_path):
    """A lesson leaves them out: they are not sent; others are, in the order of the robot."""
    with page(tmp_path, 'joints:=[joint_4, joint_2]', f'robot_description_file:={ARM}') as desk:
        goals = desk.robot.lead()
        for way in (0.0, 0.1):
            desk.robot.q = START + way
            desk.look()
            desk.press('Add a point')
        words = desk.text('Teach')
        assert '1. 0.80 -1.10' in words and '2. 0.90 -1.00' in words
        desk.press('Play')
        sent = []

        def done():
            while goals:
                sent.append(goals[0].request.trajectory)
                desk.robot.obey(goals.pop(0))
            return 'Played.' in desk.text('Teach')
        desk.until(done)
        assert all(tuple(each.joint_names) == ('joint_2', 'joint_4') for each in sent)
        ends = [list(each.points[-1].positions) for each in sent]
        np.testing.assert_allclose(ends, [[0.8, -1.1], [0.9, -1.0]], atol=1e-9)


@pytest.mark.parametrize('loop', ['simulator', 'simulator_loop'])
@pytest.mark.parametrize('namespace', ['', '/left'])
def test_who_moves_a_robot(tmp_path, loop, namespace):
    """Neither a service, nor states alone, nor states beside those of a driver are enough."""
    with page(tmp_path, f"robots:=['{namespace or 'alone'}']", robots=[], size=None) as desk:
        robots = namespace or '/alone'
        tell = rclpy.create_node('teller', namespace=robots, use_global_arguments=False)
        tell.create_publisher(String, 'robot_description', LATCHED).publish(String(data=URDF))
        desk.until(lambda: desk.node.tabs[0].page)
        shown = desk.node.tabs[0].page

        def simulated():
            desk.clock.now += 0.2
            return shown.simulated
        simulator = Robot.node('simulator', robots)
        states = simulator.create_publisher(
            JointState, 'joint_states', 1)
        desk.until(lambda: desk.node.count_publishers(states.topic_name) == 1)
        assert not simulated()
        listener = simulator if loop == 'simulator' else Robot.node(loop, robots)
        listener.create_subscription(Float64MultiArray, 'controller/commands', lambda _: None, 1)
        desk.until(simulated)
        tell.destroy_node()


def test_two_robots_have_a_tab_each(tmp_path):
    """States of one move no other; what is sent goes to the controller of the tab."""
    names, poses = ('left', 'cell/right'), (START, START - 0.3)
    with page(tmp_path, "robots:=['left', 'cell/right']", 'spacing:=2.0', robots=names) as desk:
        for robot, q in zip(desk.robots, poses, strict=True):
            robot.q = q
            tell = robot.controller.create_publisher(
                String, f'/{robot.controller.get_namespace().strip("/")}/robot_description',
                LATCHED)
            tell.publish(String(data=URDF))
        desk.until(lambda: all(tab.page for tab in desk.node.tabs))
        for robot in desk.robots:
            robot.say(state='running', mode='operational_space', fault='')
        desk.until(lambda: desk.look() or all('mode operational_space' in desk.shown(name)
                                              for name in names))
        for name, robot, q, side in zip(names, desk.robots, poses, (1.0, -1.0), strict=True):
            word = name.replace('/', '.')
            shown = [desk.visitor.look().find(joint, name)['value'] for joint in NAMES]
            np.testing.assert_allclose(shown, q, atol=2e-3)
            np.testing.assert_allclose(desk.drawn(f'/{word}')['position'], [0.0, side, 0.0])
            np.testing.assert_allclose(desk.drawn(f'/{word}/robot/tool0')['position'],
                                       link_poses(MODEL, q)['tool0'][0], atol=1e-6)
            desk.put('Drag a target', True, name)
            for each in names:
                topic = f'/{each}/controller/target_pose'
                desk.until(lambda topic=topic, here=each == name: (
                    robot.controller.count_publishers(topic) == here))
            desk.until(lambda: desk.look() or 'Target of' in desk.shown(name))
            desk.put('Drag a target', False, name)
            robot.asked.clear()
            desk.press('Stop', name)
            desk.until(lambda robot=robot: [each for each, _ in robot.asked] == ['stop'])
            assert [bool(each.asked) for each in desk.robots] == [
                each is robot for each in desk.robots]
            robot.asked.clear()


@pytest.mark.parametrize(('words', 'reason'), [
    *((f'robots:=[{", ".join(robots)}]', 'parameter robots') for robots in (
        ['left', 'left'], ['left', '/left'], ['left', 'a b'], ['left', '..'], ['left', "''"],
        ['a b'])),
    *((f'{name}:={value}', f'{name} belongs to one robot') for name, value in (
        ('robot_description_file', 'arm.urdf'), ('robot_description', '<robot/>'),
        ('joints', '[joint_1]'), ('frame', 'tool0')))])
def test_robots_that_cannot_be_told_apart_are_refused(words, reason):
    """And what belongs to one robot, where there are several: before anything is served."""
    given = [words] if words.startswith('robots') else ['robots:=[left, right]', words]
    rclpy.init(args=['--ros-args', *(part for each in given for part in ('-p', each))])
    try:
        with pytest.raises(RbdError, match=reason):
            Dashboard()
    finally:
        rclpy.shutdown()
