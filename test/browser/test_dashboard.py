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

import io
import os
from pathlib import Path
import re
import shutil
import signal
import socket
import subprocess
import time

from geometry_msgs.msg import PoseStamped
from isolation import own_domain
import numpy as np
from PIL import Image
import pytest
import rclpy
from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By

SIZE = (1200, 800)  # of the window
FOV = np.radians(75.0)  # vertical, of the page
EYE, LOOK = np.array([1.6, 1.2, 1.1]), np.array([0.0, 0.0, 0.4])
PATIENCE = 150.0  # s: a browser that draws without a graphics card is slow
PICTURES = os.environ.get('RBD_ROS_PICTURES', '')  # a folder: keep pictures for the documentation


def browser_or_reason():
    """Return the programs, or fail or skip with the reason."""
    programs = [shutil.which(name) for name in ('chromium', 'chromedriver')]
    if None in programs:
        reason = ('chromium and chromedriver are not installed: apt-get install chromium '
                  'chromium-driver')
        if os.environ.get('RBD_ROS_BROWSER') == 'required':
            pytest.fail(reason)
        pytest.skip(reason)
    return programs


class System:
    """The demo with its page, as the README starts it."""

    def __init__(self, log):
        with socket.socket() as probe:
            probe.bind(('127.0.0.1', 0))
            self.port = probe.getsockname()[1]
        self.log = log
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
        """End as Ctrl-C does."""
        os.killpg(self.process.pid, signal.SIGINT)
        try:
            self.process.wait(20.0)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


def wait(condition, what):
    """Wait until a condition holds; returns what it gives."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.2)
    raise AssertionError(f'{what}: not within {PATIENCE:g} s')


@pytest.fixture(scope='module')
def page(tmp_path_factory):
    """Start robot, controller, dashboard and browser; yields the browser."""
    chromium, driver = browser_or_reason()
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for word in ('--headless=new', '--no-sandbox', f'--window-size={SIZE[0]},{SIZE[1]}',
                 '--use-angle=swiftshader', '--enable-unsafe-swiftshader'):
        options.add_argument(word)
    options.set_capability('goog:loggingPrefs', {'browser': 'ALL'})
    with own_domain():
        system = System(tmp_path_factory.mktemp('dashboard') / 'log')
        try:
            browser = webdriver.Chrome(
                options=options, service=webdriver.ChromeService(executable_path=driver))
            try:
                browser.set_page_load_timeout(PATIENCE)
                browser.set_script_timeout(PATIENCE)
                browser.get(f'http://127.0.0.1:{system.port}')
                browser.system = system
                wait(lambda: 'State' in text(browser), 'the state of the controller')
                yield browser
            finally:
                browser.quit()
        finally:
            system.end()


def text(browser):
    """Return the words on the page."""
    return browser.find_element(By.TAG_NAME, 'body').text


def press(browser, label):
    """Press a button."""
    wait(lambda: [b for b in browser.find_elements(By.TAG_NAME, 'button') if b.text == label],
         label)[0].click()


def picture(browser, name):
    """Return what is seen, as numbers; keeps it for the documentation if asked to."""
    for notice in browser.find_elements(By.CSS_SELECTOR, '.mantine-Notification-closeButton'):
        notice.click()      # the browser draws without a graphics card, says viser
    data = browser.get_screenshot_as_png()
    if PICTURES:
        (Path(PICTURES) / f'{name}.png').write_bytes(data)
    return np.asarray(Image.open(io.BytesIO(data)).convert('RGB')).astype(int)


def pixel(point, size):
    """Return where a point of the scene is on the page."""
    ahead = (LOOK - EYE) / np.linalg.norm(LOOK - EYE)
    right = np.cross(ahead, [0.0, 0.0, 1.0])
    right /= np.linalg.norm(right)
    up = np.cross(right, ahead)
    d = np.asarray(point) - EYE
    scale = size[1] / 2.0 / np.tan(FOV / 2.0) / (d @ ahead)
    return size[0] / 2.0 + scale * (d @ right), size[1] / 2.0 - scale * (d @ up)


def test_the_robot_is_seen(page):
    """Where the arm is, the page has the colours of its URDF, and the torques have their bars."""
    def seen():
        image = picture(page, 'dashboard')[:, :SIZE[0] - 400]
        blue = (image[..., 2] > image[..., 0] + 40) & (image[..., 2] > 80)
        return blue.sum() > 300
    wait(seen, 'the blue joints of the arm')
    for k in range(1, 8):
        assert f'joint_{k}' in text(page)


def test_a_mode_is_switched(page):
    """A choice on the page goes to the controller, whose own word for it comes back."""
    box = page.find_element(By.CSS_SELECTOR, 'input[value="gravity_compensation"]')
    box.click()
    wait(lambda: [each for each in page.find_elements(By.CSS_SELECTOR, '[role="option"]')
                  if each.text == 'operational_space'], 'the list of modes')[0].click()
    wait(lambda: 'mode operational_space' in text(page), 'the new mode')


def test_a_target_is_dragged(page):
    """The handle of the target, pulled with the mouse, sends target poses."""
    rclpy.init()
    node = rclpy.create_node('watcher')
    poses = []
    node.create_subscription(PoseStamped, 'controller/target_pose', poses.append, 10)
    try:
        page.find_element(By.XPATH, '//label[text()="Drag a target"]/following::input[1]').click()
        canvas = page.find_element(By.TAG_NAME, 'canvas')
        size = canvas.size['width'], canvas.size['height']
        wait(lambda: pull(page, canvas, size, node, poses), 'a target from the mouse')
    finally:
        node.destroy_node()
        rclpy.shutdown()
    place = poses[-1].pose.position
    assert np.isfinite([place.x, place.y, place.z]).all()
    picture(page, 'dashboard_target')


def pull(browser, canvas, size, node, poses):
    """Pull at each of the three handles around the tool until a target pose is sent."""
    for axis in np.eye(3):
        for reach in (0.12, 0.2, 0.16):
            x, y = pixel(tool() + reach * axis, size)
            ActionChains(browser, duration=300).move_to_element_with_offset(
                canvas, int(x - size[0] / 2), int(y - size[1] / 2)).click_and_hold(
                ).move_by_offset(40, -30).release().perform()
            for _ in range(20):
                rclpy.spin_once(node, timeout_sec=0.05)
            if poses:
                return True
    return False


def tool():
    """Return where the tool of the built-in arm begins, m."""
    import rbd_ros
    from rbd_ros.nodes.description import built_in_robot, BUILT_IN_POSE
    robot = rbd_ros.Dynamics(rbd_ros.load_urdf(built_in_robot()))
    return robot.pose(np.array(BUILT_IN_POSE), 'tool0')[:3, 3]


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
    bad = [entry['message'] for entry in page.get_log('browser') if entry['level'] == 'SEVERE']
    assert not bad
