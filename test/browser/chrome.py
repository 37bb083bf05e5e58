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
"""A real browser without a window, and what tests do with its pages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
import io
import os
from pathlib import Path
import shutil
import socket
import time
from typing import Any

import numpy as np
from PIL import Image
import pytest
from selenium import webdriver
from selenium.common.exceptions import TimeoutException, WebDriverException
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement

SIZE = (1200, 900)  # of the window
PATIENCE = 150.0  # s: a browser that draws without a graphics card is slow
PICTURES = os.environ.get('RBD_ROS_PICTURES', '')  # a folder: keep pictures for the documentation

#: what viser takes behind the address of a page: one pixel of the scene in place of four, as each
#: costs time of the processor where there is no graphics card
COARSE = '' if PICTURES else '/?fixedDpr=0.5'


def programs_or_reason() -> tuple[str, str]:
    """Return the programs, or fail or skip with the reason."""
    chromium, driver = shutil.which('chromium'), shutil.which('chromedriver')
    if chromium is None or driver is None:
        reason = ('chromium and chromedriver are not installed: apt-get install chromium '
                  'chromium-driver')
        if os.environ.get('RBD_ROS_BROWSER') == 'required':
            pytest.fail(reason)
        pytest.skip(reason)
    return chromium, driver


@contextmanager
def browser(*more: str) -> Iterator[Any]:
    """
    Start the browser; its log is kept.

    :param more: options of the browser.
    """
    chromium, driver = programs_or_reason()
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for word in ('--headless=new', '--no-sandbox', f'--window-size={SIZE[0]},{SIZE[1]}',
                 '--use-angle=swiftshader', '--enable-unsafe-swiftshader', *more):
        options.add_argument(word)
    options.set_capability('goog:loggingPrefs', {'browser': 'ALL'})
    started = webdriver.Chrome(
        options=options, service=webdriver.ChromeService(executable_path=driver))
    try:
        started.set_page_load_timeout(PATIENCE)
        started.set_script_timeout(PATIENCE)
        yield started
    finally:
        started.quit()


def free_port() -> int:
    """Return a port that nobody uses."""
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return int(probe.getsockname()[1])


def address(port: int) -> str:
    """Return where the page is."""
    return f'http://127.0.0.1:{port}{COARSE}'


def wait(condition: Callable[[], Any], what: str) -> Any:
    """Wait until a condition holds; returns what it gives."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.2)
    raise AssertionError(f'{what}: not within {PATIENCE:g} s')


def text(page: Any) -> str:
    """Return the words on the page."""
    return str(page.find_element(By.TAG_NAME, 'body').text)


def press(page: Any, label: str) -> None:
    """Press a button, as soon as it is there."""
    def pressed() -> bool:
        try:
            found = [each for each in page.find_elements(By.TAG_NAME, 'button')
                     if each.text == label]
            if found:
                found[0].click()
        except WebDriverException:  # it was drawn anew in between
            return False
        return bool(found)
    wait(pressed, label)


def unfold(page: Any, title: str) -> None:
    """Open a folder of the panel, or close it."""
    found = page.find_element(By.XPATH, f'//*[normalize-space(text())="{title}"]')
    page.execute_script('arguments[0].scrollIntoView({block: "center"})', found)
    found.click()


def field(page: Any, label: str, number: int = 1) -> WebElement:
    """Return an input beside what a label begins with, in sight; a vector has three, from 1."""
    found = page.find_element(By.XPATH, f'//label[starts-with(normalize-space(.), "{label}")]'
                                        f'/following::input[{number}]')
    page.execute_script('arguments[0].scrollIntoView({block: "center"})', found)
    assert isinstance(found, WebElement)
    return found


def tick(page: Any, label: str) -> None:
    """Click at the box beside a label, as soon as its folder has opened so far."""
    def clicked() -> bool:
        try:
            field(page, label).click()
        except WebDriverException:
            return False
        return True
    wait(clicked, label)


def fill(page: Any, label: str, value: str, number: int = 1) -> None:
    """Type into the input beside a label, in the place of what is there."""
    def typed() -> bool:
        try:
            box = field(page, label, number)
            if not box.is_enabled():
                return False
            box.click()
            box.send_keys(Keys.CONTROL, 'a')
            box.send_keys(value)
        except WebDriverException:
            return False
        return True
    wait(typed, label)


def picture(page: Any, name: str = '') -> Any:
    """Return what is seen, as numbers; keeps it for the documentation if it has a name."""
    for notice in page.find_elements(By.CSS_SELECTOR, '.mantine-Notification-closeButton'):
        notice.click()      # the browser draws without a graphics card, says viser
    data = wait(lambda: _screenshot(page), 'a picture')
    if PICTURES and name:
        (Path(PICTURES) / f'{name}.png').write_bytes(data)
    return np.asarray(Image.open(io.BytesIO(data)).convert('RGB')).astype(np.int16)


def _screenshot(page: Any) -> bytes | None:
    """Return a picture, None if the driver lost its patience, which it does after 10 s."""
    try:
        return bytes(page.get_screenshot_as_png())
    except TimeoutException:
        return None


def scenery(page: Any, name: str = '') -> Any:
    """Return the part of the picture beside the panel."""
    return picture(page, name)[:, :SIZE[0] - 350]


def complaints(page: Any) -> list[str]:
    """Return the errors of the browser since they were asked for last."""
    return [entry['message'] for entry in page.get_log('browser') if entry['level'] == 'SEVERE']
