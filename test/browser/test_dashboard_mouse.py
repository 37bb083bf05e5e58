# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What a person drives with the mouse: sliders, buttons that are held, and the robot itself."""

from itertools import cycle
import time

from chrome import held, picture, scenery, tick, unfold, wait
from demo import ask, choose, drag_target, MODEL, revive
from geometry_msgs.msg import PoseStamped
import numpy as np
import pytest
from rbd_env.pace import patient
from rbd_ros.control.modes import DEFAULT, Takes, taking
from rbd_ros.nodes.dashboard.joint_drive import USUAL
from rbd_ros.spatial import quaternion
from rbd_ros.view.scene import link_poses
from sight import pixel

#: each takes a minute: one of the pages is drawn
pytestmark = pytest.mark.sampled('launches', 1, pool='pages')

FOLLOWING, AIMING = taking(Takes.TRAJECTORY)[0], taking(Takes.TARGET)[0]
PULLED = 'link_5'
SPEED = np.array(MODEL.velocity_limit)


def send_to(page, watcher, joint, goal):
    """Move a slider, and wait until its joint is there; say whether the robot ran all the way."""
    name, stalls = MODEL.joint_names[joint], []

    def there():
        if revive(page):
            stalls.append(time.monotonic())
        ask(page, name, goal)  # again after a stall, at which the sliders jump
        return abs(watcher.q[joint] - goal) < 0.02
    wait(there, f'{name} at {goal}')
    return not stalls


def test_a_link_is_pulled_with_the_mouse(page, watcher):
    """The floating arm goes where the mouse goes, and an arrow shows the pull."""
    tick(page, 'Pull at the links with the mouse')
    canvas = page.find('canvas')
    left, top, width, height = canvas.box

    def place():
        return np.array(pixel(MODEL, link_poses(MODEL, watcher.q)[PULLED][0],
                              (width, height)))

    def golden():
        image = scenery(page)
        return ((image[..., 0] > 190) & (image[..., 1] > 120) & (image[..., 2] < 110)).sum()
    unfold(page, 'Show')
    tick(page, 'Inertia at the tool')  # it would be as golden
    ways = cycle((-12.0, 12.0))

    def pulled():
        revive(page)
        before, few, way = place(), golden(), next(ways)
        x, y = before + (left, top)
        page.mouse('mouseMoved', x, y)
        time.sleep(0.3)  # what lies under the mouse is looked for once a picture
        page.mouse('mousePressed', x, y, buttons=1)
        try:
            for k in range(1, 11):
                page.mouse('mouseMoved', x + way * k, y, buttons=1)
                time.sleep(0.1)
            many = golden()
            picture(page, 'dashboard_pull')
        finally:
            page.mouse('mouseReleased', x + 10.0 * way, y)
        return (place()[0] - before[0]) * np.sign(way) > 15.0 and many > few + 20
    wait(pulled, 'a link that follows the mouse')
    tick(page, 'Inertia at the tool')
    unfold(page, 'Show')
    tick(page, 'Pull at the links with the mouse')
    assert not page.complaints()  # as of a press that the page keeps without the right to


def test_a_slider_moves_a_joint(page, watcher):
    """In a fitting mode, which the page asks for first; no faster than the page says."""
    unfold(page, 'Joints')
    tick(page, 'Drive the joints')
    wait(lambda: f'The mode is {DEFAULT}: choose {FOLLOWING}' in page.text, 'what is missing')
    choose(page, FOLLOWING)
    wait(lambda: 'Move a slider' in page.text, 'what to do')

    def moved():
        # of one digit: the page takes a zero behind the point away while more is typed
        way = -0.9 if watcher.q[0] > 0.0 else 0.9  # long enough to reach the full speed
        goal = round(float(watcher.q[0]) + way, 1)
        del watcher.states[:-1]
        return send_to(page, watcher, 0, goal)
    wait(moved, 'a motion during which the machine does not stall')
    t, q = zip(*((state.stamp, state.q[0]) for state in watcher.states), strict=True)
    early = np.arange(t[0], t[-1] - 0.2, 0.02)
    fastest = np.abs(np.interp(early + 0.2, t, q) - np.interp(early, t, q)).max() / 0.2
    assert 0.7 < fastest / (0.01 * USUAL * SPEED[0]) < 1.4
    picture(page, 'dashboard_joints')


def test_a_jog_button_moves_a_joint_while_it_is_held(page, watcher):
    """It begins with the press, and ends after the release."""
    before = watcher.q[0]

    def moved():
        revive(page)
        with held(page, '+'):
            end = time.monotonic() + 5.0  # after a stall it moves when it is pressed anew
            while not (there := watcher.q[0] > before + 0.1) and time.monotonic() < end:
                time.sleep(0.1)
        return there
    wait(moved, 'a motion')
    time.sleep(2.0)  # it comes to rest
    assert not watcher.moves(2.0)
    tick(page, 'Drive the joints')
    unfold(page, 'Joints')


def left(tool, goal):
    """Return how far the tool is from a goal, in place or turn."""
    at, turn = goal.position, goal.orientation
    pose = np.array([at.x, at.y, at.z]), np.array(
        quaternion.rotation((turn.x, turn.y, turn.z, turn.w)).to_list()).T
    return max(np.linalg.norm(a - b) for a, b in zip(pose, tool))


def test_the_tool_follows_the_target_that_is_dragged(page, watcher):
    """In a mode that takes targets it goes where the handle was pulled, and turns as that."""
    choose(page, AIMING)
    poses = watcher.hear(PoseStamped, 'controller/target_pose')

    def followed():
        revive(page)
        tick(page, 'Drag a target')
        del poses[:]
        begin = watcher.tool
        drag_target(page, watcher, poses)
        end = time.monotonic() + patient(4.0)  # slower where states are late: laws are soft then
        while not (there := left(watcher.tool, poses[-1].pose) < 0.02) and time.monotonic() < end:
            time.sleep(0.1)
        tick(page, 'Drag a target')
        return there and left(begin, poses[-1].pose) > 0.05
    wait(followed, 'the tool at its target')
    assert not page.complaints()
