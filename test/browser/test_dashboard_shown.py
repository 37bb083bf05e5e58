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
"""What the page shows: a joint over time, events, history as a file, cameras, dark and small."""

import csv
from datetime import datetime
import re
import time

from builtin_interfaces.msg import Duration
from chrome import (
    blue, button, download, fill, picture, press, scenery, select, SIZE, tick, unfold, wait)
from control_msgs.msg import JointTrajectoryControllerState
from demo import choose, MODEL, reset, revive, ROBOT, shown
from isolation import own_domain
import numpy as np
from plots import lines
import pytest
from rbd_ros.control.modes.modes import DEFAULT, Takes, taking
from rbd_ros.nodes.dashboard.look import fitted, NEAR, PRESETS, THICK
from rbd_ros.view.scene import link_poses
from sight import FOV, project
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

FOLLOWING = taking(Takes.TRAJECTORY)[0]
K = 3  # the elbow, which carries most
NAME = MODEL.joint_names[K]
PUSH = 15.0  # N along x of the tool: what the page begins with
UPPER, LOWER, EVENT, MEASURED, SECOND, EXPECTED = range(1, 7)  # lines of a plot, after the time
PLOTTED = {'Position': ('position', 'reference_position'),
           'Velocity': ('velocity', 'reference_velocity'),
           'Torque': ('measured_torque', 'commanded_torque', 'expected_torque')}
PHONE = 390, 844
#: JavaScript: what is wider than the window; that the browser is slow is said by viser.
WIDER = """[...document.querySelectorAll('body *')].filter(each => {
    const box = each.getBoundingClientRect();
    return box.width && box.height && (box.left < -1 || box.right > innerWidth + 1)
        && !each.closest('[class*="Notification"]');
}).map(each => each.outerHTML.slice(0, 200))"""

#: JavaScript: what each plot shows of the time.
RANGES = """Object.values(window.__viserTestpoints.uplots).map(
    each => [each.chart.scales.x.min, each.chart.scales.x.max])"""


@pytest.fixture(scope='module')
def page(empty_page, tmp_path_factory):
    """Start robot, controller and dashboard, and open its page; the robot holds its place."""
    with own_domain(), shown(empty_page, tmp_path_factory.mktemp('shown')) as made:
        choose(made, FOLLOWING)
        yield made


@pytest.fixture(scope='module')
def heard(watcher):
    """Give what the controller says that it follows and sends, from now on."""
    return (watcher.hear(JointTrajectoryControllerState, 'controller/controller_state'),
            watcher.hear(Float64MultiArray, 'controller/commands'))


def drawn(page):
    """Return the lines of the three plots; None: one is not there."""
    found = [lines(page, f'{title} of {NAME}') for title in PLOTTED]
    return None if any(each is None or each.shape[1] < 10 for each in found) else found


def apart(plot, one, other):
    """Return by how much two lines differ at most."""
    return float(np.nanmax(np.abs(plot[one] - plot[other])))


def test_a_joint_is_plotted(page, watcher, heard):
    """Pushed, it leaves its reference, and its torque what the model expects, by the push."""
    unfold(page, 'Joint over time')
    select(page, 'Joint', NAME)
    q = watcher.q
    push = abs(ROBOT.jacobian(q, 'tool0')[3, K]) * PUSH

    def pushed():
        revive(page)
        press(page, 'Push')
        time.sleep(2.5)  # what is expected comes later
        found = drawn(page)
        # a robot that the busy machine made stop is no longer held: again, when that is past
        return (found and 2e-3 < apart(found[0], MEASURED, SECOND) < 0.1
                and apart(found[1], MEASURED, SECOND) > 0.01
                and 0.5 * push < apart(found[2], MEASURED, EXPECTED) < 2.0 * push and found)
    position, velocity, torque = wait(pushed, 'a push in the plots')
    for plot, low, high in ((position, MODEL.lower[K], MODEL.upper[K]),
                            (velocity, -MODEL.velocity_limit[K], MODEL.velocity_limit[K]),
                            (torque, -MODEL.effort_limit[K], MODEL.effort_limit[K])):
        assert (plot[LOWER] == low).all() and (plot[UPPER] == high).all()
        assert (np.diff(plot[0]) >= 0.0).all() and -10.0 < plot[0, -1] <= 0.0
    np.testing.assert_allclose(np.nanmedian(position[MEASURED:], axis=1), q[K], atol=0.02)
    # dry friction holds some of it
    np.testing.assert_allclose(np.nanmedian(torque[MEASURED:], axis=1), ROBOT.gravity(q)[K],
                               atol=1.5)


