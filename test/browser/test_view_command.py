# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0
"""``rbd view`` in a real browser: the robot is seen, and its sliders move it."""

from __future__ import annotations

from collections.abc import Iterator
import json
import signal
import subprocess
import sys

from cdp import Page
from chrome import blue, COARSE, picture, scenery, wait
import numpy as np
from ports import free_port
import pytest
from rbd_env.pace import patient
from rbd_ros.model.urdf.resources import find_resource

ARM = find_resource('package://rbd_ros/urdf/seven_joint_arm.urdf')


@pytest.fixture(scope='module')
def page(empty_page: Page) -> Iterator[Page]:
    """Start the command and open its page."""
    process = subprocess.Popen(
        [sys.executable, '-m', 'rbd_ros.command_line', 'view', str(ARM), '--json', '--port',
         str(free_port())], stdout=subprocess.PIPE, text=True,
        # the shell of a background job ignores SIGINT, and children inherit that
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
    try:
        assert process.stdout is not None
        told = ''
        while not told.endswith('}\n'):
            line = process.stdout.readline()
            assert line, told
            told += line
        empty_page.get(json.loads(told)['url'] + COARSE)
        wait(lambda: 'holding torque' in empty_page.text, 'the table of torques')
        yield empty_page
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(patient(20.0)) == 0


def test_the_robot_is_seen(page: Page) -> None:
    """The colours of the arm are there."""
    wait(lambda: blue(scenery(page)).sum() > 1000, 'the blue joints of the arm')
    picture(page, 'view')


def test_a_slider_moves_it(page: Page) -> None:
    """Bent to the side, the arm looks otherwise and needs a torque to be held."""
    before, words = scenery(page), page.text
    thumb = page.find_all('[role="slider"]')[1]
    thumb.press(*['ArrowRight'] * 40, 'End')
    wait(lambda: page.text != words, 'another torque')
    wait(lambda: (np.abs(scenery(page) - before).max(axis=2) > 60).sum() > 1000, 'the motion')


def test_a_long_name_is_not_cut_off(page: Page) -> None:
    """The path of a file is broken where the panel ends."""
    assert page.run("""(() => {
        const box = document.createElement('div');
        box.style.width = '10em';
        box.innerHTML = `<code>/${'a_long_folder/'.repeat(9)}</code>`;
        document.body.append(box);
        const wide = box.scrollWidth - box.clientWidth;
        box.remove();
        return wide;
    })()""") <= 1


def test_the_browser_has_no_complaint(page: Page) -> None:
    """Nothing on the page raised an error."""
    assert not page.complaints()
