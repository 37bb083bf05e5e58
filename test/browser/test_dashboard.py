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
import signal
import time

from chrome import blue, field, fill, picture, press, scenery, select, tick, unfold, wait
from demo import choose, drag_target, pid, reset, revive, ROBOT, shown
from geometry_msgs.msg import PoseStamped
from isolation import own_domain
import numpy as np
from plots import lines
import pytest
from rbd_ros.view.figures import COLOURS


@pytest.fixture(scope='module')
def page(empty_page, tmp_path_factory):
    """Start robot, controller and dashboard, and open its page."""
    with own_domain(), shown(empty_page, tmp_path_factory.mktemp('dashboard')) as made:
        yield made


def test_the_robot_is_seen(page):
    """Where the arm is, the page has the colours of its URDF, and the torques have their bars."""
    wait(lambda: blue(scenery(page)).sum() > 1000, 'the blue joints of the arm')
    for k in range(1, 8):
        assert f'joint_{k}' in page.text
    picture(page, 'dashboard')


def test_a_number_of_the_loop_is_plotted(page):
    """Each that can be chosen is drawn as it is measured; without a choice none is."""
    assert not page.find_all('.uplot canvas')
    unfold(page, 'Loop over time')
    for number, low, high in (('Joint states, Hz', 1.0, 2000.0), ('Latency, ms', 0.0, 1000.0),
                              ('Condition number', 1.0, np.inf)):
        select(page, 'Number', number)

        def drawn(title=number, low=low, high=high):
            found = lines(page, title)  # the first ones after a start may be of a stall
            return (found is not None and found.shape[1] > 5 and low < found[1, -1] < high
                    and (np.diff(found[0]) > 0.0).all())
        wait(drawn, f'the plot of {number}')
    select(page, 'Number', 'choose one')
    wait(lambda: not page.find_all('.uplot canvas'), 'the end of the plot')
    unfold(page, 'Loop over time')


def test_manipulability_is_an_ellipsoid(page):
    """It is drawn when its box is ticked, and gone when it is not."""
    def green():
        image = scenery(page)
        return ((image[..., 1] > image[..., 0] + 25) & (image[..., 1] > image[..., 2] + 10)).sum()
    before = green()
    unfold(page, 'Show')
    tick(page, 'Manipulability')
    wait(lambda: green() > before + 500, 'the ellipsoid')
    picture(page, 'dashboard_ellipsoids')
    tick(page, 'Manipulability')
    wait(lambda: green() < before + 100, 'its end')
    unfold(page, 'Show')


def test_the_robot_is_pushed(page, watcher):
    """A floating arm goes where a force along the axes of its tool must send it."""
    f = np.concatenate([np.zeros(3), (0.0, -8.0, 0.0)])
    for number, force in enumerate(('0', '-8', '0'), 1):
        fill(page, 'Push, N', force, number)

    def pushed():
        revive(page)
        q = watcher.q
        del watcher.states[:-1]
        press(page, 'Push')
        wait(lambda: np.abs(watcher.q - q).max() > 0.1, 'a motion')
        moved = next(
            state.q for state in watcher.states if np.abs(state.q - q).max() > 0.02) - q
        return q, moved, 'State running' in page.text
    q, moved, _ = wait(lambda: (found := pushed())[2] and found, 'a push without a stall')
    expected = np.linalg.solve(ROBOT.mass_matrix(q), ROBOT.jacobian(q, 'tool0').T @ f)
    assert moved @ expected > 0.8 * np.linalg.norm(moved) * np.linalg.norm(expected)
    time.sleep(1.0)
    # it ends by itself: a tool that is pushed on would be away by metres
    assert np.abs(watcher.q - q).max() < 1.0


def test_a_mode_is_switched(page):
    """A choice on the page goes to the controller, whose own word for it comes back."""
    choose(page, 'operational_space')


def test_a_target_is_dragged(page, watcher):
    """The handle of the target, pulled with the mouse, sends target poses."""
    poses = watcher.hear(PoseStamped, 'controller/target_pose')
    tick(page, 'Drag a target')
    drag_target(page, watcher, poses)
    place = poses[-1].pose.position
    assert np.isfinite([place.x, place.y, place.z]).all()
    picture(page, 'dashboard_target')
    tick(page, 'Drag a target')


def test_numbers_are_those_of_the_controller_and_are_sent_by_a_button(page, watcher):
    """What is typed goes to the controller when Apply is pressed, not before; it may refuse."""
    names = ('payload.mass', 'stiffness', 'damping', 'gravity')
    before = watcher.parameters(*names)
    assert before == {'payload.mass': 0.0, 'stiffness': [400.0], 'damping': [40.0],
                      'gravity': [0.0, 0.0, -9.81]}

    def values():
        return [box.value for box in page.find_all('input')]
    wait(lambda: {'400', '40', '-9.81'} <= set(values()), 'stiffness, damping and gravity')
    unfold(page, 'Adjust')
    fill(page, 'Payload', '0.2')
    fill(page, 'Stiffness', '410')
    fill(page, 'Damping', '41')
    fill(page, 'Gravity', '-9.79', 3)
    time.sleep(2.5)  # the page has read the numbers of the controller again
    assert {'0.2', '410', '41', '-9.79'} <= set(values())
    assert watcher.parameters(*names) == before
    press(page, 'Apply')
    after = {'payload.mass': 0.2, 'stiffness': [410.0], 'damping': [41.0],
             'gravity': [0.0, 0.0, -9.79]}
    wait(lambda: watcher.parameters(*names) == after, 'the numbers in the controller')
    wait(lambda: 'payload.mass 0.2, stiffness 410: set' in page.text, 'the answer')
    fill(page, 'Payload', '500')
    press(page, 'Apply')
    wait(lambda: 'payload.mass 500.0: refused' in page.text, 'the refusal')
    wait(lambda: '0.2' in values(), 'the number that holds')
    assert watcher.parameters(*names) == after
    picture(page, 'dashboard_adjust')
    unfold(page, 'Adjust')


