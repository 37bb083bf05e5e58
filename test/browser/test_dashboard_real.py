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
"""A robot that is not simulated: it moves while a button is held, and no longer."""

from contextlib import contextmanager
import time

from cdp import until
from chrome import held, PATIENCE, tick, unfold, wait
from demo import ask, choose, MODEL, revive, shown, started
from isolation import own_domain
import pytest
from rbd_ros.control.modes.modes import Takes, taking
from rbd_ros.nodes.description import built_in_robot

FOLLOWING = taking(Takes.TRAJECTORY)[0]
JOINT = MODEL.joint_names[0]
HOLD = 'Hold to move'
FAR = 2.5, -2.5  # rad: two places, each some seconds away from the other
AWAY = 0.1  # rad of a motion that is seen
PAUSE = 2.0  # s in which a robot that is told to hold comes to rest


@pytest.fixture(scope='module')
def page(empty_page, tmp_path_factory):
    """Start a driver with another name than the simulator has, and what commands its robot."""
    with own_domain(), \
            started('run', 'rbd_ros', 'simulator', '--ros-args', '-r', '__node:=driver'), \
            shown(empty_page, tmp_path_factory.mktemp('real'), f'urdf:={built_in_robot()}',
                  'autostart:=true', 'allow_commands:=true') as made:
        choose(made, FOLLOWING)
        unfold(made, 'Joints')
        tick(made, 'Drive the joints')
        yield made


@pytest.fixture
def goal(page, watcher):
    """Ask for a place that is far away; while no button is held the robot stays where it is."""
    revive(page)
    far = max(FAR, key=lambda q: abs(q - watcher.q[0]))
    wait(lambda: ask(page, JOINT, far) is None, 'the slider')
    time.sleep(PAUSE)
    assert not watcher.moves(PAUSE)
    return far


@contextmanager
def moving(page, watcher, button, goal):
    """Hold a button while the robot is on its way; anew if the machine stalls before."""
    for _ in range(5):
        revive(page)
        if button == HOLD:  # after a reset the sliders are elsewhere
            wait(lambda: ask(page, JOINT, goal) is None, 'the slider')
        before = watcher.q[0]
        with held(page, button):
            try:
                until(lambda: abs(watcher.q[0] - before) > AWAY, 'a motion', PATIENCE / 5.0)
            except AssertionError:
                continue
            assert abs(watcher.q[0] - goal) < abs(before - goal)
            yield
            return
    pytest.fail('no motion')


def assert_at_rest(watcher, goal):
    """Have the robot stand still, and not because it has arrived."""
    time.sleep(PAUSE)
    assert not watcher.moves(PAUSE)
    assert abs(watcher.q[0] - goal) > AWAY


def test_the_page_takes_it_for_a_real_robot(page):
    """It says what to hold, and offers nothing that only a simulated one can do."""
    wait(lambda: f'keep {HOLD} pressed' in page.text, 'what to do')
    assert 'Back to the start pose' not in page.text and 'Push, N' not in page.text


def test_a_slider_moves_it_while_the_button_is_held(page, watcher, goal):
    """It begins with the press, and ends after the release."""
    with moving(page, watcher, HOLD, goal):
        pass
    assert_at_rest(watcher, goal)


@pytest.mark.parametrize(('button', 'sense'), [('+', 1.0), ('−', -1.0)], ids=['plus', 'minus'])
def test_a_jog_button_moves_it_while_it_is_held(page, watcher, button, sense):
    """In its own sense, wherever it is, and no further after the release."""
    with moving(page, watcher, button, watcher.q[0] + 10.0 * sense):
        pass
    time.sleep(PAUSE)
    assert not watcher.moves(PAUSE)


def test_a_page_that_is_closed_while_it_is_held_stops_it(page, watcher, goal):
    """The robot does not go on without anybody who looks; nothing on the page raised an error."""
    assert not page.complaints()
    with moving(page, watcher, HOLD, goal):
        page.close()
    assert_at_rest(watcher, goal)
