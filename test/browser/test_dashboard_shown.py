# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""What a browser draws of the dashboard: the robot, plots, a file, cameras, a phone."""

import csv
import time

from chrome import (
    blue, button, download, picture, press, scenery, select, SIZE, tick, unfold, wait)
from demo import choose, MODEL, revive, ROBOT
import numpy as np
from plots import lines
import pytest
from rbd_ros.control.modes import DEFAULT, Takes, taking
from rbd_ros.nodes.dashboard.look import fitted, NEAR, PRESETS, THICK
from rbd_ros.view.scene import link_poses
from sampling import some
from sight import FOV, project

#: each takes a minute: one of the pages is drawn
pytestmark = pytest.mark.sampled('launches', 1, pool='pages')

FOLLOWING = taking(Takes.TRAJECTORY)[0]
K = 3  # the elbow, which carries most
NAME = MODEL.joint_names[K]
PUSH = 15.0  # N along x of the tool: what the page begins with
UPPER, LOWER, EVENT, MEASURED, SECOND, EXPECTED = range(1, 7)  # lines of a plot, after the time
PLOTTED = 'Position', 'Velocity', 'Torque'
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


def test_the_robot_is_seen(page):
    """Where the arm is, the page has the colours of its URDF, and the torques have their bars."""
    wait(lambda: blue(scenery(page)).sum() > 1000, 'the blue joints of the arm')
    for k in range(1, 8):
        assert f'joint_{k}' in page.text
    picture(page, 'dashboard')


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


def drawn(page):
    """Return the lines of the three plots; None: one is not there."""
    found = [lines(page, f'{title} of {NAME}') for title in PLOTTED]
    return None if any(each is None or each.shape[1] < 10 for each in found) else found


def apart(plot, one, other):
    """Return by how much two lines differ at most."""
    return float(np.nanmax(np.abs(plot[one] - plot[other])))


def test_a_joint_is_plotted(page, watcher):
    """Pushed, it leaves its reference, and its torque what the model expects, by the push."""
    choose(page, FOLLOWING)
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
    for name in (*some('configurations', MODEL.joint_names, 2), 'choose one', NAME):
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


def test_a_file_is_saved(page, tmp_path):
    """The browser gets it whole, with the numbers that are plotted."""
    names, *rows = csv.reader(download(page, 'Save as CSV', tmp_path).open())
    assert len(rows) > 20 and f'position.{NAME} [rad]' in names
    assert all(len(row) == len(names) for row in rows)
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
    for name in some('configurations', PRESETS, 2):
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