def test_springs_are_seen_and_changed_in_their_units(page, watcher):
    """In an impedance mode wires, numbers in N/m and fields are those of its springs."""
    revive(page)
    before = field(page, 'Mode').value

    def wires():
        image = scenery(page)
        return ((image[..., 2] > image[..., 0] + 60) & (image[..., 2] > image[..., 1] + 40)).sum()
    bare = wires()
    choose(page, 'cartesian_impedance')
    wait(lambda: 'Stiffness at the tool: 500 N/m, 500 N/m, 500 N/m' in page.text, 'the numbers')
    wait(lambda: wires() > bare + 100, 'the wires')
    unfold(page, 'Show')
    with_wires = wires()
    picture(page, 'dashboard_stiffness')
    tick(page, 'Stiffness at the tool')
    wait(lambda: wires() < with_wires - 100, 'the arm without wires')
    assert 'Stiffness at the tool: 5' not in page.text
    without = wires()
    tick(page, 'Stiffness at the tool')

    def again():
        revive(page)
        return wires() > without + 100
    wait(again, 'the wires')
    unfold(page, 'Show')
    unfold(page, 'Adjust')
    fill(page, 'Linear stiffness, N/m', '900', 3)
    press(page, 'Apply')
    name = 'cartesian_impedance.linear_stiffness'
    wait(lambda: watcher.parameters(name) == {name: [500.0, 500.0, 900.0]}, 'the new stiffness')
    wait(lambda: 'Stiffness at the tool: 500 N/m, 500 N/m, 900 N/m' in page.text, 'its number')
    picture(page, 'dashboard_springs')
    unfold(page, 'Adjust')
    choose(page, before)


def test_measured_and_predicted_torque_are_compared(page):
    """There is a table with the difference of each joint."""
    title = 'Measured and predicted torque'
    unfold(page, title)
    wait(lambda: 'rms difference' in page.text, 'the table')
    assert 'effort in joint_states' in page.text
    time.sleep(2.0)
    picture(page, 'dashboard_torques')
    unfold(page, title)


def test_the_simulator_pauses(page, watcher):
    """Its time stops, which the page says, and goes on."""
    tick(page, 'Pause the simulator')
    wait(lambda: 'pause: paused' in page.text, 'the answer')
    wait(lambda: time.monotonic() > watcher.states[-1].time + 2.0, 'the end of states')
    wait(lambda: 'No joint states' in page.text, 'the loss of states')
    count = len(watcher.states)
    tick(page, 'Pause the simulator')
    wait(lambda: 'continue: running' in page.text, 'the answer')
    wait(lambda: len(watcher.states) > count + 100, 'the states')
    wait(lambda: 'No joint states' not in page.text, 'the states on the page')
    revive(page)


def test_a_torque_at_its_limit_has_a_red_bar(page, watcher):
    """Pushed by more than it may hold, joint_4 is at its limit; Reset clears what follows."""
    page.run("""window.colours = new Set();
        window.looks = setInterval(() => document.querySelectorAll('.torques div div').forEach(
            bar => window.colours.add(bar.style.backgroundColor)), 20);""")
    q = watcher.q
    lever = ROBOT.jacobian(q, 'tool0')[3:, 3]  # of a force at the tool, about joint_4
    force = 35.0 * lever / np.linalg.norm(lever) * np.sign(-ROBOT.gravity(q)[3])
    for number, part in enumerate(force, 1):
        fill(page, 'Push, N', f'{part:.0f}', number)
    red = 'rgb({}, {}, {})'.format(*bytes.fromhex(COLOURS[2][1:]))

    def seen():
        revive(page)  # after a push that was too long, too
        press(page, 'Push')
        time.sleep(1.0)
        return red in page.run('[...window.colours]')
    wait(seen, 'a red bar')
    page.run('clearInterval(window.looks)')
    reset(page)


def test_a_stop_is_carried_out(page):
    """The red button stops the robot, and the page says so."""
    revive(page)
    press(page, 'Stop')
    wait(lambda: 'stop requested' in page.text, 'the fault')
    reset(page)
    assert 'stop requested' not in page.text


def test_a_controller_that_vanished_is_named(page):
    """A controller that was killed is missed on the page, which goes on."""
    os.kill(pid(page, 'controller'), signal.SIGKILL)
    wait(lambda: 'The controller has vanished' in page.text, 'the loss')


def test_the_browser_has_no_complaint(page):
    """Nothing on the page raised an error."""
    assert not page.complaints()
