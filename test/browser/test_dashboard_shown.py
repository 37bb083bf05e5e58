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
"""What the page shows, in a real browser: a joint over time, events, colours, a phone."""

import csv
import time

from chrome import COARSE, field, picture, press, SIZE, tick, unfold, wait
from demo import choose, clicked, MODEL, reset, System, Watcher
from isolation import own_domain
import numpy as np
import pytest
from rbd_ros.control.modes.modes import DEFAULT, Takes, taking
import rclpy

JOINT = 'joint_2'
PHONE = (390, 844)
FOLLOWING = taking(Takes.TRAJECTORY)[0]
#: JavaScript: the lines of each plot that is shown, by title.
LINES = """Object.fromEntries(Object.values(window.__viserTestpoints.uplots || {}).map(
    each => [each.chart.root.querySelector('.u-title')?.textContent || '',
             [...each.chart.data].map(line => [...line])]))"""
#: JavaScript: contrast of the words in an element with what is behind them (WCAG 2.1).
CONTRAST = r"""function () {
    const light = text => { const [r, g, b] = text.match(/[\d.]+/g).map(Number).map(x => x / 255)
        .map(x => x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
    let behind = this;
    const clear = each => /, 0\)$|transparent/.test(getComputedStyle(each).backgroundColor);
    while (behind.parentElement && clear(behind)) behind = behind.parentElement;
    const [low, high] = [getComputedStyle(this).color, getComputedStyle(behind).backgroundColor]
        .map(light).sort((x, y) => x - y);
    return (high + 0.05) / (low + 0.05);
}"""


@pytest.fixture(scope='module')
def page(empty_page, tmp_path_factory):
    """Start robot, controller and dashboard, and open its page."""
    with own_domain():
        system = System(tmp_path_factory.mktemp('dashboard') / 'log')
        try:
            empty_page.address = system.url + COARSE.replace('/?', '&')
            empty_page.get(empty_page.address)
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


def lines(page, quantity):
    """Return the numbers of a plot, None while it is not there."""
    found = page.run(LINES)
    return next((np.array([[np.nan if x is None else x for x in line] for line in data])
                 for title, data in found.items() if title.startswith(quantity)), None)


def select(page, label, option):
    """Choose an option of a list; its folder may still be opening."""
    wait(lambda: clicked(field(page, label)), label)
    wait(lambda: [clicked(each) for each in page.find_all('[role="option"]')
                  if each.text == option], option)  # of lists that are not open, no words are seen


def test_a_joint_is_plotted(page, watcher):
    """Measured position and torque are those of the robot, between the limits of the robot."""
    assert not page.find_all('.uplot canvas')  # nobody has asked for any
    unfold(page, 'Joint over time')
    select(page, 'Joint', JOINT)
    wait(lambda: len(page.find_all('.uplot canvas')) == 3, 'three plots')
    k = MODEL.joint_names.index(JOINT)
    q = watcher.states[-1][1][k]

    def shown():
        found = lines(page, f'Position of {JOINT}, rad')
        return found is not None and found.shape[1] > 50 and found
    t, upper, lower, _, measured, reference = wait(shown, 'the lines')
    assert abs(measured[-1] - q) < 0.05 and (np.diff(t) >= 0.0).all()
    assert abs(t[-1] - time.time()) < 30.0
    assert set(upper) == {MODEL.upper[k]} and set(lower) == {MODEL.lower[k]}
    np.testing.assert_array_equal(reference, measured)  # it floats and follows nothing
    wait(lambda: np.isfinite(lines(page, 'Torque')[6]).sum() > 20, 'expected torques')
    _, upper, _, _, measured, commanded, expected = lines(page, f'Torque of {JOINT}, N.m')
    assert set(upper) == {MODEL.effort_limit[k]}
    near = np.isfinite(expected) & np.isfinite(commanded)
    assert np.abs(measured - commanded)[near].max() < 5.0
    assert np.median(np.abs(measured - expected)[near]) < 5.0


def test_a_reference_and_events_are_seen(page):
    """The mode, a stop and a reset are in the list and in the plots."""
    choose(page, DEFAULT, FOLLOWING)
    wait(lambda: (found := lines(page, 'Position')) is not None
         and (found[4] != found[5]).any(), 'a reference')
    press(page, 'Stop')
    wait(lambda: 'stop requested' in page.text, 'the stop')
    time.sleep(1.0)
    reset(page)
    unfold(page, 'Events')
    rows = wait(lambda: len(found := page.find_all('table.events tr')) >= 3 and found, 'events')
    words = [row.text for row in rows]
    kinds = [row.call("function () { return this.querySelector('span').textContent; }")
             for row in rows]
    assert {'mode', 'stop', 'reset'} <= set(kinds)
    assert kinds.index('reset') < kinds.index('stop') < kinds.index('mode')  # newest first
    assert 'reset to go on' in words[kinds.index('stop')]
    assert f'from {DEFAULT} to {FOLLOWING}' in words[kinds.index('mode')]

    def marked():
        return (lines(page, 'Velocity')[3] == 1.0).sum() >= 3
    wait(marked, 'the marks')
    page.find('.uplot').show()
    picture(page, 'dashboard_joint')
    unfold(page, 'Events')


