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
"""The dashboard in a real browser: it shows the robot, drives it, and says what is wrong."""

import os
import re
import signal
import subprocess
import time

from chrome import (
    browser, complaints, free_port, picture, press, programs_or_reason, scenery, text, tick,
    unfold, wait)
from geometry_msgs.msg import PoseStamped
from isolation import own_domain
import numpy as np
import pytest
import rbd_ros
from rbd_ros.nodes.description import BUILT_IN_POSE, built_in_robot
from rbd_ros.view.scene import stand
import rclpy
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By

FOV = np.radians(75.0)  # vertical, of the page
MODEL = rbd_ros.load_urdf(built_in_robot())


class System:
    """The demo with its page, as the README starts it."""

    def __init__(self, log):
        self.port, self.log = free_port(), log
        self.process = subprocess.Popen(
            ['ros2', 'launch', 'rbd_ros', 'controller.launch.py', 'dashboard:=true',
             f'dashboard_port:={self.port}'], stdout=log.open('w'), stderr=subprocess.STDOUT,
            start_new_session=True)
        wait(lambda: f'open http://127.0.0.1:{self.port}' in log.read_text(), 'the page')

    def pid(self, name):
        """Return the process of a node."""
        found = re.search(rf'\[{name}-\d+\]: process started with pid \[(\d+)\]',
                          self.log.read_text())
        return int(found[1])

    def end(self):
        """End as Ctrl-C does; the page ends without a fault."""
        os.killpg(self.process.pid, signal.SIGINT)
        try:
            self.process.wait(20.0)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        assert re.search(r'\[dashboard-\d+\]: process has finished cleanly', self.log.read_text())


@pytest.fixture(scope='module')
def page(tmp_path_factory):
    """Start robot, controller, dashboard and browser; yields the browser."""
    programs_or_reason()
    with own_domain():
        system = System(tmp_path_factory.mktemp('dashboard') / 'log')
        try:
            with browser() as shown:
                shown.get(f'http://127.0.0.1:{system.port}')
                shown.system = system
                wait(lambda: 'State' in text(shown), 'the state of the controller')
                yield shown
        finally:
            system.end()


@pytest.fixture(scope='module')
def watcher(page):
    """Give a node in the domain of the page."""
    rclpy.init()
    node = rclpy.create_node('watcher')
    yield node
    node.destroy_node()
    rclpy.shutdown()


def pixel(point, size):
    """Return where a point of the scene is on the page."""
    eye, look, _ = stand(MODEL)
    ahead = np.subtract(look, eye) / np.linalg.norm(np.subtract(look, eye))
    right = np.cross(ahead, [0.0, 0.0, 1.0])
    right /= np.linalg.norm(right)
    up = np.cross(right, ahead)
    d = np.asarray(point) - eye
    scale = size[1] / 2.0 / np.tan(FOV / 2.0) / (d @ ahead)
    return size[0] / 2.0 + scale * (d @ right), size[1] / 2.0 - scale * (d @ up)


def test_the_robot_is_seen(page):
    """Where the arm is, the page has the colours of its URDF, and the torques have their bars."""
    def seen():
        image = scenery(page)
        blue = (image[..., 2] > image[..., 0] + 40) & (image[..., 2] > 80)
        return blue.sum() > 1000
    wait(seen, 'the blue joints of the arm')
    wait(lambda: 'running' in text(page), 'the supervisor')
    for k in range(1, 8):
        assert f'joint_{k}' in text(page)
    picture(page, 'dashboard')


def test_plots_have_what_the_controller_measures(page):
    """Unfolded, each of the three is drawn."""
    count = len(page.find_elements(By.CSS_SELECTOR, '.uplot canvas'))
    for title in ('Joint states, Hz', 'Latency, ms', 'Condition number'):
        unfold(page, title)
    wait(lambda: len(page.find_elements(By.CSS_SELECTOR, '.uplot canvas')) >= max(3, count),
         'the plots')
    time.sleep(2.0)
    picture(page, 'dashboard_plots')
    for title in ('Joint states, Hz', 'Latency, ms', 'Condition number'):
        unfold(page, title)


def test_a_mode_is_switched(page):
    """A choice on the page goes to the controller, whose own word for it comes back."""
    box = page.find_element(By.CSS_SELECTOR, 'input[value="gravity_compensation"]')
    page.execute_script('arguments[0].scrollIntoView({block: "center"})', box)
    box.click()
    wait(lambda: [each for each in page.find_elements(By.CSS_SELECTOR, '[role="option"]')
                  if each.text == 'operational_space'], 'the list of modes')[0].click()
    wait(lambda: 'mode operational_space' in text(page), 'the new mode')


def test_a_target_is_dragged(page, watcher):
    """The handle of the target, pulled with the mouse, sends target poses."""
    poses = []
    watcher.create_subscription(PoseStamped, 'controller/target_pose', poses.append, 10)
    tick(page, 'Drag a target')
    canvas = page.find_element(By.TAG_NAME, 'canvas')
    size = canvas.size['width'], canvas.size['height']
    wait(lambda: pull(page, canvas, size, watcher, poses), 'a target from the mouse')
    place = poses[-1].pose.position
    assert np.isfinite([place.x, place.y, place.z]).all()
    picture(page, 'dashboard_target')
    tick(page, 'Drag a target')


def pull(page, canvas, size, node, poses):
    """Pull at each of the three handles around the tool until a target pose is sent."""
    for axis in np.eye(3):
        for reach in (0.12, 0.2, 0.16):
            x, y = pixel(tool() + reach * axis, size)
            ActionChains(page, duration=300).move_to_element_with_offset(
                canvas, int(x - size[0] / 2), int(y - size[1] / 2)).click_and_hold(
                ).move_by_offset(40, -30).release().perform()
            for _ in range(20):
                rclpy.spin_once(node, timeout_sec=0.05)
            if poses:
                return True
    return False


def tool():
    """Return where the tool of the built-in arm begins, m."""
    return rbd_ros.Dynamics(MODEL).pose(np.array(BUILT_IN_POSE), 'tool0')[:3, 3]


def test_gains_are_those_of_the_controller(page):
    """The page shows what the controller has, not numbers of its own."""
    def values():
        return [box.get_attribute('value') for box in page.find_elements(By.TAG_NAME, 'input')]
    wait(lambda: {'400', '40', '-9.81'} <= set(values()), 'stiffness, damping and gravity')


def test_a_stop_is_carried_out(page):
    """The red button stops the robot, and the page says so."""
    press(page, 'Stop')
    wait(lambda: 'stop requested' in text(page), 'the fault')
    press(page, 'Reset')
    wait(lambda: 'stop requested' not in text(page), 'the reset')


def test_a_controller_that_vanished_is_named(page):
    """A controller that was killed is missed on the page, which goes on."""
    os.kill(page.system.pid('controller'), signal.SIGKILL)
    wait(lambda: 'The controller has vanished' in text(page), 'the loss')


def test_the_browser_has_no_complaint(page):
    """Nothing on the page raised an error."""
    assert not complaints(page)
