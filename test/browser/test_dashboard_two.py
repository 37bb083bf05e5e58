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
"""Two robots side by side on one page: each tab shows and commands its own."""

from contextlib import ExitStack
import time

from chrome import blue, field, picture, scenery, tick, unfold, wait
from demo import await_controller, MODEL, open_page, started, watching
from isolation import own_domain
import numpy as np
from ports import free_port
import pytest
from rbd_ros.model.urdf.resources import find_resource

PARAMETERS = find_resource('package://rbd_ros/config/simulator.yaml')
#: Where the robots begin, rad.
ROBOTS = {'left': [0.6, 0.3, 0.0, -1.0, 0.0, 0.7, 0.0],
          'right': [-0.4, 0.5, 0.0, -1.4, 0.0, 0.9, 0.0]}


@pytest.fixture(scope='module')
def page(empty_page, tmp_path_factory):
    """Start two robots and a dashboard for both, as the documentation does."""
    folder = tmp_path_factory.mktemp('two')
    with own_domain(), ExitStack() as stack, (folder / 'log').open('w') as log:
        for name, q in ROBOTS.items():
            file = folder / f'{name}.yaml'
            file.write_text(f'{PARAMETERS.read_text()}\n      initial_positions: {q}\n')
            stack.enter_context(started(
                'launch', 'rbd_ros', 'controller.launch.py', f'namespace:={name}',
                f'simulator_params_file:={file}'))
        stack.enter_context(started(
            'run', 'rbd_ros', 'dashboard', '--ros-args', '-p', f'robots:=[{", ".join(ROBOTS)}]',
            '-p', 'allow_commands:=true', '-p', f'port:={free_port()}',
            log=log, XDG_STATE_HOME=str(folder)))
        open_page(empty_page, folder / 'log')
        for name in ROBOTS:
            turn_to(empty_page, name)
            await_controller(empty_page)
        yield empty_page


@pytest.fixture(scope='module')
def watchers(page):
    """Give a node that hears each robot."""
    with ExitStack() as stack:
        yield {name: stack.enter_context(watching(name)) for name in ROBOTS}


def turn_to(page, name):
    """Choose the tab of a robot."""
    def chosen():
        tab = next((each for each in page.find_all('[role="tab"]') if each.text == name), None)
        if tab and tab.call("function () { return this.getAttribute('aria-selected'); }"
                            ) == 'true':
            return True
        if tab:
            tab.press('Enter')
        return False
    wait(chosen, f'the tab "{name}"')


def test_each_tab_shows_its_own_robot(page, watchers):
    """Its sliders are where its joints are; the robots are beside each other in the scene."""
    for name, watcher in watchers.items():
        turn_to(page, name)
        unfold(page, 'Joints')

        def shown(watcher=watcher):
            sliders = [float(field(page, joint, 2).value) for joint in MODEL.joint_names]
            return np.abs(sliders - watcher.q).max() < 0.02
        wait(shown, f'the joints of "{name}"')
    first, second = (watcher.q for watcher in watchers.values())
    assert np.abs(first - second).max() > 0.2  # they have not been mixed up

    def beside():
        columns = blue(scenery(page)).sum(axis=0)
        middle = np.flatnonzero(columns)[[0, -1]].mean().round().astype(int)
        # both have as much of it, and between them there is nothing
        return (min(columns[:middle].sum(), columns[middle:].sum()) > 300
                and not columns[middle - 10:middle + 10].any())
    wait(beside, 'two robots')
    picture(page, 'dashboard_two')


def test_a_pause_is_for_the_robot_of_the_tab(page, watchers):
    """The one stands, as its tab says; the other goes on, as does its tab."""
    left, right = watchers.values()
    turn_to(page, 'left')
    tick(page, 'Pause the simulator')
    wait(lambda: 'pause: paused' in page.text, 'the answer')
    wait(lambda: time.monotonic() > left.states[-1].time + 2.0, 'the end of its states')
    count = len(right.states)
    wait(lambda: 'No joint states' in page.text, 'the loss of states')
    wait(lambda: len(right.states) > count + 100, 'states of the other')
    turn_to(page, 'right')
    assert 'No joint states' not in page.text and 'pause: paused' not in page.text
    assert not field(page, 'Pause the simulator').checked
    turn_to(page, 'left')
    count = len(left.states)
    tick(page, 'Pause the simulator')
    wait(lambda: len(left.states) > count + 100, 'its states')


def test_the_browser_has_no_complaint(page):
    """Nothing on the page raised an error."""
    assert not page.complaints()