def test_the_plots_are_paused_and_saved(page, watcher, tmp_path):
    """They stand while the robot goes on; the file has what was recorded meanwhile."""
    tick(page, 'Pause the plots')
    time.sleep(1.5)
    before = lines(page, 'Position')[0]
    time.sleep(2.0)
    np.testing.assert_array_equal(lines(page, 'Position')[0], before)
    page.browser.ask('Browser.setDownloadBehavior', behavior='allow',
                     downloadPath=str(tmp_path), browserContextId=page.context)
    press(page, 'Save as CSV')
    file = wait(lambda: list(tmp_path.glob('joints_*.csv')), 'the file')[0]
    q = watcher.states[-1][1]
    rows = list(csv.DictReader(file.read_text().splitlines()))
    for k, name in enumerate(MODEL.joint_names):
        assert abs(float(rows[-1][f'position.{name} [rad]']) - q[k]) < 0.1
    times = np.array([float(row['time [s since 1970]']) for row in rows])
    assert (np.diff(times) > 0.0).all() and times[-1] > before[-1] + 1.0
    assert any('stop requested' in row['event'] for row in rows)
    tick(page, 'Pause the plots')
    wait(lambda: lines(page, 'Position')[0][-1] > before[-1] + 2.0, 'the present')


def contrasts(page):
    """Return the contrast of what is written in boxes that the project makes itself."""
    found = {}
    for selector in ('.status div', 'table.events td', 'table.torques td', '.guide div'):
        for each in page.find_all(selector)[:4]:
            found[selector] = min(found.get(selector, 99.0), each.call(CONTRAST))
    return found


def test_dark_and_light_can_be_read(page):
    """Words have a contrast of 4.5 or more in both; the page is as dark as it says."""
    for dark in (False, True):
        if dark:
            unfold(page, 'View')
            tick(page, 'Dark')
            wait(lambda: page.run('document.documentElement.dataset.mantineColorScheme') == 'dark',
                 'the dark page')
            time.sleep(1.0)
        found = contrasts(page)
        assert len(found) == 4 and min(found.values()) >= 4.5, found
        image = picture(page, 'dashboard_dark' if dark else '')
        assert (np.median(image[:, -300:]) < 80) == dark
        assert (np.median(image[:200, :300]) < 80) == dark


def test_the_camera_goes_to_its_places(page):
    """From each of them the robot is seen, and looks different."""
    seen = []
    for name in ('Front', 'Side', 'Top', 'Tool', 'Fit'):
        press(page, name)
        time.sleep(1.5)
        image = picture(page, f'dashboard_{name.lower()}')[:, :SIZE[0] - 350]
        colours = np.ptp(image, axis=2) > 40  # of the robot; page and floor are grey
        assert colours.mean() > 0.002
        seen.append(colours)
    for k, one in enumerate(seen):
        for other in seen[:k]:
            assert (one != other).mean() > 0.002
    tick(page, 'Dark')


def test_a_phone_has_the_stop_in_sight(page):
    """Nothing is cut off at the sides, and Stop can be pressed without scrolling."""
    page.ask('Emulation.setDeviceMetricsOverride', width=PHONE[0], height=PHONE[1],
             deviceScaleFactor=1, mobile=True)
    page.get(page.address)
    wait(lambda: 'State' in page.text, 'the state')
    time.sleep(2.0)
    picture(page, 'dashboard_phone')

    def in_sight():
        [stop] = [each for each in page.find_all('button') if each.text == 'Stop']
        return stop.call("""function () {
            const box = this.getBoundingClientRect();
            const top = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
            return box.top >= 0 && box.bottom <= innerHeight && this.contains(top); }""")
    assert in_sight()
    wide = page.run("""
        [...document.querySelectorAll('button, input, table, label, .status, canvas')]
        .map(each => [each.getBoundingClientRect(), each.outerHTML.slice(0, 80)])
        .filter(([box]) => box.width && (box.left < -1 || box.right > innerWidth + 1))
        .map(([box, text]) => text)""")
    assert wide == []
    press(page, 'Stop')
    wait(lambda: 'stop requested' in page.text, 'the stop')
    picture(page, 'dashboard_phone_stopped')
    assert in_sight()
    reset(page)
    page.ask('Emulation.setDeviceMetricsOverride', width=SIZE[0], height=SIZE[1],
             deviceScaleFactor=1, mobile=False)
    assert not page.complaints()