def greenness(image):
    """Return which part of a picture is green."""
    r, g, b = np.moveaxis(image, 2, 0)
    return ((g > r + 8) & (g > b + 8)).mean()


def green(page):
    """Return which part of the first plot is green, as it is between limits."""
    canvas = page.find('.uplot canvas')
    canvas.show()
    left, top, width, height = map(round, canvas.box)
    return greenness(picture(page)[top:top + height, left:left + width])


def test_the_ground_between_limits_is_green(page):
    """Without limits the lines fill the plot, and nothing is green."""
    wait(lambda: green(page) > 0.2, 'the band')
    tick(page, 'Limits')
    wait(lambda: green(page) < 0.02, 'its end')
    assert np.isnan(drawn(page)[0][[UPPER, LOWER]]).all()
    tick(page, 'Limits')
    wait(lambda: green(page) > 0.2, 'the band')


def test_a_plot_is_never_left_empty(page):
    """Each time that another joint is chosen new plots are made, while data comes."""
    for name in (*MODEL.joint_names, 'choose one', NAME) * 2:
        select(page, 'Joint', name)
        if name == 'choose one':
            wait(lambda: not page.find_all('.uplot canvas'), 'the end of the plots')
            continue
        wait(lambda name=name: lines(page, f'Position of {name}') is not None, name)
        for _ in range(2):
            wait(lambda: green(page) > 0.2, f'the plot of {name}')
            time.sleep(0.5)  # what comes next
    wait(lambda: page.run(RANGES) == [[-20.0, 0.0]] * 3, 'the last 20 s')


def test_a_plot_is_zoomed_and_made_large(page):
    """What is dragged over is shown while data comes, until a double click; large it is whole."""
    def whole():
        page.find('.uplot .u-over').call(
            "function () { this.dispatchEvent(new MouseEvent('dblclick', {bubbles: true})); }")
        return page.run(RANGES)[0] == [-20.0, 0.0]

    def zoomed():
        wait(whole, 'the whole plot')
        over = page.find('.uplot .u-over')
        over.show()
        left, top, width, height = over.box
        page.drag(*((left + share * width, top + 0.5 * height) for share in (0.25, 0.75)))
        time.sleep(1.5)  # what comes next
        return np.allclose(page.run(RANGES)[0], [-15.0, -5.0], atol=0.3)
    wait(zoomed, 'the zoom')
    wait(whole, 'its end')

    def enlarged():
        if page.find_all('.mantine-Modal-body'):
            return True
        over = page.find('.uplot .u-over')
        over.show()
        left, top, width, height = over.box
        page.mouse('mouseMoved', left + 0.5 * width, top + 0.5 * height)
        page.find('.uplot-container button').click()  # there while the mouse is
        return False

    def large():
        left, top, width, height = map(round, page.find('.mantine-Modal-body .uplot canvas').box)
        return width > 400 and greenness(
            picture(page)[top:top + height, left:left + width]) > 0.4

    def closed():
        for each in page.find_all('.mantine-Modal-close'):
            each.click()
        return not page.find_all('.mantine-Modal-body')
    wait(enlarged, 'the large plot')
    wait(large, 'its band')
    time.sleep(1.5)  # what comes next
    wait(large, 'its band')
    wait(closed, 'the page')
    page.mouse('mouseMoved', 10.0, 10.0)


def events(page):
    """Return the rows of the time line, newest first: time of day, kind, words."""
    return page.run("[...document.querySelectorAll('.events tr')].map("
                    'row => [...row.cells].map(cell => cell.innerText))')


def seconds(clock):
    """Return the seconds since midnight at a time of day."""
    hours, minutes, rest = clock.split(':')
    return 3600.0 * int(hours) + 60.0 * int(minutes) + float(rest)


def pause(page):
    """Return when the plots were paused, s since midnight."""
    return seconds(wait(lambda: re.search(r'Paused at ([\d:.]+)', page.text), 'the pause')[1])


def swing(watcher):
    """Have the joint follow a motion to and fro."""
    q, points = watcher.q, []
    for k, way in enumerate((0.5, -0.5, 0.0), 1):
        points.append(JointTrajectoryPoint(positions=(q + way * (np.arange(7) == K)).tolist(),
                                           time_from_start=Duration(sec=2 * k)))
    out = watcher.node.create_publisher(JointTrajectory, 'controller/joint_trajectory', 1)
    wait(out.get_subscription_count, 'the controller')
    out.publish(JointTrajectory(joint_names=list(MODEL.joint_names), points=points))
    time.sleep(7.0)


