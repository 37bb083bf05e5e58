# Copyright 2026 the rbd_ros developers
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.
"""What a person drives with the mouse: sliders, buttons that are held, and the robot itself."""

from itertools import cycle
import time

from chrome import COARSE, field, fill, held, picture, scenery, tick, unfold, wait
from demo import choose, MODEL, reset, System, Watcher
from isolation import own_domain
import numpy as np
import pytest
from rbd_ros.control.modes.modes import DEFAULT, Takes, taking
from rbd_ros.view.scene import link_poses
import rclpy
from sight import pixel

FOLLOWING = taking(Takes.TRAJECTORY)[0]
PULLED = 'link_5'
SPEED = np.array(MODEL.velocity_limit)


@pytest.fixture(scope='module')
def page(empty_page, tmp_path_factory):
    """Start robot, controller and dashboard, and open its page."""
    with own_domain():
        system = System(tmp_path_factory.mktemp('dashboard') / 'log')
        try:
            empty_page.get(system.url + COARSE.replace('/?', '&'))
            empty_page.system = system
            wait(lambda: 'State running' in empty_page.text, 'the controller')
            yield empty_page
        finally:
            system.end()


@pytest.fixture(scope='module')
def watcher(page):
    """Give a watcher."""
    rclpy.init()
    made = Watcher()
    yield made
    made.close()
    rclpy.shutdown()


def send_to(page, watcher, joint, goal):
    """Move a slider, and wait until its joint is there."""
    name = MODEL.joint_names[joint]

    def there():
        if 'State running' not in page.text:  # the machine stalled, and the sliders jumped
            reset(page)
        # of two fields the first is hidden, that of the slider
        if float(field(page, name, 2).value or 'nan') != goal:
            fill(page, name, f'{goal:g}', 2)
        return abs(watcher.states[-1][1][joint] - goal) < 0.02
    wait(there, f'{name} at {goal}')


def test_a_link_is_pulled_with_the_mouse(page, watcher):
    """The floating arm goes where the mouse goes, and an arrow shows the pull."""
    tick(page, 'Pull at the links with the mouse')
    canvas = page.find('canvas')
    left, top, width, height = canvas.box

    def place():
        return np.array(pixel(MODEL, link_poses(MODEL, watcher.states[-1][1])[PULLED][0],
                              (width, height)))

    def golden():
        image = scenery(page)
        return ((image[..., 0] > 190) & (image[..., 1] > 120) & (image[..., 2] < 110)).sum()
    unfold(page, 'Show')
    tick(page, 'Inertia at the tool')  # it would be as golden
    ways = cycle((-12.0, 12.0))

    def pulled():
        if 'State running' not in page.text:  # the machine stalled
            reset(page)
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


def test_a_slider_moves_a_joint(page, watcher):
    """In a fitting mode, which the page asks for first; no faster than the page says."""
    unfold(page, 'Joints')
    tick(page, 'Drive the joints')
    wait(lambda: f'The mode is {DEFAULT}: choose {FOLLOWING}' in page.text, 'what is missing')
    choose(page, FOLLOWING)
    wait(lambda: 'Move a slider' in page.text, 'what to do')
    # of one digit: the page takes a zero behind the point away while more is typed
    goal = round(float(watcher.states[-1][1][0]) + 0.4, 1)
    del watcher.states[:-1]
    send_to(page, watcher, 0, goal)
    t, q = zip(*watcher.states, strict=True)
    # over half a second: times are those of arrival
    slow = [(b - a) / (late - early) for early, a, late, b in zip(t, q, t[250:], q[250:])
            if late - early > 0.3]
    assert slow and np.abs(slow).max(axis=0)[0] < 0.35 * SPEED[0]
    picture(page, 'dashboard_joints')


def test_a_jog_button_moves_a_joint_while_it_is_held(page, watcher):
    """It begins with the press, and ends after the release."""
    before = watcher.states[-1][1].copy()
    with held(page, '+'):
        wait(lambda: watcher.states[-1][1][0] > before[0] + 0.1, 'a motion')
    time.sleep(2.0)  # it comes to rest
    there = watcher.states[-1][1].copy()
    time.sleep(2.0)
    assert np.abs(watcher.states[-1][1] - there).max() < 0.01