def test_events_have_a_reason_and_what_to_do(page, watcher):
    """A mode, a stop and a reset, each with a mark in the plots at its time."""
    unfold(page, 'Events')
    fill(page, 'Seconds', '120', 2)
    choose(page, DEFAULT)
    choose(page, FOLLOWING)
    revive(page)
    swing(watcher)
    press(page, 'Stop')
    wait(lambda: 'stop requested' in page.text, 'the stop')
    reset(page)
    swing(watcher)
    wanted = (('stop', 'stop requested', 'Next: reset to go on'),
              ('reset', 'the faults are cleared'),
              ('mode', f'from {FOLLOWING} to {DEFAULT}'))

    def told():
        found = [next((row for row in events(page) if row[1] == kind
                       and all(each in row[2] for each in words)), None)
                 for kind, *words in wanted]
        return all(found) and found
    clocks = {row[0] for row in wait(told, 'the events')}

    def marked():
        position = drawn(page)[0]
        marks = pause(page) + position[0, position[EVENT] == 1.0]
        return all(np.abs((marks - seconds(clock) + 43200.0) % 86400.0 - 43200.0).min(
            initial=1.0) < 0.002 for clock in clocks)
    tick(page, 'Pause the plots')
    wait(marked, 'their marks')
    tick(page, 'Pause the plots')
    unfold(page, 'Events')
    time.sleep(1.0)
    page.find('.uplot').show()
    picture(page, 'dashboard_joint')


def stopped(page):
    """Pause the plots; return what they show when all that was on its way is drawn."""
    tick(page, 'Pause the plots')
    pause(page)

    def still():
        before = drawn(page)
        time.sleep(1.0)
        after = drawn(page)
        return before and after and all(
            np.array_equal(*each, equal_nan=True) for each in zip(before, after)) and after
    return wait(still, 'plots that stand')


def test_the_history_is_paused_and_scrolled(page):
    """What stands does not change; what was before is shown; then the present again."""
    stands = stopped(page)
    time.sleep(3.0)
    for before, after in zip(stands, drawn(page), strict=True):
        np.testing.assert_array_equal(before, after)
    end = stands[0][0, -1]
    fill(page, 'Seconds', '9', 2)
    fill(page, 'Back, s', '20', 2)
    # a machine that stalls has gaps in its history
    wait(lambda: (found := drawn(page)) and -29.5 < found[0][0, 0] < found[0][0, -1] < -19.0,
         'the past')
    fill(page, 'Back, s', '600', 2)  # before the first row, or nearly so
    wait(lambda: page.run(RANGES) == [[-609.0, -600.0]] * 3, 'what is not recorded')
    fill(page, 'Back, s', '0', 2)
    wait(lambda: (found := drawn(page)) and abs(found[0][0, -1] - end) < 0.5,
         'the time of the pause')
    before = pause(page)
    tick(page, 'Pause the plots')
    wait(lambda: 'Paused at' not in page.text, 'the present')
    tick(page, 'Pause the plots')
    assert (pause(page) - before) % 86400.0 > 3.0
    tick(page, 'Pause the plots')


def test_the_history_is_saved(page, watcher, heard, tmp_path):
    """The file has what was said on topics, to the last bit, and what the plots show."""
    stopped(page)
    names, *rows = csv.reader(download(page, 'Save as CSV', tmp_path).open())
    *numbers, notes = zip(*rows, strict=True)
    table = {name.partition(' ')[0]: np.array([float(x or 'nan') for x in column])
             for name, column in zip(names, numbers)}
    assert names[0] == 'time [s since 1970]' and f'commanded_torque.{NAME} [N.m]' in names
    assert all(any(words in note for note in notes)
               for words in ('stop: stop requested', 'reset: the faults are cleared'))
    states = {state.stamp: state for state in watcher.states}
    # the first ones may have come before all ends of topics had met
    late = np.flatnonzero(table['stamp'] > watcher.states[0].stamp + 5.0)
    known = [row for row in late if table['stamp'][row] in states]
    assert len(known) > 0.9 * len(late) > 100
    for k, joint in enumerate(MODEL.joint_names):
        for quantity, of in (('position', 'q'), ('velocity', 'qd'), ('measured_torque', 'tau')):
            assert [getattr(states[table['stamp'][row]], of)[k] for row in known] == (
                table[f'{quantity}.{joint}'][known].tolist())
    references, commands = heard
    for quantity, said in (
            ('reference_position', [each.reference.positions[K] for each in references
                                    if each.reference.positions]),
            ('commanded_torque', [each.data[K] for each in commands])):
        kept = table[f'{quantity}.{NAME}'][late]
        assert np.isin(kept[np.isfinite(kept)], said).mean() > 0.9
    clock = table['time'] - table['time'][-1] + seconds(
        datetime.fromtimestamp(table['time'][-1]).strftime('%H:%M:%S.%f'))
    for plot, quantities in zip(drawn(page), PLOTTED.values(), strict=True):
        t = pause(page) + plot[0]
        marks = t[plot[EVENT] == 1.0]
        rows = np.abs(t[:, None] - clock).argmin(axis=1)
        for line, quantity in zip(plot[MEASURED:], quantities, strict=True):
            # between rows there are marks; where there is no reference, what is measured
            of = (np.abs(t - clock[rows]) < 0.002) & np.isfinite(line) & ~np.isin(t, marks)
            kept = table[f'{quantity}.{NAME}'][rows[of]]
            assert of.mean() > 0.5
            np.testing.assert_array_equal(line[of][np.isfinite(kept)], kept[np.isfinite(kept)])
    tick(page, 'Pause the plots')
    select(page, 'Joint', 'choose one')
    unfold(page, 'Joint over time')


def camera(name, q, size):
    """Return where the camera of a preset stands, and where it looks."""
    places = {link: at for link, (at, _) in link_poses(MODEL, q).items()}
    robot = np.array(list(places.values()))
    share, seen = (NEAR, [places['tool0']]) if PRESETS[name].tool else (THICK, robot)
    reach = share * np.linalg.norm(np.ptp(robot, axis=0))
    around = [at + reach * side for at in seen for side in (*np.eye(3), *-np.eye(3))]
    return fitted(around, PRESETS[name].back, FOV, size[0] / size[1])


def agreement(image, name, q, size):
    """Return which part of what is blue, or should be for a camera, is both."""
    y, x = np.indices(image.shape[:2])
    wanted = np.zeros(image.shape[:2], bool)
    for link in ('link_2', 'link_4', 'link_6'):  # joints across the arm, 6 cm thick
        u, v, scale = project(*camera(name, q, size), link_poses(MODEL, q)[link][0], size)
        wanted |= np.hypot(x - u, y - v) < 0.07 * scale
    found = blue(image)
    return (found & wanted).sum() / max((found | wanted).sum(), 1)


def test_cameras_have_places(page, watcher):
    """From each the joints are where they are for a camera there, and for no other."""
    revive(page)
    choose(page, DEFAULT)  # without springs, whose wires would be as blue
    unfold(page, 'Show')
    tick(page, 'Inertia at the tool')  # behind which no joint would be blue
    unfold(page, 'Show')
    unfold(page, 'View')
    _, _, *size = page.find('canvas').box
    for name in PRESETS:
        def seen(name=name):
            revive(page)
            q = watcher.q  # the arm floats, the camera stays where it was sent
            press(page, name)
            time.sleep(1.0)
            image = scenery(page)
            found = {each: agreement(image, each, q, size) for each in PRESETS}
            return max(found, key=found.get) == name and found[name] > 0.3
        wait(seen, f'the view "{name}"')


def test_a_dark_page(page):
    """All of it is darker, and light again when its box is not ticked."""
    light = picture(page)
    assert light.mean() > 150.0
    tick(page, 'Dark page')
    panel = SIZE[0] - 300
    wait(lambda: (picture(page, 'dashboard_dark') - light).mean() < -80.0
         and picture(page)[:, panel:].mean() < 110.0, 'the dark page')
    tick(page, 'Dark page')
    wait(lambda: abs((picture(page) - light).mean()) < 20.0, 'the light page')
    unfold(page, 'View')


def test_a_phone(page):
    """Nothing is wider than its screen; the robot and Stop are in sight, the panel as wide."""
    page.ask('Emulation.setDeviceMetricsOverride', width=PHONE[0], height=PHONE[1],
             deviceScaleFactor=1, mobile=True)
    page.get(page.url)
    wait(lambda: 'State running' in page.text, 'the page')
    left, top, width, height = button(page, 'Stop').box
    assert 0.0 <= left and left + width <= PHONE[0] and 0.0 < top and top + height < PHONE[1]
    assert width > 0.8 * PHONE[0]
    wait(lambda: blue(picture(page)[:round(top)]).sum() > 300, 'the robot above the panel')
    picture(page, 'dashboard_phone')
    assert page.run('document.scrollingElement.scrollWidth') <= PHONE[0]
    for folder in ('Joints', 'Adjust', 'Events', 'View'):
        unfold(page, folder)
    time.sleep(1.0)
    assert not page.run(WIDER)


def test_the_browser_has_no_complaint(page):
    """Nothing on the page raised an error."""
    assert not page.complaints()
